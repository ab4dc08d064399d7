package mail

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/wneessen/go-mail/smtp"
)

// maxServerBytes bounds the bytes that a server may send over a connection, including TLS.
const maxServerBytes = 256 << 10

var errTooMuchData = errors.New("the server's reply is too long")

// expiredDeadline is a deadline in the past.
var expiredDeadline = time.Unix(1, 0)

// delivery is one connection to a server, for one message.
type delivery struct {
	ctx    context.Context // ends with the whole delivery
	sender *Sender
	server Server
	step   time.Duration // limit of each step

	conn   net.Conn
	client *smtp.Client
	secure bool
}

// runStep runs one step of the delivery (at) within its limit; 0 means that only the limit of the
// whole delivery applies. Every error is an *Error, which names the step.
func (d *delivery) runStep(at step, limit time.Duration, fn func(ctx context.Context) error) error {
	ctx, cancel := context.WithCancel(d.ctx)
	defer cancel()
	if limit > 0 {
		ctx, cancel = context.WithTimeout(d.ctx, limit)
		defer cancel()
	}
	if d.conn != nil { // reads from the server ignore the context
		defer context.AfterFunc(ctx, func() { _ = d.conn.SetDeadline(expiredDeadline) })()
	}
	err := fn(ctx)
	if err == nil {
		return nil
	}
	if ctx.Err() != nil && errors.Is(err, os.ErrDeadlineExceeded) {
		err = ctx.Err()
	}
	return stepError(at, d.server, err)
}

// connect connects to the server, greets it with name (the host of the address of the sender),
// starts TLS if the server offers it, and signs in if a user is configured. Every error is an
// *Error.
func (d *delivery) connect(name string) error {
	address := net.JoinHostPort(asciiHost(d.server.Host), strconv.Itoa(d.server.Port))
	if err := d.runStep(stepConnect, d.step, func(ctx context.Context) error {
		return d.dial(ctx, address)
	}); err != nil {
		return err
	}
	if err := d.runStep(stepGreet, d.step, func(ctx context.Context) error { return d.greet(ctx, name) }); err != nil {
		return err
	}
	if offered, _ := d.client.Extension("STARTTLS"); offered && !d.secure {
		if err := d.runStep(stepStartTLS, d.step,
			func(context.Context) error { return d.client.StartTLS(d.tls()) }); err != nil {
			return err
		}
		d.secure = true
	}
	if d.server.User == "" {
		return nil
	}
	return d.runStep(stepSignIn, d.step, func(context.Context) error { return d.signIn() })
}

// dial opens the connection to host:port, which may send at most maxServerBytes.
func (d *delivery) dial(ctx context.Context, address string) error {
	dial := d.sender.Dial
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	conn, err := dial(ctx, "tcp", address)
	if err != nil {
		return err
	}
	d.conn = &limitedConn{Conn: conn, left: maxServerBytes}
	return nil
}

// greet reads the greeting of the server, after the TLS handshake if TLS starts at once, and sends
// the name of this service.
func (d *delivery) greet(ctx context.Context, name string) error {
	conn := d.conn
	if d.server.TLS {
		secure := tls.Client(conn, d.tls())
		if err := secure.HandshakeContext(ctx); err != nil {
			return err
		}
		conn, d.secure = secure, true
	}
	var err error
	if d.client, err = smtp.NewClient(conn, d.server.Host); err != nil {
		return err
	}
	return d.client.Hello(name)
}

// tls returns the settings of TLS: version 1.2 or newer, and the certificate must be valid for the
// host name of the server.
func (d *delivery) tls() *tls.Config {
	return &tls.Config{ServerName: asciiHost(d.server.Host), RootCAs: d.sender.Roots, MinVersion: tls.VersionTLS12}
}

// signIn sends the password with the strongest mechanism that both sides support. Without TLS it
// sends the password only to a loopback address, and to other machines with no mechanism at all: a
// listener could otherwise guess the password from the exchange.
func (d *delivery) signIn() error {
	if !d.secure && !d.loopback() {
		return permanentError(
			"The mail server does not offer TLS on this port, and the password is not sent to another machine " +
				"without TLS. " +
				"Use a port where the server expects TLS from the start (smtpSecure) or offers STARTTLS.")
	}
	offers, ways := d.client.Extension("AUTH")
	if !offers {
		return permanentError("The mail server does not support sign-in. Leave smtpUser empty if it needs none.")
	}
	auth := d.auth(strings.Fields(ways))
	if auth == nil {
		return permanentError("The mail server and this service have no common sign-in mechanism. It offers " +
			redact(ways, d.server) + ".")
	}
	return d.client.Auth(auth)
}

