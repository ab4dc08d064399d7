package api_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"larder/internal/apptest"
)

// hangs is what hangs on an account.
type hangs struct {
	l                               *apptest.Larder
	admin, user, key                *apptest.Client
	name, id, home                  string
	link, signed, ticket            string
	shared, sharedTicket            string            // a share, and an address that it gave out
	sessions                        map[string]string // upload sessions that the key began
	etag                            string
	moved, copied, moveJob, copyJob string
}

// hold keeps the runners from an account's jobs, which have two at a time at most; release lets them go on.
func (h *hangs) hold(t *testing.T) (release func()) {
	for i := range 2 {
		change(t, h.l, `INSERT INTO jobs (id, type, owner_id, status, progress, created_at, due) VALUES ($1, 'held', $2, 'running', 0, 0, $3)`,
			fmt.Sprint("held", i, h.name), h.id, h.l.Clock.Now().Add(time.Hour).UnixMilli())
	}
	return func() {
		change(t, h.l, "DELETE FROM jobs WHERE type = 'held' AND owner_id = $1", h.id)
		for _, a := range h.l.Apps {
			a.Jobs.Wake()
		}
	}
}

func newHangs(t *testing.T, l *apptest.Larder, admin *apptest.Client, name string) *hangs {
	t.Helper()
	h := &hangs{l: l, admin: admin, name: name, user: l.User(t, name), home: "/home/" + name}
	h.id = userID(t, admin, name)
	h.key = h.user.Key(m{"uploadPath": h.home})
	file := h.user.Upload(h.home, "a.png", []byte(onePixel))
	h.link = h.user.Post("/api/files/"+file+"/link", nil).OK(200).Text("link.url")
	h.signed, h.ticket = signedLink(h.user, file), ticket(h.user, file)
	h.shared = "/api/shares/" + h.user.Post("/api/shares/", M{"fileId": file}).OK(201).Text("share.id")
	h.sharedTicket = l.Client(t).Get(h.shared + "/download").OK(200).Text("url")
	h.sessions = map[string]string{
		"raw":      session(h.key, h.home, "raw", 1),
		"part":     session(h.key, h.home, "part", 1, m{"partCount": 2}),
		"complete": session(h.key, h.home, "complete", 1),
	}
	h.etag = putRaw(h.key, h.sessions["complete"], []byte("x")).OK(200).Text("etag")
	h.moved, h.copied = mkdir(h.user, h.home, "moved"), mkdir(h.user, h.home, "copied")
	h.user.Upload(h.home+"/moved", "m", []byte("to be moved"))
	h.user.Upload(h.home+"/copied", "c", []byte("to be copied"))
	change(t, l, `
		WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1200)
		INSERT INTO entries (id, parent_id, name, name_fold, kind, size, mime_type, owner_id, created_at, updated_at)
		SELECT $1 || n.i, $2, 'd' || n.i, 'd' || n.i, 0, 0, '', $3, 0, 0 FROM n`, name+"-", h.copied, h.id)
	change(t, l, "UPDATE quotas SET used_folders = used_folders + 1200 WHERE user_id = $1", h.id)
	return h
}

// begin has both jobs asked for; they wait.
func (h *hangs) begin() {
	h.moveJob = h.user.Post("/api/files/"+h.moved+"/move", m{"targetPath": "/vault", "newName": "moved of " + h.name}).OK(200).Text("jobId")
	h.copyJob = h.user.Post("/api/files/"+h.copied+"/copy", m{"targetPath": h.home, "newName": "copy"}).OK(200).Text("jobId")
}

// byKey are requests with the key that work while the account is active.
func (h *hangs) byKey() map[string]func() *apptest.Reply {
	return map[string]func() *apptest.Reply{
		"listing":           func() *apptest.Reply { return h.key.Get("/api/files?path=" + h.home) },
		"compatible upload": func() *apptest.Reply { return h.key.Post("/api/upload", "x", "X-File-Name", "compat") },
		"raw":               func() *apptest.Reply { return putRaw(h.key, h.sessions["raw"], []byte("x")) },
		"part": func() *apptest.Reply {
			return h.key.Put("/api/files/upload/multipart/"+h.sessions["part"]+"/part/1", []byte("x"))
		},
		"complete": func() *apptest.Reply { return complete(h.key, h.sessions["complete"], h.etag) },
	}
}

