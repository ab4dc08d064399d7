package object

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"larder/internal/blob"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/job"
)

// ChecksumJob is the type of the job that fills in the SHA-256 of an object that was uploaded in
// parts. Its payload is the id of the object; RunChecksum runs it.
const ChecksumJob = "checksum"

// RunChecksum runs a ChecksumJob: it reads an object once and records its SHA-256. It does nothing
// for an object that is gone or whose SHA-256 is known. Fault: Unverified when the store has no
// such object or one of another length.
func (r *Registry) RunChecksum(ctx context.Context, run *job.Run) error {
	o, found, err := unhashedObject(r.DB.Read(ctx), run.Payload)
	if err != nil || !found {
		return err
	}
	run.SetRemaining(o.size)
	store, err := r.Store(ctx, o.Provider)
	if err != nil {
		return err
	}
	content, err := store.Open(ctx, o.Key)
	if errors.Is(err, blob.ErrNotFound) {
		if now, found, err := unhashedObject(r.DB.Read(ctx), run.Payload); err != nil || !found || now != o {
			return err
		}
		return wrongContent(o, err)
	}
	if err != nil {
		return fmt.Errorf("open object %s: %w", o.Key, err)
	}
	defer content.Close()
	hash := sha256.New()
	n, err := io.Copy(hash, &progressReader{ctx: ctx, from: content, run: run})
	if err != nil {
		return fmt.Errorf("read object %s: %w", o.Key, err)
	}
	if n != o.size {
		return wrongContent(o, fmt.Errorf("%d bytes are stored, %d recorded", n, o.size))
	}
	return r.DB.Write(ctx, func(tx *db.Tx) error {
		return FillHash(tx, o.id, o.Provider, o.Key, hex.EncodeToString(hash.Sum(nil)))
	})
}

// wrongContent is the fault Unverified for an object that is missing in its store or has another
// length than recorded; cause goes to the log.
func wrongContent(o unhashedRecord, cause error) error {
	return fault.New(fault.Unverified, "The content of a file has changed since it was stored.").
		WithCause(fmt.Errorf("read object %s of provider %s: %w", o.Key, o.Provider, cause))
}

// progressReader counts the bytes that are read, and stops reading when its context ends.
type progressReader struct {
	ctx  context.Context
	from io.Reader
	run  *job.Run
}

// Read implements io.Reader. Error: that of the context when it has ended.
func (r *progressReader) Read(b []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := r.from.Read(b)
	r.run.AddProgress(int64(n))
	return n, err
}
