package backup

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"sync"

	"larder/internal/blob"
	"larder/internal/crash"
	"larder/internal/db"
	"larder/internal/provider"
)

const (
	// objectsPerQuery is how many rows are in memory at once.
	objectsPerQuery = 1000
	// copyWorkers is how many objects are copied in parallel, so that they share the syncs of
	// directories.
	copyWorkers = 8
)

// absentKey is a key that no object has. A healthy store returns blob.ErrNotFound for it, any other
// another error.
const absentKey = blob.Key("00/00000000000000000000000000000000")

// openStores opens the stores of all local providers that the snapshot names, and their pools in
// the backup. It fails when one of the stores is not available. It lists all providers in the
// manifest.
func (r *backupRun) openStores(ctx context.Context) error {
	then := provider.New(provider.Config{DB: r.rows, ObjectDir: r.ObjectDir, Now: r.Now})
	all, err := then.All(ctx)
	if err = errors.Join(err, then.Close()); err != nil {
		return err
	}
	for _, p := range all {
		r.manifest.Providers = append(r.manifest.Providers,
			ProviderTotals{ID: p.ID, Name: p.Name, Type: p.Type, Bucket: p.Bucket})
		if p.Type != provider.BuiltIn {
			continue
		}
		if err := checkProviderName(p.ID); err != nil {
			return err
		}
		// The provider has objects, so its bucket cannot be changed meanwhile.
		if r.sources[p.ID], err = r.Providers.Store(ctx, p.ID); err == nil {
			err = r.probeStore(ctx, p.ID)
		}
		if err != nil {
			return fmt.Errorf("the store of provider %s (%s) is not available, so none of its objects were copied: "+
				"%w", p.ID,
				p.Name, err)
		}
		if r.pools[p.ID], err = r.at.createPool(ctx, p.ID); err != nil {
			return err
		}
	}
	return nil
}

// closePools closes the pools of openStores.
func (r *backupRun) closePools() {
	for _, p := range r.pools {
		if p != nil {
			_ = p.Close() // closes descriptors
		}
	}
}

// probeStore returns the error because of which the store of a local provider cannot be used, nil
// when it can.
func (r *backupRun) probeStore(ctx context.Context, providerID string) error {
	if _, err := r.sources[providerID].Stat(ctx, absentKey); err != nil && !errors.Is(err, blob.ErrNotFound) {
		return err
	}
	return nil
}

