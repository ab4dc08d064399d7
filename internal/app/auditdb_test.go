package app_test

import (
	"bytes"
	"context"
	"database/sql"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"larder/internal/app"
	"larder/internal/apptest"
	"larder/internal/audit"
	"larder/internal/config"
)

// runOnce returns the configuration of a service that has run, with an access log in a file.
func runOnce(t *testing.T) config.Config {
	t.Helper()
	cfg := settings(t, "sqlite")
	run(t, cfg, func(string) {})
	return cfg
}

// setAsideFiles returns the renamed files beside audit.db.
func setAsideFiles(t *testing.T, cfg config.Config) []string {
	t.Helper()
	names, err := filepath.Glob(cfg.AuditFile() + ".malformed-*")
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// withRunningApp starts the service, calls while with the text of the readiness check, and stops
// the service.
func withRunningApp(t *testing.T, cfg config.Config, while func(a *app.App, detail string)) (logged string) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	d, out := deps(io.Discard), &apptest.LogBuffer{}
	d.Log, d.ManualSweep = slog.New(slog.NewTextHandler(out, nil)), true
	a, err := app.New(ctx, cfg, d)
	if err != nil {
		stop()
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	adminKey(t, a, "/public") // waits for the first start
	var detail string
	for status := 0; status != http.StatusOK; {
		status, detail = probe(t, a)
	}
	while(a, detail)
	stop()
	if err := <-done; err != nil {
		t.Errorf("stop: %v", err)
	}
	return out.String()
}

func probe(t *testing.T, a *app.App) (status int, body string) {
	t.Helper()
	response, err := http.Get("http://" + a.Addr().String() + "/api/public/health/ready")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

// A malformed audit.db does not prevent the start: it is renamed together with its journal, a
// warning is shown until the next start, and a new log begins.
func TestMalformedAccessLogIsSetAside(t *testing.T) {
	t.Parallel()
	junk := bytes.Repeat([]byte("this is no database. "), 1000)
	for name, spoil := range map[string]func(t *testing.T, path string){
		"no database": func(t *testing.T, path string) { write(t, path, junk) },
		"damaged pages": func(t *testing.T, path string) {
			content, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			write(t, path, append(content[:4096:4096], junk...))
		},
		"cut off": func(t *testing.T, path string) {
			if err := os.Truncate(path, 3*4096); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := runOnce(t)
			spoil(t, cfg.AuditFile())
			write(t, cfg.AuditFile()+"-wal", []byte("its journal"))
			spoilt, err := os.ReadFile(cfg.AuditFile())
			if err != nil {
				t.Fatal(err)
			}
			logged := withRunningApp(t, cfg, func(a *app.App, detail string) {
				if !strings.Contains(detail, "the access log was damaged") || !strings.Contains(detail, `"degraded"`) {
					t.Errorf("the readiness probe says %s", detail)
				}
				a.Audit.Record(audit.Entry{Action: audit.Upload, Path: "/new", Status: 200})
			})
			names := setAsideFiles(t, cfg)
			if len(names) < 1 || !strings.Contains(logged, "level=ERROR") ||
				!strings.Contains(logged, filepath.Base(names[0])) {
				t.Errorf("%v, logged: %s", names, logged)
			}
			for _, aside := range names {
				if content, err := os.ReadFile(aside); err != nil || !strings.HasSuffix(aside, "-wal") &&
					!strings.HasSuffix(aside, "-shm") && !bytes.Equal(content, spoilt) {
					t.Errorf("%s is another file than before, %v", aside, err)
				}
			}
			withRunningApp(t, cfg, func(a *app.App, detail string) {
				if !strings.Contains(detail, `"detail":""`) {
					t.Errorf("at the next start the readiness probe says %s", detail)
				}
				entries, _, err := a.Audit.List(t.Context(), audit.Query{Action: audit.Upload, Page: 1, Limit: 10})
				if err != nil || len(entries) != 1 || entries[0].Path != "/new" {
					t.Errorf("the new log holds %v, %v", entries, err)
				}
			})
			if again := setAsideFiles(t, cfg); len(again) != len(names) {
				t.Errorf("set aside again: %v", again)
			}
		})
	}
}

func write(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// Only a malformed access log is renamed. The log of a newer Larder stays, and so does the metadata
// in any state; the service does not start then.
func TestOtherDatabasesAreNotSetAside(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(t *testing.T, cfg config.Config){
		"access log of a newer Larder": func(t *testing.T, cfg config.Config) {
			d, err := sql.Open("sqlite", cfg.AuditFile())
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			if _, err := d.Exec("UPDATE audit_version SET version = 999, oldest = 999"); err != nil {
				t.Fatal(err)
			}
		},
		"metadata": func(t *testing.T, cfg config.Config) {
			write(t, cfg.DatabaseFile(), []byte(strings.Repeat("no database", 1000)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := runOnce(t)
			spoil(t, cfg)
			if a, err := app.New(t.Context(), cfg, deps(io.Discard)); err == nil {
				t.Errorf("it starts, %v", a.Close())
			}
			names, err := filepath.Glob(filepath.Join(cfg.DataDir, "*malformed*"))
			if err != nil || len(names) != 0 {
				t.Errorf("set aside: %v, %v", names, err)
			}
			for _, path := range []string{cfg.AuditFile(), cfg.DatabaseFile()} {
				if _, err := os.Stat(path); err != nil {
					t.Error(err)
				}
			}
		})
	}
}
