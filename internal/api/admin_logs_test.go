package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"larder/internal/apptest"
	"larder/internal/audit"
	"larder/internal/db"
)

// logEntry is an entry of the access log as administrators get it.
type logEntry struct {
	Username         *string
	KeyID            *string
	IP               *string
	Action           string
	Path             string
	BytesTransferred int64
	StatusCode       int
	Count            int64
}

// String leaves out the constant fields.
func (e logEntry) String() string {
	who := "visitor"
	if e.Username != nil {
		who = *e.Username
	}
	if e.KeyID != nil {
		who += " by key"
	}
	return fmt.Sprintf("%s %s %s %d %d %d", who, e.Action, e.Path, e.BytesTransferred, e.StatusCode, e.Count)
}

// accessLogs returns a page of the log, oldest first, after all pending entries are written.
func accessLogs(t *testing.T, l *apptest.Larder, admin *apptest.Client, query string) []logEntry {
	t.Helper()
	l.FlushLog()
	r := admin.In(t).Get("/api/admin/logs?limit=200" + query).OK(200)
	var reply struct{ Data struct{ Logs []logEntry } }
	if err := json.Unmarshal(r.Body, &reply); err != nil {
		t.Fatal(err)
	}
	slices.Reverse(reply.Data.Logs)
	return reply.Data.Logs
}

