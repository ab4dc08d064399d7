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

// maxProperties is how many properties a request names at most: each is answered for every entry.
const maxProperties = 256

// detailsBatch is of how many entries dead properties are in memory at a time: those of one
// may have 64 KiB.
const detailsBatch = 32

// propfind tells the properties of an entry, and with Depth 1 those of what is in it. More is
// refused; without a Depth it is 1 (docs/webdav.md), since nobody is served by an answer that never
// ends (abuse case C109).
func (q *request) propfind() error {
	// which a listing tells no names, but that there is a folder
	if k := q.Actor.Key; k != nil && !k.Permissions.Has(access.Read) {
		return fault.New(fault.Forbidden, "The API key lacks the permission to read.")
	}
	d, err := parseDepth(q.R.Header.Get("Depth"), depth1)
	if err != nil {
		return err
	}
	if d == depthInfinity {
		return protocolError{http.StatusForbidden, "Folders are listed one by one.", "propfind-finite-depth"}
	}
	tree, err := readXML(q.R.Body)
	if err != nil {
		return err
	}
	asked, err := parsePropfind(tree)
	if err != nil {
		return err
	}
	if len(asked.props) > maxProperties {
		return fault.Newf(fault.Invalid, "At most %d properties are told at a time.", maxProperties)
	}
	at, err := q.resource()
	if err != nil {
		return err
	}
	entry, err := at.EntryFor(q.ctx(), q.Actor)
	if err != nil {
		return err
	}
	a := &multistatus{request: q, plan: planProperties(asked), parent: href(q.Path, true)}
	if a.covering, err = at.Locks(q.ctx()); err != nil {
		return err
	}
	if a.anyLocks, a.anyDead, err = q.Tree.HasLocksOrProperties(q.ctx()); err != nil {
		return err
	}
	var children *files.MemberCursor
	var page []files.Member
	if entry.Folder && d == depth1 {
		if children, err = at.Children(q.ctx(), q.Actor, a.memberFields()); err != nil {
			return err
		}
		if page, err = children.Next(q.ctx()); err != nil { // before the answer begins, which cannot be taken back
			return err
		}
	}
	self := entry.Member()
	facts, err := a.readDetails([]files.Member{self})
	if err != nil {
		return err
	}
	a.begin()
	a.writeResponse(href(q.Path, entry.Folder), &self, facts, a.covering)
	deep := deepLocks(a.covering)
	for len(page) > 0 {
		for some := range slices.Chunk(page, detailsBatch) {
			if facts, err = a.readDetails(some); err != nil {
				return a.end(err)
			}
			for i := range some {
				a.writeMember(&some[i], facts, deep)
			}
		}
		if err = a.flush(); err != nil {
			break
		}
		if page, err = children.Next(q.ctx()); err != nil {
			break
		}
	}
	return a.end(err)
}

// memberFields is what the answer needs to know of each member.
func (a *multistatus) memberFields() files.MemberFields {
	return files.MemberFields{IDs: a.anyDead && a.plan.needsDead() || a.anyLocks && a.plan.includes(lockDiscovery),
		ETags: a.plan.includes(entityTag)}
}

// deepLocks is what covers the members of a folder of the locks that cover the folder.
func deepLocks(held []files.WriteLock) (deep []files.WriteLock) {
	for _, l := range held {
		if l.Deep {
			deep = append(deep, l)
		}
	}
	return deep
}

// multistatus is a multistatus on its way out (RFC 4918, section 13).
type multistatus struct {
	*request
	plan              propertyPlan
	parent            string            // address of what was asked for, as a folder
	covering          []files.WriteLock // that cover it
	anyLocks, anyDead bool              // there are locks, and dead properties, anywhere
	out               *bufio.Writer
	buf, hrefBuf      []byte
	quota             *quota.Quota
}

// entryDetails is what is read for some entries beside themselves.
type entryDetails struct {
	properties map[string][]files.Property
	locks      map[string][]files.WriteLock
}

func (a *multistatus) readDetails(page []files.Member) (f entryDetails, err error) {
	ids := make([]string, len(page))
	for i := range page {
		ids[i] = page[i].ID
	}
	if a.anyDead && a.plan.needsDead() {
		if f.properties, err = a.Tree.Properties(a.ctx(), ids); err != nil {
			return entryDetails{}, err
		}
	}
	if a.anyLocks && a.plan.includes(lockDiscovery) {
		if f.locks, err = a.Tree.LocksOn(a.ctx(), ids); err != nil {
			return entryDetails{}, err
		}
	}
	if a.quota == nil && (a.plan.includes(quotaAvailable | quotaUsed)) {
		used, err := quota.Get(a.DB.Read(a.ctx()), a.Actor.UserID)
		if err != nil && !fault.Is(err, fault.NotFound) {
			return entryDetails{}, err
		}
		a.quota = &used
	}
	return f, nil
}

// startTransfer begins a multistatus.
func (a *multistatus) begin() {
	setXMLHeaders(a.W.Header())
	a.W.WriteHeader(http.StatusMultiStatus)
	a.out = bufio.NewWriterSize(a.W, 32<<10)
	a.writeText(xmlHead + `<D:multistatus xmlns:D="DAV:">` + "\n")
}

// setXMLHeaders says what an answer is, and that no browser is to do anything with it: clients' own
// words stand in it.
func setXMLHeaders(h http.Header) {
	h.Set("Content-Type", "application/xml; charset=utf-8")
	setSandboxHeaders(h)
}

func setSandboxHeaders(h http.Header) {
	h.Set("Cache-Control", "private, no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
}

// writeText appends to the answer; what fails is told by flush.
func (a *multistatus) writeText(s string) { _, _ = a.out.WriteString(s) }

// flush sends what there is: the client sees the first entries before the last are read.
func (a *multistatus) flush() error {
	if err := a.out.Flush(); err != nil {
		return err
	}
	return http.NewResponseController(a.W).Flush()
}

// end ends a multistatus. One that breaks off is cut, so that nobody takes it for whole.
func (a *multistatus) end(err error) error {
	if err == nil {
		a.writeText("</D:multistatus>\n")
		err = a.out.Flush()
	}
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	return nil
}
