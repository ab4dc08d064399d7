package e2e

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
)

// client sends requests to the JSON API. With several bases they alternate, as behind a load
// balancer.
type client struct {
	http   *http.Client
	bases  []string
	turn   atomic.Int64
	header http.Header // sent with every request
}

func newClient(bases ...string) *client {
	jar, _ := cookiejar.New(nil) // never fails
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.Proxy = nil
	transport.MaxIdleConnsPerHost = 64
	noRedirects := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &client{http: &http.Client{Jar: jar, Transport: transport, CheckRedirect: noRedirects}, bases: bases,
		header: http.Header{}}
}

// login signs in as username and keeps the cookie and the CSRF token.
func login(t testing.TB, username, password string, bases ...string) *client {
	t.Helper()
	c := newClient(bases...)
	c.signIn(t, username, password)
	return c
}

// signIn signs in as username, keeps the cookie and the CSRF token, and returns the answer.
func (c *client) signIn(t testing.TB, username, password string) reply {
	t.Helper()
	r := c.do(t, "POST", "/api/auth/login", object{"username": username, "password": password}).want(t, 200)
	var csrf struct{ Token string }
	c.do(t, "GET", "/api/auth/csrf-token", nil).data(t, 200, &csrf)
	if len(csrf.Token) != 32 {
		t.Fatalf("CSRF token %q, want 32 characters", csrf.Token)
	}
	c.header.Set("X-CSRF-Token", csrf.Token)
	return r
}

// admin signs in as the first administrator.
func (p *process) admin(t testing.TB) *client {
	t.Helper()
	return login(t, "admin", adminPassword, p.url)
}

// withKey returns a client that sends an API key with every request.
func withKey(token string, bases ...string) *client {
	c := newClient(bases...)
	c.header.Set("Authorization", "Bearer "+token)
	return c
}

type object = map[string]any

// reply is a complete answer.
type reply struct {
	status int
	header http.Header
	body   []byte
}

