package api

import (
	"html/template"
	"net/http"
	"strconv"
	"strings"

	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/vpath"
)

// Routes that dispatch chooses itself, since the router must not see their paths.
var (
	homeRoute   = route{auth: noAuth, limit: unlimited, compressed: true, handler: (*call).home}
	publicRoute = route{auth: optionalAuth, limit: transferLimit, find: (*call).findPublic, handler: (*call).publicPath}
)

// pageStyle is the style of the pages that don't come from the web UI.
const pageStyle = `<style>
body { font: 16px/1.6 system-ui, sans-serif; max-width: 36rem; margin: 18vh auto 0; padding: 0 1.5rem; color: #1c1b19; background: #faf8f4 }
h1 { font-size: 1.6rem; margin: 0 0 .5rem }
p { margin: .5rem 0 }
code { background: #efeae0; padding: .1rem .35rem; border-radius: .25rem }
a { color: #7a4a12 }
@media (prefers-color-scheme: dark) { body { color: #eae6df; background: #1b1a18 } code { background: #2c2a26 } a { color: #e0b070 } }
</style>`

// page is the plain page of a binary without the web UI. It tells which service this is, and after
// a failed navigation the reason.
var page = template.Must(template.New("page").Parse(`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{.Title}}</title>
` + pageStyle + `
<h1>{{.Heading}}</h1>
<p>{{.Text}}</p>
{{if .Home}}<p>Image clients upload to <code>{{.Base}}/api/upload</code> with a key that <code>larder key create</code> prints.
The interface is described in <a href="/api/openapi.json">openapi.json</a>.</p>{{else}}<p><a href="/">To the start</a></p>{{end}}
</html>
`))

const pagePolicy = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; " +
	"form-action 'none'"

// home answers `/`.
func (c *call) home() error {
	if c.r.Method != http.MethodGet && c.r.Method != http.MethodHead {
		return c.refuseMethod()
	}
	if c.a.ui.index != "" {
		return c.shell()
	}
	c.writePage(http.StatusOK, "")
	return nil
}

// writeErrorPage answers a navigation that failed, with a page.
func (c *call) writeErrorPage(answer clientError) {
	if c.a.ui.index != "" && answer.status < 500 {
		c.writeShell(c.a.ui.index, answer.status, answer.code, "")
		return
	}
	c.writePage(answer.status, answer.message)
}

// writePage writes the plain page. text describes the failure; it is empty for the page at `/`.
func (c *call) writePage(status int, text string) {
	title := c.siteTitle()
	var b strings.Builder
	view := struct {
		Title, Heading, Text, Base string
		Home                       bool
	}{Title: title, Heading: title, Text: text, Base: c.a.BaseURL, Home: text == ""}
	if view.Home {
		view.Text = "This is an image hosting and file storage service."
	} else {
		view.Heading = strconv.Itoa(status)
	}
	if err := page.Execute(&b, view); err != nil {
		c.a.Log.Error("render the page", "error", err)
	}
	cache := "no-cache"
	if status != http.StatusOK { // the answer depends on the caller and the request
		cache = "private, no-store"
	}
	c.sendPage(status, cache, b.String())
}

func (c *call) siteTitle() string {
	if settings, err := c.settings(); err == nil && settings.SiteTitle != "" {
		return settings.SiteTitle
	}
	return "Larder"
}

// sendPage writes a page that may run no script and load nothing.
func (c *call) sendPage(status int, cache, text string) {
	c.sendHTML(status, cache, pagePolicy, text)
}

// sendHTML writes a page under a content security policy.
func (c *call) sendHTML(status int, cache, policy, text string) {
	h := c.w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", policy)
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", cache)
	c.send(status, []byte(text))
}

// publicPath serves a file from its virtual path (specification: Public path serving). Each segment
// is decoded once, by pathOf.
func (c *call) publicPath() error {
	if c.r.Method != http.MethodGet && c.r.Method != http.MethodHead {
		return c.refuseMethod()
	}
	found, err := c.lookUp()
	if err != nil {
		return err
	}
	if found == nil {
		return fault.New(fault.NotFound, "There is no such file.")
	}
	c.auditFound(found)
	content, err := found.ContentFor(c.actor)
	if err != nil {
		return err
	}
	return c.serveContent(content, serveOptions{public: content.Public})
}

// findPublic finds the entry that publicPath serves, nil for a path that is not valid.
func (c *call) findPublic() (*files.FoundEntry, error) {
	path, err := pathOf(c.r)
	if err != nil || c.r.Method != http.MethodGet && c.r.Method != http.MethodHead {
		return nil, nil
	}
	return c.a.Tree.FindPath(c.ctx(), path)
}

func (c *call) refuseMethod() error {
	c.w.Header().Set("Allow", "GET, HEAD")
	return fault.Newf(fault.MethodNotAllowed, "The method %s is not allowed here.", c.r.Method)
}

// pathOf returns the virtual path of a request. A segment that decodes to `.` or `..` is an error,
// in any encoding.
func pathOf(r *http.Request) (vpath.Path, error) {
	segments, err := decodeSegments(r.URL.EscapedPath())
	if err != nil {
		return vpath.Path{}, err
	}
	path, err := vpath.FromSegments(segments)
	if err != nil {
		return vpath.Path{}, err
	}
	if path.Reserved() {
		return vpath.Path{}, fault.New(fault.NotFound, "There is no such file.")
	}
	return path, nil
}
