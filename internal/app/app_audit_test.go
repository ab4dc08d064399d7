package app_test

import (
	"context"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"larder/internal/app"
	"larder/internal/audit"
	"larder/internal/db/dbtest"
)

// A clean stop during requests loses nothing of those that were answered: neither their entries,
// nor the sums of the running hour, nor their number.
func TestStopKeepsTheLog(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			cfg := settings(t, engine)
			cfg.LogRetention, cfg.RateLimitPerMinute = 24*time.Hour, 10000
			start := func() (a *app.App, stop func()) {
				ctx, end := context.WithCancel(context.Background())
				a, err := app.New(ctx, cfg, deps(io.Discard))
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
			if status := ask(a, "POST", "/api/upload", token, "0123456789"); status != 200 {
				t.Fatalf("upload: %d", status)
			}
			var mine, visitors, served atomic.Int64
			var asking sync.WaitGroup
			for worker := range 16 {
				asking.Go(func() {
					for served.Load() < 2000 {
						if worker%2 == 0 {
							if ask(a, "GET", "/public/a.txt", token, "") != 200 {
								return
							}
							mine.Add(1)
						} else {
							if ask(a, "GET", "/public/a.txt", "", "") != 200 {
								return
							}
							visitors.Add(1)
						}
						served.Add(1)
					}
				})
			}
			ended := make(chan struct{})
			go func() {
				asking.Wait()
				close(ended)
			}()
			for served.Load() < 1900 {
				select {
				case <-ended:
					t.Fatalf("all workers ended after %d requests", served.Load())
				case <-time.After(time.Millisecond):
				}
			}
			stop()
			<-ended

			b, stop := start()
			defer stop()
			counted := func(userID string) (rows, requests, bytes int64) {
				entries, total, err := b.Audit.List(t.Context(),
					audit.Query{Action: audit.Download, Page: 1, Limit: 10_000})
				if err != nil || total != int64(len(entries)) {
					t.Fatal(total, err)
				}
				for _, e := range entries {
					if (e.UserID != "") == (userID != "") {
						rows, requests, bytes = rows+1, requests+e.Count, bytes+e.Bytes
					}
				}
				return rows, requests, bytes
			}
			// 600 entries in a minute including the upload, and one for the merged rest; twice as
			// many if the minute changed.
			if rows, requests, bytes := counted("mine"); requests != mine.Load() || bytes != 10*requests ||
				rows < min(requests, 600) || rows > 2*601 {
				t.Errorf("%d requests with %d bytes in %d entries, of %d", requests, bytes, rows, mine.Load())
			}
			// 2 if the hour changed
			if rows, requests, bytes := counted(""); requests != visitors.Load() || bytes != 10*requests || rows > 2 {
				t.Errorf("%d requests with %d bytes in %d sums, of %d", requests, bytes, rows, visitors.Load())
			}
			if n, err := b.Audit.Requests24h(t.Context()); err != nil || n != mine.Load()+visitors.Load()+1 {
				t.Errorf("%d requests counted, of %d (%v)", n, mine.Load()+visitors.Load()+1, err)
			}
			if engine == "sqlite" { // abuse case C118
				if info, err := os.Stat(cfg.AuditFile()); err != nil || info.Mode().Perm() != 0o600 {
					t.Errorf("the file of the log: %v, %v", info, err)
				}
			}
		})
	}
}

func ask(a *app.App, method, path, token, body string) (status int) {
	r, err := http.NewRequest(method, "http://"+a.Addr().String()+path, strings.NewReader(body))
	if err != nil {
		return 0
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	if body != "" {
		r.Header.Set("X-File-Name", "a.txt")
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		return 0
	}
	return response.StatusCode
}
