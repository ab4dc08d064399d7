package oracletest

import (
	"cmp"
	"path"
	"slices"
	"strings"
)

// The expected answer of each endpoint: the status, and the code of an error. There are several
// where the documents do not specify which of two refusals comes first.

const (
	signInFirst = "401 UNAUTHORIZED"
	forbidden   = "403 FORBIDDEN"
	askPassword = "403 PASSWORD_REQUIRED"
	wrong       = "401 INVALID_PASSWORD"
	revoked     = "410 SHARE_REVOKED"
	notFound    = "404 NOT_FOUND"
	taken       = "409 ALREADY_EXISTS"
	conflict    = "409 OPERATION_FAILED"
	done        = "200"
	created     = "201"
)

type answer []string

// admitted checks the credential at an endpoint that requires a session or a key with a permission;
// nil when it is accepted.
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
	if !slices.Contains(c.key.protocols, cmp.Or(c.protocol, "api")) || !addressAllowed(c.ip, c.key.ips) {
		return answer{forbidden}
	}
	for _, p := range permissions {
		if !slices.Contains(c.key.permissions, p) {
			return answer{forbidden}
		}
	}
	return nil
}

// refusal returns the answer for a verdict other than allow.
func refusal(verdict outcome) string {
	if verdict == needsPassword {
		return askPassword
	}
	return forbidden
}

// list is the expected answer to GET /api/files: the refusal, and whether a listing is also
// correct.
func (w *world) list(c caller, folder string) (refused answer, fine bool) {
	if a := c.admitted("read"); a != nil {
		return a, false
	}
	shows, verdict := w.seen(c, folder), w.has(c, "read", folder)
	if e := w.at(folder); e == nil { // as for a missing folder
		shows = w.shows(c, folder)
	} else if !e.folder && shows == no && w.shows(c, folder) != no {
		shows = open
	}
	if w.covering(folder) == nil {
		if !w.virtual(folder) {
			return answer{notFound}, false
		}
		if shows != yes {
			return answer{notFound, forbidden, refusal(verdict)}, shows == open
		}
	}
	switch {
	case !w.opens(c, folder) && shows != no && verdict == allow:
		return answer{askPassword}, false
	case !w.opens(c, folder):
		return answer{askPassword, refusal(verdict)}, false
	case shows == no:
		return answer{refusal(verdict)}, false
	case !w.isFolder(folder) && shows == yes:
		return answer{notFound}, false
	case !w.isFolder(folder):
		return answer{notFound, refusal(verdict)}, false
	case shows == open:
		return answer{refusal(verdict)}, true
	}
	return nil, true
}

// details is the expected answer to GET /api/files/{id}.
func (w *world) details(c caller, e *entry) answer {
	if a := c.admitted("read"); a != nil {
		return a
	}
	shows, verdict := w.seen(c, e.path()), w.has(c, "read", e.path())
	switch {
	case w.hidden(e):
		return answer{notFound}
	case shows == no:
		return answer{refusal(verdict)}
	case e.path() != "/" && !w.opens(c, parentOf(e.path())):
		return answer{askPassword, refusal(verdict)}
	case shows == open:
		return answer{done, refusal(verdict)}
	}
	return answer{done}
}

// download is the expected answer to GET /api/files/{id}/download of a file, for a client that
// accepts JSON.
func (w *world) download(c caller, e *entry) answer {
	if c.user == nil {
		return answer{signInFirst}
	}
	if a := c.admitted("read"); a != nil {
		return a
	}
	switch verdict := w.has(c, "download", e.path()); {
	case w.hidden(e):
		return answer{notFound}
	case verdict != allow:
		return answer{refusal(verdict)}
	case w.locked(c, e.path()) != nil:
		return answer{askPassword}
	}
	return answer{done}
}

// public is the expected answer to GET and HEAD of a virtual path.
func (w *world) public(c caller, at string) answer {
	if a := c.keyAdmitted(); a != nil {
		return a
	}
	if w.covering(at) == nil {
		return answer{notFound}
	}
	verdict, e, locked := w.has(c, "download", at), w.at(at), w.locked(c, at) != nil
	switch {
	case verdict == deny && c.user == nil:
		return answer{signInFirst}
	case verdict != allow:
		return answer{refusal(verdict)}
	case locked && e != nil && e.folder && e.password:
		return answer{notFound, askPassword}
	case locked && !w.opens(c, at) || locked && e != nil && !e.folder:
		return answer{askPassword}
	case locked:
		return answer{notFound, askPassword}
	case e == nil || e.folder:
		return answer{notFound}
	}
	return answer{done}
}

