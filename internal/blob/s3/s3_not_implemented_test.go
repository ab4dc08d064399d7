package s3

import (
	"errors"
	"io"
	"strings"
	"testing"

	"larder/internal/blob"
	"larder/internal/blob/blobtest"
)

// A server without conditions is recognized by the first call that has one, with either status for
// it.
func TestServerWithoutConditionsTakesParts(t *testing.T) {
	t.Parallel()
	for name, status := range map[string]int{"501": 501, "400": 400} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, p, opts := newFaultyStore(t)
			p.inject("POST upload", answerWith(status, "NotImplemented"))
			long := strings.Repeat("0123456789abcdef", minPart/16) + "more"
			key := blobtest.NewKey()
			if _, err := s.Put(t.Context(), key, strings.NewReader(long),
				blob.PutOptions{Size: -1, Max: -1}); err != nil {
				t.Fatalf("Put = %v", err)
			}
			if got := string(blobtest.Content(t, s, key)); got != long {
				t.Errorf("the object has %d bytes of %d, or others", len(got), len(long))
			}
			if _, err := s.Put(t.Context(), key, strings.NewReader(long),
				blob.PutOptions{Size: -1, Max: -1}); !errors.Is(err, blob.ErrExists) {
				t.Errorf("second Put = %v, want ErrExists", err)
			}
			fresh := open(t, opts)
			u, err := fresh.Begin(t.Context(), blobtest.NewKey(), 3, 3, "")
			if err != nil {
				t.Fatal(err)
			}
			part, err := fresh.PutPart(t.Context(), u, 1, strings.NewReader("abc"))
			if err != nil {
				t.Fatal(err)
			}
			p.inject("POST upload", answerWith(status, "NotImplemented"))
			if info, err := fresh.Finish(t.Context(), u, []blob.Part{part}); err != nil || info.Size != 3 {
				t.Errorf("Finish = %+v, %v", info, err)
			}
			noUploads(t, opts)
		})
	}
}

// When the server does not copy, or not for these credentials, CopyFrom returns ErrCopyUnsupported
// and creates nothing, in one call and in parts.
func TestServerThatDoesNotCopy(t *testing.T) {
	t.Parallel()
	for name, refusal := range map[string]struct {
		status int
		code   string
	}{"lacks it": {501, "NotImplemented"}, "says 400": {400, "NotImplemented"},
		"knows no such method": {405, "MethodNotAllowed"}, "forbids it": {403, "AccessDenied"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, p, opts := newFaultyStore(t)
			source, key := blobtest.NewKey(), blobtest.NewKey()
			if _, err := s.Put(t.Context(), source, io.LimitReader(zeros{}, 6<<20),
				blob.PutOptions{Size: 6 << 20}); err != nil {
				t.Fatal(err)
			}
			p.inject("PUT", answerWith(refusal.status, refusal.code))
			if refusal.code == "NotImplemented" { // the server might lack only the conditions
				p.inject("PUT", answerWith(refusal.status, refusal.code))
			}
			if _, err := s.CopyFrom(t.Context(), key, s, source, "", ""); !errors.Is(err, blob.ErrCopyUnsupported) {
				t.Errorf("CopyFrom = %v, want ErrNoCopy", err)
			}
			s.copyMax, s.copyPart = 5<<20, 6<<20
			p.inject("PUT part", answerWith(refusal.status, refusal.code))
			if refusal.code == "NotImplemented" {
				for range maxAttempts {
					p.inject("PUT part", answerWith(refusal.status, refusal.code))
				}
			}
			if _, err := s.CopyFrom(t.Context(), key, s, source, "", ""); !errors.Is(err, blob.ErrCopyUnsupported) {
				t.Errorf("CopyFrom in parts = %v, want ErrNoCopy", err)
			}
			p.planned = nil // retries that were not needed
			blobtest.WantAbsent(t, s, key)
			noUploads(t, opts)
		})
	}
}

// Delete works on a server that cannot list uploads.
func TestDeleteWithoutAListOfUploads(t *testing.T) {
	t.Parallel()
	s, p, _ := newFaultyStore(t)
	key := blobtest.NewKey()
	if _, err := s.Put(t.Context(), key, strings.NewReader(small), blob.PutOptions{Size: -1, Max: -1}); err != nil {
		t.Fatal(err)
	}
	p.inject("GET uploads", answerWith(400, "NotImplemented"))
	if err := s.Delete(t.Context(), key); err != nil {
		t.Errorf("Delete = %v", err)
	}
	blobtest.WantAbsent(t, s, key)
}
