// Package mail sends messages through an SMTP server.
//
// Each message uses a connection of its own. The connection uses TLS from the first byte, or
// STARTTLS if the server offers it, and always verifies certificates. A password is sent only under
// TLS, except to a loopback address. Each step has a time limit, and so has the whole delivery, so
// that a server that hangs blocks no caller for long. Messages do not reveal the name of the
// machine: the greeting and the Message-ID contain the host of the sender's address.
//
// Send fails with an *Error. The error contains the server's reply only if the server has spoken
// SMTP. Until the server has accepted the greeting, every failure has the same message: nothing
// listens at the address, something else listens there, or the address is not allowed. So nobody
// can explore a network by naming servers. A message that the server has taken counts as sent,
// whatever happens afterwards. A message whose end the server does not acknowledge may arrive twice
// when it is tried again.
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

// Server is an SMTP server and the account to use there.
type Server struct {
	Host     string
	Port     int
	TLS      bool   // from the first byte; otherwise STARTTLS, if the server offers it
	User     string // "" for no authentication
	Password secret.Text
}

// Message is one message to one recipient. Text and HTML have the same content.
type Message struct {
	FromName, From string
	To             string
	Subject        string
	Text, HTML     string
}

// Limits are time limits; 0 means the default.
type Limits struct {
	Step  time.Duration // for each reply of the server, 10 s
	Total time.Duration // from the look-up of the name to the end of the connection, 20 s
}

// Sender sends messages. It is safe for concurrent use.
type Sender struct {
	Roots  *x509.CertPool // trusted certificate authorities; nil for those of the system
	Now    func() time.Time
	IDs    *ident.Source
	Limits Limits
	Dial   func(ctx context.Context, network, address string) (net.Conn, error) // nil to dial any address, for tests
}

// Send sends a message and returns once the server has taken it. Every error is an *Error.
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

// compose checks the addresses and single lines of a message and returns the text of the mail as it
// is sent. Error: a permanent *Error.
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
	message.SetGenHeader("Auto-Submitted", "auto-generated") // RFC 3834: prevents automatic replies
	message.SetBodyString(gomail.TypeTextPlain, m.Text)
	message.AddAlternativeString(gomail.TypeTextHTML, m.HTML)
	var raw bytes.Buffer
	if _, err := message.WriteTo(&raw); err != nil {
		return nil, permanentError("The email could not be composed: " + err.Error())
	}
	return raw.Bytes(), nil
}
