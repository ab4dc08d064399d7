package files_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"larder/internal/access"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/job"
	"larder/internal/quota"
	"larder/internal/vpath"
)

// requestCopy requests a copy.
func (f *storesFixture) requestCopy(a access.Actor, id, target string, newName ...vpath.Name) (job.Job, error) {
	f.t.Helper()
	var name *vpath.Name
	if len(newName) > 0 {
		name = &newName[0]
	}
	return f.tree.Copy(f.t.Context(), a, id, mustParsePath(target), name)
}

// mustCopy requests a copy, runs the due jobs, and fails the test when the copy is refused.
func (f *storesFixture) mustCopy(a access.Actor, id, target string, newName ...vpath.Name) {
	f.t.Helper()
	_, err := f.requestCopy(a, id, target, newName...)
	f.must(err)
	f.runJobs()
}

// reserved returns the bytes and files reserved for an account.
func (f *storesFixture) reserved(user string) (bytes, count int64) {
	f.t.Helper()
	f.must(f.db.Read(f.t.Context()).QueryRow("SELECT reserved_storage, reserved_files FROM quotas WHERE user_id = $1",
		user).Scan(&bytes, &count))
	return bytes, count
}

// checkUsage checks the bytes and files that an account uses and has reserved.
func (f *storesFixture) checkUsage(when, user string, bytes, count, reserved, reservedCount int64) {
	f.t.Helper()
	gotBytes, gotCount := f.usage(user)
	gotReserved, gotReservedCount := f.reserved(user)
	if gotBytes != bytes || gotCount != count || gotReserved != reserved || gotReservedCount != reservedCount {
		f.t.Errorf("%s: %s has %d bytes in %d files, %d in %d reserved; want %d in %d, %d in %d", when, user,
			gotBytes, gotCount, gotReserved, gotReservedCount, bytes, count, reserved, reservedCount)
	}
}

// contentsBelow lists everything below a folder as an administrator sees it, with the content of
// files: `path/` and `path=content`, sorted.
func (f *storesFixture) contentsBelow(folder string) (found []string) {
	f.t.Helper()
	var walk func(at, below string)
	walk = func(at, below string) {
		l, err := f.tree.List(f.t.Context(), f.admin, files.ListQuery{Path: mustParsePath(at), Page: 1, Limit: 1000})
		f.must(err)
		for _, e := range l.Items {
			name := below + e.Name
			if e.Folder {
				found = append(found, name+"/")
				walk(at+"/"+e.Name, name+"/")
				continue
			}
			content, err := f.readPath(f.admin, e.Path().String())
			f.must(err)
			found = append(found, name+"="+content)
		}
	}
	walk(folder, "")
	slices.Sort(found)
	return found
}

// checkContents checks the contents of a folder.
func (f *storesFixture) checkContents(folder string, want ...string) {
	f.t.Helper()
	slices.Sort(want)
	if got := f.contentsBelow(folder); !slices.Equal(got, want) {
		f.t.Errorf("below %s lie\n%.900q\nwant\n%.900q", folder, got, want)
	}
}

// checkNothingStaged checks that no copy is under way and that nothing of one is left.
func (f *storesFixture) checkNothingStaged() {
	f.t.Helper()
	rows, records := f.queryInt("SELECT COUNT(*) FROM entries WHERE parent_id = 'staging'"), f.countRows("copies")
	if rows != 0 || records != 0 {
		f.t.Errorf("left of copies: %d entries, %d records", rows, records)
	}
}

func (f *storesFixture) entryAtPath(p string) files.Entry {
	f.t.Helper()
	e, _, err := f.tree.Details(f.t.Context(), f.admin, f.idAtPath(p))
	f.must(err)
	return e
}

// eachSize runs a test with copies in one transaction and with copies that a job makes in batches.
func eachSize(t *testing.T, test func(t *testing.T, w *storesFixture, jobs bool)) {
	t.Helper()
	for name, batch := range map[string]int{"at once": 1000, "by a job": 2} {
		t.Run(name, func(t *testing.T) {
			eachStoresFixture(t, func(t *testing.T, w *storesFixture) {
				w.tree.SetCopyBatchSize(batch)
				test(t, w, batch == 2)
			})
		})
	}
}

