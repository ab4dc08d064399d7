package upload_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"larder/internal/blob"
	"larder/internal/blob/blobtest"
	"larder/internal/fault"
	"larder/internal/upload"
)

// signingStore is a store that signs addresses, copies nothing, and has the etags of the bytes sent
// to them. An address begins with the key.
type signingStore struct {
	*blobtest.FaultyStore
	tags *sync.Map // by key
}

func (s signingStore) Stat(ctx context.Context, key blob.Key) (blob.Info, error) {
	info, err := s.FaultyStore.Stat(ctx, key)
	if tag, sent := s.tags.Load(key); sent {
		info.ETag = tag.(string)
	}
	return info, err
}

func (signingStore) PresignGet(context.Context, blob.Key, blob.GetOptions) (string, error) {
	return "", errors.New("not needed here")
}

func (signingStore) PresignPut(_ context.Context, key blob.Key, size int64, lasts time.Duration) (string, error) {
	return fmt.Sprintf("%s %d %v", key, size, lasts), nil
}

func (signingStore) PresignPart(_ context.Context, u blob.Upload, number int, lasts time.Duration) (string, error) {
	return fmt.Sprintf("%s %d %d %v", u.Key, number, u.PartLength(number), lasts), nil
}

// signAddresses makes the store sign addresses from now on. It returns a function that sends
// content to such an address, past the service, replacing what was sent before, and returns the
// etag.
func (f *fixture) signAddresses() (straight func(address, content string) (etag string)) {
	tags := &sync.Map{}
	f.up.WrapStores(func(inner blob.Store) blob.Store {
		if failing, ok := inner.(*blobtest.FaultyStore); ok {
			return signingStore{failing, tags}
		}
		return inner
	})
	return func(address, content string) string {
		f.t.Helper()
		name, _, _ := strings.Cut(address, " ")
		key, body := blob.Key(name), strings.NewReader(content)
		if err := f.store.Delete(ctx, key); err != nil {
			f.t.Fatal(err)
		}
		if _, err := f.store.Put(ctx, key, body, blob.PutOptions{Size: body.Size()}); err != nil {
			f.t.Fatal(err)
		}
		etag := `"` + sha(content)[:32] + `"`
		tags.Store(key, etag)
		return etag
	}
}

// A store that signs addresses and cannot copy has its bytes copied by the service, which hashes
// them and checks them once more afterwards.
func TestDirectUploadIsCopiedThroughTheService(t *testing.T) {
	each(t, func(t *testing.T, w *fixture) {
		straight := w.signAddresses()
		session := w.create(w.ann, file("f", 300_000))
		if session.Mode != "presigned" || !strings.HasSuffix(session.URL, " 300000 1h0m0s") {
			t.Fatalf("mode %s, address %s", session.Mode, session.URL)
		}
		text := strings.Repeat("abc", 100_000)
		etag := straight(session.URL, text)

		w.store.QueueFaults(blobtest.Put, blobtest.Fault{Err: blob.Unavailable("put", errors.New("down")),
			FailAfter: 1000})
		_, _, err := w.up.Complete(ctx, w.ann, session.ID, etag)
		w.wantFault(err, fault.Unavailable, "a store that does not take the copy")
		w.store.QueueFaults(blobtest.Open, blobtest.Fault{Err: blob.Unavailable("open", errors.New("down"))})
		_, _, err = w.up.Complete(ctx, w.ann, session.ID, etag)
		w.wantFault(err, fault.Unavailable, "a store that does not open the bytes")
		if b, n := w.reserved(w.ann); b != 300_000 || n != 1 {
			t.Errorf("reserved: %d bytes, %d files", b, n)
		}
		if got := w.content(w.ann, w.complete(w.ann, session.ID, etag).ID); got != text {
			t.Errorf("%d other bytes", len(got))
		}
		if n := w.queryInt("SELECT count(*) FROM objects WHERE sha256 = $1", sha(text)); n != 1 {
			t.Errorf("%d objects have the checksum", n)
		}

		// Other bytes of the same length arrive during the copy.
		session = w.create(w.ann, file("g", 5))
		etag = straight(session.URL, "first")
		then := func() { straight(session.URL, "other") } // this Put goes past the hook
		w.up.WrapStores(func(inner blob.Store) blob.Store {
			return struct {
				hookedStore
				blob.Presigner
			}{hookedStore{inner, then}, inner.(signingStore)}
		})
		_, _, err = w.up.Complete(ctx, w.ann, session.ID, etag)
		w.wantFault(err, fault.Unverified, "bytes that changed while they were copied")
		w.advance(4 * time.Hour)
		w.sweepAndCollect()
		if n := w.queryInt("SELECT count(*) FROM garbage"); n > 64 { // keys on the list that were not used, or none
			t.Errorf("%d keys of garbage", n)
		}
		if objects := w.storedKeys(); len(objects) != 2 { // the first file of the fixture, and f
			t.Errorf("in the store: %v", objects)
		}
	})
}

// A key that a replica with a clock far ahead has collected is replaced by another one, unnoticed
// by the client (abuse case C129).
func TestDirectUploadGetsANewKeyWhenItsOwnWasCollected(t *testing.T) {
	each(t, func(t *testing.T, w *fixture) {
		straight := w.signAddresses()
		session := w.create(w.ann, file("f", 5))
		etag := straight(session.URL, "12345")
		w.put("notes a batch of keys", "x")
		// all but the staging key
		w.exec("UPDATE garbage SET after = after + 1000000000 WHERE key IN (SELECT object_key FROM upload_sessions)")
		w.collectWithClockAhead(3 * time.Hour)
		if got := w.content(w.ann, w.complete(w.ann, session.ID, etag).ID); got != "12345" {
			t.Errorf("read %q", got)
		}
	})
}

// The client's request and the scheme of the site decide where the bytes are sent; any other mode
// is refused.
func TestDirectUploadIsForClientsThatReachTheStore(t *testing.T) {
	each(t, func(t *testing.T, w *fixture) {
		w.signAddresses()
		for _, c := range []struct {
			change func(n *upload.NewSession)
			want   string
		}{
			{func(*upload.NewSession) {}, "presigned"},
			{func(n *upload.NewSession) { n.Mode = "auto" }, "presigned"},
			{func(n *upload.NewSession) { n.Mode = "worker" }, "worker"},
			{func(n *upload.NewSession) { n.Size = 0 }, "worker"},
			// the built-in store has no address that begins with http://
			{func(n *upload.NewSession) { n.HTTPS = true }, "presigned"},
		} {
			n := file("f", 1)
			c.change(&n)
			if session := w.create(w.ann, n); session.Mode != c.want || (session.URL != "") != (c.want == "presigned") {
				t.Errorf("%+v: %s, address %q", n, session.Mode, session.URL)
			}
		}
		n := file("f", 1)
		n.Mode = "presigned"
		_, err := w.up.Create(ctx, w.ann, n)
		w.wantFault(err, fault.Invalid, "an invalid mode")
	})
}

var _ blob.Presigner = signingStore{}
