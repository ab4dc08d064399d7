package files

import (
	"context"
	"fmt"

	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/quota"
	"larder/internal/vpath"
)

// InsertRoot makes the root entry of a mount that is about to be made, and returns its id. ownerID
// is the account that owns the root. name is the name in the database; it is never shown.
func (t *Tree) InsertRoot(tx *db.Tx, ownerID, name string) (id string, err error) {
	r := row{id: t.IDs.UUID(), name: name, folder: true, owner: ownerID}
	if _, err := t.insertUnlimited(tx, &r); err != nil {
		return "", err
	}
	return r.id, nil
}

// InsertFolder makes a folder in the folder parentID without checking permissions, and returns its
// id; the folder counts in the owner's quota, which never refuses it. Fault: AlreadyExists.
func (t *Tree) InsertFolder(tx *db.Tx, parentID string, name vpath.Name, ownerID string) (id string, err error) {
	r := row{id: t.IDs.UUID(), parent: parentID, name: string(name), folder: true, owner: ownerID}
	done, err := t.insertUnlimited(tx, &r)
	if err != nil {
		return "", err
	}
	if !done {
		return "", nameTaken()
	}
	return r.id, nil
}

// insertUnlimited inserts the row r of a folder that the service makes for its owner: it counts the
// folder in the owner's quota, but never refuses it because of the limit. done is false when the
// name is taken.
func (t *Tree) insertUnlimited(tx *db.Tx, r *row) (done bool, err error) {
	if done, err = t.insertEntry(tx, r); err != nil || !done {
		return done, err
	}
	return true, quota.CreditFolders(tx, r.owner, -1)
}

// HomesPath is the path of the folder in which homes are made.
var HomesPath = vpath.Root.Child("home")

// InsertHome makes /home/<username> for a new account, and returns its id and path. It takes
// <username>-2 and so on when that name exists, or a mount is at the path or below. It makes
// /home itself when that is missing, and checks no permission. private reports whether somebody has
// rights to everything in one of the folders that it gets: those that /home is in, through all
// mounts, and /home itself. No home is made then. Faults: Invalid, NotFound when no mount covers
// /home or it is private, Conflict when /home is a file.
func (t *Tree) InsertHome(
	ctx context.Context, tx *db.Tx, username, ownerID string, private func(folders []string) (bool, error),
) (id string, p vpath.Path, err error) {
	name, err := vpath.ParseName(username)
	if err != nil {
		return "", vpath.Path{}, err
	}
	if err := tx.LockTree(false); err != nil {
		return "", vpath.Path{}, fmt.Errorf("lock the tree: %w", err)
	}
	mounts, err := t.Mounts.TableIn(tx) // not from the cache: this transaction may have made the mount
	if err != nil {
		return "", vpath.Path{}, err
	}
	v := ruleset{mounts: mounts}
	n, _, err := v.find(tx, HomesPath)
	switch {
	case err != nil:
		return "", vpath.Path{}, err
	case !n.mounted() || n.id == "":
		return "", vpath.Path{}, noMount()
	case !n.folder:
		return "", vpath.Path{}, fault.New(fault.Conflict, "/home is a file, so that no home can be made.")
	}
	if is, err := private(n.folderIDs()); err != nil {
		return "", vpath.Path{}, err
	} else if is {
		return "", vpath.Path{}, fault.New(fault.NotFound,
			"/home is in the home of an account, so that no other home can be made there.")
	}
	for _, missing := range n.missing {
		r := row{id: t.IDs.UUID(), parent: n.id, name: string(missing), folder: true, owner: n.owner}
		done, err := t.insertUnlimited(tx, &r)
		if err != nil {
			return "", vpath.Path{}, err
		}
		if !done { // another account was made at the same time
			if r, err = childNamed(tx, n.id, missing); err != nil {
				return "", vpath.Path{}, err
			}
		}
		n.row = r
	}
	for number := 1; ; number++ {
		numbered := name
		if number > 1 {
			numbered = vpath.Name(fmt.Sprintf("%s-%d", name, number))
		}
		r := row{id: t.IDs.UUID(), parent: n.id, name: string(numbered), folder: true, owner: ownerID}
		p := HomesPath.Child(numbered)
		if v.occupied(&n, p) { // a home includes the mounts in it: a new account must not get existing ones
			continue
		}
		if done, err := t.insertUnlimited(tx, &r); done || err != nil {
			return r.id, p, err
		}
	}
}