// A copy belongs to the actor who made it. It is charged in full and has the metadata and the
// content of the original. Entries of other owners stay theirs.
func TestCopy(t *testing.T) {
	eachSize(t, func(t *testing.T, w *storesFixture, jobs bool) {
		w.createFolder(w.bob, "/uploads/box")
		w.createFolder(w.bob, "/uploads/box/empty")
		for name, content := range map[string]string{"a.txt": "first", "B.txt": "", "sub/c": "cc",
			"sub/deep/d": "ddd"} {
			w.mustUpload(w.bob, "/uploads/box/"+name, content)
		}
		w.addRule(access.Rule{Pattern: "/uploads/box/**", Effect: access.Allow, UserID: "ann",
			Permissions: access.Set(access.Read | access.Download)})
		for id, color := range map[string]string{w.idAtPath("/uploads/box"): "#112233",
			w.idAtPath("/uploads/box/sub/c"): "#445566"} {
			w.exec(
				"UPDATE entries SET custom_title = 'T', custom_color = $1, cover_url = 'https://x', icon_emoji = "+
					"'🐈', manual_position = 7 WHERE id = $2", color, id)
		}
		link, err := w.tree.Link(t.Context(), w.admin, w.idAtPath("/uploads/box/a.txt"))
		w.must(err)
		w.advance(time.Hour)
		originals, objects := w.countRows("entries"), w.countRows("objects")
		j, err := w.requestCopy(w.ann, w.idAtPath("/uploads/box"), "/home/ann", "mine")
		w.must(err)
		if want := map[bool]string{false: "completed", true: "pending"}[jobs]; j.Type != "copy" || j.Status != want ||
			w.job(j.ID).Status != want {
			t.Errorf("job %+v, want it %s", j, want)
		}
		if jobs {
			w.checkContents("/home/ann")
			w.checkUsage("before the job", "ann", 0, 0, 10, 4)
		}
		w.runJobs()
		w.checkJobEnded(j.ID, "")
		w.checkUsage("afterwards", "ann", 10, 4, 0, 0)
		w.checkUsage("the former owners", "bob", 10, 4, 0, 0)
		want := []string{"empty/", "a.txt=first", "B.txt=", "sub/", "sub/c=cc", "sub/deep/", "sub/deep/d=ddd"}
		w.checkContents("/home/ann/mine", want...)
		w.checkContents("/uploads/box", want...)
		if n := w.countRows("entries"); n != originals+8 {
			t.Errorf("%d entries were created, want 8", n-originals)
		}
		if n := w.countRows("objects"); n != objects {
			t.Errorf("%d objects were created", n-objects)
		}
		for p, color := range map[string]string{"/home/ann/mine": "#112233", "/home/ann/mine/sub/c": "#445566"} {
			e := w.entryAtPath(p)
			if e.OwnerID != "ann" || e.CreatedAt != w.clock().UnixMilli() || e.UpdatedAt != e.CreatedAt ||
				*e.CustomTitle != "T" || *e.CustomColor != color ||
				*e.CoverURL != "https://x" || *e.IconEmoji != "🐈" || *e.ManualPosition != 7 || !e.Folder &&
				e.MimeType != "text/plain" {
				t.Errorf("%s: %+v", p, e)
			}
		}
		if e := w.entryAtPath("/home/ann/mine/sub"); e.CustomTitle != nil || e.ManualPosition != nil || e.HasPassword {
			t.Errorf("sub: %+v", e)
		}
		if n := w.countRows("links"); n != 1 {
			t.Errorf("%d links", n)
		}
		if c, err := w.tree.ByLink(t.Context(), link.ID); err != nil ||
			c.Entry.Path() != mustParsePath("/uploads/box/a.txt") {
			t.Errorf("the link leads to %+v, %v", c.Entry, err)
		}
		// Each of the two can be deleted without the other.
		_, _, err = w.tree.Delete(t.Context(), w.admin, w.idAtPath("/uploads/box"))
		w.must(err)
		w.advance(2 * time.Hour)
		w.collect()
		w.checkContents("/home/ann/mine", want...)
		w.checkNothingStaged()
		_, _, err = w.tree.Delete(t.Context(), w.ann, w.idAtPath("/home/ann/mine"))
		w.must(err)
		w.checkUsage("when all is deleted", "ann", 0, 0, 0, 0)
		w.checkAccounting()
		if n := w.countRows("objects"); n != 0 {
			t.Errorf("%d objects are left", n)
		}
	})
}

