package s3_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"larder/internal/blob"
	"larder/internal/blob/s3"
	"larder/internal/blob/s3/s3test"
)

// endlessServer answers with a text followed by 64 MiB of x.
type endlessServer struct {
	s3test.Bucket

	mu      sync.Mutex
	sent    int      // bytes
	asked   []string // method and address of each request
	answers sync.WaitGroup
}

func newEndlessServer(t *testing.T, status int, text string) *endlessServer {
	e := &endlessServer{Bucket: s3test.Bucket{Name: "bucket", AccessKey: "a", SecretKey: "s"}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e.mu.Lock()
		e.asked = append(e.asked, r.Method+" "+r.RequestURI)
		e.answers.Add(1)
		e.mu.Unlock()
		defer e.answers.Done()
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("ETag", `"e"`)
		w.WriteHeader(status)
		piece, n := []byte(text), 0
		for total := 0; total < 64<<20; total += n {
			var err error
			n, err = w.Write(piece)
			e.mu.Lock()
			e.sent += n
			e.mu.Unlock()
			if err != nil {
				return
			}
			piece = bytes.Repeat([]byte("x"), 64<<10)
		}
	}))
	t.Cleanup(server.Close)
	e.Endpoint = server.URL
	return e
}

// bytesSent returns the bytes sent, including those in the buffers of the connections.
func (e *endlessServer) bytesSent() int {
	e.answers.Wait()
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.sent
}

// An endless answer is never read to its end, for any call. Abuse case C63.
func TestBucketReadsNoEndlessAnswer(t *testing.T) {
	t.Parallel()
	for name, call := range map[string]func(b *s3.Bucket) error{
		"check": func(b *s3.Bucket) error { return b.Check(t.Context()) },
		"list": func(b *s3.Bucket) error {
			_, err := b.List(t.Context(), "", "", 1000)
			return err
		},
		"delete": func(b *s3.Bucket) error { return b.Delete(t.Context(), "k") },
		"put": func(b *s3.Bucket) error {
			_, err := b.Put(t.Context(), "k", strings.NewReader("x"), blob.PutOptions{Size: -1, Max: -1})
			return err
		},
		"put in parts": func(b *s3.Bucket) error {
			_, err := b.Put(t.Context(), "k", bytes.NewReader(make([]byte, 6<<20)), blob.PutOptions{Size: -1, Max: -1})
			return err
		},
	} {
		for _, status := range []int{200, 403, 404} {
			server := newEndlessServer(t, status, `<?xml version="1.0"?><ListBucketResult><Name>`)
			if err := call(openBucket(t, server.Bucket)); err == nil {
				t.Errorf("%s, %d: it ended", name, status)
			}
			if n := server.bytesSent(); n > 24<<20 {
				t.Errorf("%s, %d: %d bytes were taken", name, status, n)
			}
		}
	}
}

// The name of a bucket does not change which server is asked for what. For directory buckets the
// SDK would first request a session.
func TestBucketNamesAskForNoSession(t *testing.T) {
	t.Parallel()
	server := newEndlessServer(t, 200, `<?xml version="1.0"?><CreateSessionResult><Credentials><SessionToken>`)
	server.Name = "abc--use1-az4--x-s3"
	bucket := openBucket(t, server.Bucket)
	if err := bucket.Delete(t.Context(), "k"); err == nil {
		t.Error("it ended")
	}
	if n := server.bytesSent(); n > 24<<20 || len(server.asked) != 1 ||
		!strings.HasPrefix(server.asked[0], "DELETE /abc--use1-az4--x-s3/k?") {
		t.Errorf("%d bytes were taken, asked %q", n, server.asked)
	}
}

