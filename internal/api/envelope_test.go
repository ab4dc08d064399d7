package api_test

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"larder/internal/api"
	"larder/internal/apptest"
	"larder/internal/audit"
	"larder/internal/config"
	"larder/internal/ident"
)

// Specification: Conventions.
func TestEnvelopes(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite")
	admin, visitor := l.Admin(t), l.Client(t)
	now := fmt.Sprint(l.Clock.Now().UnixMilli())

	good := admin.Get("/api/keys/").OK(200)
	top := good.Object()
	wantFields(t, "the success envelope", top, "success", "data", "timestamp")
	wantJSON(t, "success", top["success"], true)
	wantJSON(t, "timestamp", top["timestamp"], json.Number(now))
	if got := good.Header.Get("Content-Type"); !strings.HasPrefix(got, "application/json") {
		t.Errorf("Content-Type %q", got)
	}
	if got := good.Header.Get("Cache-Control"); got != "private, no-store" { // abuse case C77
		t.Errorf("Cache-Control %q", got)
	}
	if got := good.Header.Get("X-Content-Type-Options"); got != "nosniff" {
		t.Errorf("X-Content-Type-Options %q", got)
	}

	id := admin.Post("/api/keys/", M{"name": "k", "permissions": []string{"read"}, "protocols": []string{"api"}}).
		OK(201).Text("key.id")
	null := admin.Delete("/api/keys/" + id).OK(200).Object()
	wantFields(t, "an envelope of nothing", null, "success", "data", "timestamp")
	wantJSON(t, "data", null["data"], nil)

	bad := visitor.Get("/api/auth/me").Fails(401, "UNAUTHORIZED").Object()
	wantFields(t, "the error envelope", bad, "success", "error", "timestamp")
	wantFields(t, "error", bad["error"], "code", "message", "requestId")
	wantJSON(t, "success", bad["success"], false)
	wantJSON(t, "timestamp", bad["timestamp"], json.Number(now))
}

// error.details is returned in development only. Abuse case C120.
func TestErrorDetailsInDevelopment(t *testing.T) {
	t.Parallel()
	for _, development := range []bool{false, true} {
		t.Run(fmt.Sprint(development), func(t *testing.T) {
			t.Parallel()
			l := apptest.Start(t, "sqlite", func(cfg *config.Config) { cfg.Development = development })
			reply := l.Client(t).Post("/api/auth/login", `{"username": `, "Content-Type", "application/json").
				Fails(400, "VALIDATION_ERROR")
			failure, _ := reply.Object()["error"].(map[string]any)
			details, given := failure["details"]
			if given != development {
				t.Fatalf("details given: %v in %s", given, reply.Body)
			}
			if _, isObject := details.(map[string]any); development && !isObject {
				t.Errorf("details is not an object: %v", details)
			}
		})
	}
}

// Specification: Public endpoints.
func TestHealthProbesAnswerBareObjects(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		for _, path := range []string{"/api/public/health", "/api/public/health/live", "/api/public/health/ready"} {
			reply := l.Client(t).Get(path)
			wantStatus(t, path, reply, 200, "")
			o := reply.Object()
			wantFields(t, path, o, "service", "status", "ready", "detail")
			wantJSON(t, path+" status", o["status"], "ok")
			wantJSON(t, path+" ready", o["ready"], true)
			wantJSON(t, path+" service", o["service"], "larder")
			if _, text := o["detail"].(string); !text {
				t.Errorf("%s: detail is not a string", path)
			}
			head := l.Client(t).Head(path)
			if head.Status != 200 || len(head.Body) != 0 ||
				head.Header.Get("Content-Length") != reply.Header.Get("Content-Length") {
				t.Errorf("HEAD %s: %d, %d bytes, Content-Length %s", path, head.Status, len(head.Body),
					head.Header.Get("Content-Length"))
			}
			wantStatus(t, "POST "+path, l.Client(t).Post(path, M{}), 405, "METHOD_NOT_ALLOWED")
		}
	})
}