// Each action writes exactly the entries listed here by hand.
func TestAccessLogEntries(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, alice, bob, visitor := l.Admin(t), l.User(t, "alice"), l.User(t, "bob"), l.Client(t)
		key := alice.Key(M{"uploadPath": "/home/alice"})
		id := alice.Upload("/home/alice", "a.txt", []byte("0123456789"))
		folder := mkdir(alice, "/home/alice", "old")
		for _, name := range []string{"plain.txt", "linked.txt"} {
			admin.Upload("/public", name, []byte("12345"))
		}
		linked := admin.Get("/api/files?path=/public&search=linked").OK(200).Text("items.0.id")
		link := admin.Post("/api/files/"+linked+"/link", nil).OK(200).Text("link.url")
		rule := addRule(admin, M{"pathPattern": "/nowhere/**", "effect": "deny", "role": "guest"})
		keyID, _, _ := strings.Cut(strings.TrimPrefix(key.Header.Get("Authorization"), "Bearer "), ".")
		known := len(accessLogs(t, l, admin, ""))
		var shared string
		read := func(c *apptest.Client, path string, header ...string) func() {
			return func() { c.Get(path, header...) }
		}

		for _, step := range []struct {
			name string
			do   func()
			want []string
		}{
			{"login", func() {
				l.Client(t).Post("/api/auth/login", M{"username": "Alice", "password": "password of alice"}).OK(200)
			},
				[]string{"alice login /api/auth/login 0 200 1"}},
			{"login by address, wrong password", func() {
				l.Client(t).Post("/api/auth/login", M{"username": "ALICE@example.org", "password": "wrong"}).
					Fails(401, "INVALID_CREDENTIALS")
			}, []string{"alice login_failed /api/auth/login 0 401 1"}},
			{"login with an unknown name", func() {
				l.Client(t).Post("/api/auth/login", M{"username": "hunter2", "password": "wrong"}).
					Fails(401, "INVALID_CREDENTIALS")
			}, []string{"visitor login_failed /api/auth/login 0 401 1"}},
			{"upload in a session", func() { alice.Upload("/home/alice", "b.txt", []byte("1234567")) },
				[]string{"alice upload /home/alice/b.txt 7 200 1"}},
			{"upload that is refused", func() {
				bob.Post("/api/files/upload-session", M{"path": "/home/alice", "fileName": "b.txt", "fileSize": 1}).
					Fails(403, "FORBIDDEN")
			}, []string{"bob upload /home/alice/b.txt 0 403 1"}},
			{"compatible upload", func() {
				key.Post("/api/upload", "123", "X-File-Name", "b.txt", "Content-Type", "text/plain").OK(200)
			}, []string{"alice by key upload /home/alice/b (1).txt 3 200 1"}},
			{"compatible upload that is refused", func() {
				key.Post("/api/upload", "123", "X-File-Name", "c.txt", "X-Path", "missing/../..", "Content-Type",
					"text/plain").Fails(403, "FORBIDDEN")
			}, nil},
			{"download address", func() { downloadURL(alice, id) }, nil},
			{"gateway", func() { visitor.Get(downloadURL(alice, id)).OK(200) },
				[]string{"alice download /home/alice/a.txt 10 200 1"}},
			{"gateway with a key's token, a part", func() { visitor.Get(downloadURL(key, id), "Range", "bytes=0-3") },
				[]string{"alice by key download /home/alice/a.txt 4 206 1"}},
			{"gateway, HEAD", func() { visitor.Head(downloadURL(alice, id)).OK(200) }, nil},
			{"gateway, garbage", func() {
				visitor.Get("/api/gateway/download/"+strings.Repeat("a", 43)).Fails(401,
					"INVALID_TOKEN")
			}, nil},
			{"download address refused", func() { bob.Get("/api/files/"+id+"/download").Fails(403, "FORBIDDEN") },
				[]string{"bob download /home/alice/a.txt 0 403 1"}},
			{"embedded", read(alice, "/api/files/"+id+"/download", "Sec-Fetch-Dest", "image"),
				[]string{"alice download /home/alice/a.txt 10 200 1"}},
			{"own path", read(alice, "/home/alice/a.txt"), []string{"alice download /home/alice/a.txt 10 200 1"}},
			{"public path, signed in", read(alice, "/public/plain.txt"),
				[]string{"alice download /public/plain.txt 5 200 1"}},
			{"path of others", read(bob, "/home/alice/a.txt"), []string{"bob download /home/alice/a.txt 0 403 1"}},
			{"path of a missing entry", read(bob, "/home/alice/nothing.txt"), nil},
			{"visitors' reads wait for the end of the hour", func() {
				read(visitor, "/public/plain.txt")()
				read(visitor, "/public/plain.txt", "Range", "bytes=0-1")()
				visitor.Head("/public/plain.txt").OK(200)
				read(visitor, "/home/alice/a.txt")()
				read(visitor, "/public/nothing.txt")()
				visitor.Get(link).OK(200)
				alice.Get(link).OK(200) // the link works for every caller
			}, nil},
			{"folder", func() { mkdir(alice, "/home/alice", "made") },
				[]string{"alice folder /home/alice/made 0 201 1"}},
			{"folder, taken", func() {
				alice.Post("/api/files/folder", M{"path": "/home/alice", "name": "made"}).Fails(409, "ALREADY_EXISTS")
			}, []string{"alice folder /home/alice/made 0 409 1"}},
			{"rename", func() { alice.Put("/api/files/"+folder, M{"name": "new"}).OK(200) },
				[]string{"alice rename /home/alice/old 0 200 1"}},
			{"permanent link", func() { alice.Post("/api/files/"+id+"/link", nil).OK(200) },
				[]string{"alice share /home/alice/a.txt 0 200 1"}},
			{"permanent links", func() {
				alice.Post("/api/files/links", M{"ids": []string{id, linked, unknownID}}).OK(200)
			}, []string{"alice share /home/alice/a.txt 0 200 1", "alice share /public/linked.txt 0 403 1"}},
			{"permanent link of others", func() { bob.Delete("/api/files/"+id+"/link").Fails(403, "FORBIDDEN") },
				[]string{"bob share /home/alice/a.txt 0 403 1"}},
			{"permanent link revoked", func() { alice.Delete("/api/files/" + id + "/link").OK(200) },
				[]string{"alice share /home/alice/a.txt 0 200 1"}},
			{"a password", func() { alice.Put("/api/files/"+id, M{"accessPassword": "open sesame"}).OK(200) },
				[]string{"alice share /home/alice/a.txt 0 200 1"}},
			{"a wrong password", func() {
				alice.Post("/api/files/"+id+"/verify-password", M{"password": "canary 1"}).
					Fails(401, "INVALID_PASSWORD")
			}, []string{"alice download /home/alice/a.txt 0 401 1"}},
			{"the right one", func() {
				alice.Post("/api/files/"+id+"/verify-password",
					M{"password": "open sesame"}).OK(200)
			}, nil},
			{"a wrong password by path", func() {
				visitor.Post("/api/public/unlock", M{"path": "/home/alice/a.txt", "password": "canary 2"}).
					Fails(401, "INVALID_PASSWORD")
			}, []string{"visitor download /home/alice/a.txt 0 401 1"}},
			{"a password for a missing entry", func() {
				visitor.Post("/api/public/unlock", M{"path": "/home/alice/nothing", "password": "canary 3"}).
					Fails(401, "INVALID_PASSWORD")
			}, []string{"visitor download /home/alice/nothing 0 401 1"}},
			{"no password", func() { alice.Put("/api/files/"+id, M{"accessPassword": nil}).OK(200) },
				[]string{"alice share /home/alice/a.txt 0 200 1"}},
			{"a share with a password", func() {
				shared = shareEntry(alice, id, M{"password": "open sesame"})
			}, []string{"alice share /home/alice/a.txt 0 201 1"}},
			{"a wrong password of it", func() {
				verifySharePassword(alice, shared, "canary 4").Fails(401, "INVALID_PASSWORD")
				verifySharePassword(visitor, shared, "canary 5").Fails(401, "INVALID_PASSWORD")
				verifySharePassword(visitor, shared, "open sesame").OK(200)
			}, []string{"visitor share_download /home/alice/a.txt 0 401 1",
				"visitor share_download /home/alice/a.txt 0 401 1"}},
			{"a title", func() { alice.Put("/api/files/"+id, M{"customTitle": "x"}).OK(200) }, nil},
			{"batch", func() {
				alice.Post("/api/files/batch",
					M{"action": "move", "fileIds": []string{id, linked, "nothing"}, "targetPath": "/home/alice"}).
					OK(200)
			}, []string{"alice move /home/alice/a.txt 0 409 1", "alice move /public/linked.txt 0 403 1"}},
			{"zip of missing entries", func() { bob.Get("/api/files/zip?ids="+id).Fails(404, "NOT_FOUND") }, nil},
			{"move", func() { alice.Post("/api/files/"+id+"/move", M{"targetPath": "/home/alice/new"}).OK(200) },
				[]string{"alice move /home/alice/a.txt 0 200 1"}},
			{"delete of others", func() { bob.Delete("/api/files/"+id).Fails(403, "FORBIDDEN") },
				[]string{"bob delete /home/alice/new/a.txt 0 403 1"}},
			{"delete", func() { alice.Delete("/api/files/" + id).OK(200) },
				[]string{"alice delete /home/alice/new/a.txt 0 200 1"}},
			{"deletion of a missing entry", func() { alice.Delete("/api/files/"+id).Fails(404, "NOT_FOUND") }, nil},
			{"key", func() { alice.Patch("/api/keys/"+keyID, M{"name": "other"}).OK(200) },
				[]string{"alice key /api/keys/" + keyID + " 0 200 1"}},
			{"key of others", func() { bob.Delete("/api/keys/"+keyID).Fails(404, "NOT_FOUND") }, nil},
			{"key revoked", func() { alice.Delete("/api/keys/" + keyID).OK(200) },
				[]string{"alice key /api/keys/" + keyID + " 0 200 1"}},
			{"administration", func() { admin.Put("/api/admin/rules/"+rule, M{"priority": 5}).OK(200) },
				[]string{"admin admin /api/admin/rules/" + rule + " 0 200 1"}},
			{"administration that fails", func() {
				admin.Put("/api/admin/rules/nothing", M{"priority": 5}).Fails(404, "NOT_FOUND")
			}, nil},
			{"administration routes that only read", func() {
				admin.Get("/api/admin/rules").OK(200)
				admin.Post("/api/admin/rules/explain", M{"path": "/a", "permission": "read", "anonymous": true}).OK(200)
			}, nil},
			{"administration by others", func() { alice.Post("/api/admin/rules", M{}).Fails(403, "FORBIDDEN") }, nil},
			{"requests that only read", func() {
				alice.Get("/api/files?path=/home/alice").OK(200)
				alice.Get("/api/auth/me").OK(200)
				visitor.Get("/").OK(200)
				visitor.Get("/api/public/health/live")
			}, nil},
		} {
			step.do()
			all := accessLogs(t, l, admin, "")
			var got []string
			for _, e := range all[known:] {
				got = append(got, e.String())
				if e.IP == nil || *e.IP != "127.0.0.1" {
					t.Errorf("%s: address %v", step.name, e.IP)
				}
			}
			if !slices.Equal(got, step.want) {
				t.Errorf("%s:\n%q, want\n%q", step.name, got, step.want)
			}
			known = len(all)
		}

		l.Clock.Advance(time.Hour)
		sums := map[string]logEntry{}
		rows := accessLogs(t, l, admin, "")[:len(l.Apps)*2] // as old as their hour; each replica has its own
		for _, e := range rows {
			sum := sums[e.Path]
			sum.BytesTransferred += e.BytesTransferred
			sum.Count += e.Count
			sums[e.Path] = sum
			if e.Username != nil || e.IP != nil || e.Action != "download" || e.StatusCode != 200 {
				t.Errorf("no sum: %v", e)
			}
		}
		want := map[string]logEntry{"/public/linked.txt": {BytesTransferred: 10, Count: 2},
			"/public/plain.txt": {BytesTransferred: 7, Count: 2}}
		if !maps.Equal(sums, want) {
			t.Errorf("at the end of the hour: %v", rows)
		}
		if strings.Contains(dumpLog(t, l)+l.Log.String(), "canary") {
			t.Error("a password from a failed attempt is stored")
		}
		if all := accessLogs(t, l, admin, ""); len(all) != known+len(rows) {
			t.Errorf("%d entries, want %d and the sums", len(all), known)
		}
	})
}

