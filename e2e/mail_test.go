package e2e

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"larder/internal/apptest"
)

const smtpUser, smtpPassword = "larder", "canary-smtp-password-5"

// mailServer is an SMTP server with STARTTLS and a password behind a listener that can be closed.
type mailServer struct {
	*apptest.Mailbox
	address string

	mu          sync.Mutex // guards door and passed
	listener    net.Listener
	connections []net.Conn // connections through the listener
}

// newMailServer starts a server that ends with the test.
func newMailServer(t *testing.T) *mailServer {
	t.Helper()
	p := &mailServer{Mailbox: apptest.NewMailbox(t, apptest.StartTLS, smtpUser, smtpPassword), address: freeAddress(t)}
	p.open(t)
	t.Cleanup(p.shut)
	return p
}

// settings returns the site settings for this mail server.
func (p *mailServer) settings(t *testing.T) object {
	t.Helper()
	host, port, err := net.SplitHostPort(p.address)
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

func (p *mailServer) open(t *testing.T) {
	t.Helper()
	door, err := net.Listen("tcp", p.address)
	if err != nil {
		t.Fatal(err)
	}
	p.mu.Lock()
	p.listener = door
	p.mu.Unlock()
	go func() {
		for {
			outside, err := door.Accept()
			if err != nil {
				return // the listener is closed
			}
			go p.pass(outside)
		}
	}()
}

// pass connects a client with the mail server.
func (p *mailServer) pass(outside net.Conn) {
	inside, err := net.Dial("tcp", net.JoinHostPort(p.Host, strconv.Itoa(p.Port)))
	if err != nil {
		outside.Close()
		return
	}
	p.mu.Lock()
	p.connections = append(p.connections, outside, inside)
	p.mu.Unlock()
	go func() {
		_, _ = io.Copy(inside, outside) // until either side ends
		inside.Close()
	}()
	_, _ = io.Copy(outside, inside)
	outside.Close()
}

func (p *mailServer) shut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.listener.Close()
	for _, c := range p.connections {
		c.Close()
	}
	p.connections = nil
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
func (p *mailServer) mail(t *testing.T, to string) apptest.Mail {
	t.Helper()
	until(t, "a mail to "+to, func() bool { return p.Len() > 0 })
	m := p.Next(to)
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
