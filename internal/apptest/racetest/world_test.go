// Package racetest has two replicas on one PostgreSQL asked the same thing at the same moment,
// round after round: what may happen once happens once, whichever replica was asked, and nothing is
// lost (abuse cases C49 to C51, C54 and C84 to C91). What concerns accounts and shares is asked of
// one process on SQLite too.
//
// The cases run side by side in one service, each as a user of its own; what they leave behind is
// checked as a whole at the end.
package racetest

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"larder/internal/apptest"
	"larder/internal/config"
	"larder/internal/db"
	"larder/internal/fsck"
)

// M is a JSON object.
type M = apptest.M

func TestRaces(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "postgres", func(cfg *config.Config) { cfg.RateLimitEnabled = false })
	if len(l.Apps) != 2 {
		t.Fatalf("%d replicas", len(l.Apps))
	}
	w := &world{Larder: l, admin: l.Admin(t)}
	w.run(t, cases{
		"C84 a token gives the file once": oneToken, "C86 what a token stood for is gone": deadTokens,
		"C87 a session completes once":   oneCompletion,
		"C88 the quota is reserved once": oneReservation, "C89 twenty keys": twentyKeys,
		"C90 a name is given once": oneName, "C91 folders cross": crossingFolders,
	})
}

// cases are what is raced for, by name.
type cases map[string]func(t *testing.T, w *world)

// run runs cases side by side and then looks at what they have left behind.
func (w *world) run(t *testing.T, all cases) {
	t.Run("cases", func(t *testing.T) {
		for name, test := range all {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(t, w)
			})
		}
	})
	w.wantConsistent(t)
}

// world is the service that all cases share.
type world struct {
	*apptest.Larder
	admin *apptest.Client
	box   *apptest.Mailbox // of the mails, where there are any
}

// wantConsistent checks that everything the cases have left behind is as it should be: no circle,
// no counter that is not the sum, no object too much or too few.
func (w *world) wantConsistent(t *testing.T) {
	t.Helper()
	sum, err := w.Apps[0].Fsck.Check(context.Background(),
		fsck.Options{Deep: true, Report: func(f fsck.Finding) { t.Errorf("%s: %s", f.Kind, f.Text) }})
	if err != nil || sum.Entries == 0 {
		t.Errorf("looked at %+v: %v", sum, err)
	}
	for line := range strings.Lines(w.Log.String()) {
		if strings.Contains(line, `"level":"ERROR"`) {
			t.Errorf("logged: %s", line)
		}
	}
}

// change changes rows below the service, as an endpoint would that is not there yet, and has the
// replicas learn of it.
func (w *world) change(t *testing.T, statement string, args ...any) {
	t.Helper()
	err := w.Apps[0].DB.Write(t.Context(), func(tx *db.Tx) error {
		if _, err := tx.Exec(statement, args...); err != nil {
			return err
		}
		return tx.BumpConfig()
	})
	if err != nil {
		t.Fatal(err)
	}
}

// count returns the one number that a query finds.
func (w *world) count(t *testing.T, query string, args ...any) (n int) {
	t.Helper()
	if err := w.Apps[0].DB.Read(t.Context()).QueryRow(query, args...).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// member is a user with a session and a key, and a home at /home/<name>.
type member struct {
	*apptest.Client
	key  *apptest.Client
	home string
}

func (w *world) member(t *testing.T, name string, extra ...M) member {
	t.Helper()
	c := w.User(t, name, extra...)
	return member{Client: c, key: c.Key(M{"uploadPath": "/", "publicLinks": "none"}), home: "/home/" + name}
}

// put uploads a small file in one request and returns its id.
func (m member) put(dir, name, content string) string {
	return m.send(dir, name, content).OK(200).Text("fileId")
}

func (m member) send(dir, name, content string) *apptest.Reply {
	return m.key.Post("/api/upload", content, "X-File-Name", name, "X-Path", dir)
}

func (m member) mkdir(dir, name string) string {
	return m.Post("/api/files/folder", M{"path": dir, "name": name}).OK(201).Text("file.id")
}

// begin makes an upload session with its bytes and returns what completes it.
func (m member) begin(dir, name, content, conflict string) M {
	id := m.Post("/api/files/upload-session",
		M{"path": dir, "fileName": name, "fileSize": len(content), "conflict": conflict}).OK(200).Text("sessionId")
	return M{"sessionId": id, "etag": m.Put("/api/files/upload/raw/"+id, content).OK(200).Text("etag")}
}

// uses fails the test unless that is what the user is charged for.
func (m member) uses(t *testing.T, bytes, files int64) {
	t.Helper()
	me := m.Get("/api/auth/me").OK(200)
	if b, f := me.Int("quota.usedStorage"), me.Int("quota.usedFiles"); b != bytes || f != files {
		t.Errorf("charged %d bytes and %d files, want %d and %d", b, f, bytes, files)
	}
}

// listed returns the ids of the entries of a folder by name.
func (m member) listed(t *testing.T, dir string) map[string]string {
	t.Helper()
	r := m.Get("/api/files?limit=1000&path=" + dir).OK(200)
	items, _ := r.Value("items").([]any)
	ids := map[string]string{}
	for _, item := range items {
		entry, _ := item.(map[string]any)
		name, _ := entry["name"].(string)
		if _, twice := ids[name]; twice {
			t.Errorf("%s lists %s twice", dir, name)
		}
		ids[name], _ = entry["id"].(string)
	}
	return ids
}

// call is one of the requests that are made at the same moment.
type call func() *apptest.Reply

// repeat is n times the same request.
func repeat(n int, one call) []call {
	asks := make([]call, n)
	for i := range asks {
		asks[i] = one
	}
	return asks
}

// runAtOnce lets requests go at the same moment, each to the other replica than the one before, and
// returns their answers. None may be a failure of the server's own.
func runAtOnce(t *testing.T, asks ...call) []*apptest.Reply {
	t.Helper()
	replies := make([]*apptest.Reply, len(asks))
	start := make(chan struct{})
	var all sync.WaitGroup
	for i, one := range asks {
		all.Go(func() {
			<-start
			replies[i] = one()
		})
	}
	close(start)
	all.Wait()
	for i, r := range replies {
		if r.Err != nil || r.Status >= 500 {
			t.Errorf("request %d: status %d: %.300s %v", i, r.Status, r.Body, r.Err)
		}
	}
	return replies
}

// countStatuses counts answers by their status.
func countStatuses(replies []*apptest.Reply) map[int]int {
	count := map[int]int{}
	for _, r := range replies {
		count[r.Status]++
	}
	return count
}

// awaitJob waits until a job has ended.
func (m member) awaitJob(t *testing.T, id string) {
	t.Helper()
	deadline := time.After(time.Minute)
	for {
		r := m.Get("/api/files/jobs/" + id).OK(200)
		switch r.Text("job.status") {
		case "completed", "failed":
			return
		}
		select {
		case <-deadline:
			t.Fatalf("a job does not end: %s", r.Body)
		case <-time.After(5 * time.Millisecond):
		}
	}
}
