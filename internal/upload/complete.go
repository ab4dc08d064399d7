package upload

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"larder/internal/access"
	"larder/internal/blob"
	"larder/internal/crash"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/object"
	"larder/internal/provider"
	"larder/internal/quota"
)

// errSessionChanged says that the session changed between the check and the transaction.
var errSessionChanged = errors.New("the upload session changed meanwhile")

// Complete makes the file of the received bytes, after checking them in the store, and decides
// about permissions again. Of several calls one makes the file; every further call within a day
// returns the same file with already set. etag is that of PutRaw or of the store, for a session
// whose bytes came in one piece; a session in parts needs none. Faults: Invalid (no etag),
// NotFound, Conflict (aborted; a part is being written), UploadExpired, Unverified (bytes or parts
// are missing, or not those announced), QuotaExceeded, AlreadyExists, Forbidden, RateLimited (too
// many wait), Unavailable.
func (s *Service) Complete(ctx context.Context, a access.Actor, sessionID,
	etag string) (file files.Entry, already bool, err error) {
	const tries, maxSkewed = 20, 3
	for try := 1; ; try++ {
		r, err := find(s.db.Read(ctx), a.UserID, sessionID)
		if err != nil {
			return files.Entry{}, false, err
		}
		if !r.inParts() {
			if etag = unquoteETag(etag); etag == "" {
				return files.Entry{}, false, fault.New(fault.Invalid,
					"The etag that the upload returned is required.")
			}
		}
		if r.status == completed {
			file, err := s.completedFile(ctx, a, r)
			return file, true, err
		}
		if err := s.checkTakesBytes(r); err != nil {
			return files.Entry{}, false, err
		}
		if r.inParts() {
			file, err = s.completeParts(ctx, a, r)
		} else {
			file, err = s.completeWhole(ctx, a, r, etag)
		}
		if errors.Is(err, errSessionChanged) && try < tries || r.inStaging() && errors.Is(err, object.ErrCollected) &&
			try < maxSkewed {
			continue
		}
		if err == nil {
			crash.Point("complete.committed")
		}
		return file, false, err
	}
}

// completeWhole makes the file of a session whose bytes came in one piece: through the service,
// with the etag of PutRaw, or directly to the store, with the store's etag. Faults: those of
// copyFromStaging, verify and commit. Error: errSessionChanged when the session has to be read
// again.
func (s *Service) completeWhole(ctx context.Context, a access.Actor, r row, etag string) (file files.Entry, err error) {
	made := r
	if r.inStaging() {
		made, err = s.copyFromStaging(ctx, r, etag)
	} else {
		err = s.verify(ctx, r, etag)
	}
	if err == nil {
		file, err = s.commit(ctx, a, r, made)
	}
	if err != nil && made.key != r.key {
		s.discardCopy(ctx, err, made)
	}
	return file, err
}

// unquoteETag removes white space, quotes and the mark of a weak etag (W/), as HTTP has them around
// an etag.
func unquoteETag(etag string) string {
	return strings.Trim(strings.TrimPrefix(strings.TrimSpace(etag), "W/"), `"`)
}

// completedFile returns the file of the completed session r, for a repeated completion. Faults:
// NotFound, a day after the completion or when the file is gone; those of files.Tree.Details.
func (s *Service) completedFile(ctx context.Context, a access.Actor, r row) (files.Entry, error) {
	if s.nowMs() >= r.completedAt+repeatableFor.Milliseconds() {
		return files.Entry{}, noSession()
	}
	file, _, err := s.tree.Details(ctx, a, r.entryID)
	return file, err
}

// verify compares the bytes in the store, which came through the service in one piece, with the
// announced size and with the client's etag, the SHA-256 that PutRaw returned. Faults: Unverified,
// Unavailable.
func (s *Service) verify(ctx context.Context, r row, etag string) error {
	if r.key == "" {
		return fault.New(fault.Unverified, "The content of this upload has not been received yet.")
	}
	if etag != r.sha256 {
		return fault.New(fault.Unverified, "The etag does not match the received content.")
	}
	store, err := s.store(ctx, r.dest.ProviderID)
	if err != nil {
		return err
	}
	info, err := store.Stat(ctx, r.key)
	switch {
	case errors.Is(err, blob.ErrNotFound):
		return fault.New(fault.Unverified, "The content of this upload is not in the store. Send it again.").
			WithCause(err)
	case err != nil:
		return provider.Fault(err)
	case info.Size != r.size || info.ETag != r.etag:
		return fault.New(fault.Unverified, "The content in the store differs from the received content. Send it again.")
	}
	return nil
}

