package provider_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"larder/internal/blob"
	"larder/internal/db"
	"larder/internal/db/dbtest"
	"larder/internal/fault"
	"larder/internal/provider"
)

func newRegistry(t *testing.T, d *db.DB) (r *provider.Registry, dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "objects")
	r = provider.New(provider.Config{DB: d, ObjectDir: dir, Now: func() time.Time { return time.UnixMilli(7) }})
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r, dir
}

func insert(t *testing.T, d *db.DB, r *provider.Registry, p provider.Provider) {
	t.Helper()
	err := d.Write(t.Context(), func(tx *db.Tx) error {
		if err := r.Insert(tx, p); err != nil {
			return err
		}
		_, err := tx.Exec(
			`INSERT INTO mounts (id, provider_id, root_id, mount_path, name, sort_by, sort_order, priority, created_at, updated_at)
			VALUES ($1, $2, 'r', '/', 'n', 'name', 'asc', 0, 0, 0)`, "mount of "+p.ID, p.ID)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// statusByID checks all stores.
func statusByID(t *testing.T, r *provider.Registry) map[string]error {
	t.Helper()
	list, err := r.StoreStatuses(t.Context(), provider.StatusTimeout)
	if err != nil {
		t.Fatal(err)
	}
	by := map[string]error{}
	for _, status := range list {
		by[status.Provider.ID] = status.Err
	}
	return by
}

// A disk is short of what is missing to twice the minimum.
func TestShortages(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r, dir := newRegistry(t, d)
		if err := r.Prepare("default", "marker-1"); err != nil {
			t.Fatal(err)
		}
		insert(t, d, r, provider.Provider{ID: "p1", Name: "disk", Type: provider.BuiltIn, Bucket: "default",
			Marker: "marker-1"})
		list, err := r.StoreStatuses(t.Context(), provider.StatusTimeout)
		if err != nil {
			t.Fatal(err)
		}
		free := list[0].Free
		change := free / 8 // other tests write meanwhile
		for minimum, want := range map[int64]int64{0: 0, free/2 - change: 0, free/2 + change: 2 * change,
			1 << 60: 1<<61 - free} {
			short, err := provider.New(provider.Config{DB: d, ObjectDir: dir, MinFree: minimum, Now: time.Now}).
				Shortages(t.Context())
			var got int64
			if len(short) == 1 {
				got = short[0].Bytes
			}
			if err != nil || (got == 0) != (want == 0) || max(got-want, want-got) > change {
				t.Errorf("with a minimum of %d of %d bytes: %+v, %v; want %d", minimum, free, short, err, want)
			}
		}
	})
}

// check returns the errors of all stores that cannot be used.
func check(t *testing.T, r *provider.Registry) error {
	t.Helper()
	return errors.Join(slices.Collect(maps.Values(statusByID(t, r)))...)
}

// A store without its marker (a disk that is not mounted) is Unavailable and is not written to. It
// is available again when the marker is back.
func TestMissingMarker(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r, dir := newRegistry(t, d)
		if err := r.Prepare("default", "marker-1"); err != nil {
			t.Fatal(err)
		}
		want := provider.Provider{ID: "p", Name: "local", Type: provider.BuiltIn, Bucket: "default",
			PublicDomain: "cdn.example", PathPrefix: "x", Redirect: true, Marker: "marker-1",
			Region: "auto", UploadDomain: "up.example", UploadMode: "worker", CreatedAt: 3, UpdatedAt: 4}
		insert(t, d, r, want)
		if got, err := r.ByID(t.Context(), "p"); err != nil || got != want {
			t.Errorf("%+v, %v", got, err)
		}
		store, err := r.Store(t.Context(), "p")
		if err != nil {
			t.Fatal(err)
		}
		if err := check(t, r); err != nil {
			t.Errorf("all stores work: %v", err)
		}
		here, away := filepath.Join(dir, "default"), filepath.Join(dir, "away")
		if err := os.Rename(here, away); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(here, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := check(t, r); !fault.Is(err, fault.Unavailable) {
			t.Errorf("check: %v", err)
		}
		const key = blob.Key("ab/00112233445566778899aabbccddeeff")
		if _, err := store.Put(t.Context(), key, strings.NewReader("x"),
			blob.PutOptions{Size: 1}); !fault.Is(provider.Fault(err), fault.Unavailable) {
			t.Errorf("put: %v", err)
		}
		if _, err := store.Open(t.Context(), key); !fault.Is(provider.Fault(err), fault.Unavailable) {
			t.Errorf("open: %v", err)
		}
		if entries, err := os.ReadDir(here); err != nil || len(entries) != 0 {
			t.Errorf("written to the directory beneath: %v, %v", entries, err)
		}
		if err := errors.Join(os.Remove(here), os.Rename(away, here)); err != nil {
			t.Fatal(err)
		}
		if err := check(t, r); err != nil {
			t.Errorf("the disk is back: %v", err)
		}
	})
}

