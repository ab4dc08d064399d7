package files

import (
	"context"
	"slices"

	"larder/internal/access"
	"larder/internal/db"
	"larder/internal/fault"
)

// maxFavourites is the maximal number of favourites of an account.
const maxFavourites = 1000

// AddFavourite makes an entry that the actor sees a favourite of their account; it does nothing for
// one that is. Faults: NotFound, also for an entry that the actor does not see; Conflict when the
// account has maxFavourites.
func (t *Tree) AddFavourite(ctx context.Context, a access.Actor, id string) error {
	if err := t.checkSees(ctx, a, id); err != nil {
		return err
	}
	return t.DB.Write(ctx, func(tx *db.Tx) error {
		if err := tx.LockFavourites(a.UserID); err != nil {
			return err
		}
		if is, err := isFavourite(tx, a.UserID, id); is || err != nil {
			return err
		}
		if err := checkFavouritesLimit(tx, a.UserID); err != nil {
			return err
		}
		if there, err := lockEntry(tx, id); err != nil {
			return err
		} else if !there { // deleted meanwhile, together with its favourites
			return noEntry()
		}
		return insertFavourite(tx, a.UserID, id, t.nowMs())
	})
}

// checkSees refuses an id that names no entry which the actor sees. Fault: NotFound.
func (t *Tree) checkSees(ctx context.Context, a access.Actor, id string) error {
	_, _, err := t.Details(ctx, a, id)
	if fault.Is(err, fault.Forbidden) || fault.Is(err, fault.PasswordRequired) {
		return noEntry()
	}
	return err
}

// checkFavouritesLimit refuses another favourite of an account that has maxFavourites. Fault:
// Conflict.
func checkFavouritesLimit(tx *db.Tx, userID string) error {
	n, err := countFavourites(tx, userID)
	if err != nil || n < maxFavourites {
		return err
	}
	if err := deleteLostFavourites(tx, userID); err != nil {
		return err
	}
	if n, err = countFavourites(tx, userID); err != nil || n < maxFavourites {
		return err
	}
	return fault.Newf(fault.Conflict, "An account has at most %d favourites.", maxFavourites)
}

// RemoveFavourite ends a favourite of the actor's account, also of an entry that the actor no
// longer sees. It does nothing for an entry that the actor sees and that is no favourite. Fault:
// NotFound.
func (t *Tree) RemoveFavourite(ctx context.Context, a access.Actor, id string) error {
	var found bool
	err := t.DB.Write(ctx, func(tx *db.Tx) (err error) {
		found, err = deleteFavourite(tx, a.UserID, id)
		return err
	})
	if err != nil || found {
		return err
	}
	return t.checkSees(ctx, a, id)
}

// ListFavourites returns a page of the favourites that the actor sees, the newest first, and the
// number of all of them. page counts from 1, limit is the number of entries on a page. It leaves
// out entries that are in the trash.
func (t *Tree) ListFavourites(ctx context.Context, a access.Actor, page, limit int) (Listing, error) {
	ids, err := favouriteIDs(t.DB.Read(ctx), a.UserID)
	if err != nil {
		return Listing{}, err
	}
	all, err := t.visibleEntries(ctx, a, ids, len(ids))
	if err != nil {
		return Listing{}, err
	}
	from := min((page-1)*limit, len(all))
	return Listing{Items: all[from:min(from+limit, len(all))], Total: len(all)}, nil
}

// FavouritesAmong returns which of the ids are favourites of the actor's account.
func (t *Tree) FavouritesAmong(ctx context.Context, a access.Actor, ids []string) (map[string]bool, error) {
	return favouritesAmong(t.DB.Read(ctx), a.UserID, ids)
}

// maxRecent is the maximal number of files that ListRecent looks at.
const maxRecent = 2000

// ListRecent returns the files of the actor's account that were stored or changed last and that the
// actor sees, the newest first, at most limit. It finds them among the maxRecent newest files of
// the account, which include those in the trash.
func (t *Tree) ListRecent(ctx context.Context, a access.Actor, limit int) ([]Entry, error) {
	ids, err := recentIDs(t.DB.Read(ctx), a.UserID, maxRecent)
	if err != nil {
		return nil, err
	}
	return t.visibleEntries(ctx, a, ids, limit)
}

// visibleEntries returns the entries with these ids that the actor sees, in the order of the ids,
// at most limit. It looks up chunks of the ids until it has as many.
func (t *Tree) visibleEntries(ctx context.Context, a access.Actor, ids []string, limit int) ([]Entry, error) {
	var seen []Entry
	for some := range slices.Chunk(ids, db.ChunkSize) {
		found, v, err := t.lookUpAll(ctx, some)
		if err != nil {
			return nil, err
		}
		viewer, err := t.viewerOf(ctx, v, a)
		if err != nil {
			return nil, err
		}
		from, targets := len(seen), []access.Target{}
		for _, id := range some {
			n, there := found[id]
			target := n.existingTarget(a)
			if !there || !viewer.Shows(target, n.folder) {
				continue
			}
			targets = append(targets, target)
			if seen = append(seen, v.entry(a, &n.row, target)); len(seen) == limit {
				break
			}
		}
		if err := t.addCovers(ctx, viewer, seen[from:], targets); err != nil {
			return nil, err
		}
		if len(seen) == limit {
			break
		}
	}
	return seen, t.addPictures(ctx, seen)
}

// lookUpAll looks up entries by their ids, at most db.ChunkSize, with the rules of that moment. It
// leaves out entries to which no path leads.
func (t *Tree) lookUpAll(ctx context.Context, ids []string) (found map[string]node, rules *ruleset, err error) {
	rules, err = t.readConsistent(ctx, func(v *ruleset) (version int64, err error) {
		found, version, err = v.findIDs(t.DB.Read(ctx), ids)
		if version == 0 { // none of them exists
			version = v.version
		}
		return version, err
	})
	return found, rules, err
}
