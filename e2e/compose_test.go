package e2e

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"larder/internal/blob/s3/s3test"
	"larder/internal/kv/kvtest"
)

var composeSetting = regexp.MustCompile(`(?m)^ +(LARDER_\w+): (.+)$`)

// composeSettings returns the settings that a file of deploy/compose gives to Larder.
func composeSettings(t *testing.T, name string) map[string]string {
	t.Helper()
	text, err := os.ReadFile("../deploy/compose/" + name)
	if err != nil {
		t.Fatal(err)
	}
	settings := map[string]string{}
	for _, m := range composeSetting.FindAllStringSubmatch(string(text), -1) {
		settings[m[1]] = m[2]
	}
	return settings
}

// adapt replaces the address ranges and directories of containers by those of this machine.
func (s *site) adapt(t *testing.T, settings map[string]string) {
	t.Helper()
	for name, value := range settings {
		s.env[name] = strings.ReplaceAll(value, "172.31.77.0/24", "127.0.0.0/8")
	}
}

// behindCaddy starts Caddy with a file of deploy/compose, of which only the addresses are replaced.
func (f *proxied) behindCaddy(t *testing.T, name string, pairs ...string) {
	t.Helper()
	f.certify(t)
	raw, err := os.ReadFile("../deploy/compose/" + name)
	if err != nil {
		t.Fatal(err)
	}
	pairs = append(pairs, publicHost+" {", publicHost+" {\n\ttls "+f.file("certificate.pem")+" "+f.file("key.pem"))
	text := fmt.Sprintf("{\n\tadmin off\n\thttp_port %s\n\thttps_port %s\n\tdefault_bind 127.0.0.1\n}\n",
		portOf(f.plain), portOf(f.encrypted)) + replaceOnce(t, name, string(raw), pairs...)
	writeFile(t, []byte(text), f.dir, "Caddyfile")
	f.startProxy(t, caddyWith(t, f))
}

// wantReplicas checks that the administration lists these replicas, and that Caddy forwards
// requests for a path to each of them.
func (f *proxied) wantReplicas(t *testing.T, admin *client, path string, replicas ...*process) {
	t.Helper()
	var system struct{ Replicas []any }
	admin.do(t, "GET", "/api/admin/system", nil).data(t, 200, &system)
	if len(system.Replicas) != len(replicas) {
		t.Errorf("the administration lists %d replicas, want %d", len(system.Replicas), len(replicas))
	}
	for _, p := range replicas {
		until(t, "requests at "+p.site.env["LARDER_LISTEN"], func() bool {
			f.client(1).do(t, "GET", path, nil).want(t, 200)
			return strings.Contains(p.stderr.String(), `"path":"`+path+`"`)
		})
	}
}

// lose kills a replica and waits until Caddy forwards no more requests to it, because Caddy repeats
// no request that has reached a replica.
func (f *proxied) lose(t *testing.T, replica *process) {
	t.Helper()
	replica.kill()
	failed := `"HTTP request failed","host":"` + replica.site.env["LARDER_LISTEN"] + `"`
	f.proxy.await(t, "without the replica", func() bool { return strings.Contains(f.proxy.stderr.String(), failed) })
}

// The settings of one.yml serve behind its Caddy.
func TestComposeOfOne(t *testing.T) {
	t.Parallel()
	f := &proxied{site: newSite(t), dir: t.TempDir(), plain: freeAddress(t), encrypted: freeAddress(t)}
	f.keepPort(t)
	settings := composeSettings(t, "one.yml")
	if len(settings) != 2 {
		t.Errorf("one.yml has the settings %v", settings)
	}
	f.adapt(t, settings)
	f.server = f.start(t)
	f.behindCaddy(t, "one.Caddyfile", "larder:8080", f.env["LARDER_LISTEN"])
	admin := f.client(2)
	admin.signIn(t, "admin", adminPassword)
	admin.upload(t, "/public", "a.txt", []byte("content"), nil)
	if r := f.client(1).do(t, "GET", "/public/a.txt", nil).want(t, 200); string(r.body) != "content" {
		t.Errorf("read %q", r.body)
	}
}

// The settings of replicas.yml make two replicas that serve as one behind its Caddy, with
// PostgreSQL, Redis and an S3 store, also while one of them is gone.
func TestComposeOfReplicas(t *testing.T) {
	t.Parallel()
	f := &proxied{site: newSite(t), dir: t.TempDir(), plain: freeAddress(t), encrypted: freeAddress(t)}
	settings := composeSettings(t, "replicas.yml")
	for name, form := range map[string]string{"LARDER_SECRET_KEY": "${LARDER_SECRET_KEY:?write it into .env}",
		"LARDER_REDIS_URL": "redis://valkey:6379/0", "LARDER_OBJECT_DIR": "/objects", "LARDER_OPS_LISTEN": "0.0.0.0:9100",
		"LARDER_DATABASE_URL": "postgres://larder:${POSTGRES_PASSWORD:?write it into .env}@postgres:5432/larder?sslmode=disable",
	} {
		if settings[name] != form {
			t.Errorf("replicas.yml has %s: %s, want %s", name, settings[name], form)
		}
	}
	f.onPostgres(t)
	for _, name := range []string{"LARDER_DATABASE_URL", "LARDER_OBJECT_DIR", "LARDER_SECRET_KEY"} {
		settings[name] = f.env[name]
	}
	settings["LARDER_REDIS_URL"] = kvtest.StartServer(t).URL
	other := newSite(t)
	for _, s := range []*site{f.site, other} {
		s.keepPort(t)
		s.adapt(t, settings)
		s.env["LARDER_OPS_LISTEN"] = freeAddress(t)
	}
	f.server = f.launch(t)
	second := other.launch(t)
	f.server.ready(t)
	second.ready(t)
	f.behindCaddy(t, "replicas.Caddyfile", "larder-1:8080", f.env["LARDER_LISTEN"], "larder-2:8080",
		other.env["LARDER_LISTEN"])

	admin := f.client(2)
	admin.signIn(t, "admin", adminPassword)
	bucket := s3test.New(t)
	admin.mount(t, "/cloud", admin.createProvider(t, bucketProvider(bucket, object{"uploadMode": "worker"})))
	admin.do(t, "POST", "/api/admin/rules", object{"pathPattern": "/cloud/**", "effect": "allow", "role": "guest",
		"permissions": []string{"read", "download"}}).want(t, 201)
	contents := map[string][]byte{}
	for i, dir := range []string{"/public", "/cloud", "/public", "/cloud"} {
		name := fmt.Sprintf("%d.bin", i)
		contents[dir+"/"+name] = contentOf(name, 100_000)
		admin.upload(t, dir, name, contents[dir+"/"+name], nil)
	}
	all := func() {
		t.Helper()
		for path, content := range contents {
			if r := f.client(1).do(t, "GET", path, nil).want(t, 200); !bytes.Equal(r.body, content) {
				t.Errorf("%s: %d bytes", path, len(r.body))
			}
		}
	}
	all()
	f.wantReplicas(t, admin, "/public/0.bin", f.server, second)

	f.lose(t, second)
	all()
	admin.do(t, "GET", "/api/auth/me", nil).want(t, 200)
	admin.upload(t, "/public", "later.bin", contentOf("later", 1000), nil)
	back := other.start(t)
	until(t, "the replica that is back gets requests", func() bool {
		f.client(1).do(t, "GET", "/public/later.bin", nil).want(t, 200)
		return strings.Contains(back.stderr.String(), `"path":"/public/later.bin"`)
	})
	all()
}
