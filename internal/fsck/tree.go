package fsck

import (
	"fmt"

	"larder/internal/db"
	"larder/internal/object"
	"larder/internal/quota"
)

// How many rows one statement looks at.
const (
	entryPiece = 5000
	linkPiece  = 5000
	// each piece counts over all files, so that there should be few; it is what
	// SQLite sorts in memory
	refsPiece   = 250_000
	objectPiece = 500
)

// top comes after every id.
const top = "\U0010FFFF"

// pieces calls do with one range of ids after another, (low, high], until the last, whose high is
// top. Both bounds are plain comparisons, so that each piece costs what is in it.
func pieces(after func(low string) (high string, err error), do func(low, high string) error) error {
	for low := ""; ; {
		high, err := after(low)
		if err != nil {
			return err
		}
		if high == "" {
			return do(low, top)
		}
		if err := do(low, high); err != nil {
			return err
		}
		low = high
	}
}

// entries finds entries that hang below nothing or in a circle, and files without content or with
// another size than that.
func (c *check) entries() error {
	q := c.DB.Read(c.ctx)
	return pieces(func(low string) (string, error) { return boundary(q, nextEntry, low, entryPiece) },
		func(low, high string) error {
			n, err := count(q, countEntries, low, high)
			if err != nil {
				return err
			}
			c.Entries += n
			lost, err := looseEntries(q, low, high)
			if err != nil {
				return err
			}
			for _, e := range lost {
				if err := c.found(Unreachable, nil,
					"%s %s (%q of owner %s): the folder that it lies in, %s, does not exist", e.kind(), e.id, e.name,
					e.owner, e.parent); err != nil {
					return err
				}
			}
			circles, err := circles(q, low, high)
			if err != nil {
				return err
			}
			for _, e := range circles {
				if err := c.found(Unreachable, nil, "folder %s (%q of owner %s): it lies in itself", e.id, e.name,
					e.owner); err != nil {
					return err
				}
			}
			empty, err := emptyFiles(q, low, high)
			if err != nil {
				return err
			}
			for _, e := range empty {
				path, err := pathOf(q, e.id)
				if err != nil {
					return err
				}
				if e.object == "" {
					err = c.found(NoObject, nil, "file %s (%s of owner %s): its content is not known", e.id, path,
						e.owner)
				} else {
					err = c.found(WrongSize, nil, "file %s (%s of owner %s): it has %d bytes, its content %d", e.id,
						path,
						e.owner, e.size, e.objectSize)
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
}

// links finds permanent links of what is not there, or no file.
func (c *check) links() error {
	q := c.DB.Read(c.ctx)
	return pieces(func(low string) (string, error) { return boundary(q, nextLink, low, linkPiece) },
		func(low, high string) error {
			dead, err := deadLinks(q, low, high)
			if err != nil {
				return err
			}
			for _, entry := range dead { // by the entry: whoever reads this must not learn the link
				if err := c.found(DeadLink, nil, "a permanent link leads to the file %s, which does not exist",
					entry); err != nil {
					return err
				}
			}
			return nil
		})
}

// copies finds what is left of copies that no job goes on with.
func (c *check) copies() error {
	stray, err := strayCopies(c.DB.Read(c.ctx))
	if err != nil {
		return err
	}
	for _, s := range stray {
		var mend func() error
		if c.Mend.Orphans {
			mend = func() error {
				return c.DB.Write(c.ctx, func(tx *db.Tx) error {
					if s.job != "" {
						return c.Tree.DropCopy(tx, s.job)
					}
					return c.Tree.DropStaged(tx, s.entry)
				})
			}
		}
		if err := c.found(StrayCopy, mend, "entry %s of owner %s: a copy that was begun, and that no job goes on with",
			s.entry, s.user); err != nil {
			return err
		}
	}
	return nil
}

// references finds objects that count their files wrongly, or that the collector is to delete.
func (c *check) references() error {
	q := c.DB.Read(c.ctx)
	return pieces(func(low string) (string, error) { return boundary(q, nextObject, low, refsPiece) },
		func(low, high string) error {
			wrong, err := wrongRefs(q, low, high)
			if err != nil {
				return err
			}
			for _, w := range wrong {
				var mend func() error
				if c.Mend.Refs {
					mend = func() error {
						return c.DB.Write(c.ctx, func(tx *db.Tx) error { return c.Service.Objects.Recount(tx, w.id) })
					}
				}
				if err := c.found(WrongRefs, mend, "object %s: it counts %d files, there are %d", w.id, w.refs,
					w.files); err != nil {
					return err
				}
			}
			doomed, err := doomedObjects(q, low, high)
			if err != nil {
				return err
			}
			for _, d := range doomed {
				var mend func() error
				if c.Mend.Refs {
					mend = func() error {
						return c.DB.Write(c.ctx, func(tx *db.Tx) error {
							return object.UndiscardReferenced(tx, d.provider, d.key)
						})
					}
				}
				if err := c.found(Doomed, mend,
					"object %s (%s at provider %s): files refer to it, and it is on the list of what is to be deleted",
					d.id, d.key, d.provider); err != nil {
					return err
				}
			}
			return nil
		})
}

// quotas finds users whose counters are not the sums over their files and uploads. It is one
// statement over all files, since the counters and what they count must be of one moment.
func (c *check) quotas() error {
	wrong, err := wrongQuotas(c.DB.Read(c.ctx))
	if err != nil {
		return err
	}
	for _, w := range wrong {
		var mend func() error
		if c.Mend.Quota && w.kept {
			mend = func() error { return c.recount(w.user) }
		}
		name := w.user
		if w.name != "" {
			name = w.name
		}
		if !w.kept {
			err = c.found(WrongQuota, nil, "user %s: has files and no quota", name)
		} else {
			err = c.found(WrongQuota, mend, "user %s: the quota says %s, the sums are %s", name, shown(w.says),
				shown(w.sums))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// recount sets the counters of one user to the sums. The user's row is locked first: whoever
// changes it then comes before, and is in the sums, or after, and changes what they are.
func (c *check) recount(user string) error {
	return c.DB.Write(c.ctx, func(tx *db.Tx) error {
		if err := quota.Lock(tx, user); err != nil {
			return err
		}
		sums, err := sumsOf(tx, user)
		if err != nil {
			return err
		}
		return quota.Correct(tx, user, sums)
	})
}

func shown(c quota.Counters) string {
	return fmt.Sprintf("%d bytes in %d files and %d folders, and %d bytes in %d files and %d folders reserved",
		c.Storage, c.Files, c.Folders, c.ReservedStorage, c.ReservedFiles, c.ReservedFolders)
}
