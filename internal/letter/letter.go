// Package letter composes and sends the mails of the service to people, in their language.
//
// A letter is a set of texts in one language (texts.go) with data filled in. It is laid out twice:
// as plain text, and as HTML, which escapes the data. Links begin with the configured base URL. A
// letter loads nothing from anywhere. Each letter says who asked for it and that it may be ignored.
//
// Every method returns after the mail was sent. Callers that must not wait call it from a job.
// Specification: Authentication, rule 10 (outgoing emails).
package letter

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	htmltemplate "html/template"
	"net/url"
	"strings"
	"text/template"
	"unicode"

	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/mail"
	"larder/internal/site"
)

var (
	//go:embed letter.txt.tmpl
	textLayout string
	//go:embed letter.html.tmpl
	htmlLayout string

	textTemplate = template.Must(template.New("text").Parse(textLayout))
	htmlTemplate = htmltemplate.Must(htmltemplate.New("html").Parse(htmlLayout))
)

// Recipient is the recipient of a letter.
type Recipient struct {
	Email, Name string // Name is the name of the account that the letter is about
	Locale      string // zh-CN or en-US
}

// Config holds the dependencies of a Service.
type Config struct {
	DB      *db.DB
	Site    *site.Store
	Sender  *mail.Sender
	BaseURL func() string // scheme, host, port; known once the service listens
}

// Service composes and sends letters. It is safe for concurrent use.
type Service struct{ Config }

// New returns a Service.
func New(cfg Config) *Service { return &Service{cfg} }

// Verification mails the link that verifies the recipient's address by a token. Fault: MailFailed.
func (s *Service) Verification(ctx context.Context, to Recipient, token string) error {
	return s.send(ctx, to, verificationLetter,
		letterData{Link: s.BaseURL() + "/api/auth/verify-email?token=" + url.QueryEscape(token)})
}

// Reset mails the link to set a new password by a token. Fault: MailFailed.
func (s *Service) Reset(ctx context.Context, to Recipient, token string) error {
	return s.send(ctx, to, resetLetter, letterData{Link: s.BaseURL() + "/app/reset?token=" + url.QueryEscape(token)})
}

// Code mails the digits of the code that confirms a new address, to that address. Fault:
// MailFailed.
func (s *Service) Code(ctx context.Context, to Recipient, digits string) error {
	return s.send(ctx, to, codeLetter, letterData{Code: digits})
}

// Test mails a message that shows an administrator that mail works. to.Name is the name of the
// administrator. It also sends while email is switched off, so that the settings can be tried
// first. Faults: Invalid when SMTP is not set up; MailFailed, whose message says what went wrong,
// with the server's reply.
func (s *Service) Test(ctx context.Context, to Recipient) error {
	settings, err := s.settings(ctx)
	if err != nil {
		return err
	}
	if !settings.MailConfigured() {
		return fault.New(fault.Invalid, "SMTP is not set up: smtpHost and smtpFromEmail are needed at least.")
	}
	err = s.deliver(ctx, settings, to, testLetter, letterData{})
	var why *mail.Error
	if errors.As(err, &why) {
		return fault.New(fault.MailFailed, why.Sentence).WithCause(why)
	}
	return err
}

// JobError converts the error of a letter for the job runner. A failure that another try may mend
// becomes an ordinary error, so that the job is tried again. A permanent failure stays a fault,
// which ends the job; so does email that is switched off.
func JobError(err error) error {
	var why *mail.Error
	if fault.Is(err, fault.MailFailed) && errors.As(err, &why) && why.Temporary {
		return fmt.Errorf("send a letter: %w", why)
	}
	return err
}

// send composes a letter of a kind with the data f and sends it to a user. Fault: MailFailed, also
// while mail is off; it does not show the server's reply, which is in its cause.
func (s *Service) send(ctx context.Context, to Recipient, k kind, f letterData) error {
	settings, err := s.settings(ctx)
	if err != nil {
		return err
	}
	if !settings.SendsMail() {
		return fault.New(fault.MailFailed, "Email is not set up here.")
	}
	err = s.deliver(ctx, settings, to, k, f)
	var why *mail.Error
	if errors.As(err, &why) {
		return fault.New(fault.MailFailed,
			"The email could not be sent. Please try again later, or tell an administrator.").WithCause(why)
	}
	return err
}

// settings returns the site settings as they are now.
func (s *Service) settings(ctx context.Context) (site.Settings, error) {
	version, err := db.ConfigVersion(s.DB.Read(ctx))
	if err != nil {
		return site.Settings{}, fmt.Errorf("read the config version: %w", err)
	}
	return s.Site.Current(ctx, version)
}

// deliver composes a letter and sends it by the server in the settings; it adds the site's and the
// recipient's names to f. It does not check whether mail is switched on. Error: *mail.Error.
func (s *Service) deliver(ctx context.Context, settings site.Settings, to Recipient, k kind, f letterData) error {
	f.Site, f.Base, f.Name = singleLine(settings.SiteTitle), s.BaseURL(), singleLine(to.Name)
	if f.Site == "" {
		f.Site = "Larder"
	}
	if f.Name == "" {
		f.Name = to.Email
	}
	p, err := fill(to.Locale, k, f)
	if err != nil {
		return fmt.Errorf("write a letter: %w", err)
	}
	var text, html bytes.Buffer
	if err := errors.Join(textTemplate.Execute(&text, p), htmlTemplate.Execute(&html, p)); err != nil {
		return fmt.Errorf("write a letter: %w", err)
	}
	from := singleLine(settings.SMTPFromName)
	if from == "" {
		from = f.Site
	}
	server := mail.Server{Host: settings.SMTPHost, Port: settings.SMTPPort, TLS: settings.SMTPSecure,
		User: settings.SMTPUser, Password: settings.SMTPPassword}
	return s.Sender.Send(ctx, server, mail.Message{
		FromName: from, From: settings.SMTPFromEmail, To: to.Email, Subject: p.Subject, Text: text.String(),
		HTML: html.String(),
	})
}

// singleLine turns a name into a single line of visible characters for the subject or the sender of
// a mail, since former versions may have stored other characters (abuse case C73).
func singleLine(s string) string {
	return strings.Join(strings.FieldsFunc(strings.ToValidUTF8(s, ""),
		func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsGraphic(r) }), " ")
}
