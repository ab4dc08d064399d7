package e2e

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
)

// nextBuildID replaces the id of the build in the service worker of the next build.
const nextBuildID = "99999999"

// buildProxy stands before a service. After next, it answers as if the service ran another build:
// its service worker has another id, and its pages have the header X-Build.
type buildProxy struct {
	url string
	id  atomic.Pointer[string] // of the real build, nil before next
}

// newBuildProxy starts a proxy before the service at an address.
func newBuildProxy(t *testing.T, service string) *buildProxy {
	t.Helper()
	target, err := url.Parse(service)
	if err != nil {
		t.Fatal(err)
	}
	b := &buildProxy{}
	proxy := newProxy(target)
	proxy.ModifyResponse = func(answer *http.Response) error {
		id, path := b.id.Load(), answer.Request.URL.Path
		switch {
		case id == nil:
			return nil
		case path == "/app/sw.js":
			return rewrite(answer, *id, nextBuildID)
		case strings.HasPrefix(path, "/app/"):
			answer.Header.Set("X-Build", "next")
		}
		return nil
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Del("Accept-Encoding") // rewrite reads plain text
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	b.url = server.URL
	return b
}

// rewrite replaces a text in the body of an answer.
func rewrite(answer *http.Response, from, to string) error {
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	if err := answer.Body.Close(); err != nil {
		return err
	}
	body = bytes.ReplaceAll(body, []byte(from), []byte(to))
	answer.Body, answer.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	answer.Header.Set("Content-Length", strconv.Itoa(len(body)))
	return nil
}

// next begins the answers of the next build. with is the id of the real one.
func (b *buildProxy) next(t *testing.T, with json.RawMessage) {
	t.Helper()
	var id string
	if err := json.Unmarshal(with, &id); err != nil {
		t.Fatal(err)
	}
	b.id.Store(&id)
}
