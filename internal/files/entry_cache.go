package files

import (
	"fmt"
	"sync/atomic"

	"github.com/maypok86/otter/v2"

	"larder/internal/db"
)

// EntryCache keeps files in memory that were looked up by path, by id or by permanent link, with
// the data that decides about access to them (docs/adr/0017). It uses an answer only while the rows
// that the answer depends on are unchanged. It exists for SQLite alone. All methods are safe for
// concurrent use; those of nil keep nothing.
type EntryCache struct {
	changes      *db.Changes
	entries      *otter.Cache[entryKey, *cachedEntry]
	counts       *otter.Cache[string, cachedCount]
	version      atomic.Int64 // config version of the entries
	hits, misses atomic.Uint64
}

// entryKey is the question to which a cachedEntry is the answer.
type entryKey struct {
	by   byte // one of byPathKey, byIDKey, byLinkKey
	text string
}

const (
	byPathKey = 'p'
	byIDKey   = 'i'
	byLinkKey = 'l'
)

// cachedEntry is a file as it was at a moment.
type cachedEntry struct {
	*FoundEntry
	since db.Moment
	rows  []db.TrackedRow // that it depends on
}

const (
	// cachedEntrySize is about the number of bytes that a cachedEntry takes beside its texts, twice
	// the sizes of its structs.
	cachedEntrySize = 1200
	// cachedLevelSize is the same for each entry on the way to it.
	cachedLevelSize = 160
)

// NewEntryCache returns a cache that takes up to about limit bytes of memory. changes tells which
// rows have changed. It returns nil, a cache that keeps nothing, when limit is 0 or changes is nil.
func NewEntryCache(limit int64, changes *db.Changes) *EntryCache {
	if limit <= 0 || changes == nil {
		return nil
	}
	forCounts := uint64(limit / countsShare)
	return &EntryCache{changes: changes, entries: otter.Must(&otter.Options[entryKey, *cachedEntry]{
		MaximumWeight: uint64(limit) - forCounts,
		Weigher: func(key entryKey, e *cachedEntry) uint32 {
			texts := len(key.text) + len(e.node.name) + len(e.node.mimeType) + 2*len(e.node.path.String())
			return uint32(cachedEntrySize + cachedLevelSize*len(e.node.trail) + texts)
		},
		// the caller evicts, so that the bound holds when it returns
		Executor: func(evict func()) { evict() },
	}), counts: otter.Must(&otter.Options[string, cachedCount]{
		MaximumWeight: forCounts,
		Weigher:       func(query string, _ cachedCount) uint32 { return uint32(cachedCountSize + len(query)) },
		Executor:      func(evict func()) { evict() },
	})}
}

// cachedCount is the number of entries in a folder that a query counted at a moment.
type cachedCount struct {
	entries int64
	since   db.Moment
}

const (
	// minCachedCount is the smallest number that is kept; smaller ones are counted quickly.
	minCachedCount = 1000
	// countsShare is the part of the memory that counts may take: one in so many bytes.
	countsShare = 8
	// cachedCountSize is about the number of bytes that a cachedCount takes beside its query.
	cachedCountSize = 160
	// maxCountedQuery is the length in bytes, with its arguments, of the longest query whose count
	// is kept.
	maxCountedQuery = 4 << 10
)

// count returns the number of entries that a query finds among the members of a folder: from memory
// while no entry of the folder has changed, else from count, which runs the query. The text of the
// query and its args are the cache key. The result must depend on the entries of the folder alone.
// Where the query finds all members (whole), a kept number follows their growth without a query.
func (c *EntryCache) count(of db.Members, whole bool, query string, args []any, count func() (int64, error)) (
	int64, error) {
	if c == nil {
		return count()
	}
	if query = fmt.Sprintf("%s %q", query, args); len(query) > maxCountedQuery {
		return count()
	}
	members := []db.TrackedRow{db.MembersOf(of.Folder)}
	kept, found := c.counts.GetIfPresent(query)
	if found && c.changes.Unchanged(kept.since, members) {
		return kept.entries, nil
	}
	if found && whole {
		if by, now, ok := c.changes.Growth(of, kept.since); ok {
			kept = cachedCount{kept.entries + by, now}
			c.counts.Set(query, kept)
			return kept.entries, nil
		}
	}
	since := c.changes.Now()
	n, err := count()
	if whole && !c.changes.Unchanged(since, members) { // the count may contain growth after since
		return n, err
	}
	if err == nil && n >= minCachedCount {
		c.counts.Set(query, cachedCount{n, since})
	}
	return n, err
}

// EntryCacheStats describes the use of a cache since the start of the process.
type EntryCacheStats struct {
	Hits, Misses uint64 // an answer that was no longer valid is a miss
	Bytes        uint64 // that the cache takes now, about
}

// Stats returns hits, misses and size of the cache for the metrics; zeros for a nil cache.
func (c *EntryCache) Stats() EntryCacheStats {
	if c == nil {
		return EntryCacheStats{}
	}
	return EntryCacheStats{Hits: c.hits.Load(), Misses: c.misses.Load(),
		Bytes: c.entries.WeightedSize() + c.counts.WeightedSize()}
}

// find returns the answer to the question key from memory while the rows that it depends on are
// unchanged, and else from lookUp. It keeps an answer that is a file.
func (c *EntryCache) find(key entryKey, lookUp func() (*FoundEntry, error)) (*FoundEntry, error) {
	if c == nil {
		return lookUp()
	}
	if e, found := c.entries.GetIfPresent(key); found && c.changes.Unchanged(e.since, e.rows) {
		c.hits.Add(1)
		return e.FoundEntry, nil
	}
	c.misses.Add(1)
	since := c.changes.Now() // before the query, whose answer may be older than a commit after it
	found, err := lookUp()
	if err == nil && found.IsFile() {
		// entries of another version are of no use, and hold its rules in memory
		if c.version.Swap(found.rules.version) != found.rules.version {
			c.entries.InvalidateAll()
		}
		content := found.content()
		found.prepared = &content
		c.entries.Set(key, &cachedEntry{found, since, found.rows(key)})
	}
	return found, err
}

// rows returns the rows of the database that the answer to the question key depends on: those of
// the entry and of all entries above it, of its object, of the permanent link in the question, of
// the configuration, and the members of folders above in which a folder on the way may be made. The
// cached answer ends when one of them changes.
func (f *FoundEntry) rows(key entryKey) []db.TrackedRow {
	rows := make([]db.TrackedRow, 0, len(f.node.trail)+len(f.node.gaps)+3)
	rows = append(rows, db.ConfigRow, db.RowOf("objects", f.node.object))
	for _, folder := range f.node.gaps {
		rows = append(rows, db.MembersOf(folder))
	}
	for _, level := range f.node.trail {
		rows = append(rows, db.RowOf("entries", level.id))
	}
	if key.by == byLinkKey {
		rows = append(rows, db.RowOf("links", key.text))
	}
	return rows
}
