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
	"larder/internal/db"
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
	if err := a.DB.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	err = a.DB.Write(t.Context(), func(tx *db.Tx) error {
		_, err := tx.Exec("INSERT INTO quotas (user_id, max_storage, max_files, kept_storage) VALUES ('u', 1, 1, 7)")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
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
		"larder_passwords_waiting 0", "larder_kept_bytes 7")
	for range 3 {
		if _, err := a.counters.Take(t.Context(), "ip", 5, time.Minute, 1); err != nil {
			t.Fatal(err)
		}
	}
	tells("larder_redis_down 1", "larder_redis_outages_total 1", "larder_rate_limit_local_total 3")
}
