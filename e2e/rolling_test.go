package e2e

import (
	"archive/tar"
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"larder/internal/blob/s3/s3test"
)

// previousVersion is the version of the program that is built from the commit in deploy/previous.
const previousVersion = "e2e-previous"

// rollingSteps is the number of requests of each worker in each phase of TestRollingUpgrade.
const rollingSteps = 25

var fullHash = regexp.MustCompile(`^[0-9a-f]{40}\n$`)

// previousProgram builds the commit that deploy/previous names, without the web UI, and returns the
// path of the program. It returns "" with a remark when the commit is neither in this clone nor at
// its origin.
func previousProgram(t *testing.T) (program, remark string) {
	t.Helper()
	text, err := os.ReadFile("../deploy/previous")
	if err != nil {
		t.Fatal(err)
	}
	if !fullHash.Match(text) {
		t.Fatalf("deploy/previous holds %q, want the full hash of a commit", text)
	}
	commit := strings.TrimSpace(string(text))
	git := func(args ...string) ([]byte, error) {
		// a server that does not answer must not hold up the test
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		cmd := exec.CommandContext(ctx, "git", append([]string{"-C", ".."}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_TERMINAL_PROMPT=0")
		var errs bytes.Buffer
		cmd.Stderr = &errs
		out, err := cmd.Output()
		if err != nil {
			err = fmt.Errorf("git %s: %w: %s", args[0], err, tail(errs.String(), 300))
		}
		return out, err
	}
	if prefix, err := git("rev-parse", "--show-prefix"); err != nil || strings.TrimSpace(string(prefix)) != "" {
		return "", "this tree is no repository"
	}
	if _, err := git("cat-file", "-e", commit+"^{commit}"); err != nil {
		if _, err := git("fetch", "--quiet", "--depth", "1", "origin", commit); err != nil {
			return "", fmt.Sprintf("this clone does not have the commit %s, and cannot fetch it (%v)", commit, err)
		}
	}
	archive, err := git("archive", "--format=tar", commit, "--", "go.mod", "go.sum", "cmd", "internal", "web")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := untar(archive, filepath.Join(dir, "source")); err != nil {
		t.Fatal(err)
	}
	program = filepath.Join(dir, "larder")
	build := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags",
		"-s -w -X main.version="+previousVersion, "-o", program, "./cmd/larder")
	build.Dir = filepath.Join(dir, "source")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "PWD="+build.Dir)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the commit %s of deploy/previous: %v\n%s", commit, err, out)
	}
	return program, ""
}

