package s3

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
)

// errTooLong ends the reading of an answer that exceeds its limit.
var errTooLong = errors.New("the answer is too long")

// cappedTransport is an http.RoundTripper that limits the length of answers. It is the innermost
// one, so that no layer reads more.
type cappedTransport struct {
	inner http.RoundTripper
	limit int64 // bytes of a successful answer, -1 for one that is streamed
}

// CloseIdleConnections passes the call of the same name by http.Client to the inner transport.
func (c cappedTransport) CloseIdleConnections() {
	(&http.Client{Transport: c.inner}).CloseIdleConnections()
}

// RoundTrip sends r by the inner transport. A body of the answer beyond its limit (maxErrorBytes
// for an error) fails with errTooLong, and so does a listing with more items than withItemLimit
// allows.
func (c cappedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := c.inner.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	most := c.limit
	if answer.StatusCode >= 300 {
		most = maxErrorBytes
	}
	if most >= 0 {
		if answer.ContentLength > most && r.Method != http.MethodHead {
			answer.Body.Close()
			return nil, errTooLong
		}
		answer.Body = &cappedBody{ReadCloser: answer.Body, left: most}
	}
	if items, ok := r.Context().Value(itemLimitKey{}).(int); ok {
		answer.Body = &itemCountingBody{ReadCloser: answer.Body, left: items}
	}
	return answer, nil
}

// withClient returns an option that makes one call of the SDK with another HTTP client, whose
// answers have other limits.
func withClient(client *http.Client) func(*sdk.Options) {
	return func(o *sdk.Options) { o.HTTPClient = client }
}

// cappedBody fails after left bytes.
type cappedBody struct {
	io.ReadCloser
	left int64
}

// Read implements io.Reader. It returns errTooLong at the first byte beyond the limit.
func (b *cappedBody) Read(p []byte) (int, error) {
	if b.left < 0 { // a caller that received the error may read again to drain the body
		return 0, errTooLong
	}
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.ReadCloser.Read(p)
	if int64(n) > b.left {
		n, b.left = int(b.left), -1
		return n, errTooLong
	}
	b.left -= int64(n)
	return n, err
}

type itemLimitKey struct{}

// withItemLimit returns a context whose listing fails with errTooLong at the first item beyond
// items: the decoded items take many times more memory than the answer.
func withItemLimit(ctx context.Context, items int) context.Context {
	return context.WithValue(ctx, itemLimitKey{}, items)
}

// itemCountingBody counts the items of a listing, in any spelling of the tags, and fails at the
// first item beyond the limit.
type itemCountingBody struct {
	io.ReadCloser
	left int
	tag  bool   // inside the name of a tag
	name []byte // the name so far, up to maxTagName bytes
}

// maxTagName is longer than the names of the counted tags in any Unicode letters that fold to
// theirs, in bytes.
const maxTagName = 64

// Read implements io.Reader. It returns errTooLong at the tag that ends the name of the first item
// (Contents or CommonPrefixes) beyond the limit.
func (b *itemCountingBody) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, errTooLong
	}
	n, err := b.ReadCloser.Read(p)
	for i, c := range p[:n] {
		switch {
		case c == '<':
			b.tag, b.name = true, b.name[:0]
		case !b.tag:
		case c == ':':
			b.name = b.name[:0]
		case c == '>' || c == '/' || c <= ' ':
			b.tag = false
			if name := string(b.name); strings.EqualFold(name, "Contents") ||
				strings.EqualFold(name, "CommonPrefixes") {
				b.left--
			}
			if b.left < 0 {
				return i, errTooLong
			}
		case len(b.name) < maxTagName:
			b.name = append(b.name, c)
		}
	}
	return n, err
}
