package upload

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"
	"time"

	"larder/internal/access"
	"larder/internal/blob"
	"larder/internal/crash"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/object"
	"larder/internal/quota"
	"larder/internal/vpath"
)

// smallMax is the smallest size in bytes that is not read into memory as a whole.
const smallMax = 256 << 10

// buffers hold small bodies, and the beginning of larger ones.
var buffers = sync.Pool{New: func() any { return new([smallMax]byte) }}

// OneShot is an upload in one request.
type OneShot struct {
	Dir      vpath.Path
	Name     vpath.Name
	Size     int64          // bytes announced, -1 for unknown
	MimeType string         // "" or what the client claims; an invalid type counts as ""
	Conflict files.Conflict // "" = rename
	// Modified is the time of the last change of the file, see files.Destination.
	Modified time.Time
	// Links says whether the permanent link is made at once: "none" (or ""), "images", "all". A
	// file is an image by its decided type and by its first bytes, so that nothing but a picture is
	// published under the name of one.
	Links string
	Body  io.Reader
	// Buffered is the buffered upload that the body comes from, nil when it comes from the client.
	Buffered *BufferedUpload
	// RequireFolder says that missing folders are not made: the folder must exist. Fault: Conflict.
	RequireFolder bool
	// Precondition, unless it is nil, checks the existing entry when the file is put; see
	// files.Destination.
	Precondition func(etag string) error
	// InTx, unless it is nil, runs inside the transaction that makes the file, which then holds the
	// tree alone. Its error ends Put and undoes the file.
	InTx func(tx *db.Tx, file files.Entry) error
}

// Result is the file, and its permanent link if one was requested.
type Result struct {
	File files.Entry
	Link *files.Link
}

// Put stores a whole body as a file; nil means that file, row and charge are durable. When it
// fails, nothing has changed. It reserves a body of announced size before it reads it; for a body
// of unknown size it reserves room in steps as the bytes arrive, until the quota ends. A body that
// replaces a file uses the room that this frees. (A body below 256 KiB is read first and then
// charged at once.) Faults: Unauthorized, Invalid, Forbidden, NotFound, AlreadyExists,
// QuotaExceeded, RateLimited (16 are running), TooLarge (over 20 GiB), Unverified (longer or
// shorter than announced, or interrupted), Unavailable.
func (s *Service) Put(ctx context.Context, a access.Actor, o OneShot) (Result, error) {
	if err := signedIn(a); err != nil {
		return Result{}, err
	}
	if o.Size > MaxFileSize {
		return Result{}, tooLarge()
	}
	how, err := files.ParseConflict(string(o.Conflict))
	if err != nil {
		return Result{}, err
	}
	if o.Buffered == nil {
		leave, err := s.acquireSlot(ctx, a.UserID)
		if err != nil {
			return Result{}, err
		}
		defer leave()
	}
	dest, err := s.tree.ResolveDestination(ctx, a, o.Dir, o.Name, how)
	if err != nil {
		return Result{}, err
	}
	if o.RequireFolder && len(dest.Missing) > 0 {
		return Result{}, fault.New(fault.Conflict, "The target folder does not exist.")
	}
	dest.Precondition, dest.Modified = o.Precondition, o.Modified
	if err := s.checkRoomEarly(ctx, a.UserID, dest, o); err != nil {
		return Result{}, err
	}

	buf := buffers.Get().(*[smallMax]byte)
	defer buffers.Put(buf)
	want := buf[:]
	if o.Size >= smallMax {
		want = buf[:headSize]
	} else if o.Size >= 0 {
		want = buf[:o.Size+1] // one byte more tells whether the body ends
	}
	n, ended, err := fill(o.Body, want)
	if err != nil {
		return Result{}, storeFault(err)
	}
	head := want[:n]
	if o.Size >= 0 && o.Size < smallMax && !ended || ended && o.Size >= 0 && int64(n) != o.Size {
		return Result{}, fault.Newf(fault.Unverified, "The body does not have the announced %d bytes.", o.Size)
	}
	if ended {
		return s.putSmall(ctx, a, o, dest, head)
	}
	o.Body = io.MultiReader(bytes.NewReader(head), o.Body)
	return s.putLarge(ctx, a, o, dest, head[:min(n, headSize)])
}

