package oracletest

import (
	"encoding/base64"
	"encoding/xml"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"larder/internal/apptest"
)

// WebDAV addresses by path what the JSON API addresses by id. For a key the verdict is the same,
// and only the statuses differ.

// inDAV converts an expected answer of the JSON API to the statuses of WebDAV. words maps codes
// whose status is another one when the reason is not a missing right.
func inDAV(a answer, words map[string]string) answer {
	var statuses answer
	for _, one := range a {
		if word, ok := words[one]; ok {
			statuses = append(statuses, strings.Fields(word)...)
			continue
		}
		status, _, _ := strings.Cut(one, " ")
		statuses = append(statuses, status)
	}
	return statuses
}

// byDAV returns the caller for WebDAV, nil for a caller without a key.
func (o *oracle) byDAV(c caller) *caller {
	if c.key == nil && len(o.w.keys) > 0 {
		c.key = pick(o.d, o.w.keys)
	}
	if c.key == nil {
		return nil
	}
	return &caller{user: c.key.owner, key: c.key, ip: c.ip, protocol: "webdav"}
}

// sendDAV sends a request with a key by Basic authentication.
func (o *oracle) sendDAV(c *caller, method, at string, body any, header ...string) *apptest.Reply {
	h := http.Header{
		"Authorization":   {"Basic " + base64.StdEncoding.EncodeToString([]byte(c.key.id+":"+c.key.secret))},
		"X-Forwarded-For": {c.ip},
	}
	for i := 0; i+1 < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	reply := o.clients[""].Do(apptest.Request{Method: method, Path: "/webdav" + escape(at), Body: body, Header: h})
	if reply.Err != nil {
		o.t.Fatalf("seed %d: %s %s: %v", o.seed, method, at, reply.Err)
	}
	return reply
}

func status(r *apptest.Reply) string { return fmt.Sprint(r.Status) }

// askDAVList requests the properties of a path, with or without its children.
func (o *oracle) askDAVList(by caller) {
	c := o.byDAV(by)
	if c == nil {
		return
	}
	at, depth := o.w.anyPath(o.d), pick(o.d, []string{"0", "1", "1"})
	r := o.sendDAV(c, "PROPFIND", at, nil, "Depth", depth)
	got, want := status(r), o.w.davList(*c, at, depth)
	if fine := slices.Contains(want, "207"); r.Status == 207 && fine {
		all := []item{{path: at, folder: o.w.isFolder(at)}}
		if depth == "1" {
			all = append(all, o.w.listing(*c, at, "")...)
		}
		slices.SortFunc(all, byPath)
		want = answer{write(all, all, len(all))}
		items := o.hrefs(r)
		slices.SortFunc(items, byPath)
		got = write(items, all, len(items))
	}
	o.compare("dav list", *c, "PROPFIND "+at+" depth "+depth, got, want)
}

// davList is the expected answer to PROPFIND: like GET /api/files for a folder, and like the
// details for a file.
func (w *world) davList(c caller, at, depth string) answer {
	if a := c.keyAdmitted("read"); a != nil {
		return inDAV(a, nil)
	}
	shows, e := w.seen(c, at), w.at(at)
	switch {
	case at != "/" && !w.opens(c, parentOf(at)), depth == "1" && w.isFolder(at) &&
		!w.opens(c, at): // whether it exists or not
		return answer{"403"}
	case e == nil && !w.virtual(at):
		if w.has(c, "read", at) == allow {
			return answer{"404"}
		}
		return answer{"403", "404"}
	case shows == yes:
		return answer{"207"}
	case shows == open:
		return answer{"207", "403"}
	}
	return answer{"403"}
}

