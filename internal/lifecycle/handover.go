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
	"larder/internal/notice"
	"larder/internal/quota"
	"larder/internal/share"
)

// HandoverJob is the type of the job that hands over the entries of a deleted account when there
// are many. RunHandover runs it. Its payload is the id of the account.
const HandoverJob = "legacy"

const (
	// defaultHandoverPiece is the number of entries that one transaction hands over; no other
	// transaction changes the tree meanwhile.
	defaultHandoverPiece = 250
	// handoverPiecesNow is the number of such pieces that a deletion does itself.
	handoverPiecesNow = 3
)

// DeleteUser deletes the account id for the administrator adminID, who gets its entries and is
// charged for them regardless of limits. For large accounts this happens in pieces: until the last
// one the quota of the deleted account stays, closed, so that the owner of each file is charged for
// it. A home that belongs to the account alone gets another name. Keys, shares, uploads, running
// copies and the account's own rules end; name and address become free. Faults: Invalid for the
// administrator's own account, NotFound, Forbidden when the caller is no administrator any more.
//
// The last active administrator cannot be deleted, since the caller is another one.
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
		if err := s.cfg.Tree.HandOverKept(tx, id, adminID); err != nil {
			return err
		}
		if err := s.handOver(tx, id); err != nil {
			return err
		}
		if err := s.endKeys(tx, id); err != nil {
			return err
		}
		if err := notice.DeleteOfUser(tx, id); err != nil {
			return err
		}
		if err := files.DeleteFavourites(tx, id); err != nil {
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

// linksEnd reports whether the permanent links to the account's files end with it, because some may
// not work at present and would work again for the successor: the account is not active, or a rule
// keeps it from sharing or downloading. It does not check which files that rule is about.
func (s *Service) linksEnd(tx *db.Tx, user account.User) (bool, error) {
	if user.Status != account.Active {
		return true, nil
	}
	return s.cfg.Policies.HasDenyRule(tx, user.ID, user.Role, access.Set(access.Share|access.Download))
}

// endUse ends the uploads, running copies and shares of an account, and renames its home. Download
// tokens, sessions, mailed links and codes check the account at each use, and moves check it at
// their end.
func (s *Service) endUse(tx *db.Tx, user account.User) error {
	if err := s.cfg.Uploads.EndAll(tx, user.ID); err != nil { // this locks the quota: no upload begins meanwhile
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

// endKeys revokes an account's API keys and deletes the rules about it and its keys. It comes last,
// since it raises the config version, whose row many transactions wait for.
func (s *Service) endKeys(tx *db.Tx, userID string) error {
	keys, err := s.cfg.Keys.RevokeAll(tx, userID)
	if err != nil {
		return err
	}
	return s.cfg.Policies.DeleteOfUser(tx, userID, keys)
}

// handOver hands over the first handoverPiecesNow pieces of a deleted account's entries, and queues
// a job for the rest.
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

// queueHandover inserts the job that hands over the entries of a deleted account.
func (s *Service) queueHandover(tx *db.Tx, userID string) error {
	err := job.Insert(tx, job.Spec{ID: s.cfg.IDs.UUID(), Type: HandoverJob, Payload: userID,
		CreatedAt: s.cfg.Now().UnixMilli()})
	if err == nil && s.cfg.Wake != nil {
		tx.AfterCommit(s.cfg.Wake)
	}
	return err
}

// handOverNext hands over the next entries of a deleted account with ids above after; tx must hold
// the tree alone. last is the id to continue after, done is true when nothing is left. After the
// last entry it deletes the quota of the deleted account.
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
	case after != "": // those after the id are done; begin again to find any that are left
		return "", false, nil
	}
	if err := quota.Delete(tx, userID); err != nil {
		return "", false, err
	}
	return "", true, deleteHandover(tx, userID)
}

// RunHandover runs the job that hands over the entries of a deleted account, a piece in each
// transaction, to the present successor. It continues after a crash at any line: entries that were
// handed over are not found again.
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

// Successor returns the account to which the entries of the deleted account userID are still being
// handed over, the zero value where there is no handover. A successor who is deleted is replaced at
// once, so there are no chains.
func (s *Service) Successor(q db.Querier, userID string) (files.Successor, error) {
	heir, err := successorOf(q, userID)
	if errors.Is(err, db.ErrNoRows) {
		return files.Successor{}, nil
	}
	if err != nil {
		return files.Successor{}, fmt.Errorf("look up the successor: %w", err)
	}
	return heir, nil
}

// Sweep queues jobs for handovers that are not finished and have no job, because it was given up.
func (s *Service) Sweep(ctx context.Context) error {
	owing, err := openHandovers(s.cfg.DB.Read(ctx))
	if err != nil {
		return fmt.Errorf("look for handovers: %w", err)
	}
	for _, userID := range owing {
		if open, err := job.HasOpen(s.cfg.DB.Read(ctx), HandoverJob, userID); err != nil {
			return fmt.Errorf("continue a handover: %w", err)
		} else if open { // the usual case, without taking the tree alone
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
			return fmt.Errorf("continue a handover: %w", err)
		}
	}
	return nil
}