// finish asks the store to assemble the parts of r to an object and checks it; it sets etag and
// MIME type in r. Faults: Unverified (parts are missing), Conflict (a part is being written; the
// parts are gone), Unavailable. Error: errSessionChanged when the session has ended meanwhile.
func (s *Service) finish(ctx context.Context, r *row) error {
	store, err := s.store(ctx, r.dest.ProviderID)
	if err != nil {
		return err
	}
	made, err := s.assemble(ctx, store, *r)
	switch {
	case errors.Is(err, blob.ErrBusy):
		return fault.New(fault.Conflict,
			"A part of this upload is still being written. Complete the upload when that is done.").WithCause(err)
	case errors.Is(err, blob.ErrNotFound):
		return s.explainVanished(ctx, store, *r)
	case err != nil:
		return provider.Fault(err)
	}
	crash.Point("complete.finished")
	info, err := store.Stat(ctx, r.key)
	switch {
	case errors.Is(err, blob.ErrNotFound):
		return s.explainVanished(ctx, store, *r)
	case err != nil:
		return provider.Fault(err)
	case info.Size != r.size || info.ETag != made.ETag:
		return fault.New(fault.Unverified,
			"The content in the store differs from the received content. Abort this upload and start a new one.")
	}
	r.sha256, r.etag = "", info.ETag
	if r.mimeType = typeBeforeBytes(r.dest.Name, r.claimedType); r.mimeType == "" {
		r.mimeType, err = sniffObject(ctx, store, r.key)
	}
	return err
}

// assemble asks the store to assemble the acknowledged parts. It retries for some two seconds while
// another request is active: a part that is about to be stored, one that is stored and not
// acknowledged yet, or another completion. Errors: those of Finish, except ErrPart. Faults:
// Unverified (parts are missing), Unavailable.
func (s *Service) assemble(ctx context.Context, store blob.Store, r row) (blob.Info, error) {
	for wait := time.Millisecond; ; wait *= 2 {
		parts, others, err := s.received(ctx, r)
		if err != nil {
			return blob.Info{}, err
		}
		// also when parts are missing: the store reports whether it is busy
		info, err := store.Finish(ctx, s.upload(r), parts)
		lacks := errors.Is(err, blob.ErrPart)
		if lacks && (wait > time.Second || !others && len(parts) < r.totalParts) {
			return blob.Info{}, incomplete(r.totalParts, parts)
		}
		if !lacks && (!errors.Is(err, blob.ErrBusy) || wait > time.Second) {
			return info, err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return blob.Info{}, fmt.Errorf("wait for the store: %w", ctx.Err())
		}
	}
}

// incomplete is the fault Unverified that names the first of the missing parts; total is the number
// of parts of the upload, parts are those that came in.
func incomplete(total int, parts []blob.Part) error {
	const some = 5
	absent := missing(total, parts)
	var names []string
	for _, number := range absent[:min(len(absent), some)] {
		names = append(names, strconv.Itoa(number))
	}
	if len(absent) == 0 {
		// the missing parts arrived after the store's check: the client tries again
		return fault.New(fault.Unverified, "Some parts of this upload have not been received yet.")
	}
	list := strings.Join(names, ", ")
	if more := len(absent) - some; more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return fault.Newf(fault.Unverified, "Parts of this upload have not been received yet: %s.", list)
}

// sniffObject detects the MIME type of an object by its first bytes. Fault: Unavailable.
func sniffObject(ctx context.Context, store blob.Store, key blob.Key) (string, error) {
	object, err := store.Open(ctx, key)
	if err != nil {
		return "", provider.Fault(err)
	}
	defer object.Close()
	head, err := io.ReadAll(io.LimitReader(object, headSize))
	if err != nil {
		return "", provider.Fault(err)
	}
	return sniff(head), nil
}

// commit turns the session r into a file, in one transaction. made is r with the key, ETag and MIME
// type of the object that becomes the file's content. Faults: those of files.Tree.Put. Error:
// errSessionChanged when another caller has ended the session, or other bytes have come in.
func (s *Service) commit(ctx context.Context, a access.Actor, r, made row) (files.Entry, error) {
	var file files.Entry
	err := s.db.Write(ctx, func(tx *db.Tx) error {
		// before rows of sessions and quotas, in the same order as the deletion of a folder
		if err := tx.LockTree(false); err != nil {
			return err
		}
		now := s.nowMs()
		if won, err := complete(tx, r, now); err != nil {
			return err
		} else if !won {
			return errSessionChanged
		}
		var err error
		if file, err = s.putFile(ctx, tx, a, made); err != nil {
			return err
		}
		return setEntry(tx, r.id, file.ID)
	})
	if err != nil {
		return files.Entry{}, fmt.Errorf("complete an upload: %w", err)
	}
	return file, nil
}

// putFile releases the reservation of r and makes the file of its stored bytes in tx, which charges
// them and takes their key off the garbage list. Faults: those of files.Tree.Put.
func (s *Service) putFile(ctx context.Context, tx *db.Tx, a access.Actor, r row) (files.Entry, error) {
	// On PostgreSQL also where nothing was reserved: every transaction that makes a file then locks
	// the quota row before the name in the folder, so two uploads of one name cannot deadlock.
	if r.bytes > 0 || r.files > 0 || s.db.Dialect() == "postgres" {
		if err := quota.Release(tx, r.userID, r.bytes, r.files); err != nil {
			return files.Entry{}, err
		}
	}
	return s.tree.Put(ctx, tx, a, r.dest, files.StoredObject{Key: r.key, Size: r.size, SHA256: r.sha256, ETag: r.etag,
		MimeType: r.mimeType})
}