// checkRoomEarly refuses a body that cannot fit into the quota before it is read: of its announced
// size, or of any size when the quota is used up. It leaves a file that another account pays for to
// the commit, since the payer may change meanwhile, as by a handover. Fault: QuotaExceeded.
func (s *Service) checkRoomEarly(ctx context.Context, userID string, dest files.Destination, o OneShot) error {
	if dest.Payer != userID {
		return nil
	}
	bytes, count, err := quota.Remaining(s.db.Read(ctx), userID)
	if err != nil {
		return fmt.Errorf("read the quota: %w", err)
	}
	own, ownFiles := o.Buffered.reserved()
	bytes += min(dest.Freed+own, math.MaxInt64-bytes)
	if !dest.Replaces && count < 1-ownFiles || bytes < max(o.Size, 0) {
		return overQuota()
	}
	return nil
}

// putSmall stores the whole body of an upload in one request, which is in memory, under a key that
// is on the garbage list already, and makes the file with one commit. When the collector has
// claimed the key, since the clock of another replica is far ahead, it tries again with a new key.
func (s *Service) putSmall(ctx context.Context, a access.Actor, o OneShot, dest files.Destination,
	body []byte) (Result, error) {
	result, err := s.putAtDiscardedKey(ctx, a, o, dest, body)
	if errors.Is(err, object.ErrCollected) {
		s.log.Warn("the object key of an upload was collected too early: compare the clocks of the "+
			"replicas", "provider",
			dest.ProviderID)
		s.keys.ForgetKeys(dest.ProviderID)
		result, err = s.putAtDiscardedKey(ctx, a, o, dest, body)
	}
	return result, err
}

// putAtDiscardedKey is one try of putSmall. Error: object.ErrCollected when the collector has
// claimed the key.
func (s *Service) putAtDiscardedKey(ctx context.Context, a access.Actor, o OneShot, dest files.Destination,
	body []byte) (Result, error) {
	key, due, err := s.keys.DiscardedKey(ctx, dest.ProviderID)
	if err != nil {
		return Result{}, err
	}
	store, err := s.store(ctx, dest.ProviderID) // after the key is on the garbage list, see object.KeySource
	if err != nil {
		return Result{}, err
	}
	crash.Point("upload.noted")
	r := row{userID: a.UserID, dest: dest, size: int64(len(body)), key: key,
		expiresAt: due - garbageDelay.Milliseconds()}
	r.mimeType = decideType(dest.Name, body, cleanType(o.MimeType))
	info, err := store.Put(ctx, key, bytes.NewReader(body),
		blob.PutOptions{Size: r.size, Max: r.size, MimeType: r.mimeType})
	if err != nil {
		err = storeFault(err)
		s.discard(ctx, err, dest.ProviderID, key)
		return Result{}, err
	}
	crash.Point("upload.stored")
	r.sha256, r.etag = hex.EncodeToString(info.SHA256), info.ETag
	link := o.makesLink(r.mimeType, body)
	var result Result
	err = s.db.Write(ctx, func(tx *db.Tx) (err error) {
		// before the quota row, in the same order as the deletion of a folder
		if err := tx.LockTree(o.InTx != nil); err != nil {
			return err
		}
		if s.nowMs() >= r.expiresAt {
			return leaseLapsed()
		}
		result, err = s.publish(ctx, tx, a, o, r, link)
		return err
	})
	if err != nil {
		s.discard(ctx, err, dest.ProviderID, key)
		return Result{}, fmt.Errorf("commit an upload: %w", err)
	}
	crash.Point("upload.committed")
	return result, nil
}

// publish makes the file of the stored bytes in tx, with its permanent link if link is true, and
// runs o.InTx.
func (s *Service) publish(ctx context.Context, tx *db.Tx, a access.Actor, o OneShot, r row, link bool) (Result, error) {
	file, err := s.putFile(ctx, tx, a, r)
	if err != nil {
		return Result{}, err
	}
	result := Result{File: file}
	if link {
		l, err := s.tree.LinkTx(tx, file.ID)
		if err != nil {
			return Result{}, err
		}
		result.Link = &l
	}
	if o.InTx != nil {
		return result, o.InTx(tx, file)
	}
	return result, nil
}

