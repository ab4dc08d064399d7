package api_test

import (
	"fmt"
	"testing"

	"larder/internal/apptest"
	"larder/internal/site"
)

// A changed mount applies to the next request on every replica. Its contents stay, and upload
// sessions keep the mount and provider with which they began.
func TestMountChangesTakeEffectAtOnce(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin := l.Admin(t)
		first, second := addProvider(admin, "first"), addProvider(admin, "second")
		id := addMount(admin, first, "/m")
		file := admin.Upload("/m", "f", []byte("old"))
		getFromEachReplica := func(path string, want int) {
			t.Helper()
			for range 2 * len(l.Apps) {
				wantStatus(t, path, admin.Get(path), want, "")
			}
		}
		getFromEachReplica("/m/f", 200)
		admin.Put(mountsPath+"/"+id, M{"mountPath": "/moved/here"}).OK(200)
		getFromEachReplica("/m/f", 404)
		getFromEachReplica("/moved/here/f", 200)
		wantJSON(t, "its path", admin.Get("/api/files/"+file).OK(200).Value("file.path"), "/moved/here")

		// abuse case C24: another provider, while uploads are under way
		before, half := newUploadSession(admin, "/moved/here", "before", 5), newUploadSession(admin, "/moved/here",
			"half", 5)
		etag := putRaw(admin, half, "bytes").OK(200).Text("etag")
		admin.Put(mountsPath+"/"+id, M{"providerId": second}).OK(200)
		completeUpload(admin, half, etag).OK(200)
		completeUpload(admin, before, putRaw(admin, before, "hello").OK(200).Text("etag")).OK(200)
		admin.Upload("/moved/here", "new", []byte("new"))
		for range 3 {
			collectGarbage(l, admin)
			for name, body := range map[string]string{"f": "old", "half": "bytes", "before": "hello", "new": "new"} {
				wantBody(t, admin.Get("/moved/here/"+name).OK(200), body)
			}
		}
		wantJSON(t, "objects at the first provider", len(bucketObjects(t, l, "first")), 3)
		wantJSON(t, "objects at the second", len(bucketObjects(t, l, "second")), 1)
		wantStatus(t, "the first is in use", admin.Delete(providersPath+"/"+first), 409, "OPERATION_FAILED")
		wantStatus(t, "its bucket too", admin.Put(providersPath+"/"+first, M{"bucket": "third"}), 409,
			"OPERATION_FAILED")
		admin.Post("/api/files/"+file+"/move", M{"targetPath": "/moved/here", "newName": "renamed"}).OK(200)
		wantBody(t, admin.Get("/moved/here/renamed").OK(200), "old")

		// abuse case C24: priority
		kept := newUploadSession(admin, "/moved/here", "kept", 5)
		etag = putRaw(admin, kept, "hello").OK(200).Text("etag")
		over := addMount(admin, first, "/moved", M{"priority": 1})
		getFromEachReplica("/moved/here/new", 404)
		wantJSON(t, "hidden", listFolder(admin, "/moved").OK(200).Value("items"), []string{})
		wantStatus(t, "a hidden mount gets no uploads", completeUpload(admin, kept, etag), 409, "OPERATION_FAILED")
		admin.Put(mountsPath+"/"+id, M{"priority": 2}).OK(200)
		getFromEachReplica("/moved/here/new", 200)
		completeUpload(admin, kept, etag).OK(200)
		wantJSON(t, "the mount of the file", admin.Get("/api/files/"+entryIDOf(admin, "/moved/here",
			"kept")).OK(200).Value("mount.id"), id)
		wantBody(t, admin.Get("/moved/here/kept").OK(200), "hello")
		wantJSON(t, "objects at the second", len(bucketObjects(t, l, "second")), 2)
		wantJSON(t, "nothing in the other", listFolder(admin, "/moved", "type",
			"file").OK(200).Value("pagination.total"), 0)
		admin.Delete(mountsPath + "/" + over).OK(200)
	})
}

