package upload_test

import (
	"context"
	"io"
	"strings"
	"testing"

	"larder/internal/blob"
	"larder/internal/upload"
)

// typeRecordingStore is a store that records the types that it is given.
type typeRecordingStore struct {
	blob.Store
	types *[]string
}

func (s typeRecordingStore) Put(ctx context.Context, key blob.Key, body io.Reader,
	opts blob.PutOptions) (blob.Info, error) {
	*s.types = append(*s.types, opts.MimeType)
	return s.Store.Put(ctx, key, body, opts)
}

func (s typeRecordingStore) Begin(ctx context.Context, key blob.Key, size, partSize int64,
	mimeType string) (blob.Upload, error) {
	*s.types = append(*s.types, mimeType)
	return s.Store.Begin(ctx, key, size, partSize, mimeType)
}

// A store that serves its objects itself needs their types, as far as they are known before the
// bytes.
func TestStoreReceivesTheType(t *testing.T) {
	each(t, func(t *testing.T, w *fixture) {
		var types []string
		w.up.WrapStores(func(inner blob.Store) blob.Store { return typeRecordingStore{inner, &types} })
		const html, png = "<!doctype html><title>x</title>", "\x89PNG\r\n\x1a\n"
		two := int64(2)
		for _, c := range []struct {
			name, claim, body string
			raw, whole, parts string // type by a session, in one request, in parts
		}{
			{"a.png", "", png, "image/png", "image/png", "image/png"},
			{"a.png", "image/x-mine", png, "image/x-mine", "image/x-mine", "image/x-mine"},
			{"a.png", "application/octet-stream", html, "image/png", "image/png", "image/png"},
			{"nothing", "", png, "", "image/png", ""}, // known by the bytes only
		} {
			types = nil
			n := file(c.name, int64(len(c.body)))
			n.MimeType = c.claim
			w.putRaw(w.ann, w.create(w.ann, n).ID, c.body)
			for _, o := range []upload.OneShot{oneShot(c.name, c.body, int64(len(c.body))), oneShot(c.name, c.body, -1),
				oneShot(c.name, c.body+strings.Repeat(" ", 300_000), -1)} {
				o.MimeType = c.claim
				if _, err := w.up.Put(ctx, w.ann, o); err != nil {
					t.Fatal(err)
				}
			}
			n.PartCount = &two
			w.create(w.ann, n)
			want := strings.Join([]string{c.raw, c.whole, c.whole, c.whole, c.parts}, ", ")
			if got := strings.Join(types, ", "); got != want {
				t.Errorf("%s as %q: told %q, want %q", c.name, c.claim, got, want)
			}
		}
		// The header of a raw body takes precedence over the session.
		types = nil
		session := w.create(w.ann, file("b.txt", 1))
		if _, _, err := w.up.PutRaw(ctx, w.ann, session.ID, strings.NewReader("x"), 1, "text/x-header"); err != nil ||
			types[0] != "text/x-header" {
			t.Errorf("told %q, %v", types, err)
		}
	})
}
