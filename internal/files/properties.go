package files

import (
	"context"

	"larder/internal/access"
	"larder/internal/crash"
	"larder/internal/db"
	"larder/internal/fault"
)

// Limits of the dead properties of one entry.
const (
	MaxProperties    = 100
	MaxPropertyBytes = 64 << 10 // names and values together
)

// Property is a dead property of an entry (RFC 4918, section 4): kept for clients, without meaning
// for the service.
type Property struct {
	Namespace, Name string
	Lang            string // xml:lang, "" for none
	Value           string // XML
}

// size is the number of bytes that count for a property towards MaxPropertyBytes.
func (p *Property) size() int { return len(p.Namespace) + len(p.Name) + len(p.Lang) + len(p.Value) }

// PropertyChange sets a property, or removes it; removing a missing one is no error.
type PropertyChange struct {
	Property
	Remove bool
}

// SetProperties changes the dead properties of an entry (PROPPATCH of WebDAV) in the given order,
// all or nothing. It needs the permission to update. Faults: NotFound, Forbidden, PasswordRequired,
// Locked, QuotaExceeded when there are too many or they are too long.
func (t *Tree) SetProperties(ctx context.Context, a access.Actor, id string, changes []PropertyChange) error {
	err := t.writeLocked(ctx, false, func(tx *db.Tx) error {
		n, v, err := t.lookUpTx(tx, id)
		if err != nil {
			return err
		}
		if err := v.allow(a, n.existingTarget(a), access.Update); err != nil {
			return err
		}
		if err := t.checkUnlocked(tx, a, n.trail); err != nil {
			return err
		}
		there, err := lockEntry(tx, id) // so that no other transaction adds properties meanwhile
		if err != nil {
			return err
		}
		if !there { // deleted meanwhile
			return noEntry()
		}
		for _, c := range changes {
			if c.Remove {
				err = deleteProperty(tx, id, c.Namespace, c.Name)
			} else {
				err = putProperty(tx, id, c.Property)
			}
			if err != nil {
				return err
			}
		}
		left, err := propertiesOf(tx, []string{id})
		if err != nil {
			return err
		}
		size := 0
		for _, p := range left[id] {
			size += p.size()
		}
		if len(left[id]) > MaxProperties || size > MaxPropertyBytes {
			return fault.Newf(fault.QuotaExceeded, "A file or folder has at most %d properties, of %d bytes in all.",
				MaxProperties, MaxPropertyBytes)
		}
		return nil
	})
	if err == nil {
		crash.Point("properties.committed")
	}
	return err
}

// Properties returns the dead properties, which WebDAV clients store, of entries: by entry id,
// ordered by namespace and name. It checks no permission.
func (t *Tree) Properties(ctx context.Context, ids []string) (map[string][]Property, error) {
	return propertiesOf(t.DB.Read(ctx), ids)
}
