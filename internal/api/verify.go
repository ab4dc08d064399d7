package api

import (
	"html/template"
	"net/http"
	"strings"

	"larder/internal/fault"
)

type verifyInput struct {
	Token *string `query:"token" json:"-" required:"true" description:"The token from the mailed link; valid for 24 hours."`
}

// verificationText is the result of following a verification link, in one language.
type verificationText struct{ Lang, Heading, Text, Login string }

var (
	verifiedTexts = map[string]verificationText{
		"en-US": {"en", "Your email address is verified", "Thank you. You can sign in now.", "Sign in"},
		"zh-CN": {"zh-CN", "邮箱地址已验证", "谢谢，您现在可以登录了。", "前往登录"},
	}
	unverifiedTexts = map[string]verificationText{
		"en-US": {"en", "This link does not work",
			"It is incomplete or older than 24 hours, or the email address of the account has changed. You can " +
				"request a new link when you sign in.", "Sign in"},
		"zh-CN": {"zh-CN", "此链接无效", "链接不完整、已超过 24 小时，或账户的邮箱地址已更改。您可以在登录时重新获取验证邮件。", "前往登录"},
	}
)

// verifyPage shows the result in both languages, the reader's first.
var verifyPage = template.Must(template.New("verify").Parse(`<!doctype html>
<html lang="{{(index .Verdicts 0).Lang}}">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{range .Verdicts}}{{.Heading}} · {{end}}{{.Site}}</title>
` + pageStyle + `
<main>
<p class="site">{{.Site}}</p>
{{range $nth, $verdict := .Verdicts}}<section lang="{{.Lang}}"{{if $nth}} class="also"{{end}}>
{{if $nth}}<h2>{{.Heading}}</h2>{{else}}<h1>{{.Heading}}</h1>{{end}}
<p>{{.Text}}</p>
<p><a{{if not $nth}} class="button"{{end}} href="/app/login">{{.Login}}</a></p>
</section>
{{end}}</main>
</html>
`))

// verifyEmail handles GET /api/auth/verify-email: it verifies an email address by the mailed link
// and answers a page. It does not sign in. HEAD returns the status that GET would return, and
// verifies nothing: programs that inspect links in mails send HEAD (abuse case C44).
func (a *API) verifyEmail(c *call) error {
	locale, err := c.followVerification()
	if err == nil {
		return c.writeVerification(http.StatusOK, verifiedTexts, locale)
	}
	if fault.Is(err, fault.Invalid) && acceptBegins(c.r, "text/html") {
		return c.writeVerification(c.describeError(err).status, unverifiedTexts,
			preferredLocale(c.r.Header.Get("Accept-Language")))
	}
	return err
}

// followVerification verifies the address by the token in the query, or for HEAD checks the token
// only. It returns the locale of the account. Fault: Invalid for a token that is wrong or expired.
func (c *call) followVerification() (locale string, err error) {
	in, err := bindInput[verifyInput](c)
	if err != nil {
		return "", err
	}
	follow := c.a.Accounts.VerifyEmail
	if c.r.Method == http.MethodHead {
		follow = c.a.Accounts.CheckVerification
	}
	user, err := follow(c.ctx(), *in.Token)
	return user.Locale, err
}

// writeVerification writes the page that shows one of texts in both languages, the reader's locale
// first.
func (c *call) writeVerification(status int, texts map[string]verificationText, locale string) error {
	ordered := []verificationText{texts["en-US"], texts["zh-CN"]}
	if locale == "zh-CN" {
		ordered[0], ordered[1] = ordered[1], ordered[0]
	}
	view := struct {
		Site     string
		Verdicts []verificationText
	}{c.siteTitle(), ordered}
	var b strings.Builder
	if err := verifyPage.Execute(&b, view); err != nil {
		return err
	}
	c.sendPage(status, "private, no-store", b.String())
	return nil
}
