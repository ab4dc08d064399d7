package mail_test

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"larder/internal/apptest"
	"larder/internal/egress"
	"larder/internal/mail"
)

func portOf(box *apptest.Mailbox) string { return strconv.Itoa(box.Port) }

// scriptedServer runs a server until the end of the test. speak handles each connection.
func scriptedServer(t *testing.T, speak func(c net.Conn, lines *bufio.Reader)) mail.Server {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			speak(c, bufio.NewReader(c))
			_ = c.Close()
		}
	}()
	t.Cleanup(func() {
		_ = listener.Close()
		<-done
	})
	return mail.Server{Host: "127.0.0.1", Port: listener.Addr().(*net.TCPAddr).Port}
}

// answers is a script: the reply to each command, by its first word. "" hangs, "!" closes the
// connection.
type answers map[string]string

func (a answers) speak(c net.Conn, lines *bufio.Reader) {
	say := func(word string) bool {
		switch text := a[word]; text {
		case "":
			_, _ = io.Copy(io.Discard, lines) // until the other side closes
			return false
		case "!":
			return false
		default:
			_, err := io.WriteString(c, text+"\r\n")
			return err == nil
		}
	}
	if !say("") {
		return
	}
	data := false
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		word, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		if data {
			if word != "." {
				continue
			}
			data = false
		}
		if word == "DATA" && strings.HasPrefix(a["DATA"], "354") {
			data = true
		}
		if !say(word) {
			return
		}
	}
}

// goodAnswers is the script of a server that accepts everything.
func goodAnswers(change ...string) answers {
	a := answers{
		"": "220 hello", "EHLO": "250 mail.test", "HELO": "250 mail.test", "MAIL": "250 ok", "RCPT": "250 ok",
		"DATA": "354 go on", ".": "250 taken", "QUIT": "221 bye", "RSET": "250 ok", "*": "501 ok",
	}
	for i := 0; i+1 < len(change); i += 2 {
		a[change[i]] = change[i+1]
	}
	return a
}

