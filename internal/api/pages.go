package api

import (
	"crypto/sha256"
	"encoding/base64"
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
	homeRoute   = route{name: "/", auth: noAuth, limit: unlimited, compressed: true, handler: (*call).home}
	publicRoute = route{name: "/{path}", auth: optionalAuth, limit: transferLimit, find: (*call).findPublic,
		handler: (*call).publicPath}
)

// pageRules are the styles of the pages that don't come from the web UI: they look like its
// sign-in, with the tokens of web/src/app.css, and in the dark with the accent that
// web/src/lib/color.ts makes of the usual one.
const pageRules = `
:root { --canvas: #f7f8fa; --surface: #fff; --line: #e1e4ea; --text: #1a1d24; --text-2: #565d6b; --accent: #3b6cf6;
  --accent-text: #305fe8; --on-accent: #fff; --radius: 10px; --radius-tile: 14px; --control: 36px; color-scheme: light dark }
@media (prefers-color-scheme: dark) { :root { --canvas: #111318; --surface: #181b21; --line: #2b303a; --text: #eceef2;
  --text-2: #a9b0bd; --accent-text: #5786ff } }
@media (pointer: coarse) { :root { --control: 44px } }
*, ::before, ::after { box-sizing: border-box }
html { font: 14px/20px system-ui, "Segoe UI Variable", Roboto, "PingFang SC", "Microsoft YaHei UI", "Noto Sans SC",
  sans-serif; color: var(--text); background: var(--canvas); text-autospace: normal; -webkit-text-size-adjust: 100% }
body { display: grid; place-content: center; min-height: 100dvh; margin: 0; padding: 16px }
main { display: grid; gap: 24px; width: min(400px, 100vw - 32px); padding: 24px; background: var(--surface);
  border: 1px solid var(--line); border-radius: var(--radius-tile); overflow-wrap: anywhere }
section { display: grid; gap: 16px }
section + section { gap: 8px; padding-top: 24px; border-top: 1px solid var(--line) }
h1, h2, p { margin: 0 }
h1 { font-size: 20px; line-height: 28px; font-weight: 600 }
h2 { font-size: 14px; line-height: 20px; font-weight: 600 }
.site { margin-bottom: -24px; color: var(--text-2); font-weight: 500 }
.also { color: var(--text-2) }
code { overflow-wrap: anywhere; font-size: 13px }
a { color: var(--accent-text) }
a.button { display: flex; align-items: center; justify-content: center; min-height: var(--control); padding: 0 14px;
  border-radius: var(--radius); background: var(--accent); color: var(--on-accent); font-weight: 500;
  text-decoration: none }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px }
`

const pageStyle = "<style>" + pageRules + "</style>"

// page is the plain page of a binary without the web UI. It tells which service this is, and after
// a failed navigation the reason.
var page = template.Must(template.New("page").Parse(`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{.Title}}</title>
` + pageStyle + `
<main>
<h1>{{.Heading}}</h1>
<p>{{.Text}}</p>
{{if .Home}}<p>Image clients upload to <code>{{.Base}}/api/upload</code> with a key that <code>larder key create</code> prints.
The interface is described in <a href="/api/openapi.json">openapi.json</a>.</p>{{else}}<p><a href="/">To the start</a></p>{{end}}
</main>
</html>
`))

// pagePolicy lets a page apply pageRules and nothing else.
var pagePolicy = "default-src 'none'; style-src 'sha256-" + base64Sum(pageRules) + "'; frame-ancestors 'none'; " +
	"base-uri 'none'; form-action 'none'"

// base64Sum returns the SHA-256 of a text in base64, as a content security policy names a style.
func base64Sum(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// home answers the path `/`: with the web UI, or in a binary without it with the plain page.
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

// writeErrorPage answers a failed navigation with a page. The web UI shows faults of the client;
// failures of the server get the plain page, which needs no other request.
func (c *call) writeErrorPage(answer clientError) {
	if c.a.ui.index != "" && answer.status < 500 {
		c.writeShell(c.a.ui.index, answer.status, answer.code, "")
		return
	}
	c.writePage(answer.status, answer.message)
}

// writePage writes the plain page of a binary without the web UI. text describes a failure; it is
// empty for the page at `/`.
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

// siteTitle returns the title of the site for pages; "Larder" if none is set or the settings can't
// be read.
func (c *call) siteTitle() string {
	if settings, err := c.settings(); err == nil && settings.SiteTitle != "" {
		return settings.SiteTitle
	}
	return "Larder"
}

// sendPage writes the HTML text of a page that may run no script and load nothing; cache is the
// value of Cache-Control.
func (c *call) sendPage(status int, cache, text string) {
	c.sendHTML(status, cache, pagePolicy, text)
}

// sendHTML writes the HTML text of a page. cache is the value of Cache-Control, policy that of
// Content-Security-Policy.
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

// publicPath serves the file whose virtual path is the path of the address (specification: Public
// path serving), and the web UI's page of a folder. pathOf decodes each segment once.
func (c *call) publicPath() error {
	if c.r.Method != http.MethodGet && c.r.Method != http.MethodHead {
		return c.refuseMethod()
	}
	found, err := c.lookUp()
	if err != nil {
		return err
	}
	if answered, err := c.folderPage(found); answered || err != nil {
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

// folderPage answers a navigation to a folder that a visitor may list, with the page of the web UI.
// The status is 200, or that of the missing password: the page asks for it. It returns false
// without an answer for other clients and other paths.
func (c *call) folderPage(found *files.FoundEntry) (answered bool, err error) {
	if c.a.ui.index == "" || !isNavigation(c.r) || found != nil && found.IsFile() {
		return false, nil
	}
	path, err := pathOf(c.r)
	if err != nil {
		return false, nil // the path is not valid
	}
	_, err = c.a.Tree.ListPublic(c.ctx(), c.actor, files.ListQuery{Path: path, Page: 1, Limit: 1})
	switch {
	case err == nil:
		c.writeShell(c.a.ui.index, http.StatusOK, "", "")
	case fault.Is(err, fault.PasswordRequired):
		c.writeShell(c.a.ui.index, c.describeError(err).status, "", "")
	case fault.Is(err, fault.NotFound), fault.Is(err, fault.Unauthorized):
		return false, nil
	default:
		return false, err
	}
	return true, nil
}

// findPublic finds the entry that publicPath serves; nil for a path that no entry can have, and for
// methods that publicPath refuses.
func (c *call) findPublic() (*files.FoundEntry, error) {
	path, err := pathOf(c.r)
	if err != nil || c.r.Method != http.MethodGet && c.r.Method != http.MethodHead {
		return nil, nil
	}
	return c.a.Tree.FindPath(c.ctx(), path)
}

// refuseMethod returns the fault of a page that knows only GET and HEAD: MethodNotAllowed.
func (c *call) refuseMethod() error {
	c.w.Header().Set("Allow", "GET, HEAD")
	return fault.Newf(fault.MethodNotAllowed, "The method %s is not allowed here.", c.r.Method)
}

// pathOf returns the virtual path of a request. A segment that decodes to `.` or `..` is an error,
// in any encoding. Paths that are reserved for the service's own addresses name no file. Faults:
// Invalid, NotFound.
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
