package db

// LastChange is the SQL expression for the time (ms) from which a file is as it is now: of its
// creation, of its content, or of its last change, the latest. A client may set updated_at to a
// time before the others.
const LastChange = "CASE WHEN content_since > created_at AND content_since > updated_at THEN content_since " +
	"WHEN created_at > updated_at THEN created_at ELSE updated_at END"

// recentSteps build the index over the newest files of each owner, which files.Tree.ListRecent
// reads. Without it, that query reads all files of the owner.
var recentSteps = []Step{{Name: "index the newest files of each owner", After: 26,
	Index: Index{Name: "entries_recent", On: "entries (owner_id, (" + LastChange + "), id) WHERE kind = 1"}}}
