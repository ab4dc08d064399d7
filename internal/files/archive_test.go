package files_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"larder/internal/access"
	"larder/internal/fault"
	"larder/internal/files"
)

// fixedActor returns the same actor at each call, whatever the config version.
func fixedActor(a access.Actor) func(context.Context, int64) (access.Actor, error) {
	return func(context.Context, int64) (access.Actor, error) { return a, nil }
}

// mustArchive begins an archive and fails the test when that is refused.
func (f *fixture) mustArchive(a access.Actor, ids ...string) *files.Archive {
	f.t.Helper()
	archive, err := f.tree.Archive(f.t.Context(), files.ArchiveQuery{IDs: ids, ActorAt: fixedActor(a)})
	f.must(err)
	return archive
}

// nextEntry returns the next entry as `name=content`, or `name/`; "" at the end.
func (f *fixture) nextEntry(archive *files.Archive) string {
	f.t.Helper()
	e, there, err := archive.Next(f.t.Context())
	f.must(err)
	if !there {
		return ""
	}
	if e.Body == nil {
		return e.Name + "/"
	}
	content, err := io.ReadAll(e.Body)
	f.must(err)
	f.must(e.Body.Close())
	return e.Name + "=" + string(content)
}

func (f *fixture) remainingEntries(archive *files.Archive) []string {
	f.t.Helper()
	all := []string{}
	for e := f.nextEntry(archive); e != ""; e = f.nextEntry(archive) {
		all = append(all, e)
	}
	return all
}

// checkArchive compares the contents of an archive with the wanted list. The list is in the order
// of the walk: files by name, then folders by name, then mounts.
func (f *fixture) checkArchive(what string, archive *files.Archive, want ...string) {
	f.t.Helper()
	if got := f.remainingEntries(archive); !slices.Equal(got, want) {
		f.t.Errorf("%s:\n got %q\nwant %q", what, got, want)
	}
}

func (f *fixture) checkArchiveRefused(what string, a access.Actor, ids ...string) {
	f.t.Helper()
	_, err := f.tree.Archive(f.t.Context(), files.ArchiveQuery{IDs: ids, ActorAt: fixedActor(a)})
	f.wantFault(what, err, fault.NotFound)
}