// permanent is the expected answer to GET of a permanent link.
func (w *world) permanent(e *entry) answer {
	if w.hidden(e) || !w.guests || w.guard(e.path()) != nil {
		return answer{notFound}
	}
	for _, permission := range []string{"share", "download"} {
		verdict, _ := w.evaluate(caller{user: e.owner, ip: nowhere}, permission, e.path(), e.owner)
		if verdict != allow {
			return answer{notFound}
		}
	}
	guest := []*rule{}
	for _, r := range w.rules {
		if ofGuests(r) && r.names("download") && (r.mount == nil || r.mount == e.mount) && glob(r.pattern, e.path()) {
			guest = append(guest, r)
		}
	}
	slices.SortStableFunc(guest, inOrder)
	for i, r := range guest {
		plain := !r.password && len(r.ips) == 0
		switch {
		case plain && i == 0:
			return answer{done}
		case plain && !r.deny: // the conditions before it change nothing, since every guest may download the file
			return answer{notFound, done}
		case r.deny:
			return answer{notFound}
		}
	}
	if len(guest) > 0 {
		return answer{notFound}
	}
	return answer{done}
}

// shared is the expected answer to GET of a download address of a share of a file, for a visitor
// with the caller's address and passwords. The caller created the share, without a password.
func (w *world) shared(c caller, e *entry) answer {
	download, asks := w.has(c, "download", e.path()), w.locked(c, e.path()) != nil
	for _, permission := range []string{"read", "share", "download"} {
		verdict := w.has(c, permission, e.path())
		if !w.hidden(e) && verdict == deny && permission != "download" {
			return answer{revoked}
		}
		asks = asks || verdict == needsPassword
	}
	switch {
	case w.hidden(e):
		return answer{notFound}
	case download == deny:
		return answer{forbidden}
	case asks:
		return answer{wrong}
	}
	return answer{done}
}

// nowhere is an address in no rule.
const nowhere = "203.0.113.99"

// makeLink is the expected answer to POST /api/files/{id}/link.
func (w *world) makeLink(c caller, e *entry) answer {
	if a := c.keyAdmitted(); a != nil {
		return a
	}
	if c.user == nil || c.key != nil {
		return answer{signInFirst}
	}
	if w.hidden(e) {
		return answer{notFound}
	}
	var refused answer
	for _, permission := range []string{"share", "download"} {
		if verdict := w.has(c, permission, e.path()); verdict != allow {
			refused = append(refused, refusal(verdict))
		}
	}
	if w.locked(c, e.path()) != nil {
		refused = append(refused, askPassword)
	}
	if refused != nil {
		return refused
	}
	return answer{done}
}

// mayCreate returns the refusal of creating an entry at a path, including the passwords above it.
func (w *world) mayCreate(c caller, at string) []string {
	if verdict := w.creates(c, at); verdict != allow {
		return []string{refusal(verdict)}
	}
	if !w.opens(c, parentOf(at)) {
		return []string{askPassword}
	}
	return nil
}

// createFolder is the expected answer to POST /api/files/folder.
func (w *world) createFolder(c caller, parent, name string) answer {
	if a := c.admitted("write"); a != nil {
		return a
	}
	if w.covering(parent) == nil {
		return answer{notFound}
	}
	if refused := w.mayCreate(c, child(parent, name)); refused != nil {
		return refused
	}
	switch at := w.at(parent); {
	case at == nil || !at.folder:
		return answer{notFound}
	case w.at(child(parent, name)) != nil:
		return answer{taken}
	case w.virtual(child(parent, name)):
		return answer{created, taken}
	}
	return answer{created}
}

// uploadSession is the expected answer to POST /api/files/upload-session, which also creates
// missing folders.
func (w *world) uploadSession(c caller, dir, name, onConflict string) answer {
	if a := c.admitted("write"); a != nil {
		return a
	}
	if w.covering(dir) == nil {
		return answer{notFound}
	}
	target := child(dir, name)
	old := w.at(target)
	if old != nil && !old.folder && onConflict == "replace" {
		if verdict := w.has(c, "update", target); verdict != allow {
			return answer{refusal(verdict)}
		}
		if !w.opens(c, target) {
			return answer{askPassword}
		}
		return answer{done}
	}
	if (old != nil || w.virtual(target)) && onConflict == "rename" {
		target = child(dir, strings.TrimSuffix(name, path.Ext(name))+" (1)"+path.Ext(name))
	}
	refused, base := w.mayCreate(c, target), dir
	for ; w.at(base) == nil && base != "/"; base = parentOf(base) {
		refused = append(refused, w.mayCreate(c, base)...)
	}
	at := w.at(base)
	switch {
	case refused != nil:
		return refused
	case at == nil || !at.folder:
		return answer{notFound}
	case old != nil && onConflict != "rename", w.virtual(target) && onConflict != "rename":
		return answer{taken}
	}
	return answer{done}
}