// A provider without mounts may still have objects.
func TestCheckAsksProvidersWithoutMounts(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r, dir := newRegistry(t, d)
		for _, id := range []string{"a", "b"} {
			if err := r.Prepare(id, id); err != nil {
				t.Fatal(err)
			}
			err := d.Write(t.Context(), func(tx *db.Tx) error {
				return r.Insert(tx, provider.Provider{ID: id, Name: id, Type: provider.BuiltIn, Bucket: id, Marker: id})
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := check(t, r); err != nil {
			t.Errorf("all stores work: %v", err)
		}
		if err := os.Remove(filepath.Join(dir, "b", ".larder-store")); err != nil {
			t.Fatal(err)
		}
		if err := check(t, r); !fault.Is(err, fault.Unavailable) {
			t.Errorf("one is missing: %v", err)
		}
		if err := statusByID(t, r)["a"]; err != nil {
			t.Errorf("the other provider: %v", err)
		}
	})
}

// Files that a crash leaves in a store have no row, so they are deleted by age.
func TestSweepRemovesWhatCrashesLeft(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		dir := filepath.Join(t.TempDir(), "objects")
		now := time.Now()
		r := provider.New(provider.Config{DB: d, ObjectDir: dir, Now: func() time.Time { return now }})
		defer r.Close()
		if err := r.Prepare("default", "marker-1"); err != nil {
			t.Fatal(err)
		}
		insert(t, d, r, provider.Provider{ID: "p", Name: "local", Type: provider.BuiltIn, Bucket: "default",
			Marker: "marker-1"})
		insert(t, d, r, provider.Provider{ID: "gone", Name: "gone", Type: provider.BuiltIn, Bucket: "gone",
			Marker: "marker-2"})
		half := filepath.Join(dir, "default", "tmp", "00112233445566778899aabbccddeeff-0")
		if err := os.WriteFile(half, []byte("half an upload"), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, step := range []struct {
			age  time.Duration
			gone bool
		}{{2 * time.Hour, false}, {4 * time.Hour, true}} {
			if err := os.Chtimes(half, time.Time{}, now.Add(-step.age)); err != nil {
				t.Fatal(err)
			}
			if err := r.Sweep(t.Context()); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(half); errors.Is(err, os.ErrNotExist) != step.gone {
				t.Errorf("after %v: %v", step.age, err)
			}
		}
	})
}

func TestStoresThatCannotBeOpened(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r, _ := newRegistry(t, d)
		insert(t, d, r, provider.Provider{ID: "b", Name: "b", Type: "store_b"})
		for _, id := range []string{"b", "absent"} {
			if _, err := r.Store(t.Context(), id); !fault.Is(err, fault.Unavailable) {
				t.Errorf("%s: %v", id, err)
			}
		}
		if err := check(t, r); !fault.Is(err, fault.Unavailable) {
			t.Errorf("check: %v", err)
		}
		if _, err := r.ByID(t.Context(), "absent"); !fault.Is(err, fault.NotFound) {
			t.Errorf("by id: %v", err)
		}
		for _, bucket := range []string{"", "..", "a/b", ".hidden", "a b", strings.Repeat("x", 64)} {
			if err := r.Prepare(bucket, "m"); !fault.Is(err, fault.Invalid) {
				t.Errorf("bucket %q: %v", bucket, err)
			}
		}
	})
}

func TestFault(t *testing.T) {
	for _, c := range []struct {
		err  error
		kind fault.Kind
	}{
		{fmt.Errorf("put: %w", blob.ErrSize{Want: 1, Got: 2}), fault.Unverified},
		{fmt.Errorf("put: %w", blob.ErrTooLarge), fault.TooLarge},
		{blob.NoSpace("put", errors.New("full")), fault.Unavailable},
		{fmt.Errorf("put: %w", blob.ErrNoSpace), fault.Unavailable},
		{fmt.Errorf("put: %w", blob.ErrUnavailable), fault.Unavailable},
		{blob.ErrNotFound, fault.Internal},
		{fault.New(fault.Forbidden, "No."), fault.Forbidden},
	} {
		if got := fault.KindOf(provider.Fault(c.err)); got != c.kind {
			t.Errorf("%v: kind %d, want %d", c.err, got, c.kind)
		}
	}
	if provider.Fault(nil) != nil {
		t.Error("nil became an error")
	}
}
