package files

import (
	"context"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"larder/internal/access"
	"larder/internal/color"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/vpath"
)

// Limits of metadata, in characters (specification: Metadata the owner can set).
const (
	maxTitle = 200
	maxEmoji = 16
	maxCover = 2048
)

// maxPosition bounds a manual position in both directions: every JSON number up to it is exact.
const maxPosition = 1<<53 - 1

// Field is a new value for a field that can be empty. The zero value changes nothing.
type Field[T any] struct {
	Given bool
	Value *T // nil empties it
}

// Change is a change that Update makes to an entry. The zero value changes nothing.
type Change struct {
	Name                       *vpath.Name // nil keeps it
	Title, Color, Cover, Emoji Field[string]
	Position                   Field[int64]
	Password                   *NewPassword // nil keeps the present one
}

// NewPassword is a new access password for an entry.
type NewPassword struct {
	// Hash makes the hash, once the actor is known to have the permission; nil removes the
	// password.
	Hash func(ctx context.Context) (string, error)
}

// Update changes name and metadata of an entry, all or nothing. It needs the permission to update;
// for a password the actor must own the entry or be an administrator. A new name needs the
// permission to update under the old name and under the new one; for a folder on everything in it,
// and to see everything in it. A new name must not take the entry out of the reach of a rule.
// Faults: NotFound, Forbidden, PasswordRequired, Invalid, AlreadyExists, Conflict for a new name of
// a mount's root or of a folder above one, and those of Hash.
func (t *Tree) Update(ctx context.Context, a access.Actor, id string, c Change) (Entry, error) {
	if err := c.check(); err != nil {
		return Entry{}, err
	}
	var updated Entry
	var hash string
	err := t.writeUpgradable(ctx, func(tx *db.Tx, lock *treeLock) error {
		n, v, err := t.lookUpTx(tx, id)
		if err != nil {
			return err
		}
		if n.folder && (c.Name != nil || c.Password != nil) {
			if err := lock.requireExclusive(); err != nil {
				return err
			}
		}
		if err := v.allow(a, n.existingTarget(a), access.Update); err != nil {
			return err
		}
		if c.Password != nil {
			if err := v.maySetPassword(tx, a, &n, c.Password.Hash != nil); err != nil {
				return err
			}
		}
		if c.Name != nil {
			if err := v.authorizeRename(tx, a, &n, *c.Name); err != nil {
				return err
			}
		}
		if c.Password != nil && c.Password.Hash != nil && hash == "" {
			return &db.RetryError{Prepare: func(ctx context.Context) (err error) {
				hash, err = c.Password.Hash(ctx)
				return err
			}}
		}
		if c.changes(&n) {
			if err := t.checkUnlockedFor(tx, a, &n, &c); err != nil {
				return err
			}
			if c.renames(&n) {
				if err := t.endLocks(tx, &n.row); err != nil {
					return err
				}
				if err := recordPlace(tx, n.id, t.nowMs()); err != nil {
					return err
				}
			}
			if err := t.update(tx, &n, &c, hash); err != nil {
				return err
			}
		}
		updated = v.entry(a, &n.row, n.existingTarget(a))
		return nil
	})
	return updated, translateUnique(err, nameTaken())
}

// authorizeRename decides whether the actor may give n the new name; a rename needs the permission
// to update at both paths. Faults: those of Update; Conflict for the root of a mount and a folder
// above one; AlreadyExists only where a mount has the new path: the entries are checked by the
// write itself.
func (rs *ruleset) authorizeRename(tx *db.Tx, a access.Actor, n *node, name vpath.Name) error {
	before := n.existingTarget(a)
	path, err := n.path.Parent().Append(name)
	if err != nil {
		return err
	}
	if err := checkNotReserved(path); err != nil {
		return err
	}
	after := before
	after.Path = path
	if err := rs.allow(a, after, access.Update); err != nil {
		return err
	}
	for _, target := range []access.Target{before, after} {
		if err := rs.allowTree(tx, a, n, target, access.Update); err != nil {
			return err
		}
	}
	if rs.immovable(n) { // only actors who may rename it learn this
		return immovableFault()
	}
	if string(name) == n.name {
		return nil
	}
	if err := rs.checkRulesStillApply(tx, a, n, before, after); err != nil {
		return err
	}
	if rs.occupied(n, path) {
		return nameTaken()
	}
	return nil
}

