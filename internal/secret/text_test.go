package secret_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"larder/internal/secret"
)

// Abuse case C114: a secret appears in no log line, no print and no encoding.
func TestTextNeverPrints(t *testing.T) {
	t.Parallel()
	const value = "hunter2-in-the-clear"
	text := secret.Text(value)
	holder := struct {
		Password secret.Text
		List     []secret.Text
		Map      map[string]secret.Text
		Pointer  *secret.Text
	}{text, []secret.Text{text}, map[string]secret.Text{"k": text}, &text}

	prints := map[string]string{}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%10.3s", "%t"} {
		prints["Text "+verb] = fmt.Sprintf(verb, text)
		prints["struct "+verb] = fmt.Sprintf(verb, holder)
	}
	prints["String"] = text.String()
	prints["Sprint"] = fmt.Sprint(text, &text)
	prints["error"] = fmt.Errorf("connect with %v: %w", text, secret.ErrForged).Error()
	for name, encode := range map[string]func(any) ([]byte, error){"json": json.Marshal, "xml": xml.Marshal} {
		out, err := encode(text)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		prints[name] = string(out)
	}
	out, err := json.Marshal(holder)
	if err != nil {
		t.Fatal(err)
	}
	prints["json struct"] = string(out)
	var logged bytes.Buffer
	for _, handler := range []slog.Handler{slog.NewTextHandler(&logged, nil), slog.NewJSONHandler(&logged, nil)} {
		slog.New(handler).Info("start", "password", text, "holder", holder)
	}
	prints["slog"] = logged.String()

	for how, got := range prints {
		if !strings.Contains(got, "[redacted]") {
			t.Errorf("%s: %q lacks [redacted]", how, got)
		}
		for _, leak := range []string{value, "hunter2", fmt.Sprintf("%x", value), fmt.Sprintf("%X", value)} {
			if strings.Contains(got, leak) {
				t.Errorf("%s: %q contains the secret", how, got)
			}
		}
	}
	if got := slog.Any("password", text).Value.Resolve(); got.Kind() != slog.KindString ||
		got.String() != "[redacted]" {
		t.Errorf("a log handler receives %v of kind %v", got, got.Kind())
	}
	if got := text.Reveal(); got != value {
		t.Errorf("Reveal() = %q, want %q", got, value)
	}
}

func TestKeyringNeverPrints(t *testing.T) {
	t.Parallel()
	ring := newRing(t)
	for _, got := range []string{fmt.Sprint(ring), fmt.Sprintf("%+v", *ring), fmt.Sprintf("%#v", ring),
		fmt.Sprintf("%x", *ring)} {
		if got != "[redacted]" {
			t.Errorf("a keyring prints as %q", got)
		}
	}
}
