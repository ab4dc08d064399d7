package api_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"larder/internal/apptest"
	"larder/internal/db"
)

func TestDashboard(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin := l.Admin(t)
		local := admin.Get("/api/admin/storage/providers").OK(200).Text("providers.0.id")
		l.Clock.Advance(time.Millisecond)
		second := admin.Post("/api/admin/storage/providers",
			M{"name": "Zweiter", "type": "store_a", "bucket": "second"}).OK(201).Text("provider.id")
		check := func(what string, users, files int64, storage ...M) {
			t.Helper()
			want := append([]any{}, toAnySlice(storage)...)
			stats := admin.In(t).Get("/api/admin/dashboard").OK(200).Value("stats")
			wantFields(t, "stats", stats, "users", "files", "storage")
			wantJSON(t, what, stats, M{"users": users, "files": files, "storage": want})
			plain := admin.In(t).Get("/api/admin/stats").OK(200)
			wantJSON(t, what, M{"users": plain.Value("users"), "files": plain.Value("files"),
				"storage": plain.Value("storage")}, M{"users": users, "files": files, "storage": want})
		}
		localProvider := func(bytes, files int64) M {
			return M{"providerId": local, "name": "local", "usedSpace": bytes, "fileCount": files}
		}
		secondProvider := func(bytes, files int64) M {
			return M{"providerId": second, "name": "Zweiter", "usedSpace": bytes, "fileCount": files}
		}
		check("at first", 1, 0, localProvider(0, 0), secondProvider(0, 0))
		alice := l.User(t, "alice")
		mkdir(alice, "/home/alice", "box")
		alice.Upload("/home/alice/box", "a", []byte("12345"))
		alice.Upload("/home/alice/box", "b", []byte("1"))
		check("folders leave the count alone", 2, 2, localProvider(6, 2), secondProvider(0, 0))
		addMount(admin, second, "/vault")
		admin.Upload("/vault", "c", []byte("123"))
		check("two providers", 2, 3, localProvider(6, 2), secondProvider(3, 1))
		box := alice.Get("/api/files?path=/home/alice").OK(200).Text("items.0.id")
		alice.Delete("/api/files/" + box).OK(200)
		check("a deletion counts at once", 2, 1, localProvider(0, 0), secondProvider(3, 1))
		l.Clock.Advance(2 * time.Hour)
		l.Sweep()
		check("unchanged afterwards", 2, 1, localProvider(0, 0), secondProvider(3, 1))

		admin, alice = l.Admin(t), l.SignIn(t, "alice", "password of alice")
		l.Clock.Advance(time.Millisecond)
		mkdir(alice, "/home/alice", "last")

		l.FlushLog()
		r := admin.In(t).Get("/api/admin/dashboard").OK(200)
		wantFields(t, "data", r.Object()["data"], "stats", "requests24h", "recentActivity")
		userID := callerID(alice)
		newest, _ := r.Value("recentActivity.0").(map[string]any)
		wantJSON(t, "the newest", M{"action": newest["action"], "path": newest["path"], "userId": newest["userId"],
			"username": newest["username"], "statusCode": newest["statusCode"]},
			M{"action": "folder", "path": "/home/alice/last", "userId": userID, "username": "alice", "statusCode": 201})
		wantFields(t, "activity", newest, "action", "path", "userId", "username", "avatar", "statusCode", "createdAt",
			"method")
		wantFields(t, "data", admin.Get("/api/admin/stats").OK(200).Object()["data"], "users", "files",
			"storage", "recentActivity")
		for i := range 25 {
			mkdir(admin, "/public", fmt.Sprint(i))
		}
		l.FlushLog()
		for path, want := range map[string]int{"/api/admin/dashboard": 10, "/api/admin/stats": 20} {
			if list, _ := admin.Get(path).OK(200).Value("recentActivity").([]any); len(list) != want {
				t.Errorf("%s: %d activities, want %d", path, len(list), want)
			}
		}
	})
}

// The totals are available while the access log's database fails. The log on stderr reports the
// missing part.
func TestDashboardWithoutTheLog(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin := l.Admin(t)
		admin.Upload("/public", "a", []byte("12345"))
		for _, table := range []string{"access_log_size", "request_minutes"} {
			err := l.AuditDB(t).Write(t.Context(),
				func(tx *db.Tx) error { _, err := tx.Exec("DROP TABLE " + table); return err })
			if err != nil {
				t.Fatal(err)
			}
			for _, path := range []string{"/api/admin/dashboard", "/api/admin/stats"} {
				r := admin.Get(path).OK(200)
				wantJSON(t, table+" "+path, r.Value("recentActivity"), []any{})
				if path == "/api/admin/dashboard" {
					wantJSON(t, table, []any{r.Value("stats.files")}, []any{1})
				} else {
					wantJSON(t, table, []any{r.Value("files")}, []any{1})
				}
			}
			if !strings.Contains(l.Log.String(), "the access log can't be read") {
				t.Error("not logged")
			}
		}
		wantJSON(t, "requests", admin.Get("/api/admin/dashboard").OK(200).Value("requests24h"), 0)
		wantStatus(t, "the log itself", admin.Get("/api/admin/logs"), 500, "INTERNAL_ERROR")
	})
}

func toAnySlice(all []M) []any {
	var list []any
	for _, m := range all {
		list = append(list, m)
	}
	return list
}

