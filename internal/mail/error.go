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

// maxQuotedReply is the number of characters of a server's reply that are quoted.
const maxQuotedReply = 300

// Error says why a message could not be sent. It is one line, and contains neither the user nor the
// password with which the service signs in.
type Error struct {
	Sentence  string // for an administrator; contains the server's reply only if the server has spoken SMTP
	Detail    string // for the log only: why the connection failed, or a reply before SMTP; "" for none
	Code      int    // the SMTP status, 0 if the server did not refuse
	Temporary bool   // another try may succeed: the server said so, or could not be reached
}

// Error returns the text for the log.
func (e *Error) Error() string {
	if e.Detail == "" {
		return e.Sentence
	}
	return e.Sentence + " (" + e.Detail + ")"
}

// unreachableSentence is the message for every failure before a mail server is found.
const unreachableSentence = "No mail server can be reached at this address. Check the server, the port and the " +
	"encryption (smtpHost, smtpPort, smtpSecure); an address that is not public must be in LARDER_SMTP_ALLOW_PRIVATE."

// step is a step of a delivery, in the words that follow "The mail server refused …".
type step string

const (
	stepConnect   step = "the connection"
	stepGreet     step = "the greeting"
	stepStartTLS  step = "STARTTLS"
	stepSignIn    step = "the sign-in"
	stepSender    step = "the sender"
	stepRecipient step = "the recipient"
	stepContent   step = "the message"
)

// stepError returns the Error for the failure err of a step: it chooses the sentence for the
// administrator, and whether another try may succeed.
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
	case at != stepConnect && at != stepGreet: // the server speaks SMTP
	case errors.Is(err, context.Canceled), errors.As(err, &untrusted): // handled below
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
		return &Error{Sentence: "Sending was cancelled.", Temporary: true}
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return &Error{Sentence: fmt.Sprintf("The mail server did not answer in time (step: %s).", at), Temporary: true}
	case errors.As(err, &untrusted):
		return &Error{Sentence: "The certificate of the mail server is not trusted: " + redact(untrusted.Err.Error(),
			server) + ".", Temporary: true}
	case errors.As(err, &notTLS):
		return &Error{Sentence: "The mail server does not speak TLS on this port. Check the port and the encryption " +
			"(smtpPort, smtpSecure).",
			Temporary: true}
	case errors.As(err, &malformed), errors.As(err, &reply), errors.Is(err, errTooMuchData):
		return &Error{Sentence: "The server at that address and port is not a mail server, or expects TLS from the " +
			"start. Check the port and the encryption (smtpPort, smtpSecure).",
			Temporary: true}
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET),
		errors.Is(err, syscall.EPIPE), errors.As(err, &network):
		return &Error{Sentence: fmt.Sprintf("The mail server closed the connection (step: %s).", at), Temporary: true}
	}
	return &Error{Sentence: fmt.Sprintf("Sending the mail failed at %s: %s.", at, redact(err.Error(), server)),
		Temporary: true}
}

// permanentError returns an Error that this service itself has found and another try does not mend.
func permanentError(sentence string) *Error { return &Error{Sentence: sentence} }

// base64Pattern matches text that may be a credential in base64, complete or truncated.
var base64Pattern = regexp.MustCompile(`[A-Za-z0-9+/]{24,}=*`)

// redact returns a server's reply in a form that may be quoted to an administrator: one line of
// visible characters, of limited length, without the user and password of server, which it may have
// echoed.
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

// secretPattern returns a pattern that matches a secret, in plain text in any case or in base64.
func secretPattern(secret string) *regexp.Regexp {
	return regexp.MustCompile("(?i)" + regexp.QuoteMeta(base64.StdEncoding.EncodeToString([]byte(secret))) + "|" +
		regexp.QuoteMeta(strings.ToValidUTF8(secret, "?")))
}
