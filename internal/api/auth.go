package api

import (
	"net/http"
	"time"

	"larder/internal/account"
	"larder/internal/audit"
	"larder/internal/fault"
	"larder/internal/quota"
	"larder/internal/secret"
)

// meUser is an account as its own user reads it.
type meUser struct {
	ID            string  `json:"id" required:"true"`
	Username      string  `json:"username" required:"true"`
	Email         string  `json:"email" required:"true"`
	EmailVerified bool    `json:"emailVerified" required:"true"`
	Role          string  `json:"role" required:"true" enum:"admin,user,guest"`
	DisplayName   *string `json:"displayName" required:"true"`
	DefaultPath   string  `json:"defaultPath" required:"true"`
	Locale        string  `json:"locale" required:"true" enum:"zh-CN,en-US"`
	Theme         string  `json:"theme" required:"true" enum:"light,dark,system"`
}

// viewMe translates an account into the JSON form for its own user.
func viewMe(u account.User) meUser {
	return meUser{u.ID, u.Username, u.Email, u.EmailVerified, string(u.Role), u.DisplayName, u.DefaultPath, u.Locale,
		u.Theme}
}

// userReply is an account as login returns it.
type userReply struct {
	meUser
	AvatarURL *string `json:"avatarUrl" required:"true"`
}

// viewUser translates an account into the JSON form of sign-in and of the administration, which has
// the avatarUrl besides.
func viewUser(u account.User) userReply { return userReply{viewMe(u), u.AvatarURL} }

type quotaReply struct {
	MaxStorage  int64 `json:"maxStorage" required:"true" description:"Bytes; -1 for unlimited."`
	UsedStorage int64 `json:"usedStorage" required:"true" description:"Bytes."`
	MaxFiles    int64 `json:"maxFiles" required:"true" description:"-1 for unlimited."`
	UsedFiles   int64 `json:"usedFiles" required:"true"`
}

// quota returns an account's limits and use, in bytes and files; a limit of -1 means none.
func (c *call) quota(userID string) (quotaReply, error) {
	q, err := quota.Get(c.a.DB.Read(c.ctx()), userID)
	return quotaReply{q.MaxStorage, q.UsedStorage, q.MaxFiles, q.UsedFiles}, err
}

type sessionReply struct {
	User  userReply  `json:"user" required:"true"`
	Quota quotaReply `json:"quota" required:"true"`
}

type meReply struct {
	User  meUser     `json:"user" required:"true"`
	Quota quotaReply `json:"quota" required:"true"`
}

type loginInput struct {
	Username     *string `json:"username" required:"true" maxLength:"320" description:"User name or email address."`
	Password     *string `json:"password" required:"true" minLength:"1" maxLength:"128"`
	CaptchaToken *string `json:"captchaToken" maxLength:"4096" description:"Needed while the bot check is on."`
}

// login handles POST /api/auth/login: it checks name and password (and the bot check), begins a
// session, and sets the session cookie and the cookie of known devices. Faults: Forbidden over
// plain http on an https site, RateLimited, those of checkCaptcha and of account.Service.Login.
func (a *API) login(c *call, in loginInput) (sessionReply, error) {
	if err := c.requireCookieTransport(); err != nil {
		return sessionReply{}, err
	}
	settings, err := c.currentSettings()
	if err != nil {
		return sessionReply{}, err
	}
	if err := c.checkCaptcha(settings, in.CaptchaToken); err != nil {
		return sessionReply{}, err
	}
	user, err := c.checkLogin(*in.Username, secret.Text(*in.Password), settings.RequireEmailVerification)
	if err != nil {
		return sessionReply{}, err
	}
	token, _, err := a.Accounts.Issue(c.ctx(), user, c.origin())
	if err != nil {
		return sessionReply{}, err
	}
	used, err := c.quota(user.ID)
	if err != nil {
		return sessionReply{}, err
	}
	c.user = user
	c.actor.UserID = user.ID
	c.auditNotes = append(c.auditNotes, auditNote{action: audit.Login, path: "/api/auth/login"})
	http.SetCookie(c.w, a.sessionCookie(token, account.SessionLifetime))
	return sessionReply{viewUser(user), used}, c.rememberDevice(user)
}

// requireCookieTransport refuses a request that would set a session cookie if it came over plain
// http on an https site, since the browser would drop the cookie. Fault: Forbidden.
func (c *call) requireCookieTransport() error {
	if c.a.secure && !c.a.overTLS(c.r) {
		return fault.New(fault.Forbidden,
			"This site is set up for https, but the request came over plain http, where the login cookie would be "+
				"lost. "+
				"If a proxy in front speaks https, name its address in LARDER_TRUSTED_PROXIES and make it send "+
				"X-Forwarded-Proto.")
	}
	return nil
}

// sessionCookie makes the session cookie: HttpOnly and SameSite=Strict, with the given lifetime. A
// negative lifetime clears the cookie.
func (a *API) sessionCookie(token string, lifetime time.Duration) *http.Cookie {
	seconds := int(lifetime.Seconds())
	if lifetime < 0 {
		seconds = -1
	}
	return &http.Cookie{Name: SessionCookie, Value: token, Path: "/", MaxAge: seconds, HttpOnly: true, Secure: a.secure,
		SameSite: http.SameSiteStrictMode}
}

// logout handles POST /api/auth/logout: it ends all sessions of the account and clears the cookies
// of the session and of given passwords. It needs no CSRF token and no session: a cookie that is
// not valid changes nothing. With accountHeader it refuses the session of another account
// (Conflict).
func (a *API) logout(c *call, _ struct{}) (none, error) {
	if cookie, err := c.sessionToken(); err == nil && cookie != "" {
		if len(c.r.Header.Values(accountHeader)) > 0 && c.authenticateSession(cookie) == nil {
			if err := c.checkAccount(); err != nil {
				return none{}, err
			}
		}
		if err := a.Accounts.Logout(c.ctx(), cookie); err != nil {
			return none{}, err
		}
	}
	http.SetCookie(c.w, a.sessionCookie("", -1))
	c.clearProofs()
	return none{}, nil
}

// me handles GET /api/auth/me: the signed-in account and its quota.
func (a *API) me(c *call, _ struct{}) (meReply, error) {
	used, err := c.quota(c.user.ID)
	return meReply{viewMe(c.user), used}, err
}

type csrfReply struct {
	Token string `json:"token" required:"true" minLength:"32" maxLength:"32"`
}

// csrfToken handles GET /api/auth/csrf-token: it returns the token that writes with this session
// send in X-CSRF-Token, and makes it on the first call. HEAD makes none.
func (a *API) csrfToken(c *call, _ struct{}) (csrfReply, error) {
	if c.omitBodyForHead() {
		return csrfReply{}, nil
	}
	token, err := a.Accounts.CSRF(c.ctx(), *c.session)
	return csrfReply{token}, err
}