// Requests are counted over all replicas and the last 24 hours: the current minute and the 1,439
// minutes before it.
func TestDashboardRequestCount(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, visitor := l.Admin(t), l.Client(t)
		// the beginning of a minute, after every counted minute has expired
		l.Clock.Advance(48*time.Hour - time.Duration(l.Clock.Now().UnixNano())%time.Minute)
		count := func(what string, want int64) {
			t.Helper()
			l.FlushLog()
			// the request does not count itself yet
			if n := admin.In(t).Get("/api/admin/dashboard").OK(200).Int("requests24h"); n != want {
				t.Errorf("%s: %d requests, want %d", what, n, want)
			}
		}
		count("after two days", 0)
		for range 6 { // an even number each, for both replicas
			visitor.Get("/api/public/settings")
			visitor.Get("/public/nothing")
			visitor.Get("/api/public/health/live")
		}
		count("12 and one of ours", 13)
		l.Clock.Advance(24*time.Hour - time.Millisecond) // in the 1,440th minute
		count("a millisecond before 24 hours", 14)
		l.Clock.Advance(time.Millisecond)
		count("after 24 hours", 1)
	})
}

func TestSeriesEndpoint(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin := l.Admin(t)
		l.Clock.Advance(24 * time.Hour)
		from := l.Clock.Now().UnixMilli()
		alice := l.User(t, "alice")
		alice.Upload("/home/alice", "a", []byte("12345"))
		l.Clock.Advance(time.Minute)
		alice.Upload("/home/alice", "b", []byte("1234567"))
		postLogin(l.Client(t), "alice", "not the password")
		l.FlushLog()
		points := func(query string) string {
			t.Helper()
			r := admin.In(t).Get("/api/admin/stats/series?" + query).OK(200)
			var reply struct {
				Data struct{ Points []struct{ At, Value int64 } }
			}
			if err := json.Unmarshal(r.Body, &reply); err != nil {
				t.Fatal(err)
			}
			var text []string
			for _, p := range reply.Data.Points {
				text = append(text, fmt.Sprint((p.At-from)/1000, ":", p.Value))
			}
			return strings.Join(text, " ")
		}
		three := fmt.Sprintf("&from=%d&to=%d&step=60", from, from+180_000)
		for metric, want := range map[string]string{
			"uploads": "0:1 60:1 120:0", "uploadBytes": "0:5 60:7 120:0", "users": "0:1 60:0 120:0",
			"failedLogins": "0:0 60:1 120:0", "downloads": "0:0 60:0 120:0", "downloadBytes": "0:0 60:0 120:0",
			"errors": "0:0 60:1 120:0", "serverErrors": "0:0 60:0 120:0",
		} {
			if got := points("metric=" + metric + three); got != want {
				t.Errorf("%s: %s, want %s", metric, got, want)
			}
		}
		failed := accessLogs(t, l, admin, fmt.Sprintf("&failed=true&from=%d", from))
		if got := fmt.Sprint(failed); got != "[alice login_failed /api/auth/login 0 401 1]" {
			t.Errorf("the failed entries: %s", got)
		}
		if got := points(fmt.Sprintf("metric=uploads&step=120&from=%d&to=%d", from, from+120_001)); got != "0:2 120:0" {
			t.Errorf("a step that was cut off: %s", got)
		}
		if got := points(fmt.Sprintf("metric=uploads&from=%d", from)); got != "0:1" {
			t.Errorf("a minute later, up to now, by the hour: %s", got)
		}
		if got := strings.Count(points("metric=logins"), ":"); got != 24 {
			t.Errorf("by default %d points, want 24", got)
		}
		l.Clock.Advance(time.Minute)
		if got := strings.Count(points(fmt.Sprintf("metric=requests&step=60&from=%d", from)), ":"); got != 2 {
			t.Errorf("requests of two minutes: %d points", got)
		}
		sum := int64(0)
		for _, p := range strings.Fields(points("metric=requests")) {
			var at, n int64
			if _, err := fmt.Sscanf(p, "%d:%d", &at, &n); err != nil {
				t.Fatal(err)
			}
			sum += n
		}
		l.FlushLog()
		if sum == 0 {
			t.Error("no requests at all")
		}
		const week = 7 * 24 * 3600
		for query, ok := range map[string]bool{
			"": false, "metric=": false, "metric=other": false, "metric=logins": true,
			"metric=logins&step=59": false, "metric=logins&step=60&from=0&to=60000000": true,
			"metric=logins&step=60&from=0&to=60000001": false,
			"metric=logins&step=2678400&from=0&to=1":   true, "metric=logins&step=2678401&from=0&to=1": false,
			"metric=logins&step=x": false, "metric=logins&step=60.5": false,
			"metric=logins&from=1&to=1": false, "metric=logins&from=2&to=1": false, "metric=logins&from=-1&to=1": false,
			"metric=logins&from=0&to=9007199254740992":                                    false,
			"metric=logins&from=0&to=9007199254740991":                                    false,
			fmt.Sprintf("metric=logins&from=%d", from+3600_000):                           false,
			fmt.Sprintf("metric=users&from=%d&to=%d&step=%d", from, from+week*1000, week): true,
			"metric=logins&to=60000":                                                      true,
		} {
			r := admin.Get("/api/admin/stats/series?" + query)
			if ok {
				r.OK(200)
			} else {
				r.Fails(400, "VALIDATION_ERROR")
			}
		}
	})
}