// putLarge stores a body that is too large for memory, or of unknown size: it streams the body to
// the store, with a row of upload_sessions that holds its reservation. head are the first bytes of
// o.Body.
func (s *Service) putLarge(ctx context.Context, a access.Actor, o OneShot, dest files.Destination,
	head []byte) (Result, error) {
	key, err := s.keys.NewKey(ctx, dest.ProviderID)
	if err != nil {
		return Result{}, err
	}
	now := s.now()
	fresh := row{
		id: s.ids.UUID(), userID: a.UserID, dest: dest, size: o.Size, claimedType: cleanType(o.MimeType),
		oneShot: true,
		files:   1, key: key, createdAt: now.UnixMilli(), expiresAt: now.Add(Lifetime).UnixMilli(),
	}
	var r row
	err = s.db.Write(ctx, func(tx *db.Tx) error {
		if err := tx.LockTree(false); err != nil { // see object.KeySource
			return err
		}
		r = fresh
		if err := s.reserveOneShot(tx, &r, o.Buffered); err != nil {
			return err
		}
		if err := object.Discard(tx, dest.ProviderID, key, r.expiresAt+garbageDelay.Milliseconds()); err != nil {
			return err
		}
		return insert(tx, r)
	})
	if err != nil {
		return Result{}, fmt.Errorf("reserve for an upload: %w", err)
	}
	crash.Point("large.noted")
	var result Result
	store, err := s.store(ctx, dest.ProviderID)
	if err == nil {
		result, err = s.stream(ctx, a, o, store, &r, head)
	}
	if err != nil {
		s.cleanUpFailed(ctx, err, r)
		return Result{}, err
	}
	return result, nil
}

// reserveOneShot reserves the known size of the upload r, or a first step of an unknown one, sets
// the reservation in r, and takes over that of its buffered body waited, which may be nil. A file
// that another account pays for is charged at the end. Faults: QuotaExceeded, RateLimited,
// UploadExpired.
func (s *Service) reserveOneShot(tx *db.Tx, r *row, waited *BufferedUpload) error {
	if err := waited.releaseForPut(tx); err != nil {
		return err
	}
	if r.paidByUser() {
		r.replaces, r.freed = r.dest.ReplacesID, r.dest.Freed
	}
	if err := deductReplaced(tx, r); err != nil {
		return err
	}
	if err := s.checkOneShotLimit(tx, r.userID); err != nil {
		return err
	}
	if r.bytes = max(r.size-r.freed, 0); r.dest.Replaces {
		r.files = 0
		if !r.paidByUser() {
			r.bytes = 0
		}
	}
	if r.bytes > 0 || r.files > 0 {
		if err := quota.Reserve(tx, r.userID, r.bytes, r.files); err != nil {
			return err
		}
	}
	if r.size >= 0 || !r.paidByUser() || r.freed >= firstStep {
		return nil
	}
	first, err := reserveStep(tx, r.userID, 0)
	r.bytes += first
	return err
}

// paidByUser reports whether the user of an upload pays for the file. Another account pays when the
// upload replaces its file.
func (r row) paidByUser() bool { return r.dest.Payer == r.userID }

// stream sends the body of putLarge to the store, and makes the file in one transaction with the
// end of its row. It renews the row, and reserves more quota for a body of unknown size, while
// bytes arrive.
func (s *Service) stream(ctx context.Context, a access.Actor, o OneShot, store blob.Store, r *row,
	head []byte) (Result, error) {
	r.mimeType = decideType(r.dest.Name, head, r.claimedType)
	var body io.Reader = &guardedReader{r: o.Body, guard: func() error { return s.renewOneShot(ctx, r) }}
	if o.Size < 0 && r.paidByUser() {
		more := func(arrived int64) (int64, error) { return s.reserveMore(ctx, r, arrived) }
		body = &reservingReader{Reader: body, reserved: r.freed + r.bytes, reserve: more}
	}
	info, err := store.Put(ctx, r.key, body, blob.PutOptions{Size: o.Size, Max: MaxFileSize, MimeType: r.mimeType})
	if errors.Is(err, blob.ErrTooLarge) {
		return Result{}, tooLarge().WithCause(err)
	}
	if err != nil {
		return Result{}, storeFault(err)
	}
	crash.Point("large.stored")
	r.size, r.sha256, r.etag = info.Size, hex.EncodeToString(info.SHA256), info.ETag
	link := o.makesLink(r.mimeType, head)
	var result Result
	err = s.db.Write(ctx, func(tx *db.Tx) error {
		if err := tx.LockTree(o.InTx != nil); err != nil {
			return err
		}
		held, err := deleteOneShot(tx, r)
		if err != nil {
			return err
		}
		if !held || s.nowMs() >= r.expiresAt {
			return leaseLapsed()
		}
		result, err = s.publish(ctx, tx, a, o, *r, link)
		return err
	})
	if err != nil {
		return Result{}, fmt.Errorf("commit an upload: %w", err)
	}
	crash.Point("large.committed")
	return result, nil
}

