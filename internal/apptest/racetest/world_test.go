// Package racetest sends the same requests to two replicas on one PostgreSQL at the same moment, in
// many rounds: what may happen once happens once, whichever replica was asked, and nothing is lost
// (abuse cases C49 to C51, C54 and C84 to C91). The cases of accounts and shares also run on one
// process with SQLite.
//
// The cases run in parallel in one service, each with its own user. The resulting state is checked
// as a whole at the end.
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

// cases are the races by name.
type cases map[string]func(t *testing.T, w *world)

// run runs cases in parallel and then checks the resulting state.
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

// wantConsistent fails the test when the database has a cycle, a counter that differs from the sum,
// or an object too many or too few.
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

// change changes rows directly, and makes the replicas read the new configuration.
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

// count returns the number that a query returns.
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

// begin creates an upload session, sends its bytes and returns the completion request.
func (m member) begin(dir, name, content, conflict string) M {
	id := m.Post("/api/files/upload-session",
		M{"path": dir, "fileName": name, "fileSize": len(content), "conflict": conflict}).OK(200).Text("sessionId")
	return M{"sessionId": id, "etag": m.Put("/api/files/upload/raw/"+id, content).OK(200).Text("etag")}
}

// uses fails the test unless the user's usage equals these numbers.
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

// call is one of several requests sent at the same moment.
type call func() *apptest.Reply

// repeat returns the same request n times.
func repeat(n int, one call) []call {
	asks := make([]call, n)
	for i := range asks {
		asks[i] = one
	}
	return asks
}

// runAtOnce sends requests at the same moment, alternating between the replicas, and returns their
// answers. None may be an internal error.
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

// countStatuses counts answers by status.
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
