package secret

import (
	"fmt"
	"io"
	"log/slog"
)

const redacted = "[redacted]"

// Text is a secret string: a password, a key, an address that contains one. Every verb, handler and
// encoder prints it as `[redacted]`. Only Reveal returns the value. The empty Text means "none" and
// prints as `[redacted]` too, so that the output does not show which it is.
//
// Package fmt cannot call the methods of unexported struct fields. So keep a Text in an exported
// field, or do not print the struct.
type Text string

// Reveal returns the value itself, for the call that needs it.
func (t Text) Reveal() string { return string(t) }

// Format writes `[redacted]` for every verb and flag.
func (t Text) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, redacted) }

// String returns `[redacted]`.
func (t Text) String() string { return redacted }

// LogValue returns `[redacted]` for log/slog.
func (t Text) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalText returns `[redacted]` for encoders of text formats, including JSON.
func (t Text) MarshalText() ([]byte, error) { return []byte(redacted), nil }
