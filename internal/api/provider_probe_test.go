package api_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"larder/internal/apptest"
	"larder/internal/blob/s3/s3test"
)

// probeSteps are the names of the checks, in order; store_a has the first five.
var probeSteps = []string{"write", "read", "range", "delete", "multipart", "copy", "presign", "cors", "clock"}

// probed tests a provider and returns the answer, whose shape it holds against the interface, with the checks that are not ok.
func probed(t *testing.T, admin *apptest.Client, id string, steps int) (reply *apptest.Reply, failed string) {
	t.Helper()
	reply = admin.Post(providers+"/"+id+"/test", nil).OK(200)
	fields(t, "data", object(t, reply.Body)["data"], "connected", "message", "checks")
	same(t, "checks", reply.Names("checks"), probeSteps[:steps]...)
	for i, name := range reply.Names("checks") {
		check := fmt.Sprintf("checks.%d", i)
		fields(t, check, reply.Value(check), "name", "ok", "message")
		if reply.Text(check+".message") == "" {
			t.Errorf("%s says nothing", name)
		}
		if reply.Value(check+".ok") != true {
			failed += name + " "
		}
	}
	return reply, strings.TrimSpace(failed)
}

// allowPages sets the CORS rules of a bucket.
func allowPages(t *testing.T, bucket s3test.Bucket, rule types.CORSRule) {
	t.Helper()
	_, err := bucket.SDK(t).PutBucketCors(t.Context(), &sdk.PutBucketCorsInput{
		Bucket: &bucket.Name, CORSConfiguration: &types.CORSConfiguration{CORSRules: []types.CORSRule{rule}},
	})
	if err != nil {
		t.Fatal(err)
	}
}

// emptyBucket fails the test when anything lies in the bucket, uploads in parts included.
func emptyBucket(t *testing.T, bucket s3test.Bucket) {
	t.Helper()
	list, err := bucket.SDK(t).ListObjectsV2(context.Background(), &sdk.ListObjectsV2Input{Bucket: &bucket.Name})
	if err != nil || len(list.Contents) != 0 {
		t.Errorf("in the bucket: %+v, %v", list, err)
	}
	uploads, err := bucket.SDK(t).ListMultipartUploads(context.Background(), &sdk.ListMultipartUploadsInput{Bucket: &bucket.Name})
	if err != nil || len(uploads.Uploads) != 0 {
		t.Errorf("uploads in the bucket: %+v, %v", uploads, err)
	}
}

// The test of a provider tells what works, and leaves nothing behind.
func TestProviderTest(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin := l.Admin(t)
		local := admin.Get(providers).OK(200).Text("providers.0.id")
		before := objectsIn(t, l, "default")
		reply, failed := probed(t, admin, local, 5)
		equal(t, "store_a: connected", reply.Value("connected"), true)
		equal(t, "store_a: failed", failed, "")
		same(t, "objects in store_a", objectsIn(t, l, "default"), before...)

		id, bucket := l.S3Provider(t, M{"pathPrefix": "a/b"})
		reply, failed = probed(t, admin, id, 9)
		equal(t, "connected", reply.Value("connected"), true)
		equal(t, "without CORS rules", failed, "cors")
		emptyBucket(t, bucket)

		all := types.CORSRule{AllowedOrigins: []string{apptest.BaseURL}, AllowedMethods: []string{"GET", "HEAD", "PUT"}, AllowedHeaders: []string{"*"}, ExposeHeaders: []string{"ETag"}}
		allowPages(t, bucket, all)
		reply, failed = probed(t, admin, id, 9)
		equal(t, "with CORS rules", failed, "")
		equal(t, "message", reply.Value("message"), "The store works.")
		emptyBucket(t, bucket)
		for name, change := range map[string]func(*types.CORSRule){
			"another origin": func(r *types.CORSRule) { r.AllowedOrigins = []string{"https://larder.test"} },
			"no PUT":         func(r *types.CORSRule) { r.AllowedMethods = []string{"GET", "HEAD"} },
			"no GET":         func(r *types.CORSRule) { r.AllowedMethods = []string{"PUT", "HEAD"} },
			"no headers":     func(r *types.CORSRule) { r.AllowedHeaders = nil },
		} {
			rule := all
			change(&rule)
			allowPages(t, bucket, rule)
			reply, failed = probed(t, admin, id, 9)
			equal(t, name, failed, "cors")
			equal(t, name+": connected", reply.Value("connected"), true)
		}
		for _, none := range []string{nobody, "x", "%27"} {
			status(t, "test of none", admin.Post(providers+"/"+none+"/test", nil), 404, "NOT_FOUND")
		}
	}, apptest.ReachLoopback)
}
