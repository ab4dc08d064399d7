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
	"larder/internal/blob/disk"
	"larder/internal/db"
	"larder/internal/provider"
)

const (
	// piece is how many rows are in memory at once.
	piece = 1000
	// hands is how many objects are copied at a time: syncs of one directory
	// are shared between them.
	hands = 8
)

// absent is a key that no object has: a healthy store says so, any other fails.
const absent = blob.Key("00/00000000000000000000000000000000")

// open has a look at the stores of all local providers of the snapshot, and makes their pools.
func (r *run) open(ctx context.Context) error {
	then := provider.New(provider.Config{DB: r.rows, ObjectDir: r.ObjectDir, Now: r.Now})
	all, err := then.All(ctx)
	if err = errors.Join(err, then.Close()); err != nil {
		return err
	}
	for _, p := range all {
		r.manifest.Providers = append(r.manifest.Providers,
			Holding{ID: p.ID, Name: p.Name, Type: p.Type, Bucket: p.Bucket})
		if p.Type != provider.BuiltIn {
			continue
		}
		if err := providerName(p.ID); err != nil {
			return err
		}
		// What it has keeps it from going to another bucket meanwhile.
		if r.sources[p.ID], err = r.Providers.Store(ctx, p.ID); err == nil {
			err = r.there(ctx, p.ID)
		}
		if err != nil {
			return fmt.Errorf("the store of provider %s (%s) is not there, so nothing of it could be copied: %w", p.ID,
				p.Name, err)
		}
		marker := "larder-backup-" + r.Fingerprint
		if err := disk.Create(r.dir.pool(p.ID), marker); err != nil {
			return fmt.Errorf("make room in the backup: %w", err)
		}
		if r.pools[p.ID], err = disk.Open(r.dir.pool(p.ID), marker, disk.Options{Now: r.Now}); err != nil {
			return err
		}
		// of whatever age: nobody else writes here
		if _, err := r.pools[p.ID].SweepTemp(r.Now().AddDate(100, 0, 0)); err != nil {
			return fmt.Errorf("remove what an interrupted backup left: %w", err)
		}
	}
	return nil
}

func (r *run) closePools() {
	for _, pool := range r.pools {
		_ = pool.Close() // gives up descriptors
	}
}

// there tells why the store of a provider can't be used.
func (r *run) there(ctx context.Context, providerID string) error {
	if _, err := r.sources[providerID].Stat(ctx, absent); err != nil && !errors.Is(err, blob.ErrNotFound) {
		return err
	}
	return nil
}

// copyObjects puts into the pools what the snapshot names, and lists what lies elsewhere.
func (r *run) copyObjects(ctx context.Context) (err error) {
	if r.all.AllObjects, r.all.AllBytes, err = totals(r.rows.Read(ctx)); err != nil {
		return err
	}
	file, err := os.OpenFile(filepath.Join(r.dir.fresh(), elsewhereName), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
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
			r.sum.Unhashed++
		}
		if local {
			r.sum.Objects, r.sum.Bytes = r.sum.Objects+1, r.sum.Bytes+o.size
			return true, nil
		}
		r.sum.Elsewhere++
		r.passed(o)
		return false, list.Encode(line{Provider: o.provider, Key: string(o.key), Size: o.size, SHA256: o.sha256,
			ETag: o.etag})
	}, r.copyOne)
	if err = errors.Join(err, text.Flush(), file.Sync(), file.Close()); err != nil {
		return fmt.Errorf("copy objects: %w", err)
	}
	return nil
}

// holding finds the provider of an object in the manifest.
func (r *run) holding(o storedObject) (*Holding, bool, error) {
	for i := range r.manifest.Providers {
		if h := &r.manifest.Providers[i]; h.ID == o.provider {
			return h, h.Type == provider.BuiltIn, nil
		}
	}
	return nil, false, fmt.Errorf("%s: there is no such provider", o)
}

// passed tells how far things are. r.mu is held.
func (r *run) passed(o storedObject) {
	r.all.Objects, r.all.Bytes = r.all.Objects+1, r.all.Bytes+o.size
	if r.Progress != nil {
		r.Progress(r.all)
	}
}

// wrong notes an object that the backup lacks.
func (r *run) wrong(o storedObject, format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sum.Wrong++
	if r.Report != nil {
		r.Report(fmt.Sprintf("%s: %s", o, fmt.Sprintf(format, args...)))
	}
	r.passed(o)
}

