package api_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"larder/internal/apptest"
)

var mountFields = []string{
	"id", "providerId", "providerName", "mountPath", "name", "sortBy", "sortOrder", "priority", "hidden", "public",
	"createdAt", "updatedAt",
}

func TestMounts(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin := l.Admin(t)
		me := admin.Get("/api/auth/me").OK(200)
		local := admin.Get(providersPath).OK(200).Text("providers.0.id")
		seeded := admin.Get(mountsPath).OK(200)
		wantFields(t, "data", seeded.Object()["data"], "mounts")
		wantFields(t, "a mount", seeded.Value("mounts.0"), mountFields...)
		for field, want := range (M{
			"providerId": local, "providerName": "local", "mountPath": "/", "name": "Files", "sortBy": "name",
			"sortOrder": "asc", "priority": 0, "hidden": false,
		}) {
			wantJSON(t, "seeded "+field, seeded.Value("mounts.0."+field), want)
		}
		l.Clock.Advance(time.Second)
		now := l.Clock.Now().UnixMilli()
		plain := admin.Post(mountsPath, M{"providerId": local, "mountPath": "/plain", "name": "Plain"}).OK(201)
		wantFields(t, "data", plain.Object()["data"], "mount")
		wantFields(t, "mount", plain.Value("mount"), mountFields...)
		for field, want := range (M{
			"providerId": local, "providerName": "local", "mountPath": "/plain", "name": "Plain", "sortBy": "name",
			"sortOrder": "asc", "priority": 0, "hidden": false,
			"createdAt": now, "updatedAt": now,
		}) {
			wantJSON(t, field, plain.Value("mount."+field), want)
		}
		other := addProvider(admin, "other")
		full := admin.Post(mountsPath, M{
			// abuse case C52
			"providerId": other, "mountPath": "//a/./b/", "name": "Ä / b", "sortBy": "time", "sortOrder": "desc",
			"priority": 5, "id": unknownID, "rootId": "x", "Priority": 9,
		}).OK(201)
		id := full.Text("mount.id")
		if id == unknownID {
			t.Error("the client chose the id")
		}
		for field, want := range (M{
			"providerId": other, "providerName": "other", "mountPath": "/a/b", "name": "Ä / b", "sortBy": "time",
			"sortOrder": "desc", "priority": 5, "hidden": false,
		}) {
			wantJSON(t, field, full.Value("mount."+field), want)
		}

		// its root is an empty folder of the administrator's that is charged to nobody
		root := listFolder(admin, "/a/b").OK(200)
		for field, want := range (M{"items": []string{}, "folder.ownerId": me.Value("user.id"), "folder.type": "folder",
			"folder.name": "b", "folder.path": "/a", "mount.id": id, "mount.name": "Ä / b", "mount.sortBy": "time",
			"mount.sortOrder": "desc"}) {
			wantJSON(t, "the root's "+field, root.Value(field), want)
		}
		wantUsed(t, admin, 0, 0)
		for _, what := range []*apptest.Reply{
			admin.Put("/api/files/"+root.Text("folder.id"), M{"name": "c"}),
			admin.Delete("/api/files/" + root.Text("folder.id")),
			admin.Post("/api/files/"+root.Text("folder.id")+"/move", M{"targetPath": "/uploads"}),
		} {
			wantStatus(t, "changing a root", what, 409, "OPERATION_FAILED")
		}

		// one path twice, in order of priority; of equal priorities the older mount wins
		addMount(admin, local, "/a/b", M{"priority": 7, "name": "high"})
		l.Clock.Advance(time.Second)
		addMount(admin, local, "/a/b", M{"priority": 5, "name": "late"})
		addMount(admin, local, "/a", M{"name": "above"})
		list := admin.Get(mountsPath).OK(200)
		wantStrings(t, "the list", list.Names("mounts"), "Files", "above", "high", "Ä / b", "late", "Plain")
		for i, want := range []bool{false, false, false, true, true, false} {
			wantJSON(t, fmt.Sprint("hidden ", i), list.Value(fmt.Sprintf("mounts.%d.hidden", i)), want)
		}

		changed := admin.Put(mountsPath+"/"+id,
			M{"name": "N", "sortBy": "manual", "sortOrder": "asc", "priority": -1000000, "mountPath": "/c",
				"providerId": local, "id": unknownID}).OK(200)
		wantFields(t, "data of PUT", changed.Object()["data"], "mount")
		for field, want := range (M{
			"id": id, "providerId": local, "providerName": "local", "mountPath": "/c", "name": "N", "sortBy": "manual",
			"sortOrder": "asc", "priority": -1000000, "hidden": true,
			"createdAt": now, "updatedAt": now + 1000,
		}) {
			wantJSON(t, field+" after PUT", changed.Value("mount."+field), want)
		}
		wantJSON(t, "PUT of nothing", admin.Put(mountsPath+"/"+id, M{}).OK(200).Value("mount.name"), "N")
		wantJSON(t, "PUT of null", admin.Put(mountsPath+"/"+id,
			M{"name": nil, "mountPath": nil, "priority": nil, "providerId": nil}).OK(200).Value("mount.mountPath"),
			"/c")
		wantJSON(t, "data of DELETE", admin.Delete(mountsPath + "/" + id).OK(200).Object()["data"], nil)
		for _, none := range []string{id, unknownID, "x", "%27"} {
			wantStatus(t, "DELETE of an unknown id", admin.Delete(mountsPath+"/"+none), 404, "NOT_FOUND")
			wantStatus(t, "PUT of an unknown id", admin.Put(mountsPath+"/"+none, M{"name": "x"}), 404, "NOT_FOUND")
		}
	})
}

