package files

import (
	"context"
	"maps"
	"slices"

	"larder/internal/access"
	"larder/internal/db"
)

// timelineViewer decides which of their own media an actor sees and may download, with one decision
// for all media of a folder where rules and passwords allow that. It is right for media that the
// actor owns, and for one request only.
type timelineViewer struct {
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

// visible returns those media that the actor sees and may download, in their order.
func (v *timelineViewer) visible(ctx context.Context, all []medium) (seen []medium, err error) {
	if err := v.decide(ctx, all); err != nil {
		return nil, err
	}
	var undecided []string
	for _, m := range all {
		if v.folders[m.parent].shown == eachShown {
			undecided = append(undecided, m.id)
		}
	}
	rows, err := entriesByID(v.tree.DB.Read(ctx), undecided)
	if err != nil {
		return nil, err
	}
	for _, m := range all {
		folder := v.folders[m.parent]
		if folder.shown == allShown {
			seen = append(seen, m)
		} else if r, there := rows[m.id]; there && r.parent == m.parent && v.shows(&folder, &r) {
			seen = append(seen, m)
		}
	}
	return seen, nil
}

// shows reports whether the actor sees a file of a folder, and may download it.
func (v *timelineViewer) shows(folder *ownMedia, r *row) bool {
	target := childTarget(folder.target, v.actor, r)
	return v.viewer.showsContent(target) && !v.viewer.hiddenByMount(folder.node.mount.ID, target.Path)
}

// showsContent reports whether the actor sees a file and may download it.
func (v *entryViewer) showsContent(t access.Target) bool {
	return v.Shows(t, false) && v.policy.Allowed(v.Actor, t).Has(access.Download)
}

// decide decides about the folders of media that are not decided. A change of the rules meanwhile
// makes it decide about all of them again. It forgets former decisions when there are many.
func (v *timelineViewer) decide(ctx context.Context, all []medium) error {
	if len(v.folders) > maxCachedFolders {
		v.folders = map[string]ownMedia{}
	}
	for {
		undecided := map[string]bool{}
		for _, m := range all {
			if _, decided := v.folders[m.parent]; !decided {
				undecided[m.parent] = true
			}
		}
		if len(undecided) == 0 {
			return nil
		}
		for ids := range slices.Chunk(slices.Collect(maps.Keys(undecided)), db.ChunkSize) {
			if err := v.decideFolders(ctx, ids); err != nil {
				return err
			}
		}
	}
}

// decideFolders decides about folders, at most db.ChunkSize. It forgets the decisions by former
// rules.
func (v *timelineViewer) decideFolders(ctx context.Context, ids []string) error {
	found, rules, err := v.tree.lookUpAll(ctx, ids)
	if err != nil {
		return err
	}
	if v.viewer == nil || v.viewer.version != rules.version {
		if v.viewer, err = v.tree.viewerOf(ctx, rules, v.actor); err != nil {
			return err
		}
		v.folders = map[string]ownMedia{}
	}
	guarded, err := foldersWithPasswords(v.tree.DB.Read(ctx), ids)
	if err != nil {
		return err
	}
	for _, id := range ids {
		v.folders[id] = ownMedia{} // also for a folder to which no path leads: in the trash, for example
		if n, there := found[id]; there {
			v.folders[id] = v.decideFolder(&n, guarded[id])
		}
	}
	return nil
}

// decideFolder decides about a folder. guarded says that entries in it have passwords of their own.
func (v *timelineViewer) decideFolder(folder *node, guarded bool) ownMedia {
	decided := ownMedia{node: *folder, target: folder.existingTarget(v.actor)}
	in := v.viewer.ListingFilter(decided.target)
	switch {
	case len(in.Exceptions) > 0 || len(in.Globs) > 0 || in.Files == access.ShownByName:
		decided.shown = eachShown
	case in.Files == access.ShownNone:
	case guarded || decided.target.Password != nil || !v.viewer.ReadImpliesDownload(decided.target) ||
		len(v.viewer.mounts.Below(folder.path)) > 0:
		decided.shown = eachShown
	default: // all, or those that the actor owns
		decided.shown = allShown
	}
	return decided
}
