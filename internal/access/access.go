// Package access decides who may do what to a path. It is pure: rules, the caller and the facts
// about an entry come in, a verdict goes out; nothing is read, nothing is kept, no clock is asked.
// Everything that touches an entry asks here, so that no transport can forget to.
//
// How a verdict comes about:
//
// 1. An API key must carry the permission, and what writes must lie in its upload root. 2. The
// rules of the caller (of the account, then of its role) are asked in order of priority, subject,
// specificity, deny before allow, and
//
//	age. The first that matches the mount, the path and the address and names the permission decides. An allow rule with a password that
//	was not given is passed over, and remembered.
//
// 3. Where none decides, an administrator may do everything, and a user everything with what
// is theirs or lies in their home. 4. Else, while guest access is on, the rules of the role
// guest are asked in the same way; and where they say nothing the answer is no. 5. A no
// becomes "needs a password" when a rule was passed over, and a yes does when an entry's own
// password stands before it.
//
// A key must get a yes twice: once as its owner would without it, and once with its own rules asked
// first. So a key never exceeds its owner.
//
// A rule whose stored pattern cannot be read fails closed: as a deny it covers everything,
// as an allow nothing.
//
// Specification: Permission rule, Rules 2 and 6.
package access

import (
	"net/netip"

	"larder/internal/fault"
	"larder/internal/vpath"
)

// Role is what an account is.
type Role string

// The roles. A visitor without an account is judged as a Guest.
const (
	Admin Role = "admin"
	User  Role = "user"
	Guest Role = "guest"
)

// ParseRole reads the name of a role. Fault: Invalid.
func ParseRole(s string) (Role, error) {
	switch r := Role(s); r {
	case Admin, User, Guest:
		return r, nil
	}
	return "", fault.New(fault.Invalid, "A role is admin, user or guest.")
}

// Key is the part of an API key that permissions depend on.
type Key struct {
	ID          string
	Permissions Set        // mapped by KeyPermissions
	Root        vpath.Path // upload root: writing, changing and deleting happen at or below it
	RootOnly    bool       // reading is confined to Root too
}

// Actor is who asks. Its zero value is a visitor without an account, from an unknown address.
type Actor struct {
	UserID string // "" for a visitor without an account, whatever Role says
	Role   Role
	HomeID string     // entry id of the home, "" for none; whoever builds a Target sets InHome by it
	Key    *Key       // the key that the account acts through, nil for a session
	IP     netip.Addr // an address that is not valid lies in no prefix
	// ids of the passwords that the caller has given, of rules and entries; ignored for keys,
	// which cannot give one
	Unlocked []string
	// tokens of WebDAV locks that came along; they say nothing about permissions, and count only
	// for the key that made them
	Locks []string
}

// Password is the access password of an entry.
type EntryPassword struct {
	ID      string // of the password: another one once the entry gets a new password
	OwnerID string // of the entry
}

// Target holds the facts about the entry in question, or about one that is about to come into
// being: then Path is where it will lie and the rest are the facts of the folder that takes it (its
// owner, since people may create inside what they own; its guard as both guards).
type Target struct {
	Path          vpath.Path
	MountID       string
	OwnerID       string         // "" for nobody
	InHome        bool           // the caller's home is the entry itself or a folder above it
	Password      *EntryPassword // the nearest entry with a password: the entry itself, else above it
	PasswordAbove *EntryPassword // the nearest one strictly above
}

// ForChildren returns the facts that count for what lies directly in t, under t's own
// path: an entry's password hides what is inside the entry, not the entry. Listing a
// folder is Read of folder.Inside().
func (t Target) ForChildren() Target {
	t.PasswordAbove = t.Password
	return t
}

// Outcome is the kind of a verdict.
type Outcome uint8

// The outcomes. The zero value refuses.
const (
	Denied Outcome = iota
	Allowed
	NeedsPassword
)

// What decides where no rule does.
const (
	ByAdministrator = "administrator"
	ByOwner         = "owner"
	ByHome          = "home"
	ByDefault       = "default" // nothing allows it, or the key's scope forbids it
)

// Verdict is the answer to one question.
type Verdict struct {
	Outcome Outcome
	// the id of a rule, or one of the By constants; with NeedsPassword the first rule that was
	// passed over, if any was
	DecidedBy string
	// NeedsPassword: the id of the entry's password (first), and the ids of the rules (in order),
	// whose passwords would help
	PasswordIDs []string
}

// lacksPassword reports whether g's password stands between a and that permission. A download asks
// everybody; for all else the entry's owner and administrators pass. A key is judged as the session
// of its owner, but it can never give a password.
func (a *Actor) lacksPassword(g *EntryPassword, permission Permission) bool {
	if g == nil || a.knowsPassword(g.ID) {
		return false
	}
	return permission == Download || !a.ControlsPassword(*g)
}

// ControlsPassword reports whether the actor may let others pass the password that g is about: the
// entry's owner and administrators.
func (a *Actor) ControlsPassword(g EntryPassword) bool {
	return a.UserID != "" && (a.Role == Admin || a.UserID == g.OwnerID)
}

// passwordFor returns the guard that counts for a permission on the entry itself.
func (t *Target) passwordFor(permission Permission) *EntryPassword {
	if permission == Read {
		return t.PasswordAbove
	}
	return t.Password
}

// knowsPassword reports whether the caller has given the password of that id.
func (a *Actor) knowsPassword(id string) bool {
	if a.Key != nil {
		return false
	}
	for _, have := range a.Unlocked {
		if have == id {
			return true
		}
	}
	return false
}

// grantWithoutRule tells what the caller may do with everything about t where no rule decides: one
// of the By constants, "" for nothing.
func (a *Actor) grantWithoutRule(t *Target) string {
	switch {
	case a.UserID == "":
		return ""
	case a.Role == Admin:
		return ByAdministrator
	case a.UserID == t.OwnerID:
		return ByOwner
	case t.InHome && a.Role == User: // the home of a guest rests
		return ByHome
	}
	return ""
}

// HasUnlocked reports whether the actor has given the password of that id.
func (a *Actor) HasUnlocked(id string) bool { return a.knowsPassword(id) }

// limitToKey returns the permissions of want that a's key can use at path at all; all of
// them without a key.
func (a *Actor) limitToKey(path vpath.Path, want Set) Set {
	if a.Key == nil {
		return want
	}
	want &= a.Key.Permissions &^ Set(Share)
	if !path.Within(a.Key.Root) {
		want &^= Set(writePermissions)
		if a.Key.RootOnly {
			want = 0
		}
	}
	return want
}

// address returns the caller's address in the form that prefixes are compared in: IPv4 never mapped
// into IPv6, no zone.
func (a *Actor) address() netip.Addr { return a.IP.Unmap().WithZone("") }