// Answers are limited to 64 KiB and listings to 4 MiB.
func TestBucketAnswersHaveBounds(t *testing.T) {
	t.Parallel()
	answer := func(head, tail string, length int) s3test.Bucket {
		return serverAnswering(t, 200, head+strings.Repeat(" ", length-len(head)-len(tail))+tail)
	}
	const head, tail = `<?xml version="1.0"?><ListBucketResult><Name>bucket</Name>`, `</ListBucketResult>`
	for _, c := range []struct {
		length         int
		deleted, lists bool
	}{{64 << 10, true, true}, {64<<10 + 1, false, true}, {4 << 20, false, true}, {4<<20 + 1, false, false}} {
		bucket := openBucket(t, answer(head, tail, c.length))
		if err := bucket.Delete(t.Context(), "k"); (err == nil) != c.deleted {
			t.Errorf("delete, %d bytes: %v", c.length, err)
		}
		if err := bucket.Check(t.Context()); (err == nil) != c.deleted {
			t.Errorf("check, %d bytes: %v", c.length, err)
		}
		if _, err := bucket.List(t.Context(), "", "", 1000); (err == nil) != c.lists || err != nil &&
			!errors.Is(err, blob.ErrUnavailable) {
			t.Errorf("list, %d bytes: %v", c.length, err)
		}
	}
}

// A page has at most the requested number of items, objects and folders together. The longest page
// with the longest keys passes. Otherwise a small answer could fill much memory.
func TestBucketListingsHaveNoMoreItemsThanAskedFor(t *testing.T) {
	t.Parallel()
	page := func(fields string) string {
		return `<?xml version="1.0"?><ListBucketResult><Name>bucket</Name><EncodingType>url</EncodingType>` + fields +
			`</ListBucketResult>`
	}
	objects := func(n int) string { return strings.Repeat(`<Contents><Key>a</Key></Contents>`, n) }
	folders := func(n int) string { return strings.Repeat(`<CommonPrefixes><Prefix>a/</Prefix></CommonPrefixes>`, n) }
	longest := ""
	for i := range 1000 {
		longest += fmt.Sprintf(
			`<Contents><Key>%s%04d</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified><ETag>&quot;%s&quot;</ETag><ChecksumAlgorithm>CRC64NVME</ChecksumAlgorithm>`+
				`<ChecksumType>FULL_OBJECT</ChecksumType><Size>5368709120</Size><Owner><ID>%s</ID><DisplayName>%s</DisplayName></Owner><StorageClass>INTELLIGENT_TIERING</StorageClass></Contents>`,
			strings.Repeat("%E8", 1020), i, strings.Repeat("0", 40), strings.Repeat("1", 64), strings.Repeat("n", 64))
	}
	for name, c := range map[string]struct {
		fields string
		items  int // expected items, -1 for an error
	}{
		"as many objects":              {objects(1000), 1000},
		"as many of both":              {objects(600) + folders(400), 1000},
		"one object more":              {objects(1001), -1},
		"one folder more":              {folders(1001), -1},
		"one more of both":             {objects(600) + folders(401), -1},
		"empty ones":                   {strings.Repeat("<Contents/>", 1001), -1},
		"in capitals":                  {strings.Repeat("<CONTENTS ><Key>a</Key></CONTENTS >", 1001), -1},
		"of another name space":        {strings.Repeat("<x:Contents><Key>a</Key></x:Contents>", 1001), -1},
		"with a long s":                {strings.Repeat("<Content\u017f><Key>a</Key></Content\u017f>", 1001), -1},
		"as many as there is room for": {objects(120_000), -1},
		"the longest":                  {longest, 1000},
	} {
		got, err := openBucket(t, serverAnswering(t, 200, page(c.fields))).List(t.Context(), "", "", 1000)
		if (err != nil) != (c.items < 0) || err == nil && len(got.Items) != c.items || err != nil &&
			!errors.Is(err, blob.ErrUnavailable) {
			t.Errorf("%s: %d items, %v", name, len(got.Items), err)
		}
	}
}

// Behind the first item too many nothing is waited for.
func TestBucketListingsEndAtTheFirstItemTooMany(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, `<?xml version="1.0"?><ListBucketResult><Name>bucket</Name>`+
			strings.Repeat("<Contents><Key>a</Key></Contents>", 3))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	t.Cleanup(server.Close)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	bucket := openBucket(t, s3test.Bucket{Endpoint: server.URL, Name: "bucket", AccessKey: "a", SecretKey: "s"})
	if _, err := bucket.List(ctx, "", "", 2); !errors.Is(err, blob.ErrUnavailable) || ctx.Err() != nil {
		t.Errorf("%v, %v", err, ctx.Err())
	}
}