// send sends a request with a body (nil, io.Reader, []byte, otherwise JSON) and pairs of header
// names and values. It returns errors of the transport.
func (c *client) send(method, path string, body any, headers ...string) (reply, error) {
	var reader io.Reader
	kind := ""
	switch b := body.(type) {
	case nil:
	case io.Reader:
		reader = b
	case []byte:
		reader = bytes.NewReader(b)
	default:
		text, err := json.Marshal(b)
		if err != nil {
			return reply{}, err
		}
		reader, kind = bytes.NewReader(text), "application/json"
	}
	address := path
	if strings.HasPrefix(path, "/") {
		address = c.bases[int(c.turn.Add(1)-1)%len(c.bases)] + path
	}
	req, err := http.NewRequest(method, address, reader)
	if err != nil {
		return reply{}, err
	}
	if b, ok := body.(*sized); ok {
		req.ContentLength = b.size
	}
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	for name, values := range c.header {
		req.Header[name] = values
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return reply{}, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return reply{status: resp.StatusCode, header: resp.Header, body: text}, err
}

// do is send for requests that must receive an answer.
func (c *client) do(t testing.TB, method, path string, body any, headers ...string) reply {
	t.Helper()
	r, err := c.send(method, path, body, headers...)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	return r
}

// want checks the status.
func (r reply) want(t testing.TB, status int) reply {
	t.Helper()
	if r.status != status {
		t.Fatalf("status %d, want %d: %s", r.status, status, tail(string(r.body), 500))
	}
	return r
}

// data checks the status and the success envelope and decodes its data into v.
func (r reply) data(t testing.TB, status int, v any) {
	t.Helper()
	r.want(t, status)
	if err := r.decode(v); err != nil {
		t.Fatalf("%v in %s", err, tail(string(r.body), 500))
	}
}

func (r reply) decode(v any) error {
	envelope := struct {
		Success bool
		Data    any
	}{Data: v}
	return json.Unmarshal(r.body, &envelope)
}

// fails checks the status and the code of an error envelope.
func (r reply) fails(t testing.TB, status int, code string) {
	t.Helper()
	r.want(t, status)
	var envelope struct {
		Success *bool
		Error   struct{ Code, Message string }
	}
	if err := json.Unmarshal(r.body, &envelope); err != nil || envelope.Success == nil || *envelope.Success ||
		envelope.Error.Code != code || envelope.Error.Message == "" {
		t.Fatalf("want the error envelope with code %s, got %s", code, tail(string(r.body), 500))
	}
}

// entry is a file or folder in a listing.
type entry struct {
	ID, Name, Path, Type string
	Size                 int64
}

func (e entry) full() string { return strings.TrimSuffix(e.Path, "/") + "/" + e.Name }

// uploaded is the data of a compatible upload.
type uploaded struct {
	URL       string `json:"url"`
	FileID    string `json:"fileId"`
	Path      string `json:"path"`
	Size      int64  `json:"size"`
	Filename  string `json:"filename"`
	DirectURL string `json:"directUrl"`
}

// list returns all children of a folder, over all pages.
func (c *client) list(t testing.TB, path string) []entry {
	t.Helper()
	var all []entry
	for page := 1; ; page++ {
		var listing struct {
			Items      []entry
			Pagination struct{ Pages int }
		}
		query := url.Values{"path": {path}, "limit": {"1000"}, "page": {strconv.Itoa(page)}}
		c.do(t, "GET", "/api/files?"+query.Encode(), nil).data(t, 200, &listing)
		all = append(all, listing.Items...)
		if page >= listing.Pagination.Pages {
			return all
		}
	}
}

// walk returns all files below a folder.
func (c *client) walk(t testing.TB, path string) []entry {
	t.Helper()
	var files []entry
	for _, e := range c.list(t, path) {
		if e.Type == "folder" {
			files = append(files, c.walk(t, e.full())...)
		} else {
			files = append(files, e)
		}
	}
	return files
}

// mkdir creates a folder and returns its id.
func (c *client) mkdir(t testing.TB, parent, name string) string {
	t.Helper()
	var made struct{ File entry }
	c.do(t, "POST", "/api/files/folder", object{"path": parent, "name": name}).data(t, 201, &made)
	return made.File.ID
}

// usage returns the used storage and files in the quota of the signed-in user.
func (c *client) usage(t testing.TB) (storage, files int64) {
	t.Helper()
	var me struct {
		Quota struct{ UsedStorage, UsedFiles int64 }
	}
	c.do(t, "GET", "/api/auth/me", nil).data(t, 200, &me)
	return me.Quota.UsedStorage, me.Quota.UsedFiles
}

// raw sends a compatible upload as a raw body.
func (c *client) raw(name, dir, mime string, body any) (uploaded, reply, error) {
	headers := []string{"X-File-Name", url.PathEscape(name), "Content-Type", mime}
	if dir != "" {
		headers = append(headers, "X-Path", dir)
	}
	r, err := c.send("POST", "/api/upload", body, headers...)
	if err != nil {
		return uploaded{}, r, err
	}
	var u uploaded
	err = r.decode(&u)
	return u, r, err
}

// mustRaw is raw for an upload that must succeed.
func (c *client) mustRaw(t testing.TB, name, dir, mime string, body []byte) uploaded {
	t.Helper()
	u, r, err := c.raw(name, dir, mime, body)
	if err != nil {
		t.Fatal(err)
	}
	r.want(t, 200)
	if u.FileID == "" || u.Size != int64(len(body)) {
		t.Fatalf("upload of %d bytes answered %s", len(body), r.body)
	}
	return u
}

// createKey creates an API key and returns its full token.
func (c *client) createKey(t testing.TB, fields object) string {
	t.Helper()
	var made struct{ Key struct{ FullToken string } }
	c.do(t, "POST", "/api/keys/", fields).data(t, 201, &made)
	return made.Key.FullToken
}

// createUser creates an account with an address at example.org, and returns its id.
func (c *client) createUser(t testing.TB, name, password, role string) string {
	t.Helper()
	var made struct{ User struct{ ID string } }
	c.do(t, "POST", "/api/admin/users",
		object{"username": name, "email": name + "@example.org", "password": password, "role": role}).
		data(t, 201, &made)
	return made.User.ID
}

// createProvider creates a provider and returns its id.
func (c *client) createProvider(t testing.TB, fields object) string {
	t.Helper()
	var made struct{ Provider struct{ ID string } }
	c.do(t, "POST", "/api/admin/storage/providers", fields).data(t, 201, &made)
	return made.Provider.ID
}

// mount mounts a provider at a path.
func (c *client) mount(t testing.TB, path, provider string) {
	t.Helper()
	c.do(t, "POST", "/api/admin/mounts",
		object{"providerId": provider, "mountPath": path, "name": "mount of " + path[1:]}).want(t, 201)
}

// permanentLink creates the permanent link of a file and returns its address.
func (c *client) permanentLink(t testing.TB, id string) string {
	t.Helper()
	var made struct{ Link struct{ URL string } }
	c.do(t, "POST", "/api/files/"+id+"/link", nil).data(t, 200, &made)
	return made.Link.URL
}

// share creates a share and returns its id.
func (c *client) share(t testing.TB, fields object) string {
	t.Helper()
	var made struct{ Share struct{ ID, URL string } }
	c.do(t, "POST", "/api/shares/", fields).data(t, 201, &made)
	if !strings.HasSuffix(made.Share.URL, "/share/"+made.Share.ID) {
		t.Errorf("the share lies at %s", made.Share.URL)
	}
	return made.Share.ID
}

// downloadAddress requests a download address, which can be used once.
func (c *client) downloadAddress(t testing.TB, path string) string {
	t.Helper()
	var issued struct{ URL string }
	c.do(t, "GET", path, nil).data(t, 200, &issued)
	return issued.URL
}

// unzip returns the hashes of the files in an archive by name.
func unzip(t testing.TB, archive []byte) map[string]string {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		t.Fatalf("an archive of %d bytes: %v", len(archive), err)
	}
	hashes := map[string]string{}
	for _, member := range z.File {
		if strings.HasSuffix(member.Name, "/") {
			continue
		}
		opened, err := member.Open()
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(opened)
		opened.Close()
		if err != nil {
			t.Errorf("%s in the archive: %v", member.Name, err)
		}
		hashes[member.Name] = hash(content)
	}
	return hashes
}

