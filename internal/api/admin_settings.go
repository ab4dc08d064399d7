package api

import (
	"larder/internal/access"
	"larder/internal/account"
	"larder/internal/fault"
	"larder/internal/letter"
	"larder/internal/secret"
	"larder/internal/site"
	"larder/internal/vpath"
)

// hiddenPassword is shown in place of a stored password. A client that sends it back keeps the
// stored password.
const hiddenPassword = "******"

// settingsReply holds the site settings (specification: Site settings) and our additions.
type settingsReply struct {
	SiteTitle                  string `json:"siteTitle" required:"true"`
	SiteDescription            string `json:"siteDescription" required:"true"`
	SiteLogo                   string `json:"siteLogo" required:"true"`
	SiteFavicon                string `json:"siteFavicon" required:"true"`
	SiteAccent                 string `json:"siteAccent" required:"true" description:"An addition. Accent colour of the pages without an account, empty for the built-in one."`
	AllowRegistration          bool   `json:"allowRegistration" required:"true"`
	AllowGuestAccess           bool   `json:"allowGuestAccess" required:"true"`
	RequireEmailVerification   bool   `json:"requireEmailVerification" required:"true"`
	EnableCaptcha              bool   `json:"enableCaptcha" required:"true"`
	CaptchaSiteKey             string `json:"captchaSiteKey" required:"true"`
	RateLimitEnabled           bool   `json:"rateLimitEnabled" required:"true"`
	RateLimitRequestsPerMinute int    `json:"rateLimitRequestsPerMinute" required:"true"`
	SMTPHost                   string `json:"smtpHost" required:"true"`
	SMTPPort                   int    `json:"smtpPort" required:"true"`
	SMTPSecure                 bool   `json:"smtpSecure" required:"true"`
	SMTPUser                   string `json:"smtpUser" required:"true"`
	SMTPPassword               string `json:"smtpPassword" required:"true" description:"******* when a password is stored, otherwise empty."`
	SMTPFromName               string `json:"smtpFromName" required:"true"`
	SMTPFromEmail              string `json:"smtpFromEmail" required:"true"`
	EmailEnabled               bool   `json:"emailEnabled" required:"true"`
	RequireInviteCode          bool   `json:"requireInviteCode" required:"true"`
	EnableFreeMode             bool   `json:"enableFreeMode" required:"true"`
	TrashDays                  int    `json:"trashDays" required:"true" description:"An addition. How long deleted entries stay in the trash; 0 switches it off."`
	TrashAll                   bool   `json:"trashAll" required:"true" description:"An addition. Deletions without the parameter trash, also by WebDAV and keys, go to the trash."`
	Setup                      string `json:"setup" required:"true" enum:"steps,checklist,done" description:"An addition. Progress of the first run."`
}

// viewSettings translates the site settings into their JSON form, with hiddenPassword in place of a
// stored SMTP password.
func viewSettings(s site.Settings) settingsReply {
	reply := settingsReply{
		SiteTitle: s.SiteTitle, SiteDescription: s.SiteDescription, SiteLogo: s.SiteLogo, SiteFavicon: s.SiteFavicon,
		SiteAccent:        s.SiteAccent,
		AllowRegistration: s.AllowRegistration, AllowGuestAccess: s.AllowGuestAccess,
		RequireEmailVerification: s.RequireEmailVerification, EnableCaptcha: s.EnableCaptcha,
		CaptchaSiteKey:   s.CaptchaSiteKey,
		RateLimitEnabled: s.RateLimitEnabled, RateLimitRequestsPerMinute: s.RateLimitRequestsPerMinute,
		SMTPHost: s.SMTPHost, SMTPPort: s.SMTPPort, SMTPSecure: s.SMTPSecure, SMTPUser: s.SMTPUser,
		SMTPFromName: s.SMTPFromName, SMTPFromEmail: s.SMTPFromEmail,
		EmailEnabled: s.EmailEnabled, RequireInviteCode: s.RequireInviteCode, EnableFreeMode: s.EnableFreeMode,
		TrashDays: s.TrashDays, TrashAll: s.TrashAll, Setup: string(s.Setup),
	}
	if s.SMTPPassword != "" {
		reply.SMTPPassword = hiddenPassword
	}
	return reply
}

// siteSettings handles GET /api/admin/settings: all site settings, without the SMTP password.
func (a *API) siteSettings(c *call, _ struct{}) (settingsReply, error) {
	settings, err := c.settings()
	return viewSettings(settings), err
}

