package api_test

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"

	"larder/internal/apptest"
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
