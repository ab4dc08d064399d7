package oracletest

import (
	"path"
	"slices"
	"strings"
)

// What each door answers: the status, and the code of an error. Several where the documents leave open which of two refusals is told.

const (
	signInFirst = "401 UNAUTHORIZED"
	forbidden   = "403 FORBIDDEN"
	askPassword = "403 PASSWORD_REQUIRED"
	notFound    = "404 NOT_FOUND"
	taken       = "409 ALREADY_EXISTS"
	conflict    = "409 OPERATION_FAILED"
	done        = "200"
	created     = "201"
)

type answer []string

func (a answer) fine() bool { return strings.HasPrefix(a[0], "2") }

// admitted judges the credential at a door that wants a session or a key with a permission; nil when it is let through.
func (c caller) admitted(permissions ...string) answer {
	if c.user == nil {
		return answer{signInFirst}
	}
	return c.keyAdmitted(permissions...)
}

func (c caller) keyAdmitted(permissions ...string) answer {
	if c.key == nil {
		return nil
	}
	if !slices.Contains(c.key.protocols, "api") || !fromThere(c.ip, c.key.ips) {
		return answer{forbidden}
	}
	for _, p := range permissions {
		if !slices.Contains(c.key.permissions, p) {
			return answer{forbidden}
		}
	}
	return nil
}

// refusal is what a verdict that is not allow is told as.
func refusal(verdict outcome) string {
	if verdict == needsPassword {
		return askPassword
	}
	return forbidden
}

// list is GET /api/files: nil means that the listing is shown.
func (w *world) list(c caller, folder string) answer {
	if a := c.admitted("read"); a != nil {
		return a
	}
	isFile := w.at(folder) != nil && !w.at(folder).folder
	switch {
	case isFile && w.has(c, "read", folder) != allow, !isFile && !w.shows(c, folder):
		return answer{refusal(w.has(c, "read", folder))}
	case !w.lists(c, folder):
		return answer{askPassword}
	case !w.isFolder(folder):
		return answer{notFound}
	}
	return nil
}

// details is GET /api/files/{id}.
func (w *world) details(c caller, e *entry) answer {
	if a := c.admitted("read"); a != nil {
		return a
	}
	switch {
	case w.hidden(e):
		return answer{notFound}
	case !w.seen(c, e.place()):
		return answer{refusal(w.has(c, "read", e.place()))}
	case e.place() != "/" && !w.lists(c, parentOf(e.place())):
		return answer{askPassword}
	}
	return answer{done}
}

// download is GET /api/files/{id}/download of a file, by a program that wants JSON.
func (w *world) download(c caller, e *entry) answer {
	if c.user == nil {
		return answer{signInFirst}
	}
	if a := c.admitted("read"); a != nil {
		return a
	}
	switch verdict := w.has(c, "download", e.place()); {
	case w.hidden(e):
		return answer{notFound}
	case verdict != allow:
		return answer{refusal(verdict)}
	case w.guard(e.place()) != nil:
		return answer{askPassword}
	}
	return answer{done}
}

// public is GET and HEAD of a virtual path.
func (w *world) public(c caller, at string) answer {
	if a := c.keyAdmitted(); a != nil {
		return a
	}
	if w.covering(at) == nil {
		return answer{notFound}
	}
	verdict, e := w.has(c, "download", at), w.at(at)
	switch {
	case verdict == deny && c.user == nil:
		return answer{signInFirst}
	case verdict != allow:
		return answer{refusal(verdict)}
	case e != nil && e.folder && e.password:
		return answer{notFound, askPassword}
	case w.guard(at) != nil && !w.opens(c, at) || w.guard(at) != nil && e != nil && !e.folder:
		return answer{askPassword}
	case w.guard(at) != nil:
		return answer{notFound, askPassword}
	case e == nil || e.folder:
		return answer{notFound}
	}
	return answer{done}
}

// permanent is GET of a permanent link.
func (w *world) permanent(e *entry) answer {
	if w.hidden(e) || !w.guests || w.guard(e.place()) != nil {
		return answer{notFound}
	}
	for _, permission := range []string{"share", "download"} {
		if verdict, _ := w.judge(e.owner, nil, nowhere, permission, e.place(), e.owner); verdict != allow {
			return answer{notFound}
		}
	}
	guest := []*rule{}
	for _, r := range w.rules {
		if ofGuests(r) && r.names("download") && (r.mount == nil || r.mount == e.mount) && glob(r.pattern, e.place()) {
			guest = append(guest, r)
		}
	}
	slices.SortStableFunc(guest, inOrder)
	if len(guest) > 0 && (guest[0].password || len(guest[0].ips) > 0) {
		return answer{notFound}
	}
	return answer{done}
}

// nowhere is an address that no rule names.
const nowhere = "203.0.113.99"

// makeLink is POST /api/files/{id}/link.
func (w *world) makeLink(c caller, e *entry) answer {
	switch share, download := w.has(c, "share", e.place()), w.has(c, "download", e.place()); {
	case c.user == nil || c.key != nil:
		return answer{signInFirst}
	case w.hidden(e):
		return answer{notFound}
	case share != allow && download != allow:
		return answer{refusal(share), refusal(download)}
	case share != allow:
		return answer{refusal(share)}
	case download != allow:
		return answer{refusal(download)}
	}
	return answer{done}
}

// mayCreate is a verdict about what would come into being, the password above it included.
func (w *world) mayCreate(c caller, at string) []string {
	if verdict := w.creates(c, at); verdict != allow {
		return []string{refusal(verdict)}
	}
	if !w.opens(c, at) {
		return []string{askPassword}
	}
	return nil
}

