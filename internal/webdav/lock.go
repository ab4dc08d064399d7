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

// lock makes a lock, or gives one its time anew when there is no body (RFC 4918, section 9.10). Where nothing is, it makes an empty file, which others
// then see and cannot write.
func (q *request) lock() error {
	tree, err := readXML(q.R.Body)
	if err != nil {
		return err
	}
	lasts := parseTimeout(q.R.Header.Get("Timeout"), files.MaxLockTime)
	if q.Ends != nil { // nobody could end it then
		lasts = min(lasts, time.UnixMilli(*q.Ends).Sub(q.Now()))
	}
	if tree == nil {
		return q.refresh(lasts)
	}
	info, err := parseLockInfo(tree)
	if err != nil {
		return err
	}
	d, err := parseDepth(q.R.Header.Get("Depth"), depthInfinity)
	if err != nil || d == depth1 {
		return fault.New(fault.Invalid, "The Depth header is 0 or infinity here.")
	}
	wish := files.WriteLock{Deep: d == depthInfinity, Exclusive: info.exclusive, Owner: info.owner}
	at, err := q.spot()
	if err != nil {
		return err
	}
	if !at.Exists() && !at.Virtual() {
		l, err := q.lockNothing(at, wish, lasts)
		if !fault.Is(err, fault.AlreadyExists) { // else somebody has just made it
			return q.locked(http.StatusCreated, l, err)
		}
		q.at = nil
	}
	if at, err = q.there(access.Update); err != nil {
		return err
	}
	l, err := q.Tree.Lock(q.ctx(), q.Actor, at.ID(), wish, lasts)
	if path, below := q.blocked(err); below {
		return q.mixed(path, http.StatusLocked, at.Folder())
	}
	return q.locked(http.StatusOK, l, err)
}

// lockNothing makes an empty file and its lock, both or neither.
func (q *request) lockNothing(at *files.Spot, wish files.WriteLock, lasts time.Duration) (l files.WriteLock, err error) {
	if err := at.May(q.Actor, access.Write); err != nil && !fault.Is(err, fault.NotFound) {
		return l, err
	}
	if err := q.matches("", false, 0); err != nil {
		return l, err
	}
	if q.Slash {
		return l, fault.New(fault.Conflict, "There is no such folder: make it first.")
	}
	wish.Fresh = true
	_, err = q.store(upload.OneShot{Conflict: files.Fail, Body: bytes.NewReader(nil), Then: func(tx *db.Tx, file files.Entry) (err error) {
		l, err = q.Tree.LockInside(tx, q.Actor, file.ID, wish, lasts)
		return err
	}})
	return l, err
}

// refresh gives the lock whose token came along its time anew.
func (q *request) refresh(lasts time.Duration) error {
	if len(q.Actor.Locks) == 0 {
		return fault.New(fault.Invalid, "A lock is made with a body, and refreshed with its token in the If header.")
	}
	at, err := q.spot()
	if err != nil {
		return err
	}
	if err := at.May(q.Actor, access.Update); err != nil && !fault.Is(err, fault.NotFound) { // who may not change it any more cannot hold it for good
		return err
	}
	l, err := q.Tree.Refresh(q.ctx(), q.Actor, at.ID(), lasts)
	if fault.Is(err, fault.Precondition) || fault.Is(err, fault.NotFound) {
		return refusal{http.StatusPreconditionFailed, message(err), "lock-token-matches-request-uri"}
	}
	if err != nil {
		return err
	}
	return q.granted(http.StatusOK, l)
}

// locked answers with a lock that was made, or returns why there is none.
func (q *request) locked(status int, l files.WriteLock, err error) error {
	if err != nil {
		return err
	}
	q.W.Header().Set("Lock-Token", "<"+tokenScheme+l.Token+">")
	return q.granted(status, l)
}

// granted answers with a lock.
func (q *request) granted(status int, l files.WriteLock) error {
	body := append([]byte(xmlHead), `<D:prop xmlns:D="DAV:">`...)
	body = q.discovery(body, []files.WriteLock{l})
	body = append(body, "</D:prop>\n"...)
	asXML(q.W.Header())
	q.W.WriteHeader(status)
	_, _ = q.W.Write(body) // a client that has gone reads nothing; its lock ends by itself
	return nil
}

// unlock ends a lock (RFC 4918, section 9.11).
func (q *request) unlock() error {
	token, err := parseLockToken(q.R.Header.Get("Lock-Token"))
	if err != nil {
		return err
	}
	at, err := q.spot()
	if err != nil {
		return err
	}
	id, _ := strings.CutPrefix(token, tokenScheme)
	err = q.Tree.Unlock(q.ctx(), q.Actor, at.ID(), id)
	if fault.Is(err, fault.Conflict) {
		return refusal{http.StatusConflict, message(err), "lock-token-matches-request-uri"}
	}
	if err != nil {
		return err
	}
	q.done(http.StatusNoContent)
	return nil
}