// Before the first start has seeded the database, only the probes answer, and readiness answers
// 503.
func TestProbesBeforeSeeding(t *testing.T) {
	t.Parallel()
	handler, err := api.New(api.Config{
		Now: time.Now, Log: slog.New(slog.DiscardHandler), IDs: ident.New(rand.Reader),
		Started: func() bool { return false }, Ready: func(*http.Request) (bool, string) { return false, "starting" },
	})
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequest("GET", "/api/auth/me", nil))
	if w.Code < 500 || !strings.Contains(w.Body.String(), `"success":false`) {
		t.Errorf("before the start: %d %s", w.Code, w.Body)
	}
}

// A panic answers the 500 envelope without details. Abuse case C120.
func TestPanicIsInternalError(t *testing.T) {
	t.Parallel()
	log := &apptest.LogBuffer{}
	handler, err := api.New(api.Config{ // without a database, reading the settings panics
		Now: time.Now, Log: slog.New(slog.NewJSONHandler(log, nil)), Development: true,
		IDs:     ident.New(rand.Reader),
		Started: func() bool { return true },
		Audit:   audit.New(audit.Config{Now: time.Now}),
	})
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequest("GET", "/api/public/settings", nil))
	if w.Code != 500 {
		t.Fatalf("status %d", w.Code)
	}
	o := apptest.ParseObject(t, w.Body.Bytes())
	wantFields(t, "the envelope", o, "success", "error", "timestamp")
	wantFields(t, "error", o["error"], "code", "message", "requestId")
	if text := w.Body.String(); !strings.Contains(text, `"INTERNAL_ERROR"`) || strings.Contains(text, "goroutine") ||
		strings.Contains(text, ".go") || strings.Contains(text, "nil pointer") {
		t.Errorf("answer %s", text)
	}
	if !strings.Contains(log.String(), "nil pointer") || !strings.Contains(log.String(), "goroutine") {
		t.Errorf("the log does not say why: %s", log)
	}
}

func TestUnknownRoutesAndMethods(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite")
	admin := l.Admin(t)
	for _, client := range []*apptest.Client{admin, l.Client(t)} {
		for _, path := range []string{"/api", "/api/", "/api/nothing", "/api/auth", "/api/auth/login/x",
			"/api//auth/me", "/api/./auth/me", "/api/auth/../auth/me", "/api/AUTH/me", "/api/%2e%2e/auth/me",
			"/api/files/a/b/c/d", "/api/keys//"} {
			for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
				reply := client.Do(apptest.Request{Method: method, Path: path,
					Header: http.Header{"Accept": {"text/html"}}})
				wantStatus(t, method+" "+path, reply, 404, "NOT_FOUND")
			}
		}
	}
	for _, row := range []struct{ method, path, allow string }{
		{"GET", "/api/auth/login", "POST"},
		{"HEAD", "/api/auth/login", "POST"},
		{"GET", "/api/auth/logout", "POST"},
		{"POST", "/api/auth/me", "GET, HEAD"},
		{"DELETE", "/api/auth/csrf-token", "GET, HEAD"},
		{"POST", "/api/files", "GET, HEAD"},
		{"PATCH", "/api/files/some-id", "DELETE, GET, HEAD, PUT"},
		{"GET", "/api/files/folder", ""},
		{"PUT", "/api/keys/", "GET, HEAD, POST"},
		{"PUT", "/api/keys", "GET, HEAD, POST"},
		{"DELETE", "/api/public/settings", "GET, HEAD"},
		{"GET", "/api/upload", "OPTIONS, POST"},
		{"TRACE", "/api/auth/me", "GET, HEAD"}, // abuse case C121
		{"TRACE", "/api/public/health", "GET, HEAD"},
		{"TRACE", "/public/a.png", "GET, HEAD"},
		{"TRACE", "/", "GET, HEAD"},
		{"FOO", "/api/admin/rules", "GET, HEAD, POST"},
	} {
		if row.allow == "" {
			continue
		}
		reply := l.Client(t).Do(apptest.Request{Method: row.method, Path: row.path})
		wantStatus(t, row.method+" "+row.path, reply, 405, "METHOD_NOT_ALLOWED")
		if got := reply.Header.Get("Allow"); got != row.allow {
			t.Errorf("%s %s: Allow %q, want %q", row.method, row.path, got, row.allow)
		}
	}
}

