package api_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"larder/internal/apptest"
	"larder/internal/blob/s3/s3test"
	"larder/internal/config"
	"larder/internal/site"
)

// freeFields returns the body of init for a bucket.
func freeFields(b s3test.Bucket, extra ...M) M {
	return M{"type": "store_b", "endpoint": b.Endpoint, "bucket": b.Name, "accessKeyId": b.AccessKey,
		"secretAccessKey": b.SecretKey}.With(extra...)
}

// openFreeSession returns a visitor with a free-mode session in a bucket.
func openFreeSession(t testing.TB, l *apptest.Larder, b s3test.Bucket, extra ...M) *apptest.Client {
	t.Helper()
	c := l.Client(t)
	c.CSRF = c.Post("/api/free-mode/init", freeFields(b, extra...)).OK(201).Text("csrfToken")
	return c
}

// countFreeSessions counts the rows of sessions.
func countFreeSessions(t testing.TB, l *apptest.Larder) int {
	t.Helper()
	return queryInt(t, l, "SELECT COUNT(*) FROM free_sessions")
}

func TestFreeModeSession(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		bucket := s3test.New(t)
		for kind, hours := range map[string]int64{"store_a": 0, "store_b": 1, "store_c": 8} {
			c := l.Client(t)
			fields1 := freeFields(bucket, M{"type": kind, "region": "us-east-1"})
			if hours != 0 {
				fields1["sessionHours"] = hours
			} else {
				fields1["sessionHours"] = nil // the default
				hours = 1
			}
			reply := c.Post("/api/free-mode/init", fields1).OK(201)
			data := reply.Object()["data"].(map[string]any)
			wantFields(t, "data", data, "user", "expiresAt", "sessionHours", "provider", "csrfToken")
			wantFields(t, "user", data["user"], "id", "username", "role", "defaultPath")
			wantJSON(t, "provider", data["provider"], M{"type": kind, "bucket": bucket.Name})
			if name := reply.Text("user.username"); !strings.HasPrefix(name, "fm_") ||
				reply.Text("user.role") != "guest" || reply.Text("user.defaultPath") != "/" ||
				reply.Text("user.id") == "" {
				t.Errorf("user %v", data["user"])
			}
			if len(reply.Text("csrfToken")) != 32 || reply.Int("sessionHours") != hours ||
				reply.Int("expiresAt") != l.Clock.Now().UnixMilli()+hours*3_600_000 {
				t.Errorf("%v", data)
			}
			want := fmt.Sprintf("; Path=/api/free-mode; Max-Age=%d; HttpOnly; SameSite=Strict", hours*3600)
			cookie := reply.Header.Get("Set-Cookie")
			if token := c.Cookies["fm_token"]; cookie != "fm_token="+token+want || len(token) < 32 {
				t.Errorf("cookie %s", cookie)
			}
			for range 2 { // whichever replica answers
				again := c.Get("/api/free-mode/session").OK(200)
				wantJSON(t, "the session", again.Object()["data"], data)
				if again.Header.Get("Cache-Control") != "private, no-store" {
					t.Errorf("Cache-Control %s", again.Header.Get("Cache-Control"))
				}
			}
			l.Clock.Advance(time.Duration(hours)*time.Hour - time.Millisecond)
			c.Get("/api/free-mode/session").OK(200)
			l.Clock.Advance(time.Millisecond)
			c.Get("/api/free-mode/session").Fails(401, "UNAUTHORIZED")
			c.Get("/api/free-mode/files").Fails(401, "UNAUTHORIZED")
		}
		if n := countFreeSessions(t, l); n != 3 {
			t.Errorf("%d sessions before the sweep", n)
		}
		alive := openFreeSession(t, l, bucket)
		l.Sweep()
		if n := countFreeSessions(t, l); n != 1 {
			t.Errorf("%d sessions after the sweep", n)
		}
		// a clock that is set back does not prolong a session of an hour beyond the maximum
		l.Clock.Advance(-62 * time.Minute)
		alive.Get("/api/free-mode/session").OK(200)
		l.Clock.Advance(-9 * time.Hour)
		alive.Get("/api/free-mode/session").Fails(401, "UNAUTHORIZED")
	}, apptest.ReachLoopback, func(cfg *config.Config) { cfg.RateLimitEnabled = false })
}

