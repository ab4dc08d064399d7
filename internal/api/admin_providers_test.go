package api_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"larder/internal/apptest"
)

var providerFields = []string{
	"id", "name", "type", "endpoint", "region", "bucket", "accessKeyId", "publicDomain", "uploadDomain", "pathPrefix",
	"uploadMode", "redirect",
	"mountCount", "status", "createdAt", "updatedAt",
}

func TestStorageProviders(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin := l.Admin(t)
		seeded := admin.Get(providersPath).OK(200)
		wantFields(t, "data", seeded.Object()["data"], "providers")
		wantFields(t, "a provider", seeded.Value("providers.0"), providerFields...)
		for field, want := range (M{
			"name": "local", "type": "store_a", "bucket": "default", "region": "auto", "endpoint": "",
			"accessKeyId": "", "publicDomain": "", "uploadDomain": "",
			"pathPrefix": "", "uploadMode": "auto", "redirect": false, "mountCount": 1, "status": "ok",
		}) {
			wantJSON(t, "seeded "+field, seeded.Value("providers.0."+field), want)
		}

		l.Clock.Advance(time.Second)
		now := l.Clock.Now().UnixMilli()
		plain := admin.Post(providersPath, newProvider(nil)).OK(201)
		wantFields(t, "data", plain.Object()["data"], "provider")
		wantFields(t, "provider", plain.Value("provider"), providerFields...)
		for field, want := range (M{
			"name": "Archive", "type": "store_a", "bucket": "archive", "region": "auto", "endpoint": "",
			"accessKeyId": "", "publicDomain": "", "uploadDomain": "",
			"pathPrefix": "", "uploadMode": "auto", "redirect": false, "mountCount": 0, "status": "ok",
			"createdAt": now, "updatedAt": now,
		}) {
			wantJSON(t, field, plain.Value("provider."+field), want)
		}
		id := plain.Text("provider.id")
		full := M{
			"name": "Full", "type": "store_a", "bucket": "Full_1.a-b", "region": "eu-1", "endpoint": "",
			"accessKeyId": nil, "secretAccessKey": "", "publicDomain": "https://cdn.example.org/x",
			// abuse case C52
			"uploadDomain": "up.example.org:8443", "pathPrefix": "/a/b/", "uploadMode": "worker", "redirect": true,
			"id": unknownID, "NAME": "other", "marker": "x", "createdAt": 1,
		}
		made := admin.Post(providersPath, full).OK(201)
		for field, want := range (M{
			"name": "Full", "bucket": "Full_1.a-b", "region": "eu-1", "publicDomain": "https://cdn.example.org/x",
			"uploadDomain": "up.example.org:8443", "pathPrefix": "a/b",
			"uploadMode": "worker", "redirect": true, "createdAt": now,
		}) {
			wantJSON(t, field, made.Value("provider."+field), want)
		}
		if made.Text("provider.id") == unknownID {
			t.Error("the client chose the id")
		}
		wantStrings(t, "the oldest first", admin.Get(providersPath).OK(200).Names("providers")[:1], "local")
		wantJSON(t, "how many", len(admin.Get(providersPath).OK(200).Names("providers")), 3)
		for _, bucket := range []string{"archive", "Full_1.a-b"} {
			if _, err := os.Stat(filepath.Join(l.Apps[0].Config.ObjectDir, bucket, ".larder-store")); err != nil {
				t.Error(err)
			}
		}

		l.Clock.Advance(time.Second)
		path := providersPath + "/" + made.Text("provider.id")
		changed := admin.Put(path, M{"name": "Other", "publicDomain": nil, "uploadDomain": "", "region": nil,
			"uploadMode": "presigned", "redirect": false, "id": unknownID}).OK(200)
		wantFields(t, "data of PUT", changed.Object()["data"], "provider")
		for field, want := range (M{
			"id": made.Text("provider.id"), "name": "Other", "type": "store_a", "bucket": "Full_1.a-b",
			"publicDomain": "", "uploadDomain": "", "region": "auto", "pathPrefix": "a/b",
			"uploadMode": "presigned", "redirect": false, "createdAt": now, "updatedAt": now + 1000,
		}) {
			wantJSON(t, field+" after PUT", changed.Value("provider."+field), want)
		}
		wantJSON(t, "PUT of nothing", admin.Put(path, M{}).OK(200).Value("provider.name"), "Other")
		wantJSON(t, "PUT of null", admin.Put(path,
			M{"name": nil, "type": nil, "bucket": nil}).OK(200).Value("provider.name"), "Other")
		wantJSON(t, "another bucket and prefix, while it is empty",
			admin.Put(path, M{"bucket": "elsewhere", "pathPrefix": nil}).OK(200).Value("provider.bucket"), "elsewhere")

		mount := addMount(admin, id, "/archive")
		wantJSON(t, "mountCount", admin.Put(providersPath+"/"+id, M{}).OK(200).Value("provider.mountCount"), 1)
		wantStatus(t, "DELETE with a mount", admin.Delete(providersPath+"/"+id), 409, "OPERATION_FAILED")
		admin.Delete(mountsPath + "/" + mount).OK(200)
		wantJSON(t, "data of DELETE", admin.Delete(providersPath + "/" + id).OK(200).Object()["data"], nil)
		for _, none := range []string{id, unknownID, "x", "%27", "local"} {
			wantStatus(t, "DELETE of an unknown id", admin.Delete(providersPath+"/"+none), 404, "NOT_FOUND")
			wantStatus(t, "PUT of an unknown id", admin.Put(providersPath+"/"+none, M{"name": "x"}), 404, "NOT_FOUND")
		}
		if _, err := os.Stat(filepath.Join(l.Apps[0].Config.ObjectDir, "archive", ".larder-store")); err != nil {
			t.Errorf("the directory was deleted with the provider: %v", err)
		}
		again := admin.Post(providersPath, newProvider(nil)).OK(201)
		if again.Text("provider.id") == id {
			t.Error("an id was reused")
		}
		before := tablesDigest(t, l) // abuse case C44
		for range 2 * len(l.Apps) {
			admin.Get(providersPath).OK(200)
			admin.Get(mountsPath).OK(200)
		}
		if tablesDigest(t, l) != before {
			t.Error("GET changed a row")
		}
	})
}