func TestTrailingSlashAndHead(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite")
	admin := l.Admin(t)
	key := M{"name": "k", "permissions": []string{"read"}, "protocols": []string{"api"}}
	admin.Post("/api/keys", key).OK(201)
	admin.Post("/api/keys/", key).OK(201)
	a, b := admin.Get("/api/keys").OK(200), admin.Get("/api/keys/").OK(200)
	if !bytes.Equal(a.Body, b.Body) {
		t.Errorf("%s\nand with a slash\n%s", a.Body, b.Body)
	}
	for _, path := range []string{"/api/keys", "/api/keys/", "/api/auth/me", "/api/files?path=/",
		"/api/public/settings", "/api/openapi.json", "/api/admin/rules"} {
		get, head := admin.Get(path), admin.Head(path)
		wantStatus(t, "GET "+path, get, 200, "")
		if head.Status != 200 || len(head.Body) != 0 ||
			head.Header.Get("Content-Length") != get.Header.Get("Content-Length") ||
			head.Header.Get("Content-Type") != get.Header.Get("Content-Type") {
			t.Errorf("HEAD %s: %d %v, body of %d bytes", path, head.Status, head.Header, len(head.Body))
		}
	}
	head := l.Client(t).Head("/api/auth/me")
	wantStatus(t, "HEAD without a session", head, 401, "")
}

