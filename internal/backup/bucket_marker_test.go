package backup_test

import (
	"bytes"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"testing"
	"time"

	"larder/internal/apptest"
	"larder/internal/backup"
	"larder/internal/blob/s3/s3test"
	"larder/internal/config"
)

// foreignMarker is the name of a marker of another installation, without its number.
const foreignMarker = "running/00000000000000000000-"

// While one backup runs, another into the same bucket is refused, whether of the same installation
// or of another with the same key, and the first one succeeds.
func TestBackupsIntoABucketAtOnce(t *testing.T) {
	eachAway(t, func(t *testing.T, s *away) {
		s.alice.Upload("/home/alice", "a", []byte("a"))
		twin := &away{newFixture(t, s.engine, apptest.ReachLoopback,
			func(c *config.Config) { c.SecretKey = s.a.Config.SecretKey }), s.bucket}
		var same, other error
		s.save(func(o *backup.Options) {
			o.Progress = func(backup.Progress) {
				_, _, same = s.backUp(s.into)
				_, _, other = twin.backUp(twin.into)
			}
		})
		wantError(t, "of the same installation", same, "in use")
		wantError(t, "of another installation", other, "under way")
		if left := s.stored("running/"); len(left) > 0 {
			t.Errorf("markers are left: %q", left)
		}
	})
}

// The marker of a killed run of another installation counts for ten minutes, by the server's clock.
func TestOldMarkerInABucket(t *testing.T) {
	eachAway(t, func(t *testing.T, s *away) {
		s.alice.Upload("/home/alice", "a", []byte("a"))
		marker := "nightly/" + foreignMarker + "000007"
		s.put(marker, "")
		proxy := s3test.NewProxy(t, s.bucket)
		written := regexp.MustCompile(`<LastModified>[^<]*<`)
		try := func(age time.Duration) error {
			proxy.SetAfter(func(answer *http.Response) {
				text, err := io.ReadAll(answer.Body)
				if err != nil {
					t.Error(err)
				}
				if answer.Request.URL.Query().Has("list-type") {
					at := time.Now().Add(-age).UTC().Format("2006-01-02T15:04:05.000Z")
					objects := bytes.Split(text, []byte("<Contents>"))
					for i, object := range objects {
						if bytes.Contains(object, []byte("00000000000000000000-000007")) {
							objects[i] = written.ReplaceAll(object, []byte("<LastModified>"+at+"<"))
						}
					}
					text = bytes.Join(objects, []byte("<Contents>"))
				}
				answer.Body, answer.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
				answer.Header.Set("Content-Length", strconv.Itoa(len(text)))
			})
			_, _, err := s.backUp(func(o *backup.Options) { o.Bucket = s.options(proxy.Bucket()) })
			return err
		}
		wantError(t, "nine minutes old", try(9*time.Minute), "under way")
		if len(s.stored("running/")) != 1 {
			t.Errorf("the markers are %q", s.stored("running/"))
		}
		if err := try(11 * time.Minute); err != nil {
			t.Errorf("eleven minutes old: %v", err)
		}
		if left := s.stored("running/"); len(left) > 0 {
			t.Errorf("markers are left: %q", left)
		}
	})
}

// A backup that another installation has taken for an interrupted one fails before it has a new
// snapshot. It goes on beside the first marker of a run that will find its own.
func TestBackupIsOvertaken(t *testing.T) {
	eachAway(t, func(t *testing.T, s *away) {
		s.alice.Upload("/home/alice", "a", []byte("a"))
		first := s.save().Snapshot
		for what, interfere := range map[string]func(){
			"another runs": func() { s.put("nightly/"+foreignMarker+"000002", "") },
			"its marker was removed": func() {
				for _, name := range s.stored("running/") {
					s.remove("nightly/running/" + name)
				}
			},
		} {
			_, _, err := s.backUp(s.into,
				func(o *backup.Options) { o.Progress = func(backup.Progress) { interfere() } })
			wantError(t, what, err, "under way")
			if names := s.snapshots(); len(names) != 1 || names[0] != first {
				t.Errorf("%s: the snapshots are %q", what, names)
			}
			s.remove("nightly/" + foreignMarker + "000002")
		}
		s.save(func(o *backup.Options) {
			o.Progress = func(backup.Progress) { s.put("nightly/"+foreignMarker+"000001", "") }
		})
	})
}