// A file is copied in one transaction, under its own name or another, also in its own folder.
func TestCopyOfAFile(t *testing.T) {
	eachStoresFixture(t, func(t *testing.T, w *storesFixture) {
		f := w.mustUpload(w.ann, "/home/ann/f", "content")
		w.createFolder(w.ann, "/home/ann/to")
		w.mustCopy(w.ann, f.ID, "/home/ann/to")
		w.mustCopy(w.ann, f.ID, "/home/ann", "g")
		w.mustCopy(w.ann, w.idAtPath("/home/ann/g"), "/home/ann", "h")
		w.checkContents("/home/ann", "f=content", "g=content", "h=content", "to/", "to/f=content")
		w.checkUsage("copied", "ann", 28, 4, 0, 0)
		if n := w.countRows("objects"); n != 1 {
			t.Errorf("%d objects", n)
		}
		// Replacing one of the two does not change the other.
		_, err := w.upload(w.ann, "/home/ann/g", "another", files.Replace)
		w.must(err)
		w.checkContents("/home/ann", "f=content", "g=another", "h=content", "to/", "to/f=content")
		w.checkAccounting()
	})
}

// A copy is refused before anything is done. An actor who may not read or download the source, or
// not write at the target, learns nothing else.
func TestCopyIsRefused(t *testing.T) {
	eachSize(t, func(t *testing.T, w *storesFixture, _ bool) {
		w.setQuota("ann", 1000, 1000)
		w.mustUpload(w.ann, "/home/ann/box/a", "1")
		w.mustUpload(w.ann, "/home/ann/box/sub/b", "22")
		f := w.mustUpload(w.ann, "/home/ann/f", "x").ID
		box := w.idAtPath("/home/ann/box")
		w.mustUpload(w.ann, "/home/ann/to/box", "in the way")
		w.mustUpload(w.ann, "/home/ann/to/f", "in the way")
		w.createFolder(w.ann, "/home/ann/over")
		w.mustUpload(w.ann, "/home/ann/over/x", "x")
		w.mustUpload(w.ann, "/home/ann/over/y", "y")
		w.addMount("/home/ann/over/disk")
		w.createFolder(w.bob, "/home/bob/own")
		w.mustUpload(w.bob, "/home/bob/f", "bob's")
		seen := w.mustUpload(w.admin, "/uploads/seen", "x").ID
		w.addRule(access.Rule{Pattern: "/uploads/seen", Effect: access.Allow, UserID: "ann",
			Permissions: access.Set(access.Read)})
		blind := w.mustUpload(w.admin, "/uploads/blind", "x").ID
		w.addRule(access.Rule{Pattern: "/uploads/blind", Effect: access.Allow, UserID: "ann",
			Permissions: access.Set(access.Download)})
		long := strings.Repeat("n", 255)
		key := w.ann
		key.Key = &access.Key{ID: "k", Permissions: access.Set(
			access.Read | access.Download | access.Write | access.Update), Root: mustParsePath("/home/ann/to")}
		narrow := key
		narrow.Key = &access.Key{ID: "k", Permissions: key.Key.Permissions, Root: mustParsePath("/home/ann/to"),
			RootOnly: true}
		before := w.countRows("entries")
		for what, c := range map[string]struct {
			who    access.Actor
			id     string
			target string
			name   vpath.Name
			kind   fault.Kind
		}{
			"nobody":                {w.visitor, f, "/home/ann", "g", fault.Unauthorized},
			"no such entry":         {w.ann, "none", "/home/ann", "g", fault.NotFound},
			"a deleted entry":       {w.ann, "graveyard", "/home/ann", "g", fault.NotFound},
			"an unfinished copy":    {w.admin, "staging", "/home/ann", "g", fault.NotFound},
			"into the staging root": {w.admin, f, "/staging", "g", fault.NotFound},
			"another's file": {w.ann, w.idAtPath("/home/bob/f"), "/home/ann", "g",
				fault.Forbidden},
			"seen, not to be downloaded":           {w.ann, seen, "/home/ann", "g", fault.Forbidden},
			"to be downloaded, not seen":           {w.ann, blind, "/home/ann", "g", fault.Forbidden},
			"another's target":                     {w.ann, f, "/home/bob/own", "g", fault.Forbidden},
			"another's target that is not there":   {w.ann, f, "/home/bob/none", "g", fault.Forbidden},
			"no target":                            {w.ann, f, "/home/ann/none", "g", fault.NotFound},
			"a file as target":                     {w.ann, f, "/home/ann/to/f", "g", fault.NotFound},
			"a name taken, by a file":              {w.ann, f, "/home/ann/to", "", fault.Conflict},
			"a name taken, by a file, of a folder": {w.ann, box, "/home/ann/to", "", fault.Conflict},
			"its own place":                        {w.ann, f, "/home/ann", "", fault.Conflict},
			"its own place, of a folder":           {w.ann, box, "/home/ann", "", fault.Conflict},
			"into itself":                          {w.ann, box, "/home/ann/box", "", fault.Conflict},
			"below itself":                         {w.ann, box, "/home/ann/box/sub", "x", fault.Conflict},
			"a folder above a mount": {w.admin, w.idAtPath("/home/ann/over"), "/home/ann", "x",
				fault.Conflict},
			"the home of a mount":          {w.admin, w.idAtPath("/home/ann"), "/public", "x", fault.Conflict},
			"onto a mount":                 {w.admin, f, "/home/ann/over", "disk", fault.Conflict},
			"all there is, without a name": {w.admin, w.root, "/public", "", fault.Invalid},
			"a reserved name":              {w.admin, f, "/", "api", fault.Invalid},
			"a path too long": {w.ann, f, "/home/ann" + strings.Repeat("/"+long, 15),
				vpath.Name(long), fault.Invalid},
			"a key, outside its root":      {key, f, "/home/ann", "g", fault.Forbidden},
			"a key, from outside its root": {narrow, f, "/home/ann/to", "g", fault.Forbidden},
		} {
			var err error
			if c.name == "" {
				_, err = w.requestCopy(c.who, c.id, c.target)
			} else {
				_, err = w.requestCopy(c.who, c.id, c.target, c.name)
			}
			w.wantFault(what, err, c.kind)
		}
		if n := w.countRows("entries"); n != before || w.countRows("jobs") != 0 {
			t.Errorf("%d entries and %d jobs were created", n-before, w.countRows("jobs"))
		}
		w.checkNothingStaged()
		w.mustCopy(key, f, "/home/ann/to", "g") // from outside of the key's root
		w.checkContents("/home/ann/to", "box=in the way", "f=in the way", "g=x")
	})
}

