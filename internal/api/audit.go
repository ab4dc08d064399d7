package api

import (
	"cmp"
	"net/http"

	"larder/internal/audit"
	"larder/internal/download"
	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/vpath"
)

// Handlers note the entries of the access log, one line each, before they act. writeAuditNotes
// writes the notes after the request was answered, with the status of the answer. A note's path is
// that of a file or folder, or the route's own path. It is never the request's address when that
// contains a token or the id of a link.

// auditNote is one entry of the access log that a request causes.
type auditNote struct {
	action       audit.Action
	path         string
	userID       string // "" for the caller
	keyID        string
	size         int64 // received bytes
	status       int   // of this action, where a request does several; 0 for the request's status
	aggregated   bool  // a visitor's read of a public file, which is summed with others
	onlySuccess  bool  // written only if the request succeeded
	countsSent   bool  // the sent bytes count, although the action alone does not tell so
	withoutBytes bool  // an earlier note counts the bytes
}

// audit notes an action on a path for the access log; writeAuditNotes writes the note when the
// request is answered.
func (c *call) audit(action audit.Action, path vpath.Path) {
	c.auditNotes = append(c.auditNotes, auditNote{action: action, path: path.String()})
}

// auditEntry notes an action on the entry with that id, under its present path. It notes nothing
// when the entry does not exist.
func (c *call) auditEntry(action audit.Action, id string) {
	if path, err := c.a.Tree.PathOf(c.ctx(), id); err == nil {
		c.audit(action, path)
	}
}

// pathsOf returns the present path of each entry by its id, without entries that do not exist.
// Handlers read the paths for the access log before they delete or move the entries.
func (c *call) pathsOf(ids []string) map[string]vpath.Path {
	paths := map[string]vpath.Path{}
	for _, id := range ids {
		if path, err := c.a.Tree.PathOf(c.ctx(), id); err == nil {
			paths[id] = path
		}
	}
	return paths
}

// auditPurgeOf notes that the caller, an administrator, has emptied the trash of another account.
// The noted path contains the user name of that account. An id would name nobody after the deletion
// of the account.
func (c *call) auditPurgeOf(username string) {
	c.auditNotes = append(c.auditNotes,
		auditNote{action: audit.Purge, path: "/api/admin/users/" + username + "/trash"})
}

// auditOne notes the result for one of several entries of a request; status is the HTTP status that
// the operation on this entry alone would have had.
func (c *call) auditOne(action audit.Action, path vpath.Path, status int) {
	c.auditNotes = append(c.auditNotes, auditNote{action: action, path: path.String(), status: status})
}

// auditRead notes a read of stored bytes, of the file at a path, for the access log. Reads of a
// signed-in user are single log entries; reads of visitors are summed.
func (c *call) auditRead(path vpath.Path) {
	c.auditNotes = append(c.auditNotes, auditNote{action: audit.Download, path: path.String(),
		aggregated: c.actor.UserID == ""})
}

// auditZip notes each of the files and folders with those ids as downloaded. The first note counts
// all bytes of the zip, the others none.
func (c *call) auditZip(ids []string) {
	paths := c.pathsOf(ids)
	for _, id := range ids {
		if path, known := paths[id]; known {
			c.auditNotes = append(c.auditNotes,
				auditNote{action: audit.Download, path: path.String(), withoutBytes: len(c.auditNotes) > 0})
		}
	}
}

// auditFound notes for the access log a read of the entry that lookUp has found; it notes nothing
// if none exists.
func (c *call) auditFound(found *files.FoundEntry) {
	if path, exists := found.Path(); exists {
		c.auditRead(path)
	}
}

// auditWrongPassword notes a wrong password for the entry at a path if err is such a fault, so that
// administrators see the attempts. The submitted password is not stored.
func (c *call) auditWrongPassword(err error, action audit.Action, path vpath.Path) {
	if fault.Is(err, fault.InvalidPassword) {
		c.audit(action, path)
	}
}

