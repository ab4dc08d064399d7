package app

import (
	"fmt"
	"log/slog"
	"unicode/utf8"
)

// logLimit is how many bytes of one value stand in the log.
const logLimit = 1 << 10

// LogOptions are those of the handler that writes the log. Clients choose paths, names and the
// texts of errors, and choose them long: whatever is longer than logLimit is cut, says so, and is
// valid UTF-8 up to there. Only the stack of a panic, which no client writes, is whole.
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
