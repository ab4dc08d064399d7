package webdav

import (
	"io"
	"net/http"

	"larder/internal/access"
	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/upload"
	"larder/internal/vpath"
)

// get serves a file. A folder has no content: clients list it with PROPFIND.
func (q *request) get() error {
	at, err := q.resource()
	if err != nil {
		return err
	}
	content, err := at.ContentFor(q.Actor)
	if fault.Is(err, fault.NotFound) && (at.IsFolder() || at.Virtual()) {
		return fault.New(fault.MethodNotAllowed, "This is a folder: open it with a WebDAV client.")
	}
	if err != nil {
		return err
	}
	return q.Send(content)
}

// put stores the body as a file. An existing file is replaced only after the whole body is stored.
func (q *request) put() error {
	if q.R.Header.Get("Content-Range") != "" { // RFC 9110, section 14.5: a part must not replace the whole
		return fault.New(fault.Invalid, "Parts of files are not taken: send the whole file.")
	}
	if q.Path.IsRoot() || q.TrailingSlash {
		return fault.New(fault.MethodNotAllowed, "A file cannot be put in the place of a folder.")
	}
	at, err := q.resource()
	if err != nil {
		return err
	}
	if at.IsFolder() || at.Virtual() {
		return q.alreadyExists(at)
	}
	wanted := access.Write
	if at.Exists() {
		wanted = access.Update
	}
	// refuse before reading the body
	if err := at.Authorize(q.Actor, wanted); err != nil && !fault.Is(err, fault.NotFound) {
		return err
	}
	if err := q.checkConditions(at.ETag(), at.Exists(), at.UpdatedAt()); err != nil {
		return err
	}
	if err := at.CheckUnlocked(q.ctx(), q.Actor); err != nil {
		return err
	}
	result, err := q.store(upload.OneShot{Size: q.R.ContentLength, MimeType: q.R.Header.Get("Content-Type"),
		Conflict: files.Replace, Body: q.Body})
	if err != nil {
		return err
	}
	q.W.Header().Set("ETag", result.ETag)
	q.writeStatus(storedStatus(at.Exists()))
	return nil
}

// store uploads a file to the request's path. Its folder must exist. Fault, among those of
// upload.Service.Put: Conflict when the folder is missing.
func (q *request) store(o upload.OneShot) (files.Entry, error) {
	o.Dir, o.Name, o.RequireFolder = q.Path.Parent(), q.Path.Base(), true
	o.Precondition = q.recheckContent
	result, err := q.Uploads.Put(q.ctx(), q.Actor, o)
	if fault.Is(err, fault.NotFound) {
		return files.Entry{}, missingParent()
	}
	return result.File, err
}

// missingParent is the fault for a missing intermediate collection (RFC 4918).
func missingParent() error {
	return fault.New(fault.Conflict, "The folder for this does not exist: create it first.")
}

// alreadyExists returns the fault AlreadyExists, or that of the permission when the actor may not
// write at the path.
func (q *request) alreadyExists(at *files.Resource) error {
	if err := at.Authorize(q.Actor, access.Write); err != nil {
		return err
	}
	return fault.New(fault.AlreadyExists, "Something exists there already, and this request cannot replace it.")
}

// mkcol creates a folder.
func (q *request) mkcol() error {
	if q.Path.IsRoot() {
		return fault.New(fault.MethodNotAllowed, "The root is there already.")
	}
	var one [1]byte
	if n, _ := io.ReadFull(q.R.Body, one[:]); n > 0 {
		return protocolError{status: http.StatusUnsupportedMediaType, message: "A folder is made without a body."}
	}
	at, err := q.resource()
	if err != nil {
		return err
	}
	if err := at.Authorize(q.Actor, access.Write); err != nil && !fault.Is(err, fault.NotFound) {
		return err
	}
	if err := q.checkConditions(at.ETag(), at.Exists(), at.UpdatedAt()); err != nil {
		return err
	}
	if at.Exists() || at.Virtual() {
		return q.alreadyExists(at)
	}
	_, err = q.Tree.CreateFolder(q.ctx(), q.Actor, q.Path.Parent(), q.Path.Base())
	if fault.Is(err, fault.NotFound) {
		return missingParent()
	}
	if err != nil {
		return err
	}
	q.writeStatus(http.StatusCreated)
	return nil
}

