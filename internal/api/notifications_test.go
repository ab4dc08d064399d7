package api_test

import (
	"fmt"
	"net/http"
	"os"
	"testing"
	"time"

	"larder/internal/apptest"
)

const myNotifications = "/api/users/me/notifications"

// notificationsOf returns the notifications that a client lists, newest first, and the number of
// unread ones.
func notificationsOf(t testing.TB, c *apptest.Client, query ...string) (all []M, unread int64) {
	t.Helper()
	address := myNotifications
	for _, q := range query {
		address += q
	}
	r := c.Get(address).OK(200)
	list, isList := r.Value("notifications").([]any)
	if !isList {
		t.Fatalf("notifications is no list: %s", r.Body)
	}
	for _, one := range list {
		all = append(all, one.(map[string]any))
	}
	return all, r.Int("unread")
}

// onlyNotification returns the only notification of a client.
func onlyNotification(t testing.TB, c *apptest.Client) M {
	t.Helper()
	all, unread := notificationsOf(t, c)
	if len(all) != 1 || unread != 1 {
		t.Fatalf("listed %v, %d unread; want one", all, unread)
	}
	return all[0]
}

func wantNoNotification(t testing.TB, what string, c *apptest.Client) {
	t.Helper()
	if all, unread := notificationsOf(t, c); len(all) != 0 || unread != 0 {
		t.Errorf("%s: listed %v, %d unread", what, all, unread)
	}
}

// notificationID is the id of one that addNotifications writes.
func notificationID(userID string, i int) string { return fmt.Sprintf("%.8s-%03d", userID, i) }

// addNotifications writes notifications of an account into the table, a second after each other.
func addNotifications(t testing.TB, l *apptest.Larder, userID string, n int, firstAt int64) {
	t.Helper()
	for i := range n {
		execAndRaiseVersion(t.(*testing.T), l,
			"INSERT INTO notifications (id, user_id, subject, kind, params, created_at) "+
				"VALUES ($1, $2, $3, 'quota', $4, $5)",
			notificationID(userID, i), userID, fmt.Sprintf("quota:test %d", i), `{"Percent":90}`,
			firstAt+int64(i)*1000)
	}
}

// A long move has ended while its owner was away. The notification tells where to and how many
// files; a move of a second selected entry joins it. A failed one says why.
func TestNotificationOfJobs(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		dir := addVaultMount(t, l)
		alice, bob := l.User(t, "alice"), l.User(t, "bob")
		const home = "/home/alice"
		box := mkdir(alice, home, "box")
		mkdir(alice, home+"/box", "sub")
		for _, place := range [][2]string{{"box", "a"}, {"box", "b"}, {"box/sub", "c"}} {
			alice.Upload(home+"/"+place[0], place[1], []byte(place[1]))
		}
		single := alice.Upload(home, "single.txt", []byte("one"))

		copyTo(alice, box, home, "at once").OK(200)
		wantNoNotification(t, "done within the request", alice)

		r := alice.Post("/api/files/"+box+"/move", M{"targetPath": "/vault", "newName": "crate"}).OK(200)
		jobID := r.Text("jobId")
		wantJSON(t, "status", waitForJob(t, alice, jobID).Text("job.status"), "completed")
		moved := onlyNotification(t, alice)
		wantJSON(t, "the move", moved, M{"id": moved["id"], "kind": "job", "createdAt": l.Clock.Now().UnixMilli(),
			"read": false, "path": "/vault", "name": "crate", "jobId": jobID, "jobType": "move", "status": "completed",
			"jobs": 1, "files": 3})
		wantNoNotification(t, "another account", bob)

		l.Clock.Advance(time.Minute)
		waitForJob(t, alice, alice.Post("/api/files/"+single+"/move", M{"targetPath": "/vault"}).OK(200).Text("jobId"))
		joined := onlyNotification(t, alice)
		wantJSON(t, "both moves", joined, M{"id": moved["id"], "kind": "job", "createdAt": l.Clock.Now().UnixMilli(),
			"read": false, "path": "/vault", "name": "crate", "jobId": jobID, "jobType": "move", "status": "completed",
			"jobs": 2, "files": 4})

		alice.Post(myNotifications+"/read", M{"all": true}).OK(200)
		l.Clock.Advance(time.Second) // the failure comes later, however soon the job ends
		late := alice.Upload(home, "late.txt", []byte("one"))
		if err := os.Rename(dir, dir+"-away"); err != nil {
			t.Fatal(err)
		}
		failing := alice.Post("/api/files/"+late+"/move", M{"targetPath": "/vault"}).OK(200).Text("jobId")
		alice.Delete("/api/files/" + late).OK(200)
		if err := os.Rename(dir+"-away", dir); err != nil {
			t.Fatal(err)
		}
		for range 3 { // the attempt that met the missing store, if any, is repeated later
			l.Clock.Advance(time.Minute)
		}
		end := waitForJob(t, alice, failing)
		wantJSON(t, "status", end.Text("job.status"), "failed")
		all, unread := notificationsOf(t, alice)
		if len(all) != 2 || unread != 1 {
			t.Fatalf("listed %v, %d unread", all, unread)
		}
		wantJSON(t, "the failure", all[0], M{"id": all[0]["id"], "kind": "job", "createdAt": all[0]["createdAt"],
			"read": false, "path": "/vault", "name": all[0]["name"], "jobId": failing, "jobType": "move",
			"status": "failed", "jobs": 1, "error": end.Text("job.errorMessage")})
	})
}

