package api_test

import (
	"io"
	"strings"
	"testing"
	"time"

	"larder/internal/apptest"
	"larder/internal/config"
	"larder/internal/fsck"
)

// Abuse case C129: the clock is set forward and back by two hours. No token lives longer than its
// lifetime by the clock of the moment, no sweep deletes stored data, and users can continue.
func TestClockChanges(t *testing.T) {
	t.Parallel()
	const home = "/home/alice"
	for name, by := range map[string]time.Duration{"forward": 2 * time.Hour, "back": -2 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
				alice := l.User(t, "alice")
				id := alice.Upload(home, "kept.txt", []byte("kept"))
				token := downloadURL(alice, id)
				token = strings.TrimPrefix(token, apptest.BaseURL)
				open := alice.Post("/api/files/upload-session",
					M{"path": home, "fileName": "later.txt", "fileSize": 5}).OK(200).Text("sessionId")
				etag := putRaw(alice, open, "later").OK(200).Text("etag")
				key := alice.Key(M{"uploadPath": home})
				reader, writer := io.Pipe() // a body that is being sent while the clock is set
				done := make(chan *apptest.Reply, 1)
				go func() {
					done <- key.Do(apptest.Request{Method: "POST", Path: "/api/upload", Body: reader,
						Header: map[string][]string{"X-File-Name": {"slow.bin"}}})
				}()
				_, _ = io.WriteString(writer, strings.Repeat("x", 300_000))

				set := func(by time.Duration) {
					l.Clock.Advance(by)
					// the sign-in limit may take the new time for a burst, until one token is
					// refilled
					for range 2 * len(l.Apps) {
						l.Client(t).Post("/api/auth/login", M{})
					}
					l.Clock.Advance(time.Minute)
				}
				set(by)
				check := func(when string) {
					t.Helper()
					l.Sweep()
					for _, a := range l.Apps {
						if err := a.Fsck.Sweep(t.Context()); err != nil {
							t.Error(err)
						}
					}
					_, err := l.Apps[0].Fsck.Check(t.Context(),
						fsck.Options{Deep: true,
							Report: func(f fsck.Finding) { t.Errorf("%s: %s %s", when, f.Kind, f.Text) }})
					if err != nil {
						t.Error(err)
					}
				}
				check("after the clock was set")
				l.Client(t).Get(token).Fails(401, "INVALID_TOKEN")
				alice.Post("/api/files/folder", M{"path": home, "name": "a"}).
					Fails(map[bool]int{true: 403, false: 401}[by > 0],
						map[bool]string{true: "INVALID_CSRF", false: "INVALID_TOKEN"}[by > 0])

				_, _ = io.WriteString(writer, "the end")
				writer.Close()
				if r := <-done; r.Status != 200 && r.Status != 410 {
					t.Errorf("the body under way: %d %s", r.Status, r.Body)
				}
				alice = l.SignIn(t, "alice", "password of alice")
				if r := completeUpload(alice, open, etag); r.Status != 200 && r.Status != 410 && r.Status != 404 {
					t.Errorf("the session under way: %d %s", r.Status, r.Body)
				}
				alice.Upload(home, "after.txt", []byte("after"))
				fresh := strings.TrimPrefix(downloadURL(alice, id),
					apptest.BaseURL)
				if r := l.Client(t).Get(fresh).OK(200); string(r.Body) != "kept" {
					t.Errorf("the file contains %q", r.Body)
				}
				set(-by)
				check("after the clock was set again")
				if r := l.SignIn(t, "alice", "password of alice").Get(home + "/kept.txt").
					OK(200); string(r.Body) != "kept" {
					t.Errorf("the file contains %q", r.Body)
				}
				if strings.Contains(l.Log.String(), "panic") {
					t.Error("a handler panicked")
				}
			}, func(cfg *config.Config) { cfg.RateLimitEnabled = false })
		})
	}
}