// changeSettingsInput holds any of the settings. A setting that is absent or null stays unchanged.
// Package site checks the texts.
type changeSettingsInput struct {
	SiteTitle                  *string `json:"siteTitle" maxLength:"200"`
	SiteDescription            *string `json:"siteDescription" maxLength:"500" description:"Shown to visitors. A single line, empty for none."`
	SiteLogo                   *string `json:"siteLogo" maxLength:"2000" description:"An http(s) address, a path of this site, or empty for none."`
	SiteFavicon                *string `json:"siteFavicon" maxLength:"2000" description:"An http(s) address, a path of this site, or empty for none."`
	SiteAccent                 *string `json:"siteAccent" pattern:"^(#[0-9A-Fa-f]{6})?$" description:"An addition. A colour such as #1A2B3C, or empty for the built-in one."`
	AllowRegistration          *bool   `json:"allowRegistration"`
	AllowGuestAccess           *bool   `json:"allowGuestAccess"`
	RequireEmailVerification   *bool   `json:"requireEmailVerification"`
	EnableCaptcha              *bool   `json:"enableCaptcha" description:"Needs a configured verify address."`
	CaptchaSiteKey             *string `json:"captchaSiteKey" maxLength:"500"`
	RateLimitEnabled           *bool   `json:"rateLimitEnabled"`
	RateLimitRequestsPerMinute *int64  `json:"rateLimitRequestsPerMinute" minimum:"1" maximum:"10000"`
	SMTPHost                   *string `json:"smtpHost" maxLength:"253" description:"A host name or IP address; empty for none."`
	SMTPPort                   *int64  `json:"smtpPort" minimum:"1" maximum:"65535"`
	SMTPSecure                 *bool   `json:"smtpSecure" description:"true: TLS from the first byte on; false: STARTTLS if the server offers it."`
	SMTPUser                   *string `json:"smtpUser" maxLength:"320" description:"Empty for no sign-in."`
	SMTPPassword               *string `json:"smtpPassword" maxLength:"1000" description:"******* or empty keeps the stored password."`
	SMTPFromName               *string `json:"smtpFromName" maxLength:"200" description:"Empty for the site's title."`
	SMTPFromEmail              *string `json:"smtpFromEmail" maxLength:"254"`
	EmailEnabled               *bool   `json:"emailEnabled"`
	RequireInviteCode          *bool   `json:"requireInviteCode"`
	EnableFreeMode             *bool   `json:"enableFreeMode"`
	TrashDays                  *int64  `json:"trashDays" minimum:"0" maximum:"365" description:"An addition. 0 switches the trash off and empties it."`
	TrashAll                   *bool   `json:"trashAll" description:"An addition."`
	Setup                      *string `json:"setup" enum:"steps,checklist,done" description:"An addition. Progress of the first run: done hides the setup steps."`
}

// changeSettings handles PATCH /api/admin/settings: it changes the given site settings and answers
// all of them. Fault: Invalid, also when the bot check is switched on without a configured
// verifier.
func (a *API) changeSettings(c *call, in changeSettingsInput) (settingsReply, error) {
	if valueOr(in.EnableCaptcha, false) && !a.CaptchaReady {
		return settingsReply{}, fault.InvalidField("enableCaptcha",
			"The bot check needs LARDER_CAPTCHA_VERIFY_URL and LARDER_CAPTCHA_SECRET before it can be switched on.")
	}
	settings, err := a.Site.Update(c.ctx(), in.apply)
	return viewSettings(settings), err
}

