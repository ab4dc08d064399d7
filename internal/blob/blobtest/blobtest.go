// Package blobtest tests the contract of blob.Store, with one suite for all implementations, and
// provides a store with injected faults for the tests of other packages.
package blobtest

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io"
	"maps"
	"strings"
	"testing"
	"testing/iotest"

	"larder/internal/blob"
	"larder/internal/ident"
)

// ids draws keys that differ between test runs, since a bucket may outlive a run.
var ids = ident.New(rand.Reader)

// NewKey returns a random key of an object that does not exist yet, with the extension bin.
func NewKey() blob.Key { return blob.NewKey(ids, nil, "bin") }

// Run tests that a store keeps the contract of blob.Store, in one subtest per rule, in parallel.
// open returns an empty store for each subtest and registers its own cleanup.
func Run(t *testing.T, open func(t *testing.T) blob.Store) {
	tests := map[string]func(*testing.T, blob.Store){
		"put_then_read_gives_the_same_bytes":            roundTrip,
		"put_tells_size_and_hash":                       knownHashes,
		"body_unlike_its_announced_size_is_refused":     wrongSize,
		"body_over_the_bound_is_refused":                tooLarge,
		"body_is_read_one_byte_beyond_the_bound":        readLimit,
		"key_that_exists_is_never_overwritten":          neverOverwrites,
		"of_parallel_puts_to_one_key_one_wins":          parallelSameKey,
		"parallel_puts_keep_their_bytes_apart":          parallelKeys,
		"failing_reader_leaves_nothing":                 failingReader,
		"wrapped_end_of_file_is_a_failure":              wrappedEOF,
		"reader_without_progress_is_given_up":           noProgress,
		"cancelled_put_leaves_nothing":                  cancelledPut,
		"nothing_is_readable_while_the_body_is_taken":   invisibleUntilComplete,
		"panic_of_the_reader_leaves_nothing":            panickingBody,
		"failed_put_can_be_repeated":                    repeatedPut,
		"absent_object_is_not_found_and_deleting_it_ok": absentObject,
		"deleted_object_is_gone":                        deletedObject,
		"object_can_be_read_from_any_offset":            seekedReads,
		"foreign_keys_are_refused":                      badKeys,
		"healthy_store_passes_its_check":                healthyCheck,
		"walk_sees_every_object_and_nothing_else":       walkedObjects,
	}
	maps.Copy(tests, partTests)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t))
		})
	}
}

// unknownSize is the options for a body without announced size or limit.
var unknownSize = blob.PutOptions{Size: -1, Max: -1}

// put stores body under a fresh key, which it returns, and ends the test on an error.
func put(t *testing.T, s blob.Store, body []byte) blob.Key {
	t.Helper()
	key := NewKey()
	if _, err := s.Put(t.Context(), key, bytes.NewReader(body), blob.PutOptions{Size: int64(len(body))}); err != nil {
		t.Fatalf("Put of %d bytes: %v", len(body), err)
	}
	return key
}

// Content returns all bytes of an object. It ends the test when the object cannot be read, and
// fails it when Size differs from the number of bytes read.
func Content(t *testing.T, s blob.Store, key blob.Key) []byte {
	t.Helper()
	o, err := s.Open(t.Context(), key)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	defer o.Close()
	got, err := io.ReadAll(o)
	if err != nil {
		t.Fatalf("read object: %v", err)
	}
	if o.Size() != int64(len(got)) {
		t.Errorf("Size() = %d, read %d bytes", o.Size(), len(got))
	}
	return got
}

// WantAbsent fails the test unless Stat and Open of key return ErrNotFound. It also works after the
// test's context has ended.
func WantAbsent(t *testing.T, s blob.Store, key blob.Key) {
	t.Helper()
	if _, err := s.Stat(context.WithoutCancel(t.Context()), key); !errors.Is(err, blob.ErrNotFound) {
		t.Errorf("Stat of an absent key = %v, want ErrNotFound", err)
	}
	o, err := s.Open(context.WithoutCancel(t.Context()), key)
	if !errors.Is(err, blob.ErrNotFound) {
		t.Errorf("Open of an absent key = %v, want ErrNotFound", err)
	}
	if err == nil {
		o.Close()
	}
}

// pattern returns n test bytes in which no two blocks of the size of a store's buffer are equal, so
// that lost, repeated or swapped buffers show.
func pattern(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i ^ i>>8 ^ i>>16)
	}
	return b
}

// roundTrip checks that bodies of lengths around the buffer sizes, with and without announced size,
// are read back unchanged.
func roundTrip(t *testing.T, s blob.Store) {
	for _, size := range []int{0, 1, 20_000, 32<<10 - 1, 32 << 10, 32<<10 + 1, 256<<10 - 1, 256 << 10, 256<<10 + 1,
		512 << 10, 1_000_003} {
		body := pattern(size)
		for name, wrap := range map[string]func(io.Reader) io.Reader{
			"at once":     func(r io.Reader) io.Reader { return r },
			"halves":      iotest.HalfReader,
			"end of file": iotest.DataErrReader,
		} {
			for _, opts := range []blob.PutOptions{{Size: int64(size)}, {Size: int64(size), Max: int64(size) + 1},
				unknownSize} {
				key, r := NewKey(), wrap(bytes.NewReader(body))
				info, err := s.Put(t.Context(), key, r, opts)
				if err != nil {
					t.Fatalf("%d bytes, %s, %+v: %v", size, name, opts, err)
				}
				if info.Size != int64(size) {
					t.Errorf("%d bytes, %s, %+v: Put says %d", size, name, opts, info.Size)
				}
				if st, err := s.Stat(t.Context(), key); err != nil || st.Size != int64(size) {
					t.Errorf("%d bytes, %s, %+v: Stat = %+v, %v", size, name, opts, st, err)
				}
				if !bytes.Equal(Content(t, s, key), body) {
					t.Errorf("%d bytes, %s, %+v: read other bytes", size, name, opts)
				}
			}
		}
	}
}