// copyObjects copies the objects of the snapshot that are on the local disk into the pools, and
// lists the others in elsewhere.jsonl.
func (r *backupRun) copyObjects(ctx context.Context) (err error) {
	if r.total.AllObjects, r.total.AllBytes, err = totals(r.rows.Read(ctx)); err != nil {
		return err
	}
	file, err := os.OpenFile(filepath.Join(r.at.newSnapshotPath(), elsewhereName), os.O_CREATE|os.O_EXCL|os.O_WRONLY,
		0o600)
	if err != nil {
		return fmt.Errorf("list objects: %w", err)
	}
	text := bufio.NewWriter(file)
	list := json.NewEncoder(text)
	err = eachObject(ctx, r.rows, func(o storedObject) (bool, error) {
		holding, local, err := r.holding(o)
		if err != nil {
			return false, err
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		holding.Objects, holding.Bytes = holding.Objects+1, holding.Bytes+o.size
		if o.sha256 == "" {
			r.summary.Unhashed++
		}
		if local {
			r.summary.Objects, r.summary.Bytes = r.summary.Objects+1, r.summary.Bytes+o.size
			return true, nil
		}
		r.summary.Elsewhere++
		r.addProgress(o)
		return false, list.Encode(elsewhereLine{Provider: o.provider, Key: string(o.key), Size: o.size,
			SHA256: o.sha256,
			ETag:   o.etag})
	}, r.copyObject)
	if err = errors.Join(err, text.Flush(), file.Sync(), file.Close()); err != nil {
		return fmt.Errorf("copy objects: %w", err)
	}
	return nil
}

// holding returns the totals of an object's provider in the manifest, and whether that provider is
// on the local disk.
func (r *backupRun) holding(o storedObject) (*ProviderTotals, bool, error) {
	for i := range r.manifest.Providers {
		if h := &r.manifest.Providers[i]; h.ID == o.provider {
			return h, h.Type == provider.BuiltIn, nil
		}
	}
	return nil, false, fmt.Errorf("%s: there is no such provider", o)
}

// addProgress adds an object to the progress and reports it. The caller holds r.mu.
func (r *backupRun) addProgress(o storedObject) {
	r.total.Objects, r.total.Bytes = r.total.Objects+1, r.total.Bytes+o.size
	if r.Progress != nil {
		r.Progress(r.total)
	}
}

// reportWrong reports and counts an object that is missing from the backup; format and args give
// the reason.
func (r *backupRun) reportWrong(o storedObject, format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.summary.Wrong++
	if r.Report != nil {
		r.Report(fmt.Sprintf("%s: %s", o, fmt.Sprintf(format, args...)))
	}
	r.addProgress(o)
}

// copyObject copies an object into its pool, unless it is there, and checks its size and SHA-256. A
// missing or damaged object is reported. An error ends the backup.
func (r *backupRun) copyObject(ctx context.Context, o storedObject) error {
	pool := r.pools[o.provider]
	has, err := r.isInPool(ctx, pool, o)
	if errors.Is(err, errNoGoodCopy) {
		r.reportWrong(o, "%v", err)
		return nil
	}
	if err != nil {
		return fmt.Errorf("look into the backup: %w", err)
	}
	if has {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.addProgress(o)
		return nil
	}
	var length int64 // of the object in the store
	err = r.at.repeat(ctx, func() error {
		source, err := r.sources[o.provider].Open(ctx, o.key)
		if err != nil {
			return unreadable{err}
		}
		defer source.Close() // opened for reading
		length = source.Size()
		info, err := pool.Put(ctx, o.key, newCheckedReader(source, o), blob.PutOptions{Size: o.size})
		if err == nil && o.sha256 != "" && info.SHA256 != nil && hex.EncodeToString(info.SHA256) != o.sha256 {
			err = errors.Join(pool.Delete(ctx, o.key), // for the next attempt
				blob.Unavailable("write to the backup", errors.New("it has another object under this key")))
		}
		return err
	})
	var unopened unreadable
	var size blob.ErrSize
	var reading blob.ErrReader
	switch {
	case err == nil:
		crash.Point("backup.stored")
		r.mu.Lock()
		defer r.mu.Unlock()
		r.summary.Copied, r.summary.Added = r.summary.Copied+1, r.summary.Added+o.size
		r.addProgress(o)
		return nil
	case errors.As(err, &unopened) && errors.Is(err, blob.ErrNotFound):
		r.reportWrong(o, "it is not in the store")
		return nil
	case errors.As(err, &unopened):
		return r.reportUnreadable(ctx, o, unopened.error)
	case errors.As(err, &size):
		r.reportWrong(o, "it should have %d bytes and has %d", o.size, length)
		return nil
	case errors.Is(err, errWrongHash):
		r.reportWrong(o, "%v", errWrongHash)
		return nil
	case errors.As(err, &reading):
		return r.reportUnreadable(ctx, o, err)
	}
	return fmt.Errorf("write to the backup: %w", err)
}

// unreadable is an error of the service's store, not of the backup.
type unreadable struct{ error }

func (u unreadable) Unwrap() error { return u.error }

// reportUnreadable reports an object that the store cannot read because of cause. It returns an
// error when the whole store has failed.
func (r *backupRun) reportUnreadable(ctx context.Context, o storedObject, cause error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if away := r.probeStore(ctx, o.provider); away != nil {
		return fmt.Errorf("the store of provider %s became unavailable: %w", o.provider, away)
	}
	r.reportWrong(o, "the store can't read it: %v", cause)
	return nil
}

// isInPool reports whether the pool has the object undamaged. It deletes an object of the wrong
// length, and with Verify one of the wrong content, but only after it has verified that the store
// has the right one. Until then the damaged object may be the best copy. Error: errNoGoodCopy when
// neither is right.
func (r *backupRun) isInPool(ctx context.Context, pool pool, o storedObject) (bool, error) {
	info, err := pool.Stat(ctx, o.key)
	if errors.Is(err, blob.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if info.Size == o.size {
		if !r.Verify {
			return true, nil
		}
		if err = verifyObject(ctx, pool, o); err == nil {
			return true, nil
		}
		if r.Bucket != nil && errors.Is(err, blob.ErrUnavailable) { // the bucket, not the object
			return false, err
		}
	} else {
		err = fmt.Errorf("it has %d bytes", info.Size)
	}
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	if verifyObject(ctx, r.sources[o.provider], o) != nil {
		return false, errNoGoodCopy
	}
	r.mu.Lock()
	if r.Report != nil && r.Verify {
		r.Report(fmt.Sprintf("%s: it was damaged in the backup (%v), and is copied again", o, err))
	}
	r.mu.Unlock()
	return false, pool.Delete(ctx, o.key)
}

// errNoGoodCopy: neither the pool nor the store has the object undamaged. The copy in the pool
// stays.
var errNoGoodCopy = errors.New("it is damaged in the backup, and the store has no intact copy")

// verifyObject reads an object completely and returns an error unless its size and SHA-256 are
// those in the database.
func verifyObject(ctx context.Context, from blob.Opener, o storedObject) error {
	content, err := from.Open(ctx, o.key)
	if err != nil {
		return err
	}
	defer content.Close() // opened for reading
	n, err := io.Copy(io.Discard, newCheckedReader(contextReader{ctx, content}, o))
	if err == nil && n != o.size {
		err = fmt.Errorf("it has %d bytes", n)
	}
	return err
}

// eachObject calls sort for every object of the database rows, one after the other, and do for
// those for which sort returns true, copyWorkers in parallel. The first error ends it.
func eachObject(ctx context.Context, rows *db.DB, sort func(storedObject) (bool, error),
	do func(context.Context, storedObject) error) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	work := make(chan storedObject)
	var busy sync.WaitGroup
	for range copyWorkers {
		busy.Go(func() {
			for o := range work {
				if ctx.Err() != nil {
					continue
				}
				if err := do(ctx, o); err != nil {
					end(err)
				}
			}
		})
	}
	err := func() error {
		defer close(work)
		for last := ""; ; {
			found, err := objectsAfter(rows.Read(ctx), last, objectsPerQuery)
			if err != nil {
				return err
			}
			for _, o := range found {
				last = o.id
				wanted, err := sort(o)
				if err != nil {
					return err
				}
				if !wanted {
					continue
				}
				select {
				case work <- o:
				case <-ctx.Done():
					return context.Cause(ctx)
				}
			}
			if len(found) < objectsPerQuery {
				return nil
			}
		}
	}()
	busy.Wait()
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// errWrongHash: the bytes differ from those that were stored.
var errWrongHash = errors.New("its bytes are not those that were stored: the SHA-256 is another one")

// checkedReader fails at its end when the content does not have the recorded SHA-256. It checks
// nothing when none is recorded.
type checkedReader struct {
	from io.Reader
	want storedObject
	sum  hash.Hash
	n    int64
}

// newCheckedReader returns a reader of the bytes from, which must be those of want.
func newCheckedReader(from io.Reader, want storedObject) *checkedReader {
	return &checkedReader{from: from, want: want, sum: sha256.New()}
}

// Read implements io.Reader. Error: errWrongHash at the end of content that differs.
func (c *checkedReader) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	c.sum.Write(p[:n])
	c.n += int64(n)
	if err == io.EOF && c.n == c.want.size && c.want.sha256 != "" &&
		hex.EncodeToString(c.sum.Sum(nil)) != c.want.sha256 {
		err = errWrongHash
	}
	return n, err
}

// contextReader fails when its context ends.
type contextReader struct {
	ctx  context.Context
	from io.Reader
}

// Read implements io.Reader.
func (r contextReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.from.Read(p)
}
