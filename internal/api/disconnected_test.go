package api_test

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"larder/internal/apptest"
	"larder/internal/audit"
)

// A request that fails because its client has disconnected is no failure of the service: the log
// has the status 499 for it, and no cause. Another failure after that is one.
func TestDisconnectedRequestsAreNoFailures(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		handler := l.Apps[0].Handler()
		r := httptest.NewRequestWithContext(ctx, "GET", apptest.BaseURL+"/api/public/files?path=/public", nil)
		handler.ServeHTTP(httptest.NewRecorder(), r)
		if lines := logRecords(t, l, "request", 499); len(lines) != 1 {
			t.Errorf("%d lines with the status 499, want 1: %s", len(lines), l.Log)
		}
		if text := l.Log.String(); strings.Contains(text, "request failed") {
			t.Errorf("the log has a failure: %s", text)
		}

		ctx, cancel = context.WithCancel(t.Context())
		r = httptest.NewRequest("POST", apptest.BaseURL+"/api/auth/login", leaving{cancel})
		r.Header.Set("Content-Type", "application/json")
		handler.ServeHTTP(httptest.NewRecorder(), r.WithContext(ctx))
		if lines := logRecords(t, l, "request", 500); len(lines) != 1 {
			t.Errorf("%d lines with the status 500, want 1: %s", len(lines), l.Log)
		}

		l.Clock.Advance(2 * time.Minute) // requests are written when their minute is over
		w := l.Apps[0].Audit
		if err := w.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		now := l.Clock.Now().UnixMilli()
		points, err := w.Series(t.Context(), audit.ServerErrors, now-time.Hour.Milliseconds(),
			now+time.Hour.Milliseconds(), 2*time.Hour.Milliseconds())
		if err != nil || points[0] != 1 {
			t.Errorf("%v requests failed in the server, want 1: %v", points, err)
		}
	})
}

// leaving is the body of a request whose client disconnects, and whose reader then panics.
type leaving struct{ leave func() }

// Read implements io.Reader.
func (b leaving) Read([]byte) (int, error) {
	b.leave()
	panic("a fault of the service")
}

// Close implements io.Closer.
func (leaving) Close() error { return nil }
