package mail

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/textproto"
	"os"
	"regexp"
	"strings"
	"syscall"
	"unicode"
)

// maxReply is how much of what a server said is told, in characters.
const maxReply = 300

// Error says why a message was not handed in. It is on one line, and holds neither the user nor the
// password that the service signs in with.
type Error struct {
	Sentence  string // for an administrator; it holds what the server said, once that has spoken SMTP
	Detail    string // for the log alone: why the connection failed, or what it said before SMTP; "" for nothing more
	Code      int    // what the server answered, 0 where that is not the reason
	Temporary bool   // another try may succeed as things are: the server said so, or could not be spoken to
}

// Error is what the log may hold.
func (e *Error) Error() string {
	if e.Detail == "" {
		return e.Sentence
	}
	return e.Sentence + " (" + e.Detail + ")"
}

// unreached is told of whatever keeps a connection from becoming one to a mail server.
const unreached = "No mail server can be reached there. Check smtpHost, smtpPort and smtpSecure; " +
	"an address that is not public must lie in LARDER_SMTP_ALLOW_PRIVATE."

// step is a part of handing a message in, as it stands in "The mail server refused …".
type step string

const (
	connecting step = "the connection"
	greeting   step = "to be spoken to"
	securing   step = "to begin TLS"
	signingIn  step = "the sign-in"
	sender     step = "the sender"
	recipient  step = "the recipient"
	content    step = "the message"
)

// explain makes an Error of whatever a step came to.
func explain(at step, to Server, err error) *Error {
	var told *Error
	var reply *textproto.Error
	var malformed textproto.ProtocolError
	var untrusted *tls.CertificateVerificationError
	var notTLS tls.RecordHeaderError
	var network *net.OpError
	refused := errors.As(err, &reply) && reply.Code >= 400 && reply.Code < 600
	switch {
	case errors.As(err, &told):
		return told
	case at != connecting && at != greeting: // it speaks SMTP
	case errors.Is(err, context.Canceled), errors.As(err, &untrusted): // told below
	case refused:
		return &Error{
			Sentence: fmt.Sprintf("The mail server refused %s: %d.", at, reply.Code), Detail: quotable(reply.Msg, to),
			Code: reply.Code, Temporary: reply.Code < 500,
		}
	default:
		return &Error{Sentence: unreached, Detail: quotable(err.Error(), to), Temporary: true}
	}
	switch {
	case refused:
		return &Error{
			Sentence: fmt.Sprintf("The mail server refused %s: %d %s", at, reply.Code, quotable(reply.Msg, to)), Code: reply.Code, Temporary: reply.Code < 500,
		}
	case errors.Is(err, context.Canceled):
		return &Error{Sentence: "Sending was broken off.", Temporary: true}
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return &Error{Sentence: fmt.Sprintf("The mail server did not answer in time (when it came to %s).", strings.TrimPrefix(string(at), "to ")), Temporary: true}
	case errors.As(err, &untrusted):
		return &Error{Sentence: "The certificate of the mail server is not trusted: " + quotable(untrusted.Err.Error(), to) + ".", Temporary: true}
	case errors.As(err, &notTLS):
		return &Error{Sentence: "The mail server does not speak TLS there. Is the port right, and smtpSecure?", Temporary: true}
	case errors.As(err, &malformed), errors.As(err, &reply), errors.Is(err, errTooMuch):
		return &Error{Sentence: "What answers at that address and port is not a mail server, or expects TLS at once.", Temporary: true}
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.As(err, &network):
		return &Error{Sentence: fmt.Sprintf("The mail server broke off the connection (when it came to %s).", strings.TrimPrefix(string(at), "to ")), Temporary: true}
	}
	return &Error{Sentence: fmt.Sprintf("The mail server and this service did not get past %s: %s.", strings.TrimPrefix(string(at), "to "), quotable(err.Error(), to)), Temporary: true}
}

// refuse is an Error of our own that no other try mends.
func refuse(sentence string) *Error { return &Error{Sentence: sentence} }

// encoded matches what may be a credential in base64, whole or cut off.
var encoded = regexp.MustCompile(`[A-Za-z0-9+/]{24,}=*`)

// quotable is what a server said as it may be repeated: one line of visible characters, cut to a sane length, without the credentials that a server may
// have echoed.
func quotable(said string, to Server) string {
	if user, password := to.User, to.Password.Reveal(); user != "" {
		for _, secret := range []string{"\x00" + user + "\x00" + password, password, user} {
			if secret != "" {
				said = echoes(secret).ReplaceAllString(said, "[redacted]")
			}
		}
		said = encoded.ReplaceAllString(said, "[redacted]")
	}
	said = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsGraphic(r) || r == unicode.ReplacementChar:
			return '?'
		}
		return r
	}, said)
	said = strings.Join(strings.Fields(said), " ")
	if runes := []rune(said); len(runes) > maxReply {
		said = string(runes[:maxReply]) + "…"
	}
	return said
}

// echoes matches a secret, as it is or in base64.
func echoes(secret string) *regexp.Regexp {
	return regexp.MustCompile("(?i)" + regexp.QuoteMeta(base64.StdEncoding.EncodeToString([]byte(secret))) + "|" + regexp.QuoteMeta(strings.ToValidUTF8(secret, "?")))
}
