package webdav

import (
	"bufio"
	"net/http"
	"slices"

	"larder/internal/access"
	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/quota"
)

// maxProperties limits how many properties a request may name, since each is answered for every
// entry.
const maxProperties = 256

// detailsBatch is the number of entries whose dead properties are in memory at a time: those of one
// entry may have 64 KiB.
const detailsBatch = 32

// propfind answers PROPFIND: the properties of an entry, and with Depth 1 also those of its
// members. It refuses Depth infinity, and takes a missing Depth for 1 (docs/webdav.md), since the
// answer for a whole tree could be endless (abuse case C109). Faults come before the first byte;
// after it an error breaks the connection off.
func (req *request) propfind() error {
	// to a key without this permission a listing would show no names, but that the folder exists
	if k := req.Actor.Key; k != nil && !k.Permissions.Has(access.Read) {
		return fault.New(fault.Forbidden, "The API key lacks the permission to read.")
	}
	d, err := parseDepth(req.R.Header.Get("Depth"), depth1)
	if err != nil {
		return err
	}
	if d == depthInfinity {
		return protocolError{http.StatusForbidden, "Folders are listed one by one: send Depth 0 or 1.",
			"propfind-finite-depth"}
	}
	tree, err := readXML(req.R.Body)
	if err != nil {
		return err
	}
	asked, err := parsePropfind(tree)
	if err != nil {
		return err
	}
	if len(asked.props) > maxProperties {
		return fault.Newf(fault.Invalid, "A request can ask for at most %d properties.", maxProperties)
	}
	at, err := req.resource()
	if err != nil {
		return err
	}
	entry, err := at.EntryFor(req.ctx(), req.Actor)
	if err != nil {
		return err
	}
	a := &multistatus{request: req, plan: planProperties(asked), parent: href(req.Path, true)}
	if a.covering, err = at.Locks(req.ctx()); err != nil {
		return err
	}
	if a.anyLocks, a.anyDead, err = req.Tree.HasLocksOrProperties(req.ctx()); err != nil {
		return err
	}
	var children *files.MemberCursor
	var page []files.Member
	if entry.Folder && d == depth1 {
		if children, err = at.Children(req.ctx(), req.Actor, a.memberFields()); err != nil {
			return err
		}
		if page, err = children.Next(req.ctx()); err != nil { // before the status is sent, which cannot be changed
			return err
		}
	}
	self := entry.Member()
	details, err := a.readDetails([]files.Member{self})
	if err != nil {
		return err
	}
	a.begin()
	a.writeResponse(href(req.Path, entry.Folder), &self, details, a.covering)
	deep := deepLocks(a.covering)
	for len(page) > 0 {
		for some := range slices.Chunk(page, detailsBatch) {
			if details, err = a.readDetails(some); err != nil {
				return a.end(err)
			}
			for i := range some {
				a.writeMember(&some[i], details, deep)
			}
		}
		if err = a.flush(); err != nil {
			break
		}
		if page, err = children.Next(req.ctx()); err != nil {
			break
		}
	}
	return a.end(err)
}

// memberFields returns which fields of the folder's members the answer needs beyond name, size and
// times, so that the query reads no more.
func (ms *multistatus) memberFields() files.MemberFields {
	return files.MemberFields{IDs: ms.anyDead && ms.plan.needsDead() || ms.anyLocks && ms.plan.includes(lockDiscovery),
		ETags: ms.plan.includes(entityTag)}
}

// deepLocks returns those locks of a folder that also cover its members: the ones with Depth
// infinity.
func deepLocks(held []files.WriteLock) (deep []files.WriteLock) {
	for _, l := range held {
		if l.Deep {
			deep = append(deep, l)
		}
	}
	return deep
}

// multistatus is a multistatus response that is being written (RFC 4918, section 13).
type multistatus struct {
	*request
	plan              propertyPlan
	parent            string            // address of the request's resource, as a folder
	covering          []files.WriteLock // locks that cover the request's resource
	anyLocks, anyDead bool              // the database has any locks, any dead properties
	out               *bufio.Writer
	buf, hrefBuf      []byte
	quota             *quota.Quota
}

// entryDetails are the dead properties and locks of some entries, by the ids of the entries.
type entryDetails struct {
	properties map[string][]files.Property
	locks      map[string][]files.WriteLock
}

// readDetails reads the dead properties and the locks of some entries, and once the caller's quota,
// as far as the answer needs them.
func (ms *multistatus) readDetails(page []files.Member) (f entryDetails, err error) {
	ids := make([]string, len(page))
	for i := range page {
		ids[i] = page[i].ID
	}
	if ms.anyDead && ms.plan.needsDead() {
		if f.properties, err = ms.Tree.Properties(ms.ctx(), ids); err != nil {
			return entryDetails{}, err
		}
	}
	if ms.anyLocks && ms.plan.includes(lockDiscovery) {
		if f.locks, err = ms.Tree.LocksOn(ms.ctx(), ids); err != nil {
			return entryDetails{}, err
		}
	}
	if ms.quota == nil && (ms.plan.includes(quotaAvailable | quotaUsed)) {
		used, err := quota.Get(ms.DB.Read(ms.ctx()), ms.Actor.UserID)
		if err != nil && !fault.Is(err, fault.NotFound) {
			return entryDetails{}, err
		}
		ms.quota = &used
	}
	return f, nil
}

// begin sends the status 207 and the headers and writes the start of the XML body. No fault can be
// answered after it.
func (ms *multistatus) begin() {
	setXMLHeaders(ms.W.Header())
	ms.W.WriteHeader(http.StatusMultiStatus)
	ms.out = bufio.NewWriterSize(ms.W, 32<<10)
	ms.writeText(xmlHead + `<D:multistatus xmlns:D="DAV:">` + "\n")
}

// setXMLHeaders sets the headers of an XML response. They forbid browsers to run anything in it,
// since the body contains text that clients have written.
func setXMLHeaders(h http.Header) {
	h.Set("Content-Type", "application/xml; charset=utf-8")
	setSandboxHeaders(h)
}

// setSandboxHeaders forbids caches to store an answer, and browsers to guess its type or run
// anything in it.
func setSandboxHeaders(h http.Header) {
	h.Set("Cache-Control", "private, no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
}

// writeText appends XML to the response. flush and end return the errors of writes.
func (ms *multistatus) writeText(s string) { _, _ = ms.out.WriteString(s) }

// flush sends the buffered part of the response, so that the client sees the first entries before
// the last ones are read.
func (ms *multistatus) flush() error {
	if err := ms.out.Flush(); err != nil {
		return err
	}
	return http.NewResponseController(ms.W).Flush()
}

// end completes the response. After an error it aborts the connection by a panic with
// http.ErrAbortHandler, so that the client cannot take the response for complete; otherwise it
// returns nil.
func (ms *multistatus) end(err error) error {
	if err == nil {
		ms.writeText("</D:multistatus>\n")
		err = ms.out.Flush()
	}
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	return nil
}
