package api

import (
	"net/http"
	"strings"

	"larder/internal/access"
	"larder/internal/account"
	"larder/internal/apikey"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/files"
)

// auth says which credential a route takes (specification: Authentication, rule 5).
type authMode int

const (
	noAuth           authMode = iota // public; credentials are not looked at
	optionalAuth                     // public; a session or key counts when it is good, a bad cookie counts as none
	sessionAuth                      // the session cookie
	sessionOrKeyAuth                 // the session cookie, or a Bearer key with protocol api
	adminAuth                        // the session cookie of an administrator
	freeModeAuth                     // the cookie of a free-mode session
	uploadKeyAuth                    // a key in any of the shapes that image clients send
	webdavKeyAuth                    // a key by Basic, with protocol webdav; OPTIONS needs none
)

// SessionCookie is the name of the login cookie.
const SessionCookie = "auth_token"

// identify finds out who asks: one principal per request. A Bearer token is judged alone, the
// cookie is then ignored.
func (c *call) identify() error {
	c.actor = access.Actor{Role: access.Guest, IP: c.ip, Unlocked: c.givenPasswords()}
	if c.route.freeMode {
		if err := c.requireFreeMode(); err != nil {
			return err
		}
	}
	if c.route.auth == noAuth {
		return nil
	}
	if c.route.auth == webdavKeyAuth {
		return c.authenticateBasic()
	}
	token, isKey := bearer(c.r, c.route.auth == uploadKeyAuth)
	cookie, ambiguous := c.sessionToken()
	switch {
	case isKey:
		if err := c.authenticateKey(token, "api"); err != nil {
			return err
		}
		if c.route.auth == sessionAuth || c.route.auth == adminAuth || c.route.auth == freeModeAuth {
			return fault.New(fault.Unauthorized, "API keys are not accepted here. Please sign in.")
		}
		return nil
	case c.route.auth == freeModeAuth:
		return c.authenticateFreeSession()
	case c.route.auth == uploadKeyAuth:
		return fault.New(fault.Unauthorized, "An API key is needed: Authorization: Bearer <key id>.<secret>.")
	case ambiguous == nil && cookie == "":
		if c.route.auth == optionalAuth {
			return nil
		}
		return fault.New(fault.Unauthorized, "Please sign in.")
	}
	err := ambiguous
	if err == nil {
		err = c.authenticateSession(cookie)
	}
	switch {
	case err != nil && c.route.auth == optionalAuth:
		c.credentialErr = err
		return nil
	case err != nil:
		return err
	case c.route.auth == adminAuth && c.user.Role != access.Admin:
		return fault.New(fault.Forbidden, "This is for administrators.")
	}
	return nil
}

// sessionToken returns the value of the session cookie, "" for none. Whoever can set cookies for
// this host, as another service of the machine, can put a second one beside it, and which comes
// first is for the browser to say: two that differ are no credential. Fault: InvalidToken.
func (c *call) sessionToken() (string, error) {
	value := ""
	for i, cookie := range c.r.CookiesNamed(SessionCookie) {
		if i > 0 && cookie.Value != value {
			return "", fault.New(fault.InvalidToken,
				"The request has two different session cookies. Please sign in again.")
		}
		value = cookie.Value
	}
	return value, nil
}

// bearer returns the API key that came along. Image clients also send it bare, in Authorization or
// in a header `token`.
func bearer(r *http.Request, liberal bool) (token string, found bool) {
	header := strings.TrimSpace(r.Header.Get("Authorization"))
	scheme, rest, _ := strings.Cut(header, " ")
	if strings.EqualFold(scheme, "Bearer") {
		return strings.TrimSpace(rest), true
	}
	if liberal {
		if strings.HasPrefix(header, "pk_") {
			return header, true
		}
		if token := strings.TrimSpace(r.Header.Get("token")); token != "" {
			if scheme, rest, cut := strings.Cut(token, " "); cut && strings.EqualFold(scheme, "Bearer") {
				token = strings.TrimSpace(rest)
			}
			return token, true
		}
	}
	return "", false
}

// authenticateBasic authenticates a key whose id came as the user name and whose secret as the
// password. What can be done is told to anybody who asks, as clients ask before they know what to
// send. Faults: Unauthorized, and those of keyRequests.
func (c *call) authenticateBasic() error {
	if c.r.Method == http.MethodOptions {
		return nil
	}
	id, secret, found := c.r.BasicAuth()
	if !found {
		return fault.New(fault.Unauthorized, "An API key is needed: its id is the user name, its secret the password.")
	}
	return c.authenticateKey(id+"."+secret, "webdav")
}

