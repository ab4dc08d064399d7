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
	"larder/internal/object"
)

// haul is one object on its way from store to store, to a key that is on the garbage list meanwhile.
type haul struct {
	*transfer
	cargo    cargo
	from, to blob.Store
	key      blob.Key

	mu  sync.Mutex
	due int64 // when the key is collected, ms; mu guards it
}

// bring has the object copied and verified: by the server, where one holds both stores, or else through this process. Info is complete, whichever
// way it went. Errors: errDiffers or blob.ErrSize for a copy that is not what is recorded, blob.ErrNotFound when the source has no such object,
// object.ErrCollected when the key is not ours any more.
func (h *haul) bring(ctx context.Context) (blob.Info, error) {
	info, err := h.byServer(ctx)
	if errors.Is(err, blob.ErrNoCopy) {
		info, err = h.through(ctx)
	}
	if err == nil {
		err = h.verify(ctx, info)
	}
	return info, err
}

// through reads the object here and writes it there, hashed on the way.
func (h *haul) through(ctx context.Context) (blob.Info, error) {
	object, err := h.from.Open(ctx, h.cargo.Key)
	if err != nil {
		return blob.Info{}, fmt.Errorf("open what is to be copied: %w", err)
	}
	defer object.Close() // opened to read
	return h.to.Put(ctx, h.key, &passing{ctx: ctx, haul: h, from: object}, blob.PutOptions{Size: h.cargo.size, MimeType: h.cargo.mimeType})
}

// byServer has the server copy the object. Nobody has seen those bytes, and what a server says of its own copy proves little: so the copy is read
// back and hashed, which is one transfer where copying through here takes two. Error: blob.ErrNoCopy when no server holds both.
func (h *haul) byServer(ctx context.Context) (info blob.Info, err error) {
	copier, can := h.to.(blob.Copier)
	if !can {
		return blob.Info{}, fmt.Errorf("copy on the server: %w", blob.ErrNoCopy)
	}
	err = h.holding(ctx, func(ctx context.Context) (err error) {
		info, err = copier.CopyFrom(ctx, h.key, h.from, h.cargo.Key, h.cargo.mimeType, "")
		return err
	})
	if err != nil {
		return blob.Info{}, err
	}
	object, err := h.to.Open(ctx, h.key)
	if errors.Is(err, blob.ErrNotFound) {
		return blob.Info{}, fmt.Errorf("%w: it cannot be found: %w", errDiffers, err)
	}
	if err != nil {
		return blob.Info{}, fmt.Errorf("read the copy back: %w", err)
	}
	defer object.Close()               // opened to read
	if object.Size() != h.cargo.size { // however long it is, it need not be read
		return blob.Info{Size: object.Size()}, nil // verify refuses that
	}
	sum := sha256.New()
	if info.Size, err = io.Copy(sum, &passing{ctx: ctx, haul: h, from: object}); err != nil {
		return blob.Info{}, fmt.Errorf("read the copy back: %w", err)
	}
	info.SHA256 = sum.Sum(nil)
	return info, nil
}

// errDiffers says that a copy is another content than its original.
var errDiffers = errors.New("the copy differs from what is recorded")

// verify compares what went by, and what the store says it has, with what is recorded.
func (h *haul) verify(ctx context.Context, taken blob.Info) error {
	c, sum := h.cargo, hex.EncodeToString(taken.SHA256)
	if taken.Size != c.size || len(taken.SHA256) == 0 || c.sha256 != "" && c.sha256 != sum {
		return fmt.Errorf("%w: %d bytes with SHA-256 %q were copied, %d with %q are recorded", errDiffers, taken.Size, sum, c.size, c.sha256)
	}
	there, err := h.to.Stat(ctx, h.key)
	switch {
	case errors.Is(err, blob.ErrNotFound):
		return fmt.Errorf("%w: %w", errDiffers, err)
	case err != nil:
		return err
	case there.Size != c.size, len(there.SHA256) > 0 && hex.EncodeToString(there.SHA256) != sum, !sameTag(there.ETag, taken.ETag):
		return fmt.Errorf("%w: the store has %d bytes, SHA-256 %x, ETag %s", errDiffers, there.Size, there.SHA256, there.ETag)
	}
	return nil
}

// sameTag compares what a store calls an object at two times. Some quote an ETag in one answer and not in the other.
func sameTag(a, b string) bool {
	return a == "" || b == "" || strings.Trim(a, `"`) == strings.Trim(b, `"`)
}

// passing is content on its way: it counts, and puts the day off on which its key is collected.
type passing struct {
	ctx  context.Context
	haul *haul
	from io.Reader
}

func (p *passing) Read(b []byte) (int, error) {
	if err := p.ctx.Err(); err != nil {
		return 0, err
	}
	if err := p.haul.postpone(p.ctx); err != nil {
		return 0, err
	}
	n, err := p.from.Read(b)
	p.haul.run.Moved(int64(n))
	return n, err
}

// holding runs do while the key is kept from being collected, for what reads nothing here by which the time that passes would be noticed. The
// context of do ends when the key is lost.
func (h *haul) holding(ctx context.Context, do func(ctx context.Context) error) error {
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
			if err := h.postpone(ctx); err != nil {
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

// postpone gives the key more time when half of what it had is over.
func (h *haul) postpone(ctx context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.now() < h.due-(object.KeyLifetime/2).Milliseconds() {
		return nil
	}
	until := h.Now().Add(object.KeyLifetime).UnixMilli()
	var held bool
	err := h.DB.Write(ctx, func(tx *db.Tx) (err error) {
		held, err = object.Postpone(tx, h.order.Provider, h.key, until)
		return err
	})
	if err == nil && !held {
		err = object.ErrCollected
	}
	if err == nil {
		h.due = until
	}
	return err
}
