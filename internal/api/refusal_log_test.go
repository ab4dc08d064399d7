package api_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"larder/internal/apptest"
	"larder/internal/config"
)

// logRecords returns the records of the log with that message and status.
func logRecords(t *testing.T, l *apptest.Larder, message string, status float64) (lines []map[string]any) {
	t.Helper()
	for line := range strings.Lines(l.Log.String()) {
		var record map[string]any
		if err := json.Unmarshal([]byte(line), &record); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if record["msg"] == message && record["status"] == status {
			lines = append(lines, record)
		}
	}
	return lines
}

// Requests refused by a limit do not fill the log: the first of an address and minute has its own
// line, the others share one.
func TestRefusedRequestsShareLogLines(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite", func(cfg *config.Config) { cfg.AuthRateLimit = 2 }, apptest.TrustLoopback)
	now := l.Clock.Now()
	l.Clock.Advance(now.Truncate(time.Hour).Add(time.Hour + 30*time.Second).Sub(now))
	minute := l.Clock.Now().UTC().Format("2006-01-02T15:00:00Z")
	login := func(ip string, times int) {
		for range times {
			l.Client(t).Post("/api/auth/login", M{}, "X-Forwarded-For", ip)
		}
	}
	login("192.0.2.1", 2+20)
	login("192.0.2.2", 2+1)
	login("2001:db8::1", 2+3)
	login("2001:db8::2", 4) // of the same network
	if alone := logRecords(t, l, "request", 429); len(alone) != 3 {
		t.Errorf("%d lines: %v", len(alone), alone)
	}
	if together := logRecords(t, l, "further requests refused", 429); len(together) != 0 {
		t.Errorf("logged before the minute is over: %v", together)
	}
	l.Clock.Advance(30 * time.Second)
	l.Sweep()
	got := map[any]any{}
	for _, line := range logRecords(t, l, "further requests refused", 429) {
		got[line["ip"]] = fmt.Sprint(line["count"], " ", line["minute"])
	}
	if len(got) != 2 || got["192.0.2.1"] != "19 "+minute || got["2001:db8::/64"] != "6 "+minute {
		t.Errorf("the records are %v", got)
	}
	l.Sweep()
	login("192.0.2.1", 10) // 2.5 of them are accepted by now
	if alone := logRecords(t, l, "request", 429); len(alone) != 4 {
		t.Errorf("in the next minute: %d lines: %v", len(alone), alone)
	}
	if together := logRecords(t, l, "further requests refused", 429); len(together) != 2 {
		t.Errorf("logged twice: %v", together)
	}
}

// However many addresses are refused, at most a thousand a minute have their own lines.
func TestRefusedRequestLogIsLimited(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite", func(cfg *config.Config) { cfg.AuthRateLimit = 1 }, apptest.TrustLoopback)
	c := l.Client(t)
	for i := range 1010 {
		for range 2 {
			c.Post("/api/auth/login", M{}, "X-Forwarded-For", fmt.Sprintf("198.51.%d.%d", 1+i/250, 1+i%250))
		}
	}
	if alone := logRecords(t, l, "request", 429); len(alone) != 1000 {
		t.Errorf("%d lines", len(alone))
	}
	l.Clock.Advance(time.Minute)
	l.Sweep()
	if together := logRecords(t, l, "further requests refused", 429); len(together) != 1 ||
		together[0]["ip"] != "others" || together[0]["count"] != 10.0 {
		t.Errorf("the records are %v", together)
	}
}

// A path as long as a request head permits does not fill the log.
func TestLongPathsAreTruncatedInLog(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite")
	l.Client(t).Get("/api/" + strings.Repeat("a", 50<<10))
	lines := logRecords(t, l, "request", 404)
	if len(lines) != 1 {
		t.Fatalf("%d lines", len(lines))
	}
	if path := lines[0]["path"].(string); len(path) > 1100 || !strings.HasPrefix(path, "/api/aaa") ||
		!strings.HasSuffix(path, "… (cut, 51205 bytes)") {
		t.Errorf("%d bytes: %s", len(path), path)
	}
}
