package apptest

import (
	"net/netip"
	"path/filepath"
	"testing"

	"larder/internal/blob/s3/s3test"
	"larder/internal/config"
)

// ReachLoopback is a change for Each: it allows stores on this machine, such as the S3 server of
// the tests.
func ReachLoopback(cfg *config.Config) {
	cfg.AllowPrivateEndpoints = []netip.Prefix{s3test.Loopback}
	cfg.FreeModeAllowPrivateEndpoints = []netip.Prefix{s3test.Loopback}
}

// S3Provider creates a bucket and a provider (store_b) for it, with the additional fields of extra.
// The service must be started with ReachLoopback.
func (l *Larder) S3Provider(t testing.TB, extra ...M) (id string, bucket s3test.Bucket) {
	t.Helper()
	bucket = s3test.New(t)
	return l.sharedAdmin(t).Post("/api/admin/storage/providers", s3Fields(bucket, extra)).OK(201).Text("provider.id"),
		bucket
}

func s3Fields(bucket s3test.Bucket, extra []M) M {
	return M{
		"name": bucket.Name, "type": "store_b", "endpoint": bucket.Endpoint, "bucket": bucket.Name,
		"accessKeyId": bucket.AccessKey, "secretAccessKey": bucket.SecretKey,
	}.With(extra...)
}

// S3Mount creates a provider as S3Provider does and mounts it at path.
func (l *Larder) S3Mount(t testing.TB, path string, extra ...M) (mountID string, bucket s3test.Bucket) {
	t.Helper()
	id, bucket := l.S3Provider(t, extra...)
	return l.sharedAdmin(t).Post("/api/admin/mounts", M{"providerId": id, "mountPath": path, "name": "bucket"}).OK(201).
		Text("mount.id"), bucket
}

// RootOnS3 changes the root mount, which holds homes and uploads, to a provider with a bucket.
func (l *Larder) RootOnS3(t testing.TB, extra ...M) s3test.Bucket {
	t.Helper()
	id, bucket := l.S3Provider(t, extra...)
	admin := l.sharedAdmin(t)
	root := admin.Get("/api/admin/mounts").OK(200).Text("mounts.0.id")
	admin.Put("/api/admin/mounts/"+root, M{"providerId": id}).OK(200)
	return bucket
}

// Thumbnails lists the files of the thumbnail cache.
func (l *Larder) Thumbnails(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(l.cfg.ThumbnailDir(), "??", "*"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}