// untar writes the files of an archive below a directory.
func untar(archive []byte, dir string) error {
	for files := tar.NewReader(bytes.NewReader(archive)); ; {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if header.Typeflag != tar.TypeReg {
			continue
		}
		path := filepath.Join(dir, filepath.FromSlash(header.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		content, err := io.ReadAll(files)
		if err != nil {
			return err
		}
		if err := os.WriteFile(path, content, fs.FileMode(header.Mode).Perm()); err != nil {
			return err
		}
	}
}

// rolling is an upgrade of two replicas, one after another.
type rolling struct {
	*crasher
	old, new *process
	phases   int
}

// A server of the commit in deploy/previous and one of this tree work side by side on PostgreSQL
// and a bucket. The new one migrates the database while the old one runs. Under load, every change
// that one of them acknowledges is visible in both. When the new one alone has made changes that
// the old program would misread, the old program refuses to start.
func TestRollingUpgrade(t *testing.T) {
	t.Parallel()
	program, remark := previousProgram(t)
	first, second := newSite(t), newSite(t)
	first.program = program
	first.set(reachable...)
	first.keepPort(t)
	first.onPostgres(t)
	first.set("LARDER_BASE_URL", "http://"+first.env["LARDER_LISTEN"])
	second.env = map[string]string{}
	for name, value := range first.env {
		second.env[name] = value
	}
	second.keepPort(t)
	second.set("LARDER_DATA_DIR", second.dir)

	r := &rolling{old: first.start(t)}
	seed := crashSeed(t)
	t.Logf("LARDER_TEST_SEED=%d repeats the choices", seed)
	admin := r.old.admin(t)
	var list struct{ Mounts []struct{ ID string } }
	admin.do(t, "GET", "/api/admin/mounts", nil).data(t, 200, &list)
	bucket := admin.createProvider(t, bucketProvider(s3test.New(t), nil))
	admin.do(t, "PUT", "/api/admin/mounts/"+list.Mounts[0].ID, object{"providerId": bucket}).want(t, 200)
	r.crasher = newCrasherAt(t, first, rand.New(rand.NewPCG(seed, 0)), admin)
	r.work(t, r.old)

	r.site, r.new = second, second.start(t)
	before := r.schemaOf(t, program == "")
	if program != "" {
		t.Logf("the previous program knows schema %d", before)
	} else {
		t.Logf("%s: only this program beside itself was tested", remark)
	}
	r.work(t, r.old, r.new)
	r.old.stop(t)
	r.old = first.start(t) // on the schema of the new one
	r.work(t, r.new, r.old)
	r.old.stop(t)
	r.work(t, r.new)
	id := r.keyed(r.new).mustRaw(t, "gone.bin", "", "application/x-gone", []byte("gone")).FileID
	r.admin.do(t, "DELETE", "/api/files/"+id+"?trash=true", nil).want(t, 200)
	second.fsck(t)

	later := r.requireMore(t, before)
	refused := first.launch(t)
	if code := refused.ended(t); code != 1 || !strings.Contains(refused.stderr.String(),
		"this Larder is too old for the database") {
		t.Errorf("the old program ended with %d\n%s", code, refused.stderr)
	}
	if later {
		t.Logf("nothing here requires more than schema %d: a later requirement was made up", before)
	}
	r.admin.do(t, "GET", "/api/trash", nil).want(t, 200) // the refused start has changed nothing
	r.new.stop(t)
}

// keyed returns a client with the API key.
func (r *rolling) keyed(on ...*process) *client { return withKey(r.token, urlsOf(on)...) }

func urlsOf(on []*process) (bases []string) {
	for _, p := range on {
		bases = append(bases, p.url)
	}
	return bases
}

// schemaOf returns the newest schema that the old process knows, and checks that both processes are
// registered. alike is set when both are of one program.
func (r *rolling) schemaOf(t *testing.T, alike bool) int {
	t.Helper()
	var system struct {
		Replicas []struct {
			Version       string
			SchemaVersion int
		}
		Database struct{ SchemaVersion int }
	}
	r.new.admin(t).do(t, "GET", "/api/admin/system", nil).data(t, 200, &system)
	known := map[string]int{}
	for _, replica := range system.Replicas {
		known[replica.Version] = replica.SchemaVersion
	}
	want := previousVersion
	if alike {
		want = builtVersion
	}
	before, now := known[want], known[builtVersion]
	if len(system.Replicas) != 2 || before == 0 || now != system.Database.SchemaVersion || !alike && before >= now {
		t.Fatalf("the replicas are %+v on schema %d; deploy/previous must name a commit before a migration",
			system.Replicas, system.Database.SchemaVersion)
	}
	return before
}

// requireMore makes up a requirement of a schema that the old program does not know, and reports
// true, unless the database has one already.
func (r *rolling) requireMore(t *testing.T, known int) bool {
	t.Helper()
	d, err := sql.Open("pgx", r.site.env["LARDER_DATABASE_URL"])
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	result, err := d.Exec(`
		UPDATE schema_version SET version = GREATEST(version, $1 + 1), oldest = $1 + 1 WHERE oldest <= $1`, known)
	if err != nil {
		t.Fatal(err)
	}
	n, err := result.RowsAffected()
	if err != nil {
		t.Fatal(err)
	}
	return n == 1
}

// work lets all workers change the service, with consecutive requests to different processes. Then
// every process must show the acknowledged state.
func (r *rolling) work(t *testing.T, on ...*process) {
	t.Helper()
	r.connect(login(t, "admin", adminPassword, urlsOf(on)...))
	var faults faultList
	var all sync.WaitGroup
	for _, l := range r.workers() {
		readers := rand.New(rand.NewPCG(r.random.Uint64(), 1))
		all.Go(func() {
			for range rollingSteps {
				for _, act := range []func() (bool, error){l.step, func() (bool, error) { return l.readOne(readers) }} {
					acknowledged, err := act()
					if err == nil && !acknowledged {
						err = errors.New("a request got no answer")
					}
					if err != nil {
						faults.add(err)
						return
					}
				}
			}
		})
	}
	all.Wait()
	for _, err := range faults.errs {
		t.Error(err)
	}
	for i, writer := range on {
		r.phases++
		r.visible(t, fmt.Sprintf("v%d", r.phases), writer, on[(i+1)%len(on)])
	}
	for _, p := range on {
		r.connect(p.admin(t))
		r.compare(t, r.phases)
	}
	if t.Failed() {
		t.FailNow()
	}
}

// visible makes changes on one process and looks for them on the other.
func (r *rolling) visible(t *testing.T, name string, on, other *process) {
	t.Helper()
	admin, there, visitor := on.admin(t), other.admin(t), newClient(other.url)
	both := login(t, "admin", adminPassword, on.url, other.url)
	folder := "/uploads/" + name
	admin.mkdir(t, "/uploads", name)
	admin.mkdir(t, folder, "target")
	content := map[string][]byte{"raw.bin": contentOf("raw "+name, 30_000), "form.bin": contentOf("form", 9_000),
		"session.bin": contentOf("session", 70_001), "parts.bin": contentOf("parts", partSize+77)}
	ids := map[string]string{
		"raw.bin":     r.keyed(on).mustRaw(t, "raw.bin", folder, "application/x-raw", content["raw.bin"]).FileID,
		"session.bin": admin.upload(t, folder, "session.bin", content["session.bin"], nil).ID,
		// announced on one, parts to both
		"parts.bin": both.upload(t, folder, "parts.bin", content["parts.bin"], object{"partCount": 2}).ID,
	}
	body, kind := form(t, field("path", folder), file("file", "form.bin", "application/x-form",
		string(content["form.bin"])))
	var formed uploaded
	r.keyed(on).do(t, "POST", "/api/upload", body, "Content-Type", kind).data(t, 200, &formed)
	ids["form.bin"] = formed.FileID
	for name, content := range content {
		there.reads(t, folder+"/"+name, content)
	}

	raw := content["raw.bin"]
	link := at(t, admin.permanentLink(t, ids["raw.bin"]))
	visitor.reads(t, link, raw)
	address := at(t, admin.downloadAddress(t, "/api/files/"+ids["raw.bin"]+"/download"))
	visitor.reads(t, address, raw)
	newClient(on.url).do(t, "GET", address, nil).fails(t, 401, "INVALID_TOKEN")
	share := "/api/shares/" + admin.share(t, object{"fileId": ids["raw.bin"], "password": "of the share",
		"maxDownloads": 1})
	visitor.do(t, "GET", share+"/download", nil).fails(t, 401, "INVALID_PASSWORD")
	visitor.do(t, "POST", share+"/verify", object{"password": "of the share"}).want(t, 200)
	visitor.reads(t, at(t, visitor.downloadAddress(t, share+"/download")), raw)
	visitor.bases = []string{on.url}
	visitor.do(t, "GET", share+"/download", nil).fails(t, 410, "SHARE_LIMIT_REACHED")
	visitor.bases = []string{other.url}

	admin.do(t, "PUT", "/api/files/"+ids["raw.bin"], object{"name": "renamed.bin"}).want(t, 200)
	there.reads(t, folder+"/renamed.bin", raw)
	there.do(t, "GET", folder+"/raw.bin", nil).fails(t, 404, "NOT_FOUND")
	admin.do(t, "POST", "/api/files/"+ids["raw.bin"]+"/move", object{"targetPath": folder + "/target"}).want(t, 200)
	there.reads(t, folder+"/target/renamed.bin", raw)
	visitor.reads(t, link, raw)

	rule := object{"pathPattern": folder + "/**", "effect": "allow", "role": "guest",
		"permissions": []string{"read", "download"}}
	visitor.do(t, "GET", folder+"/form.bin", nil).fails(t, 401, "UNAUTHORIZED")
	admin.do(t, "POST", "/api/admin/rules", rule).want(t, 201)
	visitor.reads(t, folder+"/form.bin", content["form.bin"])
	token := admin.createKey(t, object{"name": name, "permissions": []string{"read", "write"},
		"protocols": []string{"api"}, "uploadPath": folder})
	withKey(token, other.url).mustRaw(t, "by key.bin", "", "application/x-key", raw)
	id, _, _ := strings.Cut(token, ".")
	admin.do(t, "DELETE", "/api/keys/"+id, nil).want(t, 200)
	withKey(token, other.url).do(t, "POST", "/api/upload", raw, "X-File-Name", "late.bin").fails(t, 401, "INVALID_TOKEN")

	admin.do(t, "DELETE", "/api/files/"+ids["raw.bin"], nil).want(t, 200)
	visitor.do(t, "GET", link, nil).fails(t, 404, "NOT_FOUND")
	var left []string
	for _, file := range there.walk(t, folder) {
		left = append(left, file.Name)
		there.do(t, "DELETE", "/api/files/"+file.ID, nil).want(t, 200) // the ledgers count the rest
	}
	slices.Sort(left)
	if want := "by key.bin form.bin parts.bin session.bin"; strings.Join(left, " ") != want {
		t.Errorf("%s lists %q, want %q", folder, left, want)
	}
	if files := admin.walk(t, folder); len(files) != 0 {
		t.Errorf("%s still lists %+v", folder, files)
	}
	session := admin.announce(t, folder, "given up.bin", 10, nil)
	there.do(t, "DELETE", "/api/files/upload/multipart/"+session.SessionID, nil).want(t, 200)
}
