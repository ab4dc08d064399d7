package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

func TestVersion(t *testing.T) {
	t.Parallel()
	if out := newSite(t).mustRun(t, "version"); !strings.Contains(out, builtVersion) {
		t.Errorf("version printed %q, want something with %s", out, builtVersion)
	}
	var built struct {
		Version, Go, OS, Arch string
		Schema                int
	}
	if err := json.Unmarshal([]byte(newSite(t).mustRun(t, "version", "--json")), &built); err != nil {
		t.Fatal(err)
	}
	if built.Version != builtVersion || built.Go != runtime.Version() || built.OS != runtime.GOOS ||
		built.Arch != runtime.GOARCH || built.Schema < 23 {
		t.Errorf("version --json printed %+v", built)
	}
}

// The exit code of health is for supervisors, its text for people. It is not ready while nothing
// listens, while something else does, and while the disk is missing.
func TestHealthCommand(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.set("LARDER_LISTEN", freeAddress(t), "LARDER_OPS_LISTEN", freeAddress(t))
	want := func(when string, wantCode int, words ...string) {
		t.Helper()
		stdout, stderr, code := s.run(t, "health")
		if code != wantCode || stderr != "" {
			t.Errorf("%s: exit code %d, want %d; stderr %q", when, code, wantCode, stderr)
		}
		for _, word := range words {
			if !strings.Contains(stdout, word) {
				t.Errorf("%s: printed %q, without %q", when, stdout, word)
			}
		}
	}
	want("before the start", 1, "not ready: ", "connection refused")
	p := s.start(t)
	want("while it runs", 0, "ready\n")
	if _, stderr, code := s.run(t, "health", "now"); code != 2 || stderr == "" {
		t.Errorf("health with a name: exit code %d, stderr %q", code, stderr)
	}
	objects := filepath.Join(s.dir, "objects")
	if err := os.Rename(objects, objects+".away"); err != nil {
		t.Fatal(err)
	}
	want("without its disk", 1, "not ready: a storage provider is not available",
		`- The store of the provider "local" does not answer`)
	if err := os.Rename(objects+".away", objects); err != nil {
		t.Fatal(err)
	}
	until(t, "the service is ready again", func() bool { return p.probe("/api/public/health/ready") == 200 })
	want("with its disk again", 0, "ready\n")
	delete(s.env, "LARDER_OPS_LISTEN")
	want("by the public address", 0, "ready\n")
	s.set("LARDER_LISTEN", strings.Replace(s.env["LARDER_LISTEN"], "127.0.0.1", "0.0.0.0", 1),
		"LARDER_BASE_URL", "https://files.example.org")
	want("as if it listened everywhere", 0, "ready\n")
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	s.set("LARDER_LISTEN", other.Listener.Addr().String())
	want("another service", 1, "does not answer like Larder")
}

func TestUnknownCommand(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.start(t)
	for _, args := range [][]string{{"surve"}, {"admin", "crate", "x"}, {"key", "create"},
		{"key", "create", "admin", "--for", "nothing"}, {"version", "--xml"}, {"version", "--json", "x"}} {
		if stdout, stderr, code := s.run(t, args...); code != 2 || stderr == "" {
			t.Errorf("larder %v: exit code %d, stdout %q, stderr %q; want 2 and a sentence on stderr", args, code,
				stdout, stderr)
		}
	}
}

func TestHelp(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	stdout, stderr, code := s.run(t, "serve", "--help")
	if code != 0 {
		t.Errorf("serve --help: exit code %d, want 0", code)
	}
	for _, want := range []string{"--listen", "LARDER_LISTEN", "127.0.0.1:8080", "--config", "LARDER_GARBAGE_GRACE",
		"LARDER_MIN_FREE"} {
		if !strings.Contains(stdout+stderr, want) {
			t.Errorf("serve --help does not name %s", want)
		}
	}
}

