package api

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/site"
)

// Routes of the web UI, which dispatch chooses itself. Loading a page counts against no limit.
var (
	shellRoute = route{name: "/app/", auth: noAuth, limit: unlimited, compressed: true, handler: (*call).shell}
	assetRoute = route{name: "/app/assets/", auth: noAuth, limit: unlimited, handler: (*call).asset}
)

// The build writes noncePlaceholder where the nonce of an answer belongs, failurePlaceholder where
// the web UI reads why the page was sent, accentPlaceholder where the web UI reads the accent of
// the site, and headPlaceholder where the description of a share belongs.
const (
	noncePlaceholder   = "LARDER-NONCE"
	failurePlaceholder = `data-failure=""`
	accentPlaceholder  = `data-accent=""`
	headPlaceholder    = "<!-- head -->"
)

// ui is the built web UI: one page for all addresses of the application, one for shares, the files
// that these load, and the service worker and the manifest of the installed application.
type ui struct {
	index    string // "" when the binary was built without the web UI
	share    string
	worker   string         // see serviceWorker
	manifest map[string]any // see appManifest
	assets   map[string]asset
	files    fs.FS // read for each answer: browsers ask for a file once, and it is in the binary

	httpOrigins db.VersionedValue[[]string] // see httpOrigins
}

// asset is one file of the web UI.
type asset struct {
	media     string
	encodings []string // of its compressed forms, the preferred one first; empty if they gain nothing
}

// encodingSuffixes are the endings of the names of compressed forms.
var encodingSuffixes = map[string]string{"br": ".br", "gzip": ".gz"}

