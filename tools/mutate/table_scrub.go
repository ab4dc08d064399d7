package main

// scrubGuards are the guards of the scrub.
var scrubGuards = []mutation{
	{"scrub-changed", "a small object with another SHA-256 is not sent", "internal/object/cache.go",
		`known != "" && known != hex.EncodeToString(sum[:]):`,
		`known == "none" && known != hex.EncodeToString(sum[:]):`, "internal/object",
		"^TestChangedObjectsAreNotCached$/^sqlite$"},
	{"scrub-restored", "a restored object on a disk has no mark", "internal/object/hold.go",
		`return clearLocalDamage(tx)`, `return nil`, "internal/object", "^TestRestoredDatabaseHasNoGarbage$/^sqlite$"},
	{"scrub-unread", "the objects that were not read are counted", "internal/fsck/scrub.go",
		`state.Summary.Unread += left`, `_ = left`, "internal/fsck", "^TestScrubOfADiskThatReadsNothing$/^sqlite$"},
	{"temporary-clock", "the machine's clock decides about temporary files", "internal/provider/provider.go",
		`r.cfg.MachineNow().Add(-tempAge)`, `r.cfg.Now().Add(-tempAge)`, "internal/app", "^TestAgesOfTemporaryFiles$"},
	{"scrub-disk", "a disk that reads nothing is not damaged objects", "internal/fsck/scrub.go",
		`if unreadable == maxUnreadable {`, `if false {`, "internal/fsck",
		"^TestScrubOfADiskThatReadsNothing$/^sqlite$"},
	{"scrub-version", "a version has the mark of its own object", "internal/files/versions.go",
		`v.provider, v.key, v.size, v.damaged`, `v.provider, v.key, v.size, at.damaged`, "internal/api",
		"^TestDamagedVersions$/^sqlite$"},
	{"scrub-mark", "a damaged object is marked", "internal/fsck/scrub.go", `	if !healed {
		var there`, `	if healed {
		var there`, "internal/fsck", "^TestScrubFindsAllDamage$/^sqlite$"},
	{"scrub-served", "a marked object is not served", files + "/content.go", `	if !h.damaged {`,
		`	if !h.damaged || h.size > 0 {`, api, "^TestDamagedObjects$/^sqlite$"},
	{"scrub-moved", "an object that was deleted or moved is not marked", objectP + "/sql_damage.go",
		`return n == 1, nil`, `return n >= 0, nil`, objectP, "^TestMarkDamaged$/^sqlite$"},
	{"scrub-key", "the mark is for the key that was read", objectP + "/sql_damage.go",
		`		WHERE id = $2 AND provider_id = $3 AND key = $4`, `		WHERE id = $2 AND ($3 = provider_id OR $4 = key)`, objectP,
		"^TestMarkDamaged$/^sqlite$"},
	{"scrub-unhashed", "an object without SHA-256 is not healed", "internal/fsck/scrub.go", `	if o.sha256 == "" {
		return false, false, nil`, `	if o.sha256 == "none" {
		return false, false, nil`, "internal/fsck", "^TestScrubOfUnhashedObjects$/^sqlite$"},
	{"scrub-buckets", "buckets are read by choice", "internal/fsck/scrub.go", ` || s.ScrubBuckets {`, ` || !s.ScrubBuckets {`,
		"internal/fsck", "^TestScrubOfBuckets$/^sqlite$"},
	{"scrub-turn", "no pass begins while one runs", "internal/fsck/scrub_job.go", `err != nil || running > 0 {`,
		`err != nil || running > 1000 {`, "internal/fsck", "^TestScrubTakesTurns$/^sqlite$"},
	{"scrub-cache", "the bytes come from the disk, not from memory", "internal/fsck/objects.go",
		"		cached.DropCache()\n", "", "e2e", "^TestScrubReadsTheDisk$"},
	{"scrub-pages", "a scrub leaves no pages in memory", "internal/fsck/objects.go",
		"		defer cached.DropCache()\n", "", "e2e", "^TestScrubReadsTheDisk$"},
	{"scrub-small", "a small object counts as 64 KiB", "internal/fsck/scrub.go", `max(scrubObjectCost-o.size, 0)`,
		`max(o.size-o.size, 0)`, "internal/fsck", "^TestScrubIsSlow$/^sqlite$"},
	{"scrub-position", "a pass goes on where it was", "internal/fsck/scrub.go", `		if len(page) > 0 {
			state`, `		if len(page) > 1000 {
			state`, "internal/fsck", "^TestScrubResumes$/^sqlite$"},
	{"scrub-clear", "a mark ends when the object is intact", "internal/fsck/objects.go", `	case c.Deep && o.damaged:`,
		`	case !c.Deep && o.damaged:`, "internal/fsck", "^TestDeepCheckClearsMarks$/^sqlite$"},
}
