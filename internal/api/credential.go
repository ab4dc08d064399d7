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

// authMode determines which credential a route accepts (specification: Authentication, rule 5).
type authMode int

const (
	noAuth           authMode = iota // public; credentials are not looked at
	optionalAuth                     // public; a valid session or key counts, an invalid cookie counts as none
	sessionAuth                      // the session cookie
	sessionOrKeyAuth                 // the session cookie, or a Bearer key with protocol api
	adminAuth                        // the session cookie of an administrator
	freeModeAuth                     // the cookie of a free-mode session
	uploadKeyAuth                    // a key in any of the forms that image clients send
	webdavKeyAuth                    // a key by Basic, with protocol webdav; OPTIONS needs none
)

// SessionCookie is the name of the login cookie.
const SessionCookie = "auth_token"

// identify authenticates the caller by the credential that the route accepts, and sets the call's
// actor, user, and key, session or free-mode session. A request has one principal. If a Bearer
// token came along, it alone counts and the cookie is ignored. Where a credential is optional, a
// bad cookie is kept in credentialErr and the caller is a guest. Faults: Unauthorized, Forbidden,
// and those of the authenticate functions.
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
		return fault.New(fault.Unauthorized, "An API key is required: Authorization: Bearer <key id>.<secret>.")
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
	}
	if err := c.checkAccount(); err != nil {
		return err
	}
	if c.route.auth == adminAuth && c.user.Role != access.Admin {
		return fault.New(fault.Forbidden, "Only administrators can do this.")
	}
	return nil
}

// accountHeader names the account that a page of the web UI shows, by its id. The session cookie
// belongs to the whole browser, so another tab can change the account behind an open page.
const accountHeader = "X-Larder-Account"

// checkAccount refuses a request with the session of another account than the one that its
// accountHeader names. The header of the answer then names the account of the session, so that an
// open page can tell. A request without the header passes. Fault: Conflict.
func (c *call) checkAccount() error {
	for _, id := range c.r.Header.Values(accountHeader) {
		if id != c.user.ID {
			c.w.Header().Set(accountHeader, c.user.ID)
			return fault.New(fault.Conflict, "This browser is now signed in with another account. Reload the page.")
		}
	}
	return nil
}

// sessionToken returns the value of the session cookie, "" for none. Another service on the same
// host can set a second cookie of the same name, and the browser chooses their order, so two
// cookies with different values are no credential. Fault: InvalidToken.
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

// bearer returns the API key of the request, as <key id>.<secret>, and whether there is one. With
// liberal it also accepts the variants that image clients send: a bare key in Authorization, or a
// key in the header `token`.
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

// authenticateBasic authenticates a key by Basic authentication: the key id is the user name and
// the secret is the password. OPTIONS needs no key, since clients ask for the server's abilities
// before they know which credential to send. Faults: Unauthorized, and those of authenticateKey.
func (c *call) authenticateBasic() error {
	if c.r.Method == http.MethodOptions {
		return nil
	}
	id, secret, found := c.r.BasicAuth()
	if !found {
		return fault.New(fault.Unauthorized, "An API key is required: use its id as the user name and its secret as "+
			"the password.")
	}
	return c.authenticateKey(id+"."+secret, "webdav")
}

// authenticateKey authenticates the API key in a token <key id>.<secret> and its owner, for a
// protocol: api or webdav. Faults: InvalidToken, Forbidden (the key is not for the protocol or the
// address), RateLimited.
//
// It refuses a token of the wrong shape before it counts or looks up anything, since the caller
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

// authenticateSession authenticates the session whose cookie has the value token, and notes its
// use. Faults: InvalidToken, SessionRevoked, RoleChanged, UserDisabled.
func (c *call) authenticateSession(token string) error {
	version, err := c.configVersion()
	if err != nil {
		return err
	}
	session, err := c.a.Accounts.Authenticate(c.ctx(), version, token, c.origin())
	if err != nil {
		return err
	}
	c.a.Accounts.Touch(session.ID)
	c.session, c.user = &session, session.User
	c.actor = access.Actor{UserID: c.user.ID, Role: c.user.Role, HomeID: c.user.HomeID, IP: c.ip,
		Unlocked: c.actor.Unlocked}
	return nil
}

// origin returns the browser and the address that a request comes from, as the list of sessions
// shows them.
func (c *call) origin() account.Origin {
	return account.Origin{Agent: c.r.UserAgent(), IP: c.ip}
}

// configVersion returns the config version, which rises with each change of users, keys, mounts,
// rules or settings, so cached values of this version are current. It reads the version once a
// request. If the route has a find, one query reads the version and the entry.
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

// lookUp finds the entry that the route serves, once a request; nil if the route has no find, or
// find returns none. The caller is authenticated with the config version that was read along with
// the entry.
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

// refuseCrossSite refuses writes that another site could have made a browser send. Writes with the
// session cookie need its CSRF token, and neither they nor logins may come from another site (abuse
// cases C42, C43). Public endpoints need no token, with or without a session. Requests with a key
// are never refused here. Faults: Forbidden, InvalidCSRF.
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

// requirePermission refuses an API key that lacks a permission: read, write or delete. Requests
// without a key pass; the rights of the account are checked by the domain. Fault: Forbidden.
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
