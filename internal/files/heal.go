package files

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"

	"larder/internal/blob"
	"larder/internal/crash"
	"larder/internal/db"
	"larder/internal/object"
)

// Healing is an object whose bytes are to be replaced by those of an intact copy.
type Healing struct {
	ObjectID      string
	object.Record // as it is recorded; the SHA-256 is not empty
	Copy          object.Copy
	Pace          *Pace // of the bytes that are read, nil for no limit
}

// ErrSourceDiffers says that the source of a healing is missing, or is not what is recorded.
var ErrSourceDiffers = errors.New("the copy is not what is recorded")

// Heal copies the source to a new key of the object's provider, or of the one to which that
// provider is being evacuated. It verifies the copy and switches the object over to it in one
// transaction. Ids and ETags of files stay, and a mark of damage ends. The old key becomes garbage,
// due after the grace period. It reports whether the object was switched over: false when the
// object is gone or was moved meanwhile. Errors: ErrSourceDiffers; those of the stores.
func (t *Tree) Heal(ctx context.Context, h Healing) (healed bool, err error) {
	p, err := t.Providers.ByID(ctx, h.Provider)
	if err != nil {
		return false, err
	}
	to := object.Location{Provider: h.Provider}
	if p.EvacuateTo != "" {
		to.Provider = p.EvacuateTo
	}
	var due int64
	if to.Key, due, err = t.Objects.Keys.DiscardedKey(ctx, to.Provider); err != nil {
		return false, err
	}
	crash.Point("heal.noted")
	// after the key is on the garbage list, see object.KeySource
	target, err := t.Objects.Store(ctx, to.Provider)
	if err != nil {
		return false, err
	}
	mimeType := ""
	if _, signs := target.(blob.Presigner); signs {
		if mimeType, err = mimeTypeOf(t.DB.Read(ctx), h.ObjectID); err != nil {
			return false, err
		}
	}
	oc := objectCopy{Tree: t, file: sourceFile{object: h.ObjectID, size: h.Size, sha256: h.SHA256, mimeType: mimeType,
		Location: object.Location{Provider: h.Provider, Key: h.Copy.Key}},
		fromStore: h.Copy.From, toStore: target, to: to, pace: h.Pace, due: due}
	info, err := oc.copyAndVerify(ctx)
	if err != nil {
		return false, t.healFailed(ctx, to, err)
	}
	crash.Point("heal.copied")
	err = t.writeLocked(ctx, false, func(tx *db.Tx) (err error) {
		healed, err = t.switchObject(tx, h.ObjectID, h.Location, object.Record{Location: to, Size: h.Size,
			SHA256: hex.EncodeToString(info.SHA256), ETag: info.ETag}, t.Objects.Grace)
		return err
	})
	if errors.Is(err, object.ErrCollected) {
		t.Objects.Keys.ForgetKeys(to.Provider)
	}
	if err != nil {
		return false, fmt.Errorf("heal object %s: %w", h.ObjectID, err)
	}
	crash.Point("heal.switched")
	return healed, nil
}

// healFailed cleans up after a failed copy and returns its error.
func (t *Tree) healFailed(ctx context.Context, to object.Location, err error) error {
	var size blob.ErrSize
	switch {
	case errors.Is(err, object.ErrCollected):
		t.Objects.Keys.ForgetKeys(to.Provider)
	case errors.As(err, &size), errors.Is(err, errCopyDiffers), errors.Is(err, blob.ErrNotFound):
		t.discardCopy(ctx, to)
		return fmt.Errorf("%w: %w", ErrSourceDiffers, err)
	}
	return fmt.Errorf("copy an intact object: %w", err)
}