func TestStorageProvidersRefuse(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite")
	admin := l.Admin(t)
	long := strings.Repeat("a", 64)
	prefix := strings.Repeat(long+"/", 7) // 455 bytes with the slash at its end
	for _, row := range []struct {
		name   string
		change M
		status int
	}{
		{"as it is", nil, 201},
		{"no name", M{"name": nil}, 400},
		{"an empty name", M{"name": ""}, 400},
		{"a blank name", M{"name": " \t"}, 400},
		{"a name of 1", M{"name": "é"}, 201},
		{"a name of 100", M{"name": strings.Repeat("é", 100)}, 201},
		{"a name of 101", M{"name": strings.Repeat("é", 101)}, 400},
		{"a line break in the name", M{"name": "a\nb"}, 400},
		{"a name that is a number", M{"name": 5}, 400},
		{"no type", M{"type": nil}, 400},
		{"type unknown", M{"type": "s3"}, 400},
		{"type in capitals", M{"type": "STORE_A"}, 400},
		{"store_b", M{"type": "store_b", "endpoint": "https://s3.example.org", "accessKeyId": "AKIA",
			"secretAccessKey": "s"}, 400},
		{"store_c", M{"type": "store_c", "endpoint": "https://s3.example.org", "accessKeyId": "AKIA",
			"secretAccessKey": "s"}, 400},
		{"an endpoint", M{"endpoint": "https://s3.example.org"}, 400},
		{"an access key", M{"accessKeyId": "AKIA"}, 400},
		{"a secret", M{"secretAccessKey": "s"}, 400},
		{"an endpoint that is a number", M{"endpoint": 5}, 400},
		{"no bucket", M{"bucket": nil}, 400},
		{"an empty bucket", M{"bucket": ""}, 400},
		{"a bucket of 1", M{"bucket": "b"}, 201},
		{"a bucket of 63", M{"bucket": long[:63]}, 201},
		{"a bucket of 64", M{"bucket": long}, 400},
		{"bucket ..", M{"bucket": ".."}, 400},
		{"bucket .", M{"bucket": "."}, 400},
		{"a hidden bucket", M{"bucket": ".hidden"}, 400},
		{"a bucket with a slash", M{"bucket": "a/b"}, 400},
		{"a bucket with a backslash", M{"bucket": `a\b`}, 400},
		{"a bucket with a space", M{"bucket": "a b"}, 400},
		{"a bucket with a line break", M{"bucket": "archive\n"}, 400},
		{"a bucket in other scripts", M{"bucket": "éa"}, 400},
		{"a bucket that is a list", M{"bucket": []string{"a"}}, 400},
		{"a region of 64", M{"region": long}, 201},
		{"a region of 65", M{"region": long + "a"}, 400},
		{"a region with a space", M{"region": "eu 1"}, 400},
		{"publicDomain a host", M{"publicDomain": "cdn.example.org"}, 201},
		{"publicDomain an address in IPv4", M{"publicDomain": "192.0.2.1:80"}, 201},
		{"publicDomain an address in IPv6", M{"publicDomain": "http://[2001:db8::1]:80"}, 201},
		{"publicDomain with http", M{"publicDomain": "http://cdn.example.org/files"}, 201},
		{"publicDomain of 255", M{"publicDomain": "https://cdn.example.org/" + strings.Repeat("a", 255-24)}, 201},
		{"publicDomain of 256", M{"publicDomain": "https://cdn.example.org/" + strings.Repeat("a", 256-24)}, 400},
		{"publicDomain with ftp", M{"publicDomain": "ftp://cdn.example.org"}, 400},
		{"publicDomain a script", M{"publicDomain": "javascript:alert(1)"}, 400},
		{"publicDomain with a password", M{"publicDomain": "https://a:b@cdn.example.org"}, 400},
		{"publicDomain with a query", M{"publicDomain": "https://cdn.example.org/?a=b"}, 400},
		{"publicDomain with a fragment", M{"publicDomain": "https://cdn.example.org/#a"}, 400},
		{"publicDomain with a line break", M{"publicDomain": "cdn.example.org\r\nSet-Cookie: a=b"}, 400},
		{"publicDomain with quotes", M{"publicDomain": `https://cdn.example.org/"><script>`}, 400},
		{"publicDomain without a host", M{"publicDomain": "https:///x"}, 400},
		{"publicDomain a path", M{"publicDomain": "/cdn"}, 400},
		{"publicDomain blank", M{"publicDomain": " "}, 400},
		{"uploadDomain with ftp", M{"uploadDomain": "ftp://cdn.example.org"}, 400},
		{"uploadDomain a host", M{"uploadDomain": "up.example.org"}, 201},
		{"pathPrefix of two segments", M{"pathPrefix": "A/b.c_d-e"}, 201},
		{"pathPrefix a slash", M{"pathPrefix": "/"}, 201},
		{"pathPrefix with a segment of 64", M{"pathPrefix": long}, 201},
		{"pathPrefix with a segment of 65", M{"pathPrefix": long + "a"}, 400},
		{"pathPrefix of 459", M{"pathPrefix": prefix + "abcd"}, 201},
		{"pathPrefix of 460", M{"pathPrefix": prefix + "abcde"}, 400},
		{"pathPrefix with ..", M{"pathPrefix": "a/../b"}, 400},
		{"pathPrefix with an empty segment", M{"pathPrefix": "a//b"}, 400},
		{"pathPrefix tmp", M{"pathPrefix": "tmp/a"}, 400},
		{"pathPrefix with a space", M{"pathPrefix": "a b"}, 400},
		{"pathPrefix with a NUL", M{"pathPrefix": "a\x00"}, 400},
		{"uploadMode unknown", M{"uploadMode": "direct"}, 400},
		{"uploadMode null", M{"uploadMode": nil}, 201},
		{"uploadMode presigned", M{"uploadMode": "presigned"}, 201},
		{"redirect a string", M{"redirect": "true"}, 400},
		{"redirect null", M{"redirect": nil}, 201},
		{"additional fields", M{"secret": "x", "Type": "store_b", "mountCount": 5}, 201},
	} {
		code := map[int]string{400: "VALIDATION_ERROR"}[row.status]
		wantStatus(t, row.name, admin.Post(providersPath, newProvider(row.change)), row.status, code)
	}
	entries, err := os.ReadDir(l.Apps[0].Config.ObjectDir)
	if err != nil {
		t.Fatal(err)
	}
	var dirs []string
	for _, entry := range entries {
		dirs = append(dirs, entry.Name())
	}
	wantStrings(t, "directories", dirs, slices.Sorted(slices.Values([]string{"archive", "b", long[:63], "default"}))...)

	id := addProvider(admin, "mine")
	for name, body := range map[string]M{
		"name": {"name": ""}, "type": {"type": "store_b"}, "an endpoint": {"endpoint": "https://s3.example.org"},
		"bucket": {"bucket": ""}, "prefix": {"pathPrefix": "a//b"},
		"domain": {"publicDomain": "x y"}, "mode": {"uploadMode": ""}, "a secret": {"secretAccessKey": "geheim"},
	} {
		before := tablesDigest(t, l)
		reply := admin.Put(providersPath+"/"+id, body)
		wantStatus(t, "PUT "+name, reply, 400, "VALIDATION_ERROR")
		if tablesDigest(t, l) != before || strings.Contains(string(reply.Body), "geheim") { // abuse case C115
			t.Errorf("PUT %s changed a row or reveals a secret: %s", name, reply.Body)
		}
	}
	for _, body := range []string{"[]", "null", `"x"`, "{", `{"name":"x"`, ""} {
		wantStatus(t, "POST of "+body, admin.Post(providersPath, body, "Content-Type", "application/json"), 400,
			"VALIDATION_ERROR")
	}
}