// Abuse cases C25 and C26: a folder is copied as a whole or not at all. One entry that the actor
// may not see, download or write refuses all of it.
func TestCopyOfFolderIsAllOrNothing(t *testing.T) {
	eachSize(t, func(t *testing.T, w *storesFixture, _ bool) {
		read, download := access.Set(access.Read), access.Set(access.Download)
		reader := func(p string, set access.Set) {
			w.addRule(access.Rule{Pattern: p + "/**", Effect: access.Allow, UserID: "ann", Permissions: set})
		}
		for i, c := range []struct {
			what    string
			prepare func(box string)
			kind    fault.Kind // Internal: no fault
		}{
			{"all of it may be downloaded", func(box string) { reader(box, read|download) }, fault.Internal},
			{"read permission only", func(box string) { reader(box, read) }, fault.Forbidden},
			{"a part may not be downloaded", func(box string) {
				reader(box, read|download)
				w.addRule(access.Rule{Pattern: box + "/sub/*", Effect: access.Deny, UserID: "ann",
					Permissions: download, Priority: 1})
			}, fault.Forbidden},
			{"a part may not be seen", func(box string) {
				reader(box, read|download)
				w.addRule(access.Rule{Pattern: box + "/sub/b", Effect: access.Deny, UserID: "ann", Permissions: read,
					Priority: 1})
			}, fault.Forbidden},
			{"a part has another condition", func(box string) {
				w.addRule(access.Rule{Pattern: box + "/sub/**", Effect: access.Allow, UserID: "ann",
					RequirePassword: true, Priority: 1})
				reader(box, read|download)
			}, fault.Forbidden},
			{"a file in it may not be put there", func(box string) {
				reader(box, read|download)
				w.addRule(access.Rule{Pattern: "/home/ann/to/" + string(mustParsePath(box).Base()) + "/sub/*",
					Effect: access.Deny, UserID: "ann", Permissions: access.Set(access.Write)})
			}, fault.Forbidden},
			{"a part is hers, the rest is not", func(box string) {
				w.exec("UPDATE entries SET owner_id = 'ann' WHERE id = $1 OR parent_id = $1",
					w.idAtPath(box))
			}, fault.Forbidden},
			{"all of it belongs to her", func(box string) {
				w.exec("UPDATE entries SET owner_id = 'ann' WHERE id IN ($1, $2, $3, $4)",
					w.idAtPath(box), w.idAtPath(box+"/a"), w.idAtPath(box+"/sub"), w.idAtPath(box+"/sub/b"))
			}, fault.Internal},
			{"a file in it has a password", func(box string) {
				reader(box, read|download)
				w.protectEntry(w.idAtPath(box + "/sub/b"))
			}, fault.Forbidden},
			{"a folder in it has a password",
				func(box string) { reader(box, read|download); w.protectEntry(w.idAtPath(box + "/sub")) },
				fault.Forbidden},
		} {
			box := fmt.Sprintf("/uploads/box%d", i)
			w.mustUpload(w.admin, box+"/a", "1")
			w.mustUpload(w.admin, box+"/sub/b", "22")
			if i == 0 {
				w.createFolder(w.ann, "/home/ann/to")
			}
			id := w.idAtPath(box)
			c.prepare(box)
			_, err := w.requestCopy(w.ann, id, "/home/ann/to")
			if c.kind != fault.Internal {
				w.wantFault(c.what, err, c.kind)
				continue
			}
			w.must(err)
			w.runJobs()
			w.checkContents("/home/ann/to/"+string(mustParsePath(box).Base()), "a=1", "sub/", "sub/b=22")
		}
	})
}