// Abuse case C19: entries of an outer mount under the path of an inner mount do not exist for any
// request.
func TestInnerMounts(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin := l.Admin(t)
		pub := mkdir(admin, "/", "pub")
		mkdir(admin, "/pub", "priv")
		deep := mkdir(admin, "/pub/priv", "deep")
		outer := admin.Upload("/pub/priv", "outer.txt", []byte("outer"))
		beside := admin.Upload("/pub", "beside.txt", []byte("beside"))
		link := admin.Post("/api/files/"+outer+"/link", nil).OK(200).Text("link.url")
		token := downloadURL(admin, outer)
		begun := newUploadSession(admin, "/pub/priv", "late.txt", 5)
		etag := putRaw(admin, begun, "hello").OK(200).Text("etag")
		ahead := newUploadSession(admin, "/pub/new/folder", "ahead.txt", 5)
		etagAhead := putRaw(admin, ahead, "hello").OK(200).Text("etag")
		addRule(admin, M{"pathPattern": "/pub/**", "effect": "allow", "role": "guest",
			"permissions": []string{"read", "download"}})
		addRule(admin, M{"pathPattern": "/pub/priv/**", "effect": "deny", "role": "guest"})
		visitor := l.Client(t)

		other := addProvider(admin, "inner")
		id := addMount(admin, other, "/pub/priv")
		for range len(l.Apps) {
			wantStatus(t, "public path", admin.Get("/pub/priv/outer.txt"), 404, "NOT_FOUND")
			wantStatus(t, "public path for a visitor", visitor.Get("/pub/priv/outer.txt"), 401, "UNAUTHORIZED")
			wantStatus(t, "details", admin.Get("/api/files/"+outer), 404, "NOT_FOUND")
			wantStatus(t, "download", admin.Get("/api/files/"+outer+"/download"), 404, "NOT_FOUND")
			wantStatus(t, "a token from before", visitor.Get(token), 404, "NOT_FOUND")
			wantStatus(t, "a link from before", visitor.Get(link), 404, "NOT_FOUND")
			wantStatus(t, "a new link", admin.Post("/api/files/"+outer+"/link", nil), 404, "NOT_FOUND")
			wantStatus(t, "renaming", admin.Put("/api/files/"+outer, M{"name": "x"}), 404, "NOT_FOUND")
			wantStatus(t, "deleting", admin.Delete("/api/files/"+outer), 404, "NOT_FOUND")
			wantStatus(t, "moving", admin.Post("/api/files/"+outer+"/move", M{"targetPath": "/uploads"}), 404,
				"NOT_FOUND")
			wantStatus(t, "a folder in it", admin.Get("/api/files?path=/pub/priv/deep"), 404, "NOT_FOUND")
			wantStatus(t, "that folder", admin.Get("/api/files/"+deep), 404, "NOT_FOUND")
			wantJSON(t, "listing", listFolder(admin, "/pub/priv").OK(200).Value("items"), []string{})
			wantJSON(t, "searching", listFolder(admin, "/pub", "search", "outer").OK(200).Value("pagination.total"), 0)
		}
		wantStatus(t, "an upload that began there", completeUpload(admin, begun, etag), 409, "OPERATION_FAILED")

		onNew := addMount(admin, other, "/pub/new")
		wantStatus(t, "an upload to where a mount has come to lie", completeUpload(admin, ahead, etagAhead), 409,
			"OPERATION_FAILED")
		wantJSON(t, "no entry was created", listFolder(admin, "/pub/new").OK(200).Value("items"), []string{})
		admin.Delete(mountsPath + "/" + onNew).OK(200)
		wantStatus(t, "no folder was left behind", admin.Get("/api/files?path=/pub/new"), 404, "NOT_FOUND")
		completeUpload(admin, ahead, etagAhead).OK(200)

		// uploads go to the inner mount's provider
		admin.Upload("/pub/priv/new/folder", "inner.txt", []byte("inner"))
		putWithKey(admin.Key(M{"uploadPath": "/pub/priv"}), "small.txt", "small")
		admin.Upload("/pub", "outside.txt", []byte("outside"))
		wantJSON(t, "objects of the inner provider", len(bucketObjects(t, l, "inner")), 2)
		wantBody(t, admin.Get("/pub/priv/new/folder/inner.txt").OK(200), "inner")
		wantStatus(t, "a visitor", visitor.Get("/pub/priv/new/folder/inner.txt"), 401, "UNAUTHORIZED")
		wantBody(t, visitor.Get("/pub/beside.txt").OK(200), "beside")

		// a folder above a mount cannot be changed, with everything in it
		for what, reply := range map[string]*apptest.Reply{
			"renaming": admin.Put("/api/files/"+pub, M{"name": "x"}), "deleting": admin.Delete("/api/files/" + pub),
			"moving": admin.Post("/api/files/"+pub+"/move", M{"targetPath": "/uploads"}),
			"a file on top of a mount": admin.Post("/api/files/"+beside+"/move",
				M{"targetPath": "/pub", "newName": "priv"}),
		} {
			wantStatus(t, what, reply, 409, "OPERATION_FAILED")
		}
		wantStatus(t, "a folder of its name", admin.Post("/api/files/folder", M{"path": "/pub", "name": "priv"}), 409,
			"ALREADY_EXISTS")
		wantStatus(t, "a file of its name", admin.Put("/api/files/"+beside, M{"name": "priv"}), 409, "ALREADY_EXISTS")

		// when the inner mount is deleted, the outer entries are back unchanged
		wantStatus(t, "a mount with files", admin.Delete(mountsPath+"/"+id), 409, "OPERATION_FAILED")
		admin.Put(mountsPath+"/"+id, M{"mountPath": "/elsewhere"}).OK(200)
		wantBody(t, admin.Get("/pub/priv/outer.txt").OK(200), "outer")
		wantBody(t, admin.Get("/elsewhere/new/folder/inner.txt").OK(200), "inner")
		completeUpload(admin, begun, etag).OK(200)
		admin.Put("/api/files/"+pub, M{"name": "public pictures"}).OK(200)
	})
}

