package backup

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	"larder/internal/blob"
	"larder/internal/blob/s3"
)

// bucketSource is a backup in a bucket that is read. It needs credentials for listing and reading
// only.
type bucketSource struct {
	store   *s3.Store
	address string // s3://bucket/prefix
	pause   time.Duration
}

func openBucketSource(o s3.Options) (*bucketSource, error) {
	store, err := s3.Open(o)
	if err != nil {
		return nil, err
	}
	return &bucketSource{store, strings.TrimSuffix("s3://"+o.Bucket+"/"+o.Prefix, "/"),
		cmp.Or(o.Limits.RetryPause, time.Second)}, nil
}

func (b bucketSource) String() string { return b.address }

// explain adds to an error of a bucket where it is and what to check.
func (b bucketSource) explain(err error) error {
	if errors.Is(err, blob.ErrUnavailable) {
		err = fmt.Errorf("%s can't be used; check that the bucket exists, and its address and credentials: %w", b, err)
	}
	return err
}

// fileName returns the name of a file of a snapshot in the bucket.
func fileName(snapshot, file string) string {
	return snapshotsName + "/" + snapshot + "/" + file
}

// objectPrefix returns what the names of a provider's objects in the bucket begin with.
func objectPrefix(providerID string) string { return objectsName + "/" + providerID + "/" }

// openNamed opens an object. Errors: blob.ErrNotFound, blob.ErrUnavailable.
func (b bucketSource) openNamed(ctx context.Context, name string) (blob.Object, error) {
	object, err := b.store.OpenNamed(ctx, name)
	if err != nil {
		return nil, b.explain(err)
	}
	return object, nil
}

// openFile opens a file of the backup. Errors: fs.ErrNotExist, blob.ErrUnavailable.
func (b bucketSource) openFile(ctx context.Context, name string) (io.ReadCloser, error) {
	file, err := b.openNamed(ctx, name)
	if errors.Is(err, blob.ErrNotFound) {
		return nil, fmt.Errorf("%s/%s: %w", b, name, fs.ErrNotExist)
	}
	return file, err
}

func (b bucketSource) identity(ctx context.Context) (identity, error) {
	var id identity
	file, err := b.openFile(ctx, identityName)
	if err != nil {
		return id, err
	}
	defer file.Close() // opened for reading
	if err := decodeJSON(file, identityName, &id); err != nil {
		return id, err
	}
	return id, checkFormat(id.Format)
}

// snapshots lists the snapshots with a manifest.
func (b bucketSource) snapshots(ctx context.Context) (names []string, err error) {
	err = b.store.WalkNamed(ctx, snapshotsName+"/", func(name string, _ int64, _ time.Time) error {
		snapshot, found := strings.CutSuffix(strings.TrimPrefix(name, snapshotsName+"/"), "/"+manifestName)
		if _, err := time.Parse(nameLayout, snapshot); found && err == nil {
			names = append(names, snapshot)
		}
		return nil
	})
	slices.Sort(names)
	return names, b.explain(err)
}

func (b bucketSource) open(ctx context.Context, snapshot, name string) (io.ReadCloser, error) {
	return b.openFile(ctx, fileName(snapshot, name))
}

func (b bucketSource) openObjects(_ context.Context, providerID string) (objectReader, error) {
	return bucketObjects{b, objectPrefix(providerID)}, nil
}

func (b bucketSource) close() error {
	b.store.Close()
	return nil
}

// bucketObjects reads the objects of one provider.
type bucketObjects struct {
	bucketSource
	prefix string
}

func (o bucketObjects) Open(ctx context.Context, key blob.Key) (blob.Object, error) {
	return o.openNamed(ctx, o.prefix+string(key))
}

func (o bucketObjects) Close() error { return nil }

// putText creates an object with a short text.
func (b bucketSource) putText(ctx context.Context, name string, text []byte) error {
	return b.repeat(ctx, func() error {
		_, err := b.put(ctx, name, strings.NewReader(string(text)), int64(len(text)))
		return err
	})
}

// put creates an object of size bytes, and returns its SHA-256. An object of that size that is
// there already is usually the outcome of an earlier attempt whose answer was lost; put then reads
// it back, so that the caller can compare the SHA-256.
func (b bucketSource) put(ctx context.Context, name string, body io.Reader, size int64) (blob.Info, error) {
	info, err := b.store.PutNamed(ctx, name, body, blob.PutOptions{Size: size})
	if errors.Is(err, blob.ErrExists) {
		there, readErr := b.measure(ctx, name)
		if readErr == nil && there.Size == size {
			return there, nil
		}
		return blob.Info{}, errors.Join(err, readErr)
	}
	return info, err
}

// measure reads an object, and returns its size and SHA-256.
func (b bucketSource) measure(ctx context.Context, name string) (blob.Info, error) {
	o, err := b.store.OpenNamed(ctx, name)
	if err != nil {
		return blob.Info{}, err
	}
	defer o.Close() // opened for reading
	h := sha256.New()
	size, err := io.Copy(h, o)
	return blob.Info{Size: size, SHA256: h.Sum(nil)}, err
}

// bucketRepeats is how often a write to a bucket that is not available is tried.
const bucketRepeats = 3

// repeat calls do up to bucketRepeats times while the bucket is not available.
func (b bucketSource) repeat(ctx context.Context, do func() error) error {
	for attempt := 1; ; attempt++ {
		err := do()
		var source unreadable
		if !errors.Is(err, blob.ErrUnavailable) || errors.As(err, &source) || attempt == bucketRepeats {
			return err
		}
		select {
		case <-time.After(time.Duration(attempt) * b.pause):
		case <-ctx.Done():
			return err
		}
	}
}