// A password that covers the source must be given, by the owner and administrators too; keys cannot
// give one. A copy keeps the password of its own entry, so a copy never removes protection. A
// password below the source refuses the whole copy, whoever owns the entry.
func TestCopyAndPasswords(t *testing.T) {
	eachSize(t, func(t *testing.T, w *storesFixture, _ bool) {
		f := w.mustUpload(w.ann, "/home/ann/f", "x").ID
		w.mustUpload(w.ann, "/home/ann/box/a", "1")
		w.mustUpload(w.ann, "/home/ann/box/sub/b", "22")
		box, sub, b := w.idAtPath("/home/ann/box"), w.idAtPath("/home/ann/box/sub"), w.idAtPath(
			"/home/ann/box/sub/b")
		w.createFolder(w.ann, "/home/ann/to")
		set := func(id, hash, password string) {
			w.exec(
				"UPDATE entries SET password_hash = NULLIF($1, ''), password_id = NULLIF($2, '') WHERE id = $3",
				hash, password, id)
		}
		with := func(ids ...string) access.Actor { a := w.ann; a.Unlocked = ids; return a }
		key := w.ann
		key.Key = &access.Key{ID: "k", Permissions: access.All, Root: mustParsePath("/")}
		key.Unlocked = []string{"p1"}
		password := func(p string) (hash, id string) {
			w.must(w.db.Read(t.Context()).QueryRow(
				"SELECT COALESCE(password_hash, ''), COALESCE(password_id, '') FROM entries WHERE id = $1",
				w.idAtPath(p)).Scan(&hash, &id))
			return hash, id
		}

		set(f, "secret", "p1")
		for what, who := range map[string]access.Actor{"the owner": w.ann, "an administrator": w.admin,
			"with another": with("p2"), "a key": key} {
			_, err := w.requestCopy(who, f, "/home/ann/to", "g")
			w.wantFault("a protected file, "+what, err, fault.PasswordRequired)
		}
		w.mustCopy(with("p1"), f, "/home/ann/to", "g")
		if hash, id := password("/home/ann/to/g"); hash != "secret" || id != "p1" {
			t.Errorf("the copy has the password %q (%q)", hash, id)
		}
		_, err := w.readPath(w.ann, "/home/ann/to/g")
		w.wantFault("reading the copy", err, fault.PasswordRequired)
		if got, err := w.readPath(with("p1"), "/home/ann/to/g"); got != "x" || err != nil {
			t.Errorf("the copy, with the password: %q, %v", got, err)
		}

		set(box, "above", "p3")
		for id, name := range map[string]vpath.Name{box: "whole", sub: "part", b: "file"} {
			_, err := w.requestCopy(with("p1"), id, "/home/ann/to", name)
			w.wantFault("behind a password: "+string(name), err, fault.PasswordRequired)
			w.mustCopy(with("p3"), id, "/home/ann/to", name)
		}
		if hash, id := password("/home/ann/to/whole"); hash != "above" || id != "p3" {
			t.Errorf("the copy of the folder has the password %q (%q)", hash, id)
		}
		// as if it were downloaded and uploaded there
		for _, p := range []string{"/home/ann/to/part", "/home/ann/to/file"} {
			if hash, id := password(p); hash != "" || id != "" {
				t.Errorf("%s has the password %q (%q)", p, hash, id)
			}
		}
		w.checkContents("/home/ann/to/part", "b=22")
		if got, err := w.readPath(with("p3"), "/home/ann/to/whole/sub/b"); got != "22" || err != nil {
			t.Errorf("the copy of the folder, with the password: %q, %v", got, err)
		}
		_, err = w.readPath(w.ann, "/home/ann/to/whole/sub/b")
		w.wantFault("reading the copy of the folder", err, fault.PasswordRequired)

		set(box, "", "")
		set(b, "inner", "p4")
		for what, who := range map[string]access.Actor{"the owner": w.ann, "with it": with("p4"),
			"an administrator": w.admin} {
			_, err := w.requestCopy(who, box, "/home/ann/to", "again")
			w.wantFault("a password below, "+what, err, fault.Forbidden)
		}
		w.checkNothingStaged()
		w.checkAccounting()
	})
}

