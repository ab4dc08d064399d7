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

// What stands in the access log is noted by handlers, each in one line before it acts, and written
// by audited once the request is answered, with the status that came out. Paths are those of files,
// or a route's own; a request's address is never taken where a token or a link's id stands in it.

// auditNote is one thing that a request does.
type auditNote struct {
	action       audit.Action
	path         string
	userID       string // "" for whoever asks
	keyID        string
	size         int64 // bytes that came in
	status       int   // its own, where a request does several things; 0 for the request's
	aggregated   bool  // a visitor's read of a public file: one of many
	onlySuccess  bool  // of no interest unless it succeeded
	countsSent   bool  // what went out counts, though the action does not say so
	withoutBytes bool  // the bytes are told by the note before
}

// audit notes what is done to a path.
func (c *call) audit(action audit.Action, path vpath.Path) {
	c.auditNotes = append(c.auditNotes, auditNote{action: action, path: path.String()})
}

// auditEntry notes what is done to an entry, under the path that it has now; nothing
// when there is none.
func (c *call) auditEntry(action audit.Action, id string) {
	if path, err := c.a.Tree.PathOf(c.ctx(), id); err == nil {
		c.audit(action, path)
	}
}

// pathsOf is where the entries lie that are about to be acted on; those that there are.
func (c *call) pathsOf(ids []string) map[string]vpath.Path {
	paths := map[string]vpath.Path{}
	for _, id := range ids {
		if path, err := c.a.Tree.PathOf(c.ctx(), id); err == nil {
			paths[id] = path
		}
	}
	return paths
}

// auditOne notes what became of one of several entries.
func (c *call) auditOne(action audit.Action, path vpath.Path, status int) {
	c.auditNotes = append(c.auditNotes, auditNote{action: action, path: path.String(), status: status})
}

// auditRead notes a read of stored bytes: a person's by itself, visitors' in sums.
func (c *call) auditRead(path vpath.Path) {
	c.auditNotes = append(c.auditNotes, auditNote{action: audit.Download, path: path.String(),
		aggregated: c.actor.UserID == ""})
}

// auditZip notes what is read in one archive, all of its bytes with the first.
func (c *call) auditZip(ids []string) {
	paths := c.pathsOf(ids)
	for _, id := range ids {
		if path, known := paths[id]; known {
			c.auditNotes = append(c.auditNotes,
				auditNote{action: audit.Download, path: path.String(), withoutBytes: len(c.auditNotes) > 0})
		}
	}
}

// auditFound is auditRead for what the route has found.
func (c *call) auditFound(found *files.FoundEntry) {
	if path, exists := found.Path(); exists {
		c.auditRead(path)
	}
}

// auditWrongPassword notes a wrong password for what lies at a path, if err says so: administrators
// are to see that somebody tries. What was typed is not kept.
func (c *call) auditWrongPassword(err error, action audit.Action, path vpath.Path) {
	if fault.Is(err, fault.InvalidPassword) {
		c.audit(action, path)
	}
}

// auditUpload notes a file that came in, in place of what was noted when it began.
func (c *call) auditUpload(file files.Entry) {
	c.auditNotes = []auditNote{{action: audit.Upload, path: file.Path().String(), size: file.Size}}
}

// auditRedemption notes who uses a download token, and for what.
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

// auditKey notes that an API key was made, changed or revoked.
func (c *call) auditKey(id string) {
	c.auditNotes = append(c.auditNotes, auditNote{action: audit.Key, path: "/api/keys/" + id, onlySuccess: true})
}

// auditLoginFailed notes it for the account that was meant, if there is one; what was
// typed is not kept.
func (c *call) auditLoginFailed(name string) {
	user, _ := c.a.Accounts.ByName(c.a.DB.Read(c.ctx()), name) // none is as good as one that can't be read
	c.auditNotes = append(c.auditNotes, auditNote{action: audit.LoginFailed, path: "/api/auth/login", userID: user.ID})
}

// writeAuditNotes writes down what was noted of the request, and counts it. Administrators' changes
// are noted here, for all their routes alike. HEAD moves nothing.
func (c *call) writeAuditNotes() {
	log := c.a.Audit
	if c.route == nil || c.route.probe { // the service is starting, or is being watched
		return
	}
	if c.route.limit != unlimited {
		log.CountRequest()
	}
	method, status := c.r.Method, c.w.status
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

func (c *call) writeAuditNote(n auditNote, status int) {
	failed := status >= 400
	e := audit.Entry{UserID: n.userID, KeyID: n.keyID, Action: n.action, Path: n.path, Status: status}
	if c.ip.IsValid() {
		e.IP = c.ip.String()
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
