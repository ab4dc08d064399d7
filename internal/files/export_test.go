package files

import (
	"context"
	"time"

	"larder/internal/access"
	"larder/internal/blob"
	"larder/internal/vpath"
)

// ByPath is FindPath and For in one.
func (t *Tree) ByPath(ctx context.Context, a access.Actor, p vpath.Path) (Content, error) {
	f, err := t.FindPath(ctx, p)
	if err != nil {
		return Content{}, err
	}
	return f.ContentFor(a)
}

// DeleteFolders is the last step of the collector.
var DeleteFolders = deleteFolders

// WrapStores puts wrap around every store that t copies from or to, or collects from, from now on.
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

// Rename is Update of a name alone.
func (t *Tree) Rename(ctx context.Context, a access.Actor, id string, name vpath.Name) (Entry, error) {
	return t.Update(ctx, a, id, Change{Name: &name})
}

// EachInBatch is the loop of a batch.
var EachInBatch = each

// SetCopyBatchSize has copies of more than n entries made by a job, n in a transaction.
func (t *Tree) SetCopyBatchSize(n int) { t.copyBatchSize = n }

// CacheUsage has what Usage counted last used until then, as if it had taken long.
func (t *Tree) CacheUsage(until time.Time) { t.usageCache.slow, t.usageCache.until = true, until }

// BlockUsage is somebody who counts until release.
func (t *Tree) BlockUsage() (release func()) {
	t.usageCache.counting <- struct{}{}
	return func() { <-t.usageCache.counting }
}

// SetSampleSize has Usage look at n deleted files at most.
func (t *Tree) SetSampleSize(n int64) { t.sampleSize = n }
