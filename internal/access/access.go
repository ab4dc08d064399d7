// Package access decides who may do what to a path. Its decisions are pure: they take rules, the
// caller and a description of an entry, and return a verdict. They read nothing, store nothing and
// use no clock. All code that touches an entry asks this package, so that no transport can forget a
// check. Store, which reads the rules, is the one exception.
//
// A verdict is found in these steps:
//
//  1. An API key must carry the permission. Permissions that change the tree apply only inside its
//     upload root.
//  2. The rules of the caller (of the account, then of its role) are evaluated in the order of
//     priority, subject, specificity, deny before allow, and age. The first rule that matches the
//     mount, the path and the address and names the permission decides. An allow rule whose
//     password was not given is skipped and remembered.
//  3. If no rule decides, an administrator may do everything, and a user may do everything with
//     entries that the user owns or that lie in the user's home.
//  4. Otherwise, while guest access is on, the rules of the role guest are evaluated in the same
//     way. If they do not decide, the verdict is a refusal.
//  5. A refusal becomes "needs a password" if a rule was skipped. A permission becomes "needs a
//     password" if the entry has an access password.
//
// A request with a key must be allowed twice: as its owner without the key, and with the key's own
// rules evaluated first. So a key never exceeds its owner.
//
// A rule whose stored pattern cannot be parsed fails closed: a deny rule covers everything, an
// allow rule nothing.
//
// Specification: Permission rule, Rules 2 and 6.
package access

import (
	"net/netip"

	"larder/internal/fault"
	"larder/internal/vpath"
)

// Role is the role of an account.
type Role string

// The roles. A visitor without an account has the role Guest.
const (
	Admin Role = "admin"
	User  Role = "user"
	Guest Role = "guest"
)

// ParseRole parses the name of a role. Fault: Invalid.
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
	Root        vpath.Path // upload root: write, update and delete apply only at or below it
	RootOnly    bool       // read is limited to Root as well
}

// Actor is the caller. Its zero value is a visitor without an account, from an unknown address.
type Actor struct {
	UserID string // "" for a visitor without an account, whatever Role says
	Role   Role
	// Operator is set for a command of the operator of the machine, who could change every rule:
	// everything is allowed, and no password is asked. No request sets it.
	Operator bool
	HomeID   string     // entry id of the home, "" for none; code that builds a Target sets InHome by it
	Key      *Key       // the key that the account acts through, nil for a session
	IP       netip.Addr // an address that is not valid is in no prefix
	// ids of the passwords that the caller has given, of rules and entries; ignored for keys, which
	// cannot give one
	Unlocked []string
	// tokens of the WebDAV locks that the request names; they grant no permission, and count only
	// for the key that made them
	Locks []string
}

// EntryPassword identifies the access password of an entry.
type EntryPassword struct {
	ID      string // of the password: a new id with each new password
	OwnerID string // of the entry
}

// Target describes the entry that a decision is about. For an entry that is about to be created,
// Path is its future path, and the other fields are those of the folder that will contain it: its
// owner, since users may create inside folders that they own, and its password in both Password and
// PasswordAbove.
type Target struct {
	Path          vpath.Path
	MountID       string
	OwnerID       string         // "" for none
	InHome        bool           // the home of the caller is the entry itself or a folder above it
	Password      *EntryPassword // the nearest entry with a password: the entry itself, else the nearest above
	PasswordAbove *EntryPassword // the nearest strictly above
}

// ForChildren returns the target by which the direct children of the folder t are decided about,
// still under t's own path. It differs from t in its password: the password of an entry hides the
// contents of the entry, not the entry. Listing a folder requires Read of folder.ForChildren().
func (t Target) ForChildren() Target {
	t.PasswordAbove = t.Password
	return t
}

// Outcome is the kind of a verdict.
type Outcome uint8

// The outcomes. The zero value is a refusal.
const (
	Denied Outcome = iota
	Allowed
	NeedsPassword
)

// The values of Verdict.DecidedBy when no rule decides.
const (
	ByOperator      = "operator"
	ByAdministrator = "administrator"
	ByOwner         = "owner"
	ByHome          = "home"
	ByDefault       = "default" // nothing allows it, or the key does not permit it
)

// Verdict is the result of one decision.
type Verdict struct {
	Outcome Outcome
	// the id of a rule, or one of the By constants; with NeedsPassword the first skipped rule, if
	// there is one
	DecidedBy string
	// NeedsPassword: the id of the entry's password first, then the ids of the skipped rules in
	// order
	PasswordIDs []string
}

// lacksPassword reports whether a needs the access password g of an entry for that permission and
// has not given it; nil for g is no password. Downloads need it from everybody. For all other
// permissions the owner of the entry and administrators do not need it. The same applies to a key
// as to its owner's session, but a key can never give a password.
func (a *Actor) lacksPassword(g *EntryPassword, permission Permission) bool {
	if g == nil || a.knowsPassword(g.ID) {
		return false
	}
	return permission == Download || !a.ControlsPassword(*g)
}

// ControlsPassword reports whether the actor may set the password g and so may let others pass it,
// as with the password of a share: the owner of the entry and administrators may.
func (a *Actor) ControlsPassword(g EntryPassword) bool {
	return a.UserID != "" && (a.Role == Admin || a.UserID == g.OwnerID)
}

// passwordFor returns the password that a permission on the entry itself needs: for Read that of a
// folder above, since an entry's own password does not hide the entry; for all others the nearest,
// the entry's own included. nil for none.
func (t *Target) passwordFor(permission Permission) *EntryPassword {
	if permission == Read {
		return t.PasswordAbove
	}
	return t.Password
}

// knowsPassword reports whether the caller has given the password with that id, of an entry or a
// rule. A key never has.
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

// grantWithoutRule returns the reason for which the caller may do everything with t when no rule
// decides: one of the By constants, "" for none.
func (a *Actor) grantWithoutRule(t *Target) string {
	switch {
	case a.UserID == "":
		return ""
	case a.Role == Admin:
		return ByAdministrator
	case a.UserID == t.OwnerID:
		return ByOwner
	case t.InHome && a.Role == User: // the home of a guest grants nothing
		return ByHome
	}
	return ""
}

// HasUnlocked reports whether the actor has given the password with that id, of an entry or a rule;
// a key never has.
func (a *Actor) HasUnlocked(id string) bool { return a.knowsPassword(id) }

// limitToKey returns the permissions of want that a's key can use at path: those of the key without
// Share, and those that change the tree only in the key's upload root (with RootOnly no others
// outside of it either). Without a key it returns all of want.
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

// address returns the caller's address in the form that prefixes are compared with: IPv4 not mapped
// into IPv6, without a zone.
func (a *Actor) address() netip.Addr { return a.IP.Unmap().WithZone("") }
