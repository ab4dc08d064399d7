package api

import (
	"context"
	"strconv"
	"strings"

	"larder/internal/account"
	"larder/internal/audit"
	"larder/internal/lifecycle"
	"larder/internal/secret"
	"larder/internal/site"
)

type registerInput struct {
	Username     *string `json:"username" required:"true" minLength:"3" maxLength:"20" pattern:"^[A-Za-z0-9_]+$"`
	Password     *string `json:"password" required:"true" minLength:"8" maxLength:"128" description:"At most 512 bytes."`
	Email        *string `json:"email" required:"true" maxLength:"254"`
	InviteCode   *string `json:"inviteCode" maxLength:"200" description:"Needed while the site requires invite codes; a valid one also allows registration while it is closed."`
	CaptchaToken *string `json:"captchaToken" maxLength:"4096" description:"Needed while the bot check is on."`
}

// registeredUser is a new account in the reply to its registration.
type registeredUser struct {
	ID            string `json:"id" required:"true"`
	Username      string `json:"username" required:"true"`
	Email         string `json:"email" required:"true"`
	EmailVerified bool   `json:"emailVerified" required:"true"`
	Role          string `json:"role" required:"true" enum:"admin,user,guest"`
}

type registerReply struct {
	User    registeredUser `json:"user" required:"true"`
	Message string         `json:"message" required:"true"`
}

// register handles POST /api/auth/register: it creates an account without signing it in. The access
// log records successful and failed registrations, but not the submitted values. Faults: those of
// lifecycle.Service.Register and of checkCaptcha.
func (a *API) register(c *call, in registerInput) (registerReply, error) {
	settings, err := c.currentSettings()
	if err != nil {
		return registerReply{}, err
	}
	c.auditNotes = append(c.auditNotes, auditNote{action: audit.Register, path: "/api/auth/register"})
	user, err := a.Lifecycle.Register(c.ctx(), lifecycle.Registration{
		Account: account.NewUser{
			Username: *in.Username, Email: *in.Email, Password: secret.Text(*in.Password),
			Locale: preferredLocale(c.r.Header.Get("Accept-Language")),
		},
		Source:   c.hashSource(),
		Invite:   strings.TrimSpace(valueOr(in.InviteCode, "")),
		Settings: settings,
		BotCheck: func(context.Context) error { return c.checkCaptcha(settings, in.CaptchaToken) },
	})
	if err != nil {
		return registerReply{}, err
	}
	c.actor.UserID = user.ID
	message := "Your account is ready. You can sign in now."
	if settings.RequireEmailVerification {
		message = "Your account was created. Follow the link that is being mailed to you, then sign in."
	}
	return registerReply{registeredUser{user.ID, user.Username, user.Email, user.EmailVerified, string(user.Role)},
		message}, nil
}

// currentSettings returns the settings as they are now, unlike limitSettings, which may be a second
// old. Registration and sign-in use it, where a change must take effect at once.
func (c *call) currentSettings() (site.Settings, error) {
	if _, err := c.configVersion(); err != nil {
		return site.Settings{}, err
	}
	return c.settings()
}

// checkCaptcha has the token of the bot check verified by its provider, while the check is on.
// Faults: Invalid for a missing or refused token, Unavailable when the provider does not answer.
func (c *call) checkCaptcha(settings site.Settings, token *string) error {
	if !settings.EnableCaptcha {
		return nil
	}
	return c.a.Captcha.Check(c.ctx(), valueOr(token, ""), c.ip)
}

// preferredLocale returns the supported locale that a browser prefers by its Accept-Language header
// (RFC 9110, section 12.5.4): en-US unless it prefers Chinese, zh-CN.
func preferredLocale(acceptLanguage string) string {
	const most = 20 // entries are read
	locale, best := "en-US", 0.0
	for _, entry := range strings.SplitN(acceptLanguage, ",", most) {
		tag, params, _ := strings.Cut(strings.TrimSpace(entry), ";")
		language, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(tag)), "-")
		weight := 1.0
		if q, found := strings.CutPrefix(strings.TrimSpace(params), "q="); found {
			weight, _ = strconv.ParseFloat(q, 64) // 0 if it is no number
		}
		if weight <= best {
			continue
		}
		switch language {
		case "zh":
			locale, best = "zh-CN", weight
		case "en":
			locale, best = "en-US", weight
		}
	}
	return locale
}

type resendInput struct {
	Email *string `json:"email" required:"true" maxLength:"254"`
}

type resendReply struct {
	Message string `json:"message" required:"true"`
}

// resendVerification handles POST /api/auth/resend-verification: it queues a mail with another
// verification link. It queues the same job for every address, so that neither answer nor time
// reveals whether an account has the address. Fault: Invalid for a malformed address.
func (a *API) resendVerification(c *call, in resendInput) (resendReply, error) {
	settings, err := c.currentSettings()
	if err != nil {
		return resendReply{}, err
	}
	if err := a.Accounts.ResendVerification(c.ctx(), settings, *in.Email); err != nil {
		return resendReply{}, err
	}
	return resendReply{"If an account with this address is not verified yet, another link is being sent to it."}, nil
}
