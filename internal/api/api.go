// Package api translates between HTTP and the domain: every JSON endpoint, the download gateway,
// permanent links and public path serving. It contains no rules and no SQL. routes.go is the table
// of all endpoints; nothing is registered outside it.
//
// A request passes these steps in this order: check of the escaped path, before anything decodes it
// · route · authentication (credential.go) · rate limit (limit.go) · cross-site and CSRF checks ·
// body limit · handler. Handlers return a reply or an error; one place turns both into the envelope
// (envelope.go). One place serves bytes (serve.go).
package api

import (
	"cmp"
	"context"
	"io/fs"
	"log/slog"
	"net/http"
	"net/netip"
	"os"
	"strconv"
	"strings"
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
	"larder/internal/notice"
	"larder/internal/provider"
	"larder/internal/secret"
	"larder/internal/share"
	"larder/internal/site"
	"larder/internal/thumb"
	"larder/internal/upload"
	"larder/internal/webdav"
)

// Config holds the services and settings that an API uses.
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
	Attempts  kv.Store        // wrong passwords by target, see attempts.go
	Secrets   *secret.Keyring // signs the cookies of given passwords
	Audit     *audit.Log
	IDs       *ident.Source
	Letters   *letter.Service
	Notices   *notice.Service

	Announcements *site.Announcements
	Thumbs        *thumb.Maker // nil when thumbnails are switched off

	UI fs.FS // the web UI, see web.Dist; nil for none
	// StoreAddresses returns the web addresses of stores that browsers may be redirected to or may
	// upload to, for a site that is reached by https or not. Some may be empty.
	StoreAddresses func(ctx context.Context, https bool) ([]string, error)

	BaseURL         string // scheme, host, port; no trailing slash
	TrustedProxies  []netip.Prefix
	AuthRateLimit   int           // requests a minute and IP on the auth endpoints
	LinkMaxAge      time.Duration // max-age of public bytes
	SearchWait      time.Duration // how long a visitor's search waits for its turn, 0 for 10 s
	CaptchaProvider string
	CaptchaReady    bool // a verifier of bot-check tokens is configured
	Development     bool // adds error.details

	Now func() time.Time
	Log *slog.Logger
	// OpenSpoolFile opens an unnamed temporary file. It takes the bytes of a form whose path field
	// comes after a big file.
	OpenSpoolFile func() (*os.File, error)
	// CheckSpoolSpace returns fault.Unavailable when the disk of the spool files is nearly full.
	CheckSpoolSpace func() error
	// Started returns false until the first start has written its initial rows; until then only the
	// health probes answer.
	Started func() bool
	// Ready reports whether the service can work, and if not, the reason in a sentence. It reveals
	// no versions, paths or errors (abuse case C122).
	Ready func(r *http.Request) (ready bool, detail string)

	// The following fields serve the pages for administrators.
	Version string // of this binary
	MinFree int64  // bytes of free space below which uploads are refused
	// StoreStatuses returns the status of every store, see provider.Registry.
	StoreStatuses func(ctx context.Context, patience time.Duration) ([]provider.StoreStatus, error)
	// Warnings returns the problems of this process. StoreStatuses has those of stores.
	Warnings func() []SystemWarning

	// Observe is called after each answered request, for metrics; nil for none.
	Observe func(Observation)
}

// API is the HTTP handler of the public listener.
type API struct {
	Config
	secure     bool // base_url is https
	router     *router
	routes     []route
	sniffer    sniffer
	refusalLog refusalLog
	ui         *ui
	webdav     *webdav.Handler

	zipLimit    *concurrency.Limit
	searchLimit *concurrency.Limit // of visitors
	avatarLimit *concurrency.Limit
	linkCaching []string // Cache-Control of public content
}

