package webdav

import (
	"net/http"
	"slices"
	"strconv"
	"time"

	"larder/internal/files"
	"larder/internal/quota"
	"larder/internal/vpath"
)

// liveSet is a set of live properties.
type liveSet uint16

// liveByName maps the names of the live properties, in the namespace DAV:, to their bits (RFC 4918,
// section 15; RFC 4331). Clients cannot set live properties.
var liveByName = map[string]liveSet{
	"creationdate":          creationDate,
	"displayname":           displayName,
	"getcontentlength":      contentLength,
	"getcontenttype":        contentType,
	"getetag":               entityTag,
	"getlastmodified":       lastModified,
	"resourcetype":          resourceType,
	"supportedlock":         supportedLock,
	"lockdiscovery":         lockDiscovery,
	"quota-available-bytes": quotaAvailable,
	"quota-used-bytes":      quotaUsed,
}

const (
	creationDate liveSet = 1 << iota
	displayName
	contentLength
	contentType
	entityTag
	lastModified
	resourceType
	supportedLock
	lockDiscovery
	quotaAvailable
	quotaUsed

	notInAllprop = quotaAvailable | quotaUsed // RFC 4331, section 2
)

// propertyPlan is a PROPFIND in the form that answers fast for many entries.
type propertyPlan struct {
	propfind
	live      liveSet
	deadNames []qname // requested names of properties that are not live
}

// planProperties sorts the properties that a PROPFIND asks for into live and dead ones. Live
// properties are those that the service itself computes, dead ones those that clients store.
func planProperties(p propfind) propertyPlan {
	w := propertyPlan{propfind: p}
	if p.kind != prop {
		w.live = ^liveSet(0) &^ notInAllprop
	}
	for _, name := range p.props {
		if is := liveProperty(name); is != 0 {
			w.live |= is
		} else {
			w.deadNames = append(w.deadNames, name)
		}
	}
	return w
}

// liveProperty returns the bit of the live property (one that the service computes) with that name,
// 0 for none.
func liveProperty(name qname) liveSet {
	if name.space != davSpace {
		return 0
	}
	return liveByName[name.local]
}

// includes reports whether the answer needs one of the live properties in p.
func (pp *propertyPlan) includes(p liveSet) bool { return pp.live&p != 0 }

// needsDead reports whether the answer needs dead properties, which cost a query.
func (pp *propertyPlan) needsDead() bool { return pp.kind != prop || len(pp.deadNames) > 0 }

// writeMember writes the response for a member of the folder that the request lists. f has the dead
// properties and locks of members, deep are the locks of the folder that also cover its members.
func (ms *multistatus) writeMember(m *files.Member, f entryDetails, deep []files.WriteLock) {
	locks := deep
	if own := f.locks[m.ID]; len(own) > 0 {
		for i := range own {
			own[i].Path = ms.Path.Child(vpath.Name(m.Name))
		}
		locks = append(slices.Clip(deep), own...)
	}
	ms.hrefBuf = appendSegment(append(ms.hrefBuf[:0], ms.parent...), m.Name)
	if m.Folder {
		ms.hrefBuf = append(ms.hrefBuf, '/')
	}
	ms.writeResponse(string(ms.hrefBuf), m, f, locks)
}

// writeResponse writes the response, the requested properties, for the entry m at an address; locks
// are those that cover the entry.
func (ms *multistatus) writeResponse(at string, m *files.Member, f entryDetails, locks []files.WriteLock) {
	b := append(ms.buf[:0], "<D:response><D:href>"...)
	b = append(b, at...)
	b = append(b, "</D:href>"...)
	found := f.properties[m.ID]
	if ms.plan.kind == propname {
		b = ms.appendNames(b, m, found)
	} else {
		b = ms.appendValues(b, m, found, locks)
	}
	b = append(b, "</D:response>\n"...)
	ms.buf = b
	_, _ = ms.out.Write(b)
}

const (
	propstatBegin = "<D:propstat><D:prop>"
	propstatOK    = "</D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat>"
	propstatNone  = "</D:prop><D:status>HTTP/1.1 404 Not Found</D:status></D:propstat>"
)

