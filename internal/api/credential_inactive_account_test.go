package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"larder/internal/apptest"
)

// accountArtifacts are links, sessions, jobs and tokens that belong to an account.
type accountArtifacts struct {
	l                               *apptest.Larder
	admin, user, key                *apptest.Client
	name, id, home                  string
	link, signed, downloadURL       string
	shareURL, shareDownloadURL      string            // a share, and an address that it returned
	sessions                        map[string]string // upload sessions that the key began
	etag                            string
	moved, copied, moveJob, copyJob string
}

// blockJobs occupies both job slots of an account, so that its jobs wait. release frees them.
func (a *accountArtifacts) blockJobs(t *testing.T) (release func()) {
	for i := range 2 {
		execAndRaiseVersion(t, a.l,
			`INSERT INTO jobs (id, type, owner_id, status, progress, created_at, due) VALUES ($1, 'held', $2, 'running', 0, 0, $3)`,
			fmt.Sprint("held", i, a.name), a.id, a.l.Clock.Now().Add(time.Hour).UnixMilli())
	}
	return func() {
		execAndRaiseVersion(t, a.l, "DELETE FROM jobs WHERE type = 'held' AND owner_id = $1", a.id)
		for _, app := range a.l.Apps {
			app.Jobs.Wake()
		}
	}
}

func newAccountArtifacts(t *testing.T, l *apptest.Larder, admin *apptest.Client, name string) *accountArtifacts {
	t.Helper()
	h := &accountArtifacts{l: l, admin: admin, name: name, user: l.User(t, name), home: "/home/" + name}
	h.id = userIDOf(t, admin, name)
	h.key = h.user.Key(M{"uploadPath": h.home})
	file := h.user.Upload(h.home, "a.png", []byte(onePixel))
	h.link = h.user.Post("/api/files/"+file+"/link", nil).OK(200).Text("link.url")
	h.signed, h.downloadURL = signedLink(h.user, file), downloadURL(h.user, file)
	h.shareURL = "/api/shares/" + shareEntry(h.user, file)
	h.shareDownloadURL = l.Client(t).Get(h.shareURL + "/download").OK(200).Text("url")
	h.sessions = map[string]string{
		"raw":      newUploadSession(h.key, h.home, "raw", 1),
		"part":     newUploadSession(h.key, h.home, "part", 1, M{"partCount": 2}),
		"complete": newUploadSession(h.key, h.home, "complete", 1),
	}
	h.etag = putRaw(h.key, h.sessions["complete"], []byte("x")).OK(200).Text("etag")
	h.moved, h.copied = mkdir(h.user, h.home, "moved"), mkdir(h.user, h.home, "copied")
	h.user.Upload(h.home+"/moved", "m", []byte("to be moved"))
	h.user.Upload(h.home+"/copied", "c", []byte("to be copied"))
	execAndRaiseVersion(t, l, `
		WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1200)
		INSERT INTO entries (id, parent_id, name, name_fold, kind, size, mime_type, owner_id, created_at, updated_at, sort_key)
		SELECT $1 || n.i, $2, 'd' || n.i, 'd' || n.i, 0, 0, '', $3, 0, 0, 'd' || length(CAST(n.i AS TEXT)) || n.i FROM n`, name+"-", h.copied, h.id)
	execAndRaiseVersion(t, l, "UPDATE quotas SET used_folders = used_folders + 1200 WHERE user_id = $1", h.id)
	return h
}

// requestJobs requests both jobs, which wait.
func (a *accountArtifacts) requestJobs() {
	a.moveJob = a.user.Post("/api/files/"+a.moved+"/move", M{"targetPath": "/vault", "newName": "moved of " + a.name}).
		OK(200).Text("jobId")
	a.copyJob = a.user.Post("/api/files/"+a.copied+"/copy", M{"targetPath": a.home, "newName": "copy"}).OK(200).
		Text("jobId")
}

