package api_test

import (
	"strings"
	"testing"

	"larder/internal/apptest"
	"larder/internal/site"
)

// The forms of storage providers and mounts show a refusal beside the field that is at fault.
func TestRefusedStorageNamesTheField(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin := l.Admin(t)
		local := admin.Get(providersPath).OK(200).Text("providers.0.id")
		field := func(path string, body M, change M, want string) {
			t.Helper()
			refused := admin.Post(path, body.With(change)).Fails(400, "VALIDATION_ERROR").Object()["error"]
			wantJSON(t, "the field", refused.(map[string]any)["field"], want)
		}
		bucket := M{"name": "far", "type": "store_b", "endpoint": "https://s3.example.org", "bucket": "photos",
			"accessKeyId": "key", "secretAccessKey": "secret"}
		for want, change := range map[string]M{
			"name": {"name": " "}, "bucket": {"bucket": "x"},
			"region": {"region": "eu 1"}, "pathPrefix": {"pathPrefix": "../x"}, "publicDomain": {"publicDomain": "a b"},
			"uploadDomain": {"uploadDomain": "ftp://x"}, "endpoint": {"endpoint": "s3"},
			"accessKeyId": {"accessKeyId": ""}, "secretAccessKey": {"secretAccessKey": "a b"},
		} {
			field(providersPath, bucket, change, want)
		}
		field(providersPath, bucket, M{"endpoint": "http://127.0.0.1:9"}, "endpoint")

		mount := M{"providerId": local, "mountPath": "/photos", "name": "Photos"}
		for _, row := range []struct {
			field string
			value any
		}{
			{"mountPath", "/api/photos"}, {"mountPath", "photos/../x"}, {"mountPath", "/" + strings.Repeat("a/", 70)},
			{"name", "\t"}, {"providerId", unknownID},
		} {
			field(mountsPath, mount, M{row.field: row.value}, row.field)
		}
	})
}

// A mount is public when a visitor may download from its path, which no other mount covers.
func TestPublicMounts(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin := l.Admin(t)
		local := admin.Get(providersPath).OK(200).Text("providers.0.id")
		addMount(admin, local, "/public/trip", M{"name": "inside"})
		covered := addMount(admin, local, "/photos", M{"name": "covered"})
		addMount(admin, local, "/photos", M{"name": "open", "priority": 1})
		addMount(admin, local, "/private", M{"name": "closed"})
		public := func() string {
			t.Helper()
			var names []string
			list := admin.Get(mountsPath).OK(200)
			for i, name := range list.Names("mounts") {
				if list.Value("mounts."+string(rune('0'+i))+".public") == true {
					names = append(names, name)
				}
			}
			return strings.Join(names, " ")
		}
		wantJSON(t, "with the first rules", public(), "inside")
		rule := addRule(admin, M{"pathPattern": "/photos/**", "effect": "allow", "role": "guest"})
		wantJSON(t, "with a rule", public(), "open inside")
		wantJSON(t, "one changed", admin.Put(mountsPath+"/"+covered, M{"name": "still covered"}).OK(200).
			Value("mount.public"), false)
		root := listFolder(admin, "/photos").OK(200).Text("folder.id")
		admin.Put("/api/files/"+root, M{"accessPassword": "open sesame"}).OK(200)
		wantJSON(t, "behind a password", public(), "inside")
		admin.Put("/api/files/"+root, M{"accessPassword": nil}).OK(200)
		l.ChangeSettings(t, func(s *site.Settings) { s.AllowGuestAccess = false })
		wantJSON(t, "without visitors", public(), "")
		l.ChangeSettings(t, func(s *site.Settings) { s.AllowGuestAccess = true })
		admin.Delete("/api/admin/rules/" + rule).OK(200)
		wantJSON(t, "without the rule", public(), "inside")
	})
}