// createFolder is POST /api/files/folder.
func (w *world) createFolder(c caller, parent, name string) answer {
	if a := c.admitted("write"); a != nil {
		return a
	}
	if refused := w.mayCreate(c, child(parent, name)); refused != nil {
		return refused
	}
	switch at := w.at(parent); {
	case w.covering(child(parent, name)) == nil, at == nil || !at.folder:
		return answer{notFound}
	case w.at(child(parent, name)) != nil, w.virtual(child(parent, name)):
		return answer{taken}
	}
	return answer{created}
}

// uploadSession is POST /api/files/upload-session: missing folders come into being as well.
func (w *world) uploadSession(c caller, dir, name, onConflict string) answer {
	if a := c.admitted("write"); a != nil {
		return a
	}
	target := child(dir, name)
	old := w.at(target)
	switch {
	case old != nil && onConflict == "rename":
		stem := strings.TrimSuffix(name, path.Ext(name))
		target = child(dir, stem+" (1)"+path.Ext(name))
	case old != nil && !old.folder && onConflict == "replace":
		if verdict := w.has(c, "update", target); verdict != allow {
			return answer{refusal(verdict)}
		}
		if !w.opens(c, target) {
			return answer{askPassword}
		}
		return answer{done}
	}
	base := dir
	refused := w.mayCreate(c, target)
	for w.at(base) == nil && base != "/" {
		if !w.virtual(base) && refused == nil {
			refused = w.mayCreate(c, base)
		}
		base = parentOf(base)
	}
	at := w.at(base)
	switch {
	case refused != nil:
		return refused
	case w.covering(target) == nil, at == nil || !at.folder:
		return answer{notFound}
	case old != nil && onConflict != "rename", w.virtual(target):
		return answer{taken}
	}
	return answer{done}
}

// asWhole judges changing a folder with all that is in it: the strict reading of the decisions, by rules that can match and by what is there.
func (w *world) asWhole(c caller, permission string, e *entry) []string {
	var refused []string
	top := e.place()
	for _, r := range w.rules {
		mine := r.concerns(c.user, c.key) || w.guests && ofGuests(r)
		if mine && r.names(permission) && (r.deny || r.password || len(r.ips) > 0) && (w.covering(top) == r.mount || r.mount == nil) && glob(r.pattern, top) {
			refused = append(refused, forbidden, askPassword)
		} else if mine && r.names(permission) && (r.deny || r.password || len(r.ips) > 0) && w.canMatchBelow(r, top) {
			refused = append(refused, forbidden, askPassword)
		}
	}
	for _, at := range w.paths() {
		if below(at, top) && w.at(at) != nil {
			if verdict := w.has(c, permission, at); verdict != allow {
				refused = append(refused, forbidden, askPassword)
			}
			if !w.opens(c, at) {
				refused = append(refused, askPassword, forbidden)
			}
		}
	}
	return refused
}

// mayChange judges changing an entry: the verdict, its password, and all below when it is a folder.
func (w *world) mayChange(c caller, permission string, e *entry) []string {
	if verdict := w.has(c, permission, e.place()); verdict != allow {
		return []string{refusal(verdict)}
	}
	if !w.opens(c, e.place()) {
		return []string{askPassword}
	}
	if e.folder {
		return w.asWhole(c, permission, e)
	}
	return nil
}

// carriesMount reports whether an entry is the root of a mount or above one.
func (w *world) carriesMount(e *entry) bool {
	return slices.ContainsFunc(w.mounts, func(m *mount) bool { return !w.hidden(m.root) && within(m.path, e.place()) })
}

// remove is DELETE /api/files/{id}.
func (w *world) remove(c caller, e *entry) answer {
	if a := c.admitted("delete"); a != nil {
		return a
	}
	if w.hidden(e) {
		return answer{notFound}
	}
	if refused := w.mayChange(c, "delete", e); refused != nil {
		return refused
	}
	if w.carriesMount(e) {
		return answer{conflict}
	}
	return answer{done}
}

// rename is PUT /api/files/{id} with a name.
func (w *world) rename(c caller, e *entry, name string) answer {
	if a := c.admitted("write"); a != nil {
		return a
	}
	if w.hidden(e) {
		return answer{notFound}
	}
	if refused := w.mayChange(c, "update", e); refused != nil {
		return refused
	}
	switch {
	case w.carriesMount(e):
		return answer{conflict}
	case w.at(child(parentOf(e.place()), name)) != nil:
		return answer{taken}
	}
	return answer{done}
}

// move is POST /api/files/{id}/move.
func (w *world) move(c caller, e *entry, folder, name string) answer {
	if a := c.admitted("write", "delete"); a != nil {
		return a
	}
	if w.hidden(e) {
		return answer{notFound}
	}
	if name == "" {
		name = baseOf(e.place())
	}
	var refused []string
	if name != "" {
		refused = append(w.mayChange(c, "delete", e), w.mayCreate(c, child(folder, name))...)
	} else {
		refused = w.mayChange(c, "delete", e)
	}
	if refused != nil {
		return refused
	}
	var faults answer
	if w.carriesMount(e) || e.folder && within(folder, e.place()) || name != "" && (w.at(child(folder, name)) != nil || w.virtual(child(folder, name))) {
		faults = append(faults, conflict)
	}
	if at := w.at(folder); at == nil || !at.folder {
		faults = append(faults, notFound)
	}
	if faults != nil {
		return faults
	}
	return answer{done}
}
