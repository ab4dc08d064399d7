package s3_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	sdk "github.com/aws/aws-sdk-go-v2/service/s3"

	"larder/internal/blob"
	"larder/internal/blob/s3"
	"larder/internal/blob/s3/s3test"
	"larder/internal/ident"
)

func openBucket(t *testing.T, b s3test.Bucket, change ...func(*s3.Options)) *s3.Bucket {
	t.Helper()
	opts := s3.Options{
		Endpoint: b.Endpoint, Bucket: b.Name, AccessKey: b.AccessKey, SecretKey: b.SecretKey, PathStyle: true,
		Egress: s3test.Egress(), IDs: ident.New(rand.Reader),
	}
	for _, fn := range change {
		fn(&opts)
	}
	bucket, err := s3.OpenBucket(opts)
	if err != nil {
		t.Fatal(err)
	}
	return bucket
}

func putForeign(t *testing.T, b s3test.Bucket, keys ...string) {
	t.Helper()
	client := b.SDK(t)
	for _, key := range keys {
		if _, err := client.PutObject(t.Context(),
			&sdk.PutObjectInput{Bucket: &b.Name, Key: &key, Body: strings.NewReader("of " + key)}); err != nil {
			t.Fatalf("put %q: %v", key, err)
		}
	}
}

func keysOf(l s3.Listing) []string {
	var keys []string
	for _, i := range l.Items {
		keys = append(keys, i.Key)
	}
	return keys
}

// uploads returns the number of unfinished uploads in a bucket.
func uploads(t *testing.T, b s3test.Bucket) int {
	t.Helper()
	list, err := b.SDK(t).ListMultipartUploads(t.Context(), &sdk.ListMultipartUploadsInput{Bucket: &b.Name})
	if err != nil {
		t.Fatal(err)
	}
	return len(list.Uploads)
}

func TestBucketListsForeignKeysAsTheyAre(t *testing.T) {
	t.Parallel()
	b := s3test.New(t)
	odd := []string{"a b+c.txt", "a%20b.txt", "a&<b>.txt", "é.txt", "e\u0301.txt", "語/x", "tilde~", "a..b", "q?x#y",
		"deep/er/x", "deep/y", "ends in space /x"}
	putForeign(t, b, odd...)
	bucket := openBucket(t, b)
	got, err := bucket.List(t.Context(), "", "", 1000)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"deep/", "ends in space /", "語/", "a b+c.txt", "a%20b.txt", "a&<b>.txt", "é.txt", "e\u0301.txt",
		"tilde~", "a..b", "q?x#y"}
	have := keysOf(got)
	slices.Sort(have)
	slices.Sort(want)
	if !slices.Equal(have, want) || got.Cursor != "" {
		t.Errorf("got %q, want %q", have, want)
	}
	deep, err := bucket.List(t.Context(), "deep/", "", 1000)
	if keys := keysOf(deep); err != nil || !slices.Equal(keys, []string{"deep/er/", "deep/y"}) ||
		!deep.Items[0].Folder || deep.Items[1].Folder || deep.Items[1].Size != 9 || deep.Items[1].ETag == "" {
		t.Errorf("%+v, %v", deep, err)
	}
	for _, key := range odd {
		object, err := bucket.Open(t.Context(), key)
		if err != nil {
			t.Errorf("open %q: %v", key, err)
			continue
		}
		if body, err := io.ReadAll(object); err != nil || string(body) != "of "+key {
			t.Errorf("%q holds %q, %v", key, body, err)
		}
		if err := bucket.Delete(t.Context(), key); err != nil {
			t.Errorf("delete %q: %v", key, err)
		}
		if _, err := bucket.Open(t.Context(), key); !errors.Is(err, blob.ErrNotFound) {
			t.Errorf("open %q once it is deleted: %v", key, err)
		}
		if err := bucket.Delete(t.Context(), key); err != nil {
			t.Errorf("delete %q again: %v", key, err)
		}
	}
}

