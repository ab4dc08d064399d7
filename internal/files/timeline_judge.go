package files

import (
	"context"
	"maps"
	"slices"

	"larder/internal/access"
	"larder/internal/db"
)

// mediaJudge decides which of their own media an actor sees, with one decision for all media of a
// folder where the rules allow that. It is right for media that the actor owns, and for one request
// only.
type mediaJudge struct {
	tree    *Tree
	actor   access.Actor
	viewer  *entryViewer // by whose rules the folders were decided
	folders map[string]ownMedia
}

// ownMedia is a decision about the media of the actor directly in a folder.
type ownMedia struct {
	shown  shownMedia
	node   node // the folder
	target access.Target
}

type shownMedia int

const (
	noneShown shownMedia = iota
	allShown
	eachShown // each medium needs a decision of its own
)

// visible returns those media that the actor sees, in their order.
func (j *mediaJudge) visible(ctx context.Context, all []medium) (seen []medium, err error) {
	if err := j.decide(ctx, all); err != nil {
		return nil, err
	}
	var undecided []string
	for _, m := range all {
		if j.folders[m.parent].shown == eachShown {
			undecided = append(undecided, m.id)
		}
	}
	rows, err := entriesByID(j.tree.DB.Read(ctx), undecided)
	if err != nil {
		return nil, err
	}
	for _, m := range all {
		folder := j.folders[m.parent]
		if folder.shown == allShown {
			seen = append(seen, m)
		} else if r, there := rows[m.id]; there && r.parent == m.parent && j.shows(&folder, &r) {
			seen = append(seen, m)
		}
	}
	return seen, nil
}

// shows reports whether the actor sees a file of a folder.
func (j *mediaJudge) shows(folder *ownMedia, r *row) bool {
	target := childTarget(folder.target, j.actor, r)
	return j.viewer.Shows(target, false) && !j.viewer.covered(&folder.node, target.Path)
}

// decide decides about the folders of media that are not decided. A change of the rules meanwhile
// makes it decide about all of them again.
func (j *mediaJudge) decide(ctx context.Context, all []medium) error {
	for {
		undecided := map[string]bool{}
		for _, m := range all {
			if _, decided := j.folders[m.parent]; !decided {
				undecided[m.parent] = true
			}
		}
		if len(undecided) == 0 {
			return nil
		}
		for ids := range slices.Chunk(slices.Collect(maps.Keys(undecided)), db.ChunkSize) {
			if err := j.decideFolders(ctx, ids); err != nil {
				return err
			}
		}
	}
}

// decideFolders decides about folders, at most db.ChunkSize. It forgets the decisions by former
// rules.
func (j *mediaJudge) decideFolders(ctx context.Context, ids []string) error {
	var found map[string]node
	v, err := j.tree.readConsistent(ctx, func(v *ruleset) (version int64, err error) {
		found, version, err = v.findIDs(j.tree.DB.Read(ctx), ids)
		if version == 0 { // none of them exists
			version = v.version
		}
		return version, err
	})
	if err != nil {
		return err
	}
	if j.viewer == nil || j.viewer.version != v.version {
		if j.viewer, err = j.tree.viewerOf(ctx, v, j.actor); err != nil {
			return err
		}
		j.folders = map[string]ownMedia{}
	}
	for _, id := range ids {
		j.folders[id] = ownMedia{} // also for a folder to which no path leads: in the trash, for example
		if n, there := found[id]; there {
			j.folders[id] = j.decideFolder(&n)
		}
	}
	return nil
}

// decideFolder decides about a folder.
func (j *mediaJudge) decideFolder(folder *node) ownMedia {
	decided := ownMedia{node: *folder, target: folder.existingTarget(j.actor)}
	in := j.viewer.ListingFilter(decided.target)
	switch {
	case len(in.Exceptions) > 0 || len(in.Globs) > 0 || in.Files == access.ShownByName ||
		len(j.viewer.mounts.Below(folder.path)) > 0:
		decided.shown = eachShown
	case in.Files != access.ShownNone: // all, or those that the actor owns
		decided.shown = allShown
	}
	return decided
}
