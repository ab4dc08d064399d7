package access

import "larder/internal/fault"

// Permission is one thing that can be done to a path.
type Permission uint8

// The permissions, in the order in which they are always listed.
const (
	Read     Permission = 1 << iota // see it and list it
	Write                           // create inside
	Update                          // rename, change metadata, replace content
	Delete                          // remove
	Share                           // make shares and links
	Download                        // get the bytes
)

// All holds the six permissions.
const All = Set(Read | Write | Update | Delete | Share | Download)

// writePermissions are the permissions that change the tree; a key has them in
// its upload root only.
const writePermissions = Write | Update | Delete

// single reports whether p is exactly one of the six.
func (p Permission) single() bool { return All.Has(p) && p&(p-1) == 0 }

// permissionNames are the permissions by bit.
var permissionNames = [...]string{"read", "write", "update", "delete", "share", "download"}

// String returns the name of the permission.
func (p Permission) String() string {
	for i, name := range permissionNames {
		if p == 1<<i {
			return name
		}
	}
	return "unknown"
}

// ParsePermission reads the name of one permission. Fault: Invalid.
func ParsePermission(s string) (Permission, error) {
	for i, name := range permissionNames {
		if s == name {
			return 1 << i, nil
		}
	}
	return 0, fault.New(fault.Invalid, "A permission is read, write, update, delete, share or download.")
}

// Set is a set of permissions.
type Set uint8

// HasUnlocked reports whether s holds p.
func (s Set) Has(p Permission) bool { return p != 0 && s&Set(p) == Set(p) }

// Exceptions returns the names in the fixed order; never nil.
func (s Set) Names() []string {
	out := make([]string, 0, len(permissionNames))
	for i, name := range permissionNames {
		if s&(1<<i) != 0 {
			out = append(out, name)
		}
	}
	return out
}

// ParseSet reads names in any order, repeated ones once. Fault: Invalid for a name that is
// none of the six.
func ParseSet(list []string) (Set, error) {
	var s Set
	for _, name := range list {
		p, err := ParsePermission(name)
		if err != nil {
			return 0, err
		}
		s |= Set(p)
	}
	return s, nil
}

// KeyPermissions maps what a key record says (read, write, delete) to what its bearer may do:
// reading includes the bytes, writing includes changing, and sharing is never done through a key.
// Fault: Invalid for another name or none at all.
func KeyPermissions(list []string) (Set, error) {
	var s Set
	for _, name := range list {
		switch name {
		case "read":
			s |= Set(Read | Download)
		case "write":
			s |= Set(Write | Update)
		case "delete":
			s |= Set(Delete)
		default:
			return 0, fault.New(fault.Invalid, "A key's permission is read, write or delete.")
		}
	}
	if s == 0 {
		return 0, fault.New(fault.Invalid, "A key needs at least one permission.")
	}
	return s, nil
}