// keyRequests returns requests with the key that work while the account is active.
func (a *accountArtifacts) keyRequests() map[string]func() *apptest.Reply {
	return map[string]func() *apptest.Reply{
		"listing":           func() *apptest.Reply { return a.key.Get("/api/files?path=" + a.home) },
		"compatible upload": func() *apptest.Reply { return a.key.Post("/api/upload", "x", "X-File-Name", "compat") },
		"raw":               func() *apptest.Reply { return putRaw(a.key, a.sessions["raw"], []byte("x")) },
		"part": func() *apptest.Reply {
			return a.key.Put("/api/files/upload/multipart/"+a.sessions["part"]+"/part/1", []byte("x"))
		},
		"complete": func() *apptest.Reply { return completeUpload(a.key, a.sessions["complete"], a.etag) },
	}
}

// addresses returns addresses that were issued, with their answers while the account is not active.
func (a *accountArtifacts) addresses() map[string]string {
	return map[string]string{
		a.link: "404 NOT_FOUND", a.signed: "401 INVALID_TOKEN", a.downloadURL: "401 INVALID_TOKEN",
		a.shareURL + "/preview": "410 SHARE_EXPIRED", a.shareDownloadURL: "401 INVALID_TOKEN",
	}
}

// placeholderItems stands for all items of a request. The credential is checked before them.
var placeholderItems = ownedItems{
	name: "n", file: "x", job: "x", session: "x", etag: "x", key: "pk_x", rule: "x", multipart: "x", protected: "x",
	store: "x", provider: "x", mount: "x", user: "x",
	invite: "x", share: "x", album: "x", picture: "x", announcement: "x", signIn: "x",
	trashed: "x", versioned: "x", until: "x", folder: "x",
}

// Everything that belongs to an account stops with the account, on every replica and at its next
// use. It works again when the account is active again, except sessions and whatever depends on
// them.
func TestInactiveAccountStopsItsArtifacts(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin := l.Admin(t)
		addVaultMount(t, l)
		for _, state := range []string{"disabled", "banned", "deleted"} {
			t.Run(state, func(t *testing.T) {
				a := newAccountArtifacts(t, l, admin.In(t), "user_"+state)
				release := a.blockJobs(t)
				a.requestJobs()
				a.user.Get("/api/auth/me").OK(200)
				if state == "deleted" {
					a.admin.Delete("/api/admin/users/" + a.id).OK(200)
				} else {
					updateUser(a.admin, a.id, M{"status": state}).OK(200)
				}
				checkOwnershipAndCharges(t, l, state+", while its jobs wait")
				a.checkStopped(t, state)
				release()
				for what, job := range map[string]string{"move": a.moveJob, "copy": a.copyJob} {
					if status, message := waitForJobRow(t, a.l, job); status != "failed" ||
						!strings.Contains(message, "no longer active") {
						t.Errorf("the %s: %s %q", what, status, message)
					}
				}
				a.checkSourcesIntact(t)
				checkOwnershipAndCharges(t, l, state)
				if state == "deleted" {
					return
				}
				updateUser(a.admin, a.id, M{"status": "active"}).OK(200)
				a.checkWorksAgain(t)
			})
		}
	})
}

// checkStopped sends every request twice, so that each replica gets one.
func (a *accountArtifacts) checkStopped(t *testing.T, state string) {
	for range 2 {
		for _, row := range matrix {
			path, body := row.request(placeholderItems)
			if _, isForm := body.(formBody); isForm || row.auth == noAuth || row.auth == freeModeAuth ||
				row.auth == optionalAuth {
				continue
			}
			// abuse case C41
			wantStatus(t, row.method+" "+row.pattern+" by the session", send(a.user.Fork(), row.method, path, body),
				401, "SESSION_REVOKED")
			if row.auth == sessionOrKeyAuth {
				wantStatus(t, row.method+" "+row.pattern+" by the key", send(a.key.Fork(), row.method, path, body), 401,
					"INVALID_TOKEN")
			}
		}
		for what, ask := range a.keyRequests() {
			wantStatus(t, what, ask(), 401, "INVALID_TOKEN")
		}
		for address, want := range a.addresses() {
			if state == "deleted" && address == a.link { // works under the new owner
				wantBody(t, a.l.Client(t).Get(address).OK(200), onePixel)
				continue
			}
			r := a.l.Client(t).Get(address)
			if got := fmt.Sprint(r.Status); !strings.HasPrefix(want, got) ||
				!strings.Contains(string(r.Body), strings.Fields(want)[1]) {
				t.Errorf("%s: %d %s, want %s", address, r.Status, r.Body, want)
			}
		}
	}
	a.l.Client(t).Get(a.shareURL).Fails(410, "SHARE_REVOKED")
	if r := postLogin(a.l.Client(t), a.name, "password of "+a.name); state == "deleted" {
		r.Fails(401, "INVALID_CREDENTIALS")
	} else {
		r.Fails(401, "USER_DISABLED")
	}
}

