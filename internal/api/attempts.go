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

// A target takes attemptBurst wrong answers, from whatever addresses, and then one a minute.
const (
	attemptBurst  = 20
	attemptRefill = attemptBurst * time.Minute
)

// DeviceCookie is the name of the cookie by which a browser proves that an account has signed in
// with it before. See account.Service.LoginTarget.
const DeviceCookie = "known_device"

// limitAttempts limits wrong answers for each of targets, whatever addresses they come from. It
// takes a place of every target before it calls check, and gives the places back unless check
// returns a fault of the kind wrong. So the limit holds for any number of calls at the same
// moment, on any number of replicas. A right answer resets nothing, since it does not say who
// gave the wrong ones. Targets must exist or be bounded in number: a caller must not be able to
// invent them. Fault: RateLimited.
func (c *call) limitAttempts(targets []string, wrong fault.Kind, check func() error) error {
	for i, target := range targets {
		seen, err := c.countAttempt(c.ctx(), target, 1)
		if err == nil && !seen.Allowed {
			err = &fault.Error{
				Kind: fault.RateLimited, Message: "Too many wrong answers were given. Please wait, and try again then.",
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

// refundAttempts gives back the places that guess took, also when the client has gone meanwhile.
func (c *call) refundAttempts(targets []string) error {
	for _, target := range targets {
		if _, err := c.countAttempt(context.WithoutCancel(c.ctx()), target, -1); err != nil {
			return err
		}
	}
	return nil
}

func (c *call) countAttempt(ctx context.Context, target string, cost int) (kv.Result, error) {
	return c.a.Attempts.Take(ctx, target, attemptBurst, attemptRefill, cost)
}

// checkLogin judges name and password. Faults: RateLimited, and those of account.Service.Login.
func (c *call) checkLogin(name string, password secret.Text, requireVerified bool) (user account.User, err error) {
	target, err := c.a.Accounts.LoginTarget(c.ctx(), name, c.deviceCookieValue())
	if err != nil {
		return account.User{}, err
	}
	err = c.limitAttempts([]string{target}, fault.BadCredentials, func() (err error) {
		user, err = c.a.Accounts.Login(c.ctx(), c.hashSource(), name, password, requireVerified)
		if err != nil && !fault.Is(err, fault.RateLimited) { // then the password was not looked at
			c.auditLoginFailed(name)
		}
		return err
	})
	return user, err
}

// deviceCookieValue returns the value of the cookie of known devices, "" for none.
func (c *call) deviceCookieValue() string {
	cookie, err := c.r.Cookie(DeviceCookie)
	if err != nil {
		return ""
	}
	return cookie.Value
}

// rememberDevice sets the cookie by which the browser proves later that user has signed in with it.
func (c *call) rememberDevice(user account.User) error {
	devices, err := c.a.Accounts.DeviceCookie(c.ctx(), user, c.deviceCookieValue())
	if err == nil && devices != "" {
		http.SetCookie(c.w, c.a.deviceCookie(devices))
	}
	return err
}

// deviceCookie makes the cookie, which browsers send to the authentication endpoints only.
func (a *API) deviceCookie(value string) *http.Cookie {
	return &http.Cookie{
		Name: DeviceCookie, Value: value, Path: "/api/auth", MaxAge: int(account.DeviceLifetime.Seconds()),
		HttpOnly: true, Secure: a.secure, SameSite: http.SameSiteStrictMode,
	}
}
