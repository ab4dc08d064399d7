package api_test

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"larder/internal/apptest"
	"larder/internal/thumb/thumbtest"
)

// docs/decisions.md, Properties of pictures: owner and checksum of every file; camera, exposure and
// coordinates of a picture that states them.
func TestFileProperties(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice := l.User(t, "alice")
		holiday := thumbtest.InJPEG(thumbtest.JPEG(thumbtest.Quarters(64, 48)), thumbtest.Holiday(binary.LittleEndian))
		for what, c := range map[string]struct {
			name    string
			content []byte
			want    M
		}{
			"a photograph": {"holiday.jpg", holiday, M{
				"camera": "NIKON D750", "lens": "35mm f/1.8", "exposureTime": 0.004, "aperture": 2.8, "iso": 400.0,
				"focalLength": 35.0, "latitude": -33.858667, "longitude": 151.215, "altitude": -12.5,
			}},
			"a picture without EXIF": {"plain.png", thumbtest.PNG(thumbtest.Quarters(8, 8)), M{}},
			"a broken picture":       {"broken.jpg", []byte("no picture"), M{}},
			"a text":                 {"notes.txt", []byte("a few words"), M{}},
		} {
			id := alice.Upload("/home/alice", c.name, c.content)
			sum := sha256.Sum256(c.content)
			c.want["owner"], c.want["sha256"] = "alice", hex.EncodeToString(sum[:])
			got := alice.In(t).Get("/api/files/" + id + "/properties").OK(200).Object()["data"]
			wantJSON(t, what, got, c.want)
		}

		// The object of this picture is lost: the server returns the properties in the database.
		id := alice.Upload("/home/alice", "lost.jpg", append(slices.Clone(holiday), 0))
		sum := sha256.Sum256(append(slices.Clone(holiday), 0))
		if err := os.RemoveAll(filepath.Join(l.Apps[0].Config.ObjectDir, "default")); err != nil {
			t.Fatal(err)
		}
		got := alice.Get("/api/files/" + id + "/properties").OK(200).Object()["data"]
		wantJSON(t, "a lost picture", got, M{"owner": "alice", "sha256": hex.EncodeToString(sum[:])})
	})
}

// Users who may see a picture but not download it do not get its properties. A folder has none.
func TestFilePropertiesNeedDownload(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, alice := l.Admin(t), l.User(t, "alice")
		id := admin.Upload("/club", "holiday.jpg", photo)
		addRule(admin, M{"pathPattern": "/club/*", "effect": "allow", "role": "user", "permissions": []string{"read"}})
		alice.Get("/api/files/" + id).OK(200)
		alice.Get("/api/files/"+id+"/properties").Fails(403, "FORBIDDEN")
		addRule(admin, M{"pathPattern": "/club/*", "effect": "allow", "role": "user",
			"permissions": []string{"read", "download"}})
		if owner := alice.Get("/api/files/" + id + "/properties").OK(200).Text("owner"); owner != "admin" {
			t.Errorf("the owner is %q", owner)
		}
		folder := mkdir(alice, "/home/alice", "album")
		alice.Get("/api/files/"+folder+"/properties").Fails(404, "NOT_FOUND")
		alice.Get("/api/files/none/properties").Fails(404, "NOT_FOUND")
	})
}

// If the machine is too busy to read a picture, the server returns the properties in the database.
func TestFilePropertiesOnABusyMachine(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite")
	l.Apps[0].Thumbs.ChildTimeout = time.Nanosecond
	alice := l.User(t, "alice")
	id, sum := alice.Upload("/home/alice", "photo.jpg", photo), sha256.Sum256(photo)
	got := alice.Get("/api/files/" + id + "/properties").OK(200).Object()["data"]
	wantJSON(t, "a picture", got, M{"owner": "alice", "sha256": hex.EncodeToString(sum[:])})
}
