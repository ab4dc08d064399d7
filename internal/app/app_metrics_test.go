package app

import (
	"context"
	"crypto/rand"
	"fmt"
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

// The metrics show the bytes of the trash, how far the scrub is, how many jobs have failed, and
// that rate limits count in this process only while Redis is down.
func TestMetricsOfTheState(t *testing.T) {
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
	exec := func(statement string) {
		t.Helper()
		err := a.DB.Write(t.Context(), func(tx *db.Tx) error {
			_, err := tx.Exec(statement)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	exec("INSERT INTO quotas (user_id, max_storage, max_files, used_storage, kept_storage) VALUES " +
		"('u', 100, 1, 89, 7), ('v', 100, 1, 90, 0), ('w', 100, 1, 99, 0), ('x', 100, 1, 100, 0), " +
		"('y', 0, 1, 0, 0), ('z', -1, 1, 500, 0)")
	exec("INSERT INTO objects (id, provider_id, key, size, etag, refs, created_at, damaged_at) VALUES " +
		"('1', 'p', '1', 1, '', 1, 1, NULL), ('2', 'p', '2', 1, '', 1, 1, 5), ('3', 'p', '3', 1, '', 1, 1, 6)")
	exec("INSERT INTO jobs (id, type, owner_id, status, progress, created_at) VALUES " +
		"('a', 'scrub', '', 'failed', 12, 1), ('b', 'scrub', '', 'running', 37, 2), " +
		"('c', 'move', 'u', 'running', 50, 3)")
	hourAgo := now.Add(-time.Hour).UnixMilli()
	exec(fmt.Sprintf("INSERT INTO jobs (id, type, owner_id, status, progress, created_at, completed_at, attempts) "+
		"VALUES ('d', 'copy', 'u', 'failed', 0, 1, %[1]d, 12), ('e', 'copy', 'v', 'failed', 0, 1, %[1]d, 12)", hourAgo))
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
	tells("larder_damaged_objects 2", `larder_accounts{storage="free"} 1`, `larder_accounts{storage="near"} 2`,
		`larder_accounts{storage="full"} 1`, `larder_accounts{storage="none"} 1`, `larder_accounts{storage="unlimited"} 1`)
	tells("larder_redis_down 0", "larder_redis_outages_total 0", "larder_rate_limit_local_total 0",
		"larder_passwords_waiting 0", "larder_kept_bytes 7", "larder_scrub_progress 0.37",
		`larder_failed_jobs{type="copy"} 2`,
		`larder_failed_jobs{type="move"} 0`)
	exec("UPDATE jobs SET status = 'completed', completed_at = 4 WHERE id = 'b'")
	tells("larder_scrub_progress 0")
	for range 3 {
		if _, err := a.counters.Take(t.Context(), "ip", 5, time.Minute, 1); err != nil {
			t.Fatal(err)
		}
	}
	tells("larder_redis_down 1", "larder_redis_outages_total 1", "larder_rate_limit_local_total 3")
}
