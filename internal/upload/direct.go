package upload

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"time"

	"larder/internal/blob"
	"larder/internal/crash"
	"larder/internal/fault"
	"larder/internal/object"
	"larder/internal/provider"
)

// Modes in which the bytes of a session come. In mode presigned they may also come through the
// service, in parts or as a whole, for clients that cannot reach the store.
const (
	modeWorker    = "worker"
	modePresigned = "presigned"
)

// PartURL is the address of one part.
type PartURL struct {
	Number int
	URL    string
}

// maxUsableAddresses is the maximal number of addresses for bytes in one piece that a user has and
// that can still be used, whatever happened to their sessions. Bytes sent there are charged when a
// file is made of them, and deleted when the address has expired: without a bound it would be free
// storage (abuse case C96).
const maxUsableAddresses = 100

// chooseMode chooses the mode of a user's new session: modePresigned when clients may send bytes
// directly to the store, else modeWorker. An empty file always goes through the service. So do
// bytes in one piece where a publicDomain serves everything in the bucket, since the client that
// sends them directly sets their type. A user has maxUsableAddresses for bytes in one piece at
// most.
func (s *Service) chooseMode(ctx context.Context, n NewSession, userID, providerID string) (string, error) {
	if n.Mode == modeWorker || n.Size == 0 {
		return modeWorker, nil
	}
	store, err := s.store(ctx, providerID)
	if err != nil {
		return modeWorker, nil // an error of the store shows when bytes come
	}
	if _, signs := store.(blob.Presigner); !signs {
		return modeWorker, nil
	}
	p, err := s.providers.ByID(ctx, providerID)
	if err != nil {
		return "", fmt.Errorf("find the provider of an upload: %w", err)
	}
	if p.UploadMode == modeWorker || p.UploadMode != modePresigned && n.HTTPS && !reachedByHTTPS(p) || !n.inParts() &&
		p.PublicDomain != "" {
		return modeWorker, nil
	}
	if !n.inParts() {
		if live, err := countUsableAddresses(s.db.Read(ctx), userID, s.nowMs()); err != nil ||
			live >= maxUsableAddresses {
			return modeWorker, err
		}
	}
	return modePresigned, nil
}

// reachedByHTTPS reports whether clients reach the provider's store by https. A page loaded by
// https may not send anything by http.
func reachedByHTTPS(p provider.Provider) bool {
	address, err := url.Parse(cmp.Or(p.UploadDomain, p.Endpoint))
	return err != nil || address.Scheme != "http" // a host without a scheme is reached by https
}

// sessionFor returns the session r as its owner sees it, with the addresses for sending bytes
// directly to the store. wanted is NewSession.Mode. Without addresses, because they are not wanted
// or cannot be made, the bytes go through the service (modeWorker).
func (s *Service) sessionFor(ctx context.Context, r row, wanted string) Session {
	session := r.session()
	if session.Mode == modeWorker {
		return session
	}
	session.Mode = modeWorker
	if r.status != pending || wanted == modeWorker {
		return session
	}
	var err error
	if r.inParts() {
		session.Parts, err = s.partURLs(ctx, r, missing(r.totalParts, nil))
	} else {
		session.URL, err = s.objectURL(ctx, r)
	}
	if err != nil {
		s.warnUnsigned(r, err)
		return session
	}
	session.Mode, session.UploadID = modePresigned, r.uploadID
	return session
}

// warnUnsigned logs that the store did not sign addresses for a session; its bytes go through the
// service.
func (s *Service) warnUnsigned(r row, err error) {
	s.log.Warn("sign addresses for an upload", "provider", r.dest.ProviderID, "error", err)
}

// signer returns the store's signer of addresses for a session, and how long its addresses are
// valid: until the session expires, in whole seconds. Error: when the store signs none, or the
// session is about to expire.
func (s *Service) signer(ctx context.Context, r row) (blob.Presigner, time.Duration, error) {
	lasts := (time.Duration(r.expiresAt-s.nowMs()) * time.Millisecond).Truncate(time.Second) // stores count in seconds
	if lasts <= 0 {
		return nil, 0, errors.New("the session is about to expire")
	}
	store, err := s.store(ctx, r.dest.ProviderID)
	if err != nil {
		return nil, 0, err
	}
	signer, signs := store.(blob.Presigner)
	if !signs {
		return nil, 0, errors.New("the store no longer signs addresses")
	}
	return signer, lasts, nil
}

// objectURL returns the address to which the client sends all bytes of a session in one piece.
func (s *Service) objectURL(ctx context.Context, r row) (string, error) {
	signer, lasts, err := s.signer(ctx, r)
	if err != nil {
		return "", err
	}
	return signer.PresignPut(ctx, r.key, r.size, lasts)
}

// partURLs returns the addresses to which the client sends the parts with these numbers (from 1).
func (s *Service) partURLs(ctx context.Context, r row, numbers []int) ([]PartURL, error) {
	signer, lasts, err := s.signer(ctx, r)
	if err != nil {
		return nil, err
	}
	urls := make([]PartURL, 0, len(numbers))
	for _, number := range numbers {
		address, err := signer.PresignPart(ctx, s.upload(r), number, lasts)
		if err != nil {
			return nil, err
		}
		urls = append(urls, PartURL{number, address})
	}
	return urls, nil
}