func TestLogsEndpoint(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, alice := l.Admin(t), l.User(t, "alice")
		aliceID := callerID(alice)
		l.Clock.Advance(time.Minute)
		began := l.Clock.Now().UnixMilli()
		for i := range 3 {
			mkdir(alice, "/home/alice", fmt.Sprint("Ordner ", i))
			l.Clock.Advance(time.Second)
		}
		l.FlushLog()
		t.Run("an entry", func(t *testing.T) {
			r := admin.In(t).Get("/api/admin/logs?action=folder").OK(200)
			var entry map[string]any
			if err := json.Unmarshal([]byte(toJSON(t, r.Value("logs.0"))), &entry); err != nil {
				t.Fatal(err)
			}
			if id, _ := entry["id"].(string); id == "" {
				t.Error("no id")
			}
			delete(entry, "id")
			if id, _ := entry["requestId"].(string); id == "" {
				t.Error("no request id")
			}
			delete(entry, "requestId")
			want := map[string]any{
				"userId": aliceID, "username": "alice", "avatar": nil, "keyId": nil, "ip": "127.0.0.1",
				"action": "folder", "method": "POST",
				"path":             "/home/alice/Ordner 2",
				"bytesTransferred": 0.0, "statusCode": 201.0, "count": 1.0, "createdAt": float64(began + 2000),
			}
			if !reflect.DeepEqual(entry, want) {
				t.Errorf("got %v", entry)
			}
			if p := toJSON(t, r.Value("pagination")); p != `{"limit":50,"page":1,"pages":1,"total":3}` {
				t.Errorf("pagination %s", p)
			}
		})
		for query, want := range map[string]int64{
			"userId=" + aliceID + "&action=folder": 3, "userId=" + aliceID: 4, "userId=x": 0, "action=move": 0,
			"search=oRDNER": 3, "search=ordner%201": 1, "search=%25": 0,
			"search=" + strings.Repeat("x", 255): 0, "userId=&action=&search=ordner&from=&to=": 3,
			fmt.Sprint("from=", began): 3, fmt.Sprint("from=", began+1): 2,
			fmt.Sprintf("from=%d&to=%d", began, began+1000): 2,
			fmt.Sprintf("from=%d&to=%d", began, began+999):  1, fmt.Sprintf("from=%d&to=%d", began+1, began): 0,
			"action=folder&limit=200": 3, "action=folder&limit=1&page=4": 3,
			"from=0&to=9007199254740991&action=folder": 3,
		} {
			if got := admin.Get("/api/admin/logs?" + query).OK(200).Int("pagination.total"); got != want {
				t.Errorf("%s: %d, want %d", query, got, want)
			}
		}
		page := admin.Get("/api/admin/logs?action=folder&limit=2&page=2").OK(200)
		if page.Text("logs.0.path") != "/home/alice/Ordner 0" || page.Value("logs.1") != nil ||
			page.Int("pagination.pages") != 2 {
			t.Errorf("second page %s", page.Body)
		}
		if empty := admin.Get("/api/admin/logs?action=folder&page=1000000000").
			OK(200); toJSON(t, empty.Value("logs")) != "[]" {
			t.Errorf("beyond the end %s", empty.Body)
		}
		for _, query := range []string{
			"limit=0", "limit=201", "limit=x", "page=0", "page=1000000001", "action=listing", "action=Upload",
			"search=" + strings.Repeat("x", 256), "from=-1", "to=-1", "from=1.5",
			"to=x", "to=9007199254740992", "from=9223372036854775808", "search=%00", "userId=%ff",
		} {
			admin.Get("/api/admin/logs?"+query).Fails(400, "VALIDATION_ERROR")
		}
	})
}

