package object_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"larder/internal/blob"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/object"
)

// countedStore counts the objects that are opened.
type countedStore struct {
	blob.Store
	opened int
}

func (s *countedStore) Open(ctx context.Context, key blob.Key) (blob.Object, error) {
	s.opened++
	return s.Store.Open(ctx, key)
}

func (s *countedStore) Verify() error { return s.Store.(blob.Verifier).Verify() }

// cachedFixture is a fixture with a cache of this many bytes, and its store.
func cachedFixture(w *fixture, limit int64) *countedStore {
	w.t.Helper()
	w.objects.Cache = object.NewCache(limit)
	store, err := w.reg.Store(w.t.Context(), "local")
	w.must(err)
	return &countedStore{Store: store}
}

// insertContent stores content and records it, with its hash or without.
func (f *fixture) insertContent(content string, hashed bool) object.Record {
	f.t.Helper()
	o := f.storeContent(content)
	if hashed {
		sum := sha256.Sum256([]byte(content))
		o.SHA256 = hex.EncodeToString(sum[:])
	}
	f.write(func(tx *db.Tx) error {
		_, err := f.objects.Insert(tx, o)
		return err
	})
	return o
}

// open reads an object through the cache.
func (f *fixture) open(store blob.Store, o object.Record) (string, error) {
	f.t.Helper()
	opened, err := f.objects.OpenCached(f.t.Context(), store, o.Location, o.Size)
	if err != nil {
		return "", err
	}
	defer opened.Close()
	content, err := io.ReadAll(opened)
	f.must(err)
	return string(content), nil
}

func (f *fixture) wantContent(store blob.Store, o object.Record, want string) {
	f.t.Helper()
	if got, err := f.open(store, o); err != nil || got != want {
		f.t.Errorf("the object is %q (%v), want %q", got, err, want)
	}
}

// overwrite changes the bytes of an object in its store, behind the back of the service.
func (f *fixture) overwrite(o object.Record, content string) {
	f.t.Helper()
	var changed bool
	root := f.dir
	f.must(filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(string(o.Key), "/"+entry.Name()) {
			return err
		}
		changed = true
		return errors.Join(os.Chmod(path, 0o600), os.WriteFile(path, []byte(content), 0o600))
	}))
	if !changed {
		f.t.Fatalf("no file of the object %s", o.Key)
	}
}

// A small object is read from its store once.
func TestSmallObjectsAreReadOnce(t *testing.T) {
	eachFixture(t, func(t *testing.T, w *fixture) {
		store := cachedFixture(w, 1<<20)
		hashed, plain := w.insertContent("with a hash", true), w.insertContent("", false)
		for range 3 {
			w.wantContent(store, hashed, "with a hash")
			w.wantContent(store, plain, "")
		}
		if store.opened != 2 {
			t.Errorf("the store opened %d objects, want each of 2 once", store.opened)
		}
		if s := w.objects.Cache.Stats(); s.Hits != 4 || s.Misses != 2 || s.Evictions != 0 {
			t.Errorf("the cache counts %+v, want 4 hits and 2 misses", s)
		}
	})
}

// Objects of more than 64 KiB stay out of the cache, and without a cache all do.
func TestOnlySmallObjectsAreCached(t *testing.T) {
	eachFixture(t, func(t *testing.T, w *fixture) {
		if w.objects.Caches(1) {
			t.Error("an object is cached without a cache")
		}
		cachedFixture(w, 1<<20)
		if !w.objects.Caches(65536) || w.objects.Caches(65537) {
			t.Error("the largest object that is cached has not 65,536 bytes")
		}
		if w.objects.Cache = object.NewCache(0); w.objects.Caches(1) {
			t.Error("an object is cached by a cache of 0 bytes")
		}
	})
}