// delete removes a file, or a folder with everything in it.
func (q *request) delete() error {
	at, err := q.checkedResource(access.Delete)
	if err != nil {
		return err
	}
	if d, err := parseDepth(q.R.Header.Get("Depth"), depthInfinity); err != nil || at.IsFolder() && d != depthInfinity {
		return fault.New(fault.Invalid, "A folder is deleted with all that is in it: Depth is infinity.")
	}
	if err := q.Tree.DeleteIf(q.ctx(), q.Actor, at.ID(), q.recheckTarget); err != nil {
		return forbiddenIfConflict(err)
	}
	q.writeStatus(http.StatusNoContent)
	return nil
}

// forbiddenIfConflict turns a Conflict into Forbidden: mounts and the folders above them must not
// be moved or deleted (abuse case C23).
func forbiddenIfConflict(err error) error {
	if fault.Is(err, fault.Conflict) {
		return fault.New(fault.Forbidden, faultMessage(err)).WithCause(err)
	}
	return err
}

// copyOrMove copies or moves the resource to the path in the Destination header.
func (q *request) copyOrMove() error {
	mode := transferMode{move: q.R.Method == "MOVE"}
	to, err := q.destination()
	if err != nil {
		return err
	}
	if mode.overwrite, err = parseOverwrite(q.R.Header.Get("Overwrite")); err != nil {
		return err
	}
	d, err := parseDepth(q.R.Header.Get("Depth"), depthInfinity)
	if err != nil || d == depth1 {
		return fault.New(fault.Invalid, "The Depth header is 0 or infinity here.")
	}
	mode.shallow = d == depth0
	wanted := []access.Permission{access.Delete}
	if !mode.move {
		wanted = []access.Permission{access.Read, access.Download}
	}
	var at *files.Resource
	for _, p := range wanted {
		if at, err = q.checkedResource(p); err != nil {
			return err
		}
	}
	if mode.move && mode.shallow && at.IsFolder() {
		return fault.New(fault.Invalid, "A folder is moved with all that is in it: Depth is infinity.")
	}
	existed, err := q.checkDestination(to, mode.overwrite)
	if err != nil {
		return err
	}
	if to.IsRoot() || to == q.Path || to.Within(q.Path) || q.Path.Within(to) {
		return fault.New(fault.Forbidden,
			"A file or folder cannot be moved or copied onto itself, into itself or onto a folder that contains it.")
	}
	if err := q.runTransfer(at.ID(), to, mode); err != nil {
		return err
	}
	q.writeStatus(storedStatus(existed))
	return nil
}

// destination returns the path in the Destination header. Fault: Invalid; 502 for another server.
func (q *request) destination() (vpath.Path, error) {
	header := q.R.Header.Get("Destination")
	if header == "" {
		return vpath.Root, fault.New(fault.Invalid, "The Destination header is missing.")
	}
	to, _, err := parseDestination(header, q.BaseURL, q.R.Host)
	if err == errOtherServer {
		return vpath.Root, protocolError{status: http.StatusBadGateway,
			message: "The destination is on another server."}
	}
	return to, err
}

// checkDestination reports whether something exists at the destination. Faults: Precondition when
// something exists and overwrite is false; before that, the fault of the permission when the actor
// may not write there.
func (q *request) checkDestination(to vpath.Path, overwrite bool) (existed bool, err error) {
	at, err := q.Tree.ResourceAt(q.ctx(), to)
	if err != nil {
		return false, err
	}
	err = at.Authorize(q.Actor, access.Write)
	switch {
	case fault.Is(err, fault.NotFound):
		return false, nil
	case err != nil:
		return false, err
	case !overwrite:
		return true, fault.New(fault.Precondition, "Something lies at the destination already.")
	}
	return true, nil
}

// runTransfer moves or copies an entry. When the domain starts a job for it, it waits for the job.
func (q *request) runTransfer(id string, to vpath.Path, mode transferMode) error {
	j, err := q.startTransfer(id, to, mode)
	if fault.Is(err, fault.Conflict) && !mode.overwrite { // an entry may have appeared there since the check
		if _, occupied := q.checkDestination(to, false); occupied != nil {
			return occupied
		}
	}
	switch {
	case fault.Is(err, fault.NotFound):
		return missingParent()
	case err != nil:
		return forbiddenIfConflict(err)
	}
	return q.waitForJob(j)
}