// A creator is reminded a day before the end of a share that was made for longer, once for each
// end.
func TestNotificationOfShares(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice, bob := l.User(t, "alice"), l.User(t, "bob")
		file := alice.Upload("/home/alice", "cat.png", []byte("meow"))
		const day = 24 * 3600
		made := l.Clock.Now().UnixMilli()
		week := shareEntry(alice, file, M{"expiresIn": 2 * day})
		shareEntry(alice, file, M{"expiresIn": day, "title": "made for a day"})
		shareEntry(alice, file, M{"title": "without an end"})
		revoked := shareEntry(alice, file, M{"expiresIn": 2 * day, "title": "revoked"})
		gone := alice.Upload("/home/alice", "gone.png", []byte("meow"))
		shareEntry(alice, gone, M{"expiresIn": 2 * day, "title": "without its file"})
		alice.Delete("/api/shares/" + revoked).OK(200)
		alice.Delete("/api/files/" + gone).OK(200)

		l.Clock.Advance(24*time.Hour - time.Second)
		l.Sweep()
		wantNoNotification(t, "more than a day before", alice)
		l.Clock.Advance(time.Second)
		l.Sweep()
		l.Clock.Advance(time.Hour)
		sweepEveryReplica(t, l)
		reminder := onlyNotification(t, alice)
		wantJSON(t, "the reminder", reminder, M{"id": reminder["id"], "kind": "share",
			"createdAt": made + day*1000, "read": false, "name": "cat.png", "shareId": week,
			"expiresAt": made + 2*day*1000})
		wantNoNotification(t, "another account", bob)

		alice = l.SignIn(t, "alice", "password of alice")
		alice.Patch("/api/shares/"+week, M{"expiresIn": 2 * day, "title": "My cat"}).OK(200)
		l.Sweep()
		onlyNotification(t, alice)
		l.Clock.Advance(24 * time.Hour)
		sweepEveryReplica(t, l)
		all, _ := notificationsOf(t, alice)
		if len(all) != 2 {
			t.Fatalf("listed %v", all)
		}
		wantJSON(t, "the name of the second", all[0]["name"], "My cat")

		// as the oldest of 501 would be
		execAndRaiseVersion(t, l, "DELETE FROM notifications")
		l.Sweep()
		wantNoNotification(t, "deleted meanwhile", alice)
	})
}