// A move between mounts of one provider changes no object.
func TestMovesBetweenMountsOfOneProvider(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin := l.Admin(t)
		id := addProvider(admin, "one")
		addMount(admin, id, "/a")
		addMount(admin, id, "/b")
		folder := mkdir(admin, "/a", "folder")
		admin.Upload("/a/folder", "f", []byte("body"))
		before := bucketObjects(t, l, "one")
		moved := admin.Post("/api/files/"+folder+"/move", M{"targetPath": "/b"}).OK(200)
		wantJSON(t, "the job", admin.Get("/api/files/jobs/"+moved.Text("jobId")).OK(200).Value("job.status"),
			"completed")
		wantBody(t, admin.Get("/b/folder/f").OK(200), "body")
		wantStatus(t, "the old place", admin.Get("/a/folder/f"), 404, "NOT_FOUND")
		wantStrings(t, "objects", bucketObjects(t, l, "one"), before...)
	})
}

func TestMountDeletion(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, alice := l.Admin(t), l.User(t, "alice")
		local := admin.Get(providersPath).OK(200).Text("providers.0.id")
		id := addMount(admin, local, "/m")
		mkdir(admin, "/m", "one")
		inner := mkdir(admin, "/m/one", "two")
		rule := addRule(admin, M{"pathPattern": "/m/one/**", "effect": "deny", "role": "user", "mountId": id})
		allow := addRule(admin, M{"pathPattern": "/**", "effect": "allow", "role": "user", "mountId": id})
		others := addRule(admin, M{"pathPattern": "/m/**", "effect": "deny", "role": "guest"})
		file := admin.Upload("/m/one/two", "f", []byte("body"))
		wantStatus(t, "with a file", admin.Delete(mountsPath+"/"+id), 409, "OPERATION_FAILED")
		wantBody(t, admin.Get("/m/one/two/f").OK(200), "body")
		admin.Delete("/api/files/" + file).OK(200)
		begun := newUploadSession(admin, "/m/one", "late", 5)
		etag := putRaw(admin, begun, "hello").OK(200).Text("etag")
		rows := queryInt(t, l, "SELECT COUNT(*) FROM entries")
		admin.Delete(mountsPath + "/" + id).OK(200)
		for range 2 * len(l.Apps) {
			wantStatus(t, "a folder in it", admin.Get("/api/files/"+inner), 404, "NOT_FOUND")
			wantStatus(t, "its path", admin.Get("/m/one/two/f"), 404, "NOT_FOUND")
			wantStatus(t, "an upload that began there", completeUpload(admin, begun, etag), 409, "OPERATION_FAILED")
		}
		l.Sweep()
		wantJSON(t, "rows", queryInt(t, l, "SELECT COUNT(*) FROM entries"), rows-3)
		wantUsed(t, admin, 0, 0)

		// its rules are deleted with it and cannot apply to another mount
		wantJSON(t, "rules of the mount", queryInt(t, l, "SELECT COUNT(*) FROM rules WHERE id IN ($1, $2)", rule,
			allow), 0)
		wantJSON(t, "other rules", queryInt(t, l, "SELECT COUNT(*) FROM rules WHERE id = $1", others), 1)
		mkdir(admin, "/", "secret")
		for range len(l.Apps) {
			wantStatus(t, "a folder that the rule never allowed", alice.Get("/api/files?path=/secret"), 403,
				"FORBIDDEN")
		}
		wantStatus(t, "a rule for it", admin.Post("/api/admin/rules", newRule(M{"mountId": id})), 400,
			"VALIDATION_ERROR")

		// the mount at / follows the same rule
		root := admin.Get(mountsPath).OK(200).Text("mounts.0.id")
		kept := admin.Upload("/uploads", "f", []byte("x"))
		wantStatus(t, "/ with a file", admin.Delete(mountsPath+"/"+root), 409, "OPERATION_FAILED")
		admin.Delete("/api/files/" + kept).OK(200)
		admin.Delete(mountsPath + "/" + root).OK(200)
		for range len(l.Apps) {
			wantJSON(t, "no mount", admin.Get(mountsPath).OK(200).Value("mounts"), []string{})
			wantStatus(t, "her home", alice.Get("/api/files?path=/home/alice"), 404, "NOT_FOUND")
			wantStatus(t, "uploading there", postUploadSession(alice, "/home/alice", "f", 1), 404, "NOT_FOUND")
			wantJSON(t, "she herself", alice.Get("/api/auth/me").OK(200).Value("user.username"), "alice")
		}
		wantJSON(t, "an account without a home",
			admin.Post("/api/admin/users", newUser(M{"username": "bob", "email": "bob@example.org"})).OK(201).
				Value("user.defaultPath"), "/")
		l.SignIn(t, "bob", "a good password").Get("/api/auth/me").OK(200)

		// homes are created in the mount at /home; a home does not get the name of a mount
		addMount(admin, local, "/home")
		addMount(admin, local, "/home/carl")
		wantJSON(t, "a home beside a mount", admin.Post("/api/admin/users",
			newUser(M{"username": "carl", "email": "carl@example.org"})).OK(201).Value("user.defaultPath"),
			"/home/carl-2")
		carl := l.SignIn(t, "carl", "a good password")
		carl.Upload("/home/carl-2", "f", []byte("x"))
		wantStatus(t, "the mount of the name", carl.Get("/api/files?path=/home/carl"), 403, "FORBIDDEN")
	})
}