// keyRequests authenticates an API key for a protocol, and its owner. Faults: InvalidToken,
// Forbidden (protocol or address), RateLimited.
//
// A token of the wrong shape is refused before anything is counted or looked up, since the caller
// chooses the id in it.
func (c *call) authenticateKey(token, protocol string) error {
	id, err := apikey.ParseToken(token)
	if err != nil {
		return err
	}
	version, err := c.configVersion()
	if err != nil {
		return err
	}
	var key apikey.Key
	err = c.limitKeyAttempts(id, c.a.Keys.IsCached(version, token), func() (err error) {
		key, err = c.a.Keys.Authenticate(c.ctx(), version, token)
		return err
	})
	if err != nil {
		return err
	}
	owner, err := c.a.Accounts.Cached(c.ctx(), version, key.UserID)
	switch {
	case fault.Is(err, fault.NotFound) || err == nil && owner.Status != account.Active:
		return fault.New(fault.InvalidToken, "The API key is not valid.")
	case err != nil:
		return err
	}
	if err := key.Allows(protocol, c.ip); err != nil {
		return err
	}
	c.key, c.user = &key, owner
	c.actor = access.Actor{UserID: owner.ID, Role: owner.Role, HomeID: owner.HomeID, Key: key.Scope(), IP: c.ip}
	c.a.Keys.Touch(key.ID)
	return nil
}

// authenticateSession authenticates the cookie. Faults: InvalidToken,
// SessionRevoked, RoleChanged, UserDisabled.
func (c *call) authenticateSession(token string) error {
	version, err := c.configVersion()
	if err != nil {
		return err
	}
	session, err := c.a.Accounts.Authenticate(c.ctx(), version, token)
	if err != nil {
		return err
	}
	c.session, c.user = &session, session.User
	c.actor = access.Actor{UserID: c.user.ID, Role: c.user.Role, HomeID: c.user.HomeID, IP: c.ip,
		Unlocked: c.actor.Unlocked}
	return nil
}

// configVersion reads the config version once a request; along with what the route serves, where it
// has a find, in one query.
func (c *call) configVersion() (int64, error) {
	if c.version == 0 {
		found, err := c.lookUp()
		if err != nil {
			return 0, err
		}
		if found != nil {
			c.version = found.Version()
		}
	}
	if c.version == 0 {
		version, err := db.ConfigVersion(c.a.DB.Read(c.ctx()))
		if err != nil {
			return 0, err
		}
		c.version = version
	}
	return c.version, nil
}

// lookUp finds what the route serves, nil when it serves nothing that is looked up. Whoever asks
// for it is judged by the version that it was found with.
func (c *call) lookUp() (*files.FoundEntry, error) {
	if c.found != nil || c.route.find == nil {
		return c.found, nil
	}
	found, err := c.route.find(c)
	if err != nil {
		return nil, err
	}
	c.found = found
	return found, nil
}

// refuseCrossSite refuses writes that another site could have made a browser send: those that rely
// on the session cookie need its CSRF token, and neither they nor logins may come from across sites
// (abuse cases C42, C43). Public endpoints ask for no token, whether a session came along or not.
// Requests with a key never are refused here.
func (c *call) refuseCrossSite() error {
	switch {
	case c.r.Method == http.MethodGet, c.r.Method == http.MethodHead, c.r.Method == http.MethodOptions, c.key != nil:
		return nil
	}
	if c.r.Header.Get("Sec-Fetch-Site") == "cross-site" {
		return fault.New(fault.Forbidden, "This request came from another site.")
	}
	if c.free != nil {
		return c.free.CheckCSRF(c.r.Header.Get("X-CSRF-Token"))
	}
	if c.session == nil || c.route.auth == optionalAuth {
		return nil
	}
	return c.a.Accounts.CheckCSRF(c.ctx(), *c.session, c.r.Header.Get("X-CSRF-Token"))
}

// requirePermission refuses a key that lacks a permission. Sessions pass.
func (c *call) requirePermission(permission string) error {
	if c.key == nil {
		return nil
	}
	for _, have := range c.key.Permissions {
		if have == permission {
			return nil
		}
	}
	return fault.Newf(fault.Forbidden, "The API key lacks the permission %q.", permission)
}
