package app_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"unicode/utf8"

	"larder/internal/app"
)

// Values that a client chooses may be long. The log cuts them.
func TestLongValuesAreCutInTheLog(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := slog.New(app.NewLogHandler(&out, slog.LevelInfo, false))
	long := strings.Repeat("猫", 20_000)
	whole := strings.Repeat("a", 1<<10)
	log.Info(long, "text", long, "error", errors.New(long), "panic", any([]string{long}), "bytes", 7, "whole", whole,
		"beyond", whole+"b", "stack", long,
		slog.Group("group", "text", long))
	log.With("with", long).Debug(long)
	log.With("with", long).Info("another")
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 2 {
		t.Fatalf("%d lines", len(lines))
	}
	var record map[string]any
	if err := json.Unmarshal([]byte(lines[0]), &record); err != nil {
		t.Fatal(err)
	}
	record["in a group"] = record["group"].(map[string]any)["text"]
	for _, name := range []string{"msg", "text", "error", "panic", "beyond", "in a group"} {
		text, ok := record[name].(string)
		if !ok || len(text) > 1100 || len(text) < 1000 || !utf8.ValidString(text) || strings.Contains(text, "\uFFFD") ||
			!strings.Contains(text, "… (cut, ") {
			t.Errorf("%s: %d bytes: %v", name, len(text), record[name])
		}
	}
	if text := record["text"]; text != strings.Repeat("猫", 341)+"… (cut, 60000 bytes)" {
		t.Errorf("cut as %v", text)
	}
	if record["whole"] != whole || record["bytes"] != 7.0 || record["stack"] != long || record["level"] != "INFO" ||
		record["time"] == nil {
		t.Errorf("changed: %v", record)
	}
	if len(lines[1]) > 1300 {
		t.Errorf("%d bytes", len(lines[1]))
	}
}