// Abuse case C22: of a mount's deletion and an upload into it, exactly one succeeds, and nothing is
// left over.
func TestMountDeletionRacesUploads(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		l.ChangeSettings(t, func(s *site.Settings) { s.RateLimitEnabled = false })
		rounds := 30
		if len(l.Apps) > 1 {
			rounds = 100
		}
		admin := l.Admin(t)
		local := admin.Get(providersPath).OK(200).Text("providers.0.id")
		outcome := map[string]int{}
		for round := range rounds {
			path := fmt.Sprint("/race", round)
			id := addMount(admin, local, path)
			begun := newUploadSession(admin, path+"/new", "f", 5)
			etag := putRaw(admin, begun, "hello").OK(200).Text("etag")
			replies := runConcurrently(t, admin, 2, func(c *apptest.Client, i int) *apptest.Reply {
				if i == round%2 {
					return c.Delete(mountsPath + "/" + id)
				}
				return completeUpload(c, begun, etag)
			})
			deleted, uploaded := replies[round%2], replies[1-round%2]
			what := fmt.Sprint(deleted.Status, " ", uploaded.Status)
			outcome[what]++
			switch what {
			case "200 404", "200 409":
				wantStatus(t, "the path", admin.Get(path+"/new/f"), 404, "NOT_FOUND")
			case "409 200":
				wantBody(t, admin.Get(path+"/new/f").OK(200), "hello")
				admin.Delete("/api/files/" + uploaded.Text("file.id")).OK(200)
				admin.Delete(mountsPath + "/" + id).OK(200)
			default:
				t.Errorf("round %d: %s and %s", round, deleted.Body, uploaded.Body)
			}
			if deleted.Status == 200 {
				abortUpload(admin, begun).OK(200)
			}
		}
		t.Log(outcome)
		collectGarbage(l, admin)
		l.Sweep()
		wantUsed(t, admin, 0, 0)
		wantJSON(t, "orphans", queryInt(t, l,
			"SELECT COUNT(*) FROM entries e WHERE e.parent_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM entries p "+
				"WHERE p.id = e.parent_id)"), 0)
		wantJSON(t, "entries: the root of /, its three folders, the graveyard, the staging root, the trash",
			queryInt(t, l, "SELECT COUNT(*) FROM entries"), 7)
		wantJSON(t, "objects", queryInt(t, l, "SELECT COUNT(*) FROM objects"), 0)
		wantJSON(t, "reserved", queryInt(t, l,
			"SELECT COALESCE(SUM(reserved_storage + reserved_files), 0) FROM quotas"), 0)
		wantJSON(t, "in the store", len(bucketObjects(t, l, "default")), 0)
	})
}

