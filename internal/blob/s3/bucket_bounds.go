package s3

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
)

// errTooLong ends an answer that goes on behind its bound.
var errTooLong = errors.New("the answer is too long")

// cappedTransport is an http.RoundTripper whose answers have a bound. It is the innermost one, so
// that whatever reads an answer stops there.
type cappedTransport struct {
	inner http.RoundTripper
	limit int64 // bytes of a good answer, -1 for one that is streamed
}

// CloseIdleConnections serves http.Client.
func (c cappedTransport) CloseIdleConnections() {
	(&http.Client{Transport: c.inner}).CloseIdleConnections()
}

// RoundTrip implements http.RoundTripper.
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

// withClient has a call made by a client.
func withClient(client *http.Client) func(*sdk.Options) {
	return func(o *sdk.Options) { o.HTTPClient = client }
}

// cappedBody fails once more than left bytes have come.
type cappedBody struct {
	io.ReadCloser
	left int64
}

func (b *cappedBody) Read(p []byte) (int, error) {
	if b.left < 0 { // whoever was told may read on, only to be done with it
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

// withItemLimit has the answer to a listing end when it has more than so many items: what is read
// of it takes many times its own length in memory.
func withItemLimit(ctx context.Context, items int) context.Context {
	return context.WithValue(ctx, itemLimitKey{}, items)
}

// itemCountingBody counts the items of a listing, in whatever way its tags are written, and fails
// behind the last one that there may be.
type itemCountingBody struct {
	io.ReadCloser
	left int
	tag  bool   // inside the name of a tag
	name []byte // of it, as far as it matters
}

// maxTagName is more bytes than the names of items have, with any letters that count as theirs.
const maxTagName = 64

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