func TestFailingServers(t *testing.T) {
	t.Parallel()
	const closing, hanging, unreached = "closed the connection", "in time", "No mail server can be reached at this " +
		"address."
	for name, c := range map[string]struct {
		script    answers
		temporary bool
		code      int
		says      string // "" for success
	}{
		"a good server":   {goodAnswers(), true, 0, ""},
		"greets with 554": {goodAnswers("", "554 banner"), false, 554, "refused the greeting: 554."},
		"greets with 421": {goodAnswers("", "421 banner"), true, 421, "refused the greeting: 421."},
		"knows HELO only": {goodAnswers("EHLO", "502 what?"), true, 0, ""},
		"refuses EHLO and HELO": {goodAnswers("EHLO", "554 banner", "HELO", "554 banner"), false, 554,
			"refused the greeting: 554."},
		"refuses the sender": {goodAnswers("MAIL", "553 5.1.8 unknown domain"), false, 553,
			"refused the sender: 553 5.1.8 unknown domain"},
		"refuses the recipient": {goodAnswers("RCPT", "550 5.1.1 unknown"), false, 550,
			"refused the recipient: 550 5.1.1 unknown"},
		"greylists": {goodAnswers("RCPT", "451 4.7.1 come back later"), true, 451,
			"451 4.7.1 come back later"},
		"refuses DATA": {goodAnswers("DATA", "554 no valid recipients"), false, 554,
			"refused the message"},
		"refuses the content": {goodAnswers(".", "554 5.7.1 spam"), false, 554,
			"refused the message: 554 5.7.1 spam"},
		"is full":                  {goodAnswers(".", "452 4.3.1 disk full"), true, 452, "452 4.3.1 disk full"},
		"closes at once":           {goodAnswers("", "!"), true, 0, unreached},
		"closes after EHLO":        {goodAnswers("EHLO", "!", "HELO", "!"), true, 0, unreached},
		"closes after MAIL":        {goodAnswers("MAIL", "!"), true, 0, closing},
		"closes after DATA":        {goodAnswers("DATA", "!"), true, 0, closing},
		"closes after the message": {goodAnswers(".", "!"), true, 0, closing},
		"closes after QUIT":        {goodAnswers("QUIT", "!"), true, 0, ""},
		"refuses QUIT":             {goodAnswers("QUIT", "500 no"), true, 0, ""},
		"hangs at QUIT":            {goodAnswers("QUIT", ""), true, 0, ""},
		"says nothing":             {answers{}, true, 0, unreached},
		"hangs at EHLO":            {goodAnswers("", "220 banner", "EHLO", ""), true, 0, unreached},
		"hangs at MAIL":            {goodAnswers("MAIL", ""), true, 0, hanging},
		"hangs at RCPT":            {goodAnswers("RCPT", ""), true, 0, hanging},
		"hangs at DATA":            {goodAnswers("DATA", ""), true, 0, hanging},
		"hangs after the message":  {goodAnswers(".", ""), true, 0, hanging},
		"is a web server":          {goodAnswers("", "HTTP/1.1 400 banner"), true, 0, unreached},
		"is SSH":                   {goodAnswers("", "SSH-2.0-OpenSSH_9.6 internal banner"), true, 0, unreached},
		"is FTP": {goodAnswers("", "220 vsftpd banner", "EHLO", "530 banner", "HELO", "530 banner"),
			false, 530, "refused the greeting: 530."},
		"answers 200":    {goodAnswers("EHLO", "200 banner", "HELO", "200 banner"), true, 0, unreached},
		"sends too much": {goodAnswers("", "220-"+strings.Repeat("x", 300<<10)), true, 0, unreached},
		"replies with line breaks and control characters": {goodAnswers("RCPT",
			"550-first\r\n550-\x1b[31msecond\x07\r\n550 "+strings.Repeat("third ", 200)), false, 550,
			"550 first ?[31msecond? third third"},
		"refuses STARTTLS": {goodAnswers("EHLO", "250-mail.test\r\n250 STARTTLS", "STARTTLS", "454 not now"),
			true, 454, "refused STARTTLS: 454 not now"},
		"continues in clear": {goodAnswers("EHLO", "250-mail.test\r\n250 STARTTLS", "STARTTLS",
			"220 go\r\n250 mail.test\r\n250 ok"), true, 0, "TLS"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := scriptedServer(t, c.script.speak)
			s := newSender()
			switch {
			case c.says == unreached: // the sentence is the same for each step that takes too long
				s.Limits = mail.Limits{Step: 300 * time.Millisecond, Total: time.Second}
			case c.says == hanging, name == "continues in clear": // earlier steps must succeed
				s.Limits = mail.Limits{Step: 5 * time.Second, Total: 10 * time.Second}
			}
			err := s.Send(t.Context(), server, message())
			if c.says == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			wantError(t, err, c.temporary, c.code, c.says)
			if why := (*mail.Error)(nil); asError(err, &why) && strings.Contains(why.Sentence, "banner") {
				t.Errorf("a reply before SMTP is quoted: %v", err)
			}
		})
	}
}

// A server that keeps sending and never ends is cut off as well.
func TestTotalTimeIsBounded(t *testing.T) {
	t.Parallel()
	server := scriptedServer(t, func(c net.Conn, _ *bufio.Reader) {
		for {
			if _, err := io.WriteString(c, "220-wait\r\n"); err != nil {
				return
			}
			if one := make([]byte, 1); c.SetReadDeadline(time.Unix(1, 0)) == nil {
				_, _ = c.Read(one)
			}
		}
	})
	s := newSender()
	s.Limits = mail.Limits{Step: time.Hour, Total: 200 * time.Millisecond}
	var why *mail.Error
	if err := s.Send(t.Context(), server, message()); err == nil || !asError(err, &why) || !why.Temporary {
		t.Errorf("got %v", err)
	}
	silent := scriptedServer(t, answers{}.speak)
	wantError(t, s.Send(t.Context(), silent, message()), true, 0, "No mail server can be reached at this address.")
}

func TestCancelledContextEndsSend(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	server := scriptedServer(t, func(c net.Conn, lines *bufio.Reader) {
		cancel()
		_, _ = io.Copy(io.Discard, lines)
	})
	wantError(t, newSender().Send(ctx, server, message()), true, 0, "cancelled")
}

