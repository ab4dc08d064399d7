package mail_test

import (
	"context"
	"crypto/rand"
	"crypto/x509"
	"errors"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-smtp"

	"larder/internal/apptest"
	"larder/internal/ident"
	"larder/internal/mail"
	"larder/internal/secret"
)

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.FixedZone("", 3600))

func newSender() *mail.Sender {
	return &mail.Sender{Roots: apptest.MailRoots(), Now: func() time.Time { return noon }, IDs: ident.New(rand.Reader)}
}

func message() mail.Message {
	return mail.Message{
		FromName: "The Larder", From: "larder@files.example.org", To: "ann@example.org", Subject: "Hello",
		Text: "Some text.\nA dot:\n.\nGrüße\n", HTML: "<p>Some text.</p>\n",
	}
}

func serverOf(box *apptest.Mailbox, how apptest.MailTLS) mail.Server {
	return mail.Server{Host: box.Host, Port: box.Port, TLS: how == apptest.ImplicitTLS, User: box.User,
		Password: secret.Text(box.Password)}
}

// wantError checks the error of an attempt, and that it contains no credentials.
func wantError(t *testing.T, err error, temporary bool, code int, parts ...string) {
	t.Helper()
	var why *mail.Error
	if !errors.As(err, &why) {
		t.Fatalf("got %v", err)
	}
	if why.Temporary != temporary || why.Code != code {
		t.Errorf("temporary %v, code %d: %s", why.Temporary, why.Code, why.Sentence)
	}
	for _, part := range parts {
		if !strings.Contains(why.Sentence, part) {
			t.Errorf("%q lacks %q", why.Sentence, part)
		}
	}
	if strings.ContainsAny(why.Sentence, "\r\n") || len([]rune(why.Sentence)) > 420 {
		t.Errorf("%q is not a line of limited length", why.Sentence)
	}
}

func TestSendByEveryTLSAndSignIn(t *testing.T) {
	t.Parallel()
	for name, how := range map[string]apptest.MailTLS{"plain": apptest.NoTLS, "STARTTLS": apptest.StartTLS,
		"TLS": apptest.ImplicitTLS} {
		for _, way := range []string{"", "PLAIN", "LOGIN", "CRAM-MD5", "SCRAM-SHA-256"} {
			t.Run(name+" "+way, func(t *testing.T) {
				t.Parallel()
				user := ""
				if way != "" {
					user = "bob"
				}
				box := apptest.NewMailbox(t, how, user, "pass word ü", func(b *apptest.Mailbox, _ *smtp.Server) {
					if way != "" {
						b.AuthMechanisms = []string{way}
					}
				})
				if err := newSender().Send(t.Context(), serverOf(box, how), message()); err != nil {
					t.Fatal(err)
				}
				got := box.Next("ann@example.org")
				if got.TLS != (how != apptest.NoTLS) || got.User != user || got.AuthMechanism != way ||
					got.From != "larder@files.example.org" || got.UTF8 {
					t.Errorf("came %+v", got)
				}
				if got.Subject != "Hello" || got.Text != "Some text.\r\nA dot:\r\n.\r\nGrüße\r\n" ||
					got.HTML != "<p>Some text.</p>\r\n" {
					t.Errorf("came %q %q %q", got.Subject, got.Text, got.HTML)
				}
			})
		}
	}
}

// The strongest mechanism is chosen, whatever the order of the offer.
func TestStrongestSignInIsChosen(t *testing.T) {
	t.Parallel()
	box := apptest.NewMailbox(t, apptest.StartTLS, "bob", "secret", func(b *apptest.Mailbox, _ *smtp.Server) {
		b.AuthMechanisms = []string{"LOGIN", "PLAIN", "CRAM-MD5", "SCRAM-SHA-256"}
	})
	if err := newSender().Send(t.Context(), serverOf(box, apptest.StartTLS), message()); err != nil {
		t.Fatal(err)
	}
	if got := box.Next("ann@example.org"); got.AuthMechanism != "SCRAM-SHA-256" {
		t.Errorf("signed in by %s", got.AuthMechanism)
	}
}

func TestHeaders(t *testing.T) {
	t.Parallel()
	box := apptest.NewMailbox(t, apptest.NoTLS, "", "")
	if err := newSender().Send(t.Context(), serverOf(box, apptest.NoTLS), message()); err != nil {
		t.Fatal(err)
	}
	got := box.Next("ann@example.org")
	for name, want := range map[string]string{
		"From": `"The Larder" <larder@files.example.org>`, "To": "<ann@example.org>",
		"Date": "Wed, 04 Mar 2026 11:00:00 +0000", "Auto-Submitted": "auto-generated",
		"User-Agent": "", "X-Mailer": "", "Bcc": "", "Mime-Version": "1.0",
	} {
		if value := got.Header.Get(name); value != want {
			t.Errorf("%s: %q, want %q", name, value, want)
		}
	}
	if id := got.Header.Get("Message-Id"); !strings.HasSuffix(id, "@files.example.org>") || len(id) < 40 {
		t.Errorf("Message-ID %q", id)
	}
	if got.Hello != "files.example.org" {
		t.Errorf("greeted as %q", got.Hello)
	}
	if name, err := os.Hostname(); err != nil || len(name) > 4 && strings.Contains(got.Raw, name) {
		t.Errorf("the name of the machine %q, %v, stands in the mail:\n%s", name, err, got.Raw)
	}
}

