package files

import (
	"context"
	"fmt"
	"strings"
	"time"

	"larder/internal/access"
	"larder/internal/blob"
	"larder/internal/db"
	"larder/internal/vpath"
)

// ByPath looks up a path and returns its content for an actor.
func (t *Tree) ByPath(ctx context.Context, a access.Actor, p vpath.Path) (Content, error) {
	f, err := t.FindPath(ctx, p)
	if err != nil {
		return Content{}, err
	}
	return f.ContentFor(a)
}

// DeleteFolders is the last step of the collector.
var DeleteFolders = deleteFolders

// WrapStores wraps every store that t copies from, copies to or collects from, from now on.
func (t *Tree) WrapStores(wrap func(providerID string, store blob.Store) blob.Store) {
	inner := t.Objects.Store
	t.Objects.Store = func(ctx context.Context, providerID string) (blob.Store, error) {
		store, err := inner(ctx, providerID)
		if err != nil {
			return nil, err
		}
		return wrap(providerID, store), nil
	}
}

// Rename is Update with a name only.
func (t *Tree) Rename(ctx context.Context, a access.Actor, id string, name vpath.Name) (Entry, error) {
	return t.Update(ctx, a, id, Change{Name: &name})
}

// EachInBatch is the loop of a batch.
var EachInBatch = each

// CoverCandidatesOf is the query for the first pictures of folders whose ids, as SQL literals, are
// in the list.
func CoverCandidatesOf(list string) string {
	return strings.Replace(coverCandidatesQuery, db.InChunk, "IN ("+list+")", 1)
}

// SetCopyBatchSize sets the number of entries above which a job makes a copy, and that the job
// copies in one transaction.
func (t *Tree) SetCopyBatchSize(n int) { t.copyBatchSize = n }

// CacheUsage sets until when Usage returns its cached count, as if the count had been slow.
func (t *Tree) CacheUsage(until time.Time) { t.usageCache.slow, t.usageCache.until = true, until }

// BlockUsage blocks other counts like a running count does, until release.
func (t *Tree) BlockUsage() (release func()) {
	t.usageCache.counting <- struct{}{}
	return func() { <-t.usageCache.counting }
}

// SetRewindLimit sets the largest number of entries that a rewind goes through.
func (t *Tree) SetRewindLimit(n int64) { t.rewindLimit = n }

// SetSampleSize sets the largest number of deleted files that Usage reads.
func (t *Tree) SetSampleSize(n int64) { t.sampleSize = n }

// KeptCounts returns how many counts of folders the cache has.
func (c *EntryCache) KeptCounts() int { return c.counts.EstimatedSize() }

// FileKind is the kind of files, as the database stores it.
const FileKind = fileKind

// CountMembers counts all members of a folder (whole), or some of them, from the cache or by query.
func (c *EntryCache) CountMembers(of db.Members, whole bool, query func() (int64, error)) (int64, error) {
	return c.count(of, whole, fmt.Sprint("whole ", whole), nil, query)
}

// FindDuring is FindID with another look-up.
func (c *EntryCache) FindDuring(id string, lookUp func() (*FoundEntry, error)) (*FoundEntry, error) {
	return c.find(entryKey{byIDKey, id}, lookUp)
}

// The queries that read an index in its order.
const (
	UnexaminedQuery = unexaminedQuery
	RecentQuery     = recentQuery
)

// MediaQuery is the query of Timeline.
var MediaQuery = mediaQuery

// MediaSumsQuery is the query of TimelineRevision.
var MediaSumsQuery = mediaSumsQuery

// OpenOnce reads an object only once, see openOnce.
var OpenOnce = openOnce
