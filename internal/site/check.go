package site

import (
	"net/netip"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"larder/internal/color"
	"larder/internal/fault"
	"larder/internal/mail"
	"larder/internal/vpath"
)

const (
	maxTitleRunes       = 200
	maxDescriptionRunes = 500
	maxAddressRunes     = 2000 // of an image
	maxSiteKeyRunes     = 500
	maxPerMinute        = 10000
	maxTrashDays        = 365
	maxNameRunes        = 200 // of the sender of mails
	maxUserRunes        = 320
	maxPasswordRunes    = 1000
)

// Check refuses values that are too long, out of range, or contain control characters. Fault:
// Invalid, with the name of the setting.
func (s Settings) Check() error {
	for _, text := range []struct {
		name, value string
		most        int
	}{
		{"siteTitle", s.SiteTitle, maxTitleRunes},
		{"siteDescription", s.SiteDescription, maxDescriptionRunes},
		{"siteLogo", s.SiteLogo, maxAddressRunes},
		{"siteFavicon", s.SiteFavicon, maxAddressRunes},
		{"captchaSiteKey", s.CaptchaSiteKey, maxSiteKeyRunes},
		{"smtpUser", s.SMTPUser, maxUserRunes},
		{"smtpPassword", s.SMTPPassword.Reveal(), maxPasswordRunes},
		{"smtpFromName", s.SMTPFromName, maxNameRunes},
	} {
		if utf8.RuneCountInString(text.value) > text.most {
			return fault.InvalidField(text.name, "%s has at most %d characters.", text.name, text.most)
		}
		if !utf8.ValidString(text.value) || strings.ContainsFunc(text.value, isControlOrBreak) {
			return fault.InvalidField(text.name, "%s is a single line without control characters.", text.name)
		}
	}
	for name, shown := range map[string]string{"siteTitle": s.SiteTitle, "siteDescription": s.SiteDescription,
		"smtpFromName": s.SMTPFromName} {
		if strings.ContainsFunc(shown, vpath.IsUnprintable) { // it would reverse the text around it
			return fault.InvalidField(name, "%s must not contain text-direction overrides.", name)
		}
	}
	switch {
	case !isPictureURL(s.SiteLogo):
		return fault.InvalidField("siteLogo", "siteLogo is an http(s) address, a path of this site, or empty.")
	case !isPictureURL(s.SiteFavicon):
		return fault.InvalidField("siteFavicon", "siteFavicon is an http(s) address, a path of this site, or empty.")
	case s.SiteAccent != "" && !color.Valid(s.SiteAccent):
		return fault.InvalidField("siteAccent", "siteAccent is a colour such as #1A2B3C, or empty.")
	case s.RateLimitRequestsPerMinute < 1 || s.RateLimitRequestsPerMinute > maxPerMinute:
		return fault.InvalidField("rateLimitRequestsPerMinute", "The rate limit is 1 to 10000 requests a minute.")
	case s.TrashDays < 0 || s.TrashDays > maxTrashDays:
		return fault.InvalidField("trashDays", "trashDays is 0 to 365.")
	case s.Setup != SetupSteps && s.Setup != SetupChecklist && s.Setup != SetupDone:
		return fault.InvalidField("setup", "setup is steps, checklist or done.")
	}
	return s.checkMail()
}

// checkMail is Check for the settings of the mail server.
func (s Settings) checkMail() error {
	switch {
	case s.SMTPHost != "" && !isHost(s.SMTPHost):
		return fault.InvalidField("smtpHost",
			"smtpHost is the name or IP address of a mail server, without scheme and port.")
	case s.SMTPPort < 1 || s.SMTPPort > 65535:
		return fault.InvalidField("smtpPort", "smtpPort is 1 to 65535.")
	case s.SMTPFromEmail != "" && mail.CheckAddress(s.SMTPFromEmail) != nil:
		return fault.InvalidField("smtpFromEmail", "smtpFromEmail is not a valid email address.")
	}
	return nil
}

// SendsMail reports whether the site sends mails: mail is switched on and configured.
func (s Settings) SendsMail() bool { return s.EmailEnabled && s.MailConfigured() }

// MailConfigured reports whether a mail server and a sender are configured. EmailEnabled says
// whether mail is switched on.
func (s Settings) MailConfigured() bool { return s.SMTPHost != "" && s.SMTPFromEmail != "" }

// isControlOrBreak reports whether r ends a line in some program, or is a control character.
func isControlOrBreak(r rune) bool { return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' }

// isPictureURL reports whether an address may be the source of an image on a page. The browser
// fetches it, the service never does. Schemes that a browser executes, or that contain the content
// themselves, are refused (abuse case C66).
func isPictureURL(address string) bool {
	if address == "" {
		return true
	}
	u, err := url.Parse(address)
	if err != nil || strings.ContainsRune(address, '\\') || strings.ContainsFunc(address, unicode.IsSpace) {
		return false
	}
	if u.Scheme == "" {
		return u.Host == "" && u.User == nil && address[0] == '/' && (len(address) == 1 || address[1] != '/')
	}
	return (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && u.User == nil
}

// isHost reports whether s is an IP address without a zone, or a host name.
func isHost(s string) bool {
	if ip, err := netip.ParseAddr(s); err == nil {
		return ip.Zone() == ""
	}
	return len(s) <= 253 && mail.IsHost(strings.TrimSuffix(s, "."))
}