func toJSON(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestEveryLogActionIsAFilter(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite")
	admin := l.Admin(t)
	for _, action := range audit.Actions {
		admin.Get("/api/admin/logs?action=" + string(action)).OK(200)
	}
	if len(audit.Actions) != 19 {
		t.Errorf("%d actions", len(audit.Actions))
	}
}

// Requests are counted over all replicas. Probes and the page at `/` are not counted.
func TestRequestsAreCounted(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		visitor := l.Client(t)
		requests := func() int64 {
			l.FlushLog()
			n, err := l.Apps[0].Audit.Requests24h(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		before := requests()
		for range 3 {
			for _, path := range []string{"/api/public/health", "/api/public/health/live", "/api/public/health/ready",
				"/"} {
				visitor.Get(path)
			}
		}
		if n := requests(); n != before {
			t.Errorf("%d probes were counted", n-before)
		}
		for range 4 { // an even number each, for both replicas
			visitor.Get("/api/auth/me")
			visitor.Get("/api/nothing")
			visitor.Get("/public/nothing")
			visitor.Head("/api/public/settings")
			visitor.Put("/public/nothing", "x")
		}
		if n := requests(); n != before+20 {
			t.Errorf("%d requests were counted, want 20", n-before)
		}
	})
}

// Abuse case C113: an access log that cannot be written, or whose database hangs, neither fails nor
// delays a request.
func TestRequestsWhileTheLogHangs(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice := l.User(t, "alice")
		l.FlushLog()
		held, release, done := make(chan struct{}), make(chan struct{}), make(chan error)
		d := l.AuditDB(t)
		go func() {
			done <- d.Write(context.Background(), func(tx *db.Tx) error {
				_, err := tx.Exec("UPDATE access_log_size SET size = size")
				close(held)
				<-release
				return err
			})
		}()
		<-held
		for i := range 50 {
			began := time.Now()
			mkdir(alice, "/home/alice", fmt.Sprint(i))
			// a request that waits for the lock fails after this time with SQLite only
			if took := time.Since(began); took >= 15*time.Second {
				t.Errorf("request %d took %v", i, took)
			}
		}
		close(release)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if got := accessLogs(t, l, l.Admin(t), "&action=folder"); len(got) != 50 {
			t.Errorf("%d requests were logged after the log resumed", len(got))
		}
		if err := d.Write(t.Context(), func(tx *db.Tx) error {
			_, err := tx.Exec("DROP TABLE access_log")
			return err
		}); err != nil {
			t.Fatal(err)
		}
		mkdir(alice, "/home/alice", "without a log")
	})
}
