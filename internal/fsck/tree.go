package fsck

import (
	"fmt"

	"larder/internal/db"
	"larder/internal/object"
	"larder/internal/quota"
)

// The number of rows that one statement examines.
const (
	entryPiece = 5000
	linkPiece  = 5000
	// each range counts over all files, so there should be few ranges; SQLite sorts this many rows
	// in memory
	refsPiece   = 250_000
	objectPiece = 500
)

// maxID sorts after every id.
const maxID = "\U0010FFFF"

// eachRange calls do with consecutive ranges of ids (low, high]; after returns the last id of the
// range that begins after low, "" when the rest is one range, whose high is maxID. Both bounds are
// plain comparisons, so that a range costs only its own rows.
func eachRange(after func(low string) (high string, err error), do func(low, high string) error) error {
	for low := ""; ; {
		high, err := after(low)
		if err != nil {
			return err
		}
		if high == "" {
			return do(low, maxID)
		}
		if err := do(low, high); err != nil {
			return err
		}
		low = high
	}
}

// checkEntries finds unreachable entries, folders that contain themselves, and files whose content
// is missing or has another size.
func (c *check) checkEntries() error {
	q := c.DB.Read(c.ctx)
	return eachRange(func(low string) (string, error) { return lastOfRange(q, nextEntry, low, entryPiece) },
		func(low, high string) error {
			n, err := count(q, countEntries, low, high)
			if err != nil {
				return err
			}
			c.Entries += n
			lost, err := unreachableEntries(q, low, high)
			if err != nil {
				return err
			}
			for _, e := range lost {
				if err := c.addFinding(Unreachable, nil,
					"%s %s (%q of owner %s): its parent folder, %s, does not exist", e.kind(), e.id, e.name,
					e.owner, e.parent); err != nil {
					return err
				}
			}
			circles, err := folderCycles(q, low, high)
			if err != nil {
				return err
			}
			for _, e := range circles {
				if err := c.addFinding(Unreachable, nil, "folder %s (%q of owner %s): it is inside "+
					"itself", e.id, e.name,
					e.owner); err != nil {
					return err
				}
			}
			empty, err := filesWithoutContent(q, low, high)
			if err != nil {
				return err
			}
			for _, e := range empty {
				path, err := pathOf(q, e.id)
				if err != nil {
					return err
				}
				if e.object == "" {
					err = c.addFinding(NoObject, nil, "file %s (%s of owner %s): it has no object", e.id, path,
						e.owner)
				} else {
					err = c.addFinding(WrongSize, nil, "file %s (%s of owner %s): it has %d bytes, its content %d",
						e.id,
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

// checkSortKeys finds entries whose sort key is not that of their name, unless the keys are still
// being computed after an upgrade.
func (c *check) checkSortKeys() error {
	if complete, err := c.DB.HasSortKeys(c.ctx); err != nil || !complete {
		return err
	}
	q := c.DB.Read(c.ctx)
	return eachRange(func(low string) (string, error) { return lastOfRange(q, nextEntry, low, entryPiece) },
		func(low, high string) error {
			wrong, err := wrongSortKeys(q, low, high)
			if err != nil {
				return err
			}
			for _, e := range wrong {
				var repair func() error
				if c.Repair.Sorting {
					repair = func() error {
						return c.DB.Write(c.ctx, func(tx *db.Tx) error { return c.Tree.CorrectSortKey(tx, e.id) })
					}
				}
				if err := c.addFinding(WrongSortKey, repair, "%s %s (%q of owner %s): listings by name show it in a "+
					"wrong place",
					e.kind(), e.id, e.name, e.owner); err != nil {
					return err
				}
			}
			return nil
		})
}

// checkLinks finds permanent links whose file does not exist.
func (c *check) checkLinks() error {
	q := c.DB.Read(c.ctx)
	return eachRange(func(low string) (string, error) { return lastOfRange(q, nextLink, low, linkPiece) },
		func(low, high string) error {
			dead, err := brokenLinks(q, low, high)
			if err != nil {
				return err
			}
			for _, entry := range dead { // names the entry, since readers of the report must not learn the link
				if err := c.addFinding(BrokenLink, nil, "a permanent link leads to the file %s, which does not exist",
					entry); err != nil {
					return err
				}
			}
			return nil
		})
}

// checkCopies finds the remains of unfinished copies of folders that no job continues.
func (c *check) checkCopies() error {
	stray, err := leftoverCopies(c.DB.Read(c.ctx))
	if err != nil {
		return err
	}
	for _, s := range stray {
		var repair func() error
		if c.Repair.Orphans {
			repair = func() error {
				return c.DB.Write(c.ctx, func(tx *db.Tx) error {
					if s.job != "" {
						return c.Tree.DropCopy(tx, s.job)
					}
					return c.Tree.DropStaged(tx, s.entry)
				})
			}
		}
		if err := c.addFinding(LeftoverCopy, repair,
			"entry %s of owner %s: an unfinished copy without a job",
			s.entry, s.user); err != nil {
			return err
		}
	}
	return nil
}

// checkReferences finds objects with a wrong reference count, and referenced objects on the garbage
// list.
func (c *check) checkReferences() error {
	q := c.DB.Read(c.ctx)
	return eachRange(func(low string) (string, error) { return lastOfRange(q, nextObject, low, refsPiece) },
		func(low, high string) error {
			wrong, err := wrongRefs(q, low, high)
			if err != nil {
				return err
			}
			for _, w := range wrong {
				var repair func() error
				if c.Repair.Refs {
					repair = func() error {
						return c.DB.Write(c.ctx, func(tx *db.Tx) error { return c.Service.Objects.Recount(tx, w.id) })
					}
				}
				if err := c.addFinding(WrongRefs, repair, "object %s: it counts %d files, there are %d", w.id, w.refs,
					w.files); err != nil {
					return err
				}
			}
			referenced, err := findReferencedGarbage(q, low, high)
			if err != nil {
				return err
			}
			for _, d := range referenced {
				var repair func() error
				if c.Repair.Refs {
					repair = func() error {
						return c.DB.Write(c.ctx, func(tx *db.Tx) error {
							return object.UndiscardReferenced(tx, d.provider, d.key)
						})
					}
				}
				if err := c.addFinding(OnGarbageList, repair,
					"object %s (%s at provider %s): files refer to it, but it is on the garbage list",
					d.id, d.key, d.provider); err != nil {
					return err
				}
			}
			return nil
		})
}

// checkQuotas finds users whose counters differ from the sums over their files and uploads. It is
// one statement over all files, since counters and files must be read at the same moment.
func (c *check) checkQuotas() error {
	wrong, err := wrongQuotas(c.DB.Read(c.ctx))
	if err != nil {
		return err
	}
	for _, w := range wrong {
		var repair func() error
		if c.Repair.Quota && w.hasQuota {
			repair = func() error { return c.recount(w.user) }
		}
		name := w.user
		if w.name != "" {
			name = w.name
		}
		if !w.hasQuota {
			err = c.addFinding(WrongQuota, nil, "user %s: has files and no quota", name)
		} else {
			err = c.addFinding(WrongQuota, repair, "user %s: the quota records %s, the files add up to %s", name,
				describeCounters(w.recorded),
				describeCounters(w.counted))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// recount sets the counters of one user to the sums. It locks the user's quota first, so that every
// change is either included in the sums or made after them.
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

// describeCounters returns the counters as a text for a finding.
func describeCounters(c quota.Counters) string {
	return fmt.Sprintf("%d bytes in %d files and %d folders, and %d bytes in %d files and %d folders reserved",
		c.Storage, c.Files, c.Folders, c.ReservedStorage, c.ReservedFiles, c.ReservedFolders)
}