func TestArchiveOfFolders(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		trip := h.createFolder(h.ann, "/home/ann/trip")
		h.mustUpload(h.ann, "/home/ann/trip/b.txt", "b")
		h.mustUpload(h.ann, "/home/ann/trip/A.txt", "a")
		h.mustUpload(h.ann, "/home/ann/trip/空.txt", "")
		h.createFolder(h.ann, "/home/ann/trip/empty")
		h.createFolder(h.ann, "/home/ann/trip/照片")
		h.createFolder(h.ann, "/home/ann/trip/照片/🦀")
		h.mustUpload(h.ann, "/home/ann/trip/照片/🦀/deep.txt", "deep")
		other := h.createFolder(h.ann, "/home/ann/other")
		h.createFolder(h.ann, "/home/ann/other/trip")
		same := h.createFolder(h.ann, "/home/ann/other/trip/trip")
		h.mustUpload(h.ann, "/home/ann/other/trip/trip/c.txt", "c")
		one, two := h.mustUpload(h.ann, "/home/ann/cat.jpg", "1"), h.mustUpload(h.ann, "/home/ann/other/cat.jpg", "2")
		three := h.mustUpload(h.ann, "/home/ann/cat (1).jpg", "3")
		foreign := h.mustUpload(h.bob, "/home/bob/x.txt", "of bob")
		all := []string{"A.txt=a", "b.txt=b", "空.txt=", "empty/", "照片/", "照片/🦀/", "照片/🦀/deep.txt=deep"}
		below := func(name string) (under []string) {
			under = []string{name + "/"}
			for _, e := range all {
				under = append(under, name+"/"+e)
			}
			return under
		}

		a := h.mustArchive(h.ann, trip.ID)
		if a.Title() != "trip" {
			t.Errorf("title %q", a.Title())
		}
		h.checkArchive("a folder alone", a, all...)
		a = h.mustArchive(h.ann, trip.ID, same.ID)
		if a.Title() != "" {
			t.Errorf("title %q", a.Title())
		}
		h.checkArchive("two of one name", a, append(below("trip"), "trip (1)/", "trip (1)/c.txt=c")...)
		if title := h.mustArchive(h.ann, one.ID, trip.ID, three.ID).Title(); title != "ann" {
			t.Errorf("title of several entries of one folder: %q", title)
		}
		h.checkArchive("files of one name", h.mustArchive(h.ann, one.ID, three.ID, two.ID), "cat.jpg=1",
			"cat (1).jpg=3", "cat (2).jpg=2")
		h.checkArchive("a number that is given", h.mustArchive(h.ann, one.ID, two.ID, three.ID), "cat.jpg=1",
			"cat (1).jpg=2", "cat (1) (1).jpg=3")
		a = h.mustArchive(h.ann, foreign.ID, trip.ID, "none", "", "path:/home")
		if a.Title() != "trip" {
			t.Errorf("title %q", a.Title())
		}
		h.checkArchive("foreign and missing ids are omitted", a, below("trip")...)
		a = h.mustArchive(h.ann, one.ID)
		if a.Title() != "cat.jpg" {
			t.Errorf("title %q", a.Title())
		}
		h.checkArchive("a file alone", a, "cat.jpg=1")
		h.checkArchive("an empty folder", h.mustArchive(h.ann, h.createFolder(h.ann, "/home/ann/void").ID))
		h.checkArchiveRefused("foreign", h.ann, foreign.ID)
		h.checkArchiveRefused("a foreign folder", h.bob, trip.ID, other.ID)
		h.checkArchiveRefused("nothing", h.ann)
		h.checkArchiveRefused("a visitor", h.visitor, trip.ID, one.ID)

		a = h.mustArchive(h.admin, h.root)
		if a.Title() != "Files" {
			t.Errorf("title of the root %q", a.Title())
		}
		if got := h.remainingEntries(a); !slices.Contains(got, "home/bob/x.txt=of bob") ||
			!slices.Contains(got, "home/ann/trip/照片/🦀/deep.txt=deep") || slices.Contains(got, "/") {
			t.Errorf("the root: %q", got)
		}
		if got := h.remainingEntries(h.mustArchive(h.admin, h.root, one.ID)); got[0] != "Files/" ||
			!slices.Contains(got, "Files/home/bob/x.txt=of bob") {
			t.Errorf("the root together with another entry: %q", got)
		}
	})
}