// formPart is a part of a form. It is a file when it has its own disposition.
type formPart struct{ disposition, mime, content string }

func field(name, content string) formPart {
	return formPart{disposition: `form-data; name="` + name + `"`, content: content}
}

func file(name, rawName, mime, content string) formPart {
	return formPart{disposition: `form-data; name="` + name + `"; filename="` + rawName + `"`, mime: mime,
		content: content}
}

// form writes a multipart body with the dispositions exactly as given.
func form(t testing.TB, parts ...formPart) (body []byte, contentType string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, p := range parts {
		h := map[string][]string{"Content-Disposition": {p.disposition}}
		if p.mime != "" {
			h["Content-Type"] = []string{p.mime}
		}
		part, err := w.CreatePart(h)
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(part, p.content) // into memory
	}
	w.Close() // into memory
	return b.Bytes(), w.FormDataContentType()
}

var fullToken = regexp.MustCompile(`pk_[0-9A-Za-z]{24}\.sk_[0-9A-Za-z]{48}`)

// key creates an API key with the command line and returns its full token.
func (s *site) key(t testing.TB, user string) string {
	t.Helper()
	out := s.mustRun(t, "key", "create", user, "--for", "curl", "--base-url", "http://larder.test")
	token := fullToken.FindString(out)
	if token == "" {
		t.Fatalf("no API key in %q", out)
	}
	return token
}

func hash(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