// A copy is charged in full, in bytes and in files. A copy that does not fit is refused
// immediately.
func TestCopyIsChargedInFull(t *testing.T) {
	eachSize(t, func(t *testing.T, w *storesFixture, jobs bool) {
		w.mustUpload(w.admin, "/public/box/a", "12345")
		w.mustUpload(w.admin, "/public/box/sub/b", "67890")
		w.mustUpload(w.admin, "/public/box/sub/c", "")
		box := w.idAtPath("/public/box")
		n := 0
		try := func(bytes, count int64) error {
			w.setQuota("ann", bytes, count)
			n++
			_, err := w.requestCopy(w.ann, box, "/home/ann", vpath.Name(fmt.Sprint("copy", n)))
			return err
		}
		for what, c := range map[string][2]int64{"a byte too few": {9, 3}, "a file too few": {10, 2},
			"no bytes": {0, -1}, "no files": {-1, 0}} {
			w.wantFault(what, try(c[0], c[1]), fault.QuotaExceeded)
		}
		w.checkUsage("refused", "ann", 0, 0, 0, 0)
		w.checkNothingStaged()
		w.checkContents("/home/ann")
		if w.countRows("jobs") != 0 {
			t.Error("a job was created")
		}
		w.must(try(10, 3))
		w.wantFault("a second one that fits only alone", try(19, 6), fault.QuotaExceeded)
		w.wantFault("likewise, in files", try(20, 5), fault.QuotaExceeded)
		if jobs {
			w.checkUsage("while the job is under way", "ann", 0, 0, 10, 3)
		}
		w.must(try(20, 6))
		w.runJobs()
		w.checkUsage("two copies", "ann", 20, 6, 0, 0)
		w.must(try(quota.Unlimited, quota.Unlimited))
		w.runJobs()
		w.checkUsage("three copies", "ann", 30, 9, 0, 0)
		w.checkNothingStaged()
		w.checkChargesMatchOwnership()
	})
}

