package api_test

import (
	"testing"
	"time"

	"larder/internal/apptest"
)

// listedUser returns an account as the list of accounts has it.
func listedUser(admin *apptest.Client, name string) map[string]any {
	user, _ := admin.Get("/api/admin/users?search=" + name).OK(200).Value("users.0").(map[string]any)
	return user
}

func TestLastSeen(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin := l.Admin(t)
		id := admin.Post("/api/admin/users", newUser(M{"username": "mia", "email": "mia@example.org"})).OK(201).
			Text("user.id")
		want := func(what string, at any) {
			t.Helper()
			wantJSON(t, what, listedUser(admin, "mia")["lastSeenAt"], at)
		}
		now := func() int64 { return l.Clock.Now().UnixMilli() }
		want("never signed in", nil)

		l.Clock.Advance(time.Hour)
		mia := l.SignIn(t, "mia", "a good password")
		want("at the sign-in", now())
		key := mia.Key(M{})
		l.Clock.Advance(time.Hour)
		onEveryReplica(l, func() *apptest.Reply { return mia.Get("/api/auth/me").OK(200) })
		l.Sweep() // writes the last uses of one replica
		seen := now()
		want("a request of the session", seen)

		l.Clock.Advance(time.Hour)
		mia.Post("/api/auth/logout", nil).OK(200)
		want("after the sign-out", seen)
		onEveryReplica(l, func() *apptest.Reply { return key.Get("/api/files?path=/home/mia").OK(200) })
		l.Sweep()
		seen = now()
		want("a request with a key", seen)
		l.Clock.Advance(time.Hour)
		admin = l.Admin(t)
		wantJSON(t, "in the answer to a change", updateUser(admin, id, M{"maxFiles": 7}).OK(200).Value("user.lastSeenAt"),
			seen)

		mia = l.SignIn(t, "mia", "a good password")
		seen = now()
		l.Clock.Advance(8 * 24 * time.Hour)
		l.Sweep() // deletes the expired session
		admin = l.Admin(t)
		want("after the end of the session", seen)
		l.SignIn(t, "mia", "a good password")
		seen = now()
		updateUser(admin, id, M{"status": "disabled"}).OK(200)
		l.Clock.Advance(time.Hour)
		want("disabled", seen)
	})
}

func TestImpactOfAnAccount(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, mia := l.Admin(t), l.User(t, "mia")
		id := userIDOf(t, admin, "mia")
		want := func(what string, counts M) {
			t.Helper()
			wantJSON(t, what, admin.Get("/api/admin/users/" + id + "/impact").OK(200).Object()["data"], counts)
		}
		want("new", M{"sessions": 1, "keys": 0, "shares": 0, "files": 0, "storage": 0})

		file := mia.Upload("/home/mia", "a", []byte("12345"))
		mia.Upload("/home/mia", "b", []byte("123"))
		mia.Key(M{})
		mia.Key(M{"expiresIn": 60})
		revoked := shareEntry(mia, file)
		shareEntry(mia, file)
		shareEntry(mia, file, M{"expiresIn": 60})
		shareEntry(l.Admin(t), file) // counts for its creator
		l.SignIn(t, "mia", "password of mia")
		want("everything", M{"sessions": 2, "keys": 2, "shares": 3, "files": 2, "storage": 8})

		mia.Delete("/api/shares/" + revoked).OK(200)
		l.Clock.Advance(time.Hour)
		want("some have ended", M{"sessions": 2, "keys": 1, "shares": 1, "files": 2, "storage": 8})
		updateUser(admin, id, M{"status": "disabled"}).OK(200)
		want("disabled", M{"sessions": 0, "keys": 1, "shares": 1, "files": 2, "storage": 8})

		wantStatus(t, "an unknown account", admin.Get("/api/admin/users/"+unknownID+"/impact"), 404, "NOT_FOUND")
		admin.Delete("/api/admin/users/" + id).OK(200)
		wantStatus(t, "a deleted account", admin.Get("/api/admin/users/"+id+"/impact"), 404, "NOT_FOUND")
	})
}