// sweepEveryReplica runs the background tasks of every replica, at the same time.
func sweepEveryReplica(t *testing.T, l *apptest.Larder) {
	t.Helper()
	done := make(chan error)
	for _, a := range l.Apps {
		go func() { done <- a.Sweep(t.Context()) }()
	}
	for range l.Apps {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// An account is told when 90 % of its bytes are used; again only after less than 85 % were.
func TestNotificationOfQuota(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin := l.Admin(t)
		alice := l.User(t, "alice", M{"maxStorage": 100})
		l.User(t, "nothing", M{"maxStorage": 0})
		unlimited := l.User(t, "unlimited", M{"maxStorage": -1})
		unlimited.Upload("/home/unlimited", "f", make([]byte, 100))
		add := func(name string, size int) string { return alice.Upload("/home/alice", name, make([]byte, size)) }
		sweep := func(what string, want int) {
			t.Helper()
			l.Clock.Advance(time.Minute)
			sweepEveryReplica(t, l)
			l.Clock.Advance(time.Minute)
			l.Sweep()
			if all, _ := notificationsOf(t, alice); len(all) != want {
				t.Fatalf("%s: listed %v, want %d", what, all, want)
			}
		}
		add("most", 84)
		five := add("five", 5)
		sweep("89 %", 0)
		one := add("one", 1)
		sweep("90 %", 1)
		told := onlyNotification(t, alice)
		wantJSON(t, "the notification", told, M{"id": told["id"], "kind": "quota", "createdAt": told["createdAt"],
			"read": false, "percent": 90})
		alice.Delete("/api/files/" + five).OK(200)
		sweep("85 %", 1)
		five = add("five", 5)
		sweep("90 % again", 1)
		alice.Delete("/api/files/" + five).OK(200)
		alice.Delete("/api/files/" + one).OK(200)
		sweep("84 %", 1)
		add("eleven", 11)
		sweep("95 %", 2)
		all, _ := notificationsOf(t, alice)
		wantJSON(t, "the second", all[0]["percent"], 95)
		admin.Put("/api/admin/users/"+callerID(alice), M{"maxStorage": 1000}).OK(200)
		sweep("another limit", 2)
		wantNoNotification(t, "without a limit", unlimited)
	})
}

// The tiniest limits cannot be nearly used up and not nearly used up at once.
func TestNotificationOfTinyQuota(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		for limit := 1; limit <= 12; limit++ {
			name := fmt.Sprintf("user%d", limit)
			c := l.User(t, name, M{"maxStorage": limit})
			c.Upload("/home/"+name, "f", make([]byte, limit))
			for range 3 {
				l.Clock.Advance(time.Minute)
				l.Sweep()
			}
			wantJSON(t, name, onlyNotification(t, c)["percent"], 100)
		}
	})
}

// An account is told of an upload session that expires without a file: not of one that it has
// aborted or completed, and not when the same file has come in by another session.
func TestNotificationOfFailedUploads(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice, bob := l.User(t, "alice"), l.User(t, "bob")
		const home = "/home/alice"
		complete := func(name string) {
			id := newUploadSession(alice, home, name, 1)
			completeUpload(alice, id, putRaw(alice, id, "x").OK(200).Text("etag")).OK(200)
		}
		abortUpload(alice, newUploadSession(alice, home, "aborted", 5)).OK(200)
		complete("done")
		newUploadSession(alice, home, "repeated", 1)
		complete("repeated")
		alice.Upload(home, "at once", []byte("x"))
		newUploadSession(alice, home+"/new", "lost.bin", 5)
		l.Clock.Advance(time.Hour - time.Millisecond)
		l.Sweep()
		wantNoNotification(t, "before the end", alice)
		l.Clock.Advance(time.Millisecond)
		sweepEveryReplica(t, l)
		l.Sweep()
		failed := onlyNotification(t, alice)
		wantJSON(t, "the upload", failed, M{"id": failed["id"], "kind": "upload", "createdAt": l.Clock.Now().UnixMilli(),
			"read": false, "path": home + "/new", "name": "lost.bin"})
		wantNoNotification(t, "another account", bob)

		begun := l.Clock.Now()
		parts := newUploadSession(alice, home, "parts.bin", 9<<20, M{"partCount": 2, "idempotencyKey": "again"})
		putPart(alice, parts, 1, make([]byte, 8<<20)).OK(200)
		l.Clock.Advance(2 * time.Hour)
		l.Sweep()
		all, _ := notificationsOf(t, alice)
		if len(all) != 2 {
			t.Fatalf("listed %v", all)
		}
		wantJSON(t, "until when the parts are kept", all[0]["keptUntil"], begun.Add(25*time.Hour).UnixMilli())
		l.Clock.Advance(49 * time.Hour)
		l.Sweep()
		if all, _ := notificationsOf(t, alice); len(all) != 2 {
			t.Errorf("when the parts are dropped: listed %v", all)
		}

		alice = l.SignIn(t, "alice", "password of alice")
		// the client itself learns that its session has expired when it begins anew
		newUploadSession(alice, home, "own", 5, M{"idempotencyKey": "own"})
		l.Clock.Advance(time.Hour)
		newUploadSession(alice, home, "own", 5, M{"idempotencyKey": "own"})
		l.Sweep()
		if all, _ := notificationsOf(t, alice); len(all) != 2 {
			t.Errorf("begun anew: listed %v", all)
		}
	})
}

