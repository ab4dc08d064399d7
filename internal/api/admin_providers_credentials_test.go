package api_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"larder/internal/apptest"
	"larder/internal/blob/s3/s3test"
	"larder/internal/db"
)

// sealedCredentials reads the two credential columns of a provider.
func sealedCredentials(t *testing.T, l *apptest.Larder, id string) (accessKeyID, secretKey string) {
	t.Helper()
	var q db.Querier = l.Apps[0].DB.Read(t.Context())
	if err := q.QueryRow("SELECT access_key_id, secret_access_key FROM providers WHERE id = $1", id).
		Scan(&accessKeyID, &secretKey); err != nil {
		t.Fatal(err)
	}
	return accessKeyID, secretKey
}

// A bucket's provider returns the end of its access key and never its secret. It keeps the
// credentials that an update omits (abuse case C115).
func TestProviderCredentials(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin := l.Admin(t)
		id, bucket := l.S3Provider(t, M{"uploadMode": "worker"})
		addMount(admin, id, "/bucket")
		admin.Upload("/bucket", "f", []byte("kept"))
		path := providersPath + "/" + id
		shown := "****" + bucket.AccessKey[len(bucket.AccessKey)-4:]
		replies := []*apptest.Reply{admin.Get(providersPath).OK(200)}
		for name, body := range map[string]M{
			"nothing": {}, "left out": {"name": "N"}, "null": {"accessKeyId": nil, "secretAccessKey": nil},
			"empty":        {"accessKeyId": "", "secretAccessKey": ""},
			"as shown":     {"accessKeyId": shown, "secretAccessKey": ""},
			"the same":     {"accessKeyId": bucket.AccessKey, "secretAccessKey": bucket.SecretKey},
			"its key only": {"accessKeyId": bucket.AccessKey}, "its secret only": {"secretAccessKey": bucket.SecretKey},
		} {
			reply := admin.Put(path, body).OK(200)
			wantJSON(t, name+": accessKeyId", reply.Value("provider.accessKeyId"), shown)
			if strings.Contains(string(reply.Body), "secret") {
				t.Errorf("%s: a secret is shown: %s", name, reply.Body)
			}
			for range l.Apps {
				wantBody(t, admin.Get("/bucket/f").OK(200), "kept")
			}
			replies = append(replies, reply)
		}
		replies = append(replies, admin.Put(path, M{"bucket": "x"}), admin.Put(path, M{"accessKeyId": "a b"}),
			admin.Put(path, M{"secretAccessKey": "geheim\n"}), admin.Delete(path),
			admin.Post(path+"/test", nil), admin.Get(mountsPath), admin.Get("/api/admin/rules"),
			admin.Get("/api/admin/logs"), admin.Get("/api/openapi.json"))
		first, second := sealedCredentials(t, l, id)
		if first == "" || second == "" || strings.Contains(first+second, bucket.SecretKey) ||
			strings.Contains(first+second, bucket.AccessKey) {
			t.Errorf("stored %q and %q", first, second)
		}
		for _, reply := range replies {
			for _, secret := range []string{bucket.SecretKey, bucket.AccessKey, first, second, "geheim"} {
				if strings.Contains(string(reply.Body), secret) {
					t.Errorf("the answer reveals %q: %s", secret, reply.Body)
				}
			}
		}
		if text := l.Log.String(); strings.Contains(text, bucket.SecretKey) || strings.Contains(text, first) ||
			strings.Contains(text, second) {
			t.Error("a secret is logged")
		}

		for key, want := range map[string]string{"k": "****", "elevencharz": "****", "twelvecharsz": "****arsz",
			strings.Repeat("k", 252) + "last": "****last"} {
			wantJSON(t, "shown of "+key, admin.Put(path, M{"accessKeyId": key}).OK(200).Value("provider.accessKeyId"),
				want)
			wantJSON(t, "kept if the masked value is sent",
				admin.Put(path, M{"accessKeyId": want}).OK(200).Value("provider.accessKeyId"), want)
		}
	}, apptest.ReachLoopback)
}

// New credentials apply to the next request on every replica. Wrong credentials cause a 5xx, never
// a missing file.
func TestNewCredentialsTakeEffectAtOnce(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin := l.Admin(t)
		id, bucket := l.S3Provider(t, M{"uploadMode": "worker"})
		addMount(admin, id, "/bucket")
		admin.Upload("/bucket", "f", []byte("kept"))
		for round := range 3 {
			for range len(l.Apps) {
				wantBody(t, admin.Get("/bucket/f").OK(200), "kept")
			}
			admin.Put(providersPath+"/"+id, M{"secretAccessKey": fmt.Sprint("wrong", round)}).OK(200)
			for range len(l.Apps) {
				wantStatus(t, "with a wrong secret", admin.Get("/bucket/f"), 500, "INTERNAL_ERROR")
				wantStrings(t, "listed nevertheless", listNames(admin, "/bucket"), "f")
			}
			admin.Put(providersPath+"/"+id, M{"secretAccessKey": bucket.SecretKey}).OK(200)
		}
	}, apptest.ReachLoopback, apptest.WithoutObjectCache)
}