// Abuse cases C6, C43, C106.
func TestBodies(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite")
	admin := l.Admin(t)
	const good = `{"pathPattern": "/a/**", "effect": "allow", "role": "user"}`
	padded := func(size int) string { return good + strings.Repeat(" ", size-len(good)) }
	for _, row := range []struct {
		name, contentType, body string
		status                  int
		code                    string
	}{
		{"good", "application/json", good, 201, ""},
		{"with a charset", "application/json; charset=utf-8", good, 201, ""},
		{"the type in capitals", "Application/JSON", good, 201, ""},
		{"unknown fields are ignored", "application/json",
			`{"pathPattern": "/a/**", "effect": "allow", "role": "user", "nonsense": [1], "id": "chosen", "createdAt": 5}`, 201, ""},
		{"names in other letters are unknown fields", "application/json",
			`{"pathPattern": "/a/**", "effect": "allow", "role": "user", "USERID": "x", "Effect": "nonsense"}`, 201,
			""},
		{"only in other letters", "application/json", `{"PATHPATTERN": "/a/**", "EFFECT": "allow", "ROLE": "user"}`,
			400, "VALIDATION_ERROR"},
		{"exactly 1 MiB", "application/json", padded(1 << 20), 201, ""},
		{"1 MiB and a byte", "application/json", padded(1<<20 + 1), 413, "PAYLOAD_TOO_LARGE"},
		{"2 MiB of one string", "application/json", `{"pathPattern": "` + strings.Repeat("a", 2<<20) + `"}`, 413,
			"PAYLOAD_TOO_LARGE"},
		{"no body", "application/json", "", 400, "VALIDATION_ERROR"},
		{"cut off", "application/json", good[:20], 400, "VALIDATION_ERROR"},
		{"something behind", "application/json", good + "x", 400, "VALIDATION_ERROR"},
		{"two objects", "application/json", good + good, 400, "VALIDATION_ERROR"},
		{"an array", "application/json", "[" + good + "]", 400, "VALIDATION_ERROR"},
		{"null", "application/json", "null", 400, "VALIDATION_ERROR"},
		{"a string", "application/json", `"x"`, 400, "VALIDATION_ERROR"},
		{"single quotes", "application/json", strings.ReplaceAll(good, `"`, `'`), 400, "VALIDATION_ERROR"},
		{"a number for a string", "application/json", `{"pathPattern": 5, "effect": "allow", "role": "user"}`, 400,
			"VALIDATION_ERROR"},
		{"an object for a string", "application/json", `{"pathPattern": {}, "effect": "allow", "role": "user"}`, 400,
			"VALIDATION_ERROR"},
		{"a string for a list", "application/json",
			`{"pathPattern": "/a/**", "effect": "allow", "role": "user", "permissions": "read"}`, 400,
			"VALIDATION_ERROR"},
		{"a number in a list of strings", "application/json",
			`{"pathPattern": "/a/**", "effect": "allow", "role": "user", "permissions": [1]}`, 400, "VALIDATION_ERROR"},
		{"a string for a number", "application/json",
			`{"pathPattern": "/a/**", "effect": "allow", "role": "user", "priority": "5"}`, 400, "VALIDATION_ERROR"},
		{"a fraction for an integer", "application/json",
			`{"pathPattern": "/a/**", "effect": "allow", "role": "user", "priority": 1.5}`, 400, "VALIDATION_ERROR"},
		{"beyond int64", "application/json",
			`{"pathPattern": "/a/**", "effect": "allow", "role": "user", "priority": 9223372036854775808}`, 400,
			"VALIDATION_ERROR"},
		{"a string for a boolean", "application/json",
			`{"pathPattern": "/a/**", "effect": "allow", "role": "user", "requirePassword": "false"}`, 400,
			"VALIDATION_ERROR"},
		{"null for a required field", "application/json", `{"pathPattern": null, "effect": "allow", "role": "user"}`,
			400, "VALIDATION_ERROR"},
		{"a required field missing", "application/json", `{"effect": "allow", "role": "user"}`, 400,
			"VALIDATION_ERROR"},
		{"text/plain", "text/plain", good, 400, "VALIDATION_ERROR"},
		{"a form", "application/x-www-form-urlencoded", good, 400, "VALIDATION_ERROR"},
		{"a multipart form", "multipart/form-data; boundary=x", good, 400, "VALIDATION_ERROR"},
		{"no type", "", good, 400, "VALIDATION_ERROR"},
		{"a type like it", "application/json-patch+json", good, 400, "VALIDATION_ERROR"},
		{"100,000 deep", "application/json", `{"a":` + strings.Repeat("[", 100000) + strings.Repeat("]", 100000) + `}`,
			400, "VALIDATION_ERROR"},
		{"100,000 open", "application/json", strings.Repeat(`{"a":`, 100000), 400, "VALIDATION_ERROR"},
		{"not UTF-8", "application/json", "{\"pathPattern\": \"/a\xff/**\", \"effect\": \"allow\", \"role\": \"user\"}",
			400, "VALIDATION_ERROR"},
		{"overlong UTF-8", "application/json",
			"{\"pathPattern\": \"/\xc0\xae\xc0\xae/**\", \"effect\": \"allow\", \"role\": \"user\"}", 400,
			"VALIDATION_ERROR"},
		{"a lone high surrogate", "application/json",
			`{"pathPattern": "/a\ud800/**", "effect": "allow", "role": "user"}`, 400, "VALIDATION_ERROR"},
		{"a lone low surrogate", "application/json",
			`{"pathPattern": "/a\udc00/**", "effect": "allow", "role": "user"}`, 400, "VALIDATION_ERROR"},
		{"surrogates the wrong way round", "application/json",
			`{"pathPattern": "/a\udc00\ud800/**", "effect": "allow", "role": "user"}`, 400, "VALIDATION_ERROR"},
		{"a pair of surrogates", "application/json",
			`{"pathPattern": "/\ud83d\ude00/**", "effect": "allow", "role": "user"}`, 201, ""},
		{"an escaped backslash before a u", "application/json",
			`{"pathPattern": "/a/**", "effect": "allow", "role": "user", "note": "\\ud800"}`, 201, ""},
	} {
		wantStatus(t, row.name, admin.Post("/api/admin/rules", row.body, "Content-Type", row.contentType), row.status,
			row.code)
	}
	// a stream of unknown length is counted too
	endless := apptest.Request{Method: "POST", Path: "/api/admin/rules", Body: io.LimitReader(endlessBody(' '), 8<<20),
		Header: http.Header{"Content-Type": {"application/json"}}}
	// the server may close the connection while the client still sends
	if reply := admin.Do(endless); reply.Err == nil {
		wantStatus(t, "8 MiB in chunks", reply, 413, "PAYLOAD_TOO_LARGE")
	}
	for _, coding := range []string{"gzip", "br", "deflate", "x"} {
		wantStatus(t, "Content-Encoding "+coding,
			admin.Post("/api/admin/rules", good, "Content-Type", "application/json", "Content-Encoding", coding), 400,
			"VALIDATION_ERROR")
		wantStatus(t, "login with Content-Encoding "+coding,
			l.Client(t).Post("/api/auth/login", M{"username": "admin", "password": apptest.AdminPassword},
				"Content-Encoding", coding), 400, "VALIDATION_ERROR")
	}
}

