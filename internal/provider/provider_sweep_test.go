package provider_test

import (
	"crypto/rand"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/service/s3"

	"larder/internal/blob/s3/s3test"
	"larder/internal/db"
	"larder/internal/db/dbtest"
	"larder/internal/ident"
	"larder/internal/provider"
	"larder/internal/secret"
)

// Uploads that no session can continue are aborted, at most once an hour (abuse case C96).
func TestSweepDropsUnfinishedUploads(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		master := make([]byte, 32)
		rand.Read(master)
		ring, err := secret.New(master)
		if err != nil {
			t.Fatal(err)
		}
		now := time.Now()
		r := provider.New(provider.Config{
			DB: d, ObjectDir: t.TempDir(), Now: func() time.Time { return now }, Secrets: ring, Egress: s3test.Egress(),
			IDs: ident.New(rand.Reader),
		})
		defer r.Close()
		var buckets []s3test.Bucket
		uploads := func(b s3test.Bucket) int {
			list, err := b.SDK(t).ListMultipartUploads(t.Context(), &sdk.ListMultipartUploadsInput{Bucket: &b.Name})
			if err != nil {
				t.Fatal(err)
			}
			return len(list.Uploads)
		}
		begin := func(b s3test.Bucket) {
			key := "team/ab/0123456789abcdef0123456789abcdef"
			if _, err := b.SDK(t).CreateMultipartUpload(t.Context(),
				&sdk.CreateMultipartUploadInput{Bucket: &b.Name, Key: &key}); err != nil {
				t.Fatal(err)
			}
		}
		for _, id := range []string{"one", "two"} {
			b := s3test.New(t)
			buckets = append(buckets, b)
			begin(b)
			insert(t, d, r, provider.Provider{
				ID: id, Name: id, Type: provider.PathStyle, Endpoint: b.Endpoint, Bucket: b.Name, PathPrefix: "team",
				AccessKeyID: secret.Text(b.AccessKey), SecretKey: secret.Text(b.SecretKey),
			})
		}
		sweep := func() {
			t.Helper()
			if err := r.Sweep(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		insert(t, d, r, provider.Provider{ID: "away", Name: "away", Type: provider.PathStyle,
			Endpoint: "http://127.0.0.1:1", Bucket: "away"})
		now = now.Add(96*time.Hour - time.Minute)
		for range 4 {
			sweep()
		}
		if a, b := uploads(buckets[0]), uploads(buckets[1]); a != 1 || b != 1 {
			t.Errorf("a minute too early: %d and %d uploads are left, want 1 and 1", a, b)
		}
		now = now.Add(59 * time.Minute)
		for range 4 {
			sweep()
		}
		if a, b := uploads(buckets[0]), uploads(buckets[1]); a != 1 || b != 1 {
			t.Errorf("59 minutes after the last sweep: %d and %d uploads are left, want 1 and 1", a, b)
		}
		now = now.Add(time.Minute)
		left := 2
		for range 3 { // one that is not available, and these two
			sweep()
			now := uploads(buckets[0]) + uploads(buckets[1])
			if now < left-1 {
				t.Errorf("one sweep took %d buckets", left-now)
			}
			left = now
		}
		if left != 0 {
			t.Errorf("three sweeps: %d uploads are left", left)
		}
	})
}
