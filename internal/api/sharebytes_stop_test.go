package api_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"testing"
	"time"

	"larder/internal/apptest"
)

// Abuse case C86: a zip of a share under way ends when the share ends or loses the permission to
// download. The config version does not change then.
func TestSharedZipStopsWithShare(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, alice, visitor := l.Admin(t), l.User(t, "alice"), l.Client(t)
		const dir = "/home/alice/big"
		folder := mkdir(alice, "/home/alice", "big")
		for i := range 8 { // more bytes than the system buffers for a client that does not read
			alice.Upload(dir, fmt.Sprint(i), make([]byte, 4<<20))
		}
		mkdir(alice, dir, "later")
		alice.Upload(dir+"/later", "before.txt", []byte("was there before"))
		serial := 0
		for _, c := range []struct {
			what string
			goes bool // runs to its end
			act  func(alice *apptest.Client, share string)
		}{
			{"nothing happens", true, func(*apptest.Client, string) {}},
			{"another title", true, func(alice *apptest.Client, share string) {
				alice.Patch("/api/shares/"+share, M{"title": "other", "maxDownloads": 1}).OK(200)
			}},
			{"revoked", false, func(alice *apptest.Client, share string) {
				alice.Delete("/api/shares/" + share).OK(200)
			}},
			{"revoked by an administrator", false,
				func(_ *apptest.Client, share string) { admin.Delete("/api/admin/shares/" + share).OK(200) }},
			{"expired", false, func(*apptest.Client, string) { l.Clock.Advance(time.Minute) }},
			{"downloads switched off", false, func(alice *apptest.Client, share string) {
				alice.Patch("/api/shares/"+share, M{"allowDownload": false}).OK(200)
			}},
			{"another password", false, func(alice *apptest.Client, share string) {
				alice.Patch("/api/shares/"+share, M{"password": "another"}).OK(200)
			}},
			{"a password on the folder", false,
				func(alice *apptest.Client, _ string) { setAccessPassword(alice, folder, "open sesame") }},
		} {
			serial++
			t.Run(c.what, func(t *testing.T) {
				alice, visitor := alice.In(t), visitor.In(t)
				share := shareEntry(alice, folder, M{"expiresIn": 60})
				response := openStream(t, l, visitor, shareDownload(visitor, share))
				if response.StatusCode != 200 {
					t.Fatal(response.Status)
				}
				after := fmt.Sprintf("came afterwards, %d", serial)
				c.act(alice, share)
				id := alice.Upload(dir+"/later", "after.txt", []byte(after))
				got, err := io.ReadAll(response.Body)
				if c.goes != (err == nil) {
					t.Errorf("%d bytes were read, then: %v", len(got), err)
				}
				if c.goes != bytes.Contains(got, []byte(after)) ||
					c.goes != bytes.Contains(got, []byte("was there before")) {
					t.Error(
						"the zip contains files sent after the share ended, or omits files of a share that continues")
				}
				if c.goes {
					if archive, err := zip.NewReader(bytes.NewReader(got), int64(len(got))); err != nil ||
						len(archive.File) != 11 {
						t.Errorf("it is not an archive of ten files and a folder: %v", err)
					}
				}
				alice.Delete("/api/files/" + id).OK(200)
				setAccessPassword(alice, folder, nil)
			})
		}
	})
}
