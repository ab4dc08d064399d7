package api_test

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"

	"larder/internal/apptest"
)

// A request that fails because its client has disconnected is no failure of the service: the log
// has the status 499 for it, and no cause.
func TestDisconnectedRequestsAreNoFailures(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		r := httptest.NewRequestWithContext(ctx, "GET", apptest.BaseURL+"/api/public/files?path=/public", nil)
		l.Apps[0].Handler().ServeHTTP(httptest.NewRecorder(), r)
		if lines := logRecords(t, l, "request", 499); len(lines) != 1 {
			t.Errorf("%d lines with the status 499, want 1: %s", len(lines), l.Log)
		}
		if text := l.Log.String(); strings.Contains(text, "request failed") {
			t.Errorf("the log has a failure: %s", text)
		}
	})
}
