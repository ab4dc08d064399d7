package api_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"larder/internal/apptest"
	"larder/internal/blob/s3/s3test"
)

// putPartDirectly puts a part directly into the only unfinished upload of a bucket.
func putPartDirectly(t *testing.T, bucket s3test.Bucket, number int32, body string) {
	t.Helper()
	sdk := bucket.SDK(t)
	list, err := sdk.ListMultipartUploads(t.Context(), &s3.ListMultipartUploadsInput{Bucket: &bucket.Name})
	if err != nil || len(list.Uploads) != 1 {
		t.Fatalf("%d uploads, %v", len(list.Uploads), err)
	}
	_, err = sdk.UploadPart(t.Context(), &s3.UploadPartInput{
		Bucket: &bucket.Name, Key: list.Uploads[0].Key, UploadId: list.Uploads[0].UploadId,
		PartNumber: aws.Int32(number), Body: strings.NewReader(body),
	})
	if err != nil {
		t.Fatal(err)
	}
}

// tornBody returns what some servers keep of an interrupted body: its first half, and zeros.
func tornBody(body string) string {
	return body[:len(body)/2] + strings.Repeat("\x00", len(body)-len(body)/2)
}

func wantMissing(t *testing.T, c *apptest.Client, id string, numbers string) {
	t.Helper()
	if r := c.Get(multipartPath + id + "/parts").
		OK(200); !bytes.Contains(r.Body, []byte(`"missingParts":[`+numbers+`]`)) {
		t.Errorf("want %s missing: %s", numbers, r.Body)
	}
}

// A server that stores an interrupted body as a complete part may do so after a later body for that
// part was acknowledged, and replace it. The client is told that the part is missing, and the file
// gets the right bytes.
func TestPartReplacedByServer(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		bucket := l.RootOnS3(t, M{"uploadMode": "worker"})
		alice := l.User(t, "alice")
		first, last := string(twoPartContent()[:partLength]), string(twoPartContent()[partLength:])
		id := newTwoPartSession(alice, "/home/alice", "a")
		putPartDirectly(t, bucket, 2, tornBody(last)) // of a body that was never acknowledged
		wantMissing(t, alice, id, "1,2")
		putPart(alice, id, 1, first).OK(200)
		completeUpload(alice, id, nil).Fails(422, "OPERATION_FAILED")
		putPart(alice, id, 2, last).OK(200)
		wantMissing(t, alice, id, "")
		putPartDirectly(t, bucket, 1, tornBody(first))
		wantMissing(t, alice, id, "1")
		if r := completeUpload(alice, id, nil).
			Fails(422, "OPERATION_FAILED"); !bytes.Contains(r.Body, []byte("not been received yet: 1.")) {
			t.Errorf("the message is %s", r.Body)
		}
		wantUsed(t, alice, 0, 0)
		putPart(alice, id, 1, first).OK(200)
		completeUpload(alice, id, nil).OK(200)
		wantBody(t, alice.Get("/home/alice/a").OK(200), first+last)
		wantUsed(t, alice, int64(len(twoPartContent())), 1)
		waitForChecksum(t, l, first+last)
		wantBucketObjects(t, "complete", bucket, 1)
	}, apptest.ReachLoopback)
}
