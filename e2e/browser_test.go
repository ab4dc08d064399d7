package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// elsewhere starts a web site with another host name. Its page /?src=ADDRESS shows one image.
func elsewhere(t *testing.T) (pageFor func(image string) string) {
	t.Helper()
	pages := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		if src := r.FormValue("src"); src != "" {
			fmt.Fprintf(w, `<!doctype html><title>page</title><img alt="" src="%s">`, html.EscapeString(src))
		}
	}))
	t.Cleanup(pages.Close)
	port := pages.URL[strings.LastIndex(pages.URL, ":"):]
	return func(image string) string { return "http://other.test" + port + "/?src=" + url.QueryEscape(image) }
}

// oneBrowser prevents the tests from running several browsers in parallel, besides those of the
// tests of the UI.
var oneBrowser = make(chan struct{}, 1)

// runScript runs a script that controls a browser, and decodes the JSON that it prints into result.
func runScript(t *testing.T, timeout time.Duration, input []byte, result any, script string, args ...string) {
	t.Helper()
	oneBrowser <- struct{}{}
	defer func() { <-oneBrowser }()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", append([]string{script}, args...)...)
	cmd.Dir = "browser"
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("node %s: %v\n%s", script, err, &stderr)
	}
	if err := json.Unmarshal(stdout.Bytes(), result); err != nil {
		t.Fatalf("%s printed %q: %v", script, tail(stdout.String(), 500), err)
	}
}

// rendered opens a page of another site for each image, each in a fresh profile, and returns the
// widths with which they rendered.
func rendered(t *testing.T, pageFor func(image string) string, images ...string) []int {
	t.Helper()
	var addresses []string
	for _, image := range images {
		addresses = append(addresses, pageFor(image))
	}
	var pages []struct {
		Images []struct{ Width, Height int }
	}
	runScript(t, 2*time.Minute, nil, &pages, "render.mjs", addresses...)
	var widths []int
	for i, page := range pages {
		if len(page.Images) != 1 {
			t.Fatalf("the page of %s has %d images, want 1", images[i], len(page.Images))
		}
		widths = append(widths, page.Images[0].Width)
	}
	if len(widths) != len(images) {
		t.Fatalf("%d pages were opened, want %d", len(widths), len(images))
	}
	return widths
}

// TestRenderedTellsBrokenImages shows that rendered can fail.
func TestRenderedTellsBrokenImages(t *testing.T) {
	t.Parallel()
	images := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/photo.jpg":
			w.Header().Set("Content-Type", "image/jpeg")
			w.Write(photograph(t))
		case "/cookie.jpg": // would render if a cookie of the previous page were sent
			http.SetCookie(w, &http.Cookie{Name: "seen", Value: "1"})
			if _, err := r.Cookie("seen"); err != nil {
				http.Error(w, "who are you", http.StatusUnauthorized)
				return
			}
			w.Write(photograph(t))
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(images.Close)
	got := rendered(t, elsewhere(t), images.URL+"/photo.jpg", images.URL+"/none.jpg", images.URL+"/cookie.jpg",
		images.URL+"/cookie.jpg")
	if want := [4]int{photoWidth, 0, 0, 0}; [4]int(got) != want {
		t.Errorf("natural widths %v, want %v", got, want)
	}
}
