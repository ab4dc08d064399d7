package e2e

import (
	"maps"
	"net/url"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"larder/internal/blob/s3/s3test"
	"larder/internal/db/dbtest"
)

// The store of the root mount.
const (
	onDisk   = "disk"
	onBucket = "s3"
)

// setup is a service with all its replicas, one kind of database, and one kind of store for the
// root mount.
type setup struct {
	*site
	engine, store string
	processes     []*process
	admin, keyed  *client        // their requests alternate between the replicas
	root          string         // id of the root mount's provider
	bucket        *s3test.Bucket // of the root mount, nil on a disk
}

// eachSetup runs a scenario on both databases with both stores: one process on SQLite, and two
// replicas on PostgreSQL with alternating requests; objects on the disk, and in a bucket of a real
// S3 server. settings alternates names and values.
func eachSetup(t *testing.T, scenario func(t *testing.T, s *setup), settings ...string) {
	t.Helper()
	for _, engine := range dbtest.Engines {
		for _, store := range []string{onDisk, onBucket} {
			t.Run(engine+"/"+store, func(t *testing.T) {
				t.Parallel()
				s := newSetup(t, engine, store, settings...)
				scenario(t, s)
				s.fsck(t)
			})
		}
	}
}

// reachable are the settings of a service that may connect to the tests' S3 server and collects
// garbage without delay.
var reachable = []string{
	"LARDER_ALLOW_PRIVATE_ENDPOINTS", "127.0.0.0/8", "LARDER_FREE_MODE_ALLOW_PRIVATE_ENDPOINTS", "127.0.0.0/8",
	"LARDER_GARBAGE_GRACE", "1ms", "LARDER_RATE_LIMIT_ENABLED", "false",
}

func newSetup(t *testing.T, engine, store string, settings ...string) *setup {
	t.Helper()
	settings = slices.Concat(reachable, settings)
	s := &setup{engine: engine, store: store}
	if engine == "postgres" {
		site, two := replicas(t, settings...)
		s.site, s.processes = site, two[:]
	} else {
		s.site = newSite(t)
		s.set(settings...)
		s.keepPort(t)
		s.processes = []*process{s.start(t)}
	}
	var bases []string
	for _, p := range s.processes {
		bases = append(bases, p.url)
	}
	s.admin, s.keyed = login(t, "admin", adminPassword, bases...), withKey(s.key(t, "admin"), bases...)
	var list struct {
		Mounts []struct{ ID, ProviderID, MountPath string }
	}
	s.admin.do(t, "GET", "/api/admin/mounts", nil).data(t, 200, &list)
	if len(list.Mounts) != 1 || list.Mounts[0].MountPath != "/" {
		t.Fatalf("the seeded mounts are %+v", list.Mounts)
	}
	s.root = list.Mounts[0].ProviderID
	if store == onBucket {
		bucket := s3test.New(t)
		s.root, s.bucket = s.provider(t, bucket, nil), &bucket
		s.admin.do(t, "PUT", "/api/admin/mounts/"+list.Mounts[0].ID, object{"providerId": s.root}).want(t, 200)
	}
	return s
}

// set changes settings of a site: names and values.
func (s *site) set(settings ...string) {
	for i := 0; i+1 < len(settings); i += 2 {
		s.env[settings[i]] = settings[i+1]
	}
}

// restart stops every process cleanly, one after another, and starts it again at its address. It
// returns the stopped processes.
func (s *setup) restart(t *testing.T) (ended []*process) {
	t.Helper()
	for i, p := range s.processes {
		p.stop(t)
		ended, s.processes[i] = append(ended, p), p.site.start(t)
	}
	return ended
}

// visitor returns a client without an account.
func (s *setup) visitor() *client { return newClient(s.admin.bases...) }

// provider creates a provider (store_b) for a bucket, with further fields, and returns its id.
func (s *setup) provider(t testing.TB, bucket s3test.Bucket, more object) string {
	t.Helper()
	return s.admin.createProvider(t, bucketProvider(bucket, more))
}

// bucketProvider returns the fields of a provider (store_b) for a bucket, with further fields.
func bucketProvider(bucket s3test.Bucket, more object) object {
	fields := object{
		"name": bucket.Name, "type": "store_b", "endpoint": bucket.Endpoint, "bucket": bucket.Name,
		"accessKeyId": bucket.AccessKey, "secretAccessKey": bucket.SecretKey,
	}
	maps.Copy(fields, more)
	return fields
}

// keysIn lists all keys of a bucket, bypassing the service.
func keysIn(t testing.TB, bucket s3test.Bucket) map[string]int64 {
	t.Helper()
	keys := map[string]int64{}
	pages := s3.NewListObjectsV2Paginator(bucket.SDK(t), &s3.ListObjectsV2Input{Bucket: &bucket.Name})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatalf("list bucket %s: %v", bucket.Name, err)
		}
		for _, o := range page.Contents {
			keys[*o.Key] = *o.Size
		}
	}
	return keys
}

// awaitEmpty waits until the collector has removed everything from a bucket, including unfinished
// uploads.
func (s *setup) awaitEmpty(t testing.TB, bucket s3test.Bucket) {
	t.Helper()
	client := bucket.SDK(t)
	s.processes[0].await(t, "done with the removal of "+bucket.Name, func() bool {
		uploads, err := client.ListMultipartUploads(t.Context(), &s3.ListMultipartUploadsInput{Bucket: &bucket.Name})
		if err != nil {
			t.Fatal(err)
		}
		return len(uploads.Uploads) == 0 && len(keysIn(t, bucket)) == 0
	})
}

// at returns the path of a URL without its host, so that it can be requested from any replica.
func at(t testing.TB, address string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return u.RequestURI()
}

// escaped returns a virtual path in the form of a request.
func escaped(path string) string { return (&url.URL{Path: path}).EscapedPath() }
