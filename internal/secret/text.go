package secret

import (
	"fmt"
	"io"
	"log/slog"
)

const redacted = "[redacted]"

// Text is a string that must not be seen: a password, a key, an address that holds one. Whatever
// verb, handler or encoder prints it writes `[redacted]`; Reveal is the only way to the value. The
// empty Text means "none" and is redacted too, so that a print tells nothing.
//
// fmt can't call the methods of what lies in an unexported field of a struct that it prints: keep a
// Text in an exported field, or don't print the struct.
type Text string

// Reveal returns the value itself, for the one call that needs it.
func (t Text) Reveal() string { return string(t) }

// Format writes `[redacted]` for every verb and flag.
func (t Text) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, redacted) }

// String returns `[redacted]`.
func (t Text) String() string { return redacted }

// LogValue is what log/slog records.
func (t Text) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalText is what encoders of text formats write, JSON among them.
func (t Text) MarshalText() ([]byte, error) { return []byte(redacted), nil }
