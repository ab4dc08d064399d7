package webdav

import (
	"bytes"
	"net/http"
	"strings"
	"time"

	"larder/internal/access"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/upload"
)

// lock answers LOCK: it creates a lock, or refreshes one when the request has no body (RFC 4918,
// section 9.10). Where nothing exists, it creates an empty, locked file, which others see and
// cannot write. Faults: Locked, Invalid, those of the permission and the conditions.
func (req *request) lock() error {
	tree, err := readXML(req.R.Body)
	if err != nil {
		return err
	}
	timeout := parseTimeout(req.R.Header.Get("Timeout"), files.MaxLockTime)
	if req.KeyExpiresAt != nil { // an expired key could not end the lock
		timeout = min(timeout, time.UnixMilli(*req.KeyExpiresAt).Sub(req.Now()))
	}
	if tree == nil {
		return req.refresh(timeout)
	}
	info, err := parseLockInfo(tree)
	if err != nil {
		return err
	}
	d, err := parseDepth(req.R.Header.Get("Depth"), depthInfinity)
	if err != nil || d == depth1 {
		return fault.New(fault.Invalid, "The Depth header is 0 or infinity here.")
	}
	requested := files.WriteLock{Deep: d == depthInfinity, Exclusive: info.exclusive, Owner: info.owner}
	resource, err := req.resource()
	if err != nil {
		return err
	}
	if !resource.Exists() && !resource.Virtual() {
		l, err := req.lockNewFile(resource, requested, timeout)
		if !fault.Is(err, fault.AlreadyExists) { // else another request has just created the file
			return req.writeNewLock(http.StatusCreated, l, err)
		}
		req.target = nil
	}
	if resource, err = req.checkedResource(access.Update); err != nil {
		return err
	}
	l, err := req.Tree.Lock(req.ctx(), req.Actor, resource.ID(), requested, timeout)
	if path, below := req.lockedBelow(err); below {
		return req.failedDependency(path, http.StatusLocked, resource.IsFolder())
	}
	return req.writeNewLock(http.StatusOK, l, err)
}

// lockNewFile creates an empty file at the request's path and its lock in one transaction; at is
// the missing resource. Faults: AlreadyExists when the file exists by now, Conflict when its folder
// is missing, Precondition, and those of upload.Service.Put.
func (req *request) lockNewFile(at *files.Resource, requested files.WriteLock,
	timeout time.Duration) (l files.WriteLock, err error) {
	if err := at.Authorize(req.Actor, access.Write); err != nil && !fault.Is(err, fault.NotFound) {
		return l, err
	}
	if err := req.checkConditions("", false, 0); err != nil {
		return l, err
	}
	if req.TrailingSlash {
		return l, fault.New(fault.Conflict, "There is no such folder: create it first.")
	}
	requested.NewEntry = true
	_, err = req.store(upload.OneShot{Conflict: files.Fail, Body: bytes.NewReader(nil),
		InTx: func(tx *db.Tx, file files.Entry) (err error) {
			l, err = req.Tree.LockTx(tx, req.Actor, file.ID, requested, timeout)
			return err
		}})
	return l, err
}

// refresh renews the lock whose token is in the If header; it ends after timeout from now. Faults:
// Invalid without a token; 412 when the lock is not on this resource or has ended.
func (req *request) refresh(timeout time.Duration) error {
	if len(req.Actor.Locks) == 0 {
		return fault.New(fault.Invalid, "Send a body to create a lock, or its token in the If header to refresh one.")
	}
	at, err := req.resource()
	if err != nil {
		return err
	}
	// an actor who may no longer change the file must not keep it locked for ever
	if err := at.Authorize(req.Actor, access.Update); err != nil && !fault.Is(err, fault.NotFound) {
		return err
	}
	l, err := req.Tree.Refresh(req.ctx(), req.Actor, at.ID(), timeout)
	if fault.Is(err, fault.Precondition) || fault.Is(err, fault.NotFound) {
		return protocolError{http.StatusPreconditionFailed, faultMessage(err), "lock-token-matches-request-uri"}
	}
	if err != nil {
		return err
	}
	return req.writeLock(http.StatusOK, l)
}

// writeNewLock sends a new lock with its token in the header Lock-Token, or returns err if that is
// set.
func (req *request) writeNewLock(status int, l files.WriteLock, err error) error {
	if err != nil {
		return err
	}
	req.W.Header().Set("Lock-Token", "<"+tokenScheme+l.Token+">")
	return req.writeLock(status, l)
}

// writeLock sends a status and a lock as the XML of a lockdiscovery property, the answer to LOCK.
func (req *request) writeLock(status int, l files.WriteLock) error {
	body := append([]byte(xmlHead), `<D:prop xmlns:D="DAV:">`...)
	body = req.appendLockDiscovery(body, []files.WriteLock{l})
	body = append(body, "</D:prop>\n"...)
	setXMLHeaders(req.W.Header())
	req.W.WriteHeader(status)
	_, _ = req.W.Write(body) // if the client is gone, its lock ends by itself
	return nil
}

// unlock ends a lock (RFC 4918, section 9.11). Fault: 409 when the token belongs to no lock of this
// resource.
func (req *request) unlock() error {
	token, err := parseLockToken(req.R.Header.Get("Lock-Token"))
	if err != nil {
		return err
	}
	at, err := req.resource()
	if err != nil {
		return err
	}
	id, _ := strings.CutPrefix(token, tokenScheme)
	err = req.Tree.Unlock(req.ctx(), req.Actor, at.ID(), id)
	if fault.Is(err, fault.Conflict) {
		return protocolError{http.StatusConflict, faultMessage(err), "lock-token-matches-request-uri"}
	}
	if err != nil {
		return err
	}
	req.writeStatus(http.StatusNoContent)
	return nil
}
