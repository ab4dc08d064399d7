package main

const (
	dbP          = "internal/db"
	changesFile  = dbP + "/changes.go"
	foundFile    = files + "/entry_cache.go"
	changesOwn   = "^TestChangesOfRows$"
	changesAlien = "^TestChangesOfOthers$"

	changesOfMembers = "^TestChangesOfMembers$"
)

// cacheGuards are the guards of answers that are kept in memory: each is used only while nothing
// has changed that it was made of.
var cacheGuards = []mutation{
	// what the database tells of changes
	{"cache-new-row", "a new row is no change", changesFile,
		`change.Op != sqlitelib.SQLITE_INSERT {`, `true {`, dbP, changesOwn},
	{"cache-update", "an update is a change", changesFile,
		`change.Op != sqlitelib.SQLITE_INSERT {`, `change.Op == sqlitelib.SQLITE_DELETE {`, dbP, changesOwn},
	{"cache-delete", "a deletion is a change", changesFile,
		`change.Op != sqlitelib.SQLITE_INSERT {`, `change.Op == sqlitelib.SQLITE_UPDATE {`, dbP, changesOwn},
	{"cache-entries", "changes of entries are known", changesFile,
		`"entries": 2, `, ``, files, "^TestEntryCacheKeepsOtherFiles$"},
	{"cache-objects", "changes of objects are known", changesFile,
		`"objects": 1, `, ``, files, "^TestEntryCacheFollowsContent$"},
	{"cache-links", "changes of permanent links are known", changesFile,
		`"links": 1, `, ``, files, "^TestEntryCacheFollowsLinks$"},
	{"cache-versions", "changes of the configuration are known", changesFile,
		`, "versions": 1`, ``, dbP, changesOwn},
	{"cache-left", "an entry that leaves a folder changes its members", changesFile,
		"\t\tc.transaction.mark(change.TableName, values[0])\n\t\tc.transaction.markParent(values)\n",
		"\t\tc.transaction.mark(change.TableName, values[0])\n", dbP, changesOfMembers},
	{"cache-entered", "an entry that enters a folder changes its members", changesFile,
		"change.New(values...))\n\t\tc.transaction.markParent(values)\n", "change.New(values...))\n", dbP,
		changesOfMembers},
	{"cache-count", "a kept count is used only while nothing has changed", foundFile,
		`found && c.changes.Unchanged(kept.since, members) {`, `found && members != nil {`, files,
		"^TestCountsOfFoldersFollowChanges$"},
	{"cache-refused", "a refused write is no change", changesFile,
		"\tc.transaction = rowChanges{}\n", ``, dbP, "^TestChangesOfTransactions$"},
	{"cache-pages", "a commit that wrote nothing is not counted", changesFile,
		`if c.writtenPages() > 0 {`, `if c.writtenPages() >= 0 {`, dbP, changesAlien},
	{"cache-others", "commits of other processes are noticed", changesFile,
		"!ok || commits != c.expected.Load() {\n\t\tc.recordOthers()",
		"!ok || commits == 1<<31 {\n\t\tc.recordOthers()", dbP, changesAlien},
	{"cache-others-once", "a commit of another process counts once", changesFile,
		"\t\tc.recordOthers()\n\t\treturn false", "\t\treturn false", dbP, changesAlien},
	{"cache-all", "a commit of another process changes every row", changesFile,
		`if Moment(c.all.Load()) > since {`, `if c.all.Load() > 1<<60 {`, dbP, changesAlien},
	{"cache-rows", "a changed row is reported", changesFile,
		`if Moment(c.rows[row].Load()) > since {`, `if c.rows[row].Load() > 1<<60 {`, dbP, changesOwn},
	{"cache-follow", "every row counts as changed after a new connection", changesFile,
		"\tcommits, _ := index.commits()\n\tc.recordAll(commits)\n", "\t_, _ = index.commits()\n", dbP,
		"^TestChangesOfOthersWithoutConnection$"},
	{"cache-suspend", "without a connection every row counts as changed", dbP + "/writer.go",
		`w.db.changes.suspend()`, `_ = w`, dbP, "^TestChangesAfterBrokenConnection$"},
	{"cache-index-offset", "the commits are counted where SQLite counts them", dbP + "/wal_index.go",
		`commitCountOffset = 8`, `commitCountOffset = 12`, dbP, changesAlien},
	// found files
	{"cache-version", "the config version in memory is used only while nobody has raised it", dbP + "/config_version.go",
		`known != nil && c.Unchanged(known.since, configRows)`, `known != nil`, dbP, "^TestConfigVersionIsKept$"},
	{"cache-version-since", "a change during the query of the config version counts", dbP + "/config_version.go",
		`&knownConfig{version, since}`, `&knownConfig{version, since + (c.Now() - since)}`, dbP,
		"^TestConfigVersionAgainstChanges$"},
	{"cache-checked", "a kept answer is used only while nothing has changed", foundFile,
		`found && c.changes.Unchanged(e.since, e.rows) {`, `found {`, files, "^TestEntryCacheKeepsOtherFiles$"},
	{"cache-since", "a change during the look-up counts", foundFile,
		"\tsince := c.changes.Now() // before the query, whose answer may be older than a commit after it\n" +
			"\tfound, err := lookUp()\n",
		"\tfound, err := lookUp()\n\tsince := c.changes.Now()\n", files, "^TestEntryCacheChangeDuringLookUp$"},
	{"cache-config", "rules, mounts and settings count for kept answers", foundFile,
		`db.ConfigRow, db.RowOf`, `db.RowOf`, files, "^TestEntryCacheFollowsRules$"},
	{"cache-object", "the place of the content counts for kept answers", foundFile,
		`db.ConfigRow, db.RowOf("objects", f.node.object))`, `db.ConfigRow)`, files,
		"^TestEntryCacheFollowsContent$"},
	{"cache-link", "a revoked link counts for kept answers", foundFile,
		`if key.by == byLinkKey {`, `if key.by == 0 {`, files, "^TestEntryCacheFollowsLinks$"},
	{"cache-trail-file", "a change of the file counts for kept answers", foundFile,
		`range f.node.trail {`, `range f.node.trail[:len(f.node.trail)-1] {`, files,
		"^TestEntryCacheKeepsOtherFiles$"},
	{"cache-trail-folders", "changes of the folders above count for kept answers", foundFile,
		`range f.node.trail {`, `range f.node.trail[len(f.node.trail)-1:] {`, files,
		"^TestEntryCacheFollowsEntriesAbove$"},
	{"cache-trail-root", "changes of the root of the mount count for kept answers", foundFile,
		`range f.node.trail {`, `range f.node.trail[1:] {`, files, "^TestEntryCacheFollowsEntriesAbove$"},
	{"cache-files", "a path without a file is not kept", foundFile,
		`err == nil && found.IsFile() {`, `err == nil {`, files, "^TestEntryCacheKeepsFilesOnly$"},
	{"cache-limit", "found files take no more memory than configured", foundFile,
		`MaximumWeight: uint64(limit) - forCounts,`, `MaximumWeight: uint64(limit) * 2,`, files, "^TestEntryCacheLimit$"},
	{"cache-former", "found files of a former config version leave memory, with its rules", foundFile,
		`c.entries.InvalidateAll()`, ``, files, "^TestEntryCacheForgetsFormerVersions$"},
	{"cache-gaps", "a new folder above a mount counts", foundFile,
		`for _, folder := range f.node.gaps {`, `for _, folder := range f.node.gaps[:0] {`, api,
		"^TestChangesCountWithWarmCaches$"},
	{"body-recheck", "a database that fails at the end of a body is no broken body", "internal/api/recheck.go",
		`err = fault.AsFault(refusal)`, `err = refusal`, api, "^TestUploadEndsWhenKeyIsRevoked$"},
}
