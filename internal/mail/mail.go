// Package mail hands messages in to an SMTP server.
//
// One connection for one message. TLS is used from the first byte on, or from STARTTLS on where the
// server offers that, and certificates are always verified. A password goes out under TLS alone,
// except to a loopback address. Every step has its time, and so has the whole: a server that hangs
// holds nobody up for long. Nothing goes out that tells of the machine: the host of the sender's
// address stands in the greeting and in the Message-ID.
//
// Send fails with an *Error. Whoever names the server learns what it said only once it has spoken
// SMTP: until it has accepted a greeting, an address where nothing listens, where something else
// does, and that may not be reached are told in one sentence, so that no network can be explored by
// it. A message that was taken counts as sent, whatever the server does afterwards; one whose end
// the server doesn't acknowledge may come twice when it is tried again.
//
// Specification: Site settings (smtp…), Authentication rule 10 (outgoing emails).
package mail

import (
	"bytes"
	"context"
	"crypto/x509"
	"net"
	netmail "net/mail"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	gomail "github.com/wneessen/go-mail"

	"larder/internal/ident"
	"larder/internal/secret"
)

// Server is where messages are handed in.
type Server struct {
	Host     string
	Port     int
	TLS      bool   // from the first byte on; else STARTTLS, where the server offers it
	User     string // "" for no authentication
	Password secret.Text
}

// Message is one message to one person. Text and HTML say the same.
type Message struct {
	FromName, From string
	To             string
	Subject        string
	Text, HTML     string
}

// Limits are of time; 0 is the default.
type Limits struct {
	Step  time.Duration // for each answer of the server, 10 s
	Total time.Duration // from the look-up of its name to its last word, 20 s
}

// Sender hands messages in. It is safe for concurrent use.
type Sender struct {
	Roots  *x509.CertPool // whom certificates are trusted of; nil for the system's
	Now    func() time.Time
	IDs    *ident.Source
	Limits Limits
	Dial   func(ctx context.Context, network, address string) (net.Conn, error) // nil: any address, in tests
}

// Send hands a message in and returns once the server has taken it. Every error is an *Error.
func (s *Sender) Send(ctx context.Context, server Server, m Message) error {
	raw, err := s.compose(m)
	if err != nil {
		return err
	}
	limits := s.Limits
	if limits.Step == 0 {
		limits.Step = 10 * time.Second
	}
	if limits.Total == 0 {
		limits.Total = 20 * time.Second
	}
	ctx, cancel := context.WithTimeout(ctx, limits.Total)
	defer cancel()
	d := &delivery{ctx: ctx, sender: s, server: server, step: limits.Step}
	defer d.close()
	if err := d.connect(hostOf(m.From)); err != nil {
		return err
	}
	return d.submit(m, raw)
}

// compose writes the message as it goes out.
func (s *Sender) compose(m Message) ([]byte, error) {
	for _, field := range []string{m.FromName, m.Subject} {
		if !utf8.ValidString(field) || strings.ContainsFunc(field, unicode.IsControl) {
			// abuse case C73
			return nil, permanentError("The name of the sender and the subject of a mail are single lines.")
		}
	}
	if CheckAddress(m.From) != nil {
		return nil, permanentError("The address of the sender is not valid.")
	}
	if CheckAddress(m.To) != nil {
		return nil, permanentError("The address of the recipient is not valid.")
	}
	message := gomail.NewMsg(gomail.WithNoDefaultUserAgent(), gomail.WithBoundary(s.IDs.Hex(16)))
	message.FromMailAddress(&netmail.Address{Name: m.FromName, Address: withASCIIHost(m.From)})
	message.ToMailAddress(&netmail.Address{Address: withASCIIHost(m.To)})
	message.Subject(m.Subject)
	message.SetDateWithValue(s.Now().UTC())
	message.SetMessageIDWithValue(s.IDs.Hex(16) + "@" + hostOf(m.From))
	message.SetGenHeader("Auto-Submitted", "auto-generated") // RFC 3834: nobody's absence assistant answers
	message.SetBodyString(gomail.TypeTextPlain, m.Text)
	message.AddAlternativeString(gomail.TypeTextHTML, m.HTML)
	var raw bytes.Buffer
	if _, err := message.WriteTo(&raw); err != nil {
		return nil, permanentError("The mail can't be written: " + err.Error())
	}
	return raw.Bytes(), nil
}
