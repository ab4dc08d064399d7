package api

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"sync"
)

// publicSettingsReply holds the settings that need no authentication (specification: Site
// settings).
type publicSettingsReply struct {
	SiteTitle                string `json:"siteTitle" required:"true"`
	SiteLogo                 string `json:"siteLogo" required:"true"`
	SiteFavicon              string `json:"siteFavicon" required:"true"`
	AllowGuestAccess         bool   `json:"allowGuestAccess" required:"true"`
	AllowRegistration        bool   `json:"allowRegistration" required:"true"`
	RequireEmailVerification bool   `json:"requireEmailVerification" required:"true"`
}

// publicSettings handles GET /api/public/settings: the site settings that every visitor may read.
func (a *API) publicSettings(c *call, _ struct{}) (publicSettingsReply, error) {
	s, err := c.settings()
	return publicSettingsReply{s.SiteTitle, s.SiteLogo, s.SiteFavicon, s.AllowGuestAccess, s.AllowRegistration,
		s.RequireEmailVerification}, err
}

type featuresReply struct {
	EnableCaptcha   bool   `json:"enableCaptcha" required:"true"`
	CaptchaProvider string `json:"captchaProvider" required:"true"`
	CaptchaSiteKey  string `json:"captchaSiteKey" required:"true"`
	InviteRequired  bool   `json:"inviteRequired" required:"true"`
	EmailEnabled    bool   `json:"emailEnabled" required:"true"`
	FreeMode        bool   `json:"freeMode" required:"true"`
	SiteDescription string `json:"siteDescription" required:"true"`
}

// publicFeatures handles GET /api/public/features: which features are on, for the pages before the
// sign-in.
func (a *API) publicFeatures(c *call, _ struct{}) (featuresReply, error) {
	s, err := c.settings()
	return featuresReply{s.EnableCaptcha, a.CaptchaProvider, s.CaptchaSiteKey, s.RequireInviteCode, s.EmailEnabled,
		s.EnableFreeMode && s.AllowGuestAccess, s.SiteDescription}, err
}

// healthReply is a bare object, without the envelope.
type healthReply struct {
	Service string `json:"service" required:"true"`
	Status  string `json:"status" required:"true"`
	Ready   bool   `json:"ready" required:"true"`
	Detail  string `json:"detail" required:"true"`
}

// health handles GET /api/public/health: it reports the state, always with status 200. Clients that
// need a status code use the readiness probe.
func (a *API) health(c *call) error { return c.probe(200, 200, "degraded") }

// live handles GET /api/public/health/live: it reports ok as long as the process answers. It asks
// neither the database nor a store, since a restart of the process would repair neither.
func (a *API) live(c *call) error {
	c.writeJSON(200, healthReply{Service: "larder", Status: "ok", Ready: a.Started()})
	return nil
}

// ready handles GET /api/public/health/ready: it answers 503 until the first start has written its
// initial rows, and while the database or a local disk can't be reached. While a bucket can't be
// reached, it answers degraded and ready.
func (a *API) ready(c *call) error { return c.probe(200, 503, "unavailable") }

// probe answers a health probe in JSON. While the service is ready the HTTP status is good and the
// state ok, or degraded if something does not work; else the status is bad and the state otherwise.
func (c *call) probe(good, bad int, otherwise string) error {
	ready, detail := c.a.Ready(c.r)
	reply, status := healthReply{Service: "larder", Status: "ok", Ready: ready, Detail: detail}, good
	switch {
	case !ready:
		reply.Status, status = otherwise, bad
	case detail != "":
		reply.Status = "degraded"
	}
	c.writeJSON(status, reply)
	return nil
}

// openapiAnswer is the OpenAPI document with its entity tag, which is weak: the document is the
// same in each encoding.
type openapiAnswer struct {
	text []byte
	etag string
}

// cachedDocument makes the answer on the first request of the process, since that takes longer than
// a start should. It is set in init because the document describes the route that serves it.
var cachedDocument func() (openapiAnswer, error)

func init() {
	cachedDocument = sync.OnceValues(func() (openapiAnswer, error) {
		text, err := Document()
		sum := sha256.Sum256(text)
		return openapiAnswer{text, `W/"` + hex.EncodeToString(sum[:8]) + `"`}, err
	})
}

// openapiDocument handles GET /api/openapi.json: it serves the OpenAPI document, or 304 to a client
// that has it.
func (a *API) openapiDocument(c *call) error {
	document, err := cachedDocument()
	if err != nil {
		return err
	}
	h := c.w.Header()
	jsonHeaders(h)
	h.Set("Cache-Control", "no-cache")
	h.Set("ETag", document.etag)
	for tag := range strings.SplitSeq(strings.Join(c.r.Header.Values("If-None-Match"), ","), ",") {
		tag = strings.TrimSpace(tag)
		if tag == "*" || strings.TrimPrefix(tag, "W/") == strings.TrimPrefix(document.etag, "W/") {
			c.w.WriteHeader(http.StatusNotModified)
			return nil
		}
	}
	c.send(http.StatusOK, document.text)
	return nil
}