// Two devices of one account: read on one of them is read on the other.
func TestReadingNotifications(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		desk, bob := l.User(t, "alice"), l.User(t, "bob")
		phone := l.SignIn(t, "alice", "password of alice")
		alice, other := callerID(desk), callerID(bob)
		now := l.Clock.Now().UnixMilli()
		addNotifications(t, l, alice, 5, now)
		addNotifications(t, l, other, 2, now)
		id := func(i int) string { return notificationID(alice, i) }
		listed := func(what string, c *apptest.Client, query string, unread int64, want ...int) {
			t.Helper()
			all, n := notificationsOf(t, c, query)
			got := []string{}
			for _, one := range all {
				got = append(got, one["id"].(string))
			}
			ids := []string{}
			for _, i := range want {
				ids = append(ids, id(i))
			}
			wantStrings(t, what, got, ids...)
			wantJSON(t, what+", unread", n, unread)
		}
		read := func(c *apptest.Client, body M) *apptest.Reply { return c.Post(myNotifications+"/read", body) }

		listed("all", desk, "", 5, 4, 3, 2, 1, 0)
		listed("a page", desk, "?limit=2", 5, 4, 3)
		listed("the next", desk, "?limit=2&before="+id(3), 5, 2, 1)
		listed("the last", desk, "?limit=2&before="+id(1), 5, 0)
		listed("after the last", desk, "?before="+id(0), 5)
		listed("before an unknown one", desk, "?before=unknown", 5)
		listed("before one of another account", desk, "?before="+notificationID(other, 1), 5)
		for _, query := range []string{"?limit=0", "?limit=101", "?limit=x"} {
			desk.Get(myNotifications+query).Fails(400, "VALIDATION_ERROR")
		}

		many := make([]string, 501)
		for i := range many {
			many[i] = "x"
		}
		for _, body := range []M{{}, {"all": false}, {"ids": []string{}}, {"ids": many}, {"ids": nil}, {"all": nil},
			{"ids": []string{id(0)}, "all": true}, {"ids": []string{id(0)}, "all": false}, {"all": "yes"}, {"ids": "x"},
			{"ids": []any{5}}} {
			read(phone, body).Fails(400, "VALIDATION_ERROR")
		}
		wantStatus(t, "without the CSRF token", phone.Do(apptest.Request{Method: "POST", Path: myNotifications + "/read",
			Body: M{"all": true}, Header: http.Header{"X-Csrf-Token": {""}}}), 403, "INVALID_CSRF")
		l.Client(t).Get(myNotifications).Fails(401, "UNAUTHORIZED")
		listed("after refused requests", desk, "", 5, 4, 3, 2, 1, 0)

		some := []string{id(1), id(1), "unknown", notificationID(other, 0)}
		wantJSON(t, "unread", read(phone, M{"ids": some}).OK(200).Int("unread"), 4)
		all, unread := notificationsOf(t, desk)
		for i, one := range all {
			wantJSON(t, fmt.Sprintf("read %d", i), one["read"], i == 3)
		}
		wantJSON(t, "unread on the desk", unread, 4)
		wantJSON(t, "again", read(desk, M{"ids": []string{id(1)}}).OK(200).Int("unread"), 4)
		many[500] = id(2)
		wantJSON(t, "500 ids", read(desk, M{"ids": many[1:]}).OK(200).Int("unread"), 3)
		wantJSON(t, "all", read(desk, M{"all": true}).OK(200).Int("unread"), 0)
		listed("all are read", phone, "", 0, 4, 3, 2, 1, 0)
		if _, unread := notificationsOf(t, bob); unread != 2 {
			t.Errorf("another account has %d unread, want 2", unread)
		}

		key := desk.Key(M{"uploadPath": "/"})
		key.Get(myNotifications).Fails(401, "UNAUTHORIZED")
		read(key, M{"all": true}).Fails(401, "UNAUTHORIZED")
	})
}

