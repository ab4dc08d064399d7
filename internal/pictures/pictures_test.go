package pictures_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"larder/internal/apptest"
	"larder/internal/db"
	"larder/internal/thumb/thumbtest"
)

var camera = thumbtest.Photograph(640, 480, 6, "2025:07:14 18:30:59", "+02:00")

var taken = time.Date(2025, 7, 14, 16, 30, 59, 0, time.UTC).UnixMilli()

// examine examines the pictures on the first replica, and compares whether that was complete.
func examine(t *testing.T, l *apptest.Larder, want bool) {
	t.Helper()
	complete, err := l.Apps[0].Pictures.Examine(t.Context())
	if err != nil || complete != want {
		t.Errorf("complete: %t, %v, want %t", complete, err, want)
	}
}

// item returns the entry with an id in a reply with items.
func item(t *testing.T, r *apptest.Reply, id string) map[string]any {
	t.Helper()
	for _, item := range r.OK(200).Value("items").([]any) {
		if item := item.(map[string]any); item["id"] == id {
			return item
		}
	}
	t.Fatalf("%s is not among the items", id)
	return nil
}

// objectWith returns the path of the object with a content.
func objectWith(t *testing.T, l *apptest.Larder, content []byte) (path string) {
	t.Helper()
	err := filepath.WalkDir(l.Apps[0].Config.ObjectDir, func(at string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			var found []byte
			if found, err = os.ReadFile(at); bytes.Equal(found, content) {
				path = at
			}
		}
		return err
	})
	if err != nil || path == "" {
		t.Fatalf("no object has that content: %v", err)
	}
	return path
}

// widthOf returns the width of a picture in the home of alice as the listing states it, "" for
// none.
func widthOf(t *testing.T, alice *apptest.Client, id string) string {
	t.Helper()
	if width, there := item(t, alice.Get("/api/files?path=/home/alice"), id)["width"]; there {
		return fmt.Sprint(width)
	}
	return ""
}

// I upload a photograph, and every list of files tells its true size and when it was taken.
func TestPropertiesOfUploads(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice := l.User(t, "alice")
		photo := alice.Upload("/home/alice", "photo.jpg", camera)
		drawing := alice.Upload("/home/alice", "drawing.png", thumbtest.PNG(thumbtest.HalfTransparent(30, 20)))
		text := alice.Upload("/home/alice", "text.jpg", []byte("no picture"))
		alice.Put("/api/users/me/favourites/"+photo, nil).OK(200)
		list := func() *apptest.Reply { return alice.Get("/api/files?path=/home/alice") }
		fields := []string{"width", "height", "orientation", "takenAt", "thumbhash"}
		none := func(what, id string) {
			t.Helper()
			found := item(t, list(), id)
			for _, field := range fields {
				if value, there := found[field]; there {
					t.Errorf("%s: %s is %v", what, field, value)
				}
			}
		}
		none("before", photo)
		examine(t, l, true)
		none("a text", text)
		for what, r := range map[string]*apptest.Reply{
			"listing": list(), "search": alice.Get("/api/files?path=/&search=photo"),
			"recent": alice.Get("/api/files/recent"), "favourites": alice.Get("/api/users/me/favourites"),
		} {
			got := item(t, r, photo)
			if told := fmt.Sprintf("%v %v %v %v", got["width"], got["height"], got["orientation"], got["takenAt"]); told !=
				fmt.Sprintf("480 640 6 %d", taken) {
				t.Errorf("%s: %s", what, told)
			}
			hash, _ := got["thumbhash"].(string)
			if raw, err := base64.StdEncoding.DecodeString(hash); err != nil || len(raw) < 10 || len(raw) > 25 {
				t.Errorf("%s: thumbhash %q, %v", what, hash, err)
			}
		}
		details := alice.Get("/api/files/" + photo).OK(200)
		if details.Int("file.width") != 480 || details.Int("file.takenAt") != taken {
			t.Errorf("details: %s", details.Body)
		}
		got := item(t, list(), drawing)
		if told := fmt.Sprintf("%v %v %v %v", got["width"], got["height"], got["orientation"], got["takenAt"]); told !=
			fmt.Sprintf("30 20 1 %v", got["createdAt"]) {
			t.Errorf("a drawing: %s", told)
		}
	})
}

// An object that its store has lost delays no other picture, and is examined once it is back.
func TestLostPicture(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice := l.User(t, "alice")
		photo := alice.Upload("/home/alice", "photo.jpg", camera)
		l.Clock.Advance(time.Second)
		lost := alice.Upload("/home/alice", "lost.jpg", slices.Concat(camera, []byte("another")))
		width := func(id string) string { return widthOf(t, alice, id) }
		path := objectWith(t, l, slices.Concat(camera, []byte("another")))
		if err := os.Rename(path, path+"-away"); err != nil {
			t.Fatal(err)
		}
		examine(t, l, true)
		if width(photo) != "480" || width(lost) != "" {
			t.Errorf("widths: %q, %q", width(photo), width(lost))
		}
		if err := os.Rename(path+"-away", path); err != nil {
			t.Fatal(err)
		}
		examine(t, l, true)
		if width(lost) != "" {
			t.Error("a lost picture was tried again at once")
		}
		l.Clock.Advance(15 * time.Minute)
		examine(t, l, true)
		if width(lost) != "480" {
			t.Errorf("width of the picture that is back: %q", width(lost))
		}
	})
}

// While a store fails, its pictures wait.
func TestStoreIsAway(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite")
	alice := l.User(t, "alice")
	photo := alice.Upload("/home/alice", "photo.jpg", camera)
	width := func() string { return widthOf(t, alice, photo) }
	root := l.Apps[0].Config.ObjectDir
	if err := os.Rename(root, root+"-away"); err != nil {
		t.Fatal(err)
	}
	examine(t, l, false)
	if err := os.Rename(root+"-away", root); err != nil {
		t.Fatal(err)
	}
	if width() != "" {
		t.Errorf("width %q without the store", width())
	}
	examine(t, l, true)
	if width() != "480" {
		t.Errorf("width %q with the store", width())
	}
}

// Of two replicas one examines; the other continues when the lease of the first has ended.
func TestOneReplicaExamines(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "postgres")
	alice := l.User(t, "alice")
	photo := alice.Upload("/home/alice", "photo.jpg", camera)
	width := func() string { return widthOf(t, alice, photo) }
	until := l.Clock.Now().Add(2 * time.Minute).UnixMilli()
	err := l.Apps[1].DB.Write(t.Context(), func(tx *db.Tx) error {
		_, err := tx.Exec("INSERT INTO versions (name, value) VALUES ('examine until', $1)", until)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	examine(t, l, true)
	if width() != "" {
		t.Error("a replica examined while another one holds the lease")
	}
	l.Clock.Advance(2*time.Minute - time.Millisecond)
	examine(t, l, true)
	if width() != "" {
		t.Error("a replica examined before the end of the lease")
	}
	l.Clock.Advance(time.Millisecond)
	examine(t, l, true)
	if width() != "480" {
		t.Errorf("width %q after the end of the lease", width())
	}
	var left int64
	if err := l.Apps[1].DB.Read(t.Context()).QueryRow("SELECT value FROM versions WHERE name = 'examine until'").
		Scan(&left); err != nil || left != 0 {
		t.Errorf("the lease ends at %d, %v, want 0", left, err)
	}
}
