package s3

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
)

// errLong ends an answer that goes on behind its bound.
var errLong = errors.New("the answer is too long")

// capped is an http.RoundTripper whose answers have a bound. It is the innermost one, so that
// whatever reads an answer stops there.
type capped struct {
	inner http.RoundTripper
	most  int64 // bytes of a good answer, -1 for one that is streamed
}

// CloseIdleConnections serves http.Client.
func (c capped) CloseIdleConnections() { (&http.Client{Transport: c.inner}).CloseIdleConnections() }

// RoundTrip implements http.RoundTripper.
func (c capped) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := c.inner.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	most := c.most
	if answer.StatusCode >= 300 {
		most = mostRefusal
	}
	if most >= 0 {
		if answer.ContentLength > most && r.Method != http.MethodHead {
			answer.Body.Close()
			return nil, errLong
		}
		answer.Body = &cappedBody{ReadCloser: answer.Body, left: most}
	}
	if items, ok := r.Context().Value(itemsKey{}).(int); ok {
		answer.Body = &countedBody{ReadCloser: answer.Body, left: items}
	}
	return answer, nil
}

// by has a call made by a client.
func by(client *http.Client) func(*sdk.Options) {
	return func(o *sdk.Options) { o.HTTPClient = client }
}

// cappedBody fails once more than left bytes have come.
type cappedBody struct {
	io.ReadCloser
	left int64
}

func (b *cappedBody) Read(p []byte) (int, error) {
	if b.left < 0 { // whoever was told may read on, only to be done with it
		return 0, errLong
	}
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.ReadCloser.Read(p)
	if int64(n) > b.left {
		n, b.left = int(b.left), -1
		return n, errLong
	}
	b.left -= int64(n)
	return n, err
}

type itemsKey struct{}

// counted has the answer to a listing end when it has more than so many items: what is read of it
// takes many times its own length in memory.
func counted(ctx context.Context, items int) context.Context {
	return context.WithValue(ctx, itemsKey{}, items)
}

// countedBody counts the items of a listing, in whatever way its tags are written, and fails behind
// the last one that there may be.
type countedBody struct {
	io.ReadCloser
	left int
	tag  bool   // inside the name of a tag
	name []byte // of it, as far as it matters
}

// longName is more bytes than the names of items have, with any letters that count as theirs.
const longName = 64

func (b *countedBody) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, errLong
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
				return i, errLong
			}
		case len(b.name) < longName:
			b.name = append(b.name, c)
		}
	}
	return n, err
}