func TestFreeModeCookieIsSecureOnHTTPS(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite", apptest.ReachLoopback, apptest.TrustLoopback,
		func(c *config.Config) { c.BaseURL = "https://larder.test" })
	bucket := s3test.New(t)
	reply := l.Client(t).Post("/api/free-mode/init", freeFields(bucket), "X-Forwarded-Proto", "https").OK(201)
	if !strings.Contains(reply.Header.Get("Set-Cookie"), "; Secure") {
		t.Errorf("cookie %s", reply.Header.Get("Set-Cookie"))
	}
	// the browser would not send the cookie
	l.Client(t).Post("/api/free-mode/init", freeFields(bucket), "X-Forwarded-Proto", "http").Fails(403, "FORBIDDEN")
}

// Refusals have this order: switched off, fields, endpoint, limit, connection.
func TestFreeModeInitRefuses(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		bucket := s3test.New(t)
		c := l.Client(t)
		init := func(change M) *apptest.Reply { return c.Post("/api/free-mode/init", freeFields(bucket, change)) }
		for _, change := range []M{
			{"type": nil}, {"type": ""}, {"type": "store_d"}, {"type": "STORE_B"}, {"type": 1}, {"endpoint": nil},
			{"endpoint": ""}, {"endpoint": "store.example.org"},
			{"endpoint": "ftp://store.example.org"}, {"endpoint": "file:///etc/passwd"},
			{"endpoint": "gopher://store.example.org"}, {"endpoint": "https://user:pw@store.example.org"},
			{"endpoint": "https://store.example.org/path"}, {"endpoint": "https://store.example.org?x"},
			{"endpoint": "https://store.example.org:0"}, {"endpoint": "https://store.example.org:65536"},
			{"endpoint": "https://" + strings.Repeat("a", 250)}, {"endpoint": "https://a\nb"},
			{"region": strings.Repeat("a", 65)}, {"region": "a b"}, {"region": 5}, {"bucket": nil}, {"bucket": ""},
			{"bucket": "ab"}, {"bucket": strings.Repeat("a", 64)}, {"bucket": "../x"}, {"bucket": "a/b"},
			{"bucket": "Ab_c", "type": "store_c"}, {"accessKeyId": nil}, {"accessKeyId": ""},
			{"accessKeyId": strings.Repeat("a", 257)}, {"accessKeyId": "a b"}, {"secretAccessKey": nil},
			{"secretAccessKey": ""}, {"secretAccessKey": "a\nb"}, {"secretAccessKey": 1},
			{"sessionHours": 0}, {"sessionHours": 9}, {"sessionHours": -1}, {"sessionHours": 1.5},
			{"sessionHours": "1"}, {"sessionHours": true}, {"sessionHours": []int{1}},
		} {
			wantStatus(t, fmt.Sprint(change), init(change), 400, "VALIDATION_ERROR")
		}
		// abuse case C43
		c.Post("/api/free-mode/init", "{}", "Content-Type", "text/plain").Fails(400, "VALIDATION_ERROR")
		c.Post("/api/free-mode/init", freeFields(bucket), "Sec-Fetch-Site", "cross-site").Fails(403, "FORBIDDEN")
		if len(c.Cookies) != 0 || countFreeSessions(t, l) != 0 {
			t.Errorf("cookies %v, %d sessions", c.Cookies, countFreeSessions(t, l))
		}

		visitor := openFreeSession(t, l, bucket)
		for _, off := range []func(s *site.Settings, on bool){
			func(s *site.Settings, on bool) { s.EnableFreeMode = on },
			func(s *site.Settings, on bool) { s.AllowGuestAccess = on },
		} {
			l.ChangeSettings(t, func(s *site.Settings) { off(s, false) })
			init(nil).Fails(403, "FORBIDDEN")
			init(M{"type": "nonsense"}).Fails(403, "FORBIDDEN")
			for range 2 {
				visitor.Get("/api/free-mode/session").Fails(403, "FORBIDDEN")
				visitor.Get("/api/free-mode/files").Fails(403, "FORBIDDEN")
				visitor.Post("/api/free-mode/upload", "x", "X-File-Name", "a").Fails(403, "FORBIDDEN")
				visitor.Delete("/api/free-mode/object?key=a").Fails(403, "FORBIDDEN")
				visitor.Get("/api/free-mode/download?key=a").Fails(403, "FORBIDDEN")
			}
			if open := c.Get("/api/public/features").OK(200).Value("freeMode"); open != false {
				t.Errorf("freeMode %v", open)
			}
			l.ChangeSettings(t, func(s *site.Settings) { off(s, true) })
			visitor.Get("/api/free-mode/session").OK(200)
			if open := c.Get("/api/public/features").OK(200).Value("freeMode"); open != true {
				t.Errorf("freeMode %v", open)
			}
		}
		l.ChangeSettings(t, func(s *site.Settings) { s.EnableFreeMode = false })
		visitor.Post("/api/free-mode/logout", nil).OK(200) // an existing session can still be left
		if countFreeSessions(t, l) != 0 {
			t.Error("a session is left")
		}
	}, apptest.ReachLoopback)
}

