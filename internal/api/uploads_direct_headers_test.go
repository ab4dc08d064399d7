package api_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"larder/internal/apptest"
)

// Abuse case C103: unsigned headers do not change the meaning of a pre-signed address. In
// particular they give no access to other objects of the bucket, and their statements about the
// bytes are not kept.
func TestDirectUploadRefusesUnsignedHeaders(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		bucket := l.RootOnS3(t)
		alice := l.User(t, "alice")
		client, foreign := bucket.SDK(t), "not ours/a secret & more.txt"
		putObject(t, bucket, foreign, "secret")
		source := bucket.Name + "/not%20ours/a%20secret%20%26%20more.txt"
		whole := postUploadSession(alice, "/home/alice", "f.txt", 6).OK(200)
		split := postUploadSession(alice, "/home/alice", "g.txt", 6, M{"partCount": 2}).OK(200)
		for _, address := range []string{whole.Text("uploadUrl"), partURL(t, split, "parts", 1)} {
			for _, header := range [][]string{
				{"X-Amz-Copy-Source", source}, {"X-Amz-Copy-Source", "/" + source},
				{"X-Amz-Copy-Source", source, "X-Amz-Metadata-Directive", "REPLACE"},
				{"X-Amz-Copy-Source", source, "X-Amz-Copy-Source-Range", "bytes=0-5"},
			} {
				if status, _ := putToAddress(t, address, []byte("public"), header...); status != 403 {
					t.Errorf("%v: %d", header, status)
				}
			}
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, address,
				io.MultiReader(strings.NewReader("public")))
			if err != nil {
				t.Fatal(err)
			}
			response, err := http.DefaultClient.Do(request) // chunked, of unknown length
			if err != nil {
				continue // refused before it was sent
			}
			if response.Body.Close(); response.StatusCode < 400 {
				t.Errorf("a body of unknown length: %d", response.StatusCode)
			}
		}
		if parts := alice.Get(multipartPath + split.Text("sessionId") + "/parts").
			OK(200); parts.Int("completedCount") != 0 {
			t.Errorf("parts: %s", parts.Body)
		}
		abortUpload(alice, split.Text("sessionId")).OK(200)
		l.Sweep()
		wantBucketObjects(t, "after all that", bucket, 1)

		status, etag := putToAddress(t, whole.Text("uploadUrl"), []byte("public"), "Content-Type", "text/html")
		if status != 200 {
			t.Fatalf("a type: %d", status)
		}
		completeUpload(alice, whole.Text("sessionId"), etag).OK(200)
		wantHeader(t, alice.Get("/home/alice/f.txt").OK(200), "Content-Type", "text/plain; charset=utf-8")
		keys, _ := bucketContents(t, bucket)
		for _, key := range keys {
			if key == foreign || key == keyOfAddress(t, bucket, whole.Text("uploadUrl")) {
				continue
			}
			head, err := client.HeadObject(t.Context(), &s3.HeadObjectInput{Bucket: &bucket.Name, Key: &key})
			if err != nil || *head.ContentType != "text/plain; charset=utf-8" {
				t.Errorf("the store has the type %v for the file, %v", head.ContentType, err)
			}
		}
		got, err := client.GetObject(t.Context(), &s3.GetObjectInput{Bucket: &bucket.Name, Key: &foreign})
		if err != nil {
			t.Fatal(err)
		}
		defer got.Body.Close()
		if body, err := io.ReadAll(got.Body); string(body) != "secret" {
			t.Errorf("a foreign object is %q by now, %v", body, err)
		}
	}, apptest.ReachLoopback)
}