// A directory that contains anything except this database's store of that bucket is refused and
// left unchanged.
func TestForeignBucketDirectoryIsRefused(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin := l.Admin(t)
		dir := l.Apps[0].Config.ObjectDir
		must := func(errs ...error) {
			t.Helper()
			if err := errors.Join(errs...); err != nil {
				t.Fatal(err)
			}
		}
		at := func(names ...string) string { return filepath.Join(append([]string{dir}, names...)...) }
		must(os.Mkdir(at("foreign"), 0o700), os.WriteFile(at("foreign", ".larder-store"),
			[]byte("larder-0123456789abcdef\n"), 0o600))
		must(os.Mkdir(at("full"), 0o700), os.WriteFile(at("full", "letter.txt"), []byte("dear"), 0o600))
		must(os.WriteFile(at("file"), []byte("x"), 0o600))
		must(os.Mkdir(at("empty"), 0o700), os.Mkdir(at("empty", "lost+found"), 0o700))
		for _, bucket := range []string{"foreign", "full", "file"} {
			before, rows := filesBelow(t, dir), tablesDigest(t, l)
			wantStatus(t, bucket, admin.Post(providersPath, newProvider(M{"bucket": bucket})), 400, "VALIDATION_ERROR")
			wantStrings(t, "files on disk after "+bucket, filesBelow(t, dir), before...)
			if tablesDigest(t, l) != rows {
				t.Errorf("%s: a row was made", bucket)
			}
		}
		addProvider(admin, "empty")

		// A creation that stopped between directory and row can be repeated, on either replica.
		id := addProvider(admin, "again")
		marker, err := os.ReadFile(at("again", ".larder-store"))
		must(err)
		execAndRaiseVersion(t, l, "DELETE FROM providers WHERE id = $1", id)
		addProvider(admin, "again")
		now, err := os.ReadFile(at("again", ".larder-store"))
		if must(err); string(now) != string(marker) {
			t.Errorf("another marker: %s, was %s", now, marker)
		}

		// Each bucket has its own marker, so a directory that was exchanged for another is
		// detected.
		other, err := os.ReadFile(at("empty", ".larder-store"))
		if must(err); string(other) == string(marker) {
			t.Error("two buckets have one marker")
		}

		// Concurrent creations make one store with one marker.
		count := countStatuses(t, runConcurrently(t, admin, 8, func(c *apptest.Client, _ int) *apptest.Reply {
			return c.Post(providersPath, newProvider(M{"bucket": "race"}))
		}))
		if count[201] != 8 {
			t.Errorf("answers %v", count)
		}
		list := admin.Get(providersPath).OK(200)
		for i := range list.Names("providers") {
			wantJSON(t, "status", list.Value(fmt.Sprintf("providers.%d.status", i)), "ok")
		}
	})
}

// filesBelow lists everything below a directory.
func filesBelow(t *testing.T, dir string) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		all = append(all, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
