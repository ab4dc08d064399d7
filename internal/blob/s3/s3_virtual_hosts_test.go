package s3

import (
	"strings"
	"testing"
	"time"

	"larder/internal/blob"
	"larder/internal/blob/blobtest"
	"larder/internal/blob/s3/s3test"
)

// virtual returns the options of a new bucket with virtual-host addressing (store_c).
func virtual(t testing.TB) Options {
	t.Helper()
	opts := newBucket(t)
	opts.Endpoint = s3test.Bucket{Endpoint: opts.Endpoint}.Virtual().Endpoint
	opts.PathStyle = false
	return opts
}

func TestContractByVirtualHosts(t *testing.T) {
	t.Parallel()
	blobtest.Run(t, func(t *testing.T) blob.Store { return open(t, virtual(t)) })
}

func TestCopyListAndSweepByVirtualHosts(t *testing.T) {
	t.Parallel()
	opts := virtual(t)
	s := withSmallCopyParts(open(t, opts))
	source, key, large := blobtest.NewKey(), blobtest.NewKey(), blobtest.NewKey()
	if err := put(t, s, source); err != nil {
		t.Fatal(err)
	}
	if _, err := s.CopyFrom(t.Context(), key, s, source, "", ""); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Put(t.Context(), large, strings.NewReader(strings.Repeat("x", minPart+1)),
		blob.PutOptions{Size: minPart + 1}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.CopyFrom(t.Context(), blobtest.NewKey(), s, large, "", ""); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Begin(t.Context(), blobtest.NewKey(), 1, 1, ""); err != nil {
		t.Fatal(err)
	}
	n := 0
	err := s.Walk(t.Context(), func(blob.Key, int64, time.Time) error {
		n++
		return nil
	})
	if err != nil || n != 4 {
		t.Errorf("Walk saw %d objects, %v, want 4", n, err)
	}
	if n, err := s.Sweep(t.Context(), time.Now().Add(time.Hour)); n != 1 || err != nil {
		t.Errorf("Sweep = %d, %v, want 1", n, err)
	}
}

// The upload domain replaces the endpoint's host with path-style addresses, and the bucket's own
// host otherwise.
func TestUploadDomain(t *testing.T) {
	t.Parallel()
	path, host := newBucket(t), virtual(t)
	port := path.Endpoint[strings.LastIndex(path.Endpoint, ":"):]
	path.UploadDomain = "http://files.test" + port
	host.UploadDomain = "http://" + host.Bucket + "." + s3test.VirtualDomain + port + "/"
	host.Endpoint = "http://inside.test" + port // a host name from which the server derives no bucket
	for name, c := range map[string]struct {
		opts Options
		want string
	}{
		"path": {path, "http://files.test" + port + "/" + path.Bucket + "/"},
		"host": {host, "http://" + host.Bucket + ".s3.test" + port + "/"},
	} {
		s, key := open(t, c.opts), blobtest.NewKey()
		u := blob.Upload{Key: blobtest.NewKey(), ID: "id", Size: 3, PartSize: 3}
		get, err1 := s.PresignGet(t.Context(), key, blob.GetOptions{TTL: time.Minute})
		put, err2 := s.PresignPut(t.Context(), key, int64(len(small)), time.Minute)
		part, err3 := s.PresignPart(t.Context(), u, 1, time.Minute)
		if err1 != nil || err2 != nil || err3 != nil {
			t.Fatal(err1, err2, err3)
		}
		for address, key := range map[string]blob.Key{get: key, put: key, part: u.Key} {
			if !strings.HasPrefix(address, c.want+string(key)+"?") {
				t.Errorf("%s: %s, want it below %s", name, address, c.want)
			}
		}
		if status, answer := send(t, "PUT", put, []byte(small)); status != 200 {
			t.Errorf("%s: PUT %d %s", name, status, answer)
		}
		if status, answer := send(t, "GET", get, nil); status != 200 || answer != small {
			t.Errorf("%s: GET %d %s", name, status, answer)
		}
	}
	for domain, want := range map[string]string{"cdn.example.com": "https://cdn.example.com/",
		"http://cdn.example.com:81": "http://cdn.example.com:81/"} {
		host.UploadDomain = domain
		address, err := open(t, host).PresignGet(t.Context(), "ab/"+hex32, blob.GetOptions{TTL: time.Minute})
		if err != nil || !strings.HasPrefix(address, want+"ab/") {
			t.Errorf("%s: %s, %v", domain, address, err)
		}
	}
}