// checkSourcesIntact checks that the sources of both jobs are in place and that the jobs made
// nothing.
func (a *accountArtifacts) checkSourcesIntact(t *testing.T) {
	t.Helper()
	for _, id := range []string{a.moved, a.copied} {
		a.admin.Get("/api/files/" + id).OK(200)
	}
	list := a.admin.Get("/api/files?path=/home&search=m").OK(200)
	if !strings.Contains(string(list.Body), `"name":"m"`) {
		t.Errorf("the file is not found: %.300s", list.Body)
	}
	for _, path := range []string{"/vault/moved of " + a.name, a.home + "/copy"} {
		if got := a.admin.Get("/api/files?path=" + strings.ReplaceAll(path, " ", "%20")); got.Status != 404 {
			t.Errorf("%s: %d", path, got.Status)
		}
	}
	if n := queryInt(t, a.l, "SELECT count(*) FROM copies WHERE user_id = $1", a.id); n != 0 {
		t.Error("the copy still has its reservation")
	}
}

// checkWorksAgain checks an account that was made active again.
func (a *accountArtifacts) checkWorksAgain(t *testing.T) {
	a.user.Get("/api/auth/me").Fails(401, "SESSION_REVOKED")
	for what, ask := range a.keyRequests() {
		wantStatus(t, "again: "+what, ask(), 200, "")
	}
	a.l.Client(t).Get(a.shareURL).OK(200)
	for address := range a.addresses() {
		if address == a.downloadURL { // belongs to a session, which has ended
			a.l.Client(t).Get(address).Fails(401, "INVALID_TOKEN")
			continue
		}
		wantBody(t, a.l.Client(t).Get(address).OK(200), onePixel)
	}
}

// A request that began before the account ended and finishes afterwards makes no file without an
// owner and no lost charge.
func TestUploadFailsWhenAccountEndsMeanwhile(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin := l.Admin(t)
		for _, state := range []string{"disabled", "deleted"} {
			t.Run(state, func(t *testing.T) {
				name := "up_" + state
				user := l.User(t, name)
				id, key := userIDOf(t, admin, name), user.Key(M{"uploadPath": "/home/" + name})
				keep := user.Upload("/home/"+name, "kept", []byte("1"))
				body := &pausingBody{pieces: []string{strings.Repeat("x", 300<<10), "y"}, resume: make(chan struct{})}
				done, key := make(chan *apptest.Reply), key.In(t)
				go func() {
					done <- key.Do(apptest.Request{Method: "POST", Path: "/api/upload", Body: body, Length: 300<<10 + 1,
						Header: http.Header{"X-File-Name": {"late"}}})
				}()
				waitUntil(t, "the upload has begun", func() bool {
					return queryInt(t, l, "SELECT count(*) FROM upload_sessions WHERE one_shot AND user_id = "+
						"$1", id) > 0
				})
				if state == "deleted" {
					admin.In(t).Delete("/api/admin/users/" + id).OK(200)
				} else {
					updateUser(admin.In(t), id, M{"status": state}).OK(200)
				}
				close(body.resume)
				wantStatus(t, "the upload", <-done, 401, "INVALID_TOKEN")
				checkOwnershipAndCharges(t, l, state)
				admin.In(t).Get("/api/files/" + keep).OK(200)
				if n := queryInt(t, l, "SELECT count(*) FROM entries WHERE name = 'late'"); n != 0 {
					t.Error("a file was made")
				}
			})
		}
	})
}