// A closed port, a port of another service, an unknown name and an address that is not allowed get
// the same message, so that no user can explore a network by naming mail servers. The log contains
// the reason.
func TestNonMailServersGetOneSentence(t *testing.T) {
	t.Parallel()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := mail.Server{Host: "127.0.0.1", Port: closed.Addr().(*net.TCPAddr).Port}
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	plain, under := apptest.NewMailbox(t, apptest.NoTLS, "", ""), apptest.NewMailbox(t, apptest.ImplicitTLS, "", "")
	overTLS := serverOf(plain, apptest.NoTLS)
	overTLS.TLS = true
	system := new(net.Dialer).DialContext
	seen := map[string]bool{}
	for name, c := range map[string]struct {
		server mail.Server
		dial   func(context.Context, string, string) (net.Conn, error)
		detail string
	}{
		"closed":      {nobody, system, "refused"},
		"not allowed": {serverOf(plain, apptest.NoTLS), new(egress.Policy).DialContext, "may be reached"},
		"an address as a number": {mail.Server{Host: "2130706433", Port: plain.Port}, new(egress.Policy).DialContext,
			"may be reached"},
		"unknown": {mail.Server{Host: "mail.invalid", Port: 25},
			func(context.Context, string, string) (net.Conn, error) {
				return nil, &net.DNSError{Err: "no such host", Name: "mail.invalid", IsNotFound: true}
			}, "no such host"},
		"filtered": {mail.Server{Host: "mail.invalid", Port: 25},
			func(ctx context.Context, _, _ string) (net.Conn, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			}, "deadline"},
		"web":          {scriptedServer(t, goodAnswers("", "HTTP/1.1 400 Bad Request").speak), system, ""},
		"silent":       {scriptedServer(t, answers{}.speak), system, ""},
		"hangs up":     {scriptedServer(t, goodAnswers("", "!").speak), system, "EOF"},
		"no TLS there": {overTLS, system, "TLS"},
		"TLS there":    {serverOf(under, apptest.NoTLS), system, ""},
	} {
		s := newSender()
		s.Dial = c.dial
		if name == "filtered" || name == "silent" { // the other servers end by themselves
			s.Limits.Step = 300 * time.Millisecond
		}
		err := s.Send(t.Context(), c.server, message())
		wantError(t, err, true, 0, "No mail server", "LARDER_SMTP_ALLOW_PRIVATE", "smtpSecure")
		var why *mail.Error
		if asError(err, &why) {
			seen[why.Sentence] = true
			if !strings.Contains(why.Detail, c.detail) || !strings.Contains(err.Error(), c.detail) {
				t.Errorf("%s: the log says %v", name, err)
			}
		}
	}
	if len(seen) != 1 || plain.Len() != 0 {
		t.Errorf("%d sentences: %v; %d messages came", len(seen), seen, plain.Len())
	}
}

// Some servers echo what they were sent.
func TestCredentialsAreNeverQuoted(t *testing.T) {
	t.Parallel()
	const user, password = "Bob-the-User", "the-password-of-bob"
	both := base64.StdEncoding.EncodeToString([]byte("\x00" + user + "\x00" + password))
	for name, said := range map[string]string{
		"plainly":          "535 no: user=" + user + " pass=" + password,
		"in another case":  "535 no: " + strings.ToLower(user) + " " + strings.ToUpper(password),
		"encoded":          "500 unknown: AUTH PLAIN " + both,
		"encoded, cut off": "500 unknown: AUTH PLAIN " + both[:30],
		"each encoded separately": "535 " + base64.StdEncoding.EncodeToString([]byte(user)) + " " +
			base64.StdEncoding.EncodeToString([]byte(password)),
	} {
		server := scriptedServer(t, goodAnswers("EHLO", "250-mail.test\r\n250 AUTH PLAIN", "AUTH", said).speak)
		server.User, server.Password = user, password
		err := newSender().Send(t.Context(), server, message())
		if err == nil {
			t.Fatalf("%s: the attempt succeeded", name)
		}
		got := strings.ToLower(err.Error())
		for _, leak := range []string{user, password, both[:20], base64.StdEncoding.EncodeToString([]byte(user)),
			base64.StdEncoding.EncodeToString([]byte(password))[:20]} {
			if strings.Contains(got, strings.ToLower(leak)) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if !strings.Contains(got, "[redacted]") {
			t.Errorf("%s: the reply is not quoted at all: %v", name, err)
		}
	}
}

func asError(err error, why **mail.Error) bool { return errors.As(err, why) }
