package app_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"larder/internal/app"
	"larder/internal/config"
	"larder/internal/db/dbtest"
	"larder/internal/lifecycle"
	"larder/internal/secret"
)

func settings(t *testing.T, engine string) config.Config {
	t.Helper()
	dir := t.TempDir()
	key := sha256.Sum256([]byte(t.Name()))
	cfg := config.Config{
		Listen: "127.0.0.1:0", DataDir: dir, ObjectDir: filepath.Join(dir, "objects"), SecretKey: secret.Text(key[:]),
		AdminUsername: "admin",
		AdminEmail:    "admin@localhost", RateLimitEnabled: true, RateLimitPerMinute: 600, AuthRateLimit: 5,
		DefaultMaxStorage: 1 << 30, DefaultMaxFiles: 10,
		LinkMaxAge: time.Hour, GarbageGrace: time.Hour,
	}
	if engine == "postgres" {
		cfg.DatabaseURL = secret.Text(dbtest.URL(t))
	}
	return cfg
}

func deps(out io.Writer) app.Deps {
	return app.Deps{Now: time.Now, Random: rand.Reader, Log: slog.New(slog.DiscardHandler), Out: out}
}

// run starts the service, calls while once it is ready, and stops it.
func run(t *testing.T, cfg config.Config, while func(base string)) (printed string) {
	t.Helper()
	var out bytes.Buffer
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	a, err := app.New(ctx, cfg, deps(&out))
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	waitUntilReady(t, a)
	while(a.BaseURL)
	stop()
	if err := <-done; err != nil {
		t.Fatalf("a clean stop returned %v", err)
	}
	return out.String()
}

func waitUntilReady(t *testing.T, a *app.App) {
	t.Helper()
	began := time.Now()
	for status := 0; status != http.StatusOK; {
		if time.Since(began) > time.Minute {
			t.Fatalf("not ready after a minute: status %d", status)
		}
		response, err := http.Get(a.BaseURL + "/api/public/health/ready")
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		status = response.StatusCode
	}
}

func TestStartsAndStopsRepeatedly(t *testing.T) {
	for _, engine := range dbtest.Engines {
		t.Run(engine, func(t *testing.T) {
			cfg := settings(t, engine)
			before := goleak.IgnoreCurrent()
			first := run(t, cfg, func(string) {})
			second := run(t, cfg, func(string) {})
			http.DefaultClient.CloseIdleConnections()
			goleak.VerifyNone(t, before)
			if !strings.HasPrefix(first, "Larder serves http://127.0.0.1:") ||
				!strings.Contains(first, "sign in as admin with the password ") {
				t.Errorf("the first start printed %q", first)
			}
			if !strings.HasPrefix(second, "Larder serves http://127.0.0.1:") || strings.Contains(second, "password") {
				t.Errorf("the second start printed %q", second)
			}
		})
	}
}

// Abuse case C130.
func TestSecondServerOnOneDataDirectoryIsRefused(t *testing.T) {
	t.Parallel()
	cfg := settings(t, "sqlite")
	run(t, cfg, func(string) {
		if _, err := app.New(context.Background(), cfg, deps(io.Discard)); err == nil ||
			!strings.Contains(err.Error(), "in use by another Larder") {
			t.Errorf("got %v", err)
		}
	})
}

func TestWrongAddressOfScrubBackupIsRefused(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"s3://":           "s3:// is not the address of a bucket",
		"s3://b":          "s3://b is not the address of a bucket",
		"s3://backups/å":  "a prefix consists of letters, digits",
		"s3://my-backups": "give LARDER_BACKUP_ENDPOINT",
	} {
		cfg := settings(t, "sqlite")
		cfg.ScrubBackup = address
		if _, err := app.New(t.Context(), cfg, deps(io.Discard)); err == nil ||
			!strings.Contains(err.Error(), "LARDER_SCRUB_BACKUP: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// Abuse case C116.
func TestAnotherMasterKeyIsRefused(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			cfg := settings(t, engine)
			run(t, cfg, func(string) {})
			other := sha256.Sum256([]byte("another key"))
			wrong := cfg
			wrong.SecretKey = secret.Text(other[:])
			if _, err := app.New(context.Background(), wrong, deps(io.Discard)); !errors.Is(err,
				lifecycle.ErrWrongKey) {
				t.Errorf("got %v", err)
			}
			run(t, cfg, func(string) {})
		})
	}
}

// Abuse case C121: the public listener does not serve what the operations listener serves.
func TestOperationsHaveTheirOwnListener(t *testing.T) {
	t.Parallel()
	cfg := settings(t, "sqlite")
	cfg.OpsListen = "127.0.0.1:0"
	run(t, cfg, func(base string) {
		for _, path := range []string{"/metrics", "/debug/pprof/"} {
			response, err := http.Get(base + path)
			if err != nil {
				t.Fatal(err)
			}
			response.Body.Close()
			if response.StatusCode != http.StatusUnauthorized {
				t.Errorf("%s answers %d on the public listener", path, response.StatusCode)
			}
		}
	})
}