// Without permission for private endpoints no private address is reached. Ports of mail, shells and
// databases are never reached. Abuse cases C60, C64.
func TestFreeModeReachesPublicAddressesOnly(t *testing.T) {
	t.Parallel()
	// the permission is for providers, not for visitors
	l := apptest.Start(t, "sqlite", func(c *config.Config) {
		c.AllowPrivateEndpoints = append(c.AllowPrivateEndpoints, s3test.Loopback)
	})
	bucket := s3test.New(t)
	message := ""
	for _, endpoint := range []string{
		bucket.Endpoint, "http://127.0.0.1:9000", "http://10.0.0.1", "http://[::1]:9000", "http://[::ffff:127.0.0.1]",
		"http://169.254.169.254", "http://0.0.0.0", "http://localhost:9000",
		"http://203.0.114.1:25", "http://203.0.114.1:22", "http://203.0.114.1:6379", "http://203.0.114.1:5432",
		"http://no-such-name.invalid",
	} {
		reply := l.Client(t).Post("/api/free-mode/init", freeFields(bucket, M{"endpoint": endpoint})).
			Fails(400, "VALIDATION_ERROR")
		wantJSON(t, endpoint, reply.Object()["error"].(map[string]any)["field"], "endpoint")
		said := errorMessage(t, reply)
		if message != "" && said != message {
			t.Errorf("%s: %s", endpoint, said)
		}
		message = said
	}
}

// Every endpoint that is no S3 server gets the same answer in the same time. Abuse cases C63, C65.
func TestFreeModeConnectionTest(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "postgres", apptest.ReachLoopback)
	bucket := s3test.New(t)
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	silent, err := net.Listen("tcp", "127.0.0.1:0") // accepts connections and sends nothing
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { silent.Close() })
	answers := func(status int, header, text string) M {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if header != "" {
				w.Header().Set("Location", header)
			}
			w.WriteHeader(status)
			_, _ = io.WriteString(w, text)
		}))
		t.Cleanup(server.Close)
		return M{"endpoint": server.URL}
	}
	const refused, nothing = "The store rejected the access keys or the bucket.", "No S3-compatible store answered " +
		"at the endpoint within 5 seconds."
	var running sync.WaitGroup
	for name, c := range map[string]struct {
		change M
		want   string
	}{
		"wrong secret":    {M{"secretAccessKey": "wrong"}, refused},
		"wrong key":       {M{"accessKeyId": "wrong"}, refused},
		"no such bucket":  {M{"bucket": "nobody-has-this"}, refused},
		"closed port":     {M{"endpoint": "http://" + closed.Addr().String()}, nothing},
		"silent port":     {M{"endpoint": "http://" + silent.Addr().String()}, nothing},
		"another scheme":  {M{"endpoint": strings.Replace(bucket.Endpoint, "http:", "https:", 1)}, nothing},
		"a page":          {answers(200, "", "<html>hello</html>"), nothing},
		"a page, denying": {answers(403, "", "<html><Code>nothing</Code></html>"), nothing},
		"a redirect":      {answers(307, bucket.Endpoint+"/"+bucket.Name, ""), nothing},
	} {
		visitor := l.Client(t)
		running.Go(func() {
			began := time.Now()
			reply := visitor.Post("/api/free-mode/init", freeFields(bucket, c.change))
			took := time.Since(began)
			wantStatus(t, name, reply, 400, "OPERATION_FAILED")
			if reply.Status != 400 || errorMessage(t, reply) != c.want ||
				len(visitor.Cookies) != 0 {
				t.Errorf("%s: %s", name, reply.Body)
			}
			field := map[string]string{refused: "secretAccessKey", nothing: "endpoint"}[c.want]
			wantJSON(t, name, reply.Object()["error"].(map[string]any)["field"], field)
			if c.want == nothing && took < 4900*time.Millisecond {
				t.Errorf("%s: answered after %v", name, took)
			}
		})
	}
	running.Wait()
	if n := countFreeSessions(t, l); n != 0 {
		t.Errorf("%d sessions are left", n)
	}
	list := l.Client(t)
	list.Cookies["fm_token"] = "x"
	list.Get("/api/free-mode/session").Fails(401, "UNAUTHORIZED")
}

