package secret_test

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"larder/internal/secret"
)

// Abuse case C118: the key file is 0600 in a directory of 0700.
func TestLoadOrCreateMakesAPrivateFile(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new", "data")
	path := filepath.Join(dir, "secret.key")
	key, err := secret.LoadOrCreate(path, bytes.NewReader(goodKey()))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(key, goodKey()) {
		t.Errorf("key = %x", key)
	}
	text, err := os.ReadFile(path)
	if err != nil || string(text) != "BG6FOZgQ1RTSKXAr+9uYV8aSuI2PXUPjeD22xrL+MoY=\n" {
		t.Errorf("file = %q, %v", text, err)
	}
	for name, want := range map[string]os.FileMode{dir: 0o700, filepath.Dir(dir): 0o700, path: 0o600} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s has mode %04o, want %04o", name, got, want)
		}
	}
	if names, err := os.ReadDir(dir); err != nil || len(names) != 1 {
		t.Errorf("the directory holds %v (%v), want the key file alone", names, err)
	}

	again, err := secret.LoadOrCreate(path, iotest.ErrReader(os.ErrClosed))
	if err != nil || !bytes.Equal(again, key) {
		t.Errorf("second call: %x, %v", again, err)
	}
}

func TestLoadOrCreateChecksAnExistingFile(t *testing.T) {
	t.Parallel()
	good := base64.StdEncoding.EncodeToString(goodKey())
	tests := map[string]struct {
		content string
		mode    os.FileMode
		wrong   string // part of the error; empty if the file is good
	}{
		"as written":          {good + "\n", 0o600, ""},
		"without newline":     {good, 0o600, ""},
		"read-only":           {good, 0o400, ""},
		"CRLF":                {good + "\r\n", 0o600, ""},
		"readable by group":   {good, 0o640, "chmod 600"},
		"readable by others":  {good, 0o604, "chmod 600"},
		"writable by group":   {good, 0o620, "chmod 600"},
		"empty":               {"", 0o600, "damaged"},
		"cut":                 {good[:20], 0o600, "damaged"},
		"two keys":            {good + "\n" + good, 0o600, "damaged"},
		"zeros after a crash": {strings.Repeat("\x00", 45), 0o600, "damaged"},
		"weak":                {strings.Repeat("A", 43) + "=", 0o600, "damaged"},
		"huge":                {strings.Repeat("A", 1<<20), 0o600, "damaged"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "secret.key")
			if err := os.WriteFile(path, []byte(tt.content), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(path, tt.mode); err != nil {
				t.Fatal(err)
			}
			key, err := secret.LoadOrCreate(path, rand.Reader)
			if tt.wrong == "" {
				if err != nil || !bytes.Equal(key, goodKey()) {
					t.Errorf("%x, %v", key, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.wrong) || !strings.Contains(err.Error(), path) {
				t.Errorf("error = %v, want one with %q and the path", err, tt.wrong)
			}
			if now, err := os.ReadFile(path); err != nil || string(now) != tt.content {
				t.Errorf("the refused file was changed to %q, %v", now, err)
			}
		})
	}
}

func TestLoadOrCreateNeedsRandomness(t *testing.T) {
	t.Parallel()
	for name, random := range map[string][]byte{"short": goodKey()[:31], "zeros": make([]byte, 64)} {
		path := filepath.Join(t.TempDir(), "secret.key")
		if _, err := secret.LoadOrCreate(path, bytes.NewReader(random)); err == nil {
			t.Errorf("%s: a key was made", name)
		}
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			t.Errorf("%s: a file was left behind (%v)", name, err)
		}
	}
}

func TestLoadOrCreateRefusesADirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := secret.LoadOrCreate(dir, rand.Reader); err == nil {
		t.Error("a directory passed for a key file")
	}
}

func TestParallelLoadOrCreateReturnsOneKey(t *testing.T) {
	t.Parallel()
	for range 20 {
		path := filepath.Join(t.TempDir(), "secret.key")
		keys := make([][]byte, 8)
		var wg sync.WaitGroup
		for i := range keys {
			wg.Go(func() {
				key, err := secret.LoadOrCreate(path, rand.Reader)
				if err != nil {
					t.Error(err)
				}
				keys[i] = key
			})
		}
		wg.Wait()
		for _, key := range keys {
			if !bytes.Equal(key, keys[0]) {
				t.Fatal("two processes that started at once have different keys")
			}
		}
	}
}