// The administrator's commands work beside a running server, which applies the change at once.
func TestAdminCommands(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	p := s.start(t)

	first := passwordIn(t, s.mustRun(t, "admin", "create", "mallow", "--role", "user"))
	mallow := login(t, "mallow", first, p.url)
	var me struct {
		User struct{ Role, DefaultPath string }
	}
	mallow.do(t, "GET", "/api/auth/me", nil).data(t, 200, &me)
	if me.User.Role != "user" || me.User.DefaultPath != "/home/mallow" {
		t.Errorf("the account is %+v, want a user at home in /home/mallow", me.User)
	}
	login(t, "root2", passwordIn(t, s.mustRun(t, "admin", "create", "root2")), p.url).do(t, "GET", "/api/auth/me", nil).
		data(t, 200, &me)
	if me.User.Role != "admin" {
		t.Errorf("admin create without --role made a %s, want an admin", me.User.Role)
	}

	second := passwordIn(t, s.mustRun(t, "admin", "reset-password", "mallow"))
	mallow.do(t, "GET", "/api/auth/me", nil).fails(t, 401, "SESSION_REVOKED")
	newClient(p.url).do(t, "POST", "/api/auth/login", object{"username": "mallow", "password": first}).
		fails(t, 401, "INVALID_CREDENTIALS")
	login(t, "mallow", second, p.url)

	for _, args := range [][]string{{"admin", "create", "mallow"}, {"admin", "create", "MALLOW"},
		{"admin", "create", "no good"}, {"admin", "reset-password", "nobody"},
		{"key", "create", "nobody", "--base-url", "http://larder.test"}} {
		if stdout, stderr, code := s.run(t, args...); code != 1 || strings.TrimSpace(stderr) == "" ||
			passwordLine.MatchString(stdout) {
			t.Errorf("larder %v: exit code %d, stdout %q, stderr %q; want 1 and a sentence on stderr", args, code,
				stdout, stderr)
		}
	}
}

// Beside a running server, the operator finds a deleted folder, restores it and empties the trash.
func TestTrashCommands(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	p := s.start(t)
	mallow := login(t, "mallow", passwordIn(t, s.mustRun(t, "admin", "create", "mallow", "--role", "user")), p.url)
	var made struct{ File struct{ ID string } }
	mallow.do(t, "POST", "/api/files/folder", object{"path": "/home/mallow", "name": "my trip"}).data(t, 201, &made)
	id := made.File.ID
	list := func(user, want string) {
		t.Helper()
		lines := strings.Split(strings.TrimSpace(s.mustRun(t, "trash", "list", user)), "\n")
		if !strings.HasPrefix(lines[0], "ID ") {
			t.Errorf("trash list %s has no heading: %q", user, lines)
		}
		got := strings.Join(lines[1:], "\n")
		if want == "" && got != "" || want != "" && (!strings.HasPrefix(got, id) || !strings.HasSuffix(got, want)) {
			t.Errorf("trash list %s:\n%s\nwant %q", user, got, want)
		}
	}
	toTrash := func() {
		t.Helper()
		mallow.do(t, "DELETE", "/api/files/"+id+"?trash=true", nil).want(t, 200)
	}
	list("mallow", "")
	toTrash()
	list("mallow", `"/home/mallow/my trip/"`)
	list("admin", "")
	for _, args := range [][]string{{"list", "nobody"}, {"restore", "mallow", "unknown"},
		{"restore", "mallow", id, "--to", "/home/mallow/none"}, {"empty", "nobody"}} {
		if _, stderr, code := s.run(t, append([]string{"trash"}, args...)...); code != 1 || stderr == "" {
			t.Errorf("larder trash %v: exit code %d, stderr %q; want 1 and a sentence", args, code, stderr)
		}
	}
	for _, args := range [][]string{{"restore", "mallow"}, {"restore", "mallow", id, "--to", "no path"}, {"list"}} {
		if _, stderr, code := s.run(t, append([]string{"trash"}, args...)...); code != 2 || stderr == "" {
			t.Errorf("larder trash %v: exit code %d, stderr %q; want 2 and a sentence", args, code, stderr)
		}
	}
	if out := s.mustRun(t, "trash", "restore", "mallow", id); !strings.Contains(out, `"/home/mallow/my trip"`) {
		t.Errorf("trash restore printed %q", out)
	}
	mallow.do(t, "GET", "/api/files/"+id, nil).want(t, 200)
	list("mallow", "")
	mallow.do(t, "POST", "/api/files/folder", object{"path": "/home/mallow", "name": "other"}).want(t, 201)
	toTrash()
	if out := s.mustRun(t, "trash", "restore", "mallow", id, "--to", "/home/mallow/other"); !strings.Contains(out,
		`"/home/mallow/other/my trip"`) {
		t.Errorf("trash restore --to printed %q", out)
	}
	toTrash()
	s.mustRun(t, "trash", "empty", "mallow")
	list("mallow", "")
	if _, _, code := s.run(t, "trash", "restore", "mallow", id); code != 1 {
		t.Errorf("after emptying, a restore has exit code %d, want 1", code)
	}
	var log struct {
		Logs []struct{ Username, Action, Path, RequestID string }
	}
	for search, want := range map[string]string{
		"larder trash restore": "[{mallow restore /home/mallow/other/my trip larder trash restore} " +
			"{mallow restore /home/mallow/my trip larder trash restore}]",
		"larder trash empty": "[{mallow purge / larder trash empty}]",
	} {
		login(t, "admin", adminPassword, p.url).
			do(t, "GET", "/api/admin/logs?search="+url.QueryEscape(search), nil).data(t, 200, &log)
		if got := fmt.Sprint(log.Logs); got != want {
			t.Errorf("the access log has %s, want %s", got, want)
		}
	}
}