// An address has at most ten sessions, also with concurrent requests. All addresses together have
// at most a thousand.
func TestFreeModeSessionLimits(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		bucket := s3test.New(t)
		from := func(ip string) *apptest.Client {
			c := l.Client(t)
			c.Header.Set("X-Forwarded-For", ip)
			return c
		}
		init := func(c *apptest.Client, extra ...M) *apptest.Reply {
			return c.Post("/api/free-mode/init", freeFields(bucket, extra...))
		}
		var (
			running sync.WaitGroup
			mu      sync.Mutex
			seen    = map[int]int{}
			inside  []*apptest.Client
		)
		for range 20 {
			c := from("203.0.113.1")
			running.Go(func() {
				reply := init(c)
				mu.Lock()
				defer mu.Unlock()
				seen[reply.Status]++
				switch reply.Status {
				case 201:
					c.CSRF = reply.Text("csrfToken")
					inside = append(inside, c)
				case 429:
					reply.Fails(429, "RATE_LIMIT_EXCEEDED")
					var wait int
					if _, err := fmt.Sscan(reply.Header.Get("Retry-After"), &wait); err != nil || wait < 1 ||
						wait > 3600 {
						t.Errorf("Retry-After %q", reply.Header.Get("Retry-After"))
					}
				}
			})
		}
		running.Wait()
		if seen[201] != 10 || seen[429] != 10 {
			t.Fatalf("of 20 concurrent requests: %v", seen)
		}
		for _, c := range inside {
			c.Get("/api/free-mode/session").OK(200)
		}
		// refused before the limit is checked
		init(from("203.0.113.1"), M{"endpoint": "http://127.0.0.1:25"}).Fails(400, "VALIDATION_ERROR")
		init(from("203.0.113.2")).OK(201)
		inside[0].Post("/api/free-mode/logout", nil).OK(200) // frees one place
		init(from("203.0.113.1"), M{"secretAccessKey": "wrong"}).Fails(400, "OPERATION_FAILED")
		init(from("203.0.113.1")).OK(201)
		init(from("203.0.113.1")).Fails(429, "RATE_LIMIT_EXCEEDED")
		l.Clock.Advance(time.Hour)
		init(from("203.0.113.1")).OK(201)

		for i := range 10 { // an IPv6 address counts by its /64
			init(from(fmt.Sprintf("2001:db8:1:2::%x", i+1))).OK(201)
		}
		init(from("2001:db8:1:2:ffff::1")).Fails(429, "RATE_LIMIT_EXCEEDED")
		init(from("2001:db8:1:3::1")).OK(201)

		for i := range 38 { // with the eleven from before, 49 of a /48 and one of another
			execAndRaiseVersion(t, l, fmt.Sprintf(
				"INSERT INTO free_sessions VALUES ('n%d', 'fm_x', 'c', 'p', '2001:db8:1:%x::/64', 0, %d)", i, i+16,
				l.Clock.Now().Add(time.Hour).UnixMilli()))
		}
		init(from("2001:db8:1:ffff::1")).OK(201)
		init(from("2001:db8:1:fffe::1")).Fails(429, "RATE_LIMIT_EXCEEDED")
		init(from("2001:db8:2::1")).OK(201)

		have := 12 + 40
		for i := range 999 - have {
			execAndRaiseVersion(t, l, fmt.Sprintf(
				"INSERT INTO free_sessions VALUES ('h%d', 'fm_x', 'c', 'p', '198.51.100.%d', 0, %d)", i, i,
				l.Clock.Now().Add(time.Hour).UnixMilli()))
		}
		init(from("192.0.2.9")).OK(201)
		init(from("192.0.2.9")).Fails(429, "RATE_LIMIT_EXCEEDED")
	}, apptest.ReachLoopback, apptest.TrustLoopback)
}