// A page or limit outside its range is refused and not clamped. Abuse case C106.
func TestPaginationRanges(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite")
	admin := l.Admin(t)
	for i := range 3 {
		admin.Post("/api/admin/rules", M{"pathPattern": fmt.Sprintf("/r%d/**", i), "effect": "allow", "role": "user"}).
			OK(201)
		admin.Post("/api/files/folder", M{"path": "/uploads", "name": fmt.Sprintf("f%d", i)}).OK(201)
	}
	for _, row := range []struct {
		path       string
		maxLimit   int
		totalAtEnd int64
	}{{"/api/admin/rules?", 100, 6}, {"/api/files?path=/uploads&", 1000, 3}} {
		for _, bad := range []string{
			"page=0", "page=-1", "page=1000000000000000", "page=9223372036854775807", "page=9223372036854775808",
			"page=x", "page=1.5", "page=1e3", "page=%2B1", "page=0x1",
			"limit=0", "limit=-1", fmt.Sprint("limit=", row.maxLimit+1), "limit=9223372036854775807", "limit=x",
		} {
			wantStatus(t, row.path+bad, admin.Get(row.path+bad), 400, "VALIDATION_ERROR")
		}
		full := admin.Get(fmt.Sprint(row.path, "limit=", row.maxLimit)).OK(200)
		wantFields(t, "pagination", full.Value("pagination"), "total", "page", "limit", "pages")
		if full.Int("pagination.total") != row.totalAtEnd || full.Int("pagination.limit") != int64(row.maxLimit) ||
			full.Int("pagination.pages") != 1 || full.Int("pagination.page") != 1 {
			t.Errorf("%s: %s", row.path, full.Body)
		}
		second := admin.Get(row.path + "page=2&limit=2").OK(200)
		if second.Int("pagination.page") != 2 || second.Int("pagination.limit") != 2 ||
			second.Int("pagination.pages") != (row.totalAtEnd+1)/2 {
			t.Errorf("%s page 2: %s", row.path, second.Body)
		}
		beyond := admin.Get(row.path + "page=1000000&limit=2").OK(200)
		if beyond.Int("pagination.total") != row.totalAtEnd || beyond.Int("pagination.page") != 1000000 {
			t.Errorf("%s far beyond: %s", row.path, beyond.Body)
		}
	}
}
