package upload

import (
	"context"
	"encoding/hex"
	"fmt"
	"io"

	"larder/internal/access"
	"larder/internal/blob"
	"larder/internal/crash"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/object"
)

// PutRaw receives the bytes of a pending session; length is their number, -1 when the transport
// does not know. It may be repeated, and the last whole body counts. contentType is that of the
// request, "" for none. The etag is opaque and is passed to Complete. Faults: NotFound, Conflict
// (not pending, or in parts), UploadExpired, Unverified (not the announced size, or interrupted:
// nothing is kept), Unavailable.
func (s *Service) PutRaw(ctx context.Context, a access.Actor, sessionID string, body io.Reader, length int64,
	contentType string) (etag string, size int64, err error) {
	r, err := find(s.db.Read(ctx), a.UserID, sessionID)
	if err != nil {
		return "", 0, err
	}
	if r.inParts() {
		return "", 0, fault.New(fault.Conflict, "This upload is in parts. Send each part in its own request.")
	}
	if err := s.checkTakesBytes(r); err != nil {
		return "", 0, err
	}
	if length >= 0 && length != r.size {
		return "", 0, fault.Newf(fault.Unverified, "The session was created for %d bytes, but the request has "+
			"%d.", r.size,
			length)
	}
	if r.key, err = s.keys.NewKey(ctx, r.dest.ProviderID); err != nil {
		return "", 0, err
	}
	err = s.db.Write(ctx, func(tx *db.Tx) error {
		if err := tx.LockTree(false); err != nil { // see object.KeySource
			return err
		}
		return object.Discard(tx, r.dest.ProviderID, r.key, r.expiresAt+garbageDelay.Milliseconds())
	})
	if err != nil {
		return "", 0, fmt.Errorf("record the key of an upload: %w", err)
	}
	if err := s.receive(ctx, &r, body, contentType); err != nil {
		s.discard(ctx, err, r.dest.ProviderID, r.key)
		return "", 0, err
	}
	return r.sha256, r.size, nil
}

// checkTakesBytes refuses bytes for a session that is completed, aborted or expired. Faults:
// Conflict, UploadExpired.
func (s *Service) checkTakesBytes(r row) error {
	switch {
	case r.status == completed:
		return fault.New(fault.Conflict, "This upload is already complete.")
	case r.status == aborted:
		return fault.New(fault.Conflict, "This upload was aborted.")
	case r.status == expired || s.nowMs() >= r.expiresAt:
		return fault.New(fault.UploadExpired, "This upload session has expired. Start a new upload.")
	}
	return nil
}

// receive stores the body under the new key in r and records it as the session's bytes; earlier
// bytes of the session become garbage. It sets SHA-256, ETag and MIME type in r. Faults: those of
// PutRaw.
func (s *Service) receive(ctx context.Context, r *row, body io.Reader, contentType string) error {
	store, err := s.store(ctx, r.dest.ProviderID)
	if err != nil {
		return err
	}
	head := &headReader{r: &guardedReader{r: body, guard: func() error { return s.checkTakesBytes(*r) }}}
	info, err := store.Put(ctx, r.key, head, blob.PutOptions{Size: r.size, Max: r.size,
		MimeType: typeBeforeBytes(r.dest.Name, cleanType(contentType), r.claimedType)})
	if err != nil {
		return storeFault(err)
	}
	crash.Point("raw.stored")
	r.sha256, r.etag = hex.EncodeToString(info.SHA256), info.ETag
	r.mimeType = decideType(r.dest.Name, head.head, cleanType(contentType), r.claimedType)
	return s.db.Write(ctx, func(tx *db.Tx) error {
		for {
			now, err := find(tx, r.userID, r.id)
			if err != nil {
				return err
			}
			if err := s.checkTakesBytes(now); err != nil {
				return err
			}
			switch done, err := recordBytes(tx, *r, now.key, s.nowMs()); {
			case err != nil:
				return err
			case !done:
				continue // another body of the same session, or its end, was faster
			case now.key == "",
				now.inStaging(): // bytes at the staging key are deleted when their address has expired
				return nil
			}
			return object.Discard(tx, r.dest.ProviderID, now.key, s.nowMs())
		}
	})
}
