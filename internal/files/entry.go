package files

import (
	"larder/internal/access"
	"larder/internal/blob"
	"larder/internal/vpath"
)

// Entry is a file or folder as an actor sees it. Times are in milliseconds.
type Entry struct {
	ID          string
	Name        string     // of a mount's root: the last segment of the mount's path, "" at `/`
	Dir         vpath.Path // the folder that contains it
	Folder      bool
	Size        int64  // bytes
	ETag        string // of a file's content, see Content; "" where it was not looked up
	MimeType    string
	OwnerID     string
	HasPassword bool
	Public      bool       // anybody may download it
	Permissions access.Set // the actor's

	CustomTitle, CustomColor, CoverURL, IconEmoji *string
	ManualPosition                                *int64

	MountID              string
	CreatedAt, UpdatedAt int64
	Picture              *Picture // only in listings and details, and nil if it was not read yet
	Covers               []string // ids of pictures in the folder that stand for it; only in listings

	path     vpath.Path
	object   string // id; "" for a folder
	provider string // of the content; "" for a folder
}

// Path returns the path of the entry itself; Dir is the folder that contains it.
func (e Entry) Path() vpath.Path { return e.path }

// entry returns the row r as the actor sees it, with the actor's permissions. t is its target, by
// which access decides.
func (rs *ruleset) entry(a access.Actor, r *row, t access.Target) Entry {
	e := plainEntry(r, t)
	e.Public = rs.public(t)
	e.Permissions = rs.policy.Allowed(a, t)
	if t.MountID == "" { // a virtual folder can be listed, nothing else
		e.Permissions &= access.Set(access.Read)
	}
	return e
}

// public reports whether anybody may download the bytes of the entry that t describes: a guest may
// by the rules, and no password is on the entry or above it.
func (rs *ruleset) public(t access.Target) bool { return t.Password == nil && rs.policy.Public(t) }

// plainEntry returns the row r with the target t as an Entry, without the fields that depend on the
// rules: Public and Permissions.
func plainEntry(r *row, t access.Target) Entry {
	return Entry{
		ID:             r.id,
		Name:           string(t.Path.Base()),
		Dir:            t.Path.Parent(),
		Folder:         r.folder,
		Size:           r.size,
		ETag:           etag(r.content),
		MimeType:       r.mimeType,
		OwnerID:        r.owner,
		HasPassword:    r.password != "",
		CustomTitle:    r.title,
		CustomColor:    r.color,
		CoverURL:       r.cover,
		IconEmoji:      r.emoji,
		ManualPosition: r.position,
		MountID:        t.MountID,
		CreatedAt:      r.created,
		UpdatedAt:      r.updated,
		path:           t.Path,
		object:         r.object,
		provider:       r.provider,
	}
}

// keyOf converts the key of an object from the form in which the database stores it.
func keyOf(s string) blob.Key { return blob.Key(s) }