// checkChargesMatchOwnership checks that each account is charged for the entries that it owns.
func (f *storesFixture) checkChargesMatchOwnership() {
	f.t.Helper()
	for _, user := range []string{"admin", "ann", "bob"} {
		var bytes, count int64
		f.must(f.db.Read(f.t.Context()).QueryRow(
			"SELECT CAST(COALESCE(SUM(size), 0) AS BIGINT), COUNT(*) FROM entries WHERE kind = 1 AND owner_id = $1",
			user).Scan(&bytes, &count))
		f.checkUsage("by the rows", user, bytes, count, 0, 0)
	}
}

// The root of a mount is copied as a folder with the last name of its path. The copy of the mount
// at `/` needs a name.
func TestCopyOfAMountsRoot(t *testing.T) {
	eachSize(t, func(t *testing.T, w *storesFixture, _ bool) {
		w.addMount("/uploads/disks/one")
		w.mustUpload(w.admin, "/uploads/disks/one/a", "1")
		w.mustUpload(w.admin, "/uploads/disks/one/sub/b", "22")
		l, err := w.tree.List(t.Context(), w.admin,
			files.ListQuery{Path: mustParsePath("/uploads/disks"), Page: 1, Limit: 10})
		w.must(err)
		w.mustCopy(w.admin, l.Items[0].ID, "/public")
		w.checkContents("/public/one", "a=1", "sub/", "sub/b=22")
		// every target lies in the source
		for _, rest := range []string{"with mounts below", "alone"} {
			_, err = w.requestCopy(w.admin, w.root, "/public", "all")
			w.wantFault("all there is, "+rest, err, fault.Conflict)
			_, err = w.requestCopy(w.admin, w.root, "/public")
			w.wantFault("all there is, without a name, "+rest, err, fault.Invalid)
			w.write(func(tx *db.Tx) error {
				if _, err := tx.Exec("DELETE FROM mounts WHERE mount_path <> '/'"); err != nil {
					return err
				}
				return tx.BumpConfig()
			})
		}
	})
}

// A path has at most 64 levels, also in a copy.
func TestCopyRespectsDepthLimit(t *testing.T) {
	eachSize(t, func(t *testing.T, w *storesFixture, _ bool) {
		w.mustUpload(w.ann, "/home/ann/box/1/2/f", "deep") // three levels below box
		w.mustUpload(w.ann, "/home/ann/box/g", "")
		deep := "/home/ann" + strings.Repeat("/d", 58) // 60 levels
		w.mustUpload(w.ann, deep+"/x", "")
		w.mustUpload(w.ann, deep+"/e/x", "")
		box := w.idAtPath("/home/ann/box")
		_, err := w.requestCopy(w.ann, box, deep+"/e")
		w.wantFault("65 levels", err, fault.Invalid)
		w.mustCopy(w.ann, box, deep)
		w.checkContents(deep+"/box", "1/", "1/2/", "1/2/f=deep", "g=")
		w.checkNothingStaged()
	})
}

// Moves and copies under way are counted together: at most 100 of an account.
func TestJobsUnderWayAreBounded(t *testing.T) {
	eachStoresFixture(t, func(t *testing.T, w *storesFixture) {
		w.tree.SetCopyBatchSize(1)
		id := w.mustUpload(w.ann, "/home/ann/g", "x").ID
		w.mustUpload(w.ann, "/home/ann/box/a", "1")
		box := w.idAtPath("/home/ann/box")
		for i := range 100 {
			var err error
			switch name := vpath.Name(fmt.Sprint(i)); i % 3 {
			case 0:
				w.startMove(w.ann, id, "/vault")
			case 1:
				_, err = w.requestCopy(w.ann, box, "/home/ann", name)
			default:
				_, err = w.requestCopy(w.ann, id, "/vault", name)
			}
			w.must(err)
		}
		bytes, count := w.usage("ann")
		_, err := w.requestCopy(w.ann, box, "/home/ann", "last")
		w.wantFault("the 101st job", err, fault.Conflict)
		_, err = w.requestCopy(w.ann, id, "/vault", "last")
		w.wantFault("the 101st job, for a file", err, fault.Conflict)
		_, err = w.tree.Move(t.Context(), w.ann, id, mustParsePath("/vault"), nil)
		w.wantFault("the 101st job, a move", err, fault.Conflict)
		w.checkUsage("after the refusals", "ann", bytes, count, 33, 33)
		w.mustCopy(w.ann, id, "/home/ann", "fine") // needs no job
	})
}
