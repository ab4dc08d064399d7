package access

import "larder/internal/fault"

// Permission is an operation on a path.
type Permission uint8

// The permissions, in the order in which they are listed.
const (
	Read     Permission = 1 << iota // see and list
	Write                           // create inside
	Update                          // rename, change metadata, replace content
	Delete                          // delete
	Share                           // create shares and links
	Download                        // read the content
)

// All contains the six permissions.
const All = Set(Read | Write | Update | Delete | Share | Download)

// writePermissions are the permissions that change the tree. A key has them only in its upload
// root.
const writePermissions = Write | Update | Delete

// single reports whether p is exactly one of the six permissions, not a combination.
func (p Permission) single() bool { return All.Has(p) && p&(p-1) == 0 }

// permissionNames holds the names by bit position.
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

// ParsePermission parses the name of a permission. Fault: Invalid.
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

// Has reports whether s contains all of p; it is false for 0.
func (s Set) Has(p Permission) bool { return p != 0 && s&Set(p) == Set(p) }

// Names returns the names in the fixed order. The result is never nil.
func (s Set) Names() []string {
	out := make([]string, 0, len(permissionNames))
	for i, name := range permissionNames {
		if s&(1<<i) != 0 {
			out = append(out, name)
		}
	}
	return out
}

// ParseSet parses names in any order. Repeated names count once. Fault: Invalid for an unknown
// name.
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

// KeyPermissions maps the permissions of a key record (read, write, delete) to a Set: read includes
// download, write includes update, and sharing is never possible with a key. Fault: Invalid for an
// unknown name and for an empty list.
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
