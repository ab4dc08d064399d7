package api_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"larder/internal/apptest"
	"larder/internal/blob/s3/s3test"
	"larder/internal/db/dbtest"
	"larder/internal/fsck"
)

// A bucket may contain objects of others: a thousand objects with names of their own, also below
// the provider's prefix, and those of another Larder beside and below it. A year of sweeps and the
// deletion of all files leave them unchanged, and fsck does not report them.
func TestForeignObjectsAreKept(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			l := apptest.Start(t, engine, apptest.ReachLoopback, shortGracePeriod)
			_, bucket := l.S3Mount(t, "/cloud", M{"pathPrefix": "larder/x", "uploadMode": "worker"})
			key := l.Admin(t).Key(M{"uploadPath": "/cloud"})
			foreign := foreignKeys()
			putForeign(t, bucket, foreign)
			key.Upload("/cloud", "ours.txt", []byte("ours"))

			for _, days := range []int{0, 1, 2, 365} {
				l.Clock.Advance(time.Duration(days) * 24 * time.Hour)
				for _, a := range l.Apps {
					if err := a.Fsck.Sweep(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				l.Clock.Advance(3 * time.Hour)
				l.Sweep()
				if _, err := l.Apps[0].Fsck.Check(t.Context(), fsck.Options{Deep: true, Report: func(f fsck.Finding) {
					if strings.Contains(f.Text, "foreign") || strings.Contains(f.Text, strings.Repeat("ee", 16)) {
						t.Errorf("fsck reports foreign objects: %+v", f)
					}
				}}); err != nil {
					t.Fatal(err)
				}
			}
			wantBody(t, key.Get("/cloud/ours.txt"), "ours")
			key.Delete("/api/files/" + entryIDOf(key, "/cloud", "ours.txt")).OK(200)
			for range 2 {
				l.Clock.Advance(2 * time.Hour)
				l.Sweep()
			}
			have := map[string]bool{}
			for _, key := range bucket.Keys(t) {
				have[key] = true
			}
			for _, name := range foreign {
				if !have[name] {
					t.Errorf("%s was deleted", name)
				}
				delete(have, name)
			}
			if len(have) > 0 {
				t.Errorf("our own objects are left: %v", have)
			}
		})
	}
}

// foreignKeys returns keys that other software gives its objects.
func foreignKeys() []string {
	hex := strings.Repeat("ee", 16)
	names := []string{
		"foreign/a b/ü?#%25+&=.txt", "foreign/%2e%2e/x", "foreign/ends with space ", "foreign/quote\"'<>&.xml",
		"foreign/日本語/ファイル", "larder/x/foreign.txt", "larder/x/ab/foreign",
		"larder/x/ab/" + hex + ".too.many.dots", "larder/x/AB/" + hex, "larder/x/abc/" + hex, "larder/x/ab/" + hex[1:],
		"larder/xy/ab/" + hex, "larder/x/y/ab/" + hex + ".jpg", "larder/ab/" + hex, "ab/" + hex,
		"other/larder/x/ab/" + hex, "larder/x/x/" + hex, "larder-check-" + hex,
	}
	for i := range 1000 - len(names) {
		names = append(names, fmt.Sprintf("foreign/%02d/photo %d.jpg", i%37, i))
	}
	return names
}

func putForeign(t *testing.T, bucket s3test.Bucket, names []string) {
	t.Helper()
	sdk, todo := bucket.SDK(t), make(chan string, len(names))
	for _, name := range names {
		todo <- name
	}
	close(todo)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for name := range todo {
				if _, err := sdk.PutObject(t.Context(),
					&s3.PutObjectInput{Bucket: &bucket.Name, Key: &name,
						Body: strings.NewReader("somebody else's")}); err != nil {
					t.Errorf("put %q: %v", name, err)
				}
			}
		})
	}
	all.Wait()
}