// authorizeTree decides about a change of a folder with all its content. The decisions allow
// refusals because of possible paths: the result is yes when an existing entry, or a path that a
// rule can match, may not be changed, and open when any deny or conditional rule can match at all.
func (w *world) authorizeTree(c caller, permission, top string, below_ []string) certainty {
	if found := w.wholly(c, permission, top, below_); found != no || c.given == nil {
		return found
	}
	c.given = nil // a password further down may be required whether it was given or not
	if w.wholly(c, permission, top, below_) != no {
		return open
	}
	return no
}

func (w *world) wholly(c caller, permission, top string, below_ []string) certainty {
	for _, at := range below_ {
		if w.has(c, permission, at) != allow || !w.opens(c, at) {
			return yes
		}
	}
	for _, r := range w.rules {
		for _, at := range matchesBelow(r.pattern, top) {
			if w.decide(c, permission, at, c.user) != allow {
				return yes
			}
		}
	}
	if c.user.role != "admin" && !w.homeCovers(c.user, top) && !w.plainlyAllowed(c, permission, top) &&
		slices.ContainsFunc(below_, func(at string) bool { return w.ownerAt(at) != c.user }) {
		return open // other patterns may cover everything without being noticed
	}
	return w.mayBeRefusedBelow(c, []string{permission}, top)
}

// plainlyAllowed reports whether an allow rule for a folder and all below it covers a path.
func (w *world) plainlyAllowed(c caller, permission, top string) bool {
	return slices.ContainsFunc(w.rules, func(r *rule) bool {
		folder, all := strings.CutSuffix(r.pattern, "/**")
		mine := r.concerns(c.user, nil) || w.guests && ofGuests(r)
		return all && mine && !r.deny && r.names(permission) && r.mount == nil && !strings.ContainsAny(folder, "*?") &&
			(folder == "" || within(top, folder))
	})
}

// mayBeRefusedBelow is open when a deny or a conditional rule about one of the permissions can
// match at or below a path.
func (w *world) mayBeRefusedBelow(c caller, permissions []string, top string) certainty {
	for _, r := range w.rules {
		mine := r.concerns(c.user, c.key) || w.guests && ofGuests(r)
		if mine && slices.ContainsFunc(permissions, r.names) && (r.deny || r.password || len(r.ips) > 0) &&
			(w.glob(r, top) || w.canMatchBelow(r, top)) {
			return open
		}
	}
	return no
}

// under returns every path strictly below a folder at which an entry exists.
func (w *world) under(top string) []string {
	return slices.DeleteFunc(slices.Clone(w.paths()),
		func(at string) bool { return !below(at, top) || w.at(at) == nil })
}

// mayChange decides about a change of an entry: the verdict, its password, and everything below a
// folder. also reports that a refusal is correct as well.
func (w *world) mayChange(c caller, permission string, e *entry) (refused []string, also bool) {
	if verdict := w.has(c, permission, e.path()); verdict != allow {
		return []string{refusal(verdict)}, false
	}
	if !w.opens(c, e.path()) {
		return []string{askPassword}, false
	}
	if !e.folder {
		return nil, false
	}
	switch w.authorizeTree(c, permission, e.path(), w.under(e.path())) {
	case yes:
		return []string{forbidden, askPassword}, false
	case open:
		return nil, true
	}
	return nil, false
}

// losesReaders decides about a new path for an entry. The move is refused when the caller could
// then see or download something that they could not before. Other refusals are optional where the
// rules of the two places differ.
func (w *world) losesReaders(c caller, e *entry, to string) certainty {
	from := e.path()
	if w.mayBeRefusedBelow(c, allPermissions, from) == open || w.mayBeRefusedBelow(c, allPermissions, to) == open {
		return w.gainsReaders(c, e, to, open)
	}
	return w.gainsReaders(c, e, to, no)
}

// gainsReaders is yes when a move would give the caller access to something, open when it would
// change any of the caller's rights, and otherwise the given value.
func (w *world) gainsReaders(c caller, e *entry, to string, otherwise certainty) certainty {
	from, callers := e.path(), []caller{c}
	if c.key != nil {
		callers = append(callers, caller{user: c.user, ip: c.ip})
	}
	for _, at := range append(w.under(from), from) {
		there := join(append(segments(to), segments(at)[len(segments(from)):]...)...)
		for _, who := range callers {
			for _, p := range allPermissions {
				before, after := w.has(who, p, at), w.decide(who, p, there, w.ownerAt(at))
				more := before != allow && after == allow || before == deny && after == needsPassword
				gained := more && (p == "read" || p == "download") && (who.key == nil || who.key.may(p, from))
				if gained && (at != from || !e.folder) { // of the folder itself only the name is visible
					return yes
				}
				if before != allow || after != allow {
					otherwise = open
				}
			}
		}
	}
	return otherwise
}

