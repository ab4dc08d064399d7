package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
)

const smallFile = 20480 // bytes of the file of W1 and W4

// picture returns a JPEG of exactly smallFile bytes. Decoders ignore the padding after its end.
func picture() ([]byte, error) {
	img := image.NewGray(image.Rect(0, 0, 128, 128))
	for i := range img.Pix {
		img.SetGray(i%128, i/128, color.Gray{Y: bodyBlock[i]})
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, img, nil); err != nil {
		return nil, err
	}
	if b.Len() > smallFile {
		return nil, fmt.Errorf("the picture has %d bytes", b.Len())
	}
	return append(b.Bytes(), make([]byte, smallFile-b.Len())...), nil
}

// addresses are the requests that read the small file in different ways.
type addresses struct {
	publicPath, permanentLink, withSession, withKey request
}

// caller sends JSON requests to a running server.
type caller struct {
	http   *http.Client
	base   string
	header http.Header
}

// newCaller returns a caller for a server, with cookies of its own.
func newCaller(p *server) *caller {
	jar, _ := cookiejar.New(nil) // never fails
	return &caller{http: &http.Client{Jar: jar}, base: "http://" + p.address, header: http.Header{}}
}

// call sends a request with body (nil, []byte or a value as JSON) and decodes the data of the
// answer into v unless v is nil. headers are names and values in turn. An answer that is not 2xx is
// an error.
func (c *caller) call(ctx context.Context, method, path string, body, v any, headers ...string) error {
	var reader io.Reader
	switch b := body.(type) {
	case nil:
	case []byte:
		reader = bytes.NewReader(b)
	default:
		text, err := json.Marshal(b)
		if err != nil {
			return err
		}
		reader = bytes.NewReader(text)
		headers = append(headers, "Content-Type", "application/json")
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, reader)
	if err != nil {
		return err
	}
	for name, values := range c.header {
		req.Header[name] = values
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("%s %s answered %s: %s", method, path, resp.Status, tail(string(text)))
	}
	if v == nil {
		return nil
	}
	return json.Unmarshal(text, &struct{ Data any }{v})
}

// login signs in as the administrator. It also returns the session cookie as a header line.
func (i *installation) login(ctx context.Context, p *server) (c *caller, cookie string, err error) {
	return signIn(ctx, p, "admin", i.password)
}

// signIn signs in with a password. The caller sends the session and the CSRF token from then on;
// the session cookie is also returned as a header line.
func signIn(ctx context.Context, p *server, username, password string) (c *caller, cookie string, err error) {
	c = newCaller(p)
	if err := c.call(ctx, "POST", "/api/auth/login", map[string]string{"username": username, "password": password},
		nil); err != nil {
		return nil, "", err
	}
	var csrf struct{ Token string }
	if err := c.call(ctx, "GET", "/api/auth/csrf-token", nil, &csrf); err != nil {
		return nil, "", err
	}
	c.header.Set("X-CSRF-Token", csrf.Token)
	base, err := url.Parse(c.base)
	if err != nil {
		return nil, "", err
	}
	for _, each := range c.http.Jar.Cookies(base) {
		cookie = "Cookie: " + each.Name + "=" + each.Value
	}
	return c, cookie, nil
}

// uploadSmallFile uploads the small file, with the API key token, for each way of reading: to a
// public path, and as a private file with a permanent link. It returns the requests that read it.
func (i *installation) uploadSmallFile(ctx context.Context, p *server, token string) (addresses, error) {
	content, err := picture()
	if err != nil {
		return addresses{}, err
	}
	c, cookie, err := i.login(ctx, p)
	if err != nil {
		return addresses{}, err
	}
	var session struct{ SessionID string }
	if err := c.call(ctx, "POST", "/api/files/upload-session",
		map[string]any{"path": "/public", "fileName": "f.jpg", "fileSize": len(content)}, &session); err != nil {
		return addresses{}, err
	}
	var raw struct{ Etag string }
	if err := c.call(ctx, "PUT", "/api/files/upload/raw/"+session.SessionID, content, &raw); err != nil {
		return addresses{}, err
	}
	if err := c.call(ctx, "POST", "/api/files/upload-complete",
		map[string]string{"sessionId": session.SessionID, "etag": raw.Etag}, nil); err != nil {
		return addresses{}, err
	}
	var private struct{ FileID, DirectURL string }
	bearer := "Bearer " + token
	if err := newCaller(p).call(ctx, "POST", "/api/upload", content, &private, "Authorization", bearer, "X-File-Name",
		"f.jpg", "Content-Type", "image/jpeg"); err != nil {
		return addresses{}, err
	}
	link, err := url.Parse(private.DirectURL)
	if err != nil {
		return addresses{}, err
	}
	return addresses{
		publicPath:    request{method: "GET", path: "/public/f.jpg"},
		permanentLink: request{method: "GET", path: link.Path},
		withSession:   request{method: "GET", path: "/uploads/f.jpg", headers: []string{cookie}},
		withKey: request{method: "GET", path: "/api/files/" + private.FileID + "/download",
			headers: []string{"Authorization: " + bearer, "Accept: image/webp,*/*"}},
	}, nil
}

// writeReferenceFile writes the small file into the directory of the reference.
func writeReferenceFile(dir string) error {
	content, err := picture()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "f.jpg"), content, 0o600)
}