// liveProperties returns the live properties that an entry has: a folder has no length and type, a
// virtual one (which only leads to mounts) no times and locks.
func (ms *multistatus) liveProperties(e *files.Member) liveSet {
	set := creationDate | displayName | lastModified | resourceType
	if !e.Virtual {
		set |= supportedLock | lockDiscovery
	} else {
		set &^= creationDate | lastModified
	}
	if e.Folder {
		set |= quotaUsed
		if ms.quota != nil && ms.quota.MaxStorage != quota.Unlimited {
			set |= quotaAvailable
		}
		return set
	}
	return set | contentLength | contentType | entityTag
}

// appendNames appends the names of the properties that an entry has, for a PROPFIND that asks for
// names; dead are its dead properties.
func (ms *multistatus) appendNames(b []byte, e *files.Member, dead []files.Property) []byte {
	b = append(b, propstatBegin...)
	for _, name := range liveNames {
		if liveByName[name]&ms.liveProperties(e)&^notInAllprop != 0 {
			b = append(append(append(b, "<D:"...), name...), "/>"...)
		}
	}
	for i := range dead {
		b = appendEmptyElement(b, qname{dead[i].Namespace, dead[i].Name})
	}
	return append(b, propstatOK...)
}

// liveNames are the names of the live properties in alphabetical order.
var liveNames = func() (names []string) {
	for name := range liveByName {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}()

// appendValues appends the requested properties that the entry has, with status 200, then the names
// of those that it lacks, with status 404. dead are the entry's dead properties.
func (ms *multistatus) appendValues(b []byte, e *files.Member, dead []files.Property, locks []files.WriteLock) []byte {
	has := ms.liveProperties(e)
	b = append(b, propstatBegin...)
	b = ms.appendLive(b, e, ms.plan.live&has, locks)
	missing := ms.plan.live &^ has
	if ms.plan.kind == allprop {
		for i := range dead {
			b = appendDead(b, &dead[i])
		}
		missing = 0
		for _, name := range ms.plan.props { // names in an include
			missing |= liveProperty(name) &^ has
		}
	}
	var none []qname
	for _, name := range ms.plan.deadNames {
		i := slices.IndexFunc(dead, func(p files.Property) bool {
			return p.Namespace == name.space &&
				p.Name == name.local
		})
		switch {
		case i < 0:
			none = append(none, name)
		case ms.plan.kind == prop:
			b = appendDead(b, &dead[i])
		}
	}
	b = append(b, propstatOK...)
	if missing == 0 && len(none) == 0 {
		return b
	}
	b = append(b, propstatBegin...)
	if missing != 0 {
		for _, name := range liveNames {
			if liveByName[name]&missing != 0 {
				b = append(append(append(b, "<D:"...), name...), "/>"...)
			}
		}
	}
	for _, name := range none {
		b = appendEmptyElement(b, name)
	}
	return append(b, propstatNone...)
}

// appendLive appends the XML of the live properties in set of the entry e; locks are those that
// cover it.
func (ms *multistatus) appendLive(b []byte, e *files.Member, set liveSet, locks []files.WriteLock) []byte {
	if set&resourceType != 0 {
		if e.Folder {
			b = append(b, "<D:resourcetype><D:collection/></D:resourcetype>"...)
		} else {
			b = append(b, "<D:resourcetype/>"...)
		}
	}
	if set&contentLength != 0 {
		b = append(b, "<D:getcontentlength>"...)
		b = strconv.AppendInt(b, e.Size, 10)
		b = append(b, "</D:getcontentlength>"...)
	}
	if set&lastModified != 0 {
		b = append(b, "<D:getlastmodified>"...)
		b = time.UnixMilli(e.UpdatedAt).UTC().AppendFormat(b, http.TimeFormat)
		b = append(b, "</D:getlastmodified>"...)
	}
	if set&creationDate != 0 {
		b = append(b, "<D:creationdate>"...)
		b = time.UnixMilli(e.CreatedAt).UTC().AppendFormat(b, time.RFC3339)
		b = append(b, "</D:creationdate>"...)
	}
	if set&entityTag != 0 {
		b = append(b, "<D:getetag>"...)
		b = appendText(b, e.ETag)
		b = append(b, "</D:getetag>"...)
	}
	if set&contentType != 0 {
		b = append(b, "<D:getcontenttype>"...)
		b = appendText(b, e.MimeType)
		b = append(b, "</D:getcontenttype>"...)
	}
	if set&displayName != 0 {
		b = append(b, "<D:displayname>"...)
		b = appendText(b, e.Name)
		b = append(b, "</D:displayname>"...)
	}
	if set&supportedLock != 0 {
		b = append(b, supportedLocks...)
	}
	if set&lockDiscovery != 0 {
		b = ms.appendLockDiscovery(b, locks)
	}
	if set&quotaUsed != 0 {
		b = append(b, "<D:quota-used-bytes>"...)
		b = strconv.AppendInt(b, ms.quota.UsedStorage, 10)
		b = append(b, "</D:quota-used-bytes>"...)
	}
	if set&quotaAvailable != 0 {
		b = append(b, "<D:quota-available-bytes>"...)
		b = strconv.AppendInt(b, max(ms.quota.MaxStorage-ms.quota.UsedStorage, 0), 10)
		b = append(b, "</D:quota-available-bytes>"...)
	}
	return b
}

// supportedLocks is the value of supportedlock, the same for every entry.
const supportedLocks = "<D:supportedlock>" +
	"<D:lockentry><D:lockscope><D:exclusive/></D:lockscope><D:locktype><D:write/></D:locktype></D:lockentry>" +
	"<D:lockentry><D:lockscope><D:shared/></D:lockscope><D:locktype><D:write/></D:locktype></D:lockentry>" +
	"</D:supportedlock>"

// maxForeignLocks limits how many locks of other keys lockdiscovery lists for one entry: a folder
// may have many shared locks, and they are listed for every member.
const maxForeignLocks = 10

// appendLockDiscovery appends the locks that cover an entry (RFC 4918, section 15.8). It shows the
// token of a lock only to the key that created the lock (abuse case C110).
func (req *request) appendLockDiscovery(b []byte, locks []files.WriteLock) []byte {
	b = append(b, "<D:lockdiscovery>"...)
	foreign := 0
	for i := range locks {
		l := &locks[i]
		own := req.Actor.Key != nil && l.KeyID == req.Actor.Key.ID
		if !own {
			foreign++
		}
		if !own && foreign > maxForeignLocks {
			continue
		}
		scope, depth := "shared", "0"
		if l.Exclusive {
			scope = "exclusive"
		}
		if l.Deep {
			depth = "infinity"
		}
		b = append(b, "<D:activelock><D:locktype><D:write/></D:locktype><D:lockscope><D:"+scope+
			"/></D:lockscope><D:depth>"+depth+"</D:depth>"...)
		if l.Owner != "" {
			b = append(append(append(b, "<D:owner>"...), l.Owner...), "</D:owner>"...)
		}
		b = append(b, "<D:timeout>Second-"...)
		b = strconv.AppendInt(b, max((l.ExpiresAt-req.Now().UnixMilli())/1000, 0), 10)
		b = append(b, "</D:timeout>"...)
		if own {
			b = append(b, "<D:locktoken><D:href>"+tokenScheme+l.Token+"</D:href></D:locktoken>"...)
		}
		b = append(append(append(b, "<D:lockroot><D:href>"...), href(l.Path, false)...),
			"</D:href></D:lockroot></D:activelock>"...)
	}
	return append(b, "</D:lockdiscovery>"...)
}

// appendEmptyElement appends a property as an empty element, which names it without a value.
func appendEmptyElement(b []byte, name qname) []byte {
	b = appendStartTag(b, name, "")
	b[len(b)-1] = '/'
	return append(b, '>')
}

// appendStartTag appends the start tag of a property. It declares the namespace unless that is
// `DAV:`, whose prefix D the root element declares. lang is its xml:lang, "" for none.
func appendStartTag(b []byte, name qname, lang string) []byte {
	if name.space == davSpace {
		b = append(append(b, "<D:"...), name.local...)
	} else {
		b = append(append(append(b, '<'), name.local...), ` xmlns="`...)
		b = append(appendEscaped(b, name.space), '"')
	}
	if lang != "" {
		b = append(appendEscaped(append(b, ` xml:lang="`...), lang), '"')
	}
	return append(b, '>')
}

// appendDead appends a dead property as XML, with the value that a client has stored.
func appendDead(b []byte, p *files.Property) []byte {
	name := qname{p.Namespace, p.Name}
	if p.Value == "" && p.Lang == "" {
		return appendEmptyElement(b, name)
	}
	b = appendStartTag(b, name, p.Lang)
	b = append(b, p.Value...)
	b = append(b, "</"...)
	if name.space == davSpace {
		b = append(b, "D:"...)
	}
	return append(append(b, name.local...), '>')
}