// hrefs returns the resources of a multistatus.
func (o *oracle) hrefs(r *apptest.Reply) (items []item) {
	var m struct {
		Responses []struct {
			Href       string     `xml:"DAV: href"`
			Collection []struct{} `xml:"DAV: propstat>prop>resourcetype>collection"`
		} `xml:"DAV: response"`
	}
	if err := xml.Unmarshal(r.Body, &m); err != nil {
		o.t.Fatalf("seed %d: %v in %s", o.seed, err, r.Body)
	}
	for _, response := range m.Responses {
		names := []string{}
		for _, part := range strings.Split(strings.Trim(strings.TrimPrefix(response.Href, "/webdav"), "/"), "/") {
			name, err := url.PathUnescape(part)
			if err != nil {
				o.t.Fatalf("seed %d: %s: %v", o.seed, response.Href, err)
			}
			if name != "" {
				names = append(names, name)
			}
		}
		items = append(items, item{path: join(names...), folder: len(response.Collection) > 0})
	}
	return items
}

func (o *oracle) askDAVGet(by caller) {
	c := o.byDAV(by)
	if c == nil {
		return
	}
	at := o.w.anyPath(o.d)
	if e := o.file(); e != nil && o.d.chance(70) {
		at = e.path()
	}
	words := map[string]string{notFound: "404"}
	if o.w.isFolder(at) {
		words[notFound] = "405"
	}
	want := inDAV(o.w.public(*c, at), words)
	if o.w.covering(at) == nil {
		want = append(want, "403")
	}
	o.compare("dav get", *c, "GET "+at, status(o.sendDAV(c, pick(o.d, []string{"GET", "HEAD"}), at, nil)), want)
}

// changeDAV is change for WebDAV.
func (o *oracle) changeDAV(endpoint string, c *caller, request string, r *apptest.Reply, want answer) {
	o.compare(endpoint, *c, request, status(r), want)
	if r.Status < 300 {
		o.restore()
	}
}

func (o *oracle) askDAVPut(by caller) {
	c, dir, name := o.byDAV(by), o.folder(), o.freshName()
	if o.d.chance(20) {
		dir = o.w.anyPath(o.d)
	}
	at := child(dir, name)
	if e := o.file(); e != nil && o.d.chance(30) {
		at = e.path()
		dir, name = parentOf(at), baseOf(at)
	}
	if c == nil || name == "" || o.homes(*c, at) {
		return
	}
	success := "201"
	if o.w.at(at) != nil {
		success = "204"
	}
	if on := o.w.at(dir); on == nil || !on.folder { // the JSON API would create it
		success = "409"
	}
	want := orNoParent(o.w, dir, inDAV(o.w.uploadSession(*c, dir, name, "replace"),
		map[string]string{done: success, notFound: "409", taken: "405"}))
	o.changeDAV("dav put", c, "PUT "+at, o.sendDAV(c, "PUT", at, "x"), o.orTaken(*c, at, want))
}

// orTaken also allows the answers about an existing folder at a path where a new entry is meant: it
// is visible to callers that may write to it, whatever they may do in the folder above; one with a
// password that was not given is not.
func (o *oracle) orTaken(c caller, at string, a answer) answer {
	switch {
	case !o.w.isFolder(at):
	case !o.w.opens(c, at):
		return append(a, "403")
	case o.w.has(c, "write", at) == allow:
		return append(a, "405")
	}
	return a
}

// orNoParent also allows the answer for a missing mount where a key can write nowhere, which the
// JSON API refuses earlier, and the reverse.
func orNoParent(w *world, dir string, a answer) answer {
	if w.covering(dir) == nil {
		return append(a, "403", "409")
	}
	return a
}

func (o *oracle) askDAVFolder(by caller) {
	c, dir, name := o.byDAV(by), o.folder(), o.freshName()
	if o.d.chance(15) {
		dir = o.w.anyPath(o.d)
	}
	if c == nil || o.homes(*c, child(dir, name)) {
		return
	}
	want := orNoParent(o.w, dir, inDAV(o.w.createFolder(*c, dir, name),
		map[string]string{notFound: "409", taken: "405"}))
	at := child(dir, name)
	o.changeDAV("dav folder", c, "MKCOL "+at, o.sendDAV(c, "MKCOL", at, nil), o.orTaken(*c, at, want))
}

