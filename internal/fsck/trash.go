package fsck

import (
	"larder/internal/db"
	"larder/internal/quota"
)

// checkTrash compares the records of the trash with the entries in it, and what quotas count as
// kept with the records.
func (c *check) checkTrash() error {
	for _, look := range []struct {
		query, problem string
		repair         func(tx *db.Tx, id string) error
	}{
		{trashedWithoutRecord, "entry %s of owner %s is in the trash without a record", c.Tree.RecordTrashed},
		{recordWithoutTrashed, "entry %s of owner %s has a record and is not in the trash", c.Tree.ForgetTrashed},
		{versionsWithoutFile, "versions of file %s, of owner %s, are left of a deleted file", c.Tree.DropVersionsOf},
	} {
		found, err := entriesOf(c.DB.Read(c.ctx), look.query)
		if err != nil {
			return err
		}
		for _, e := range found {
			var repair func() error
			if c.Repair.Trash {
				repair = func() error {
					return c.DB.Write(c.ctx, func(tx *db.Tx) error { return look.repair(tx, e.id) })
				}
			}
			if err := c.addFinding(WrongTrash, repair, look.problem, e.id, e.owner); err != nil {
				return err
			}
		}
	}
	return c.checkKept()
}

// checkKept finds users whose quota records another number of kept bytes than their trash and
// versions add up to.
func (c *check) checkKept() error {
	wrong, err := wrongKept(c.DB.Read(c.ctx))
	if err != nil {
		return err
	}
	for _, w := range wrong {
		var repair func() error
		if c.Repair.Trash {
			repair = func() error {
				return c.DB.Write(c.ctx, func(tx *db.Tx) error {
					if err := quota.Lock(tx, w.user); err != nil {
						return err
					}
					sum, err := keptOf(tx, w.user)
					if err != nil {
						return err
					}
					return quota.CorrectKept(tx, w.user, sum)
				})
			}
		}
		if err := c.addFinding(WrongTrash, repair,
			"user %s: the quota records %d bytes in the trash, they add up to %d",
			w.user, w.recorded, w.counted); err != nil {
			return err
		}
	}
	return nil
}