// While the captcha service cannot be reached, no one can sign in. The command disables the captcha
// on a running server at once and leaves the other settings unchanged.
func TestDisableCaptcha(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.env["LARDER_CAPTCHA_PROVIDER"], s.env["LARDER_CAPTCHA_SECRET"] = "turnstile", "secret"
	// not an internet address, so no request is sent
	s.env["LARDER_CAPTCHA_VERIFY_URL"] = "https://127.0.0.1:1/siteverify"
	p := s.start(t)
	admin := login(t, "admin", adminPassword, p.url)
	admin.do(t, "PATCH", "/api/admin/settings",
		object{"enableCaptcha": true, "captchaSiteKey": "site-key", "siteTitle": "Pantry"}).want(t, 200)
	signIn := func() reply {
		return newClient(p.url).do(t, "POST", "/api/auth/login",
			object{"username": "admin", "password": adminPassword, "captchaToken": "token"})
	}
	signIn().fails(t, 500, "INTERNAL_ERROR")
	if _, _, code := s.run(t, "admin", "disable-captcha", "please"); code != 2 {
		t.Errorf("with a word too many: exit code %d, want 2", code)
	}
	signIn().fails(t, 500, "INTERNAL_ERROR")
	for range 2 { // again when it is disabled
		s.mustRun(t, "admin", "disable-captcha")
		signIn().want(t, 200)
	}
	var settings struct {
		EnableCaptcha             bool
		CaptchaSiteKey, SiteTitle string
	}
	admin.do(t, "GET", "/api/admin/settings", nil).data(t, 200, &settings)
	if settings.EnableCaptcha || settings.CaptchaSiteKey != "site-key" || settings.SiteTitle != "Pantry" {
		t.Errorf("the settings are %+v", settings)
	}
}

// The command that `key create --for curl` prints works unchanged with the name of a file.
func TestKeyForCurl(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.keepPort(t)
	p := s.start(t)
	picture := photograph(t)
	path := filepath.Join(t.TempDir(), "photo.jpg")
	if err := os.WriteFile(path, picture, 0o600); err != nil {
		t.Fatal(err)
	}
	out := s.mustRun(t, "key", "create", "admin", "--for", "curl")
	command := regexp.MustCompile(`(?m)^\s*(curl .*)$`).FindString(out)
	if command == "" {
		t.Fatalf("no curl command in %q", out)
	}
	command = regexp.MustCompile(`@[^\s"']+`).ReplaceAllLiteralString(command, "@"+path)
	said, err := exec.Command("sh", "-c", command).Output()
	if err != nil {
		t.Fatalf("%s: %v", command, err)
	}
	var u uploaded
	reply{status: 200, body: said}.data(t, 200, &u)
	if got := newClient(p.url).do(t, "GET", u.DirectURL, nil).want(t, 200); hash(got.body) != hash(picture) {
		t.Error("the direct address gives other bytes than were sent")
	}
}