// davEntry picks an entry that has a path.
func (o *oracle) davEntry() *entry {
	for range 20 {
		if e := o.entry(); !o.w.hidden(e) {
			return e
		}
	}
	return nil
}

func (o *oracle) askDAVDelete(by caller) {
	c, e := o.byDAV(by), o.davEntry()
	if c == nil || e == nil {
		return
	}
	want := inDAV(o.w.remove(*c, e), map[string]string{done: "204", conflict: "403"})
	o.changeDAV("dav delete", c, "DELETE "+e.path(), o.sendDAV(c, "DELETE", e.path(), nil), want)
}

// askDAVTransfer moves or copies to a free path.
func (o *oracle) askDAVTransfer(by caller) {
	c, e, folder, name := o.byDAV(by), o.davEntry(), o.folder(), o.freshName()
	if o.d.chance(10) {
		folder = o.w.anyPath(o.d)
	}
	to := child(folder, name)
	if c == nil || e == nil || to == e.path() || o.homes(*c, to) {
		return
	}
	method, want := "MOVE", o.w.move
	if o.d.chance(50) {
		method, want = "COPY", o.w.copy
	}
	words := inDAV(want(*c, e, folder, name), map[string]string{done: "201", conflict: "403 412", notFound: "409"})
	if within(to, e.path()) { // distinguished from a missing folder
		words = append(words, "403")
	}
	if o.w.at(to) != nil && slices.Contains(words, "412") && o.w.has(*c, "write", to) != allow {
		words = append(words, "403")
	}
	// the target is visible to this caller, which asks not to replace it
	if o.w.at(to) != nil && o.w.has(*c, "write", to) == allow {
		words = append(words, "412")
	}
	r := o.sendDAV(c, method, e.path(), nil, "Destination", "/webdav"+escape(to), "Overwrite", "F")
	o.changeDAV("dav "+strings.ToLower(method), c, method+" "+e.path()+" to "+to, r, words)
}

// copy is the expected answer to POST /api/files/{id}/copy.
func (w *world) copy(c caller, e *entry, folder, name string) answer {
	if a := c.keyAdmitted("read", "write"); a != nil {
		return a
	}
	to := child(folder, name)
	refused, also := w.mayCreate(c, to), false
	for _, permission := range []string{"read", "download"} {
		if verdict := w.has(c, permission, e.path()); verdict != allow {
			refused = append(refused, refusal(verdict))
		}
	}
	if w.locked(c, e.path()) != nil {
		refused = append(refused, askPassword)
	}
	if e.folder {
		for _, at := range w.under(e.path()) {
			if w.at(at).password {
				refused = append(refused, forbidden)
			}
		}
		for _, permission := range []string{"read", "download"} {
			switch w.authorizeTree(c, permission, e.path(), w.under(e.path())) {
			case yes:
				refused = append(refused, forbidden)
			case open:
				also = true
			}
		}
		also = also || w.mayBeRefusedBelow(c, []string{"write"}, to) == open // entries that would be created below
	}
	var faults answer
	if e.folder && (w.mountsBelow(e.path()) || within(folder, e.path())) || w.at(to) != nil || w.virtual(to) {
		faults = append(faults, conflict)
	}
	if at := w.at(folder); at == nil || !at.folder {
		faults = append(faults, notFound)
	}
	switch {
	case refused != nil && w.covering(folder) == nil:
		return append(refused, notFound)
	case refused != nil:
		return append(refused, faults...)
	case faults != nil:
		return orRefusedAnswer(faults, also)
	}
	return orRefusedAnswer(answer{done}, also)
}

// mountsBelow reports whether a mount lies below a path.
func (w *world) mountsBelow(at string) bool {
	return slices.ContainsFunc(w.mounts, func(m *mount) bool { return !w.hidden(m.root) && below(m.path, at) })
}
