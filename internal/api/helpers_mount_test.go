package api_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"larder/internal/apptest"
	"larder/internal/blob/s3/s3test"
)

const (
	providersPath = "/api/admin/storage/providers"
	mountsPath    = "/api/admin/mounts"
)

func newProvider(more M) M {
	return M{"name": "Archive", "type": "store_a", "bucket": "archive"}.With(more)
}

// addProvider makes a provider in the built-in store and returns its id.
func addProvider(admin *apptest.Client, bucket string, more ...M) string {
	body := newProvider(M{"name": bucket, "bucket": bucket}).With(more...)
	return admin.Post(providersPath, body).OK(201).Text("provider.id")
}

// addBucketProvider makes a provider for a bucket and returns its id.
func addBucketProvider(admin *apptest.Client, b s3test.Bucket, more ...M) string {
	return addProvider(admin, b.Name, M{"type": "store_b", "endpoint": b.Endpoint, "accessKeyId": b.AccessKey,
		"secretAccessKey": b.SecretKey}.With(more...))
}

// providerPath returns the path of the provider of a bucket.
func providerPath(t *testing.T, admin *apptest.Client, b s3test.Bucket) string {
	t.Helper()
	list := admin.Get(providersPath).OK(200)
	i := slices.Index(list.Names("providers"), b.Name)
	if i < 0 {
		t.Fatalf("no provider of %s in %s", b.Name, list.Body)
	}
	return providersPath + "/" + list.Text(fmt.Sprintf("providers.%d.id", i))
}

// addMount makes a mount and returns its id.
func addMount(admin *apptest.Client, provider, path string, more ...M) string {
	body := M{"providerId": provider, "mountPath": path, "name": "M"}.With(more...)
	return admin.Post(mountsPath, body).OK(201).Text("mount.id")
}

// addVaultMount makes a provider in the built-in store, mounted at /vault, where every user may do
// everything. It returns the directory of the provider's bucket.
func addVaultMount(t *testing.T, l *apptest.Larder) (dir string) {
	t.Helper()
	admin := l.Admin(t)
	addMount(admin, addProvider(admin, "vault"), "/vault")
	addRule(admin, M{"pathPattern": "/vault/**", "effect": "allow", "role": "user"})
	return filepath.Join(l.Apps[0].Config.ObjectDir, "vault")
}
