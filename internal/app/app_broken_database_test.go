package app_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"larder/internal/app"
	"larder/internal/apptest"
	"larder/internal/audit"
	"larder/internal/db/dbtest"
)

// The server closes every connection, like a restart. Requests right after it are answered, a stop
// right after it loses nothing of the access log, and each change was made once.
func TestDatabaseThatClosesItsConnections(t *testing.T) {
	t.Parallel()
	cfg := settings(t, "postgres")
	cfg.RateLimitPerMinute = 10000
	d := deps(io.Discard)
	out := &apptest.LogBuffer{}
	d.ManualSweep = true
	d.Log = slog.New(slog.NewTextHandler(out, nil))
	start := func() (a *app.App, stop func()) {
		ctx, end := context.WithCancel(context.Background())
		a, err := app.New(ctx, cfg, d)
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { done <- a.Run(ctx) }()
		return a, func() {
			end()
			if err := <-done; err != nil {
				t.Errorf("stop: %v", err)
			}
		}
	}
	a, stop := start()
	token := adminKey(t, a, "/public")
	const workers, rounds = 8, 5
	upload := func(worker int) {
		if status := ask(a, "POST", "/api/upload", token, fmt.Sprint("content ", worker)); status != 200 {
			t.Errorf("upload: %d", status)
		}
		if status := ask(a, "GET", "/api/files?path=/public", token, ""); status != 200 {
			t.Errorf("list: %d", status)
		}
		if status := ask(a, "GET", "/api/public/health/ready", "", ""); status != 200 {
			t.Errorf("ready: %d", status)
		}
	}
	for range rounds {
		var all sync.WaitGroup
		for worker := range workers {
			all.Go(func() { upload(worker) })
		}
		all.Wait()
		if err := a.Audit.Flush(t.Context()); err != nil { // else its COMMIT may be interrupted
			t.Fatal(err)
		}
		dbtest.Disconnect(t, cfg.DatabaseURL.Reveal())
	}
	a.Audit.Record(audit.Entry{Action: audit.Upload, Path: "/last", Status: 200})
	stop()
	b, stop := start()
	defer stop()
	_, logged, err := b.Audit.List(t.Context(), audit.Query{Action: audit.Upload, Page: 1, Limit: 1})
	if err != nil || logged != workers*rounds+1 {
		t.Errorf("%d uploads of %d are in the access log, %v", logged, workers*rounds+1, err)
	}
	var stored int
	if err := b.DB.Read(t.Context()).QueryRow("SELECT COUNT(*) FROM entries WHERE kind = 1").
		Scan(&stored); err != nil || stored != workers*rounds {
		t.Errorf("%d files of %d are stored, %v", stored, workers*rounds, err)
	}
	for line := range strings.Lines(out.String()) {
		if strings.Contains(line, "request failed") || strings.Contains(line, "is lost") {
			t.Error(line)
		}
	}
}