// renewOneShot extends the row of a running upload in one request, and the time of its key on the
// garbage list, once every renewEvery; it is called before each read of the body. Fault:
// UploadExpired when the row is gone, after a pause longer than its lifetime.
func (s *Service) renewOneShot(ctx context.Context, r *row) error {
	now := s.now()
	if now.UnixMilli() < max(r.expiresAt-(Lifetime-renewEvery).Milliseconds(), r.retryRenewAt) {
		return nil
	}
	until := now.Add(Lifetime).UnixMilli()
	err := s.db.Write(ctx, func(tx *db.Tx) error {
		held, err := extendOneShot(tx, r.id, until)
		if err == nil && !held {
			err = leaseLapsed()
		}
		if err != nil {
			return err
		}
		if r.key == "" {
			return nil
		}
		held, err = object.Postpone(tx, r.dest.ProviderID, r.key, until+garbageDelay.Milliseconds())
		if err == nil && !held {
			err = leaseLapsed()
		}
		return err
	})
	var refused *fault.Error
	switch {
	case err == nil:
		r.expiresAt = until
	case !errors.As(err, &refused) && ctx.Err() == nil && now.UnixMilli() < r.expiresAt-(Lifetime/2).Milliseconds():
		// A database that does not answer now is no reason to end an upload: the row is still
		// valid, and the next attempt follows after renewEvery.
		s.log.Warn("renew the row of an upload", "error", err)
		r.retryRenewAt = now.Add(renewEvery).UnixMilli()
		return nil
	}
	return err
}

// cleanUpFailed deletes the row of an upload in one request that failed because of err, releases
// its reservation, and makes its bytes garbage. Bytes of a store that did not answer stay on the
// garbage list for later: the store may still finish them, see discard.
func (s *Service) cleanUpFailed(ctx context.Context, err error, r row) {
	if errors.Is(err, blob.ErrUnavailable) {
		r.key = "" // stays on the garbage list for later
	}
	ctx, cancel := detached(ctx)
	defer cancel()
	err = s.db.Write(ctx, func(tx *db.Tx) error {
		held, err := deleteOneShot(tx, &r)
		if err != nil || !held {
			return err
		}
		return s.releaseAndDiscard(tx, r)
	})
	if err != nil { // the sweep does it an hour later
		s.log.Warn("release the reservation of a failed upload", "error", err)
	}
}

// makesLink reports whether to make the permanent link of a file at once, by o.Links, the decided
// MIME type and the first bytes.
func (o OneShot) makesLink(mimeType string, head []byte) bool {
	switch o.Links {
	case "all":
		return true
	case "images":
		return isRaster(mimeType) && isRaster(sniff(head))
	}
	return false
}

// leaseLapsed is the fault UploadExpired for an upload in one request that paused for longer than
// its row lasts.
func leaseLapsed() error {
	return fault.New(fault.UploadExpired, "This upload paused for too long. Start again.")
}

// overQuota is the fault QuotaExceeded for an upload that does not fit.
func overQuota() *fault.Error {
	return fault.New(fault.QuotaExceeded, "There is not enough room left in your quota.")
}

// tooLarge is the fault TooLarge for a file above MaxFileSize.
func tooLarge() *fault.Error {
	return fault.New(fault.TooLarge, "A file has at most 20 GiB.")
}