// newUI reads the built web UI from dist, see web.Dist. For nil, and without an index.html, the
// result is an empty ui, and the service answers without a web UI.
func newUI(dist fs.FS) (*ui, error) {
	if dist == nil {
		return &ui{}, nil
	}
	index, err := fs.ReadFile(dist, "index.html")
	if errors.Is(err, fs.ErrNotExist) {
		return &ui{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the web UI: %w", err)
	}
	u := &ui{index: string(index), assets: map[string]asset{}, files: dist}
	manifest := ""
	for name, text := range map[string]*string{"share.html": &u.share, "sw.js": &u.worker,
		"manifest.webmanifest": &manifest} {
		content, err := fs.ReadFile(dist, name)
		if err != nil {
			return nil, fmt.Errorf("read the web UI: %w", err)
		}
		*text = string(content)
	}
	if err := json.Unmarshal([]byte(manifest), &u.manifest); err != nil {
		return nil, fmt.Errorf("read the manifest of the web UI: %w", err)
	}
	files, err := fs.ReadDir(dist, "assets")
	if err != nil {
		return nil, fmt.Errorf("read the web UI: %w", err)
	}
	names := map[string]bool{}
	for _, file := range files {
		names[file.Name()] = true
	}
	for name := range names {
		if extension := path.Ext(name); extension != encodingSuffixes["br"] && extension != encodingSuffixes["gzip"] {
			a := asset{media: assetType(extension)}
			for _, encoding := range []string{"br", "gzip"} {
				if names[name+encodingSuffixes[encoding]] {
					a.encodings = append(a.encodings, encoding)
				}
			}
			u.assets[name] = a
		}
	}
	return u, nil
}

// assetType returns the media type of a file of the web UI by its name's extension, such as ".js".
func assetType(extension string) string {
	switch extension {
	case ".js":
		return "text/javascript; charset=utf-8" // independent of the machine's MIME table
	case ".css":
		return "text/css; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	}
	if media := mime.TypeByExtension(extension); media != "" {
		return media
	}
	return "application/octet-stream"
}

// asset serves a file of the web UI, compressed in advance if the client accepts that. Its name
// changes with its content, so clients may cache it forever.
func (c *call) asset() error {
	if c.r.Method != http.MethodGet && c.r.Method != http.MethodHead {
		return c.refuseMethod()
	}
	name := strings.TrimPrefix(c.r.URL.EscapedPath(), assetsPath)
	a, found := c.a.ui.assets[name]
	if !found {
		return fault.New(fault.NotFound, "There is no such file.")
	}
	encoding := acceptedEncoding(c.r, a.encodings...)
	body, err := fs.ReadFile(c.a.ui.files, "assets/"+name+encodingSuffixes[encoding])
	if err != nil {
		return fmt.Errorf("read the web UI: %w", err)
	}
	h := c.w.Header()
	if encoding != "" {
		h.Set("Content-Encoding", encoding)
	}
	h.Set("Content-Type", a.media)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Vary", "Accept-Encoding")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	c.w.WriteHeader(http.StatusOK)
	_, _ = c.w.Write(body) // the client has disconnected if this fails
	return nil
}

// assetsPath is the path prefix of the files of the web UI.
const assetsPath = "/app/assets/"

// shell serves the page of the web UI for every address below /app, whose path the page itself
// reads.
func (c *call) shell() error {
	if c.r.Method != http.MethodGet && c.r.Method != http.MethodHead {
		return c.refuseMethod()
	}
	c.writeShell(c.a.ui.index, http.StatusOK, "", "")
	return nil
}

// writeShell writes page, a built HTML page of the web UI, with a fresh nonce for its scripts. code
// is the error code of a failed navigation, for the page to show; "" for none. head is HTML for the
// head of the page.
func (c *call) writeShell(page string, status int, code, head string) {
	settings, err := c.settings()
	var origins []string
	if err == nil {
		origins = c.httpOrigins(settings)
	} else { // the page still opens, and shows that the service does not answer
		c.a.Log.Warn("read the settings for a page of the web UI", "error", err)
	}
	nonce := rand.Text()
	text := strings.ReplaceAll(page, noncePlaceholder, nonce)
	text = strings.Replace(text, accentPlaceholder, `data-accent="`+settings.SiteAccent+`"`, 1)
	if code != "" {
		text = strings.Replace(text, failurePlaceholder, `data-failure="`+code+`"`, 1)
	}
	text = strings.Replace(text, headPlaceholder, head, 1) // last: the head contains texts of users
	cache := "no-cache"
	if status != http.StatusOK { // the answer depends on the caller and the request
		cache = "private, no-store"
	}
	policy := c.shellPolicy(nonce, settings, origins)
	if page == c.a.ui.index {
		policy += installPolicy
	}
	c.sendHTML(status, cache, policy, text)
}

// shellPolicy returns the content security policy of the page. It allows the scripts with this
// answer's nonce and those that they load, and nothing that a user stored (abuse case C78). Bytes
// may come from and go to stores by https, and by http to httpOrigins, see there.
func (c *call) shellPolicy(nonce string, settings site.Settings, httpOrigins []string) string {
	http, captcha := "", ""
	if len(httpOrigins) > 0 {
		http = " " + strings.Join(httpOrigins, " ")
	}
	if settings.EnableCaptcha {
		captcha = captchaOrigins[c.a.CaptchaProvider]
	}
	return "default-src 'self'; script-src 'nonce-" + nonce + "'" + captcha +
		"; style-src 'self'; img-src 'self' blob: data: https:" + http +
		"; media-src 'self' blob: https:" + http + "; connect-src 'self' https:" + http + "; frame-src 'self'" +
		captcha +
		"; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
}

// captchaOrigins holds the origins of the scripts and frames of the bot checks, from the
// documentation of the providers on content security policies.
var captchaOrigins = map[string]string{
	"turnstile": " https://challenges.cloudflare.com",
	"hcaptcha":  " https://hcaptcha.com https://*.hcaptcha.com",
	"recaptcha": " https://www.google.com/recaptcha/ https://www.gstatic.com/recaptcha/",
}

// httpOrigins returns the origins without TLS, such as http://host:9000, that the page must reach:
// stores that browsers upload to or are redirected to, and the site's logo. It reads them again
// when the config version has risen. It returns none when they can't be read.
func (c *call) httpOrigins(settings site.Settings) []string {
	origins, err := c.a.ui.httpOrigins.Get(c.version, func() ([]string, error) {
		addresses, err := c.a.StoreAddresses(context.WithoutCancel(c.ctx()), c.a.secure)
		return httpOriginsOf(append(addresses, settings.SiteLogo)), err
	})
	if err != nil {
		c.a.Log.Warn("read the addresses of stores for the page's policy", "error", err)
	}
	return origins
}

// httpOriginsOf returns the origins among web addresses that have the scheme http, each once,
// sorted. It leaves out malformed addresses, which could change a content security policy.
func httpOriginsOf(addresses []string) []string {
	seen, origins := map[string]bool{}, []string(nil)
	for _, address := range addresses {
		u, err := url.Parse(address)
		if err != nil || u.Scheme != "http" || u.Host == "" || strings.ContainsAny(u.Host, ";, '\"") || seen[u.Host] {
			continue
		}
		seen[u.Host] = true
		origins = append(origins, "http://"+u.Host)
	}
	slices.Sort(origins)
	return origins
}
