package api

import (
	"context"
	"net/http"
	"strings"
	"time"

	"larder/internal/audit"
	"larder/internal/fault"
	"larder/internal/freemode"
	"larder/internal/secret"
)

// FreeCookie is the name of the cookie of a free-mode session. Browsers send it to the addresses of
// free mode only.
const FreeCookie = "fm_token"

const freeModePath = "/api/free-mode"

type freeInitInput struct {
	Type            *string `json:"type" required:"true" enum:"store_a,store_b,store_c" description:"All three are S3-compatible here; store_c addresses have the bucket in front of the host name."`
	Endpoint        *string `json:"endpoint" required:"true" maxLength:"255" description:"Public http(s) only."`
	Region          *string `json:"region" maxLength:"64"`
	Bucket          *string `json:"bucket" required:"true" maxLength:"63"`
	AccessKeyID     *string `json:"accessKeyId" required:"true" maxLength:"256"`
	SecretAccessKey *string `json:"secretAccessKey" required:"true" maxLength:"256"`
	SessionHours    *int64  `json:"sessionHours" minimum:"1" maximum:"8" default:"1"`
}

type freeUserReply struct {
	ID          string `json:"id" required:"true"`
	Username    string `json:"username" required:"true" description:"Begins with fm_."`
	Role        string `json:"role" required:"true" enum:"guest"`
	DefaultPath string `json:"defaultPath" required:"true"`
}

type freeProviderReply struct {
	Type   string `json:"type" required:"true" enum:"store_a,store_b,store_c"`
	Bucket string `json:"bucket" required:"true"`
}

type freeSessionReply struct {
	User         freeUserReply     `json:"user" required:"true"`
	ExpiresAt    int64             `json:"expiresAt" required:"true"`
	SessionHours int64             `json:"sessionHours" required:"true"`
	Provider     freeProviderReply `json:"provider" required:"true"`
	CSRFToken    string            `json:"csrfToken" required:"true" minLength:"32" maxLength:"32"`
}

// viewFree translates a free-mode session, in which a visitor uses a bucket of their own, into its
// JSON form. The visitor's secret key is not in it.
func viewFree(s freemode.Session) freeSessionReply {
	return freeSessionReply{
		User:      freeUserReply{ID: s.Username, Username: s.Username, Role: "guest", DefaultPath: "/"},
		ExpiresAt: s.ExpiresAt, SessionHours: s.Hours(),
		Provider: freeProviderReply{s.Connection.Type, s.Connection.Bucket}, CSRFToken: s.CSRFToken,
	}
}

// requireFreeMode refuses the request while free mode or guest access is switched off. Fault:
// Forbidden.
func (c *call) requireFreeMode() error {
	version, err := c.configVersion() // the settings of this moment
	if err != nil {
		return err
	}
	settings, err := c.a.Site.Current(c.ctx(), version)
	if err != nil {
		return err
	}
	if !settings.EnableFreeMode || !settings.AllowGuestAccess {
		return fault.New(fault.Forbidden, "Free mode is switched off on this site.")
	}
	return nil
}

// authenticateFreeSession authenticates the free-mode cookie and sets c.free. The caller stays a
// guest: the session gives no right to anything stored in this service. Faults: Unauthorized, and
// those of freemode.Service.Authenticate.
func (c *call) authenticateFreeSession() error {
	cookie, err := c.r.Cookie(FreeCookie)
	if err != nil || cookie.Value == "" {
		return fault.New(fault.Unauthorized, "There is no free-mode session. Please connect first.")
	}
	session, err := c.a.FreeMode.Authenticate(c.ctx(), cookie.Value)
	if err != nil {
		return err
	}
	c.free = &session
	return nil
}

// freeInit handles POST /api/free-mode/init: it tries to connect to the visitor's bucket, begins a
// session of 1 to 8 hours, and sets its cookie. Faults: Forbidden, ConnectionRefused, and those of
// freemode.Service.Begin.
func (a *API) freeInit(c *call, in freeInitInput) (freeSessionReply, error) {
	if err := c.requireCookieTransport(); err != nil {
		return freeSessionReply{}, err
	}
	c.auditFree(freeModePath+"/init", 0)
	hours, region := int64(1), ""
	if in.SessionHours != nil {
		hours = *in.SessionHours
	}
	if in.Region != nil {
		region = *in.Region
	}
	conn := freemode.Connection{
		Type: *in.Type, Endpoint: *in.Endpoint, Region: region, Bucket: *in.Bucket,
		AccessKeyID: secret.Text(*in.AccessKeyID), SecretKey: secret.Text(*in.SecretAccessKey),
	}
	session, token, err := a.FreeMode.Begin(c.ctx(), conn, hours, addressKey(c.ip))
	if err != nil {
		return freeSessionReply{}, err
	}
	http.SetCookie(c.w, a.freeCookie(token.Reveal(), time.Duration(hours)*time.Hour))
	return viewFree(session), nil
}

// freeCookie makes the free-mode cookie: HttpOnly and SameSite=Strict. A negative lifetime clears
// the cookie.
func (a *API) freeCookie(token string, lifetime time.Duration) *http.Cookie {
	cookie := a.sessionCookie(token, lifetime)
	cookie.Name, cookie.Path = FreeCookie, freeModePath
	return cookie
}

// freeSession handles GET /api/free-mode/session: it shows the caller's session again, as freeInit
// did.
func (a *API) freeSession(c *call, _ struct{}) (freeSessionReply, error) {
	return viewFree(*c.free), nil
}

// freeLogout handles POST /api/free-mode/logout: it ends the session and clears its cookie. It
// succeeds without a session, too. With a session it needs the CSRF token like other writes. It
// works while free mode is switched off. Faults: InvalidCSRF, Forbidden.
func (a *API) freeLogout(c *call, _ struct{}) (none, error) {
	err := c.authenticateFreeSession()
	switch {
	case err == nil:
		c.auditFree(freeModePath+"/logout", 0)
		if err := c.free.CheckCSRF(c.r.Header.Get("X-CSRF-Token")); err != nil {
			return none{}, err
		}
		if err := a.FreeMode.End(c.ctx(), *c.free); err != nil {
			return none{}, err
		}
	case !fault.Is(err, fault.Unauthorized):
		return none{}, err
	}
	http.SetCookie(c.w, a.freeCookie("", -1))
	return none{}, nil
}

// Bounds of the access log entries of visitors in free mode. The log keeps a limited number of
// rows, and visitors must not displace the entries of others.
const (
	maxFreeNotes    = 60  // a minute, for the address that began the session
	maxFreeNotePath = 256 // bytes
)

// auditFree notes an action of a visitor in free mode, with its number of received bytes. The note
// replaces an earlier one of the request and is written only if the request succeeds. path is that
// of an object in the visitor's bucket, or of the endpoint; the bucket's name is not logged.
func (c *call) auditFree(path string, bytes int64) {
	if len(path) > maxFreeNotePath {
		path = strings.ToValidUTF8(path[:maxFreeNotePath], "")
	}
	c.auditNotes = []auditNote{{action: audit.FreeMode, path: path, size: bytes, onlySuccess: true}}
}

// allowFreeNote counts an entry of the access log for the address that began the visitor's session,
// and reports whether it is among the first maxFreeNotes of a minute. writeAuditNote drops the
// others.
func (c *call) allowFreeNote() bool {
	address := addressKey(c.ip)
	if c.free != nil {
		address = c.free.Address
	}
	result, err := c.a.Counters.Take(context.WithoutCancel(c.ctx()), "free-notes:"+address, maxFreeNotes, time.Minute,
		1)
	return err == nil && result.Allowed
}
