package webdav

import (
	"bufio"
	"net/http"
	"strconv"

	"larder/internal/access"
	"larder/internal/fault"
	"larder/internal/files"
)

// proppatch answers PROPPATCH: it sets and removes dead properties, all of them or none (RFC 4918,
// section 9.2). The response gives the outcome of each property. A live property among them refuses
// all.
func (req *request) proppatch() error {
	tree, err := readXML(req.R.Body)
	if err != nil {
		return err
	}
	updates, err := parsePropertyUpdate(tree)
	if err != nil {
		return err
	}
	if len(updates) > maxProperties {
		return fault.Newf(fault.Invalid, "At most %d properties are set at a time.", maxProperties)
	}
	at, err := req.checkedResource(access.Update)
	if err != nil {
		return err
	}
	status := http.StatusOK
	protected := false
	changes := make([]files.PropertyChange, len(updates))
	for i, u := range updates {
		protected = protected || liveProperty(u.name) != 0
		changes[i] = files.PropertyChange{
			Property: files.Property{Namespace: u.name.space, Name: u.name.local, Lang: u.lang, Value: u.value},
			Remove:   u.remove,
		}
	}
	if !protected {
		err = req.Tree.SetProperties(req.ctx(), req.Actor, at.ID(), changes)
		if fault.Is(err, fault.QuotaExceeded) {
			status = http.StatusInsufficientStorage
		} else if err != nil {
			return err
		}
	}
	a := &multistatus{request: req}
	a.begin()
	a.writeText("<D:response><D:href>" + href(req.Path, at.IsFolder()) + "</D:href>")
	written := map[qname]bool{}
	for _, u := range updates {
		if written[u.name] {
			continue
		}
		written[u.name] = true
		propStatus := status
		switch {
		case protected && liveProperty(u.name) != 0:
			propStatus = http.StatusForbidden
		case protected:
			propStatus = http.StatusFailedDependency
		}
		a.writePropstat(u.name, propStatus)
	}
	a.writeText("</D:response>\n")
	return a.end(nil)
}

// writePropstat writes the HTTP status of one property, and the reason for a refusal.
func (ms *multistatus) writePropstat(name qname, status int) {
	ms.writeText(propstatBegin + string(appendEmptyElement(nil, name)) + "</D:prop>" + statusLine(status))
	switch status {
	case http.StatusForbidden:
		ms.writeText("<D:error><D:cannot-modify-protected-property/></D:error>")
	case http.StatusInsufficientStorage:
		ms.writeText(
			"<D:responsedescription>There are too many properties, or they are too long.</D:responsedescription>")
	}
	ms.writeText("</D:propstat>")
}

// statusLine returns the XML element that holds an HTTP status.
func statusLine(status int) string {
	return "<D:status>HTTP/1.1 " + strconv.Itoa(status) + " " + http.StatusText(status) + "</D:status>"
}

// failedDependency sends a multistatus of two responses: path, an address below the request's whose
// lock blocked the request, with its status, and the request's own path with 424 Failed Dependency.
func (req *request) failedDependency(path string, status int, folder bool) error {
	a := &multistatus{request: req, out: bufio.NewWriter(req.W)}
	a.begin()
	a.writeText("<D:response><D:href>" + path + "</D:href>" + statusLine(status) + "</D:response>\n")
	a.writeText("<D:response><D:href>" + href(req.Path, folder) + "</D:href>" + statusLine(http.StatusFailedDependency) +
		"</D:response>\n")
	return a.end(nil)
}

// lockedBelow returns the address of the locked entry that caused err, and whether that entry is
// below the request's path.
func (req *request) lockedBelow(err error) (path string, below bool) {
	at, known := files.LockedAt(err)
	if !known || at == req.Path || !at.Within(req.Path) {
		return "", false
	}
	return href(at, false), true
}
