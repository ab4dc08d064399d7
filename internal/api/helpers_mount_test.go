package api_test

import (
	"path/filepath"
	"testing"

	"larder/internal/apptest"
)

const (
	providersPath = "/api/admin/storage/providers"
	mountsPath    = "/api/admin/mounts"
)

func newProvider(more M) M {
	body := M{"name": "Archive", "type": "store_a", "bucket": "archive"}
	for name, value := range more {
		body[name] = value
	}
	return body
}

// addProvider makes a provider in the built-in store and returns its id.
func addProvider(admin *apptest.Client, bucket string, more ...M) string {
	body := newProvider(M{"name": bucket, "bucket": bucket})
	for _, m := range more {
		for name, value := range m {
			body[name] = value
		}
	}
	return admin.Post(providersPath, body).OK(201).Text("provider.id")
}

// addMount makes a mount and returns its id.
func addMount(admin *apptest.Client, provider, path string, more ...M) string {
	body := M{"providerId": provider, "mountPath": path, "name": "M"}
	for _, m := range more {
		for name, value := range m {
			body[name] = value
		}
	}
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