// apply copies the settings that the request has. An SMTP password that is empty or hiddenPassword
// keeps the stored one. Site.Update, which calls apply, checks the settings as a whole; apply
// returns no error.
func (in changeSettingsInput) apply(s *site.Settings) error {
	s.SiteTitle = valueOr(in.SiteTitle, s.SiteTitle)
	s.SiteDescription = valueOr(in.SiteDescription, s.SiteDescription)
	s.SiteLogo = valueOr(in.SiteLogo, s.SiteLogo)
	s.SiteFavicon = valueOr(in.SiteFavicon, s.SiteFavicon)
	s.SiteAccent = valueOr(in.SiteAccent, s.SiteAccent)
	s.AllowRegistration = valueOr(in.AllowRegistration, s.AllowRegistration)
	s.AllowGuestAccess = valueOr(in.AllowGuestAccess, s.AllowGuestAccess)
	s.RequireEmailVerification = valueOr(in.RequireEmailVerification, s.RequireEmailVerification)
	s.EnableCaptcha = valueOr(in.EnableCaptcha, s.EnableCaptcha)
	s.CaptchaSiteKey = valueOr(in.CaptchaSiteKey, s.CaptchaSiteKey)
	s.RateLimitEnabled = valueOr(in.RateLimitEnabled, s.RateLimitEnabled)
	s.RateLimitRequestsPerMinute = int(valueOr(in.RateLimitRequestsPerMinute, int64(s.RateLimitRequestsPerMinute)))
	s.SMTPHost = valueOr(in.SMTPHost, s.SMTPHost)
	s.SMTPPort = int(valueOr(in.SMTPPort, int64(s.SMTPPort)))
	s.SMTPSecure = valueOr(in.SMTPSecure, s.SMTPSecure)
	s.SMTPUser = valueOr(in.SMTPUser, s.SMTPUser)
	if password := valueOr(in.SMTPPassword, ""); password != "" && password != hiddenPassword {
		s.SMTPPassword = secret.Text(password)
	}
	s.SMTPFromName = valueOr(in.SMTPFromName, s.SMTPFromName)
	s.SMTPFromEmail = valueOr(in.SMTPFromEmail, s.SMTPFromEmail)
	s.EmailEnabled = valueOr(in.EmailEnabled, s.EmailEnabled)
	s.RequireInviteCode = valueOr(in.RequireInviteCode, s.RequireInviteCode)
	s.EnableFreeMode = valueOr(in.EnableFreeMode, s.EnableFreeMode)
	s.TrashDays = int(valueOr(in.TrashDays, int64(s.TrashDays)))
	s.TrashAll = valueOr(in.TrashAll, s.TrashAll)
	s.Setup = site.Setup(valueOr(in.Setup, string(s.Setup)))
	return nil
}

// settingsImpactReply counts who loses access when an administrator requires verified addresses,
// and when free mode or guest access is switched off, and what visitors can open until then.
type settingsImpactReply struct {
	UnverifiedUsers int64 `json:"unverifiedUsers" required:"true" description:"Active accounts, without administrators, that cannot sign in while verification is required."`
	FreeSessions    int64 `json:"freeSessions" required:"true" description:"Open free-mode sessions."`
	PublicEntries   int   `json:"publicEntries" required:"true" description:"Entries at the root of the tree that visitors see without a password; 0 while guest access is off."`
	PermanentLinks  int64 `json:"permanentLinks" required:"true" description:"Permanent links to files, which work only while guest access is on."`
}

// settingsImpact handles GET /api/admin/settings/impact: it counts who loses access by a change of
// the settings, for the web UI's note before that.
func (a *API) settingsImpact(c *call, _ struct{}) (reply settingsImpactReply, err error) {
	if reply.UnverifiedUsers, err = account.CountUnverified(a.DB.Read(c.ctx())); err != nil {
		return settingsImpactReply{}, err
	}
	if reply.FreeSessions, err = a.FreeMode.CountOpen(c.ctx()); err != nil {
		return settingsImpactReply{}, err
	}
	if reply.PermanentLinks, err = a.Tree.CountLinks(c.ctx()); err != nil {
		return settingsImpactReply{}, err
	}
	public, err := a.Tree.RevisionPublic(c.ctx(), access.Actor{}, vpath.Root)
	if fault.Is(err, fault.Unauthorized) || fault.Is(err, fault.PasswordRequired) {
		return reply, nil
	}
	reply.PublicEntries = public.Total
	return reply, err
}

type testEmailInput struct {
	To *string `json:"to" required:"true" maxLength:"254"`
}

type testEmailReply struct {
	Message string `json:"message" required:"true"`
}

// testEmail handles POST /api/admin/settings/test-email: it sends a message with the stored mail
// settings and waits until the mail server has accepted or refused it. Faults: Invalid, MailFailed.
func (a *API) testEmail(c *call, in testEmailInput) (testEmailReply, error) {
	if err := account.CheckEmail(*in.To); err != nil {
		return testEmailReply{}, err
	}
	err := a.Letters.Test(c.ctx(), letter.Recipient{Email: *in.To, Name: c.user.Username, Locale: c.user.Locale})
	return testEmailReply{"The mail server accepted the test message."}, err
}