// checkUnlockedFor refuses a change that a lock forbids. A new name also changes the folder of n; a
// password changes neither. Fault: Locked.
func (t *Tree) checkUnlockedFor(tx *db.Tx, a access.Actor, n *node, c *Change) error {
	if c.renames(n) {
		return t.checkRemovable(tx, a, n)
	}
	rest := *c
	rest.Password = nil
	if rest.changes(n) {
		return t.checkUnlocked(tx, a, n.trail)
	}
	return nil
}

// renames reports whether the change gives the entry n another name than it has.
func (c *Change) renames(n *node) bool { return c.Name != nil && string(*c.Name) != n.name }

// changes reports whether the change alters anything of n. A field that is given counts as altered,
// even with the value that it has; the present name does not.
func (c *Change) changes(n *node) bool {
	return c.renames(n) || c.Title.Given || c.Color.Given || c.Cover.Given || c.Emoji.Given || c.Position.Given ||
		c.Password != nil
}

// check validates and normalizes the change; an empty title, cover or emoji becomes none. Fault:
// Invalid.
func (c *Change) check() (err error) {
	if c.Title, err = cleanText(c.Title, "customTitle", maxTitle); err != nil {
		return err
	}
	if c.Title.Value != nil && strings.TrimSpace(*c.Title.Value) == "" {
		return fault.New(fault.Invalid, "customTitle must not be blank. Give null for none.")
	}
	if c.Emoji, err = cleanText(c.Emoji, "iconEmoji", maxEmoji); err != nil {
		return err
	}
	if c.Cover, err = cleanText(c.Cover, "coverUrl", maxCover); err != nil {
		return err
	}
	if c.Cover.Value != nil {
		if err := checkCover(*c.Cover.Value); err != nil {
			return err
		}
	}
	if c.Color.Value != nil && !color.Valid(*c.Color.Value) {
		return fault.New(fault.Invalid, "customColor is a colour such as #1A2B3C.")
	}
	if p := c.Position.Value; p != nil && (*p < -maxPosition || *p > maxPosition) {
		return fault.New(fault.Invalid, "manualPosition must be between -9007199254740991 and 9007199254740991.")
	}
	return nil
}

// cleanText returns the text of a metadata field in NFC; an empty one becomes none. name is the
// field in messages, most its maximal length in characters. Fault: Invalid.
func cleanText(f Field[string], name string, most int) (Field[string], error) {
	if f.Value == nil {
		return f, nil
	}
	s := *f.Value
	// the length first, before the cost of normalizing: NFC never shrinks a character by more
	if len(s) > 20*most || !utf8.ValidString(s) {
		return f, fault.Newf(fault.Invalid, "%s has at most %d characters of valid UTF-8.", name, most)
	}
	s = norm.NFC.String(s)
	switch {
	case utf8.RuneCountInString(s) > most:
		return f, fault.Newf(fault.Invalid, "%s has at most %d characters.", name, most)
	case strings.ContainsFunc(s, vpath.IsUnprintable):
		return f, fault.Newf(fault.Invalid, "%s must not contain control characters or text-direction overrides.", name)
	case s == "":
		return Field[string]{Given: true}, nil
	}
	return Field[string]{Given: true, Value: &s}, nil
}

// checkCover allows pictures from the web and from this site only; the service itself never fetches
// one (abuse case C66). Browsers take a backslash for a slash, so `/\host` would lead to another
// host. Fault: Invalid.
func checkCover(s string) error {
	wrong := fault.New(fault.Invalid,
		"coverUrl is an http or https address, or a path of this site that begins with one slash.")
	if strings.ContainsRune(s, '\\') || strings.ContainsFunc(s, unicode.IsSpace) {
		return wrong
	}
	u, err := url.Parse(s)
	switch {
	case err != nil:
		return wrong
	case s[0] == '/':
		if len(s) > 1 && s[1] == '/' {
			return wrong
		}
		return nil
	case u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "", u.Opaque != "":
		return wrong
	}
	return nil
}