func TestLongSubjectsAreFolded(t *testing.T) {
	t.Parallel()
	box := apptest.NewMailbox(t, apptest.NoTLS, "", "")
	for _, subject := range []string{strings.Repeat("word ", 40) + "end", strings.Repeat("照片储藏室", 40),
		strings.Repeat("x", 150) + " end", "<b>&amp;"} {
		m := message()
		m.Subject, m.FromName = subject, subject
		if err := newSender().Send(t.Context(), serverOf(box, apptest.NoTLS), m); err != nil {
			t.Fatal(err)
		}
		got := box.Next("ann@example.org")
		if got.Subject != subject {
			t.Errorf("subject %q, want %q", got.Subject, subject)
		}
		if from, err := got.Header.AddressList("From"); err != nil || len(from) != 1 || from[0].Name != subject ||
			from[0].Address != m.From {
			t.Errorf("from %v, %v, want %q", from, err, subject)
		}
		for line := range strings.SplitSeq(got.Raw, "\r\n") {
			if len(line) > 998 {
				t.Errorf("a line of %d bytes", len(line))
			}
		}
	}
}

// No given value can begin another header or another command. Abuse case C73.
func TestNoFieldBreaksTheLine(t *testing.T) {
	t.Parallel()
	box := apptest.NewMailbox(t, apptest.NoTLS, "", "")
	for _, evil := range []string{"\r\nBcc: eve@example.org", "\nBcc: eve@example.org", "\rBcc: eve@example.org",
		"\x00", "\xff"} {
		for name, change := range map[string]func(*mail.Message){
			"from":      func(m *mail.Message) { m.From += evil },
			"from name": func(m *mail.Message) { m.FromName += evil },
			"to":        func(m *mail.Message) { m.To += evil },
			"subject":   func(m *mail.Message) { m.Subject += evil },
		} {
			m := message()
			change(&m)
			t.Log(name)
			wantError(t, newSender().Send(t.Context(), serverOf(box, apptest.NoTLS), m), false, 0, "of")
		}
	}
	if box.Len() != 0 {
		t.Errorf("%d messages came", box.Len())
	}
}

// remoteConn is a connection to the mailbox that looks like one to another machine.
type remoteConn struct{ net.Conn }

func (remoteConn) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 25} }

func remoteSender(box *apptest.Mailbox) *mail.Sender {
	s := newSender()
	s.Dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, net.JoinHostPort("127.0.0.1", portOf(box)))
		return remoteConn{conn}, err
	}
	return s
}

func TestPasswordIsNotSentWithoutTLS(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"PLAIN", "LOGIN", "CRAM-MD5", "SCRAM-SHA-256"} {
		box := apptest.NewMailbox(t, apptest.NoTLS, "bob", "secret",
			func(b *apptest.Mailbox, _ *smtp.Server) { b.AuthMechanisms = []string{way} })
		// the address of the connection counts, not the host name
		for _, host := range []string{"mail.test", "127.0.0.1", "localhost"} {
			server := serverOf(box, apptest.NoTLS)
			server.Host = host
			wantError(t, remoteSender(box).Send(t.Context(), server, message()), false, 0, "does not offer "+
				"TLS", "password")
		}
		if box.Len() != 0 {
			t.Error("a message came")
		}
	}
	box := apptest.NewMailbox(t, apptest.StartTLS, "bob", "secret")
	server := serverOf(box, apptest.StartTLS)
	server.Host = "mail.test"
	if err := remoteSender(box).Send(t.Context(), server, message()); err != nil { // with STARTTLS the password is sent
		t.Error(err)
	}
	open := apptest.NewMailbox(t, apptest.NoTLS, "", "")
	// without a password the mail is sent
	if err := remoteSender(open).Send(t.Context(), serverOf(open, apptest.NoTLS), message()); err != nil {
		t.Error(err)
	}
}

func TestCertificatesAreVerified(t *testing.T) {
	t.Parallel()
	for name, how := range map[string]apptest.MailTLS{"STARTTLS": apptest.StartTLS, "TLS": apptest.ImplicitTLS} {
		box := apptest.NewMailbox(t, how, "bob", "secret")
		s := newSender()
		s.Roots = x509.NewCertPool()
		wantError(t, s.Send(t.Context(), serverOf(box, how), message()), true, 0, "certificate", "unknown authority")
		other := serverOf(box, how)
		other.Host = "mail.example.org"
		wantError(t, remoteSender(box).Send(t.Context(), other, message()), true, 0, "certificate", "mail.example.org")
		if box.Len() != 0 {
			t.Errorf("%s: a message came", name)
		}
	}
}