// The file that `key create --for sharex` prints is a custom uploader. The test uses it like
// ShareX.
func TestKeyForShareX(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.keepPort(t)
	p := s.start(t)
	var uploader struct {
		Version, Name, DestinationType, RequestMethod, RequestURL, Body, FileFormName, URL string
		Headers                                                                            map[string]string
		Arguments                                                                          map[string]string
	}
	out := s.mustRun(t, "key", "create", "admin", "--for", "sharex")
	if err := json.Unmarshal([]byte(out), &uploader); err != nil {
		t.Fatalf("stdout is not a ShareX file: %v\n%s", err, out)
	}
	if uploader.RequestMethod != "POST" || uploader.Body != "MultipartFormData" ||
		uploader.RequestURL != p.url+"/api/upload" || uploader.Version == "" {
		t.Errorf("the uploader is %+v", uploader)
	}
	if !strings.Contains(uploader.DestinationType, "ImageUploader") ||
		!strings.Contains(uploader.DestinationType, "FileUploader") {
		t.Errorf("DestinationType %q, want images and files", uploader.DestinationType)
	}
	var parts []formPart
	for name, value := range uploader.Arguments {
		parts = append(parts, field(name, value))
	}
	picture := photograph(t)
	body, kind := form(t, append(parts, file(uploader.FileFormName, "Screenshot_1.jpg", "image/jpeg",
		string(picture)))...)
	headers := []string{"Content-Type", kind, "User-Agent", "ShareX/17.0.0"}
	for name, value := range uploader.Headers {
		headers = append(headers, name, value)
	}
	r := newClient(p.url).do(t, uploader.RequestMethod, uploader.RequestURL, body, headers...).want(t, 200)
	// ShareX extracts {json:path} from the answer
	path, ok := strings.CutPrefix(strings.TrimSuffix(uploader.URL, "}"), "{json:")
	if !ok {
		t.Fatalf("URL %q, want {json:…}", uploader.URL)
	}
	var answer any
	if err := json.Unmarshal(r.body, &answer); err != nil {
		t.Fatal(err)
	}
	for _, name := range strings.Split(path, ".") {
		fields, _ := answer.(map[string]any)
		answer = fields[name]
	}
	address, _ := answer.(string)
	if got := newClient(p.url).do(t, "GET", address, nil).want(t, 200); hash(got.body) != hash(picture) {
		t.Error("the address that ShareX copies gives other bytes than were sent")
	}
}

// A WebDAV client needs an address, a user name and a password. Specification: the webdav
// configuration of a key.
func TestKeyForWebDAV(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.keepPort(t)
	p := s.start(t)
	out := s.mustRun(t, "key", "create", "admin", "--for", "webdav")
	for _, pattern := range []string{regexp.QuoteMeta(p.url + "/webdav"), `\bpk_[0-9A-Za-z]{24}\b`,
		`\bsk_[0-9A-Za-z]{48}\b`} {
		if !regexp.MustCompile(pattern).MatchString(out) {
			t.Errorf("%s is not in %q", pattern, out)
		}
	}
	// such a key is valid for WebDAV only
	id, secret := regexp.MustCompile(`pk_[0-9A-Za-z]{24}`).FindString(out), regexp.MustCompile(`sk_[0-9A-Za-z]{48}`).
		FindString(out)
	withKey(id+"."+secret, p.url).do(t, "GET", "/api/files", nil).fails(t, 403, "FORBIDDEN")
}

// larder fsck works beside a running server and without one. Its exit code is 0 without findings, 1
// with findings, and 2 for wrong arguments.
func TestFsckCommand(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	p := s.start(t)
	withKey(s.key(t, "admin"), p.url).mustRaw(t, "a.txt", "", "text/plain", []byte("a letter"))
	s.fsck(t)
	for _, args := range [][]string{{"fsck", "now"}, {"fsck", "--repair", "everything"},
		{"fsck", "--repair", "hashes"}} {
		if stdout, stderr, code := s.run(t, args...); code != 2 || stderr == "" {
			t.Errorf("larder %v: exit code %d, stdout %q, stderr %q; want 2 and a sentence on stderr", args, code,
				stdout, stderr)
		}
	}
	objects, err := filepath.Glob(filepath.Join(s.dir, "objects/default/??/*"))
	if err != nil || len(objects) != 1 {
		t.Fatalf("objects %q, %v", objects, err)
	}
	if err := os.WriteFile(objects[0], []byte("b letter"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, running := range []bool{true, false} {
		if out, _, code := s.run(t, "fsck"); code != 0 || !strings.Contains(out, "No problems found") {
			t.Errorf("running %v: a check that reads nothing ends with %d: %s", running, code, out)
		}
		out, stderr, code := s.run(t, "fsck", "--deep")
		if code != 1 || !strings.HasPrefix(out, "hash ") || !strings.Contains(out, "/uploads/a.txt") ||
			!strings.Contains(out, "1 problem found.") || stderr != "" {
			t.Errorf("running %v: a check that reads ends with %d: %s%s", running, code, out, stderr)
		}
		if running {
			p.stop(t)
		}
	}
}
