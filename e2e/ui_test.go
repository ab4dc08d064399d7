package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// uiPatience is the time limit of all scenarios together.
const uiPatience = 70 * time.Minute

// The web UI in a browser: the file manager.
func TestUI(t *testing.T) {
	t.Parallel()
	testUIScenarios(t, "files")
}

// The web UI in a browser: Photos, favourites, links, own folders, and the installed app.
func TestUICollections(t *testing.T) {
	t.Parallel()
	testUIScenarios(t, "collections")
}

// The web UI in a browser: its parts without an account, one after another, so that they take one
// slot of the parallel tests.
func TestUIParts(t *testing.T) {
	t.Parallel()
	t.Run("Kit", testUIKit)
	t.Run("FirstVisit", testFirstVisit)
	t.Run("FirstRun", testFirstRun)
}

// The web UI in a browser: the screens of guests and accounts beside the file manager.
func TestUIAccounts(t *testing.T) {
	t.Parallel()
	testUIScenarios(t, "accounts")
}

// The web UI in a browser: the administration.
func TestUIAdministration(t *testing.T) {
	t.Parallel()
	testUIScenarios(t, "administration")
}

// testUIScenarios tests the web UI as users see it: each flow in one of the languages and themes,
// or in both in a full run, an accessibility check of every screen, and no violation of the page's
// content security policy during the run (browser/ui). LARDER_TEST_UI_ONLY selects scenarios by
// parts of their names, separated by |.
func testUIScenarios(t *testing.T, suite string) {
	s := newSite(t)
	s.set("SSL_CERT_FILE", mailRoots(t), "LARDER_ALLOW_PRIVATE_ENDPOINTS", "127.0.0.0/8",
		"LARDER_FREE_MODE_ALLOW_PRIVATE_ENDPOINTS", "127.0.0.0/8", "LARDER_GARBAGE_GRACE", "1ms")
	p := s.start(t)
	st := &uiFixture{site: p, keyed: createContent(t, p)}
	run := object{"base": p.url, "users": uiUsers, "password": adminPassword, "suite": suite}
	if uiInFull() {
		run["lan"] = st.lan(t)
	}
	runBrowser(t, run, st)
}

// uiInFull reports whether screens are checked in every variant and uploads meet faults.
func uiInFull() bool { return os.Getenv("LARDER_TEST_UI_FULL") != "" }

// runBrowser runs scenarios in a browser, see browser/ui/main.mjs. LARDER_TEST_SHOTS is a directory
// for screenshots; with LARDER_TEST_STILL they omit what differs between runs.
func runBrowser(t *testing.T, run object, st *uiFixture) {
	t.Helper()
	run["full"] = uiInFull()
	if run["only"] == nil {
		run["only"] = os.Getenv("LARDER_TEST_UI_ONLY")
	}
	run["shots"], run["still"] = os.Getenv("LARDER_TEST_SHOTS"), os.Getenv("LARDER_TEST_STILL") != ""
	ctx, cancel := context.WithTimeout(t.Context(), uiPatience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", "ui/main.mjs")
	cmd.Dir = "browser"
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	lines, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	answers, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	tell := json.NewEncoder(answers)
	if err := tell.Encode(run); err != nil {
		t.Fatal(err)
	}
	ran := 0
	for scanner := bufio.NewScanner(lines); scanner.Scan(); {
		var told struct {
			Name, Error string
			MS          int

			Figure  string
			Figures map[string]float64

			Ask  string
			With json.RawMessage
		}
		if err := json.Unmarshal(scanner.Bytes(), &told); err != nil {
			t.Fatalf("main.mjs printed %q: %v", scanner.Text(), err)
		}
		if told.Figure != "" {
			t.Logf("%s: %v", told.Figure, told.Figures)
			continue
		}
		if told.Ask != "" {
			if err := tell.Encode(st.do(t, told.Ask, told.With)); err != nil {
				t.Fatal(err)
			}
			continue
		}
		ran++
		t.Run(strings.ReplaceAll(told.Name, " ", "_"), func(t *testing.T) {
			t.Logf("%d ms", told.MS)
			if told.Error != "" {
				t.Error(told.Error)
			}
		})
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("node ui/main.mjs: %v\n%s", err, &complaints)
	}
	if ran == 0 {
		t.Error("no scenario ran")
	}
}

// uiUsers are administrators by their language; their password is adminPassword.
var uiUsers = map[string]string{"en-US": "ann", "zh-CN": "lin"}

// createManyFiles uploads ten thousand files into one folder.
func createManyFiles(t *testing.T, admin, keyed *client) {
	t.Helper()
	admin.mkdir(t, "/public", "many")
	const workers = 8
	var group sync.WaitGroup
	for worker := range workers {
		group.Go(func() {
			for n := worker; n < 10_000; n += workers {
				if _, r, err := keyed.raw(fmt.Sprintf("f%05d.txt", n), "/public/many", "text/plain",
					[]byte("x")); err != nil || r.status != 200 {
					t.Errorf("file %d: %d %s %v", n, r.status, r.body, err)
					return
				}
			}
		})
	}
	group.Wait()
}

// hostileNames are files whose names or contents would run a script on a page that treats them as
// markup (abuse cases C67 to C72). A script that runs shows an alert.
var hostileNames = map[string]string{
	`<img src=x onerror=alert(1)>.txt`: "<script>alert(2)</script>",
	`"><svg onload=alert(3)>.png`:      "no picture",
	`'-alert(4)-'.html`:                "<!doctype html><script>alert(5)</script>",
	"picture.svg":                      `<svg xmlns="http://www.w3.org/2000/svg" onload="alert(6)"><script>alert(7)</script></svg>`,
	"readme.md": "# Read\n\n<img src=x onerror=alert(8)>\n\n" +
		"[click](javascript:alert(9)) <a href=\"javascript:alert(10)\">or here</a><iframe " +
		"srcdoc=\"<script>alert(11)</script>\"></iframe>",
	"{{alert(12)}}${alert(13)}.js":              "alert(14)",
	"a&lt;b&gt;&amp;.csv":                       "=cmd|' /C calc'!A0",
	"javascript:alert(15).txt":                  "text",
	"long-" + strings.Repeat("n", 240) + ".txt": "a long name",
}

// createUsers creates the accounts.
func createUsers(t *testing.T, p *process) {
	t.Helper()
	admin := p.admin(t)
	for locale, name := range uiUsers {
		admin.createUser(t, name, adminPassword, "admin")
		login(t, name, adminPassword, p.url).do(t, "PUT", "/api/users/me/settings", object{"locale": locale}).
			want(t, 200)
	}
}

// createContent creates the content that the scenarios expect, and returns the client that did so,
// with a key for every folder.
func createContent(t *testing.T, p *process) *client {
	t.Helper()
	admin := p.admin(t)
	createUsers(t, p)
	key := admin.createKey(t, object{"name": "ui", "permissions": []string{"write"}, "protocols": []string{"api"},
		"uploadPath": "/"})
	keyed := withKey(key, p.url)
	keyed.mustRaw(t, "private.txt", "/home", "text/plain", []byte("for the administrator alone"))
	for name, content := range hostileNames {
		keyed.mustRaw(t, name, "/public/odd", "application/octet-stream", []byte(content))
	}
	locked := keyed.mustRaw(t, "locked.txt", "/public", "text/plain", []byte("behind a password"))
	admin.do(t, "PUT", "/api/files/"+locked.FileID, object{"accessPassword": "open sesame"}).want(t, 200)
	return keyed
}