func TestWrongPassword(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"PLAIN", "LOGIN", "CRAM-MD5", "SCRAM-SHA-256"} {
		box := apptest.NewMailbox(t, apptest.StartTLS, "bob-the-user", "secret",
			func(b *apptest.Mailbox, _ *smtp.Server) { b.AuthMechanisms = []string{way} })
		server := serverOf(box, apptest.StartTLS)
		server.Password = "another-word"
		err := newSender().Send(t.Context(), server, message())
		wantError(t, err, false, 535, "535", "who are you?", "sign-in")
		if strings.Contains(err.Error(), "bob-the-user") || strings.Contains(err.Error(), "another-word") {
			t.Errorf("credentials in %v", err)
		}
	}
	none := apptest.NewMailbox(t, apptest.StartTLS, "", "")
	server := serverOf(none, apptest.StartTLS)
	server.User = "bob"
	wantError(t, newSender().Send(t.Context(), server, message()), false, 0, "does not support sign-in")
	odd := apptest.NewMailbox(t, apptest.StartTLS, "bob", "secret",
		func(b *apptest.Mailbox, _ *smtp.Server) { b.AuthMechanisms = []string{"NTLM", "XOAUTH2"} })
	wantError(t, newSender().Send(t.Context(), serverOf(odd, apptest.StartTLS), message()), false, 0, "NTLM XOAUTH2")
}

func TestSCRAMIterationsAreBounded(t *testing.T) {
	t.Parallel()
	for asked, ok := range map[int]bool{4096: true, 1_000_001: false, 2_000_000_000: false} {
		box := apptest.NewMailbox(t, apptest.StartTLS, "bob", "secret", func(b *apptest.Mailbox, _ *smtp.Server) {
			b.AuthMechanisms, b.Iterations = []string{"SCRAM-SHA-256"}, asked
		})
		err := newSender().Send(t.Context(), serverOf(box, apptest.StartTLS), message())
		if ok && err != nil {
			t.Error(err)
		}
		if !ok {
			wantError(t, err, false, 0, "too many SCRAM iterations")
		}
	}
}

func TestServerReplyIsInTheError(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		code      int
		temporary bool
	}{{550, false}, {552, false}, {451, true}, {421, true}, {450, true}} {
		box := apptest.NewMailbox(t, apptest.NoTLS, "", "", func(b *apptest.Mailbox, _ *smtp.Server) {
			b.Refuse = func(string) error {
				return &smtp.SMTPError{Code: c.code, EnhancedCode: smtp.EnhancedCode{c.code / 100, 1, 1},
					Message: "no such user here"}
			}
		})
		err := newSender().Send(t.Context(), serverOf(box, apptest.NoTLS), message())
		wantError(t, err, c.temporary, c.code, "refused the recipient", "no such user here")
	}
}

// Addresses with other characters than ASCII: the host is sent in its DNS form, and the rest needs
// a server with SMTPUTF8.
func TestInternationalAddresses(t *testing.T) {
	t.Parallel()
	plain := apptest.NewMailbox(t, apptest.NoTLS, "", "")
	m := message()
	m.From, m.To = "larder@bücher.example", "ann@例子.example"
	if err := newSender().Send(t.Context(), serverOf(plain, apptest.NoTLS), m); err != nil {
		t.Fatal(err)
	}
	if got := plain.Next("ann@xn--fsqu00a.example"); got.UTF8 || got.From != "larder@xn--bcher-kva.example" ||
		got.Hello != "xn--bcher-kva.example" {
		t.Errorf("came %+v", got)
	}
	m.To = "张三@例子.example"
	wantError(t, newSender().Send(t.Context(), serverOf(plain, apptest.NoTLS), m), false, 0, "SMTPUTF8")
	if plain.Len() != 0 {
		t.Error("a message came")
	}
	able := apptest.NewMailbox(t, apptest.NoTLS, "", "",
		func(_ *apptest.Mailbox, s *smtp.Server) { s.EnableSMTPUTF8 = true })
	if err := newSender().Send(t.Context(), serverOf(able, apptest.NoTLS), m); err != nil {
		t.Fatal(err)
	}
	if got := able.Next("张三@xn--fsqu00a.example"); !got.UTF8 {
		t.Errorf("came %+v", got)
	}
	if err := newSender().Send(t.Context(), serverOf(able, apptest.NoTLS), message()); err != nil {
		t.Fatal(err)
	}
	if got := able.Next("ann@example.org"); got.UTF8 {
		t.Error("SMTPUTF8 was used without need")
	}
}