// loopback reports whether the connection itself, not only the host name, ends on this machine, so
// that no other machine can listen.
func (d *delivery) loopback() bool {
	host, _, err := net.SplitHostPort(d.conn.RemoteAddr().String())
	ip := net.ParseIP(host)
	return err == nil && ip != nil && ip.IsLoopback()
}

// auth chooses the strongest sign-in mechanism among the names that the server offers, nil for none
// that this service supports.
func (d *delivery) auth(ways []string) smtp.Auth {
	user, password := d.server.User, d.server.Password.Reveal()
	state, bound := d.client.TLSConnectionState()
	offered := map[string]bool{}
	for _, way := range ways {
		offered[strings.ToUpper(way)] = true
	}
	switch {
	case bound && offered["SCRAM-SHA-256-PLUS"]:
		return boundedSCRAM{smtp.ScramSHA256PlusAuth(user, password, &state)}
	case offered["SCRAM-SHA-256"]:
		return boundedSCRAM{smtp.ScramSHA256Auth(user, password)}
	case bound && offered["SCRAM-SHA-1-PLUS"]:
		return boundedSCRAM{smtp.ScramSHA1PlusAuth(user, password, &state)}
	case offered["SCRAM-SHA-1"]:
		return boundedSCRAM{smtp.ScramSHA1Auth(user, password)}
	case offered["CRAM-MD5"]:
		return smtp.CRAMMD5Auth(user, password)
	case offered["PLAIN"]: // signIn has checked that the connection is safe
		return smtp.PlainAuth("", user, password, d.server.Host, true)
	case offered["LOGIN"]:
		return smtp.LoginAuth(user, password, d.server.Host, true)
	}
	return nil
}

// maxIterations bounds the work that a server may ask for in SCRAM, about half a second. No time
// limit interrupts that computation.
const maxIterations = 1_000_000

var iterationsPattern = regexp.MustCompile(`,i=(\d+)`)

// boundedSCRAM refuses a server that asks for more than maxIterations.
type boundedSCRAM struct{ smtp.Auth }

// Next implements smtp.Auth.
func (s boundedSCRAM) Next(said []byte, more bool) ([]byte, error) {
	if asked := iterationsPattern.FindSubmatch(said); more && asked != nil {
		if n, err := strconv.Atoi(string(asked[1])); err != nil || n > maxIterations {
			return nil, permanentError("The mail server demands too many SCRAM iterations for the sign-in.")
		}
	}
	return s.Auth.Next(said, more)
}

// submit hands the message to the server: the addresses of m, and raw, the text of the whole mail.
// It returns nil once the server has taken the message.
func (d *delivery) submit(m Message, raw []byte) error {
	from, to := withASCIIHost(m.From), withASCIIHost(m.To)
	nonASCII := !isASCII(from) || !isASCII(to)
	if supported, _ := d.client.Extension("SMTPUTF8"); nonASCII && !supported {
		return permanentError(
			"The mail server does not accept addresses with non-ASCII letters before the @ (it lacks SMTPUTF8).")
	}
	d.client.SkipSMTPUTF8(!nonASCII) // a server without SMTPUTF8 refuses a mail that asks for it
	err := d.runStep(stepSender, d.step, func(context.Context) error { return d.client.Mail("<" + from + ">") })
	if err == nil {
		err = d.runStep(stepRecipient, d.step, func(context.Context) error { return d.client.Rcpt("<" + to + ">") })
	}
	if err == nil { // the server may check the content for long: only the limit of the whole delivery applies
		err = d.runStep(stepContent, 0, func(context.Context) error { return d.write(raw) })
	}
	if err == nil { // the server has taken the message; errors of QUIT do not matter
		_ = d.runStep(stepContent, min(d.step, 2*time.Second), func(context.Context) error { return d.client.Quit() })
	}
	return err
}

// write sends the text of the mail and waits for the server's acknowledgement.
func (d *delivery) write(raw []byte) error {
	w, err := d.client.Data()
	if err != nil {
		return err
	}
	if _, err := w.Write(raw); err != nil {
		return err
	}
	return w.Close()
}

// close closes the connection, if there is one.
func (d *delivery) close() {
	if d.conn != nil {
		_ = d.conn.Close() // nothing is lost: the message was either acknowledged or not
	}
}

// limitedConn is a connection that reads only a limited number of bytes.
type limitedConn struct {
	net.Conn
	left int
}

// Read implements net.Conn. Error: errTooMuchData once the bytes are used up.
func (c *limitedConn) Read(p []byte) (int, error) {
	if c.left <= 0 {
		return 0, errTooMuchData
	}
	n, err := c.Conn.Read(p[:min(len(p), c.left)])
	c.left -= n
	return n, err
}