func TestMountsRefuse(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite")
	admin := l.Admin(t)
	local := admin.Get(providersPath).OK(200).Text("providers.0.id")
	before := len(admin.Get(mountsPath).OK(200).Names("mounts"))
	deep := func(levels int) string { return strings.Repeat("/d", levels) }
	wide := strings.Repeat("/"+strings.Repeat("w", 255), 16) // 4096 bytes
	made := 0
	rows := []struct {
		name   string
		change M
		status int
	}{
		{"as it is", nil, 201},
		{"no provider", M{"providerId": nil}, 400},
		{"an empty provider", M{"providerId": ""}, 400},
		{"an unknown provider", M{"providerId": unknownID}, 400},
		{"a provider's name", M{"providerId": "local"}, 400},
		{"a provider that is a number", M{"providerId": 5}, 400},
		{"no path", M{"mountPath": nil}, 400},
		{"an empty path", M{"mountPath": ""}, 400},
		{"a relative path", M{"mountPath": "m"}, 400},
		{"..", M{"mountPath": "/a/../b"}, 400},
		{"a backslash", M{"mountPath": `/a\b`}, 400},
		{"a NUL", M{"mountPath": "/a\x00"}, 400},
		{"a space at the end", M{"mountPath": "/a "}, 400},
		{"a segment of 255", M{"mountPath": "/" + strings.Repeat("é", 255)}, 201},
		{"a segment of 256", M{"mountPath": "/" + strings.Repeat("é", 256)}, 400},
		{"64 levels", M{"mountPath": deep(64)}, 201},
		{"65 levels", M{"mountPath": deep(65)}, 400},
		{"4096 bytes", M{"mountPath": wide}, 201},
		{"4097 bytes", M{"mountPath": wide[:4090] + "/" + strings.Repeat("w", 6)}, 400},
		{"/", M{"mountPath": "/"}, 201},
		{"a path that is a list", M{"mountPath": []string{"/a"}}, 400},
		// abuse case C21
		{"/api", M{"mountPath": "/api"}, 400},
		{"/API", M{"mountPath": "/API"}, 400},
		{"/webdav/x", M{"mountPath": "/webdav/x"}, 400},
		{"/share", M{"mountPath": "/share"}, 400},
		{"/app", M{"mountPath": "//App/"}, 400},
		{"/Robots.txt", M{"mountPath": "/Robots.txt"}, 400},
		{"/favicon.ico", M{"mountPath": "/favicon.ico/x"}, 400},
		{"/shared", M{"mountPath": "/shared"}, 201},
		{"/x/api", M{"mountPath": "/x/api"}, 201},
		{"no name", M{"name": nil}, 400},
		{"an empty name", M{"name": ""}, 400},
		{"a blank name", M{"name": "  "}, 400},
		{"a name of 255", M{"name": strings.Repeat("é", 255)}, 201},
		{"a name of 256", M{"name": strings.Repeat("é", 256)}, 400},
		{"a line break in the name", M{"name": "a\nb"}, 400},
		{"a name that is an object", M{"name": M{}}, 400},
		{"sortBy name", M{"sortBy": "name"}, 201},
		{"sortBy time", M{"sortBy": "time"}, 201},
		{"sortBy size", M{"sortBy": "size"}, 201},
		{"sortBy manual", M{"sortBy": "manual"}, 201},
		{"sortBy unknown", M{"sortBy": "colour"}, 400},
		{"sortBy null", M{"sortBy": nil}, 201},
		{"sortOrder asc", M{"sortOrder": "asc"}, 201},
		{"sortOrder desc", M{"sortOrder": "desc"}, 201},
		{"sortOrder in capitals", M{"sortOrder": "DESC"}, 400},
		{"priority null", M{"priority": nil}, 201},
		{"priority a string", M{"priority": "1"}, 400},
		{"priority 1.5", M{"priority": 1.5}, 400},
		{"priority -1000000", M{"priority": -1000000}, 201},
		{"priority -1000001", M{"priority": -1000001}, 400},
		{"priority 1000000", M{"priority": 1000000, "mountPath": "/top"}, 201},
		{"priority 1000001", M{"priority": 1000001}, 400},
		{"priority 1e300", M{"priority": 1e300}, 400},
		{"additional fields", M{"MountPath": "/api", "createdAt": "x"}, 201},
	}
	for _, row := range rows {
		body := M{"providerId": local, "mountPath": "/m", "name": "M"}.With(row.change)
		code := map[int]string{400: "VALIDATION_ERROR"}[row.status]
		wantStatus(t, row.name, admin.Post(mountsPath, body), row.status, code)
		if row.status == 201 {
			made++
		}
	}
	wantJSON(t, "mounts", len(admin.Get(mountsPath).OK(200).Names("mounts")), before+made)
	wantJSON(t, "roots, the graveyard, the staging root and the trash",
		queryInt(t, l, "SELECT COUNT(*) FROM entries WHERE parent_id IS NULL"), before+made+3)

	id := addMount(admin, local, "/put")
	for _, row := range rows {
		for field, value := range row.change {
			if row.status == 400 && value != nil && len(row.change) == 1 {
				rows := tablesDigest(t, l)
				wantStatus(t, "PUT "+row.name, admin.Put(mountsPath+"/"+id, M{field: value}), 400, "VALIDATION_ERROR")
				if tablesDigest(t, l) != rows {
					t.Errorf("PUT %s changed a row", row.name)
				}
			}
		}
	}
	// the contents of a mount must fit at its new path
	mkdir(admin, "/put", "one")
	mkdir(admin, "/put/one", "two")
	wantStatus(t, "PUT 63 levels above two", admin.Put(mountsPath+"/"+id, M{"mountPath": "/q" + deep(62)}), 400,
		"VALIDATION_ERROR")
	wantStatus(t, "PUT 62 levels above two", admin.Put(mountsPath+"/"+id, M{"mountPath": "/q" + deep(61)}), 200, "")
	wantJSON(t, "two is there", listFolder(admin, "/q"+deep(61)+"/one/two").OK(200).Value("items"), []string{})
}
