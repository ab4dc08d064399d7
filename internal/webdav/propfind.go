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

// maxNames is how many properties a request names at most: each is answered for every entry.
const maxNames = 256

// heldAtOnce is of how many entries dead properties are in memory at a time: those of one may have 64 KiB.
const heldAtOnce = 32

// propfind tells the properties of an entry, and with Depth 1 those of what is in it. More is refused; without a Depth it is 1 (docs/webdav.md), since
// nobody is served by an answer that never ends (abuse case C109).
func (q *request) propfind() error {
	if k := q.Actor.Key; k != nil && !k.Permissions.Has(access.Read) { // which a listing tells no names, but that there is a folder
		return fault.New(fault.Forbidden, "The API key lacks the permission to read.")
	}
	d, err := parseDepth(q.R.Header.Get("Depth"), depth1)
	if err != nil {
		return err
	}
	if d == depthInfinity {
		return refusal{http.StatusForbidden, "Folders are listed one by one.", "propfind-finite-depth"}
	}
	tree, err := readXML(q.R.Body)
	if err != nil {
		return err
	}
	asked, err := parsePropfind(tree)
	if err != nil {
		return err
	}
	if len(asked.props) > maxNames {
		return fault.Newf(fault.Invalid, "At most %d properties are told at a time.", maxNames)
	}
	at, err := q.spot()
	if err != nil {
		return err
	}
	entry, err := at.See(q.ctx(), q.Actor)
	if err != nil {
		return err
	}
	a := &answer{request: q, wanted: wants(asked), parent: href(q.Path, true)}
	if a.held, err = at.Locks(q.ctx()); err != nil {
		return err
	}
	if a.locks, a.dead, err = q.Tree.Kept(q.ctx()); err != nil {
		return err
	}
	var children *files.Children
	var page []files.Member
	if entry.Folder && d == depth1 {
		if children, err = at.Children(q.ctx(), q.Actor, a.telling()); err != nil {
			return err
		}
		if page, err = children.Next(q.ctx()); err != nil { // before the answer begins, which cannot be taken back
			return err
		}
	}
	self := entry.Member()
	facts, err := a.facts([]files.Member{self})
	if err != nil {
		return err
	}
	a.begin()
	a.response(href(q.Path, entry.Folder), &self, facts, a.held)
	deep := inherited(a.held)
	for len(page) > 0 {
		for some := range slices.Chunk(page, heldAtOnce) {
			if facts, err = a.facts(some); err != nil {
				return a.end(err)
			}
			for i := range some {
				a.member(&some[i], facts, deep)
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

// telling is what the answer needs to know of each member.
func (a *answer) telling() files.Telling {
	return files.Telling{IDs: a.dead && a.wanted.dead() || a.locks && a.wanted.has(lockDiscovery), ETags: a.wanted.has(entityTag)}
}

// inherited is what covers the members of a folder of the locks that cover the folder.
func inherited(held []files.WriteLock) (deep []files.WriteLock) {
	for _, l := range held {
		if l.Deep {
			deep = append(deep, l)
		}
	}
	return deep
}

// answer is a multistatus on its way out (RFC 4918, section 13).
type answer struct {
	*request
	wanted      wanted
	parent      string            // address of what was asked for, as a folder
	held        []files.WriteLock // that cover it
	locks, dead bool              // there are locks, and dead properties, anywhere
	out         *bufio.Writer
	buf, at     []byte
	quota       *quota.Quota
}

// facts is what is read for some entries beside themselves.
type facts struct {
	dead  map[string][]files.Property
	locks map[string][]files.WriteLock
}

func (a *answer) facts(page []files.Member) (f facts, err error) {
	ids := make([]string, len(page))
	for i := range page {
		ids[i] = page[i].ID
	}
	if a.dead && a.wanted.dead() {
		if f.dead, err = a.Tree.Properties(a.ctx(), ids); err != nil {
			return facts{}, err
		}
	}
	if a.locks && a.wanted.has(lockDiscovery) {
		if f.locks, err = a.Tree.LocksOn(a.ctx(), ids); err != nil {
			return facts{}, err
		}
	}
	if a.quota == nil && (a.wanted.has(quotaAvailable | quotaUsed)) {
		of, err := quota.Get(a.DB.Read(a.ctx()), a.Actor.UserID)
		if err != nil && !fault.Is(err, fault.NotFound) {
			return facts{}, err
		}
		a.quota = &of
	}
	return f, nil
}

// begin begins a multistatus.
func (a *answer) begin() {
	asXML(a.W.Header())
	a.W.WriteHeader(http.StatusMultiStatus)
	a.out = bufio.NewWriterSize(a.W, 32<<10)
	a.text(xmlHead + `<D:multistatus xmlns:D="DAV:">` + "\n")
}

// asXML says what an answer is, and that no browser is to do anything with it: clients' own words stand in it.
func asXML(h http.Header) {
	h.Set("Content-Type", "application/xml; charset=utf-8")
	boxed(h)
}

func boxed(h http.Header) {
	h.Set("Cache-Control", "private, no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
}

// text appends to the answer; what fails is told by flush.
func (a *answer) text(s string) { _, _ = a.out.WriteString(s) }

// flush sends what there is: the client sees the first entries before the last are read.
func (a *answer) flush() error {
	if err := a.out.Flush(); err != nil {
		return err
	}
	return http.NewResponseController(a.W).Flush()
}

// end ends a multistatus. One that breaks off is cut, so that nobody takes it for whole.
func (a *answer) end(err error) error {
	if err == nil {
		a.text("</D:multistatus>\n")
		err = a.out.Flush()
	}
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	return nil
}
