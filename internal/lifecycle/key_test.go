package lifecycle_test

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"larder/internal/db"
	"larder/internal/db/dbtest"
	"larder/internal/ident"
	"larder/internal/lifecycle"
	"larder/internal/secret"
)

// A server that looks at the key while a rotation is being committed waits for it, and is refused
// with the old key. A rotation that looks for servers afterwards sees the row of this one.
func TestStartDuringARotation(t *testing.T) {
	t.Parallel()
	d := dbtest.Open(t, "postgres")
	r := newReplica(t, d, t.TempDir())
	const old = "00000000000000ff"
	if err := r.life.CheckKey(ctx, old); err != nil {
		t.Fatal(err)
	}
	checked := make(chan error, 1)
	if err := d.Write(ctx, func(tx *db.Tx) error {
		if _, err := tx.Exec("UPDATE versions SET value = 1 WHERE name = 'key'"); err != nil {
			return err
		}
		go func() { checked <- r.life.CheckKey(ctx, old) }()
		for r.count("SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND "+
			"wait_event_type = 'Lock'") == 0 {
			select {
			case err := <-checked:
				t.Errorf("the start did not wait: %v", err)
				checked <- err
				return nil
			case <-time.After(time.Millisecond):
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := <-checked; !errors.Is(err, lifecycle.ErrWrongKey) {
		t.Errorf("the start with the old key: %v", err)
	}
}

// A rotation reports wrong keys, and what it did.
func TestRotateKey(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB, objects string) {
		r := newReplica(t, d, objects)
		var rings []*secret.Keyring
		for range 3 {
			ring, err := secret.New(ident.New(rand.Reader).Bytes(32))
			if err != nil {
				t.Fatal(err)
			}
			rings = append(rings, ring)
		}
		if err := r.life.CheckKey(ctx, rings[0].Fingerprint()); err != nil {
			t.Fatal(err)
		}
		for _, row := range []struct {
			from, to int
			rotated  bool
			wrong    bool
		}{{1, 2, false, true}, {0, 1, true, false}, {0, 1, false, false}, {0, 2, false, true}, {1, 2, true, false}} {
			rotation := secret.Rotation{From: rings[row.from], To: rings[row.to]}
			rotated, err := r.life.RotateKey(ctx, &rotation, rotation.From.Former(now(), "share"))
			if rotated != row.rotated || errors.Is(err, lifecycle.ErrWrongKey) != row.wrong ||
				err != nil && !row.wrong {
				t.Errorf("%+v: %v, %v", row, rotated, err)
			}
		}
		if err := r.life.RecheckKey(ctx, rings[2].Fingerprint()); err != nil {
			t.Error(err)
		}
		if err := r.life.RecheckKey(ctx, rings[1].Fingerprint()); !errors.Is(err, lifecycle.ErrWrongKey) {
			t.Errorf("the old key: %v", err)
		}
	})
}

// Every package that seals values or signs tokens with the master key is known to RotateKey: a new
// one must get a call in it, or a reason here.
func TestRotationKnowsEveryUseOfTheKey(t *testing.T) {
	t.Parallel()
	use := regexp.MustCompile(`(?i:secrets|keys|rotation\.To)\.(Seal|Sign|Key)\(`)
	var uses []string
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, found := range use.FindAllSubmatch(text, -1) {
			uses = append(uses, filepath.Base(filepath.Dir(path))+" "+string(found[1]))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(uses)
	want := []string{
		"account Key",   // sessions end; codes last 5 minutes; known devices and unknown names start anew
		"api Sign",      // cookies of given passwords: api.FormerKeys
		"freemode Seal", // freemode.Reseal
		"provider Seal", // provider.Reseal
		"site Seal",     // site.Reseal
	}
	if got := slices.Compact(uses); !slices.Equal(got, want) {
		t.Errorf("the uses of the master key are %q, want %q", got, want)
	}
}