// New builds the handler of all endpoints and pages from its services. It fails when the route
// table has a route twice or the web UI can't be read.
func New(cfg Config) (*API, error) {
	cfg.SearchWait = cmp.Or(cfg.SearchWait, searchWait)
	a := &API{
		Config: cfg, secure: strings.HasPrefix(cfg.BaseURL, "https://"),
		zipLimit: concurrency.NewLimit(maxZips), searchLimit: concurrency.NewLimit(maxSearches),
		avatarLimit: concurrency.NewLimit(maxAvatarUploads),
		linkCaching: []string{"public, max-age=" + strconv.Itoa(int(cfg.LinkMaxAge.Seconds()))},
	}
	a.routes = a.routeTable()
	var err error
	if a.router, err = newRouter(a.routes); err != nil {
		return nil, err
	}
	if a.ui, err = newUI(cfg.UI); err != nil {
		return nil, err
	}
	a.webdav = webdav.New(webdav.Config{DB: cfg.DB, Tree: cfg.Tree, Uploads: cfg.Uploads, BaseURL: cfg.BaseURL,
		Now: cfg.Now})
	return a, nil
}

// ServeHTTP implements http.Handler: it gives the request an id, serves it by dispatch, and
// afterwards writes its notes for the access log, its log line and its metrics. A panic becomes an
// internal error and a log entry; http.ErrAbortHandler breaks the connection off.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rec := &recorder{ResponseWriter: w}
	began := a.Now()
	c := &call{a: a, w: rec, r: r, requestID: a.requestIDOf(r)}
	w.Header()[requestIDHeader] = []string{c.requestID}
	defer c.writeAuditNotes()
	defer func() {
		p := recover()
		if p != nil && p != http.ErrAbortHandler {
			a.Log.Error("panic while serving", "method", r.Method, "path", loggedPath(r), "request_id", c.requestID,
				"panic", p, "stack", stackTrace())
			if rec.status == 0 {
				c.fail(fault.New(fault.Internal, ""))
			}
		}
		ended := a.Now()
		if rec.status != http.StatusTooManyRequests || a.refusalLog.shouldLog(c.ip, ended, a.logRefusals) {
			c.logRequest(began, ended)
		}
		if a.Observe != nil {
			a.Observe(c.observation(ended.Sub(began)))
		}
		if p == http.ErrAbortHandler {
			panic(p)
		}
	}()
	c.ip = a.clientIP(r)
	c.ipText = c.ip.String()
	if a.Observe != nil {
		c.countReceived()
	}
	if a.secure {
		w.Header().Set("Strict-Transport-Security", "max-age=31536000")
	}
	a.dispatch(c)
}

// logRequest writes the line of a request to the log. It makes the record itself, since a Logger
// would look up the line of code that calls it.
func (c *call) logRequest(began, ended time.Time) {
	to := c.a.Log.Handler()
	if !to.Enabled(c.ctx(), slog.LevelInfo) {
		return
	}
	line := slog.NewRecord(ended, slog.LevelInfo, "request", 0)
	line.AddAttrs(slog.String("method", c.r.Method), slog.String("path", loggedPath(c.r)),
		slog.Int("status", c.status()), slog.Int64("bytes", c.w.written),
		slog.Int64("ms", ended.Sub(began).Milliseconds()), slog.String("ip", c.ipText),
		slog.String("user", c.actor.UserID), slog.String("request_id", c.requestID))
	_ = to.Handle(c.ctx(), line) // a log that fails is no reason to fail the request
}

// dispatch chooses the route and runs it: the API and WebDAV by the first path segment, then the
// pages of the web UI, and for every other path the public files. It compares the escaped path, so
// that nothing is decoded twice or cleaned by a redirect (abuse cases C2, C12, C14).
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
		a.run(c, &davRoute) // Windows sends OPTIONS to the root before it opens the folder
	case escaped == "/" || escaped == "":
		a.run(c, &homeRoute)
	case a.ui.index != "" && first == "app":
		if escaped == shareTargetPath && c.r.Method == http.MethodPost {
			c.w.Header().Set("Connection", "close") // otherwise net/http reads some of the body before it answers
		}
		a.run(c, uiRoute(escaped))
	case a.ui.index != "" && first == "share":
		c.htmlErrors = true
		a.run(c, &sharePageRoute)
	default:
		c.htmlErrors = true
		a.run(c, &publicRoute)
	}
}