// Abuse case C116: sealed credentials of one provider do not open in the row of another. That
// provider is unavailable, reveals nothing, and accepts new credentials; the others continue.
func TestCredentialsAreBoundToTheirProvider(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin := l.Admin(t)
		id, bucket := l.S3Provider(t, M{"uploadMode": "worker"})
		other, otherBucket := l.S3Provider(t, M{"uploadMode": "worker"})
		addMount(admin, id, "/bucket")
		addMount(admin, other, "/other")
		admin.Upload("/bucket", "f", []byte("one"))
		admin.Upload("/other", "f", []byte("two"))
		for name, columns := range map[string][]string{"both": {"access_key_id", "secret_access_key"},
			"the secret": {"secret_access_key"}, "the key": {"access_key_id"}} {
			for _, column := range columns {
				execAndRaiseVersion(t, l, "UPDATE providers SET "+column+" = (SELECT "+column+
					" FROM providers WHERE id = $1) WHERE id = $2", other, id)
			}
			for range len(l.Apps) {
				failed := admin.Get("/bucket/f")
				wantStatus(t, name, failed, 500, "INTERNAL_ERROR")
				if !strings.Contains(string(failed.Body), "The storage is not available at the moment.") {
					t.Errorf("%s: %s", name, failed.Body)
				}
				wantBody(t, admin.Get("/other/f").OK(200), "two")
				wantJSON(t, "ready", admin.Get("/api/public/health/ready").Status, 200)
			}
			list := admin.Get(providersPath).OK(200)
			for i, who := range []string{"", id, other} {
				for n := range list.Names("providers") {
					at := fmt.Sprintf("providers.%d.", n)
					if list.Value(at+"id") == who {
						wantJSON(t, fmt.Sprint("status of ", i), list.Value(at+"status"),
							map[string]string{id: "unavailable", other: "ok"}[who])
						wantJSON(t, fmt.Sprint("key of ", i), list.Value(at+"accessKeyId"),
							map[string]string{id: "",
								other: "****" + otherBucket.AccessKey[len(otherBucket.AccessKey)-4:]}[who])
					}
				}
			}
			reply, _ := testProvider(t, admin, id, 9)
			wantJSON(t, "its test", reply.Value("message"),
				"The stored credentials cannot be decrypted. Enter accessKeyId and secretAccessKey again.")
			path := providersPath + "/" + id
			wantStatus(t, "another name", admin.Put(path, M{"name": "N"}), 400, "VALIDATION_ERROR")
			wantStatus(t, "one of the two", admin.Put(path, M{"secretAccessKey": bucket.SecretKey}), 400,
				"VALIDATION_ERROR")
			admin.Put(path, M{"accessKeyId": bucket.AccessKey, "secretAccessKey": bucket.SecretKey}).OK(200)
			for range len(l.Apps) {
				wantBody(t, admin.Get("/bucket/f").OK(200), "one")
			}
		}
	}, apptest.ReachLoopback)
}

// Concurrent updates of a provider each change only the fields that they name.
func TestConcurrentProviderUpdates(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin := l.Admin(t)
		id, bucket := l.S3Provider(t)
		changes := []M{
			{"name": "other"}, {"region": "eu-1"}, {"publicDomain": "cdn.example.org"},
			{"uploadDomain": "up.example.org"}, {"uploadMode": "worker"}, {"redirect": true},
			{"secretAccessKey": "another"}, {"accessKeyId": "0123456789abcdef"},
		}
		if count := countStatuses(t, runConcurrently(t, admin, len(changes),
			func(c *apptest.Client, i int) *apptest.Reply {
				return c.Put(providersPath+"/"+id, changes[i])
			})); count[200] != len(changes) {
			t.Errorf("answers %v", count)
		}
		reply := admin.Put(providersPath+"/"+id, M{}).OK(200)
		for field, want := range (M{
			"name": "other", "region": "eu-1", "publicDomain": "cdn.example.org", "uploadDomain": "up.example.org",
			"uploadMode": "worker", "redirect": true, "accessKeyId": "****cdef",
			"type": "store_b", "endpoint": bucket.Endpoint, "bucket": bucket.Name, "pathPrefix": "",
		}) {
			wantJSON(t, field, reply.Value("provider."+field), want)
		}
		replies := runConcurrently(t, admin, 4, func(c *apptest.Client, i int) *apptest.Reply {
			return c.Put(providersPath+"/"+id,
				M{"bucket": fmt.Sprint("bucket", i), "pathPrefix": fmt.Sprint("prefix", i)})
		})
		countStatuses(t, replies)
		now := admin.Put(providersPath+"/"+id, M{}).OK(200)
		if b, p := now.Text("provider.bucket"), now.Text("provider.pathPrefix"); strings.TrimPrefix(b,
			"bucket") != strings.TrimPrefix(p, "prefix") {
			t.Errorf("bucket %s with prefix %s", b, p)
		}
		for _, reply := range replies {
			if reply.Status != 200 {
				wantStatus(t, "a change after the commit", reply, 409, "OPERATION_FAILED")
			}
		}
	}, apptest.ReachLoopback)
}