// The archive authorizes each entry like listings and downloads do. An entry that does not show is
// not named in the archive.
func TestArchiveOmitsUnreadableEntries(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		album := h.createFolder(h.admin, "/public/album")
		h.mustUpload(h.admin, "/public/album/a.txt", "a")
		h.mustUpload(h.admin, "/public/album/b.key", "b")
		h.mustUpload(h.admin, "/public/album/hidden.txt", "h")
		for _, name := range []string{"denied", "denied/but", "listed", "protected", "protected/deeper", "from afar"} {
			h.createFolder(h.admin, "/public/album/"+name)
			h.mustUpload(h.admin, "/public/album/"+name+"/x.txt", "x")
		}
		deny := func(pattern string, p access.Permission, more ...func(*access.Rule)) {
			r := access.Rule{Pattern: pattern, Effect: access.Deny, Role: access.User, Permissions: access.Set(p),
				Priority: 1}
			for _, change := range more {
				change(&r)
			}
			h.addRule(r)
		}
		deny("/public/album/*.key", access.Download)
		deny("/public/album/hidden.txt", access.Read) // its bytes may be downloaded by anybody who knows the name
		deny("/public/album/denied/**", access.Read)
		deny("/public/album/listed/**", access.Download)
		protected := h.listNames(h.admin, files.ListQuery{Path: mustParsePath("/public/album"), Search: "protected"})
		if len(protected) != 1 {
			t.Fatal(protected)
		}
		l, err := h.tree.List(t.Context(), h.admin,
			files.ListQuery{Path: mustParsePath("/public/album/protected"), Page: 1, Limit: 9})
		h.must(err)
		lock := l.Folder.ID
		h.protectEntry(lock)

		h.checkArchive("for a user", h.mustArchive(h.ann, album.ID), "a.txt=a", "from afar/", "from afar/x.txt=x",
			"listed/")
		ann := h.ann
		ann.Unlocked = []string{lock}
		opened := []string{"a.txt=a", "from afar/", "from afar/x.txt=x", "listed/", "protected/", "protected/x.txt=x",
			"protected/deeper/", "protected/deeper/x.txt=x"}
		h.checkArchive("with the password", h.mustArchive(ann, album.ID), opened...)
		ann.Unlocked = []string{"another"}
		h.checkArchive("with another", h.mustArchive(ann, album.ID), "a.txt=a", "from afar/", "from afar/x.txt=x",
			"listed/")
		// A password is required for bytes from everybody, administrators and the owner included.
		// Keys cannot give a password.
		everything := []string{"a.txt=a", "b.key=b", "hidden.txt=h", "denied/", "denied/x.txt=x", "denied/but/",
			"denied/but/x.txt=x", "from afar/", "from afar/x.txt=x", "listed/", "listed/x.txt=x"}
		h.checkArchive("the owner", h.mustArchive(h.admin, album.ID), everything...)
		h.checkArchiveRefused("the folder itself", h.admin, lock)
		key := h.admin
		key.Key, key.Unlocked = &access.Key{ID: "k",
			Permissions: access.Set(access.Read | access.Download)}, []string{lock}
		h.checkArchive("a key", h.mustArchive(key, album.ID), everything...)

		h.addRule(access.Rule{Pattern: "/public/album/denied/but/**", Effect: access.Allow, Role: access.User,
			Permissions: access.Set(access.Read | access.Download), Priority: 2})
		h.checkArchive("a folder on the way to an allowed one", h.mustArchive(h.ann, album.ID),
			"a.txt=a", "denied/", "denied/but/", "denied/but/x.txt=x", "from afar/", "from afar/x.txt=x", "listed/")
		afar := netip.MustParsePrefix("198.51.100.0/24")
		h.addRule(access.Rule{Pattern: "/public/album/from afar/**", Effect: access.Deny, Role: access.User,
			Priority: 3, AllowedIPs: []netip.Prefix{afar}})
		h.checkArchive("from another address", h.mustArchive(h.ann, album.ID), "a.txt=a", "denied/", "denied/but/",
			"denied/but/x.txt=x", "listed/")
		away := h.ann
		away.IP = afar.Addr()
		h.checkArchive("from the address", h.mustArchive(away, album.ID),
			"a.txt=a", "denied/", "denied/but/", "denied/but/x.txt=x", "from afar/", "from afar/x.txt=x", "listed/")

		// A rule with a password, identified by the rule's id in Unlocked.
		rule := h.addRule(access.Rule{Pattern: "/uploads/vip/**", Effect: access.Allow, Role: access.User,
			RequirePassword: true, Priority: 5})
		vip := h.createFolder(h.admin, "/uploads/vip")
		h.mustUpload(h.admin, "/uploads/vip/v.txt", "v")
		// everybody may write in /uploads, so it is listed, with their own files only
		h.checkArchive("without the rule's password", h.mustArchive(h.ann, vip.ID))
		all, err := h.rules.All(t.Context())
		h.must(err)
		for _, r := range all {
			if r.ID == rule {
				ann.Unlocked = []string{r.ID}
				if r.PasswordID != "" {
					ann.Unlocked = []string{r.PasswordID}
				}
			}
		}
		h.checkArchive("with the rule's password", h.mustArchive(ann, vip.ID), "v.txt=v")
	})
}

