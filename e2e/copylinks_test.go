package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// docs/decisions.md, Copied links. A page of another site shows the copied addresses: an <img>
// renders the gateway's answer although it is an attachment. The markup is one image for any file
// name (abuse case C72).
func TestCopiedLinksInABrowser(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	p := s.start(t)
	picture, width := realPhotograph(t)
	admin := p.admin(t)
	key := withKey(s.key(t, "admin"), p.url)
	pages := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, "<!doctype html><title>page</title>", r.FormValue("html"))
	}))
	t.Cleanup(pages.Close)
	pageFor := func(markup string) string {
		return "http://other.test" + pages.URL[strings.LastIndex(pages.URL, ":"):] + "/?html=" + url.QueryEscape(markup)
	}
	copied := func(id, query string) (markup string) {
		t.Helper()
		var links struct {
			Formats struct{ HTML string }
		}
		admin.do(t, "GET", "/api/files/"+id+"/copy-links"+query, nil).data(t, 200, &links)
		return links.Formats.HTML
	}
	var markups []string
	for _, name := range []string{"cat.jpg", `"><img src=x onerror="document.body.innerHTML=''">.jpg`,
		`' onload='document.body.remove().jpg`, "--><script>document.body.remove()<.jpg"} {
		file := key.mustRaw(t, name, "/uploads", "image/jpeg", picture)
		markups = append(markups, copied(file.FileID, "?signed=true&expiresIn=3600"))
	}
	for i, got := range rendered(t, pageFor, markups...) {
		if got != width {
			t.Errorf("%s rendered %d pixels wide, want %d", markups[i], got, width)
		}
	}
}
