package app

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"unicode/utf8"
)

// logLimit is the number of bytes of one value that the log contains.
const logLimit = 1 << 10

// NewLogHandler returns the handler of the log, which writes records from level on to out, as lines
// of JSON, or of text for a person at a terminal. Clients choose paths, names and the texts of
// errors, which can be long. A value longer than logLimit is cut at a character boundary and marked
// as cut. The stack of a panic is not cut, since no client chooses it.
func NewLogHandler(out io.Writer, level slog.Leveler, text bool) slog.Handler {
	options := &slog.HandlerOptions{Level: level}
	if text {
		return cuttingHandler{slog.NewTextHandler(out, options)}
	}
	return cuttingHandler{slog.NewJSONHandler(out, options)}
}

// cuttingHandler cuts long values. HandlerOptions.ReplaceAttr could do the same, and would double
// the time that a line takes.
type cuttingHandler struct{ slog.Handler }

// Handle implements slog.Handler.
func (h cuttingHandler) Handle(ctx context.Context, r slog.Record) error {
	long := len(r.Message) > logLimit
	r.Attrs(func(a slog.Attr) bool {
		long = long || isLong(a)
		return !long
	})
	if long {
		cut := slog.NewRecord(r.Time, r.Level, cutText(r.Message), r.PC)
		r.Attrs(func(a slog.Attr) bool {
			cut.AddAttrs(cutAttr(a))
			return true
		})
		r = cut
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h cuttingHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	cut := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		cut[i] = cutAttr(a)
	}
	return cuttingHandler{h.Handler.WithAttrs(cut)}
}

// WithGroup implements slog.Handler.
func (h cuttingHandler) WithGroup(name string) slog.Handler {
	return cuttingHandler{h.Handler.WithGroup(name)}
}

// isLong reports whether an attribute may hold a text longer than logLimit; it is true for every
// value whose text is not known without converting it.
func isLong(a slog.Attr) bool {
	switch a.Value.Kind() {
	case slog.KindString:
		return len(a.Value.String()) > logLimit
	case slog.KindAny, slog.KindGroup, slog.KindLogValuer:
		return true
	default: // numbers, times
		return false
	}
}

// cutAttr returns an attribute whose text (a string, an error, or another value as text) is cut to
// logLimit, in the members of a group too. An attribute named stack stays whole.
func cutAttr(a slog.Attr) slog.Attr {
	value := a.Value.Resolve()
	text := ""
	switch {
	case a.Key == "stack":
	case value.Kind() == slog.KindString:
		text = value.String()
	case value.Kind() == slog.KindGroup:
		members := make([]slog.Attr, len(value.Group()))
		for i, member := range value.Group() {
			members[i] = cutAttr(member)
		}
		return slog.Attr{Key: a.Key, Value: slog.GroupValue(members...)}
	case value.Kind() == slog.KindAny:
		if err, ok := value.Any().(error); ok {
			text = err.Error()
		} else {
			text = fmt.Sprint(value.Any())
		}
	}
	if cut := cutText(text); cut != text {
		return slog.String(a.Key, cut)
	}
	return a
}

// cutText cuts text after logLimit bytes, at a character boundary, and appends the original length.
// A shorter text stays as it is.
func cutText(text string) string {
	if len(text) <= logLimit {
		return text
	}
	end := logLimit
	for end > logLimit-utf8.UTFMax && !utf8.RuneStart(text[end]) {
		end--
	}
	return fmt.Sprintf("%s… (cut, %d bytes)", text[:end], len(text))
}
