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

// maxQuotedReply is how much of what a server said is told, in characters.
const maxQuotedReply = 300

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

// unreachableSentence is told of whatever keeps a connection from becoming one to a mail server.
const unreachableSentence = "No mail server can be reached there. Check smtpHost, smtpPort and smtpSecure; " +
	"an address that is not public must lie in LARDER_SMTP_ALLOW_PRIVATE."

// step is a part of handing a message in, as it stands in "The mail server refused …".
type step string

const (
	stepConnect   step = "the connection"
	stepGreet     step = "to be spoken to"
	stepStartTLS  step = "to begin TLS"
	stepSignIn    step = "the sign-in"
	stepSender    step = "the sender"
	stepRecipient step = "the recipient"
	stepContent   step = "the message"
)

// stepError makes an Error of whatever a step came to.
func stepError(at step, server Server, err error) *Error {
	var existing *Error
	var reply *textproto.Error
	var malformed textproto.ProtocolError
	var untrusted *tls.CertificateVerificationError
	var notTLS tls.RecordHeaderError
	var network *net.OpError
	refused := errors.As(err, &reply) && reply.Code >= 400 && reply.Code < 600
	switch {
	case errors.As(err, &existing):
		return existing
	case at != stepConnect && at != stepGreet: // it speaks SMTP
	case errors.Is(err, context.Canceled), errors.As(err, &untrusted): // told below
	case refused:
		return &Error{
			Sentence: fmt.Sprintf("The mail server refused %s: %d.", at, reply.Code), Detail: redact(reply.Msg, server),
			Code: reply.Code, Temporary: reply.Code < 500,
		}
	default:
		return &Error{Sentence: unreachableSentence, Detail: redact(err.Error(), server), Temporary: true}
	}
	switch {
	case refused:
		return &Error{
			Sentence: fmt.Sprintf("The mail server refused %s: %d %s", at, reply.Code, redact(reply.Msg, server)),
			Code:     reply.Code, Temporary: reply.Code < 500,
		}
	case errors.Is(err, context.Canceled):
		return &Error{Sentence: "Sending was broken off.", Temporary: true}
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return &Error{Sentence: fmt.Sprintf("The mail server did not answer in time (when it came to %s).",
			strings.TrimPrefix(string(at), "to ")), Temporary: true}
	case errors.As(err, &untrusted):
		return &Error{Sentence: "The certificate of the mail server is not trusted: " + redact(untrusted.Err.Error(),
			server) + ".", Temporary: true}
	case errors.As(err, &notTLS):
		return &Error{Sentence: "The mail server does not speak TLS there. Is the port right, and smtpSecure?",
			Temporary: true}
	case errors.As(err, &malformed), errors.As(err, &reply), errors.Is(err, errTooMuchData):
		return &Error{Sentence: "What answers at that address and port is not a mail server, or expects TLS at once.",
			Temporary: true}
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET),
		errors.Is(err, syscall.EPIPE), errors.As(err, &network):
		return &Error{Sentence: fmt.Sprintf("The mail server broke off the connection (when it came to %s).",
			strings.TrimPrefix(string(at), "to ")), Temporary: true}
	}
	return &Error{Sentence: fmt.Sprintf("The mail server and this service did not get past %s: %s.",
		strings.TrimPrefix(string(at), "to "), redact(err.Error(), server)), Temporary: true}
}

// permanentError is an Error of our own that no other try mends.
func permanentError(sentence string) *Error { return &Error{Sentence: sentence} }

// base64Pattern matches what may be a credential in base64, whole or cut off.
var base64Pattern = regexp.MustCompile(`[A-Za-z0-9+/]{24,}=*`)

// redact is what a server said as it may be repeated: one line of visible characters, cut to a sane
// length, without the credentials that a server may have echoed.
func redact(said string, server Server) string {
	if user, password := server.User, server.Password.Reveal(); user != "" {
		for _, secret := range []string{"\x00" + user + "\x00" + password, password, user} {
			if secret != "" {
				said = secretPattern(secret).ReplaceAllString(said, "[redacted]")
			}
		}
		said = base64Pattern.ReplaceAllString(said, "[redacted]")
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
	if runes := []rune(said); len(runes) > maxQuotedReply {
		said = string(runes[:maxQuotedReply]) + "…"
	}
	return said
}

// secretPattern matches a secret, as it is or in base64.
func secretPattern(secret string) *regexp.Regexp {
	return regexp.MustCompile("(?i)" + regexp.QuoteMeta(base64.StdEncoding.EncodeToString([]byte(secret))) + "|" +
		regexp.QuoteMeta(strings.ToValidUTF8(secret, "?")))
}