// An account has at most 500 notifications, of which the oldest go first; they end after 90 days.
func TestNotificationsEnd(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice, bob := l.User(t, "alice", M{"maxStorage": 10}), l.User(t, "bob")
		mine, other := callerID(alice), callerID(bob)
		count := func(user string) int {
			return queryInt(t, l, "SELECT COUNT(*) FROM notifications WHERE user_id = $1", user)
		}
		first := l.Clock.Now().UnixMilli()
		addNotifications(t, l, other, 1, first)
		addNotifications(t, l, mine, 499, first)
		l.Clock.Advance(10 * time.Minute)
		newUploadSession(alice, "/home/alice", "lost", 5)
		l.Clock.Advance(time.Hour)
		l.Sweep()
		if n := count(mine); n != 500 {
			t.Fatalf("500: %d are stored", n)
		}
		alice.Get(myNotifications + "?before=" + notificationID(mine, 1)).OK(200)
		alice.Upload("/home/alice", "f", make([]byte, 10))
		l.Clock.Advance(time.Minute)
		l.Sweep()
		if n := count(mine); n != 500 {
			t.Errorf("501: %d are stored", n)
		}
		if n := queryInt(t, l, "SELECT COUNT(*) FROM notifications WHERE id = $1", notificationID(mine, 0)); n != 0 {
			t.Error("the oldest is still stored")
		}
		newest, _ := notificationsOf(t, alice)
		wantJSON(t, "the newest", newest[0]["kind"], "quota")
		wantJSON(t, "the second", newest[1]["kind"], "upload")
		if n := count(other); n != 1 {
			t.Errorf("another account has %d", n)
		}

		l.Clock.Advance(90*24*time.Hour - l.Clock.Now().Sub(time.UnixMilli(first)))
		l.Sweep()
		if n := count(other); n != 1 {
			t.Errorf("after exactly 90 days another account has %d", n)
		}
		l.Clock.Advance(2 * time.Hour)
		l.Sweep()
		if n := count(other); n != 0 {
			t.Errorf("after 90 days and 2 hours another account has %d", n)
		}
		if n := count(mine); n != 0 {
			t.Errorf("after 90 days and 2 hours %d are stored", n)
		}
	})
}

// The notifications of an account are deleted with it, and nothing writes others afterwards.
func TestNotificationsAreDeletedWithAccount(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, alice, bob := l.Admin(t), l.User(t, "alice", M{"maxStorage": 10}), l.User(t, "bob")
		mine := callerID(alice)
		addNotifications(t, l, mine, 3, l.Clock.Now().UnixMilli())
		addNotifications(t, l, callerID(bob), 1, l.Clock.Now().UnixMilli())
		newUploadSession(alice, "/home/alice", "lost", 1)
		shareEntry(alice, alice.Upload("/home/alice", "f", make([]byte, 9)), M{"expiresIn": 48 * 3600})
		admin.Delete("/api/admin/users/" + mine).OK(200)
		l.Clock.Advance(25 * time.Hour)
		l.Sweep()
		if n := queryInt(t, l, "SELECT COUNT(*) FROM notifications WHERE user_id = $1", mine); n != 0 {
			t.Errorf("%d are stored", n)
		}
		if all, _ := notificationsOf(t, bob); len(all) != 1 {
			t.Errorf("another account has %v", all)
		}
	})
}