// The archive contains the contents of a mount in place of the entries that the mount covers. It
// also contains the virtual folders on the way to a mount.
func TestArchiveIncludesMounts(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		photos := h.createFolder(h.admin, "/photos")
		for _, name := range []string{"2026", "2026/old", "real"} {
			h.createFolder(h.admin, "/photos/"+name)
		}
		h.mustUpload(h.admin, "/photos/2026/shadowed.jpg", "x")
		h.mustUpload(h.admin, "/photos/note.txt", "a file that a mount hides")
		h.mustUpload(h.admin, "/photos/outer.jpg", "outer")
		h.mustUpload(h.admin, "/photos/real/r.jpg", "r")
		h.addMount("/photos/2026")
		h.addMount("/photos/note.txt")
		h.addMountWithPriority("/photos/hidden", -1) // the mount at the root covers it
		h.addMount("/photos/real/inner")
		h.addMount("/photos/virtual/far/off")
		h.createFolder(h.admin, "/photos/2026/sub")
		h.mustUpload(h.admin, "/photos/2026/sub/sun.jpg", "sun")
		h.mustUpload(h.admin, "/photos/note.txt/n.txt", "n")
		h.mustUpload(h.admin, "/photos/real/inner/i.txt", "i")
		h.mustUpload(h.admin, "/photos/virtual/far/off/v.txt", "v")
		h.checkArchive("all of it", h.mustArchive(h.admin, photos.ID), "outer.jpg=outer", "real/", "real/r.jpg=r",
			"real/inner/", "real/inner/i.txt=i",
			"2026/", "2026/sub/", "2026/sub/sun.jpg=sun", "note.txt/", "note.txt/n.txt=n", "virtual/", "virtual/far/",
			"virtual/far/off/", "virtual/far/off/v.txt=v")

		counted, err := h.tree.Archive(t.Context(),
			files.ArchiveQuery{IDs: []string{photos.ID}, ActorAt: fixedActor(h.admin), MaxFiles: 6})
		h.must(err)
		if got := h.nextEntry(counted); got != "outer.jpg=outer" { // entries covered by a mount are not counted either
			t.Errorf("got %q", got)
		}

		h.addRule(access.Rule{Pattern: "/photos/**", Effect: access.Allow, Role: access.User,
			Permissions: access.Set(access.Read | access.Download)})
		h.addRule(access.Rule{Pattern: "/**", MountID: "mount of /photos/2026", Effect: access.Deny, Role: access.User,
			Priority: 1})
		h.addRule(access.Rule{Pattern: "/photos/virtual/**", Effect: access.Deny, Role: access.User,
			Permissions: access.Set(access.Read), Priority: 1})
		h.checkArchive("by the rules of each mount", h.mustArchive(h.ann, photos.ID), "outer.jpg=outer", "real/",
			"real/r.jpg=r", "real/inner/", "real/inner/i.txt=i",
			"note.txt/", "note.txt/n.txt=n")
		h.protectEntry(photos.ID) // the mounts below are behind the password too
		h.checkArchiveRefused("behind a password", h.ann, photos.ID)
		ann := h.ann
		ann.Unlocked = []string{photos.ID}
		if got := h.remainingEntries(h.mustArchive(ann, photos.ID)); !slices.Contains(got, "real/inner/i.txt=i") {
			t.Errorf("with the password: %q", got)
		}
	})
}

// The tree and the rules change during a walk. The clock does not advance.
func TestArchiveChecksEachEntryWhenReached(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		base := h.createFolder(h.ann, "/home/ann/base")
		var ids []string
		for _, name := range []string{"1", "2", "3", "4", "5", "6", "7", "8", "9"} {
			ids = append(ids, h.mustUpload(h.ann, "/home/ann/base/"+name, "content of "+name).ID)
		}
		var folders []string
		for _, name := range []string{"a", "b", "c", "d", "e"} {
			folders = append(folders, h.createFolder(h.ann, "/home/ann/base/"+name).ID)
			h.mustUpload(h.ann, "/home/ann/base/"+name+"/x", name)
		}
		outside := h.createFolder(h.ann, "/home/ann/outside")
		archive := h.mustArchive(h.ann, base.ID)
		want := func(what, want string) {
			t.Helper()
			if got := h.nextEntry(archive); got != want {
				t.Errorf("%s: %q, want %q", what, got, want)
			}
		}
		want("first", "1=content of 1")
		_, _, err := h.tree.Delete(t.Context(), h.ann, ids[1])
		h.must(err)
		want("2 was deleted", "3=content of 3")
		h.addRule(access.Rule{Pattern: "/home/ann/base/4", Effect: access.Deny, UserID: "ann",
			Permissions: access.Set(access.Download)})
		want("4 is denied", "5=content of 5")
		_, err = h.upload(h.ann, "/home/ann/base/6", "other content", files.Replace)
		h.must(err)
		h.advance(2 * grace)
		h.collect() // deletes the content of 6
		h.protectEntry(ids[6])
		want("6 was replaced", "6=other content")
		h.addRule(access.Rule{Pattern: "/home/ann/base/8", Effect: access.Deny, UserID: "ann",
			Permissions: access.Set(access.Read)})
		_, err = h.tree.Move(t.Context(), h.admin, ids[8], outside.Path(), nil)
		h.must(err)
		want("7 is protected, 8 does not show, 9 has left", "a/")
		_, err = h.tree.Rename(t.Context(), h.admin, base.ID, "renamed")
		h.must(err)
		want("the folder has another name", "a/x=a")
		_, err = h.tree.Move(t.Context(), h.admin, folders[1], outside.Path(), nil)
		h.must(err)
		want("b has left", "c/")
		h.addRule(access.Rule{Pattern: "/home/ann/renamed/c/**", Effect: access.Deny, UserID: "ann"})
		want("c is denied", "d/")
		h.protectEntry(folders[4])
		want("d", "d/x=d")
		want("e is protected", "")
	})
}

