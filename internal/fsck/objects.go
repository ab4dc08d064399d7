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
	"larder/internal/object"
	"larder/internal/provider"
)

// shelf is the store of one provider during a check.
type shelf struct {
	name  string
	store blob.Store
	away  error // why it can't be used, nil while it can
}

// absent is a key that no object has: a healthy store says so, any other fails.
const absent = blob.Key("00/00000000000000000000000000000000")

// open has a look at every store, without writing to it.
func (c *check) open(places []provider.StoreLocation) error {
	for _, place := range places {
		for _, p := range place.Providers {
			s := &shelf{name: fmt.Sprintf("provider %s (%s)", p.ID, p.Name)}
			c.stores[p.ID] = s
			if s.store, s.away = c.Providers.Store(c.ctx, p.ID); s.away == nil {
				s.away = c.probe(s)
			}
			if c.ctx.Err() != nil {
				return c.ctx.Err()
			}
			if s.away != nil {
				if err := c.found(StoreAway, nil, "%s: its store is not there: %v", s.name, s.away); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// probe tells why a store can't be used.
func (c *check) probe(s *shelf) error {
	if _, err := s.store.Stat(c.ctx, absent); err != nil && !errors.Is(err, blob.ErrNotFound) {
		return err
	}
	return nil
}

// shelf returns the store of a provider, which may be one that no row describes any more.
func (c *check) shelf(providerID string) (*shelf, error) {
	if s := c.stores[providerID]; s != nil {
		return s, nil
	}
	s := &shelf{name: "provider " + providerID, away: fault.New(fault.NotFound, "there is no such provider")}
	c.stores[providerID] = s
	return s, c.found(StoreAway, nil, "%s: objects lie there, and it is not set up any more", s.name)
}

// reopen takes the store that a provider has now: one that had no objects yet may have gone
// to another bucket since.
func (c *check) reopen(providerID string) error {
	s, err := c.shelf(providerID)
	if err != nil || s.away != nil {
		return err
	}
	if store, err := c.Providers.Store(c.ctx, providerID); err == nil {
		s.store = store
	}
	return nil
}

// storedObject is a row to be compared with its store.
type storedObject struct {
	id, provider string
	key          blob.Key
	size         int64
	sha256       string // "" for none
}

// doubt is what seems wrong with an object.
type doubt struct {
	storedObject
	kind Kind
	text string
}

// objects compares each object with what its store holds.
func (c *check) objects() error {
	q := c.DB.Read(c.ctx)
	return pieces(func(low string) (string, error) { return boundary(q, nextObject, low, objectPiece) },
		func(low, high string) error {
			rows, err := objectRows(q, low, high)
			if err != nil {
				return err
			}
			var doubts []doubt
			for _, o := range rows {
				c.Objects++
				if c.Deep && c.Mend.Hashes && o.sha256 == "" {
					err = c.fill(&o)
				}
				if o.sha256 == "" {
					c.Unhashed++
				}
				d, more := c.look(o)
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
			return c.lookAgain(doubts)
		})
}

// look compares one object. An error means that the check ends.
func (c *check) look(o storedObject) (doubt, error) {
	s, err := c.shelf(o.provider)
	if err != nil {
		return doubt{}, err
	}
	if s.away != nil {
		c.Unchecked++
		return doubt{}, nil
	}
	info, err := s.store.Stat(c.ctx, o.key)
	var sum string
	if err == nil && info.Size == o.size && c.Deep {
		sum, err = c.read(s.store, o.key)
	}
	at := fmt.Sprintf("object %s (%s at %s)", o.id, o.key, s.name)
	switch {
	case c.ctx.Err() != nil:
		return doubt{}, c.ctx.Err()
	case errors.Is(err, blob.ErrNotFound):
		return doubt{o, Missing, at + ": its bytes are not there"}, nil
	case err != nil:
		if away := c.probe(s); away != nil {
			s.away = away
			c.Unchecked++
			return doubt{}, c.found(StoreAway, nil, "%s: its store went away: %v", s.name, away)
		}
		return doubt{o, Unreadable, fmt.Sprintf("%s: the store can't read it: %v", at, err)}, nil
	case info.Size != o.size:
		return doubt{o, WrongSize, fmt.Sprintf("%s: it should have %d bytes and has %d", at, o.size, info.Size)}, nil
	case c.Deep && o.sha256 != "" && sum != o.sha256:
		return doubt{o, WrongHash, fmt.Sprintf("%s: its SHA-256 should be %s and is %s", at, o.sha256, sum)}, nil
	}
	return doubt{}, nil
}

// lookAgain takes a second look, after a moment, at what the rows say by then: a file may have been
// deleted or moved meanwhile.
func (c *check) lookAgain(doubts []doubt) error {
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
		if err := c.reopen(o.provider); err != nil {
			return err
		}
		again, err := c.look(o)
		if err != nil {
			return err
		}
		if again.kind == "" {
			continue
		}
		used, err := c.users(d.id)
		if err != nil {
			return err
		}
		if err := c.found(again.kind, nil, "%s; %s", again.text, used); err != nil {
			return err
		}
	}
	return nil
}

// users names some files that an object is the content of, for the first of many objects: it takes
// a look through all files.
func (c *check) users(objectID string) (string, error) {
	const some, enough = 3, 200
	if c.named++; c.named > enough {
		return "its files were not looked for, after so many", nil
	}
	q := c.DB.Read(c.ctx)
	ids, err := filesOf(q, objectID, some+1)
	if err != nil {
		return "", err
	}
	if len(ids) == 0 {
		return "no file has it", nil
	}
	text := ""
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

// read returns the SHA-256 of what the store holds, hexadecimal.
func (c *check) read(store blob.Store, key blob.Key) (string, error) {
	o, err := store.Open(c.ctx, key)
	if err != nil {
		return "", err
	}
	defer o.Close() // opened to read
	h := sha256.New()
	n, err := io.Copy(h, contextReader{c, o})
	c.Bytes += n
	if err != nil {
		return "", fmt.Errorf("read object: %w", err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// contextReader ends with the check.
type contextReader struct {
	c *check
	r io.Reader
}

func (r contextReader) Read(p []byte) (int, error) {
	if err := r.c.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}

// fill notes the SHA-256 of an object that has none, if it can be read whole; whatever is wrong
// with it is found by the look that follows.
func (c *check) fill(o *storedObject) error {
	s, err := c.shelf(o.provider)
	if err != nil || s.away != nil {
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
	c.Mended++
	return nil
}