func TestBucketListsInPages(t *testing.T) {
	t.Parallel()
	b := s3test.New(t)
	for i := range 7 {
		putForeign(t, b, fmt.Sprintf("f%d", i))
	}
	bucket := openBucket(t, b)
	var all []string
	cursor := ""
	for range 4 {
		page, err := bucket.List(t.Context(), "", cursor, 3)
		if err != nil || len(page.Items) > 3 {
			t.Fatalf("%+v, %v", page, err)
		}
		all, cursor = append(all, keysOf(page)...), page.Cursor
		if cursor == "" {
			break
		}
	}
	if !slices.Equal(all, []string{"f0", "f1", "f2", "f3", "f4", "f5", "f6"}) {
		t.Errorf("%q", all)
	}
}

// serverAnswering starts a server that answers every request with one text, such as answers that
// the test server never gives.
func serverAnswering(t *testing.T, status int, text string) s3test.Bucket {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/xml")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
	}))
	t.Cleanup(server.Close)
	return s3test.Bucket{Endpoint: server.URL, Name: "bucket", AccessKey: "a", SecretKey: "s"}
}

// Keys are decoded only when the server says that they are encoded. Keys that do not begin with the
// prefix are omitted.
func TestBucketRejectsInvalidListings(t *testing.T) {
	t.Parallel()
	page := func(fields string) string {
		return `<?xml version="1.0"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>bucket</Name>` + fields + `</ListBucketResult>`
	}
	for name, c := range map[string]struct {
		prefix, text string
		want         []string
		fails        bool
	}{
		"encoded": {"",
			page(`<EncodingType>url</EncodingType><Contents><Key>a%01%2F%2Fb%FF+%2B</Key><Size>-5</Size></Contents>`),
			[]string{"a\x01//b\xff +"}, false},
		"not encoded": {"", page(`<Contents><Key>a%2Fb+</Key></Contents>`), []string{"a%2Fb+"}, false},
		"badly encoded": {"", page(`<EncodingType>url</EncodingType><Contents><Key>100%</Key></Contents>`),
			[]string{"100%"}, false},
		"another prefix": {"p/",
			page(
				`<Contents><Key>q/x</Key></Contents><Contents><Key>p/</Key></Contents><Contents><Key>p/x</Key></Contents><Contents></Contents>`), []string{"p/x"}, false},
		"cut, and no more": {"", page(`<IsTruncated>true</IsTruncated><Contents><Key>x</Key></Contents>`), nil, true},
		"no XML":           {"", "hello", nil, true},
		"a control in XML": {"", page("<Contents><Key>a\x01b</Key></Contents>"), nil, true},
		"without end":      {"", page("<Contents><Key>" + strings.Repeat("x", 5<<20) + "</Key></Contents>"), nil, true},
	} {
		got, err := openBucket(t, serverAnswering(t, 200, c.text)).List(t.Context(), c.prefix, "", 1000)
		if (err != nil) != c.fails || err != nil && !errors.Is(err, blob.ErrUnavailable) ||
			!slices.Equal(keysOf(got), c.want) {
			t.Errorf("%s: %q, %v", name, keysOf(got), err)
		}
		for _, i := range got.Items {
			if i.Size < 0 {
				t.Errorf("%s: a size of %d", name, i.Size)
			}
		}
	}
}