// auditUpload notes an uploaded file with its path and size. It replaces the note from the
// beginning of the upload, which had the requested path.
func (c *call) auditUpload(file files.Entry) {
	c.auditNotes = []auditNote{{action: audit.Upload, path: file.Path().String(), size: file.Size}}
}

// auditRedemption notes the use of a download token at the gateway, with the user and key that it
// was issued to, as a download, a preview or a download from a share.
func (c *call) auditRedemption(r download.Redemption) {
	n := auditNote{action: audit.Download, path: r.Path.String(), userID: r.UserID, keyID: r.KeyID}
	switch {
	case r.ShareID != "":
		n.action = audit.ShareDownload
	case r.Purpose == download.Preview:
		n.action = audit.Preview
	}
	c.auditNotes = append(c.auditNotes, n)
}

// auditKey notes, once the request has succeeded, that the API key with that id was created,
// changed or revoked.
func (c *call) auditKey(id string) {
	c.auditNotes = append(c.auditNotes, auditNote{action: audit.Key, path: "/api/keys/" + id, onlySuccess: true})
}

// auditLoginFailed notes a failed sign-in for the named account, if it exists. The submitted name
// is not stored.
func (c *call) auditLoginFailed(name string) {
	user, _ := c.a.Accounts.ByName(c.a.DB.Read(c.ctx()), name) // an unreadable account is treated as a missing one
	c.auditNotes = append(c.auditNotes, auditNote{action: audit.LoginFailed, path: "/api/auth/login", userID: user.ID})
}

// writeAuditNotes writes the notes of the request to the access log and counts the request. It adds
// the note for changes by administrators, for all their routes. HEAD requests write nothing.
func (c *call) writeAuditNotes() {
	log := c.a.Audit
	if c.route == nil || c.route.probe { // the service is starting, or this is a health probe
		return
	}
	method, status := c.r.Method, c.w.status
	if c.route.limit != unlimited {
		log.CountRequest(c.status())
	}
	if method == http.MethodHead {
		return
	}
	if c.route.auth == adminAuth && method != http.MethodGet && !c.route.readOnly {
		c.auditNotes = append(c.auditNotes, auditNote{action: audit.Admin, path: c.r.URL.Path, onlySuccess: true})
	}
	for _, n := range c.auditNotes {
		c.writeAuditNote(n, cmp.Or(n.status, status))
	}
}

// writeAuditNote writes one note to the access log, or counts it among the summed reads of
// visitors. status is that of the action. It drops failed actions that are logged only on success,
// and those beyond a free-mode visitor's limit.
func (c *call) writeAuditNote(n auditNote, status int) {
	failed := status >= 400
	e := audit.Entry{UserID: n.userID, KeyID: n.keyID, Action: n.action, Path: n.path, Status: status,
		RequestID: c.requestID, Method: c.r.Method}
	if c.ip.IsValid() {
		e.IP = c.ipText
	}
	if e.UserID == "" && n.action != audit.LoginFailed {
		e.UserID = c.actor.UserID
	}
	if e.KeyID == "" && c.key != nil {
		e.KeyID = c.key.ID
	}
	switch n.action {
	case audit.Upload:
		e.Bytes = n.size
	case audit.FreeMode, audit.WebDAV:
		e.Bytes = n.size
		if n.countsSent && !failed {
			e.Bytes = c.w.written
		}
	case audit.Download, audit.Preview, audit.ShareDownload:
		if !failed && !n.withoutBytes {
			e.Bytes = c.w.written
		}
	}
	switch {
	case failed && (n.onlySuccess || n.aggregated):
	case n.action == audit.FreeMode && !c.allowFreeNote():
	case n.aggregated:
		c.a.Audit.CountRead(e.Path, e.Bytes)
	default:
		c.a.Audit.Record(e)
	}
}
