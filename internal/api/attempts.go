package api

import (
	"context"
	"errors"
	"net/http"
	"time"

	"larder/internal/account"
	"larder/internal/fault"
	"larder/internal/kv"
	"larder/internal/secret"
)

// Limits of wrong answers for one target, from all addresses together: a burst of attemptBurst,
// then one a minute.
const (
	attemptBurst  = 20
	attemptRefill = attemptBurst * time.Minute
)

// DeviceCookie is the name of the cookie that proves that an account signed in with this browser
// before. See account.Service.LoginTarget.
const DeviceCookie = "known_device"

// limitAttempts calls check, which compares a secret, and limits the wrong answers for each of
// targets, from all addresses together: a burst of attemptBurst, then one a minute. A target names
// a secret that is guessed at, such as an account. limitAttempts counts an attempt for every target
// before it calls check, and takes the attempts back unless check returns a fault of the kind
// wrong. So the limit holds for any number of concurrent calls on any number of replicas. A right
// answer resets no count, since it does not tell who gave the wrong ones. Targets must exist or be
// bounded in number, so that a caller can't invent them. Faults: RateLimited, and those of check.
func (c *call) limitAttempts(targets []string, wrong fault.Kind, check func() error) error {
	for i, target := range targets {
		seen, err := c.countAttempt(c.ctx(), target, 1)
		if err == nil && !seen.Allowed {
			err = &fault.Error{
				Kind: fault.RateLimited, Message: "Too many failed attempts. Please try again later.",
				RetryAfter: seen.RetryAfter,
			}
		}
		if err != nil {
			return errors.Join(err, c.refundAttempts(targets[:i]))
		}
	}
	err := check()
	if fault.Is(err, wrong) {
		return err
	}
	return errors.Join(err, c.refundAttempts(targets))
}

// refundAttempts takes back the attempts that limitAttempts counted, even if the client has
// disconnected.
func (c *call) refundAttempts(targets []string) error {
	for _, target := range targets {
		if _, err := c.countAttempt(context.WithoutCancel(c.ctx()), target, -1); err != nil {
			return err
		}
	}
	return nil
}

// countAttempt takes cost attempts from a target's bucket, which all replicas share. A cost of -1
// gives one back. The result says whether an attempt was left.
func (c *call) countAttempt(ctx context.Context, target string, cost int) (kv.Result, error) {
	return c.a.Attempts.Take(ctx, target, attemptBurst, attemptRefill, cost)
}

// checkLogin verifies the name (or email address) and the password of a sign-in, limits wrong
// passwords for the account, and notes failures in the access log. requireVerified refuses an
// account whose email address is not verified. Faults: RateLimited, and those of
// account.Service.Login.
func (c *call) checkLogin(name string, password secret.Text, requireVerified bool) (user account.User, err error) {
	target, err := c.a.Accounts.LoginTarget(c.ctx(), name, c.deviceCookieValue())
	if err != nil {
		return account.User{}, err
	}
	err = c.limitAttempts([]string{target}, fault.BadCredentials, func() (err error) {
		user, err = c.a.Accounts.Login(c.ctx(), c.hashSource(), name, password, requireVerified)
		if err != nil && !fault.Is(err, fault.RateLimited) { // RateLimited: the password was not checked
			c.auditLoginFailed(name)
		}
		return err
	})
	return user, err
}

// deviceCookieValue returns the value of the request's device cookie, by which a browser proves
// earlier sign-ins, "" for none.
func (c *call) deviceCookieValue() string {
	cookie, err := c.r.Cookie(DeviceCookie)
	if err != nil {
		return ""
	}
	return cookie.Value
}

// rememberDevice sets the device cookie, by which the browser can prove later that user has signed
// in with it. Wrong passwords of strangers then don't block sign-ins from this browser.
func (c *call) rememberDevice(user account.User) error {
	devices, err := c.a.Accounts.DeviceCookie(c.ctx(), user, c.deviceCookieValue())
	if err == nil && devices != "" {
		http.SetCookie(c.w, c.a.deviceCookie(devices))
	}
	return err
}

// deviceCookie makes the cookie that holds the proofs of known devices (see
// account.Service.DeviceCookie). Browsers send it to the authentication endpoints only.
func (a *API) deviceCookie(value string) *http.Cookie {
	return &http.Cookie{
		Name: DeviceCookie, Value: value, Path: "/api/auth", MaxAge: int(account.DeviceLifetime.Seconds()),
		HttpOnly: true, Secure: a.secure, SameSite: http.SameSiteStrictMode,
	}
}
