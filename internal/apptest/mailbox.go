package apptest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"mime"
	"mime/multipart"
	"net"
	"net/mail"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-smtp"

	"larder/internal/site"
)

// Mail is a received message.
type Mail struct {
	From, To      string // of the envelope
	Header        mail.Header
	Subject       string // decoded
	Text, HTML    string // decoded
	Raw           string
	User          string // the authenticated user, "" for none
	AuthMechanism string // of the authentication
	TLS           bool
	Hello         string // the client's name in EHLO
	UTF8          bool   // the envelope asked for SMTPUTF8
}

// Mailbox is an SMTP server that keeps the messages that it receives.
type Mailbox struct {
	Host     string
	Port     int
	Refuse   func(to string) error // called for each recipient; nil accepts all; returns an *smtp.SMTPError
	User     string                // of the authentication, "" for none
	Password string

	AuthMechanisms []string // offered: PLAIN, LOGIN, CRAM-MD5, SCRAM-SHA-256; nil for PLAIN
	Iterations     int      // for SCRAM, 0 for 4096

	t       testing.TB
	mu      sync.Mutex
	mails   []Mail
	arrived chan struct{}
}

// MailTLS is the TLS mode of a Mailbox.
type MailTLS int

// The TLS modes.
const (
	NoTLS MailTLS = iota
	StartTLS
	ImplicitTLS
)

// NewMailbox starts a server that ends with the test. It requires authentication when user is not
// empty. change may change it before it starts.
func NewMailbox(t testing.TB, how MailTLS, user, password string, change ...func(*Mailbox, *smtp.Server)) *Mailbox {
	t.Helper()
	box := &Mailbox{t: t, User: user, Password: password, arrived: make(chan struct{}, 1)}
	server := smtp.NewServer(box)
	server.Domain, server.AllowInsecureAuth = "mail.test", true
	server.ErrorLog = discardLogger{}
	if how != NoTLS {
		server.TLSConfig = &tls.Config{Certificates: []tls.Certificate{mailCertificate().certificate}}
	}
	for _, fn := range change {
		fn(box, server)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	box.Host, box.Port = "127.0.0.1", listener.Addr().(*net.TCPAddr).Port
	if how == ImplicitTLS {
		listener = tls.NewListener(listener, server.TLSConfig)
	}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	return box
}

// Mailbox starts a server without TLS and authentication and sets it as the service's mail server.
func (l *Larder) Mailbox(t testing.TB) *Mailbox {
	t.Helper()
	box := NewMailbox(t, NoTLS, "", "")
	l.ChangeSettings(t, func(s *site.Settings) {
		s.EmailEnabled, s.SMTPHost, s.SMTPPort, s.SMTPSecure = true, box.Host, box.Port, false
		s.SMTPFromName, s.SMTPFromEmail = "Larder", "larder@example.org"
	})
	return box
}

// Next waits for the next message to an address, ignoring case, and removes it from the mailbox.
func (b *Mailbox) Next(to string) Mail {
	b.t.Helper()
	late := time.After(time.Minute)
	for {
		b.mu.Lock()
		for i, m := range b.mails {
			if strings.EqualFold(m.To, to) {
				b.mails = append(b.mails[:i:i], b.mails[i+1:]...)
				b.mu.Unlock()
				return m
			}
		}
		b.mu.Unlock()
		select {
		case <-b.arrived:
		case <-time.After(50 * time.Millisecond):
		case <-late:
			b.t.Fatalf("no mail to %s", to)
		}
	}
}

// Len returns the number of messages in the mailbox.
func (b *Mailbox) Len() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.mails)
}

// NewSession implements smtp.Backend.
func (b *Mailbox) NewSession(c *smtp.Conn) (smtp.Session, error) {
	_, secure := c.TLSConnectionState()
	return &mailSession{box: b, mail: Mail{TLS: secure, Hello: c.Hostname()}}, nil
}

type mailSession struct {
	box     *Mailbox
	mail    Mail
	claimed string // the user name that the client gave in the first step of LOGIN
}

// Mail implements smtp.Session.
func (s *mailSession) Mail(from string, options *smtp.MailOptions) error {
	if s.box.User != "" && s.mail.User == "" {
		return smtp.ErrAuthRequired
	}
	s.mail.From, s.mail.UTF8 = from, options.UTF8
	return nil
}

// Rcpt implements smtp.Session.
func (s *mailSession) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.box.mu.Lock()
	refuse := s.box.Refuse
	s.box.mu.Unlock()
	if refuse != nil {
		if err := refuse(to); err != nil {
			return err
		}
	}
	s.mail.To = to
	return nil
}

// Data implements smtp.Session.
func (s *mailSession) Data(r io.Reader) error {
	raw, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	got := s.mail
	got.Raw = string(raw)
	if err := got.read(); err != nil {
		return err
	}
	s.box.mu.Lock()
	s.box.mails = append(s.box.mails, got)
	s.box.mu.Unlock()
	select {
	case s.box.arrived <- struct{}{}:
	default:
	}
	return nil
}

// Reset implements smtp.Session.
func (s *mailSession) Reset() { s.mail.From, s.mail.To = "", "" }

// Logout implements smtp.Session.
func (s *mailSession) Logout() error { return nil }

// read parses a message.
func (m *Mail) read() error {
	message, err := mail.ReadMessage(strings.NewReader(m.Raw))
	if err != nil {
		return err
	}
	m.Header = message.Header
	if m.Subject, err = new(mime.WordDecoder).DecodeHeader(message.Header.Get("Subject")); err != nil {
		return err
	}
	media, params, err := mime.ParseMediaType(message.Header.Get("Content-Type"))
	if err != nil {
		return err
	}
	if media != "multipart/alternative" {
		return errors.New("not a message in two forms: " + media)
	}
	parts := multipart.NewReader(message.Body, params["boundary"])
	for {
		part, err := parts.NextPart() // NextPart decodes quoted-printable
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		text, err := io.ReadAll(part)
		if err != nil {
			return err
		}
		if strings.HasPrefix(part.Header.Get("Content-Type"), "text/html") {
			m.HTML = string(text)
		} else {
			m.Text = string(text)
		}
	}
}

type discardLogger struct{}

func (discardLogger) Printf(string, ...any) {}
func (discardLogger) Println(...any)        {}

type mailAuthority struct {
	certificate tls.Certificate
	roots       *x509.CertPool
}

// mailCertificate is the certificate of all mailboxes, made once per process.
var mailCertificate = sync.OnceValue(func() mailAuthority {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "mail.test"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(1000 * time.Hour),
		IsCA:     true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"mail.test"},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		panic(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		panic(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(leaf)
	return mailAuthority{tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, roots}
})

// MailRoots returns the root of the mailboxes' certificate, which is valid for 127.0.0.1 and
// mail.test.
func MailRoots() *x509.CertPool { return mailCertificate().roots }

// MailRootsPEM returns the same root in PEM, for another process.
func MailRootsPEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: mailCertificate().certificate.Certificate[0]})
}
