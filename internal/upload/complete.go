package upload

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"larder/internal/access"
	"larder/internal/blob"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/provider"
	"larder/internal/quota"
)

// errChanged tells that the session moved on between the look at it and the transaction.
var errChanged = errors.New("the upload session changed meanwhile")

// Complete makes the file of the bytes received, after checking them in the store; the rights are judged anew. Of several calls one makes
// it, and every repeat within a day gets the same file with already set. Faults: Invalid (no etag), NotFound, Conflict (aborted),
// UploadExpired, Unverified (no bytes, or not these), QuotaExceeded, AlreadyExists, Forbidden, Unavailable.
func (s *Service) Complete(ctx context.Context, a access.Actor, sessionID, etag string) (file files.Entry, already bool, err error) {
	etag = strings.Trim(strings.TrimPrefix(strings.TrimSpace(etag), "W/"), `"`)
	if etag == "" {
		return files.Entry{}, false, fault.New(fault.Invalid, "The etag that the upload of the bytes answered is required.")
	}
	const tries = 20
	for try := 1; ; try++ {
		r, err := find(s.db.Read(ctx), a.UserID, sessionID)
		if err != nil {
			return files.Entry{}, false, err
		}
		if r.status == completed {
			file, err := s.repeat(ctx, a, r)
			return file, true, err
		}
		if err := s.takesBytes(r); err != nil {
			return files.Entry{}, false, err
		}
		if err := s.verify(ctx, r, etag); err != nil {
			return files.Entry{}, false, err
		}
		file, err := s.commit(ctx, a, r)
		if errors.Is(err, errChanged) && try < tries {
			continue
		}
		return file, false, err
	}
}

// repeat answers for a session that is completed already. Fault: NotFound, a day later or when the file is gone.
func (s *Service) repeat(ctx context.Context, a access.Actor, r row) (files.Entry, error) {
	if s.ms() >= r.completedAt+repeatable.Milliseconds() {
		return files.Entry{}, noSession()
	}
	file, _, err := s.tree.Details(ctx, a, r.entryID)
	return file, err
}

// verify compares what the store holds with what was announced and what the client names. Faults: Unverified, Unavailable.
func (s *Service) verify(ctx context.Context, r row, etag string) error {
	if r.key == "" {
		return fault.New(fault.Unverified, "The bytes of this upload have not come in yet.")
	}
	if etag != r.sha256 {
		return fault.New(fault.Unverified, "The etag is not that of the bytes received.")
	}
	store, err := s.store(ctx, r.place.ProviderID)
	if err != nil {
		return err
	}
	info, err := store.Stat(ctx, r.key)
	switch {
	case errors.Is(err, blob.ErrNotFound):
		return fault.New(fault.Unverified, "The bytes of this upload are not in the store. Send them again.").Because(err)
	case err != nil:
		return provider.Fault(err)
	case info.Size != r.size || info.ETag != r.etag:
		return fault.New(fault.Unverified, "The store holds other bytes than those received. Send them again.")
	}
	return nil
}

// commit turns the session into a file, in one transaction. Error: errChanged when somebody else took the session out of pending, or other
// bytes came in.
func (s *Service) commit(ctx context.Context, a access.Actor, r row) (files.Entry, error) {
	var file files.Entry
	err := s.db.Write(ctx, func(tx *db.Tx) error {
		if err := tx.LockTree(false); err != nil { // before rows of sessions and quotas, as whoever deletes a folder does
			return err
		}
		now := s.ms()
		if won, err := complete(tx, r, now); err != nil {
			return err
		} else if !won {
			return errChanged
		}
		var err error
		if file, err = s.place(ctx, tx, a, r); err != nil {
			return err
		}
		return setEntry(tx, r.id, file.ID)
	})
	if err != nil {
		return files.Entry{}, fmt.Errorf("complete an upload: %w", err)
	}
	return file, nil
}

// place gives the reservation back and makes the file of stored bytes, which charges them and takes their key off the garbage list.
func (s *Service) place(ctx context.Context, tx *db.Tx, a access.Actor, r row) (files.Entry, error) {
	// On PostgreSQL also where nothing was reserved: whoever makes a file has then locked the quota's row before the name in the folder, and no
	// two uploads of one name wait for each other crosswise.
	if r.bytes > 0 || r.files > 0 || s.db.Dialect() == "postgres" {
		if err := quota.Release(tx, r.userID, r.bytes, r.files); err != nil {
			return files.Entry{}, err
		}
	}
	return s.tree.Put(ctx, tx, a, r.place, files.Stored{Key: r.key, Size: r.size, SHA256: r.sha256, ETag: r.etag, MimeType: r.mimeType})
}