// An object that is not as recorded is neither sent nor kept, and the log says that it has changed.
func TestChangedObjectsAreNotCached(t *testing.T) {
	eachFixture(t, func(t *testing.T, w *fixture) {
		store := cachedFixture(w, 1<<20)
		var log bytes.Buffer
		w.objects.Log = slog.New(slog.NewTextHandler(&log, nil))

		changed := w.insertContent("as it was", true)
		w.overwrite(changed, "as it is!")
		if _, err := w.objects.OpenCached(t.Context(), store, changed.Location, changed.Size); !fault.Is(err,
			fault.Damaged) {
			t.Errorf("the changed object: %v", err)
		}
		w.overwrite(changed, "as it was")
		w.wantContent(store, changed, "as it was")
		if !strings.Contains(log.String(), "an object has changed in its store") {
			t.Errorf("the log is %q", log.String())
		}

		shorter := w.insertContent("longer", false)
		w.overwrite(shorter, "short")
		opened, err := w.objects.OpenCached(t.Context(), store, shorter.Location, shorter.Size)
		w.must(err)
		if opened.Size() != 5 {
			t.Errorf("the object has %d bytes, want the 5 of the store", opened.Size())
		}
		w.must(opened.Close())
		w.overwrite(shorter, "longer")
		w.wantContent(store, shorter, "longer")
	})
}

// An object of which nothing is recorded, as after its deletion, is not kept.
func TestUnrecordedObjectsAreNotCached(t *testing.T) {
	eachFixture(t, func(t *testing.T, w *fixture) {
		store := cachedFixture(w, 1<<20)
		o := w.storeContent("nobody's")
		w.wantContent(store, o, "nobody's")
		if s := w.objects.Cache.Stats(); s.Bytes != 0 {
			t.Errorf("the cache takes %d bytes", s.Bytes)
		}
	})
}

// Nothing is sent from memory while the disk of the store is not there.
func TestCacheOfAnAbsentDisk(t *testing.T) {
	eachFixture(t, func(t *testing.T, w *fixture) {
		store := cachedFixture(w, 1<<20)
		o := w.insertContent("on the disk", true)
		w.wantContent(store, o, "on the disk")
		at := filepath.Join(w.dir, "local")
		w.must(os.Rename(at, at+"-away"))
		if _, err := w.open(store, o); !errors.Is(err, blob.ErrUnavailable) {
			t.Errorf("the error is %v, want that the store is unavailable", err)
		}
		w.must(os.Rename(at+"-away", at))
		w.wantContent(store, o, "on the disk")
	})
}

// The collector drops the objects that it deletes.
func TestCollectorDropsCachedObjects(t *testing.T) {
	eachFixture(t, func(t *testing.T, w *fixture) {
		store := cachedFixture(w, 1<<20)
		o := w.storeContent("for a while")
		var id string
		w.write(func(tx *db.Tx) (err error) {
			id, err = w.objects.Insert(tx, o)
			return err
		})
		w.wantContent(store, o, "for a while")
		w.write(func(tx *db.Tx) error { return w.objects.Release(tx, id, "") })
		w.advance(grace)
		w.collect()
		if s := w.objects.Cache.Stats(); s.Bytes != 0 {
			t.Errorf("the cache takes %d bytes after the deletion", s.Bytes)
		}
	})
}

// The cache never takes more memory than it may.
func TestCacheIsBounded(t *testing.T) {
	eachFixture(t, func(t *testing.T, w *fixture) {
		const limit = 256 << 10
		store := cachedFixture(w, limit)
		for i := range 100 {
			content := strings.Repeat(fmt.Sprint(i%10), 10_000)
			w.wantContent(store, w.insertContent(content, false), content)
			if s := w.objects.Cache.Stats(); s.Bytes > limit {
				t.Fatalf("the cache takes %d bytes of %d", s.Bytes, limit)
			}
		}
		if s := w.objects.Cache.Stats(); s.Bytes < limit/2 || s.Evictions < 70 {
			t.Errorf("the cache counts %+v, want about 25 of 100 objects in it", s)
		}
	})
}
