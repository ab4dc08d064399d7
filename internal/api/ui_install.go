package api

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"

	"larder/internal/fault"
)

// Addresses by which browsers install the web UI (docs/adr/0024-service-worker.md). All other
// addresses below /app, except the assets, are the page.
const (
	workerPath      = "/app/sw.js"
	manifestPath    = "/app/manifest.webmanifest"
	shareTargetPath = "/app/share-target"
)

var (
	workerRoute = route{name: workerPath, auth: noAuth, limit: unlimited, compressed: true,
		handler: (*call).serviceWorker}
	manifestRoute = route{name: manifestPath, auth: noAuth, limit: unlimited, compressed: true,
		handler: (*call).appManifest}
	shareTargetRoute = route{name: shareTargetPath, auth: noAuth, limit: unlimited, compressed: true,
		handler: (*call).shareTarget}
)

// uiRoute returns the route of an escaped path whose first segment is `app`.
func uiRoute(escaped string) *route {
	switch {
	case strings.HasPrefix(escaped, assetsPath):
		return &assetRoute
	case escaped == workerPath:
		return &workerRoute
	case escaped == manifestPath:
		return &manifestRoute
	case escaped == shareTargetPath:
		return &shareTargetRoute
	}
	return &shellRoute
}

// installPolicy allows a page to register the service worker and to name the manifest. Stored files
// are refused to requests for a worker, see requestsActiveContent.
const installPolicy = "; worker-src 'self'; manifest-src 'self'"

// workerPolicy lets the service worker send requests to this site, and load nothing else.
const workerPolicy = "default-src 'none'; connect-src 'self'"

// serviceWorker serves the service worker of the web UI. Browsers ask for it at each visit, so that
// an upgrade of the service replaces the worker of the previous build.
func (c *call) serviceWorker() error {
	if c.r.Method != http.MethodGet && c.r.Method != http.MethodHead {
		return c.refuseMethod()
	}
	c.w.Header().Set("Content-Security-Policy", workerPolicy)
	c.sendInstallFile("text/javascript; charset=utf-8", []byte(c.a.ui.worker))
	return nil
}

// appManifest serves the web app manifest of the build. It sets the title of the site as the name
// of the app.
func (c *call) appManifest() error {
	if c.r.Method != http.MethodGet && c.r.Method != http.MethodHead {
		return c.refuseMethod()
	}
	manifest := maps.Clone(c.a.ui.manifest)
	manifest["name"] = c.siteTitle()
	manifest["short_name"] = manifest["name"]
	text, err := json.Marshal(manifest)
	if err != nil {
		return fmt.Errorf("write the manifest: %w", err)
	}
	c.sendInstallFile("application/manifest+json", text)
	return nil
}

// sendInstallFile answers with a file that browsers must ask for again at each use.
func (c *call) sendInstallFile(contentType string, text []byte) {
	h := c.w.Header()
	h.Set("Content-Type", contentType)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-cache")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	c.send(http.StatusOK, text)
}

// shareTarget serves the page that asks for the folder of files that another app has shared with
// the installed one. The service worker of the web UI takes the files, which come by POST. The
// server gets such a POST only from a browser without the worker. It reads no byte of the body,
// stores nothing, and leads to the files (abuse case C134).
func (c *call) shareTarget() error {
	switch c.r.Method {
	case http.MethodGet, http.MethodHead:
		return c.shell()
	case http.MethodPost:
		h := c.w.Header()
		h.Set("Cache-Control", "no-store")
		h.Set("Location", "/app/files")
		c.w.WriteHeader(http.StatusSeeOther)
		return nil
	}
	c.w.Header().Set("Allow", "GET, HEAD, POST")
	return fault.Newf(fault.MethodNotAllowed, "The method %s is not allowed here.", c.r.Method)
}
