package s3

import (
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"larder/internal/blob"
	"larder/internal/blob/blobtest"
)

// The server refuses a signed address after any change (abuse case C103).
func TestSignedAddressesHoldAsTheyAre(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string]Options{"path": newBucket(t), "host": virtual(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t, opts)
			key, other := blobtest.NewKey(), blobtest.NewKey()
			if err := put(t, s, other); err != nil {
				t.Fatal(err)
			}
			u, err := s.Begin(t.Context(), blobtest.NewKey(), int64(len(small)), minPart, "")
			if err != nil {
				t.Fatal(err)
			}
			v, err := s.Begin(t.Context(), u.Key, int64(len(small)), minPart, "")
			if err != nil {
				t.Fatal(err)
			}
			get, err1 := s.PresignGet(t.Context(), other,
				blob.GetOptions{TTL: time.Minute, ContentType: "text/plain", Disposition: "attachment"})
			put, err2 := s.PresignPut(t.Context(), key, int64(len(small)), time.Minute)
			part, err3 := s.PresignPart(t.Context(), u, 1, time.Minute)
			if err1 != nil || err2 != nil || err3 != nil {
				t.Fatal(err1, err2, err3)
			}
			query := func(name, value string) func(string) string {
				return func(address string) string {
					parsed, err := url.Parse(address)
					if err != nil {
						t.Fatal(err)
					}
					q := parsed.Query()
					if !q.Has(name) {
						t.Fatalf("no %s in %s", name, address)
					}
					q.Set(name, value)
					parsed.RawQuery = q.Encode()
					return parsed.String()
				}
			}
			replace := func(old, new string) func(string) string {
				return func(address string) string { return strings.Replace(address, old, new, 1) }
			}
			same := func(address string) string { return address }
			body := []byte(small)
			for name, c := range map[string]struct {
				method, address string
				change          func(string) string
				body            []byte
			}{
				"GET another key": {"GET", get, replace(string(other), string(key)), nil},
				"GET longer":      {"GET", get, query("X-Amz-Expires", "604800"), nil},
				"GET later": {"GET", get, func(address string) string {
					return regexp.MustCompile(`T\d{6}Z`).ReplaceAllString(address, "T235959Z")
				}, nil},
				"GET as HTML":           {"GET", get, query("response-content-type", "text/html"), nil},
				"GET inline":            {"GET", get, query("response-content-disposition", "inline"), nil},
				"GET other signature":   {"GET", get, query("X-Amz-Signature", strings.Repeat("0", 64)), nil},
				"DELETE instead of GET": {"DELETE", get, same, nil},
				"PUT instead of GET":    {"PUT", get, same, body},
				"PUT another key":       {"PUT", put, replace(string(key), string(other)), body},
				"PUT longer":            {"PUT", put, same, []byte(small + "x")},
				"PUT shorter":           {"PUT", put, same, body[1:]},
				"PUT nothing":           {"PUT", put, same, nil},
				"PUT other signature":   {"PUT", put, query("X-Amz-Signature", strings.Repeat("0", 64)), body},
				"PUT without a length":  {"PUT", put, query("X-Amz-SignedHeaders", "host"), body},
				"GET instead of PUT":    {"GET", put, same, nil},
				"another part":          {"PUT", part, query("partNumber", "2"), body},
				"another upload":        {"PUT", part, query("uploadId", v.ID), body},
				"longer part":           {"PUT", part, same, []byte(small + "x")},
				"shorter part":          {"PUT", part, same, body[1:]},
				"whole instead of part": {"PUT", part,
					func(address string) string { return cutQuery(t, address, "partNumber", "uploadId") }, body},
			} {
				if status, answer := send(t, c.method, c.change(c.address), c.body); status != 403 {
					t.Errorf("%s: %d %.200s, want 403", name, status, answer)
				}
			}
			blobtest.WantAbsent(t, s, key)
			blobtest.WantAbsent(t, s, u.Key)
			if got := string(blobtest.Content(t, s, other)); got != small {
				t.Errorf("the other object is %q", got)
			}
			if parts, err := s.Parts(t.Context(), u); len(parts) > 0 || err != nil {
				t.Errorf("Parts = %v, %v", parts, err)
			}
			for address, body := range map[string][]byte{put: body, part: body} { // unchanged addresses work
				if status, answer := send(t, "PUT", address, body); status != 200 {
					t.Errorf("PUT: %d %s", status, answer)
				}
			}
			if err := s.Abort(t.Context(), u); err != nil {
				t.Fatal(err)
			}
			if status, answer := send(t, "PUT", part, body); status != 404 {
				t.Errorf("part of an upload that is over: %d %.200s, want 404", status, answer)
			}
		})
	}
}

func cutQuery(t *testing.T, address string, names ...string) string {
	t.Helper()
	parsed, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	q := parsed.Query()
	for _, name := range names {
		q.Del(name)
	}
	parsed.RawQuery = q.Encode()
	return parsed.String()
}

func TestSignedAddressExpires(t *testing.T) {
	t.Parallel()
	s, key := open(t, newBucket(t)), blobtest.NewKey()
	if err := put(t, s, key); err != nil {
		t.Fatal(err)
	}
	address, err := s.PresignGet(t.Context(), key, blob.GetOptions{TTL: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	for range 300 {
		status, answer := send(t, "GET", address, nil)
		if status == 403 {
			return
		}
		if status != 200 || answer != small {
			t.Fatalf("GET: %d %s", status, answer)
		}
		<-time.After(50 * time.Millisecond)
	}
	t.Error("an address that lasts a second still holds")
}