// The walk loads the actor again when the config version has changed, and ends when the actor may
// no longer read.
func TestArchiveEndsWhenActorLosesAccess(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		h.mustUpload(h.ann, "/home/ann/1", "1")
		h.mustUpload(h.ann, "/home/ann/2", "2")
		asked := map[int64]int{}
		banned := fault.New(fault.InvalidToken, "Banned.")
		archive, err := h.tree.Archive(t.Context(),
			files.ArchiveQuery{IDs: []string{h.ann.HomeID},
				ActorAt: func(_ context.Context, version int64) (access.Actor, error) {
					if asked[version]++; len(asked) > 1 {
						return access.Actor{}, banned
					}
					return h.ann, nil
				}})
		h.must(err)
		if got := h.nextEntry(archive); got != "1=1" || len(asked) != 1 {
			t.Errorf("%q, asked %v", got, asked)
		}
		h.addRule(access.Rule{Pattern: "/nowhere", Effect: access.Deny, UserID: "ann"}) // any change of the config
		if _, _, err := archive.Next(t.Context()); !errors.Is(err, banned) {
			t.Errorf("then %v", err)
		}
	})
}

// Content that is missing or altered on the disk is never sent as if it were whole.
func TestArchiveOfDamagedContent(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		damage := map[string]func(file string) error{
			"gone":    os.Remove,
			"cut":     func(file string) error { return os.Truncate(file, 3) },
			"longer":  func(file string) error { return os.WriteFile(file, []byte("contentX"), 0o600) },
			"changed": func(file string) error { return os.WriteFile(file, []byte("kontent"), 0o600) },
		}
		// as for uploads in parts
		damage["cut, of no known sum"], damage["longer, of no known sum"] = damage["cut"], damage["longer"]
		for name, fn := range damage {
			put := h.mustUpload
			if strings.Contains(name, "no known sum") {
				put = h.mustUploadUnsummed
			}
			e := put(h.ann, "/home/ann/"+name, "content")
			var key string
			h.must(h.db.Read(t.Context()).QueryRow(
				"SELECT o.key FROM entries e JOIN objects o ON o.id = e.object_id WHERE e.id = $1", e.ID).Scan(&key))
			if got := h.remainingEntries(h.mustArchive(h.ann, e.ID)); !slices.Equal(got, []string{name + "=content"}) {
				t.Errorf("before: %q", got)
			}
			h.must(fn(h.objectFilePath(key)))
			archive := h.mustArchive(h.ann, h.ann.HomeID) // read page by page, and alone
			if e.Name != name {
				t.Fatal(e.Name)
			}
			for _, archive := range []*files.Archive{archive, h.mustArchive(h.ann, e.ID)} {
				next, _, err := archive.Next(t.Context())
				if err == nil {
					_, err = io.ReadAll(next.Body)
					h.must(next.Body.Close())
				}
				if err == nil || name == "gone" && !fault.Is(err, fault.Unavailable) {
					t.Errorf("%s: %v", name, err)
				}
			}
			_, _, err := h.tree.Delete(t.Context(), h.ann, e.ID)
			h.must(err)
		}
	})
}

// objectFilePath returns the path of an object's file on the disk.
func (f *fixture) objectFilePath(key string) (found string) {
	f.t.Helper()
	f.must(filepath.WalkDir(f.objects, func(file string, _ os.DirEntry, err error) error {
		if strings.HasSuffix(filepath.ToSlash(file), key) {
			found = file
		}
		return err
	}))
	if found == "" {
		f.t.Fatalf("no object %s", key)
	}
	return found
}

