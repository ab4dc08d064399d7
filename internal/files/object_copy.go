package files

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"larder/internal/blob"
	"larder/internal/db"
	"larder/internal/job"
	"larder/internal/object"
)

// objectCopy is one object that is being copied from store to store, to a key that is on the
// garbage list meanwhile.
type objectCopy struct {
	*Tree
	run       *job.Run // nil for none
	file      sourceFile
	fromStore blob.Opener
	toStore   blob.Store
	to        object.Location
	pace      *Pace // of the bytes that this process reads, nil for any

	mu  sync.Mutex
	due int64 // when the collector deletes the key, ms; guarded by mu
}

// copyAndVerify copies the object and verifies the copy. The server copies it where one server has
// both stores; otherwise this process reads and writes it. The returned Info has size, SHA-256 and
// ETag of the copy in both cases. Errors: errCopyDiffers or blob.ErrSize for a copy that differs
// from the record, blob.ErrNotFound when the source has no such object, object.ErrCollected when
// the collector has begun to delete the key.
func (oc *objectCopy) copyAndVerify(ctx context.Context) (blob.Info, error) {
	info, err := oc.copyOnServer(ctx)
	if errors.Is(err, blob.ErrCopyUnsupported) {
		info, err = oc.stream(ctx)
	}
	if err == nil {
		err = oc.verify(ctx, info)
	}
	return info, err
}

// stream reads the object from its store and writes it to the other store, which hashes the bytes.
// It is for two stores that no single server has.
func (oc *objectCopy) stream(ctx context.Context) (blob.Info, error) {
	object, err := oc.fromStore.Open(ctx, oc.file.Key)
	if err != nil {
		return blob.Info{}, fmt.Errorf("open what is to be copied: %w", err)
	}
	defer object.Close() // opened for reading
	return oc.toStore.Put(ctx, oc.to.Key, &postponingReader{ctx: ctx, copy: oc, from: object},
		blob.PutOptions{Size: oc.file.size, MimeType: oc.file.mimeType})
}

// copyOnServer asks the server that has both stores to copy the object. This process has not seen
// those bytes, and a server's report about its own copy proves little. So it reads the copy back
// and hashes it, which is one transfer where stream takes two. Errors: blob.ErrCopyUnsupported when
// no server has both stores, errCopyDiffers when the copy is missing.
func (oc *objectCopy) copyOnServer(ctx context.Context) (info blob.Info, err error) {
	copier, can := oc.toStore.(blob.Copier)
	from, isStore := oc.fromStore.(blob.Store)
	if !can || !isStore {
		return blob.Info{}, fmt.Errorf("copy on the server: %w", blob.ErrCopyUnsupported)
	}
	err = oc.whilePostponing(ctx, func(ctx context.Context) (err error) {
		info, err = copier.CopyFrom(ctx, oc.to.Key, from, oc.file.Key, oc.file.mimeType, "")
		return err
	})
	if err != nil {
		return blob.Info{}, err
	}
	object, err := oc.toStore.Open(ctx, oc.to.Key)
	if errors.Is(err, blob.ErrNotFound) {
		return blob.Info{}, fmt.Errorf("%w: it cannot be found: %w", errCopyDiffers, err)
	}
	if err != nil {
		return blob.Info{}, fmt.Errorf("read the copy back: %w", err)
	}
	defer object.Close()               // opened for reading
	if object.Size() != oc.file.size { // a copy of the wrong size need not be read
		return blob.Info{Size: object.Size()}, nil // verify refuses it
	}
	sum := sha256.New()
	if info.Size, err = io.Copy(sum, &postponingReader{ctx: ctx, copy: oc, from: object}); err != nil {
		return blob.Info{}, fmt.Errorf("read the copy back: %w", err)
	}
	info.SHA256 = sum.Sum(nil)
	return info, nil
}

// errCopyDiffers says that the content of a copy differs from its original.
var errCopyDiffers = errors.New("the copy differs from what is recorded")

// verify compares copied, which describes the bytes that were copied, and the store's report about
// the copy with the recorded size and SHA-256. Error: errCopyDiffers.
func (oc *objectCopy) verify(ctx context.Context, copied blob.Info) error {
	c, sum := oc.file, hex.EncodeToString(copied.SHA256)
	if copied.Size != c.size || len(copied.SHA256) == 0 || c.sha256 != "" && c.sha256 != sum {
		return fmt.Errorf("%w: %d bytes with SHA-256 %q were copied, %d with %q are recorded", errCopyDiffers,
			copied.Size, sum, c.size, c.sha256)
	}
	stored, err := oc.toStore.Stat(ctx, oc.to.Key)
	switch {
	case errors.Is(err, blob.ErrNotFound):
		return fmt.Errorf("%w: %w", errCopyDiffers, err)
	case err != nil:
		return err
	case stored.Size != c.size, len(stored.SHA256) > 0 && hex.EncodeToString(stored.SHA256) != sum,
		!sameETag(stored.ETag, copied.ETag):
		return fmt.Errorf("%w: the store has %d bytes, SHA-256 %x, ETag %s", errCopyDiffers, stored.Size, stored.SHA256,
			stored.ETag)
	}
	return nil
}

// sameETag reports whether two ETags of a store may be equal: "" matches all, since not every
// answer has one, and quotes do not count, since some servers quote an ETag in one answer and not
// in the other.
func sameETag(a, b string) bool {
	return a == "" || b == "" || strings.Trim(a, `"`) == strings.Trim(b, `"`)
}

// postponingReader reads the content of an object during a copy. It counts the bytes for the
// progress of the job, obeys its rate limit, and keeps the collector from deleting the key of the
// copy.
type postponingReader struct {
	ctx  context.Context
	copy *objectCopy
	from io.Reader
}

// Read implements io.Reader. It fails when the context ends, or when the collector has claimed the
// key of the copy (object.ErrCollected).
func (p *postponingReader) Read(b []byte) (int, error) {
	if err := p.copy.postpone(p.ctx); err != nil {
		return 0, err
	}
	n, err := p.copy.pace.Read(p.ctx, p.from, b)
	if p.copy.run != nil {
		p.copy.run.AddProgress(int64(n))
	}
	return n, err
}

// whilePostponing runs do, and meanwhile gives the key of the copy more time on the garbage list,
// once a second if needed. It is for work of the server, during which no postponingReader does
// that. The context of do ends when the key is lost; the error is object.ErrCollected then.
func (oc *objectCopy) whilePostponing(ctx context.Context, do func(ctx context.Context) error) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	var watch sync.WaitGroup
	watch.Go(func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if err := oc.postpone(ctx); err != nil {
				end(err)
			}
		}
	})
	err := do(ctx)
	end(nil)
	watch.Wait()
	if lost := context.Cause(ctx); errors.Is(lost, object.ErrCollected) {
		return lost
	}
	return err
}

// postpone moves the time at which the collector deletes the key of the copy to object.KeyLifetime
// from now, when less than half of that is left. Error: object.ErrCollected when the collector has
// claimed it.
func (oc *objectCopy) postpone(ctx context.Context) error {
	oc.mu.Lock()
	defer oc.mu.Unlock()
	if oc.nowMs() < oc.due-(object.KeyLifetime/2).Milliseconds() {
		return nil
	}
	until := oc.Now().Add(object.KeyLifetime).UnixMilli()
	var held bool
	err := oc.DB.Write(ctx, func(tx *db.Tx) (err error) {
		held, err = object.Postpone(tx, oc.to.Provider, oc.to.Key, until)
		return err
	})
	if err == nil && !held {
		err = object.ErrCollected
	}
	if err == nil {
		oc.due = until
	}
	return err
}
