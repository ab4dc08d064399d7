package apptest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"
	"time"
)

// Client sends requests as one user or program. It keeps a session cookie with its CSRF token, or
// an API key. It is not safe for concurrent use; Fork returns another client with the same
// credential.
type Client struct {
	l       *Larder
	t       testing.TB
	http    *http.Client
	replica int // index of the replica, -1 for each in turn
	Cookies map[string]string
	CSRF    string
	Header  http.Header // sent with every request
}

// Client returns a visitor without credentials.
func (l *Larder) Client(t testing.TB) *Client {
	header := http.Header{}
	// the service trusts loopback then, see TrustLoopback: the client acts as the proxy that
	// terminates https
	if strings.HasPrefix(l.cfg.BaseURL, "https://") {
		header.Set("X-Forwarded-Proto", "https")
	}
	return &Client{
		l: l, t: t, replica: -1, Cookies: map[string]string{}, Header: header,
		http: &http.Client{
			Transport: &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 64,
				ExpectContinueTimeout: time.Minute},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// Fork returns a client with the same credential, for another goroutine or test.
func (c *Client) Fork() *Client {
	f := c.l.Client(c.t)
	f.CSRF, f.Header, f.http = c.CSRF, c.Header.Clone(), c.http
	for name, value := range c.Cookies {
		f.Cookies[name] = value
	}
	return f
}

// In returns a client with the same credential that reports failures to the subtest t.
func (c *Client) In(t testing.TB) *Client {
	f := c.Fork()
	f.t = t
	return f
}

func (c *Client) toReplica(replica int) *Client {
	f := c.Fork()
	f.replica = replica
	return f
}

// Admin returns a client signed in as the administrator.
func (l *Larder) Admin(t testing.TB) *Client { return l.SignIn(t, "admin", AdminPassword) }

// SignIn returns a client signed in, with its CSRF token.
func (l *Larder) SignIn(t testing.TB, username, password string) *Client {
	t.Helper()
	c := l.Client(t)
	c.Post("/api/auth/login", M{"username": username, "password": password}).OK(200)
	c.CSRF = c.Get("/api/auth/csrf-token").OK(200).Text("token")
	return c
}

// User creates an account with the role user and returns a client that is signed in with it.
func (l *Larder) User(t testing.TB, name string, extra ...M) *Client {
	t.Helper()
	body := M{"username": name, "email": name + "@example.org", "password": "password of " + name}.With(extra...)
	if l.sharedAdmin(t).Post("/api/admin/users", body).Status != 201 { // the shared session may have ended
		l.Admin(t).Post("/api/admin/users", body).OK(201)
	}
	return l.SignIn(t, name, "password of "+name)
}

// sharedAdmin returns an administrator's session that is signed in once, since each login costs a
// password hash.
func (l *Larder) sharedAdmin(t testing.TB) *Client {
	t.Helper()
	l.sharedAdminMu.Lock()
	defer l.sharedAdminMu.Unlock()
	if l.sharedAdminClient == nil {
		l.sharedAdminClient = l.Admin(t)
	}
	return l.sharedAdminClient.In(t)
}

// Key creates an API key of the signed-in user and returns a client that uses it.
func (c *Client) Key(body M) *Client {
	c.t.Helper()
	body = M{"name": "test", "permissions": []string{"read", "write", "delete"}, "protocols": []string{"api"},
		"uploadPath": "/uploads"}.With(body)
	k := c.l.Client(c.t)
	k.Header.Set("Authorization", "Bearer "+c.Post("/api/keys/", body).OK(201).Text("key.fullToken"))
	return k
}

// M is a JSON object.
type M map[string]any

// With returns a copy of m with the fields of more. A later value of a field replaces an earlier
// one.
func (m M) With(more ...M) M {
	all := maps.Clone(m)
	for _, fields := range more {
		maps.Copy(all, fields)
	}
	return all
}

// Request is one request. Body may be an M (JSON), a string, a []byte, an io.Reader or nil.
type Request struct {
	Method, Path string
	Body         any
	Header       http.Header
	Length       int64 // Content-Length of an io.Reader, 0 for chunked encoding
}

// Get sends a GET. header alternates names and values.
func (c *Client) Get(path string, header ...string) *Reply { return c.send("GET", path, nil, header) }

// Head sends a HEAD.
func (c *Client) Head(path string, header ...string) *Reply { return c.send("HEAD", path, nil, header) }

// Post sends a POST.
func (c *Client) Post(path string, body any, header ...string) *Reply {
	return c.send("POST", path, body, header)
}

// Put sends a PUT.
func (c *Client) Put(path string, body any, header ...string) *Reply {
	return c.send("PUT", path, body, header)
}

// Patch sends a PATCH.
func (c *Client) Patch(path string, body any, header ...string) *Reply {
	return c.send("PATCH", path, body, header)
}

// Delete sends a DELETE.
func (c *Client) Delete(path string, header ...string) *Reply {
	return c.send("DELETE", path, nil, header)
}

func (c *Client) send(method, path string, body any, header []string) *Reply {
	c.t.Helper()
	h := http.Header{}
	for i := 0; i+1 < len(header); i += 2 {
		h.Add(header[i], header[i+1])
	}
	return c.Do(Request{Method: method, Path: path, Body: body, Header: h})
}

// Do sends a request to the next replica. Path may be an absolute URL below BaseURL or a raw path,
// which is sent unchanged.
func (c *Client) Do(in Request) *Reply {
	c.t.Helper()
	target := c.l.Apps[max(c.replica, 0)]
	if c.replica < 0 {
		target = c.l.replica()
	}
	var body io.Reader
	isJSON := false
	switch b := in.Body.(type) {
	case nil:
	case string:
		body = strings.NewReader(b)
	case []byte:
		body = bytes.NewReader(b)
	case io.Reader:
		body = b
	default:
		text, err := json.Marshal(b)
		if err != nil {
			c.t.Fatal(err)
		}
		body, isJSON = bytes.NewReader(text), true
	}
	address := "http://" + target.Addr().String() + strings.TrimPrefix(in.Path, BaseURL)
	r, err := http.NewRequest(in.Method, address, body)
	if err != nil {
		c.t.Fatalf("%s %s: %v", in.Method, in.Path, err)
	}
	if in.Length != 0 {
		r.ContentLength = in.Length
	}
	r.Host = strings.TrimPrefix(BaseURL, "http://")
	for _, headers := range []http.Header{c.Header, in.Header} {
		for name, values := range headers {
			r.Header[http.CanonicalHeaderKey(name)] = values
		}
	}
	if isJSON && r.Header.Get("Content-Type") == "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if _, given := r.Header["X-Csrf-Token"]; !given && c.CSRF != "" {
		r.Header.Set("X-CSRF-Token", c.CSRF)
	}
	for name, value := range c.Cookies {
		r.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	response, err := c.http.Do(r)
	if err != nil {
		return &Reply{t: c.t, request: in.Method + " " + in.Path, Err: err}
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	for _, cookie := range response.Cookies() {
		if cookie.MaxAge < 0 {
			delete(c.Cookies, cookie.Name)
		} else {
			c.Cookies[cookie.Name] = cookie.Value
		}
	}
	return &Reply{t: c.t, request: in.Method + " " + in.Path, Status: response.StatusCode, Header: response.Header,
		Body: text, Err: err}
}

// Form builds a multipart form with a file in the field fileField, after the other fields.
func Form(fields map[string]string, fileField, fileName string, content []byte) (body []byte, contentType string) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for name, value := range fields {
		_ = w.WriteField(name, value) // a bytes.Buffer never fails
	}
	part, _ := w.CreateFormFile(fileField, fileName)
	_, _ = part.Write(content)
	_ = w.Close()
	return b.Bytes(), w.FormDataContentType()
}

// Upload puts a file into a folder through an upload session and returns its id.
func (c *Client) Upload(dir, name string, content []byte, extra ...M) string {
	c.t.Helper()
	body := M{"path": dir, "fileName": name, "fileSize": len(content)}.With(extra...)
	session := c.Post("/api/files/upload-session", body).OK(200).Text("sessionId")
	etag := c.Put("/api/files/upload/raw/"+session, content).OK(200).Text("etag")
	return c.Post("/api/files/upload-complete", M{"sessionId": session, "etag": etag}).OK(200).Text("file.id")
}

// Reply is the response to a request.
type Reply struct {
	t       testing.TB
	request string
	Status  int
	Header  http.Header
	Body    []byte
	Err     error // the connection failed
}

// OK fails the test unless the response has that status and, if it is JSON, the success envelope.
func (r *Reply) OK(status int) *Reply {
	r.t.Helper()
	if r.Err != nil || r.Status != status {
		r.t.Fatalf("%s: status %d, want %d: %s (%v)", r.request, r.Status, status, r.Body, r.Err)
	}
	if strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") && r.Object()["success"] != true {
		r.t.Fatalf("%s: no success envelope: %s", r.request, r.Body)
	}
	return r
}

// Fails fails the test unless the response is the error envelope with that status and code.
func (r *Reply) Fails(status int, code string) *Reply {
	r.t.Helper()
	if r.Err != nil || r.Status != status {
		r.t.Fatalf("%s: status %d, want %d %s: %s (%v)", r.request, r.Status, status, code, r.Body, r.Err)
	}
	if len(r.Body) == 0 && strings.HasPrefix(r.request, "HEAD ") {
		return r
	}
	object := r.Object()
	failure, _ := object["error"].(map[string]any)
	if object["success"] != false || failure["code"] != code || failure["message"] == "" || object["timestamp"] == nil {
		r.t.Fatalf("%s: %s, want code %s", r.request, r.Body, code)
	}
	return r
}

// BodyWithoutID returns the body with X-Request-Id replaced by ID, to compare answers.
func (r *Reply) BodyWithoutID() string {
	return strings.ReplaceAll(string(r.Body), r.Header.Get("X-Request-Id"), "ID")
}

// Object returns the body, which must be one JSON object. Numbers are json.Number.
func (r *Reply) Object() map[string]any {
	r.t.Helper()
	return ParseObject(r.t, r.Body)
}

// ParseObject parses a body as one JSON object. Numbers are json.Number.
func ParseObject(t testing.TB, body []byte) map[string]any {
	t.Helper()
	var object map[string]any
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	if err := decoder.Decode(&object); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	return object
}

// Value returns the value at a dotted path below `data`, nil when it does not exist. Numbers are
// json.Number; a number in the path is the index of an array.
func (r *Reply) Value(path string) any {
	r.t.Helper()
	var value any = r.Object()["data"]
	for _, step := range strings.Split(path, ".") {
		switch v := value.(type) {
		case map[string]any:
			value = v[step]
		case []any:
			var i int
			if _, err := fmt.Sscan(step, &i); err != nil || i >= len(v) {
				return nil
			}
			value = v[i]
		default:
			return nil
		}
	}
	return value
}

// Text returns a string below `data`.
func (r *Reply) Text(path string) string {
	r.t.Helper()
	text, ok := r.Value(path).(string)
	if !ok {
		r.t.Fatalf("%s: no text at %s in %s", r.request, path, r.Body)
	}
	return text
}

// Int returns an integer below `data`.
func (r *Reply) Int(path string) int64 {
	r.t.Helper()
	number, ok := r.Value(path).(json.Number)
	n, err := number.Int64()
	if !ok || err != nil {
		r.t.Fatalf("%s: no integer at %s in %s", r.request, path, r.Body)
	}
	return n
}

// Names returns the `name` of every item of a list below `data`.
func (r *Reply) Names(path string) []string {
	r.t.Helper()
	list, _ := r.Value(path).([]any)
	names := []string{}
	for _, item := range list {
		object, _ := item.(map[string]any)
		name, _ := object["name"].(string)
		names = append(names, name)
	}
	return names
}