// carriesMount reports whether an entry is the root of a mount or above one.
func (w *world) carriesMount(e *entry) bool {
	return slices.ContainsFunc(w.mounts, func(m *mount) bool { return !w.hidden(m.root) && within(m.path, e.path()) })
}

// carriesHome reports whether an entry is the caller's home or above it.
func (w *world) carriesHome(c caller, e *entry) bool {
	return c.user != nil && c.user.home != nil && !w.hidden(c.user.home) && within(c.user.home.path(), e.path())
}

// remove is the expected answer to DELETE /api/files/{id}.
func (w *world) remove(c caller, e *entry) answer {
	if a := c.admitted("delete"); a != nil {
		return a
	}
	if w.hidden(e) {
		return answer{notFound}
	}
	refused, also := w.mayChange(c, "delete", e)
	stays := w.carriesMount(e) || w.carriesHome(c, e)
	switch {
	case stays && w.has(c, "delete", e.path()) == allow:
		return orRefusedAnswer(append(answer{conflict}, refused...), also)
	case refused != nil:
		return refused
	}
	return orRefusedAnswer(answer{done}, also)
}

func orRefusedAnswer(a answer, also bool) answer {
	if also {
		return append(a, forbidden, askPassword)
	}
	return a
}

// rename is the expected answer to PUT /api/files/{id} with a name. The new name must not evade
// rules.
func (w *world) rename(c caller, e *entry, name string) answer {
	if a := c.admitted("write"); a != nil {
		return a
	}
	if w.hidden(e) {
		return answer{notFound}
	}
	refused, also := w.mayChange(c, "update", e)
	to := child(parentOf(e.path()), name)
	if w.decide(c, "update", to, e.owner) != allow {
		refused = append(refused, forbidden, askPassword)
	}
	switch {
	case w.carriesMount(e) && w.has(c, "update", e.path()) == allow:
		return orRefusedAnswer(append(answer{conflict}, refused...), also)
	case refused != nil:
		return refused
	case w.covering(to) != e.mount:
		return answer{taken, forbidden, askPassword}
	}
	switch w.losesReaders(c, e, to) {
	case yes:
		return answer{forbidden, askPassword}
	case open:
		also = true
	}
	if w.at(to) != nil || w.virtual(to) {
		return orRefusedAnswer(answer{taken}, also)
	}
	return orRefusedAnswer(answer{done}, also)
}

// takes reports whether a caller may move an entry out of the scope of the password above it.
// Within that scope every caller may. Out of it, a caller may who has given the password or may
// remove it, and a key never may.
func (w *world) takes(c caller, e *entry, folder string) bool {
	if e.path() == "/" {
		return true
	}
	above := w.guard(parentOf(e.path()))
	if above == nil || w.guard(folder) == above {
		return true
	}
	mayRemove := c.user != nil && (c.user.role == "admin" || c.user == above.owner && !w.mountsBelow(above.path()))
	return c.key == nil && (c.gave(above.id) || mayRemove)
}

// move is the expected answer to POST /api/files/{id}/move.
func (w *world) move(c caller, e *entry, folder, name string) answer {
	if a := c.admitted("write", "delete"); a != nil {
		return a
	}
	if w.hidden(e) {
		return answer{notFound}
	}
	if name == "" {
		name = baseOf(e.path())
	}
	if name == "" {
		name = "root" // of the root mount, which cannot be moved
	}
	to := child(folder, name)
	refused, also := w.mayChange(c, "delete", e)
	refused = append(refused, w.mayCreate(c, to)...)
	if !w.takes(c, e, folder) {
		refused = append(refused, askPassword, forbidden)
	}
	var faults answer
	if w.carriesMount(e) || e.folder && within(folder, e.path()) || w.at(to) != nil || w.virtual(to) {
		faults = append(faults, conflict)
	}
	if at := w.at(folder); at == nil || !at.folder {
		faults = append(faults, notFound)
	}
	if refused != nil {
		if w.covering(folder) == nil {
			refused = append(refused, notFound)
		}
		if w.carriesMount(e) && w.has(c, "delete", e.path()) == allow {
			refused = append(refused, conflict)
		}
		return refused
	}
	if w.covering(folder) == nil {
		return orRefusedAnswer(faults, true)
	}
	switch w.losesReaders(c, e, to) {
	case yes:
		return answer{forbidden, askPassword}
	case open:
		also = true
	}
	if faults != nil {
		return orRefusedAnswer(faults, also)
	}
	return orRefusedAnswer(answer{done}, also)
}
