package e2e

import (
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"larder/internal/apptest"
)

const smtpUser, smtpPassword = "larder", "canary-smtp-password-5"

// mailServer is an SMTP server with STARTTLS and a password behind a relay that can be cut.
type mailServer struct {
	*apptest.Mailbox
	relay *relay
}

// newMailServer starts a server that ends with the test.
func newMailServer(t *testing.T) *mailServer {
	t.Helper()
	box := apptest.NewMailbox(t, apptest.StartTLS, smtpUser, smtpPassword)
	return &mailServer{box, newRelay(t, net.JoinHostPort(box.Host, strconv.Itoa(box.Port)))}
}

// settings returns the site settings for this mail server.
func (s *mailServer) settings(t *testing.T) object {
	t.Helper()
	host, port, err := net.SplitHostPort(s.relay.address)
	if err != nil {
		t.Fatal(err)
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	return object{
		"smtpHost": host, "smtpPort": number, "smtpSecure": false, "smtpUser": smtpUser, "smtpPassword": smtpPassword,
		"smtpFromEmail": "larder@example.org",
		"emailEnabled":  true,
	}
}

// mailRoots writes the root certificate of the mail server to a file, for the variable
// SSL_CERT_FILE.
func mailRoots(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "roots.pem")
	if err := os.WriteFile(path, apptest.MailRootsPEM(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// mail waits for the next message to an address.
func (s *mailServer) mail(t *testing.T, to string) apptest.Mail {
	t.Helper()
	until(t, "a mail to "+to, func() bool { return s.Len() > 0 })
	m := s.Next(to)
	if m.User != smtpUser || !m.TLS || m.From != "larder@example.org" {
		t.Errorf("the mail %q came from %s as %q, over TLS: %v", m.Subject, m.From, m.User, m.TLS)
	}
	return m
}

var (
	mailedLink = regexp.MustCompile(`https?://\S+[?&]token=([0-9A-Za-z_-]{20,})`)
	mailedCode = regexp.MustCompile(`(?m)(?:^|\s)([0-9]{6})(?:\s|$)`)
)

// link returns the link in a mail and its token.
func link(t *testing.T, m apptest.Mail) (address, token string) {
	t.Helper()
	found := mailedLink.FindStringSubmatch(m.Text)
	if found == nil || !strings.Contains(m.HTML, found[1]) {
		t.Fatalf("no link in both forms of %q:\n%s", m.Subject, m.Text)
	}
	return found[0], found[1]
}