// copyOne has an object in its pool. An error means that the backup can't go on.
func (r *run) copyOne(ctx context.Context, o storedObject) error {
	pool := r.pools[o.provider]
	has, err := r.kept(ctx, pool, o)
	if errors.Is(err, errNowhere) {
		r.wrong(o, "%v", err)
		return nil
	}
	if err != nil {
		return fmt.Errorf("look into the backup: %w", err)
	}
	if has {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.passed(o)
		return nil
	}
	source, err := r.sources[o.provider].Open(ctx, o.key)
	switch {
	case errors.Is(err, blob.ErrNotFound):
		r.wrong(o, "its bytes are not in the store")
		return nil
	case err != nil:
		return r.unread(ctx, o, err)
	}
	defer source.Close() // opened to read
	_, err = pool.Put(ctx, o.key, newChecked(source, o), blob.PutOptions{Size: o.size})
	var size blob.ErrSize
	var reading blob.ErrReader
	switch {
	case err == nil:
		r.mu.Lock()
		defer r.mu.Unlock()
		r.sum.Copied, r.sum.Added = r.sum.Copied+1, r.sum.Added+o.size
		r.passed(o)
		return nil
	case errors.As(err, &size):
		r.wrong(o, "it should have %d bytes and has %d", o.size, source.Size())
		return nil
	case errors.Is(err, errDiffers):
		r.wrong(o, "%v", errDiffers)
		return nil
	case errors.As(err, &reading):
		return r.unread(ctx, o, err)
	}
	return fmt.Errorf("write to the backup: %w", err)
}

// unread tells an object that its store can't read from a store that can't be read at all.
func (r *run) unread(ctx context.Context, o storedObject, cause error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if away := r.there(ctx, o.provider); away != nil {
		return fmt.Errorf("the store of provider %s went away: %w", o.provider, away)
	}
	r.wrong(o, "the store can't read it: %v", cause)
	return nil
}

// kept reports whether the pool has an object already. What is not as long as it should be, or,
// where that is asked for, not what it should be, is taken out, once it is known that the store has
// it whole: until then it is the best copy that there may be.
func (r *run) kept(ctx context.Context, pool *disk.Store, o storedObject) (bool, error) {
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
		if err = read(ctx, pool, o); err == nil {
			return true, nil
		}
	} else {
		err = fmt.Errorf("it has %d bytes", info.Size)
	}
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	if read(ctx, r.sources[o.provider], o) != nil {
		return false, errNowhere
	}
	r.mu.Lock()
	if r.Report != nil && r.Verify {
		r.Report(fmt.Sprintf("%s: it was damaged in the backup (%v), and is copied again", o, err))
	}
	r.mu.Unlock()
	return false, pool.Delete(ctx, o.key)
}

// errNowhere says that neither the backup nor the store has an object as it should be; what
// the backup has stays.
var errNowhere = errors.New("it is damaged in the backup, and the store can't give it whole")

// read reads an object of a store to its end. An error says that it is not what is recorded,
// or can't be read.
func read(ctx context.Context, from blob.Store, o storedObject) error {
	content, err := from.Open(ctx, o.key)
	if err != nil {
		return err
	}
	defer content.Close() // opened to read
	n, err := io.Copy(io.Discard, newChecked(stopping{ctx, content}, o))
	if err == nil && n != o.size {
		err = fmt.Errorf("it has %d bytes", n)
	}
	return err
}

// eachObject calls do for every object that sort wants, several at a time.
func eachObject(ctx context.Context, rows *db.DB, sort func(storedObject) (bool, error),
	do func(context.Context, storedObject) error) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	work := make(chan storedObject)
	var busy sync.WaitGroup
	for range hands {
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
			found, err := objectsAfter(rows.Read(ctx), last, piece)
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
			if len(found) < piece {
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

// errDiffers says that bytes are not those that were stored.
var errDiffers = errors.New("its bytes are not those that were stored: the SHA-256 is another one")

// checked is content that fails at its end unless it has the SHA-256 that is
// recorded, where one is.
type checked struct {
	from io.Reader
	want storedObject
	sum  hash.Hash
	n    int64
}

func newChecked(from io.Reader, want storedObject) *checked {
	return &checked{from: from, want: want, sum: sha256.New()}
}

func (c *checked) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	c.sum.Write(p[:n])
	c.n += int64(n)
	if err == io.EOF && c.n == c.want.size && c.want.sha256 != "" &&
		hex.EncodeToString(c.sum.Sum(nil)) != c.want.sha256 {
		err = errDiffers
	}
	return n, err
}

// stopping is content that ends with a context.
type stopping struct {
	ctx  context.Context
	from io.Reader
}

func (s stopping) Read(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	return s.from.Read(p)
}