// Both limits are tested on both sides of their edges. An archive that exceeds a limit is refused
// before it begins.
func TestArchiveBounds(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		f := h.createFolder(h.ann, "/home/ann/f")
		h.createFolder(h.ann, "/home/ann/f/sub")
		h.mustUpload(h.ann, "/home/ann/f/1", "12345")
		h.mustUpload(h.ann, "/home/ann/f/sub/2", "12345")
		denied := h.mustUpload(h.bob, "/home/bob/denied", "12345")
		for _, name := range []string{"denied", "hidden", "sub/protected"} { // not counted
			e := h.mustUpload(h.ann, "/home/ann/f/"+name, "12345")
			if name == "sub/protected" {
				h.protectEntry(e.ID)
			}
		}
		h.addRule(access.Rule{Pattern: "/home/ann/f/denied", Effect: access.Deny, UserID: "ann",
			Permissions: access.Set(access.Download)})
		h.addRule(access.Rule{Pattern: "/home/ann/f/hidden", Effect: access.Deny, UserID: "ann",
			Permissions: access.Set(access.Read)})
		single := h.mustUpload(h.ann, "/home/ann/single", "12345")
		for _, test := range []struct {
			files, bytes int64
			fits         bool
		}{{3, 0, true}, {2, 0, false}, {0, 15, true}, {0, 14, false}, {3, 15, true}, {3, 14, false}, {2, 15, false},
			{0, 0, true}} {
			q := files.ArchiveQuery{IDs: []string{f.ID, denied.ID, single.ID}, ActorAt: fixedActor(h.ann),
				MaxFiles: test.files, MaxBytes: test.bytes}
			archive, err := h.tree.Archive(t.Context(), q)
			h.must(err)
			if !test.fits {
				_, _, err := archive.Next(t.Context())
				h.wantFault(fmt.Sprintf("%d files, %d bytes", test.files, test.bytes), err, fault.TooLarge)
				continue
			}
			h.checkArchive(fmt.Sprintf("%d files, %d bytes", test.files, test.bytes), archive, "f/", "f/1=12345",
				"f/sub/", "f/sub/2=12345", "single=12345")
		}
		// Files that are added during the walk do not exceed a limit either.
		archive, err := h.tree.Archive(t.Context(),
			files.ArchiveQuery{IDs: []string{f.ID}, ActorAt: fixedActor(h.ann), MaxFiles: 2})
		h.must(err)
		if got := h.nextEntry(archive); got != "1=12345" {
			t.Errorf("got %q", got)
		}
		h.mustUpload(h.ann, "/home/ann/f/sub/3", "x")
		if got := h.nextEntry(archive) + " " + h.nextEntry(archive); got != "sub/ sub/2=12345" {
			t.Errorf("got %q", got)
		}
		_, _, err = archive.Next(t.Context())
		h.wantFault("one more than the bound", err, fault.TooLarge)
	})
}

// A file whose content disappears between the check and the opening is checked again. If it was
// deleted, the archive omits it; if it was replaced, the archive has the new content.
func TestArchiveOfFileDeletedBeforeOpen(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		h.mustUpload(h.ann, "/home/ann/1", "1")
		deleted := h.mustUpload(h.ann, "/home/ann/2", "2")
		h.mustUpload(h.ann, "/home/ann/3", "3")
		h.mustUpload(h.ann, "/home/ann/4", "4")
		between := func() {}
		archive, err := h.tree.Archive(t.Context(),
			files.ArchiveQuery{IDs: []string{h.ann.HomeID},
				ActorAt: func(context.Context, int64) (access.Actor, error) {
					between() // runs after the walk looked the file up, before it opens it
					h.advance(2 * grace)
					h.collect()
					return h.ann, nil
				}})
		h.must(err)
		next := func(want string) {
			t.Helper()
			if got := h.nextEntry(archive); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
			h.addRule(access.Rule{Pattern: "/nowhere", Effect: access.Deny, UserID: "ann"})
		}
		next("1=1")
		between = func() {
			between = func() {}
			_, _, err := h.tree.Delete(t.Context(), h.ann, deleted.ID)
			h.must(err)
		}
		next("3=3")
		between = func() {
			between = func() {}
			_, err := h.upload(h.ann, "/home/ann/4", "other", files.Replace)
			h.must(err)
		}
		next("4=other")
		next("")
	})
}
