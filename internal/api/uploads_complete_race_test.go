package api_test

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"larder/internal/apptest"
	"larder/internal/db"
)

// beginAndUpload makes a session with those fields and sends its bytes, directly to the store if
// the session says so. It returns the session id and the etag that completes the session, "" for
// parts.
func beginAndUpload(t *testing.T, c *apptest.Client, dir, name string, content []byte, fields M) (id, etag string) {
	t.Helper()
	r := postUploadSession(c, dir, name, len(content), fields).OK(200)
	id = r.Text("sessionId")
	straight := r.Text("uploadMode") == "presigned"
	if _, asked := fields["uploadMode"]; straight == asked {
		t.Fatalf("mode %s with the fields %v", r.Text("uploadMode"), fields)
	}
	if r.Value("totalParts") == nil {
		if straight {
			return id, mustPutToAddress(t, r.Text("uploadUrl"), content)
		}
		return id, putRaw(c, id, content).OK(200).Text("etag")
	}
	for number := 1; number <= int(r.Int("totalParts")); number++ {
		part := content[(number-1)*partLength : min(number*partLength, len(content))]
		if straight {
			mustPutToAddress(t, partURL(t, r, "parts", int64(number)), part)
		} else {
			putPart(c, id, number, part).OK(200)
		}
	}
	return id, ""
}

// Abuse case C87: of 20 concurrent completions of one session, one makes the file, and the others
// return the same file. That holds for a bucket, in both modes, in one piece and in parts.
func TestUploadToABucketIsCompletedOnce(t *testing.T) {
	t.Parallel()
	const rounds, size = 4, partLength + 5
	content := bytes.Repeat([]byte("0123456789abcdef"), size/16+1)[:size]
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		bucket := l.RootOnS3(t)
		for i, c := range []struct {
			what   string
			fields M
			size   int
		}{
			{"parts, worker", M{"uploadMode": "worker", "partCount": 2}, size},
			{"parts, presigned", M{"partCount": 2}, size},
			{"one piece, worker", M{"uploadMode": "worker"}, 10},
			{"one piece, presigned", M{}, 10},
		} {
			t.Run(c.what, func(t *testing.T) {
				name := fmt.Sprint("user", i)
				user := l.User(t, name)
				for round := range rounds {
					id, etag := beginAndUpload(t, user, "/home/"+name, fmt.Sprint(round), content[:c.size], c.fields)
					replies := make(chan *apptest.Reply, 20)
					for range cap(replies) {
						caller := user.Fork()
						go func() { replies <- completeUpload(caller, id, etag) }()
					}
					first, ids := 0, map[string]bool{}
					for range cap(replies) {
						r := <-replies
						wantStatus(t, "completion", r, 200, "")
						if r.Status != 200 {
							continue
						}
						ids[r.Text("file.id")] = true
						if r.Value("alreadyCompleted") != true {
							first++
						}
					}
					if first != 1 || len(ids) != 1 {
						t.Errorf("round %d: %d completions made %d files", round, first, len(ids))
					}
					wantUsed(t, user, int64((round+1)*c.size), int64(round+1))
				}
			})
		}
		l.Clock.Advance(4 * time.Hour)
		l.Sweep()
		wantBucketObjects(t, "the end", bucket, 4*rounds)
		wantReserved(t, l, 0, 0)
	}, apptest.ReachLoopback)
}

// A store may still be assembling an object that an earlier completion asked for. Until a quarter
// of an hour has passed, another completion and a list of the parts answer 409 with Retry-After.
// After that they report the parts as lost.
func TestCompletionWhileStoreAssembles(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		bucket := l.RootOnS3(t)
		alice := l.User(t, "alice")
		r := postUploadSession(alice, "/home/alice", "f", 5, M{"partCount": 2}).OK(200)
		id := r.Text("sessionId")
		address := partURL(t, r, "parts", 1)
		mustPutToAddress(t, address, []byte("12345"))
		key, upload := keyOfAddress(t, bucket, address), r.Text("uploadId")
		_, err := bucket.SDK(t).AbortMultipartUpload(t.Context(), &s3.AbortMultipartUploadInput{
			Bucket: &bucket.Name, Key: &key, UploadId: &upload,
		})
		if err != nil {
			t.Fatal(err)
		}
		err = l.Apps[0].DB.Write(t.Context(), func(tx *db.Tx) error {
			_, err := tx.Exec("UPDATE upload_sessions SET completing_until = $1 WHERE id = $2",
				l.Clock.Now().UnixMilli(), id)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		ask := func(retry string) {
			t.Helper()
			for what, r := range map[string]*apptest.Reply{
				"complete": completeUpload(alice, id, ""), "parts": alice.Get(multipartPath + id + "/parts"),
				"part": putPart(alice, id, 1, "12345"),
			} {
				wantStatus(t, what, r, 409, "OPERATION_FAILED")
				if got := r.Header.Get("Retry-After"); got != retry {
					t.Errorf("%s: Retry-After %q, want %q", what, got, retry)
				}
			}
		}
		ask("5")
		l.Clock.Advance(15 * time.Minute)
		ask("")
		abortUpload(alice, id).OK(200)
		wantReserved(t, l, 0, 0)
	}, apptest.ReachLoopback)
}
