package files_test

import (
	"errors"
	"testing"

	"larder/internal/blob"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/object"
	"larder/internal/provider"
)

// An upload to a provider that was deleted meanwhile is never acknowledged, even if its mount
// continues with another provider.
func TestPutInADeletedProvider(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		dest, err := h.tree.ResolveDestination(t.Context(), h.ann, mustParsePath("/home/ann"), "f", files.RenameNew)
		h.must(err)
		other, err := h.tree.ResolveDestination(t.Context(), h.ann, mustParsePath("/home/ann"), "g", files.RenameNew)
		h.must(err)
		one, two := h.storeContent("one"), h.storeContent("two")
		h.must(h.reg.Prepare("other", "other"))
		h.write(func(tx *db.Tx) error {
			err := h.reg.Insert(tx, provider.Provider{ID: "other", Name: "other", Type: provider.BuiltIn,
				Bucket: "other", Marker: "other"})
			if err != nil {
				return err
			}
			_, err = tx.Exec("UPDATE mounts SET provider_id = 'other'")
			return err
		})
		e, err := h.putEntry(h.ann, dest, one) // abuse case C24
		if h.must(err); e.Name != "f" {
			t.Errorf("%+v", e)
		}
		h.write(func(tx *db.Tx) error { return h.reg.Delete(tx, "local") })
		_, err = h.putEntry(h.ann, other, two)
		h.wantFault("its provider was deleted", err, fault.Conflict)
		if bytes, count := h.usage("ann"); bytes != 3 || count != 1 {
			t.Errorf("charged %d bytes and %d files", bytes, count)
		}
	})
}

// Keys that were only recorded are released. A key that becomes used first, or is recorded
// meanwhile, keeps the provider in use.
func TestNotedKeysAreReleased(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		const key = blob.Key("ab/00112233445566778899aabbccddeeff")
		release := func(keys []blob.Key) error {
			return h.db.Write(t.Context(), func(tx *db.Tx) error { return object.ForgetKeys(tx, "local", keys) })
		}
		h.write(func(tx *db.Tx) error { return object.Discard(tx, "local", key, 1e15) })
		keys, err := h.tree.Objects.UnusedKeys(t.Context(), "local")
		if h.must(err); len(keys) != 1 || keys[0] != key {
			t.Errorf("noted %q", keys)
		}
		dest, err := h.tree.ResolveDestination(t.Context(), h.ann, mustParsePath("/home/ann"), "f", files.RenameNew)
		h.must(err)
		s := h.storeContent("body")
		h.wantFault("a key that was recorded meanwhile", release(keys), fault.Conflict)
		_, err = h.tree.Objects.UnusedKeys(t.Context(), "local")
		h.wantFault("an object without a file", err, fault.Conflict)
		e, err := h.putEntry(h.ann, dest, s)
		h.must(err)
		h.wantFault("a file that was added meanwhile", release(keys), fault.Conflict)
		_, err = h.tree.Objects.UnusedKeys(t.Context(), "local")
		h.wantFault("a file", err, fault.Conflict)
		if n := h.countRows("garbage"); n != 1 {
			t.Errorf("%d keys recorded after a refusal, want 1", n)
		}

		_, _, err = h.tree.Delete(t.Context(), h.ann, e.ID)
		h.must(err)
		_, err = h.tree.Objects.UnusedKeys(t.Context(), "local")
		h.wantFault("garbage", err, fault.Conflict)
		h.advance(grace)
		h.collect()
		keys, err = h.tree.Objects.UnusedKeys(t.Context(), "local")
		h.must(err)
		h.must(release(keys))
		if n := h.countRows("garbage"); n != 0 {
			t.Errorf("%d keys left", n)
		}
		_, err = h.putEntry(h.ann, dest, files.StoredObject{Key: key, Size: 1})
		if !errors.Is(err, object.ErrCollected) {
			t.Errorf("content under a released key: %v", err)
		}

		// parts may exist under a key without an object
		h.write(func(tx *db.Tx) error {
			if err := object.Discard(tx, "local", key, 1e15); err != nil {
				return err
			}
			_, err := tx.Exec("UPDATE garbage SET upload_id = 'x'")
			return err
		})
		_, err = h.tree.Objects.UnusedKeys(t.Context(), "local")
		h.wantFault("parts", err, fault.Conflict)
		h.wantFault("parts", release([]blob.Key{key}), fault.Conflict)
	})
}
