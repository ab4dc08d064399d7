package fsck

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"larder/internal/blob"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/object"
	"larder/internal/provider"
)

// storeState is the store of one provider during a check.
type storeState struct {
	name  string
	store blob.Store
	err   error // why the store cannot be used, nil while it can
}

// absentKey is a key that no object has. A healthy store returns blob.ErrNotFound for it, any other
// another error.
const absentKey = blob.Key("00/00000000000000000000000000000000")

// openStores opens every store and reports those that are not available. It writes nothing to them.
func (c *check) openStores(locations []provider.StoreLocation) error {
	for _, location := range locations {
		for _, p := range location.Providers {
			s := &storeState{name: fmt.Sprintf("provider %s (%s)", p.ID, p.Name)}
			c.stores[p.ID] = s
			if s.store, s.err = c.Providers.Store(c.ctx, p.ID); s.err == nil {
				s.err = c.probe(s)
			}
			if c.ctx.Err() != nil {
				return c.ctx.Err()
			}
			if s.err != nil {
				if err := c.addFinding(StoreUnavailable, nil, "%s: the store is not available: %v", s.name,
					s.err); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// probe returns the error because of which a store cannot be used, nil when it can.
func (c *check) probe(s *storeState) error {
	if _, err := s.store.Stat(c.ctx, absentKey); err != nil && !errors.Is(err, blob.ErrNotFound) {
		return err
	}
	return nil
}

// storeOf returns the store of a provider. It reports a provider whose row no longer exists, once,
// and returns a store with an error for it.
func (c *check) storeOf(providerID string) (*storeState, error) {
	if s := c.stores[providerID]; s != nil {
		return s, nil
	}
	s := &storeState{name: "provider " + providerID, err: fault.New(fault.NotFound, "there is no such provider")}
	c.stores[providerID] = s
	return s, c.addFinding(StoreUnavailable, nil, "%s: it still has objects, but the provider no longer exists", s.name)
}

// refreshStore gets the current store of a provider. A provider that had no objects may have been
// moved to another bucket during the check.
func (c *check) refreshStore(providerID string) error {
	s, err := c.storeOf(providerID)
	if err != nil || s.err != nil {
		return err
	}
	if store, err := c.Providers.Store(c.ctx, providerID); err == nil {
		s.store = store
	}
	return nil
}

// storedObject is a row of objects to compare with its store.
type storedObject struct {
	id, provider string
	key          blob.Key
	size         int64
	sha256       string // "" for none
	damaged      bool   // it is marked as damaged
}

func (o storedObject) location() object.Location {
	return object.Location{Provider: o.provider, Key: o.key}
}

func (o storedObject) record() object.Record {
	return object.Record{Location: o.location(), Size: o.size, SHA256: o.sha256}
}

// suspect is an object with an apparent problem.
type suspect struct {
	storedObject
	kind Kind
	text string
}

// checkObjects compares each object with its store, by size and with Deep by SHA-256, and reports
// the differences that remain after a pause.
func (c *check) checkObjects() error {
	q := c.DB.Read(c.ctx)
	return eachRange(func(low string) (string, error) { return lastOfRange(q, nextObject, low, objectPiece) },
		func(low, high string) error {
			rows, err := objectRows(q, low, high)
			if err != nil {
				return err
			}
			var doubts []suspect
			for _, o := range rows {
				c.Objects++
				if c.Deep && c.Repair.Hashes && o.sha256 == "" {
					err = c.fillHash(&o)
				}
				if o.sha256 == "" {
					c.Unhashed++
				}
				d, more := c.compare(o)
				if err = errors.Join(err, more); err != nil {
					return err
				}
				if d.kind != "" {
					doubts = append(doubts, d)
				}
			}
			if len(doubts) == 0 {
				return nil
			}
			return c.recheck(doubts)
		})
}

// compare compares one object with its store. It returns a suspect with the kind of the problem,
// the zero value for none or when the store is unavailable, which it reports. An error ends the
// check.
func (c *check) compare(o storedObject) (suspect, error) {
	s, err := c.storeOf(o.provider)
	if err != nil {
		return suspect{}, err
	}
	if s.err != nil {
		c.Unchecked++
		return suspect{}, nil
	}
	info, err := s.store.Stat(c.ctx, o.key)
	var sum string
	if err == nil && info.Size == o.size && c.Deep {
		sum, err = c.read(s.store, o.key)
	}
	at := fmt.Sprintf("object %s (%s at %s)", o.id, o.key, s.name)
	switch {
	case c.ctx.Err() != nil:
		return suspect{}, c.ctx.Err()
	case errors.Is(err, blob.ErrNotFound):
		return suspect{o, Missing, at + ": it is not in the store"}, nil
	case err != nil:
		if away := c.probe(s); away != nil {
			s.err = away
			c.Unchecked++
			if c.scrub != nil {
				return suspect{}, nil
			}
			return suspect{}, c.addFinding(StoreUnavailable, nil, "%s: the store became unavailable: %v", s.name, away)
		}
		return suspect{o, Unreadable, fmt.Sprintf("%s: the store can't read it: %v", at, err)}, nil
	case info.Size != o.size:
		return suspect{o, WrongSize, fmt.Sprintf("%s: it should have %d bytes and has %d", at, o.size, info.Size)}, nil
	case c.Deep && o.sha256 != "" && sum != o.sha256:
		return suspect{o, WrongHash, fmt.Sprintf("%s: its SHA-256 should be %s and is %s", at, o.sha256, sum)}, nil
	case c.Deep && o.damaged:
		return suspect{}, c.clearDamage(o)
	}
	return suspect{}, nil
}

// clearDamage removes the mark of an object that is as recorded.
func (c *check) clearDamage(o storedObject) error {
	c.Log.Info("an object that was marked as damaged is intact", "provider", o.provider, "key", o.key)
	return c.DB.Write(c.ctx, func(tx *db.Tx) error { return object.ClearDamage(tx, o.id, o.location()) })
}

// recheck reads the rows of suspects again after a pause and compares them once more, since files
// may have been deleted or moved meanwhile. It reports the problems that remain.
func (c *check) recheck(doubts []suspect) error {
	if err := c.wait(); err != nil {
		return err
	}
	q := c.DB.Read(c.ctx)
	for _, d := range doubts {
		o, err := objectRow(q, d.id)
		if errors.Is(err, db.ErrNoRows) {
			continue
		}
		if err != nil {
			return err
		}
		if err := c.refreshStore(o.provider); err != nil {
			return err
		}
		again, err := c.compare(o)
		if err != nil {
			return err
		}
		if again.kind == "" {
			continue
		}
		used, err := c.describeFiles(d.id)
		if err != nil {
			return err
		}
		if err := c.addFinding(again.kind, nil, "%s; %s", again.text, used); err != nil {
			return err
		}
	}
	return nil
}

// describeFiles returns a text for a finding that names some files whose content is the object, or
// else some files that have it as a former version. The query reads all files, so after many
// objects it is left out.
func (c *check) describeFiles(objectID string) (string, error) {
	const some, enough = 3, 200
	if c.namedObjects++; c.namedObjects > enough {
		return "its files are not listed: too many findings", nil
	}
	q := c.DB.Read(c.ctx)
	ids, err := filesOf(q, objectID, some+1)
	if err != nil {
		return "", err
	}
	text := ""
	if len(ids) == 0 {
		text = "a former version of "
		if ids, err = versionedFiles(q, objectID, some+1); err != nil {
			return "", err
		}
	}
	if len(ids) == 0 {
		return "no file uses it", nil
	}
	for i, id := range ids {
		if i == some {
			return text + " and others", nil
		}
		path, err := pathOf(q, id)
		if err != nil {
			return "", err
		}
		if i > 0 {
			text += ", "
		}
		text += path + " (" + id + ")"
	}
	return text, nil
}

// read returns the SHA-256 of a stored object in hexadecimal, and counts the bytes that it reads.
// It first drops the pages of an object on a disk from the page cache, since pages in memory may be
// intact although the disk is damaged. It drops them again afterwards, so that a pass over all
// objects does not fill the page cache.
func (c *check) read(store blob.Store, key blob.Key) (string, error) {
	o, err := store.Open(c.ctx, key)
	if err != nil {
		return "", err
	}
	defer o.Close() // opened for reading
	if cached, ok := o.(blob.Cached); ok {
		cached.DropCache()
		defer cached.DropCache()
	}
	h := sha256.New()
	n, err := io.Copy(h, pacedReader{c, o})
	c.Bytes += n
	if err != nil {
		return "", fmt.Errorf("read object: %w", err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// pacedReader reads at the pace of the check, and fails when its context ends.
type pacedReader struct {
	c *check
	r io.Reader
}

func (r pacedReader) Read(p []byte) (int, error) { return r.c.pace().Read(r.c.ctx, r.r, p) }

// pace returns the limit of a check, nil for none.
func (c *check) pace() *files.Pace {
	if c.scrub == nil {
		return nil
	}
	return c.scrub.pace
}

// fillHash computes and records the SHA-256 of an object that has none, also in o, if the object
// can be read completely. It reports no problem; compare does.
func (c *check) fillHash(o *storedObject) error {
	s, err := c.storeOf(o.provider)
	if err != nil || s.err != nil {
		return err
	}
	info, err := s.store.Stat(c.ctx, o.key)
	if err != nil || info.Size != o.size {
		return nil
	}
	sum, err := c.read(s.store, o.key)
	if err != nil {
		return nil
	}
	if err := c.DB.Write(c.ctx, func(tx *db.Tx) error {
		return object.FillHash(tx, o.id, o.provider, o.key, sum)
	}); err != nil {
		return err
	}
	o.sha256 = sum
	c.Repaired++
	return nil
}
