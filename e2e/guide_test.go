package e2e

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"larder/internal/blob/s3/s3test"
	"larder/internal/db/dbtest"
	"larder/internal/kv/kvtest"
)

// guide is the section of docs/operate.md that leads from one machine to two.
type guide struct{ text string }

func readGuide(t *testing.T) guide {
	t.Helper()
	text, err := os.ReadFile("../docs/operate.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), "\n### From one machine to two: adding a replica\n")
	section, _, found := strings.Cut(after, "\n### ")
	if !found {
		t.Fatal("docs/operate.md has no section about two servers")
	}
	return guide{section}
}

// settings returns the settings that the guide shows in its n-th block, counted from 0. It replaces
// the first text of each pair by the second one. The block must contain the first text once.
func (g guide) settings(t *testing.T, n int, pairs ...string) string {
	t.Helper()
	block := regexp.MustCompile("(?s)```toml\n(.*?)```").FindAllStringSubmatch(g.text, -1)
	if len(block) <= n {
		t.Fatalf("the guide has %d blocks of settings", len(block))
	}
	return replaceOnce(t, "the guide", block[n][1], pairs...)
}

// migration returns the words of the command that copies the metadata, without the program.
func (g guide) migration(t *testing.T, pairs ...string) []string {
	t.Helper()
	_, after, _ := strings.Cut(g.text, "-u larder larder migrate-database")
	words, _, _ := strings.Cut(after, "\n   unset")
	words = strings.ReplaceAll(words, "\\\n", " ")
	return append([]string{"migrate-database"}, strings.Fields(replaceOnce(t, "the guide", words, pairs...))...)
}

// "I began on one machine. Now two servers share the work": docs/operate.md, followed in its order
// with its settings and its command, leads from SQLite and files on a disk to two servers behind
// Caddy, with PostgreSQL, Redis and a bucket. All files and links are there after each step.
func TestGuideToTwoServers(t *testing.T) {
	t.Parallel()
	guide := readGuide(t)
	f := &proxied{site: newSite(t), dir: t.TempDir(), plain: freeAddress(t), encrypted: freeAddress(t)}
	f.keepPort(t)
	f.env["LARDER_GARBAGE_GRACE"] = "1s" // users wait for an hour
	settings := filepath.Join(t.TempDir(), "larder.toml")
	written := ""
	write := func(more string) { // the environment gives the directory of data and the port
		written += more
		writeFile(t, []byte(written), settings)
	}
	f.env["LARDER_CONFIG"] = settings
	write("")
	f.server = f.start(t)
	content := uploadFixedContent(t, f.server)

	// step 2
	f.server.stop(t)
	write(guide.settings(t, 0, `["10.0.0.10"]`, `["127.0.0.0/8"]`))
	f.server = f.start(t)
	f.behindCaddy(t, "replicas.Caddyfile", "larder-1:8080 larder-2:8080", f.env["LARDER_LISTEN"])
	admin := f.client(2)
	admin.signIn(t, "admin", adminPassword)
	served := func() {
		t.Helper()
		for path, want := range content.files {
			if body := admin.do(t, "GET", escaped(path), nil).want(t, 200).body; string(body) != want {
				t.Errorf("%s has %d bytes, want %d", path, len(body), len(want))
			}
		}
		for link, want := range content.links {
			if body := f.client(1).do(t, "GET", link, nil).want(t, 200).body; string(body) != want {
				t.Errorf("a permanent link gives %d bytes, want %d", len(body), len(want))
			}
		}
	}
	served()

	// step 3
	f.server.stop(t)
	address := dbtest.URL(t)
	said := f.mustRun(t, guide.migration(t, "/etc/larder/larder.toml", settings,
		"postgres://larder@10.0.0.10/larder", address)...)
	_, key, found := strings.Cut(said, "\nLARDER_SECRET_KEY=")
	if !found {
		t.Fatalf("no key in %s", said)
	}
	write(guide.settings(t, 1, "postgres://larder:PASSWORD@10.0.0.10/larder", address, `"…"`,
		`"`+strings.TrimSpace(key)+`"`, "redis://:PASSWORD@10.0.0.10:6379/0", kvtest.StartServer(t).URL,
		"10.0.0.20/32", "127.0.0.0/8"))
	f.server = f.start(t)
	served()

	// step 4
	bucket := admin.createProvider(t, bucketProvider(s3test.New(t), nil))
	var storages struct {
		Providers []struct{ ID, Name string }
	}
	admin.do(t, "GET", "/api/admin/storage/providers", nil).data(t, 200, &storages)
	local := ""
	for _, storage := range storages.Providers {
		if storage.Name == "local" {
			local = storage.ID
		}
	}
	var job struct{ JobID string }
	admin.do(t, "POST", "/api/admin/storage/providers/"+local+"/evacuate", object{"targetProviderId": bucket}).
		data(t, 202, &job)
	evacuation := &runningEvacuation{setup: &setup{site: f.site, admin: admin}, id: job.JobID}
	evacuation.awaitEnd(t, 3*patience)
	admin.do(t, "DELETE", "/api/admin/storage/providers/"+local, nil).want(t, 200)
	served()

	// step 5
	other := newSite(t)
	maps.Copy(other.env, map[string]string{"LARDER_CONFIG": settings, "LARDER_GARBAGE_GRACE": "1s"})
	other.keepPort(t)
	second := other.start(t)
	f.proxy.stop(t)
	f.behindCaddy(t, "replicas.Caddyfile", "larder-1:8080 larder-2:8080",
		f.env["LARDER_LISTEN"]+" "+other.env["LARDER_LISTEN"])
	admin = f.client(2)
	admin.signIn(t, "admin", adminPassword)
	served()
	f.wantReplicas(t, admin, "/api/public/settings", f.server, second)
	f.lose(t, f.server)
	served()
}