// byAddress are addresses that were handed out, with what they answer while the account is not active.
func (h *hangs) byAddress() map[string]string {
	return map[string]string{
		h.link: "404 NOT_FOUND", h.signed: "401 INVALID_TOKEN", h.ticket: "401 INVALID_TOKEN", h.shared + "/preview": "410 SHARE_EXPIRED", h.sharedTicket: "401 INVALID_TOKEN",
	}
}

// waits waits for the end of a job that nobody can ask about any more.
func (h *hangs) waits(t *testing.T, job string) (status, message string) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	for {
		err := h.l.Apps[0].DB.Read(t.Context()).QueryRow("SELECT status, COALESCE(error_message, '') FROM jobs WHERE id = $1", job).Scan(&status, &message)
		if err != nil {
			t.Fatal(err)
		}
		if status == "completed" || status == "failed" {
			return status, message
		}
		select {
		case <-deadline:
			t.Fatalf("the job %s is %s", job, status)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// some stands for everything that a request could be about; who asks is told before.
var some = fixture{
	name: "n", file: "x", job: "x", session: "x", etag: "x", key: "pk_x", rule: "x", multipart: "x", locked: "x", store: "x", provider: "x", mount: "x", user: "x",
	invite: "x", share: "x", album: "x", picture: "x", announcement: "x",
}

// Everything that hangs on an account stops with it, on every replica and at its next use. It goes on with an account that is active again,
// sessions and what hangs on them excepted.
func TestWhatHangsOnAnAccountStopsWithIt(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin := l.Admin(t)
		vault(t, l)
		for _, state := range []string{"disabled", "banned", "deleted"} {
			t.Run(state, func(t *testing.T) {
				h := newHangs(t, l, admin.In(t), "user_"+state)
				release := h.hold(t)
				h.begin()
				h.user.Get("/api/auth/me").OK(200)
				if state == "deleted" {
					h.admin.Delete("/api/admin/users/" + h.id).OK(200)
				} else {
					setUser(h.admin, h.id, M{"status": state}).OK(200)
				}
				sound(t, l, state+", while its jobs wait")
				h.stopped(t, state)
				release()
				for what, job := range map[string]string{"move": h.moveJob, "copy": h.copyJob} {
					if status, message := h.waits(t, job); status != "failed" || !strings.Contains(message, "not active any more") {
						t.Errorf("the %s: %s %q", what, status, message)
					}
				}
				h.intact(t)
				sound(t, l, state)
				if state == "deleted" {
					return
				}
				setUser(h.admin, h.id, M{"status": "active"}).OK(200)
				h.goesOn(t)
			})
		}
	})
}

// stopped asks twice for everything, so that each replica is asked.
func (h *hangs) stopped(t *testing.T, state string) {
	for range 2 {
		for _, row := range matrix {
			path, body := row.request(some)
			if _, isForm := body.(upload); isForm || row.who == public || row.who == freeOnly || row.who == anyone {
				continue
			}
			// abuse case C41
			status(t, row.method+" "+row.pattern+" by the session", send(h.user.Fork(), row.method, path, body), 401, "SESSION_REVOKED")
			if row.who == cookieOrKey {
				status(t, row.method+" "+row.pattern+" by the key", send(h.key.Fork(), row.method, path, body), 401, "INVALID_TOKEN")
			}
		}
		for what, ask := range h.byKey() {
			status(t, what, ask(), 401, "INVALID_TOKEN")
		}
		for address, want := range h.byAddress() {
			if state == "deleted" && address == h.link { // goes on under the new owner
				bodyIs(t, h.l.Client(t).Get(address).OK(200), onePixel)
				continue
			}
			r := h.l.Client(t).Get(address)
			if got := fmt.Sprint(r.Status); !strings.HasPrefix(want, got) || !strings.Contains(string(r.Body), strings.Fields(want)[1]) {
				t.Errorf("%s: %d %s, want %s", address, r.Status, r.Body, want)
			}
		}
	}
	h.l.Client(t).Get(h.shared).Fails(410, "SHARE_REVOKED")
	if r := login(h.l.Client(t), h.name, "password of "+h.name); state == "deleted" {
		r.Fails(401, "INVALID_CREDENTIALS")
	} else {
		r.Fails(401, "USER_DISABLED")
	}
}

