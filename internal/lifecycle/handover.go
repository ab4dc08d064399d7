package lifecycle

import (
	"context"
	"errors"
	"fmt"

	"larder/internal/access"
	"larder/internal/account"
	"larder/internal/crash"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/job"
	"larder/internal/quota"
	"larder/internal/share"
)

// HandoverJob is the type of the job that hands over what a deleted account owned, where that is
// much; RunHandover does it. Its payload is the account's id.
const HandoverJob = "legacy"

const (
	// defaultHandoverPiece is how many entries change hands in one transaction, in which nothing
	// else changes in the tree.
	defaultHandoverPiece = 250
	// handoverPiecesNow is how many such pieces a deletion does itself.
	handoverPiecesNow = 3
)

// DeleteUser has an administrator delete another's account. What the account owned is theirs from
// then on, charged and never refused, for large accounts a piece at a time: until the last one the
// deleted account's quota stays, closed, so that whoever is charged for a file is who owns it. A
// home of the account's own gets another name; keys, shares, uploads, copies under way and the
// account's own rules end; name and address are free. Faults: Invalid for oneself, NotFound,
// Forbidden when whoever asks is no administrator any more.
//
// The last active administrator cannot go this way: whoever asks is another one.
func (s *Service) DeleteUser(ctx context.Context, adminID, id string) error {
	if adminID == id {
		return fault.New(fault.Invalid, "You cannot delete your own account.")
	}
	err := s.inExclusiveTx(ctx, func(tx *db.Tx) error {
		user, err := s.lockAdminAndUser(tx, adminID, id)
		if err != nil {
			return err
		}
		closed, err := s.linksEnd(tx, user)
		if err != nil {
			return err
		}
		if err := s.endUse(tx, user); err != nil {
			return err
		}
		if err := insertHandover(tx, id, files.Successor{ID: adminID, DropLinks: closed},
			s.cfg.Now().UnixMilli()); err != nil {
			return err
		}
		if err := s.handOver(tx, id); err != nil {
			return err
		}
		if err := s.endKeys(tx, id); err != nil {
			return err
		}
		return s.cfg.Accounts.Delete(tx, id)
	})
	if err != nil {
		return fmt.Errorf("delete user: %w", err)
	}
	crash.Point("leave.committed")
	return nil
}

// linksEnd reports whether the permanent links to what an account owns end with it, because some
// may rest at present and would open again with the heir: it is not active, or some rule keeps it
// from sharing or downloading. Which files that rule is about is not looked at.
func (s *Service) linksEnd(tx *db.Tx, user account.User) (bool, error) {
	if user.Status != account.Active {
		return true, nil
	}
	return s.cfg.Policies.HasDenyRule(tx, user.ID, user.Role, access.Set(access.Share|access.Download))
}

// endUse ends what hangs on an account. Its download tokens, sessions, mailed links and codes are
// judged by the account whenever they are used, and its moves when they come to their end.
func (s *Service) endUse(tx *db.Tx, user account.User) error {
	if err := s.cfg.Uploads.EndAll(tx, user.ID); err != nil { // with the quota locked: no upload is begun beside this
		return err
	}
	if err := s.cfg.Tree.DropCopies(tx, user.ID); err != nil {
		return err
	}
	if user.HomeID != "" {
		if err := s.cfg.Tree.RenameFormerHome(tx, user.HomeID, user.ID, firstFolders); err != nil {
			return err
		}
	}
	return share.RevokeAll(tx, user.ID, s.cfg.Now().UnixMilli())
}

// endKeys ends an account's keys and rules. It raises the config version, whose row many wait
// for: it comes last.
func (s *Service) endKeys(tx *db.Tx, userID string) error {
	keys, err := s.cfg.Keys.RevokeAll(tx, userID)
	if err != nil {
		return err
	}
	return s.cfg.Policies.DeleteOfUser(tx, userID, keys)
}

// handOver hands over a few pieces, and leaves what is left to a job.
func (s *Service) handOver(tx *db.Tx, userID string) error {
	last := ""
	for range handoverPiecesNow {
		var done bool
		var err error
		if last, done, err = s.handOverNext(tx, userID, last); err != nil || done {
			return err
		}
	}
	if err := quota.Close(tx, userID); err != nil {
		return err
	}
	return s.queueHandover(tx, userID)
}

func (s *Service) queueHandover(tx *db.Tx, userID string) error {
	err := job.Insert(tx, job.Spec{ID: s.cfg.IDs.UUID(), Type: HandoverJob, Payload: userID,
		CreatedAt: s.cfg.Now().UnixMilli()})
	if err == nil && s.cfg.Wake != nil {
		tx.AfterCommit(s.cfg.Wake)
	}
	return err
}

// handOverNext hands over the next entries after that one; tx must be alone in the tree. After the
// last of all, the quota of the deleted account goes.
func (s *Service) handOverNext(tx *db.Tx, userID, after string) (last string, done bool, err error) {
	heir, err := s.Successor(tx, userID)
	if err != nil || heir.ID == "" {
		return "", true, err
	}
	last, n, err := s.cfg.Tree.HandOver(tx, userID, heir, after, s.cfg.HandoverPiece)
	switch {
	case err != nil:
		return "", false, err
	case n == s.cfg.HandoverPiece:
		return last, false, nil
	case after != "": // those are all behind it: what is before was handed over, but see that nothing is left
		return "", false, nil
	}
	if err := quota.Delete(tx, userID); err != nil {
		return "", false, err
	}
	return "", true, deleteHandover(tx, userID)
}

// RunHandover hands over what a deleted account owned, a piece in each transaction, to
// whoever is the heir then. After a crash at any line the rest is done: what has an owner
// already is not met again.
func (s *Service) RunHandover(ctx context.Context, run *job.Run) error {
	last := ""
	for {
		var done bool
		err := s.inExclusiveTx(ctx, func(tx *db.Tx) error {
			next, all, err := s.handOverNext(tx, run.Payload, last)
			if err != nil {
				return err
			}
			last, done = next, all
			return run.RecordBytes(tx, 0)
		})
		if err != nil {
			return fmt.Errorf("hand over: %w", err)
		}
		crash.Point("legacy.piece")
		if done {
			return nil
		}
	}
}

// Successor returns to whom the entries of a deleted account are still being handed over, nobody
// when there is no such account. An heir who is deleted in turn has one of their own at once, so
// there are no chains.
func (s *Service) Successor(q db.Querier, userID string) (files.Successor, error) {
	heir, err := successorOf(q, userID)
	if errors.Is(err, db.ErrNoRows) {
		return files.Successor{}, nil
	}
	if err != nil {
		return files.Successor{}, fmt.Errorf("look for an heir: %w", err)
	}
	return heir, nil
}

// Sweep has jobs go on with what is still to be handed over and whose job was given up.
func (s *Service) Sweep(ctx context.Context) error {
	owing, err := openHandovers(s.cfg.DB.Read(ctx))
	if err != nil {
		return fmt.Errorf("look for what is to be handed over: %w", err)
	}
	for _, userID := range owing {
		if open, err := job.HasOpen(s.cfg.DB.Read(ctx), HandoverJob, userID); err != nil {
			return fmt.Errorf("go on with handing over: %w", err)
		} else if open { // as nearly always: nobody is held up for it
			continue
		}
		err := s.inExclusiveTx(ctx, func(tx *db.Tx) error {
			open, err := job.HasOpen(tx, HandoverJob, userID)
			if err != nil || open {
				return err
			}
			return s.queueHandover(tx, userID)
		})
		if err != nil {
			return fmt.Errorf("go on with handing over: %w", err)
		}
	}
	return nil
}