// copyFromStaging checks the bytes of a session that were sent directly to the store, at its
// staging key, and copies them to a key that clients cannot write to. etag is the one that the
// store gave the client. It returns r with the copy's key, ETag and type; the key is on the garbage
// list until a file is made of it. Faults: Unverified (no bytes, or not those announced or named by
// etag), Unavailable, RateLimited. Error: errSessionChanged when the session has changed meanwhile.
func (s *Service) copyFromStaging(ctx context.Context, r row, etag string) (row, error) {
	gone, err := s.completionWaiters.enter(r.userID)
	if err != nil {
		return r, err
	}
	defer gone()
	leave, err := s.copySlots.acquire(ctx, r.userID) // a copy that is not used has the same cost for the store
	if err != nil {
		return r, err
	}
	defer leave()
	store, err := s.store(ctx, r.dest.ProviderID)
	if err != nil {
		return r, err
	}
	info, err := store.Stat(ctx, r.key)
	switch {
	case errors.Is(err, blob.ErrNotFound):
		return r, s.bytesMissing(ctx, r, err)
	case err != nil:
		return r, provider.Fault(err)
	case info.Size != r.size:
		return r, fault.Newf(fault.Unverified,
			"The session was created for %d bytes, but %d were received. Send the file again.", r.size, info.Size)
	case unquoteETag(info.ETag) != etag:
		return r, fault.New(fault.Unverified, "The etag does not match the content in the store.")
	}
	made := r
	if made.mimeType = typeBeforeBytes(r.dest.Name, r.claimedType); made.mimeType == "" {
		switch made.mimeType, err = sniffObject(ctx, store, r.key); {
		case errors.Is(err, blob.ErrNotFound):
			return r, s.bytesMissing(ctx, r, err)
		case err != nil:
			return r, err
		}
	}
	if made.key, _, err = s.keys.DiscardedKey(ctx, r.dest.ProviderID); err != nil {
		return r, err
	}
	// after the key is on the garbage list, see object.KeySource
	if store, err = s.store(ctx, r.dest.ProviderID); err != nil {
		return r, err
	}
	copied, err := s.copyObject(ctx, store, r, made, info.ETag)
	switch {
	case errors.Is(err, blob.ErrNotFound):
		return r, s.bytesMissing(ctx, r, err)
	case errors.Is(err, blob.ErrChanged):
		return r, fault.New(fault.Unverified, "The content was uploaded again in the meantime. Complete with the new "+
			"etag.").
			WithCause(err)
	case err != nil: // the key stays on the list for later: a store that was slow to answer may be slow to copy
		return r, provider.Fault(err)
	case copied.Size != r.size:
		return made, fault.New(fault.Unverified, "The content in the store differs from the received content. Send "+
			"it again.")
	}
	crash.Point("direct.copied")
	made.etag, made.sha256 = copied.ETag, hex.EncodeToString(copied.SHA256)
	return made, nil
}

// bytesMissing is the error for a session whose bytes are not at its staging key: errSessionChanged
// when the session has changed since r was read, else the fault Unverified because of err.
func (s *Service) bytesMissing(ctx context.Context, r row, err error) error {
	if now, err := find(s.db.Read(ctx), r.userID, r.id); err == nil && (now.status != r.status || now.key != r.key) {
		return errSessionChanged
	}
	return fault.New(fault.Unverified, "The content of this upload has not been received yet.").WithCause(err)
}

// copyObject copies the object with that ETag from r.key to made.key, by the store itself where it
// can, else by reading and writing it. Errors: those of blob.Copier, except ErrCopyUnsupported;
// blob.ErrChanged when the object has another ETag by now.
func (s *Service) copyObject(ctx context.Context, store blob.Store, r, made row, etag string) (blob.Info, error) {
	if copier, ok := store.(blob.Copier); ok {
		info, err := copier.CopyFrom(ctx, made.key, store, r.key, made.mimeType, etag)
		if !errors.Is(err, blob.ErrCopyUnsupported) {
			return info, err
		}
	}
	object, err := store.Open(ctx, r.key)
	if err != nil {
		return blob.Info{}, err
	}
	defer object.Close()
	info, err := store.Put(ctx, made.key, object, blob.PutOptions{Size: r.size, Max: r.size, MimeType: made.mimeType})
	if err != nil {
		return blob.Info{}, storeFault(err)
	}
	again, err := store.Stat(ctx, r.key) // an open object does not tell whether it is the one that was checked
	if err == nil && again.ETag != etag {
		err = fmt.Errorf("read object: %w", blob.ErrChanged)
	}
	return info, err
}

// discardCopy is called when err has ended the completion of a session whose bytes were sent
// directly to the store; made is the session with the key of the copy. It makes the copy garbage at
// once if err proves that no file was made of it, see discard; otherwise the key stays on the list
// for later.
func (s *Service) discardCopy(ctx context.Context, err error, made row) {
	if errors.Is(err, object.ErrCollected) {
		s.log.Warn("the object key of an upload was collected too early: compare the clocks of the "+
			"replicas", "provider",
			made.dest.ProviderID)
		s.keys.ForgetKeys(made.dest.ProviderID)
	}
	s.discard(ctx, err, made.dest.ProviderID, made.key)
}
