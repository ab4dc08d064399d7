package webdav

import (
	"slices"

	"larder/internal/fault"
)

const (
	// maxOwner is the longest owner of a lock, in bytes.
	maxOwner = 4096
	// maxValues limits the values of one PROPPATCH together, in bytes as we write them: escapes may
	// make a full body four times as long.
	maxValues = 4 * maxBody
	// maxLang is the longest xml:lang, in bytes. An xml:lang of an outer element applies to every
	// property inside and is stored with each.
	maxLang = 100
)

// propfind is what a PROPFIND asks for (RFC 4918 sections 9.1 and 14.20).
type propfind struct {
	kind  propfindKind
	props []qname // without repeats, as requested; for allprop the names in its include, for propname none
}

// propfindKind says whether a PROPFIND asks for all properties, for the names of all, or for named
// ones.
type propfindKind int

const (
	allprop propfindKind = iota
	propname
	prop
)

// parsePropfind reads which properties the body of a PROPFIND asks for. An empty body (nil) asks
// for all. Elements that are not expected are ignored, as RFC 4918 section 17 requires; an include
// beside anything but allprop is one of them. Fault: Invalid unless it asks for exactly one of all
// properties, their names, and named ones.
func parsePropfind(e *element) (propfind, error) {
	if e == nil {
		return propfind{kind: allprop}, nil
	}
	if e.name != davName("propfind") {
		return propfind{}, fault.New(fault.Invalid, "The body must be a DAV: propfind element.")
	}
	var found []propfind
	for child := range e.elements() {
		switch child.name {
		case davName("allprop"):
			found = append(found, propfind{kind: allprop})
		case davName("propname"):
			found = append(found, propfind{kind: propname})
		case davName("prop"):
			found = append(found, propfind{prop, namesIn([]*element{child})})
		}
	}
	if len(found) != 1 {
		return propfind{}, fault.New(fault.Invalid,
			"A propfind element holds exactly one of allprop, propname and prop.")
	}
	if found[0].kind == allprop {
		found[0].props = namesIn(e.named(davName("include")))
	}
	return found[0], nil
}

// namesIn returns the names of the child elements of all lists, in their order and without repeats.
func namesIn(lists []*element) []qname {
	var names []qname
	seen := map[qname]bool{}
	for _, list := range lists {
		for e := range list.elements() {
			if !seen[e.name] {
				seen[e.name] = true
				names = append(names, e.name)
			}
		}
	}
	return names
}

// propUpdate is one property that a PROPPATCH sets or removes.
type propUpdate struct {
	name   qname
	value  string // content as innerXML writes it; "" for remove
	lang   string // xml:lang in effect, unescaped, "" for none; part of the value (RFC 4918 section 4.3)
	remove bool
}

// parsePropertyUpdate returns the updates that the body of a PROPPATCH asks for, in document order,
// in which the caller must apply them (RFC 4918 section 14.19). e is nil for an empty body.
// Elements that it does not expect are ignored. Faults: Invalid when e is not a propertyupdate,
// holds no set or remove, or holds one without a prop, and for an xml:lang that is too long;
// TooLarge when the values that are set have more than maxValues bytes together.
func parsePropertyUpdate(e *element) ([]propUpdate, error) {
	if e == nil || e.name != davName("propertyupdate") {
		return nil, fault.New(fault.Invalid, "The body must be a DAV: propertyupdate element.")
	}
	var updates []propUpdate
	parts, room := 0, maxValues
	for part := range e.elements() {
		if part.name != davName("set") && part.name != davName("remove") {
			continue
		}
		parts++
		lists := part.named(davName("prop"))
		if len(lists) == 0 {
			return nil, fault.New(fault.Invalid, "A set or remove element holds a prop element.")
		}
		for _, list := range lists {
			for property := range list.elements() {
				u := propUpdate{name: property.name, remove: part.name == davName("remove")}
				if !u.remove {
					var err error
					if u.value, u.lang, err = valueOf(property, room, e, part, list); err != nil {
						return nil, err
					}
					room -= len(u.value)
				}
				updates = append(updates, u)
			}
		}
	}
	if parts == 0 {
		return nil, fault.New(fault.Invalid, "A propertyupdate element holds set or remove elements.")
	}
	return updates, nil
}

// valueOf returns the value of a property and its language. The language is the innermost xml:lang
// of the property and of the elements around it, which the caller lists from the outermost in.
// Faults: TooLarge when the value has more than room bytes; Invalid for a language longer than
// maxLang.
func valueOf(property *element, room int, around ...*element) (value, lang string, err error) {
	for _, e := range append(around, property) {
		for _, a := range e.attrs {
			if a.name == (qname{xmlSpace, "lang"}) {
				lang = a.value
			}
		}
	}
	if len(lang) > maxLang {
		return "", "", fault.Newf(fault.Invalid, "xml:lang has at most %d bytes.", maxLang)
	}
	value, ok := innerXML(property, room)
	if !ok {
		return "", "", fault.New(fault.TooLarge, "The properties are too long.")
	}
	return value, lang, nil
}

// lockInfo describes the lock that a LOCK asks for. It is always a write lock, the only type that
// exists.
type lockInfo struct {
	exclusive bool
	owner     string // content of DAV:owner as innerXML writes it, "" for none
}

// parseLockInfo reads the body of a LOCK that creates a lock (RFC 4918 section 14.11). Fault:
// Invalid.
func parseLockInfo(e *element) (lockInfo, error) {
	if e == nil || e.name != davName("lockinfo") {
		return lockInfo{}, fault.New(fault.Invalid, "The body must be a DAV: lockinfo element.")
	}
	scope, err := choice(e, "lockscope", "exclusive", "shared")
	if err != nil {
		return lockInfo{}, err
	}
	if _, err := choice(e, "locktype", "write"); err != nil {
		return lockInfo{}, err
	}
	info := lockInfo{exclusive: scope == "exclusive"}
	owners := e.named(davName("owner"))
	if len(owners) > 1 {
		return lockInfo{}, fault.New(fault.Invalid, "A lockinfo element holds at most one owner.")
	}
	if len(owners) == 1 {
		var ok bool
		if info.owner, ok = innerXML(owners[0], maxOwner); !ok {
			return lockInfo{}, fault.Newf(fault.Invalid, "The owner of a lock has at most %d bytes.", maxOwner)
		}
	}
	return info, nil
}

// choice finds the child of a lockinfo element e that is called name and returns which of the given
// names it contains, such as exclusive or shared in lockscope. Fault: Invalid unless there is
// exactly one such child with exactly one of these names.
func choice(e *element, name string, of ...string) (string, error) {
	var chosen []string
	elements := e.named(davName(name))
	for _, outer := range elements {
		for inner := range outer.elements() {
			if inner.name.space == davSpace && slices.Contains(of, inner.name.local) {
				chosen = append(chosen, inner.name.local)
			}
		}
	}
	if len(elements) != 1 || len(chosen) != 1 {
		return "", fault.Newf(fault.Invalid, "A lockinfo element holds one %s, and that exactly one of %q.", name, of)
	}
	return chosen[0], nil
}
