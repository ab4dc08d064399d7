package app

import (
	"fmt"
	"log/slog"
	"unicode/utf8"
)

// logLimit is the number of bytes of one value that the log contains.
const logLimit = 1 << 10

// LogOptions returns the options of the log handler. Clients choose paths, names and the texts of
// errors, which can be long. A value longer than logLimit is cut at a character boundary and marked
// as cut. The stack of a panic is not cut, since no client chooses it.
func LogOptions(level slog.Leveler) *slog.HandlerOptions {
	return &slog.HandlerOptions{Level: level, ReplaceAttr: truncateAttr}
}

func truncateAttr(_ []string, a slog.Attr) slog.Attr {
	text := ""
	switch {
	case a.Key == "stack":
	case a.Value.Kind() == slog.KindString:
		text = a.Value.String()
	case a.Value.Kind() != slog.KindAny: // numbers, times
	default:
		switch v := a.Value.Any().(type) {
		case error:
			text = v.Error()
		case slog.Level, *slog.Source:
		default:
			text = fmt.Sprint(v)
		}
	}
	if len(text) <= logLimit {
		return a
	}
	end := logLimit
	for end > logLimit-utf8.UTFMax && !utf8.RuneStart(text[end]) {
		end--
	}
	return slog.String(a.Key, fmt.Sprintf("%s… (cut, %d bytes)", text[:end], len(text)))
}