// intact checks that the sources of both jobs are where they were, and that nothing came of them.
func (h *hangs) intact(t *testing.T) {
	t.Helper()
	for _, id := range []string{h.moved, h.copied} {
		h.admin.Get("/api/files/" + id).OK(200)
	}
	list := h.admin.Get("/api/files?path=/home&search=m").OK(200)
	if !strings.Contains(string(list.Body), `"name":"m"`) {
		t.Errorf("the file is not found: %.300s", list.Body)
	}
	for _, path := range []string{"/vault/moved of " + h.name, h.home + "/copy"} {
		if got := h.admin.Get("/api/files?path=" + strings.ReplaceAll(path, " ", "%20")); got.Status != 404 {
			t.Errorf("%s: %d", path, got.Status)
		}
	}
	if n := number(t, h.l, "SELECT count(*) FROM copies WHERE user_id = $1", h.id); n != 0 {
		t.Error("the copy still has its reservation")
	}
}

// goesOn is after the account was made active again.
func (h *hangs) goesOn(t *testing.T) {
	h.user.Get("/api/auth/me").Fails(401, "SESSION_REVOKED")
	for what, ask := range h.byKey() {
		status(t, "again: "+what, ask(), 200, "")
	}
	h.l.Client(t).Get(h.shared).OK(200)
	for address := range h.byAddress() {
		if address == h.ticket { // of a session, which has ended
			h.l.Client(t).Get(address).Fails(401, "INVALID_TOKEN")
			continue
		}
		bodyIs(t, h.l.Client(t).Get(address).OK(200), onePixel)
	}
}

// What was let in before the account ended, and comes to its end behind that, makes nothing: no file without an owner, no charge that is lost.
func TestUploadThatTheAccountDoesNotOutlive(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin := l.Admin(t)
		for _, state := range []string{"disabled", "deleted"} {
			t.Run(state, func(t *testing.T) {
				name := "up_" + state
				user := l.User(t, name)
				id, key := userID(t, admin, name), user.Key(m{"uploadPath": "/home/" + name})
				keep := user.Upload("/home/"+name, "kept", []byte("1"))
				body := &pausing{rest: []string{strings.Repeat("x", 300<<10), "y"}, goOn: make(chan struct{})}
				done, key := make(chan *apptest.Reply), key.In(t)
				go func() {
					done <- key.Do(apptest.Request{Method: "POST", Path: "/api/upload", Body: body, Length: 300<<10 + 1, Header: http.Header{"X-File-Name": {"late"}}})
				}()
				for deadline := time.After(20 * time.Second); number(t, l, "SELECT count(*) FROM upload_sessions WHERE one_shot AND user_id = $1", id) == 0; {
					select {
					case <-deadline:
						t.Fatal("the upload does not begin")
					case <-time.After(2 * time.Millisecond):
					}
				}
				if state == "deleted" {
					admin.In(t).Delete("/api/admin/users/" + id).OK(200)
				} else {
					setUser(admin.In(t), id, M{"status": state}).OK(200)
				}
				close(body.goOn)
				status(t, "the upload", <-done, 401, "INVALID_TOKEN")
				sound(t, l, state)
				admin.In(t).Get("/api/files/" + keep).OK(200)
				if n := number(t, l, "SELECT count(*) FROM entries WHERE name = 'late'"); n != 0 {
					t.Error("a file was made")
				}
			})
		}
	})
}

// pausing is a body that stops before its last piece until it may go on.
type pausing struct {
	rest []string
	goOn chan struct{}
}

func (p *pausing) Read(b []byte) (int, error) {
	if len(p.rest) == 1 {
		<-p.goOn
	}
	if len(p.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(b, p.rest[0])
	if p.rest[0] = p.rest[0][n:]; p.rest[0] == "" {
		p.rest = p.rest[1:]
	}
	return n, nil
}
