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

// get serves a file for GET and HEAD. A folder has no content: clients list it with PROPFIND.
// Faults: MethodNotAllowed for a folder, and those of files.Resource.ContentFor.
func (req *request) get() error {
	at, err := req.resource()
	if err != nil {
		return err
	}
	content, err := at.ContentFor(req.Actor)
	if fault.Is(err, fault.NotFound) && (at.IsFolder() || at.Virtual()) {
		return fault.New(fault.MethodNotAllowed, "This is a folder: open it with a WebDAV client.")
	}
	if err != nil {
		return err
	}
	return req.Send(content)
}

// put stores the body of a PUT as a file. An existing file is replaced only after the whole body is
// stored. It checks permissions, conditions and locks before it reads the body.
func (req *request) put() error {
	if req.R.Header.Get("Content-Range") != "" { // RFC 9110, section 14.5: a part must not replace the whole
		return fault.New(fault.Invalid, "Partial uploads are not supported: send the whole file.")
	}
	if req.Path.IsRoot() || req.TrailingSlash {
		return fault.New(fault.MethodNotAllowed, "A file cannot replace a folder.")
	}
	at, err := req.resource()
	if err != nil {
		return err
	}
	if at.IsFolder() || at.Virtual() {
		return req.alreadyExists(at)
	}
	wanted := access.Write
	if at.Exists() {
		wanted = access.Update
	}
	// refuse before reading the body
	if err := at.Authorize(req.Actor, wanted); err != nil && !fault.Is(err, fault.NotFound) {
		return err
	}
	if err := req.checkConditions(at.ETag(), at.Exists(), at.UpdatedAt()); err != nil {
		return err
	}
	if err := at.CheckUnlocked(req.ctx(), req.Actor); err != nil {
		return err
	}
	result, err := req.store(upload.OneShot{Size: req.R.ContentLength, MimeType: req.R.Header.Get("Content-Type"),
		Conflict: files.Replace, Body: req.Body})
	if err != nil {
		return err
	}
	req.W.Header().Set("ETag", result.ETag)
	req.writeStatus(storedStatus(at.Exists()))
	return nil
}

// store uploads a file to the request's path; o has its body and options. The folder of the path
// must exist. Fault, among those of upload.Service.Put: Conflict when the folder is missing.
func (req *request) store(o upload.OneShot) (files.Entry, error) {
	o.Dir, o.Name, o.RequireFolder = req.Path.Parent(), req.Path.Base(), true
	o.Precondition = req.recheckContent
	result, err := req.Uploads.Put(req.ctx(), req.Actor, o)
	if fault.Is(err, fault.NotFound) {
		return files.Entry{}, missingParent()
	}
	return result.File, err
}

// missingParent returns the fault Conflict, which RFC 4918 requires when the folder that should
// contain a new resource is missing.
func missingParent() error {
	return fault.New(fault.Conflict, "The folder for this does not exist: create it first.")
}

// alreadyExists returns the fault AlreadyExists for a request that can't replace the entry at the
// path, or that of the permission when the actor may not write there and must not learn that
// something exists.
func (req *request) alreadyExists(at *files.Resource) error {
	if err := at.Authorize(req.Actor, access.Write); err != nil {
		return err
	}
	return fault.New(fault.AlreadyExists, "A file or folder already exists at this path, and this request cannot "+
		"replace it.")
}

// mkcol creates a folder for MKCOL. Faults: AlreadyExists, Conflict when the folder above is
// missing, and those of files.Tree.CreateFolder.
func (req *request) mkcol() error {
	if req.Path.IsRoot() {
		return fault.New(fault.MethodNotAllowed, "The root folder already exists.")
	}
	var one [1]byte
	if n, _ := io.ReadFull(req.R.Body, one[:]); n > 0 {
		return protocolError{status: http.StatusUnsupportedMediaType, message: "A request that creates a folder must " +
			"not have a body."}
	}
	at, err := req.resource()
	if err != nil {
		return err
	}
	if err := at.Authorize(req.Actor, access.Write); err != nil && !fault.Is(err, fault.NotFound) {
		return err
	}
	if err := req.checkConditions(at.ETag(), at.Exists(), at.UpdatedAt()); err != nil {
		return err
	}
	if at.Exists() || at.Virtual() {
		return req.alreadyExists(at)
	}
	_, err = req.Tree.CreateFolder(req.ctx(), req.Actor, req.Path.Parent(), req.Path.Base())
	if fault.Is(err, fault.NotFound) {
		return missingParent()
	}
	if err != nil {
		return err
	}
	req.writeStatus(http.StatusCreated)
	return nil
}

