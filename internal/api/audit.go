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

// What stands in the access log is noted by handlers, each in one line before it acts, and written by audited once the request is answered, with the
// status that came out. Paths are those of files, or a route's own; a request's address is never taken where a token or a link's id stands in it.

// note is one thing that a request does.
type note struct {
	action audit.Action
	path   string
	userID string // "" for whoever asks
	keyID  string
	size   int64 // bytes that came in
	status int   // its own, where a request does several things; 0 for the request's
	sums   bool  // a visitor's read of a public file: one of many
	done   bool  // of no interest unless it succeeded
	sends  bool  // what went out counts, though the action does not say so
	along  bool  // the bytes are told by the note before
}

// audit notes what is done to a path.
func (c *call) audit(action audit.Action, path vpath.Path) {
	c.notes = append(c.notes, note{action: action, path: path.String()})
}

// auditEntry notes what is done to an entry, under the path that it has now; nothing when there is none.
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
	c.notes = append(c.notes, note{action: action, path: path.String(), status: status})
}

// auditRead notes a read of stored bytes: a person's by itself, visitors' in sums.
func (c *call) auditRead(path vpath.Path) {
	c.notes = append(c.notes, note{action: audit.Download, path: path.String(), sums: c.actor.UserID == ""})
}

// auditZip notes what is read in one archive, all of its bytes with the first.
func (c *call) auditZip(ids []string) {
	paths := c.pathsOf(ids)
	for _, id := range ids {
		if path, known := paths[id]; known {
			c.notes = append(c.notes, note{action: audit.Download, path: path.String(), along: len(c.notes) > 0})
		}
	}
}

// auditFound is auditRead for what the route has found.
func (c *call) auditFound(found *files.Found) {
	if path, exists := found.Path(); exists {
		c.auditRead(path)
	}
}

// auditGuess notes a wrong password for what lies at a path, if err says so: administrators are to see that somebody tries. What was typed is not kept.
func (c *call) auditGuess(err error, action audit.Action, path vpath.Path) {
	if fault.Is(err, fault.InvalidPassword) {
		c.audit(action, path)
	}
}

// auditUpload notes a file that came in, in place of what was noted when it began.
func (c *call) auditUpload(file files.Entry) {
	c.notes = []note{{action: audit.Upload, path: file.Path().String(), size: file.Size}}
}

// auditRedemption notes who uses a download token, and for what.
func (c *call) auditRedemption(r download.Redemption) {
	n := note{action: audit.Download, path: r.Path.String(), userID: r.UserID, keyID: r.KeyID}
	switch {
	case r.ShareID != "":
		n.action = audit.ShareDownload
	case r.Purpose == download.Preview:
		n.action = audit.Preview
	}
	c.notes = append(c.notes, n)
}

// auditKey notes that an API key was made, changed or revoked.
func (c *call) auditKey(id string) {
	c.notes = append(c.notes, note{action: audit.Key, path: "/api/keys/" + id, done: true})
}

// auditLoginFailed notes it for the account that was meant, if there is one; what was typed is not kept.
func (c *call) auditLoginFailed(name string) {
	user, _ := c.a.Accounts.ByName(c.a.DB.Read(c.ctx()), name) // none is as good as one that can't be read
	c.notes = append(c.notes, note{action: audit.LoginFailed, path: "/api/auth/login", userID: user.ID})
}

// audited writes down what was noted of the request, and counts it. Administrators' changes are noted here, for all their routes alike. HEAD moves nothing.
func (c *call) audited() {
	log := c.a.Audit
	if c.route == nil || c.route.probe { // the service is starting, or is being watched
		return
	}
	if c.route.bucket != unlimited {
		log.Request()
	}
	method, status := c.r.Method, c.w.status
	if method == http.MethodHead {
		return
	}
	if c.route.who == byAdmin && method != http.MethodGet && !c.route.asks {
		c.notes = append(c.notes, note{action: audit.Admin, path: c.r.URL.Path, done: true})
	}
	for _, n := range c.notes {
		c.record(n, cmp.Or(n.status, status))
	}
}

func (c *call) record(n note, status int) {
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
		if n.sends && !failed {
			e.Bytes = c.w.written
		}
	case audit.Download, audit.Preview, audit.ShareDownload:
		if !failed && !n.along {
			e.Bytes = c.w.written
		}
	}
	switch {
	case failed && (n.done || n.sums):
	case n.action == audit.FreeMode && !c.freeNote():
	case n.sums:
		c.a.Audit.Read(e.Path, e.Bytes)
	default:
		c.a.Audit.Record(e)
	}
}
