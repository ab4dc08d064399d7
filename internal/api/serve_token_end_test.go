package api_test

import (
	"slices"
	"testing"
	"time"

	"larder/internal/apptest"
)

// Download tokens of a session, single-use and of a preview, end with the session in each way that
// it can end. Tokens of keys, of other accounts and of visitors stay, and so do signed links.
func TestDownloadTokensEndWithTheirSession(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, box, visitor := l.Admin(t), l.Mailbox(t), l.Client(t)
		other := l.User(t, "other")
		others := downloadURL(other, other.Upload("/home/other", "f.txt", []byte("other's")))
		public := admin.Upload("/public", "f.txt", []byte("public"))
		setAccessPassword(admin, public, "open sesame")
		visitors := unlock(visitor, "/public/f.txt", "open sesame").OK(200).Text("url")
		for i, how := range sessionEndings {
			name := "end" + string(rune('a'+i))
			c := l.User(t, name)
			home := "/home/" + name
			file, locked := c.Upload(home, "f.txt", []byte("mine")), c.Upload(home, "locked.txt", []byte("mine"))
			setAccessPassword(c, locked, "open sesame")
			ended := map[string]string{
				"a file":     downloadURL(c, file),
				"a folder":   downloadURL(c, mkdir(c, home, "d")),
				"a password": verifyPassword(c, locked, "open sesame").OK(200).Text("url"),
				"a preview":  verifyPassword(c, locked, "open sesame", M{"purpose": "preview"}).OK(200).Text("url"),
				"a path":     unlock(c, home+"/locked.txt", "open sesame").OK(200).Text("url"),
			}
			stays := map[string]string{
				"a key":         downloadURL(c.Key(M{"uploadPath": home}), file),
				"a signed link": signedLink(c, file),
			}
			visitor.Head(ended["a preview"]).OK(200)
			how.end(endingAccount{t, l, box, admin, c, name})
			for what, address := range ended {
				wantStatus(t, how.name+": HEAD of "+what, visitor.Head(address), 401, "")
				wantStatus(t, how.name+": "+what, visitor.Get(address), 401, "INVALID_TOKEN")
			}
			if !slices.Contains([]string{"logout", "new password"}, how.name) {
				continue // the account has changed or is deleted
			}
			for what, address := range stays {
				wantStatus(t, how.name+": "+what, visitor.Get(address), 200, "")
			}
		}
		for _, address := range []string{others, visitors} {
			visitor.Get(address).OK(200)
		}
	})
}

// The account's next session issues working tokens.
func TestNextSessionsTokensWork(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice := l.User(t, "alice")
		file := alice.Upload("/home/alice", "f.txt", []byte("mine"))
		alice.Fork().Post("/api/auth/logout", nil).OK(200)
		again := l.SignIn(t, "alice", "password of alice")
		wantBody(t, l.Client(t).Get(downloadURL(again, file)).OK(200), "mine")
	})
}

// A job can be queried for 30 days after its end.
func TestJobsAreDeletedAfterThirtyDays(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice := l.User(t, "alice")
		file := alice.Upload("/home/alice", "f.txt", []byte("mine"))
		mkdir(alice, "/home/alice", "d")
		job := alice.Post("/api/files/"+file+"/move", M{"targetPath": "/home/alice/d"}).OK(200).Text("jobId")
		l.Clock.Advance(30*24*time.Hour - time.Minute)
		l.Sweep()
		alice = l.SignIn(t, "alice", "password of alice")
		alice.Get("/api/files/jobs/" + job).OK(200)
		l.Clock.Advance(2 * time.Hour) // the sweep of jobs runs once an hour
		l.Sweep()
		wantStatus(t, "a month later", alice.Get("/api/files/jobs/"+job), 404, "NOT_FOUND")
	})
}