// Check distinguishes a refusal of an S3 server from any other failure. Abuse case C65.
func TestBucketCheck(t *testing.T) {
	t.Parallel()
	b := s3test.New(t)
	if err := openBucket(t, b).Check(t.Context()); err != nil {
		t.Error(err)
	}
	var refusal s3.Refusal
	for name, c := range map[string]struct {
		change func(*s3.Options)
		code   string
	}{
		"wrong secret": {func(o *s3.Options) { o.SecretKey = "wrong" }, "SignatureDoesNotMatch"},
		// the code of the test server
		"wrong key": {func(o *s3.Options) { o.AccessKey = "wrong" }, "XAdminUserNotFound"},
		"no bucket": {func(o *s3.Options) { o.Bucket = "nobody-has-this" }, "NoSuchBucket"},
	} {
		if err := openBucket(t, b, c.change).Check(t.Context()); !errors.As(err, &refusal) || refusal.Code != c.code {
			t.Errorf("%s: %v", name, err)
		}
	}
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	long := `<Error><Code>AccessDenied</Code><Message>` + strings.Repeat("x", 100<<10) + `</Message></Error>`
	for name, bucket := range map[string]s3test.Bucket{
		"closed port": {Endpoint: "http://" + closed.Addr().String(), Name: "bucket", AccessKey: "a",
			SecretKey: "s"},
		"a page":             serverAnswering(t, 200, "<html>hello</html>"),
		"a page that denies": serverAnswering(t, 403, "<html>AccessDenied</html>"),
		"more than 64 KiB":   serverAnswering(t, 403, long),
		"a code of its own":  serverAnswering(t, 403, `<Error><Code>secret words, 10.0.0.1</Code></Error>`),
	} {
		err := openBucket(t, bucket).Check(t.Context())
		// a forbidden bucket may also be recognized by the status
		if err == nil || errors.As(err, &refusal) && refusal.Code != "" && refusal.Code != "UnknownError" &&
			refusal.Code != "Forbidden" {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil && (strings.Contains(err.Error(), "127.0.0.1") || strings.Contains(err.Error(), "secret")) {
			t.Errorf("%s: the error reveals %v", name, err)
		}
	}
}

// Bodies are shorter and longer than a part, and end at its boundary.
func TestBucketPut(t *testing.T) {
	t.Parallel()
	b := s3test.New(t)
	bucket := openBucket(t, b)
	for _, length := range []int{0, 1, 256<<10 - 1, 256 << 10, 256<<10 + 1, 5<<20 - 1, 5 << 20, 5<<20 + 1, 12 << 20} {
		content := bytes.Repeat([]byte("0123456789abcdef"), length/16+1)[:length]
		for _, size := range []int64{int64(length), -1} {
			key := fmt.Sprintf("n/%d %d", length, size)
			// to be overwritten
			n, err := bucket.Put(t.Context(), key, iotest.OneByteReader(bytes.NewReader(content[:min(length, 10)])),
				blob.PutOptions{Size: -1, Max: 20})
			if err != nil || n != int64(min(length, 10)) {
				t.Fatalf("%s: %d, %v", key, n, err)
			}
			n, err = bucket.Put(t.Context(), key, bytes.NewReader(content),
				blob.PutOptions{Size: size, Max: int64(length), MimeType: "text/x-test"})
			if err != nil || n != int64(length) {
				t.Fatalf("%s: %d, %v", key, n, err)
			}
			object, err := bucket.Open(t.Context(), key)
			if err != nil || object.Size() != int64(length) || object.MimeType != "text/x-test" ||
				object.Modified.IsZero() {
				t.Fatalf("%s: %+v, %v", key, object, err)
			}
			if got, err := io.ReadAll(object); err != nil || !bytes.Equal(got, content) {
				t.Errorf("%s: other bytes, %v", key, err)
			}
			object.Close()
		}
	}
}

// A body that is too long, cut or not as announced leaves nothing, and the previous object stays.
func TestBucketPutLeavesNothing(t *testing.T) {
	t.Parallel()
	b := s3test.New(t)
	putForeign(t, b, "there")
	bucket := openBucket(t, b)
	broken := errors.New("the client went away")
	long := bytes.Repeat([]byte("x"), 11<<20)
	for name, c := range map[string]struct {
		body io.Reader
		opts blob.PutOptions
		want error
	}{
		"over the bound": {bytes.NewReader(long), blob.PutOptions{Size: -1, Max: 11<<20 - 1},
			blob.ErrTooLarge},
		"over the bound, short":    {strings.NewReader("ab"), blob.PutOptions{Size: -1, Max: 1}, blob.ErrTooLarge},
		"announced over the bound": {iotest.ErrReader(broken), blob.PutOptions{Size: 2, Max: 1}, blob.ErrTooLarge},
		"cut": {io.MultiReader(bytes.NewReader(long), iotest.ErrReader(broken)),
			blob.PutOptions{Size: -1, Max: 20 << 20}, broken},
		"cut in the first part": {io.MultiReader(strings.NewReader("x"), iotest.ErrReader(broken)),
			blob.PutOptions{Size: -1, Max: 20 << 20}, broken},
		"shorter than was announced": {bytes.NewReader(long), blob.PutOptions{Size: 11<<20 + 1},
			blob.ErrSize{Want: 11<<20 + 1, Got: 11 << 20}},
		"longer than was announced": {bytes.NewReader(long), blob.PutOptions{Size: 11<<20 - 1},
			blob.ErrSize{Want: 11<<20 - 1, Got: 11 << 20}},
		"announced, short, but short": {strings.NewReader("x"), blob.PutOptions{Size: 2},
			blob.ErrSize{Want: 2, Got: 1}},
	} {
		for _, key := range []string{"new", "there"} {
			if _, err := bucket.Put(t.Context(), key, c.body, c.opts); !errors.Is(err, c.want) && key == "new" {
				t.Errorf("%s: %v, want %v", name, err, c.want)
			}
			if seeker, ok := c.body.(io.Seeker); ok {
				_, _ = seeker.Seek(0, io.SeekStart)
			}
		}
	}
	list, err := bucket.List(t.Context(), "", "", 10)
	if keys := keysOf(list); err != nil || !slices.Equal(keys, []string{"there"}) ||
		list.Items[0].Size != int64(len("of there")) {
		t.Errorf("the bucket holds %+v, %v", list, err)
	}
	if n := uploads(t, b); n != 0 {
		t.Errorf("%d uploads are left", n)
	}
}

func TestBucketObjectIsReadInPieces(t *testing.T) {
	t.Parallel()
	b := s3test.New(t)
	bucket := openBucket(t, b)
	content := make([]byte, 3<<20)
	if _, err := rand.Read(content); err != nil {
		t.Fatal(err)
	}
	if _, err := bucket.Put(t.Context(), "o", bytes.NewReader(content),
		blob.PutOptions{Size: -1, Max: -1}); err != nil {
		t.Fatal(err)
	}
	object, err := bucket.Open(t.Context(), "o")
	if err != nil {
		t.Fatal(err)
	}
	defer object.Close()
	for _, at := range []int64{0, 1, 1 << 20, 3<<20 - 1, 5} {
		if _, err := object.Seek(at, io.SeekStart); err != nil {
			t.Fatal(err)
		}
		piece := make([]byte, min(1000, int64(len(content))-at))
		if _, err := io.ReadFull(object, piece); err != nil || !bytes.Equal(piece, content[at:at+int64(len(piece))]) {
			t.Errorf("at %d: %v", at, err)
		}
	}
	putForeign(t, b, "o") // another object under the same key
	if _, err := object.Seek(2, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	if _, err := object.Read(make([]byte, 10)); !errors.Is(err, blob.ErrUnavailable) {
		t.Errorf("an object that was replaced meanwhile: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	gone, err := bucket.Open(ctx, "o")
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := gone.Read(make([]byte, 1)); !errors.Is(err, context.Canceled) {
		t.Errorf("read once its operation has ended: %v", err)
	}
}

// Denials are distinguished from failures. A failing store is never reported as "not found".
func TestBucketFaults(t *testing.T) {
	t.Parallel()
	denied := serverAnswering(t, 403, `<Error><Code>AccessDenied</Code></Error>`)
	failing := serverAnswering(t, 503, `<Error><Code>SlowDown</Code></Error>`)
	missing := serverAnswering(t, 404, `<Error><Code>NoSuchBucket</Code></Error>`)
	moved := serverAnswering(t, 307, "")
	for _, c := range []struct {
		name string
		b    s3test.Bucket
		want error
	}{{"denied", denied, s3.ErrDenied}, {"failing", failing, blob.ErrUnavailable},
		{"missing", missing, blob.ErrUnavailable}, {"moved", moved, blob.ErrUnavailable}} {
		bucket := openBucket(t, c.b)
		_, listed := bucket.List(t.Context(), "", "", 10)
		_, put := bucket.Put(t.Context(), "k", strings.NewReader("x"), blob.PutOptions{Size: -1, Max: -1})
		_, long := bucket.Put(t.Context(), "k", bytes.NewReader(make([]byte, 6<<20)),
			blob.PutOptions{Size: -1, Max: -1})
		_, opened := bucket.Open(t.Context(), "k")
		for what, err := range map[string]error{"list": listed, "put": put, "put in parts": long, "open": opened,
			"delete": bucket.Delete(t.Context(), "k")} {
			if !errors.Is(err, c.want) || errors.Is(err, blob.ErrNotFound) {
				t.Errorf("%s, %s: %v", c.name, what, err)
			}
		}
	}
}