// delete removes a file, or a folder with everything in it. Faults: those of checkedResource and
// files.Tree.DeleteIf; Forbidden for mounts and folders above them.
func (req *request) delete() error {
	at, err := req.checkedResource(access.Delete)
	if err != nil {
		return err
	}
	if d, err := parseDepth(req.R.Header.Get("Depth"), depthInfinity); err != nil || at.IsFolder() && d != depthInfinity {
		return fault.New(fault.Invalid, "A folder is deleted with its content: the Depth header must be infinity.")
	}
	if err := req.Tree.DeleteIf(req.ctx(), req.Actor, at.ID(), req.recheckTarget); err != nil {
		return forbiddenIfConflict(err)
	}
	req.writeStatus(http.StatusNoContent)
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

// copyOrMove answers COPY and MOVE: it copies or moves the resource to the path in the Destination
// header and waits until that is done. Faults: Precondition when something is there and Overwrite
// is F; Forbidden onto or into itself; Conflict when the target folder is missing.
func (req *request) copyOrMove() error {
	mode := transferMode{move: req.R.Method == "MOVE"}
	to, err := req.destination()
	if err != nil {
		return err
	}
	if mode.overwrite, err = parseOverwrite(req.R.Header.Get("Overwrite")); err != nil {
		return err
	}
	d, err := parseDepth(req.R.Header.Get("Depth"), depthInfinity)
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
		if at, err = req.checkedResource(p); err != nil {
			return err
		}
	}
	if mode.move && mode.shallow && at.IsFolder() {
		return fault.New(fault.Invalid, "A folder is moved with its content: the Depth header must be infinity.")
	}
	existed, err := req.checkDestination(to, mode.overwrite)
	if err != nil {
		return err
	}
	if to.IsRoot() || to == req.Path || to.Within(req.Path) || req.Path.Within(to) {
		return fault.New(fault.Forbidden,
			"A file or folder cannot be moved or copied onto itself, into itself or onto a folder that contains it.")
	}
	if err := req.runTransfer(at.ID(), to, mode); err != nil {
		return err
	}
	req.writeStatus(storedStatus(existed))
	return nil
}

// destination returns the path in the Destination header. Fault: Invalid; 502 for another server.
func (req *request) destination() (vpath.Path, error) {
	header := req.R.Header.Get("Destination")
	if header == "" {
		return vpath.Root, fault.New(fault.Invalid, "The Destination header is missing.")
	}
	to, _, err := parseDestination(header, req.BaseURL, req.R.Host)
	if err == errOtherServer {
		return vpath.Root, protocolError{status: http.StatusBadGateway,
			message: "The destination is on another server."}
	}
	return to, err
}

// checkDestination reports whether something exists at the destination. Faults: Precondition when
// something exists and overwrite is false; before that, the fault of the permission when the actor
// may not write there.
func (req *request) checkDestination(to vpath.Path, overwrite bool) (existed bool, err error) {
	at, err := req.Tree.ResourceAt(req.ctx(), to)
	if err != nil {
		return false, err
	}
	err = at.Authorize(req.Actor, access.Write)
	switch {
	case fault.Is(err, fault.NotFound):
		return false, nil
	case err != nil:
		return false, err
	case !overwrite:
		return true, fault.New(fault.Precondition, "A file or folder already exists at the destination.")
	}
	return true, nil
}

// runTransfer moves or copies the entry with that id to a path. When the domain starts a job for
// it, it waits for the job. Faults: Conflict when the folder of the path is missing, Forbidden for
// mounts, Precondition when something came to be there, Unavailable when the job fails.
func (req *request) runTransfer(id string, to vpath.Path, mode transferMode) error {
	j, err := req.startTransfer(id, to, mode)
	if fault.Is(err, fault.Conflict) && !mode.overwrite { // an entry may have appeared there since the check
		if _, occupied := req.checkDestination(to, false); occupied != nil {
			return occupied
		}
	}
	switch {
	case fault.Is(err, fault.NotFound):
		return missingParent()
	case err != nil:
		return forbiddenIfConflict(err)
	}
	return req.waitForJob(j)
}
