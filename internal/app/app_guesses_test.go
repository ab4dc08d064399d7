package app

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"larder/internal/config"
	"larder/internal/kv/memory"
	"larder/internal/secret"
)

// The counters whose names clients choose evict no count of wrong passwords, neither in memory nor
// while Redis is down.
func TestGuessesHaveAStoreOfTheirOwn(t *testing.T) {
	t.Parallel()
	for name, redis := range map[string]secret.Text{"memory": "", "redis": "unix:///nothing/listens/here"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, now := t.TempDir(), time.Now()
			cfg := config.Config{DataDir: dir, ObjectDir: filepath.Join(dir, "objects"), RedisURL: redis}
			a, err := Open(context.Background(), cfg, Deps{
				Now: func() time.Time { return now }, Random: rand.Reader, Out: io.Discard,
				Log: slog.New(slog.DiscardHandler),
			})
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := a.Close(); err != nil {
					t.Error(err)
				}
			}()
			guess := func() bool {
				t.Helper()
				r, err := a.guesses.Take(t.Context(), "password:x", 1, time.Minute, 1)
				if err != nil {
					t.Fatal(err)
				}
				return r.Allowed
			}
			if !guess() || guess() {
				t.Fatal("one guess is not counted")
			}
			for i := range memory.MaxKeys + 1 {
				if _, err := a.counters.Take(t.Context(), fmt.Sprint("wrong:", i), 10, time.Minute, 1); err != nil {
					t.Fatal(err)
				}
			}
			if guess() {
				t.Error("a flood of names has evicted the count")
			}
		})
	}
}