// Abuse cases C42 to C46.
func TestFreeModeWritesNeedTheToken(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		bucket := s3test.New(t)
		putObject(t, bucket, "keep.txt", "kept")
		c, other := openFreeSession(t, l, bucket), openFreeSession(t, l, bucket)
		if c.CSRF == other.CSRF || c.Cookies["fm_token"] == other.Cookies["fm_token"] {
			t.Error("two sessions share a token")
		}
		admin := l.Admin(t)
		writes := map[string]func(c *apptest.Client, header ...string) *apptest.Reply{
			"upload": func(c *apptest.Client, header ...string) *apptest.Reply {
				return c.Post("/api/free-mode/upload", "x", append(header, "X-File-Name", "new.txt")...)
			},
			"delete": func(c *apptest.Client, header ...string) *apptest.Reply {
				return c.Delete("/api/free-mode/object?key=keep.txt", header...)
			},
			"logout": func(c *apptest.Client, header ...string) *apptest.Reply {
				return c.Post("/api/free-mode/logout", nil, header...)
			},
		}
		for name, write := range writes {
			for _, token := range []string{"", "x", other.CSRF, admin.CSRF, strings.Repeat("a", 32), c.CSRF + "x",
				c.CSRF[:31]} {
				f := c.Fork()
				f.CSRF = token
				wantStatus(t, name+" with "+token, write(f), 403, "INVALID_CSRF")
			}
			wantStatus(t, name+" from across sites", write(c.Fork(), "Sec-Fetch-Site", "cross-site"), 403, "FORBIDDEN")
			if name != "logout" {
				wantStatus(t, name+" with a Bearer token", write(c.Fork(), "Authorization", "Bearer junk"), 401,
					"INVALID_TOKEN")
			}
		}
		c.Get("/api/free-mode/session").OK(200)
		wantStrings(t, "the bucket", bucket.Keys(t), "keep.txt")

		for name, path := range map[string]string{"read": "/api/free-mode/files", "session": "/api/free-mode/session",
			"download": "/api/free-mode/download?key=keep.txt"} {
			f := c.Fork()
			f.CSRF = ""
			wantStatus(t, name+" without a token", f.Get(path), 200, "")
			for _, cookie := range []string{"", "x", strings.Repeat("a", 43), c.Cookies["fm_token"] + "x", c.CSRF,
				admin.Cookies["auth_token"], strings.Repeat("x", 5000)} {
				f.Cookies = map[string]string{"fm_token": cookie}
				wantStatus(t, name+" with the cookie "+cookie, f.Get(path), 401, "UNAUTHORIZED")
			}
		}
		// abuse case C40: the token opens no other session
		mixed := l.Client(t)
		mixed.Cookies["auth_token"] = c.Cookies["fm_token"]
		mixed.Get("/api/auth/me").Fails(401, "INVALID_TOKEN")
		c.Get("/api/auth/me").Fails(401, "UNAUTHORIZED")
		c.Get("/api/files?path=/").Fails(401, "UNAUTHORIZED")
	}, apptest.ReachLoopback)
}

func TestFreeModeLogout(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		bucket := s3test.New(t)
		c := openFreeSession(t, l, bucket)
		kept := c.Fork() // with a copy of the cookie
		reply := c.Post("/api/free-mode/logout", nil).OK(200)
		if reply.Object()["data"] != nil ||
			reply.Header.Get("Set-Cookie") != "fm_token=; Path=/api/free-mode; Max-Age=0; HttpOnly; SameSite=Strict" {
			t.Errorf("%s, cookie %s", reply.Body, reply.Header.Get("Set-Cookie"))
		}
		for range 4 { // on every replica
			kept.Get("/api/free-mode/session").Fails(401, "UNAUTHORIZED")
			kept.Post("/api/free-mode/upload", "x", "X-File-Name", "a").Fails(401, "UNAUTHORIZED")
		}
		if n := countFreeSessions(t, l); n != 0 {
			t.Errorf("%d rows are left", n)
		}
		l.Client(t).Post("/api/free-mode/logout", nil).OK(200)
		kept.Post("/api/free-mode/logout", nil).OK(200)
	}, apptest.ReachLoopback)
}
