// Package api translates between HTTP and the domain: every JSON endpoint, the download gateway,
// permanent links and public path serving. It holds no rule and no SQL. routes.go is the table of
// all endpoints; nothing is registered outside it.
//
// A request passes, in this order: the escaped path is looked at before anything decodes it · the
// route · who asks (credential.go) · the rate limit (limit.go) · cross-site and CSRF checks · the
// body limit · the handler. Handlers return a reply or an error; both become the envelope in one
// place (envelope.go). Bytes are served in one place (serve.go).
package api

import (
	"context"
	"io/fs"
	"log/slog"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"sync"
	"time"

	"larder/internal/access"
	"larder/internal/account"
	"larder/internal/apikey"
	"larder/internal/audit"
	"larder/internal/captcha"
	"larder/internal/concurrency"
	"larder/internal/db"
	"larder/internal/download"
	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/freemode"
	"larder/internal/ident"
	"larder/internal/kv"
	"larder/internal/letter"
	"larder/internal/lifecycle"
	"larder/internal/mount"
	"larder/internal/provider"
	"larder/internal/secret"
	"larder/internal/share"
	"larder/internal/site"
	"larder/internal/thumb"
	"larder/internal/upload"
	"larder/internal/webdav"
)

// Config is what the transport stands on.
type Config struct {
	DB        *db.DB
	Site      *site.Store
	Accounts  *account.Service
	Keys      *apikey.Service
	Rules     *access.Store
	Mounts    *mount.Store
	Tree      *files.Tree
	Uploads   *upload.Service
	Shares    *share.Service
	Downloads *download.Service
	Lifecycle *lifecycle.Service
	FreeMode  *freemode.Service
	Captcha   *captcha.Verifier
	Counters  kv.Store
	Attempts  kv.Store        // wrong passwords by target, see guess.go
	Secrets   *secret.Keyring // signs the cookie of passwords that were given
	Audit     *audit.Log
	IDs       *ident.Source
	Letters   *letter.Service

	Announcements *site.Announcements
	Thumbs        *thumb.Maker // nil when thumbnails are switched off

	UI fs.FS // the web UI, see web.Dist; nil for none
	// StoreAddresses are where browsers may be sent to or upload to: web addresses,
	// empty ones among them.
	StoreAddresses func(context.Context) ([]string, error)

	BaseURL         string // scheme, host, port; no trailing slash
	TrustedProxies  []netip.Prefix
	AuthRateLimit   int           // requests a minute and IP on the auth endpoints
	LinkMaxAge      time.Duration // max-age of public bytes
	CaptchaProvider string
	CaptchaReady    bool // somebody is configured who judges the tokens of the bot check
	Development     bool // adds error.details

	Now func() time.Time
	Log *slog.Logger
	// Spool opens an unnamed temporary file for a form whose path comes after a big file.
	OpenSpoolFile func() (*os.File, error)
	// CheckSpoolSpace refuses with fault.Unavailable when the disk of such files is nearly full.
	CheckSpoolSpace func() error
	// Started is false until the first start is seeded; until then only the health probes answer.
	Started func() bool
	// Ready says whether the service can work, and in a sentence why not. It tells no versions,
	// paths or errors (abuse case C122).
	Ready func(r *http.Request) (ready bool, detail string)

	// What follows is for administrators.
	Version string // of this binary
	MinFree int64  // bytes of free space below which nothing is taken in
	// Standings are how the stores stand, see provider.Registry.
	StoreStatuses func(ctx context.Context, patience time.Duration) ([]provider.StoreStatus, error)
	// Warnings describe faults of this process, in sentences; Standings has those of stores.
	Warnings func() []string
}

// API is the HTTP handler of the public listener.
type API struct {
	Config
	secure bool // base_url is https
	router *router
	routes []route
	// made on the first request, since it takes longer than the whole rest of a start
	cachedDocument func() ([]byte, error)
	sniffer        sniffer
	refusalLog     refusalLog
	ui             *ui
	webdav         *webdav.Handler

	zipLimit    *concurrency.Limit
	searchLimit *concurrency.Limit // of visitors
}

// New builds the handler; it fails when the route table is inconsistent.
func New(cfg Config) (*API, error) {
	a := &API{
		Config: cfg, secure: strings.HasPrefix(cfg.BaseURL, "https://"),
		zipLimit: concurrency.NewLimit(maxZips), searchLimit: concurrency.NewLimit(maxSearches),
	}
	a.routes = a.routeTable()
	var err error
	if a.router, err = newRouter(a.routes); err != nil {
		return nil, err
	}
	if a.ui, err = newUI(cfg.UI); err != nil {
		return nil, err
	}
	a.cachedDocument = sync.OnceValues(a.document)
	a.webdav = webdav.New(webdav.Config{DB: cfg.DB, Tree: cfg.Tree, Uploads: cfg.Uploads, BaseURL: cfg.BaseURL,
		Now: cfg.Now})
	return a, nil
}

// ServeHTTP implements http.Handler.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rec := &recorder{ResponseWriter: w}
	began := a.Now()
	c := &call{a: a, w: rec, r: r}
	defer c.writeAuditNotes()
	defer func() {
		p := recover()
		if p != nil && p != http.ErrAbortHandler {
			a.Log.Error("panic while serving", "method", r.Method, "path", loggedPath(r), "panic", p, "stack",
				stackTrace())
			if rec.status == 0 {
				c.fail(fault.New(fault.Internal, internalMessage))
			}
		}
		ended := a.Now()
		if rec.status != http.StatusTooManyRequests || a.refusalLog.shouldLog(c.ip, ended, a.logRefusals) {
			a.Log.Info("request", "method", r.Method, "path", loggedPath(r), "status", rec.status, "bytes", rec.written,
				"ms", ended.Sub(began).Milliseconds(), "ip", c.ip.String(), "user", c.actor.UserID)
		}
		if p == http.ErrAbortHandler {
			panic(p)
		}
	}()
	c.ip = a.clientIP(r)
	if a.secure {
		w.Header().Set("Strict-Transport-Security", "max-age=31536000")
	}
	a.dispatch(c)
}

// dispatch looks at the escaped path, so that nothing is decoded twice or cleaned by a redirect
// (abuse cases C2, C12, C14).
func (a *API) dispatch(c *call) {
	escaped := c.r.URL.EscapedPath()
	first, _, _ := strings.Cut(strings.TrimPrefix(escaped, "/"), "/")
	c.isWebDAV = first == "webdav"
	if !a.Started() && !strings.HasPrefix(escaped, "/api/public/health") {
		c.w.Header().Set("Retry-After", "1")
		c.fail(fault.New(fault.Unavailable, "The service is starting."))
		return
	}
	switch {
	case first == "api":
		a.run(c, a.router.find(c.r))
	case first == "webdav":
		a.run(c, &davRoute)
	case escaped == "/" && c.r.Method == http.MethodOptions:
		a.run(c, &davRoute) // Windows asks the root what the server can do before it goes to the folder that was typed
	case escaped == "/" || escaped == "":
		a.run(c, &homeRoute)
	case a.ui.index != "" && strings.HasPrefix(escaped, assetsPath):
		a.run(c, &assetRoute)
	case a.ui.index != "" && first == "app":
		a.run(c, &shellRoute)
	default:
		c.htmlErrors = true
		a.run(c, &publicRoute)
	}
}