// Over HTTP, a mount is a folder of its parent. So are the virtual folders above it, which belong
// to no mount and cannot be opened by id.
func TestMountsInListings(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin := l.Admin(t)
		id := addMount(admin, addProvider(admin, "p"), "/data/photos")
		admin.Upload("/data/photos", "x.jpg", []byte("x"))
		wantStrings(t, "the root", listNames(admin, "/"), "data", "home", "public", "uploads")
		r := listFolder(admin, "/data").OK(200)
		wantStrings(t, "a virtual folder", r.Names("items"), "photos")
		wantJSON(t, "its mount", r.Value("mount"), nil)
		wantJSON(t, "its entry", r.Value("folder"), nil)
		wantJSON(t, "the total", r.Value("pagination.total"), 1)
		root := listFolder(admin, "/data/photos").OK(200)
		wantJSON(t, "the mount", root.Value("mount.id"), id)
		wantJSON(t, "the item is its root entry", r.Value("items.0.id"), root.Value("folder.id"))
		virtual := listFolder(admin, "/", "search", "data").OK(200)
		wantJSON(t, "its type", virtual.Value("items.0.type"), "folder")
		admin.Get("/api/files/"+virtual.Text("items.0.id")).Fails(404, "NOT_FOUND")
		admin.Post("/api/files/folder", M{"path": "/data", "name": "new"}).Fails(404, "NOT_FOUND")
		wantStrings(t, "search", listNames(admin, "/", "search", ".jpg"), "x.jpg")
	})
}
