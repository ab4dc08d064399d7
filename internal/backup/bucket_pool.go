package backup

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"larder/internal/blob"
	"larder/internal/blob/s3"
	"larder/internal/provider"
)

// bucketPool holds the objects of one provider in a bucket.
type bucketPool struct {
	*bucket
	prefix string
}

var _ pool = bucketPool{}

func (p bucketPool) Put(ctx context.Context, key blob.Key, body io.Reader, opts blob.PutOptions) (blob.Info, error) {
	return p.put(ctx, p.prefix+string(key), body, opts.Size)
}

func (p bucketPool) Open(ctx context.Context, key blob.Key) (blob.Object, error) {
	return p.store.OpenNamed(ctx, p.prefix+string(key))
}

// Stat describes an object as it was listed when the backup began.
func (p bucketPool) Stat(_ context.Context, key blob.Key) (blob.Info, error) {
	size, there := p.found.sizes[nameOf(p.prefix+string(key))]
	if !there {
		return blob.Info{}, blob.ErrNotFound
	}
	return blob.Info{Size: size}, nil
}

func (p bucketPool) Delete(ctx context.Context, key blob.Key) error {
	return p.store.DeleteNamed(ctx, p.prefix+string(key))
}

func (p bucketPool) Walk(ctx context.Context, fn func(key blob.Key, size int64, written time.Time) error) error {
	return p.store.WalkNamed(ctx, p.prefix, func(name string, size int64, written time.Time) error {
		key, err := blob.ParseKey(strings.TrimPrefix(name, p.prefix))
		if err != nil { // no object of a backup
			return nil
		}
		return fn(key, size, written)
	})
}

func (p bucketPool) Close() error { return nil }

func (b *bucket) removePool(ctx context.Context, providerID string) error {
	p := bucketPool{b, objectPrefix(providerID)}
	return p.Walk(ctx, func(key blob.Key, _ int64, _ time.Time) error { return p.Delete(ctx, key) })
}

// checkApartFromBuckets refuses a bucket and prefix that lie inside those of a provider, or contain
// them.
func (s *Service) checkApartFromBuckets(ctx context.Context, o s3.Options) error {
	all, err := s.Providers.All(ctx)
	if err != nil {
		return err
	}
	for _, p := range all {
		if p.Type == provider.BuiltIn || p.Bucket != o.Bucket || !sameServer(p.Endpoint, o.Endpoint) {
			continue
		}
		if insidePrefix(o.Prefix, p.PathPrefix) || insidePrefix(p.PathPrefix, o.Prefix) {
			return fmt.Errorf("a backup must lie neither inside nor around the objects of a provider: provider %s "+
				"(%s) is in the bucket %s below the prefix %q", p.ID, p.Name, p.Bucket, p.PathPrefix)
		}
	}
	return nil
}

// insidePrefix reports whether a prefix equals of or continues it; "" is the whole bucket.
func insidePrefix(prefix, of string) bool {
	return of == "" || prefix == of || strings.HasPrefix(prefix, of+"/")
}

// sameServer reports whether two endpoints have the same host and port.
func sameServer(a, b string) bool {
	hostOf := func(endpoint string) string {
		u, err := url.Parse(endpoint)
		if err != nil {
			return endpoint
		}
		port := u.Port()
		if port == "" {
			port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
		}
		return strings.ToLower(strings.TrimSuffix(u.Hostname(), ".")) + ":" + port
	}
	return hostOf(a) == hostOf(b)
}