// A provider can change its type or be deleted only while it has no objects. Its endpoint's name
// can change at any time.
func TestProvidersInBucketsWithObjects(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin := l.Admin(t)
		id, bucket := l.S3Provider(t, M{"pathPrefix": "p", "uploadMode": "worker"})
		path := providersPath + "/" + id
		keys := M{"type": "store_b", "endpoint": bucket.Endpoint, "accessKeyId": bucket.AccessKey,
			"secretAccessKey": bucket.SecretKey}
		disk := admin.Put(path, M{"type": "store_a"}).OK(200)
		for field, want := range (M{"type": "store_a", "endpoint": "", "accessKeyId": "", "region": "auto",
			"bucket": bucket.Name, "pathPrefix": "p", "status": "ok"}) {
			wantJSON(t, "store_a: "+field, disk.Value("provider."+field), want)
		}
		wantStatus(t, "back without an endpoint", admin.Put(path, M{"type": "store_b"}), 400, "VALIDATION_ERROR")
		wantStatus(t, "back without credentials", admin.Put(path, M{"type": "store_b", "endpoint": bucket.Endpoint}),
			400, "VALIDATION_ERROR")
		back := admin.Put(path, keys).OK(200)
		for field, want := range (M{"type": "store_b", "endpoint": bucket.Endpoint, "region": "us-east-1",
			"status": "ok"}) {
			wantJSON(t, "store_b: "+field, back.Value("provider."+field), want)
		}
		wantJSON(t, "a region that is given",
			admin.Put(path, M{"type": "store_a", "region": "here"}).OK(200).Value("provider.region"), "here")
		admin.Put(path, keys).OK(200)
		wantJSON(t, "store_c", admin.Put(path, M{"type": "store_c"}).OK(200).Value("provider.type"), "store_c")
		admin.Put(path, keys).OK(200)

		mount := addMount(admin, id, "/bucket")
		file := admin.Upload("/bucket", "f", []byte("kept"))
		for _, body := range []M{{"type": "store_a"}, {"type": "store_c"}, {"bucket": "another"}, {"pathPrefix": "q"},
			{"pathPrefix": nil}} {
			wantStatus(t, fmt.Sprint("with an object: ", body), admin.Put(path, body), 409, "OPERATION_FAILED")
		}
		wantStatus(t, "DELETE with a mount", admin.Delete(path), 409, "OPERATION_FAILED")
		wantStatus(t, "DELETE of its mount, with a file", admin.Delete(mountsPath+"/"+mount), 409, "OPERATION_FAILED")
		elsewhere := s3test.NewProxy(t, bucket).Endpoint
		wantJSON(t, "another name of the server",
			admin.Put(path, M{"endpoint": elsewhere + "/"}).OK(200).Value("provider.endpoint"), elsewhere)
		wantBody(t, admin.Get("/bucket/f").OK(200), "kept")
		for name, endpoint := range map[string]string{
			"private": "http://10.0.0.1:9000", "metadata": "http://169.254.169.254", "unknown": "http://store.invalid",
			"no port": "http://127.0.0.1:0", "file": "file:///etc/passwd",
			"with a user": "http://a:b@127.0.0.1", "with a path": bucket.Endpoint + "/x", "empty": "",
		} {
			wantStatus(t, name+" on update", admin.Put(path, M{"endpoint": endpoint}), 400, "VALIDATION_ERROR")
			wantStatus(t, name+" on create", admin.Post(providersPath,
				M{"name": "n", "type": "store_b", "bucket": "bucket", "endpoint": endpoint, "accessKeyId": "k",
					"secretAccessKey": "s"}), 400, "VALIDATION_ERROR")
		}
		admin.Delete("/api/files/" + file).OK(200)
		admin.Delete(mountsPath + "/" + mount).OK(200)
		wantStatus(t, "DELETE with garbage", admin.Delete(path), 409, "OPERATION_FAILED")
		collectGarbage(l, admin)
		admin.Delete(path).OK(200)
		wantBucketObjects(t, "in the end", bucket, 0)
	}, apptest.ReachLoopback)
}

// Without the permission for private endpoints, no endpoint in the machine's own network is
// accepted (specification: Storage provider).
func TestPrivateEndpointsAreRefused(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite")
	admin := l.Admin(t)
	id := addProvider(admin, "disk")
	began := time.Now()
	for _, endpoint := range []string{"http://127.0.0.1:9000", "https://[::1]", "http://192.168.1.1",
		"http://localhost:9000", "http://store.invalid"} {
		body := M{"name": "n", "type": "store_b", "bucket": "bucket", "endpoint": endpoint, "accessKeyId": "k",
			"secretAccessKey": "s"}
		wantStatus(t, "create with "+endpoint, admin.Post(providersPath, body), 400, "VALIDATION_ERROR")
		wantStatus(t, "update with "+endpoint, admin.Put(providersPath+"/"+id, body), 400, "VALIDATION_ERROR")
	}
	if took := time.Since(began); took > time.Minute {
		t.Errorf("took %v", took)
	}
	wantJSON(t, "unchanged", admin.Put(providersPath+"/"+id, M{}).OK(200).Value("provider.type"), "store_a")
}
