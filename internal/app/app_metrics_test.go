package app

import (
	"context"
	"crypto/rand"
	"io"
	"log/slog"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"larder/internal/config"
)

// The metrics show that rate limits count in this process only while Redis is down.
func TestMetricsTellOfRedis(t *testing.T) {
	t.Parallel()
	dir, now := t.TempDir(), time.Now()
	cfg := config.Config{DataDir: dir, ObjectDir: filepath.Join(dir, "objects"),
		RedisURL: "unix:///nothing/listens/here"}
	a, err := Open(context.Background(), cfg, Deps{
		Now: func() time.Time { return now }, Random: rand.Reader, Out: io.Discard, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	ops := a.opsHandler()
	tells := func(lines ...string) {
		t.Helper()
		w := httptest.NewRecorder()
		ops.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
		for _, line := range lines {
			if !strings.Contains(w.Body.String(), "\n"+line+"\n") {
				t.Errorf("the metrics lack %q", line)
			}
		}
	}
	tells("larder_redis_down 0", "larder_redis_outages_total 0", "larder_rate_limit_local_total 0",
		"larder_passwords_waiting 0")
	for range 3 {
		if _, err := a.counters.Take(t.Context(), "ip", 5, time.Minute, 1); err != nil {
			t.Fatal(err)
		}
	}
	tells("larder_redis_down 1", "larder_redis_outages_total 1", "larder_rate_limit_local_total 3")
}
