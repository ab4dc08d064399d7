package app_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"larder/internal/apikey"
	"larder/internal/app"
	"larder/internal/db"
	"larder/internal/db/dbtest"
)

// Abuse case C131: uploads that do not end in time are cut off. The stop is clean, and nothing of
// them is left.
func TestStopCutsUploadsThatDoNotEnd(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			cfg := settings(t, engine)
			ctx, stop := context.WithCancel(context.Background())
			defer stop()
			d := deps(io.Discard)
			d.Drain, d.Cut = 50*time.Millisecond, time.Minute
			a, err := app.New(ctx, cfg, d)
			if err != nil {
				t.Fatal(err)
			}
			done := make(chan error, 1)
			go func() { done <- a.Run(ctx) }()
			token := adminKey(t, a, "/uploads")
			const size, uploads = 1 << 20, 16 // as many uploads as an account may have
			conns := make([]net.Conn, uploads)
			for i := range conns {
				if conns[i], err = net.Dial("tcp", a.Addr().String()); err != nil {
					t.Fatal(err)
				}
				defer conns[i].Close()
				fmt.Fprintf(conns[i],
					"POST /api/upload HTTP/1.1\r\nHost: larder\r\nAuthorization: Bearer %s\r\n"+
						"X-File-Name: cut.bin\r\nContent-Length: %d\r\n\r\n", token, size)
				if _, err := conns[i].Write(make([]byte, size/2)); err != nil {
					t.Fatal(err)
				}
			}
			for began := time.Now(); reserved(t, a.DB) != uploads*size; <-time.After(time.Millisecond) {
				if time.Since(began) > time.Minute {
					t.Fatalf("%d bytes are reserved, want those of %d uploads", reserved(t, a.DB), uploads)
				}
			}
			stop()
			if err := <-done; err != nil {
				t.Errorf("the stop returned %v", err)
			}
			for _, conn := range conns {
				if answer, _ := io.ReadAll(conn); strings.Contains(string(answer), " 200 ") {
					t.Errorf("half an upload was answered %q", answer)
				}
			}
			if left, err := filepath.Glob(filepath.Join(cfg.DataDir, "*-wal")); err != nil || len(left) != 0 {
				t.Errorf("left behind by the database: %v, %v", left, err)
			}
			b, err := app.Open(context.Background(), cfg, d)
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			if n := reserved(t, b.DB); n != 0 {
				t.Errorf("%d bytes are still reserved", n)
			}
		})
	}
}

// adminKey waits until the service is ready and creates a key for the administrator. Before that,
// the service refuses all other requests.
func adminKey(t *testing.T, a *app.App, uploadPath string) string {
	t.Helper()
	waitUntilReady(t, a)
	user, err := a.Accounts.ByName(a.DB.Read(t.Context()), "admin")
	if err != nil {
		t.Fatal(err)
	}
	key, secret, err := a.Keys.Create(t.Context(), user.ID,
		apikey.NewKey{Name: "k", Permissions: []string{"read", "write"}, Protocols: []string{"api"},
			UploadPath: uploadPath})
	if err != nil {
		t.Fatal(err)
	}
	return key.ID + "." + secret.Reveal()
}

func reserved(t *testing.T, d *db.DB) (bytes int64) {
	t.Helper()
	if err := d.Read(t.Context()).QueryRow("SELECT CAST(COALESCE(SUM(reserved_storage), 0) AS BIGINT) FROM quotas").
		Scan(&bytes); err != nil {
		t.Fatal(err)
	}
	return bytes
}

// A stop during the first start is clean.
func TestStopBeforeTheStart(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			cfg := settings(t, engine)
			ctx, stop := context.WithCancel(context.Background())
			var out bytes.Buffer
			a, err := app.New(ctx, cfg, deps(&out))
			if err != nil {
				t.Fatal(err)
			}
			stop()
			if err := a.Run(ctx); err != nil {
				t.Errorf("got %v", err)
			}
			if printed := run(t, cfg, func(string) {}); !strings.Contains(printed, "First start") {
				t.Errorf("the next start printed %q", printed)
			}
		})
	}
}