// knownHashes checks the size and the SHA-256 that Put returns against published examples.
func knownHashes(t *testing.T, s blob.Store) {
	for _, c := range []struct {
		body, sha256 string // from the examples of FIPS 180-2
	}{
		{"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
		{"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
		{strings.Repeat("a", 1_000_000), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"},
	} {
		info, err := s.Put(t.Context(), NewKey(), strings.NewReader(c.body), unknownSize)
		if err != nil {
			t.Fatal(err)
		}
		if got := hex.EncodeToString(info.SHA256); got != c.sha256 || info.Size != int64(len(c.body)) {
			t.Errorf("%d bytes: size %d, hash %s, want %s", len(c.body), info.Size, got, c.sha256)
		}
	}
}

// neverOverwrites checks that a second Put to a key returns ErrExists and keeps the first content.
func neverOverwrites(t *testing.T, s blob.Store) {
	key := put(t, s, []byte("first"))
	for _, body := range []string{"other", "", "first"} {
		if _, err := s.Put(t.Context(), key, strings.NewReader(body), unknownSize); !errors.Is(err, blob.ErrExists) {
			t.Errorf("second Put of %q = %v, want ErrExists", body, err)
		}
	}
	if got := string(Content(t, s, key)); got != "first" {
		t.Errorf("object is now %q", got)
	}
}

// absentObject checks that a missing object is ErrNotFound and that deleting it succeeds, whether
// or not its shard directory exists.
func absentObject(t *testing.T, s blob.Store) {
	key := NewKey()
	WantAbsent(t, s, key)
	if err := s.Delete(t.Context(), key); err != nil {
		t.Errorf("Delete of an absent key = %v", err)
	}
	neighbour := put(t, s, []byte("x")) // the directory of a neighbour exists from here on
	dir, _ := neighbour.Split()
	_, name := key.Split()
	key = blob.Key(dir + "/" + name)
	WantAbsent(t, s, key)
	if err := s.Delete(t.Context(), key); err != nil {
		t.Errorf("Delete of an absent key beside another = %v", err)
	}
}

// deletedObject checks that a deleted object is gone, that a second Delete succeeds, and that
// another object stays.
func deletedObject(t *testing.T, s blob.Store) {
	key, other := put(t, s, []byte("gone")), put(t, s, []byte("stays"))
	for range 2 {
		if err := s.Delete(t.Context(), key); err != nil {
			t.Fatalf("Delete: %v", err)
		}
		WantAbsent(t, s, key)
	}
	if got := string(Content(t, s, other)); got != "stays" {
		t.Errorf("the other object is %q", got)
	}
}

// seekedReads checks reads after Seek from the start, the current offset and the end.
func seekedReads(t *testing.T, s blob.Store) {
	o, err := s.Open(t.Context(), put(t, s, []byte("0123456789")))
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	for _, c := range []struct {
		offset int64
		whence int
		at     int64
		want   string
	}{
		{7, io.SeekStart, 7, "78"},
		{-3, io.SeekCurrent, 6, "67"},
		{-1, io.SeekEnd, 9, "9"},
		{0, io.SeekEnd, 10, ""},
		{0, io.SeekStart, 0, "01"},
	} {
		at, err := o.Seek(c.offset, c.whence)
		if err != nil || at != c.at {
			t.Fatalf("Seek(%d, %d) = %d, %v, want %d", c.offset, c.whence, at, err, c.at)
		}
		got, err := io.ReadAll(io.LimitReader(o, 2))
		if err != nil || string(got) != c.want {
			t.Errorf("read at %d = %q, %v, want %q", c.at, got, err, c.want)
		}
	}
}

// badKeys checks that Put, Open, Stat and Delete return ErrKey for keys that NewKey cannot build,
// such as paths out of the store.
func badKeys(t *testing.T, s blob.Store) {
	const hex32 = "0123456789abcdef0123456789abcdef"
	for _, key := range []blob.Key{
		"", "/", ".", "..", hex32, "ab/", "ab/" + blob.Key(hex32[1:]), "/ab/" + hex32, "ab//" + hex32, "../ab/" + hex32,
		"ab/../" + hex32,
		"AB/" + hex32, "ab/" + hex32 + ".", "ab/" + hex32 + ".JPG", "ab/" + hex32 + ".a/b", "ab/" + hex32 + "\x00",
		"tmp/ab/" + hex32, ".larder-store",
	} {
		if _, err := s.Put(t.Context(), key, strings.NewReader("x"), unknownSize); !errors.Is(err, blob.ErrKey) {
			t.Errorf("Put of key %q = %v, want ErrKey", key, err)
		}
		if _, err := s.Open(t.Context(), key); !errors.Is(err, blob.ErrKey) {
			t.Errorf("Open of key %q = %v, want ErrKey", key, err)
		}
		if _, err := s.Stat(t.Context(), key); !errors.Is(err, blob.ErrKey) {
			t.Errorf("Stat of key %q = %v, want ErrKey", key, err)
		}
		if err := s.Delete(t.Context(), key); !errors.Is(err, blob.ErrKey) {
			t.Errorf("Delete of key %q = %v, want ErrKey", key, err)
		}
	}
}

// healthyCheck checks that Check succeeds on a working store.
func healthyCheck(t *testing.T, s blob.Store) {
	if err := s.Check(t.Context()); err != nil {
		t.Errorf("Check = %v", err)
	}
}
