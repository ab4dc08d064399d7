package pictures_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"larder/internal/apptest"
	"larder/internal/blob/s3/s3test"
	"larder/internal/db"
	"larder/internal/files"
	"larder/internal/pictures"
	"larder/internal/thumb"
	"larder/internal/thumb/thumbtest"
)

var camera = thumbtest.Photograph(640, 480, 6, "2025:07:14 18:30:59", "+02:00")

var taken = time.Date(2025, 7, 14, 16, 30, 59, 0, time.UTC).UnixMilli()

// examine examines the pictures on the first replica, and compares the time until the next call.
func examine(t *testing.T, l *apptest.Larder, want time.Duration) {
	t.Helper()
	wait, err := l.Apps[0].Pictures.Examine(t.Context())
	if err != nil || wait != want {
		t.Errorf("the next call is after %v, %v, want %v", wait, err, want)
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
		examine(t, l, 2*time.Second)
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
		examine(t, l, 2*time.Second)
		if width(photo) != "480" || width(lost) != "" {
			t.Errorf("widths: %q, %q", width(photo), width(lost))
		}
		if err := os.Rename(path+"-away", path); err != nil {
			t.Fatal(err)
		}
		examine(t, l, time.Minute)
		if width(lost) != "" {
			t.Error("a lost picture was tried again at once")
		}
		l.Clock.Advance(15 * time.Minute)
		examine(t, l, 2*time.Second)
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
	examine(t, l, time.Minute)
	if err := os.Rename(root+"-away", root); err != nil {
		t.Fatal(err)
	}
	if width() != "" {
		t.Errorf("width %q without the store", width())
	}
	examine(t, l, 2*time.Second)
	if width() != "480" {
		t.Errorf("width %q with the store", width())
	}
}

// examinerWith returns an examiner of the first replica whose children run a shell script. started
// returns the number of children that it has started, left the number of unexamined pictures.
func examinerWith(t *testing.T, l *apptest.Larder, script string, change ...func(*thumb.Config)) (
	examiner *pictures.Examiner, started, left func() int) {
	t.Helper()
	dir, children := t.TempDir(), 0
	cfg := thumb.Config{Dir: dir, Child: []string{"/bin/sh", "-c", script},
		Vips: func(context.Context) (string, error) { return "", nil },
		Spool: func() (*os.File, error) {
			children++ // each child writes into one file
			return os.CreateTemp(dir, "spool")
		},
		CheckSpace: func() error { return nil }, Slots: 1, Now: l.Clock.Now, Log: slog.New(slog.DiscardHandler),
		BackgroundTimeout: 10 * time.Minute}
	for _, fn := range change {
		fn(&cfg)
	}
	maker := thumb.New(cfg)
	t.Cleanup(maker.Close)
	examiner = pictures.New(pictures.Config{DB: l.Apps[0].DB, Tree: l.Apps[0].Tree, Thumbs: maker, Now: l.Clock.Now,
		Log: slog.New(slog.DiscardHandler)})
	return examiner, func() int { return children }, func() int {
		left, err := l.Apps[0].Tree.Unexamined(t.Context(), files.FirstExaminePosition, 10)
		if err != nil {
			t.Fatal(err)
		}
		return len(left)
	}
}

// A picture that its store does not deliver in time is tried again until it does. It never counts
// as one that cannot be read.
func TestSlowStore(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite", apptest.ReachLoopback)
	proxy := s3test.NewProxy(t, s3test.New(t))
	proxy.HoldTime = -1
	l.RootOnS3(t, apptest.M{"endpoint": proxy.Endpoint})
	alice := l.User(t, "alice")
	photo := alice.Upload("/home/alice", "photo.jpg", camera)
	proxy.InjectFault(s3test.TimedOut, s3test.Get, s3test.Always)
	examiner, started, left := examinerWith(t, l, "exit 1", func(cfg *thumb.Config) {
		cfg.FetchTimeout = 100 * time.Millisecond
	})
	for range 4 {
		if wait, err := examiner.Examine(t.Context()); err != nil || wait != time.Minute {
			t.Errorf("the next call is after %v, %v, want a minute", wait, err)
		}
		l.Clock.Advance(15 * time.Minute)
	}
	if left() != 1 || started() != 0 {
		t.Errorf("%d pictures are left after %d children, want 1 and 0", left(), started())
	}
	proxy.Restore()
	examine(t, l, 2*time.Second)
	if width := widthOf(t, alice, photo); width != "480" {
		t.Errorf("width %q of a picture that its store delivers", width)
	}
}

// A picture that its store does not deliver twice is passed over, so that the others are examined.
func TestObjectThatHangs(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite", apptest.ReachLoopback)
	proxy := s3test.NewProxy(t, s3test.New(t))
	proxy.HoldTime = -1
	l.RootOnS3(t, apptest.M{"endpoint": proxy.Endpoint})
	alice := l.User(t, "alice")
	alice.Upload("/home/alice", "older.jpg", camera)
	l.Clock.Advance(time.Second)
	alice.Upload("/home/alice", "newer.jpg", append(slices.Clone(camera), 0))
	const timeout = 100 * time.Millisecond
	examiner, _, left := examinerWith(t, l, "exit 1", func(cfg *thumb.Config) { cfg.FetchTimeout = timeout })
	for pass, want := range []int{2, 2, 1} { // pictures that are left
		if pass < 2 {
			proxy.InjectFault(s3test.TimedOut, s3test.Get, 1)
		}
		if _, err := examiner.Examine(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := left(); got != want {
			t.Errorf("after pass %d %d pictures are left, want %d", pass+1, got, want)
		}
	}
	l.Clock.Advance(time.Minute)
	if _, err := examiner.Examine(t.Context()); err != nil || left() != 0 {
		t.Errorf("a minute later %d pictures are left, %v", left(), err)
	}
}

// While the disk of the server fails, a picture is tried again every 15 minutes.
func TestServerFails(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite")
	alice := l.User(t, "alice")
	photo := alice.Upload("/home/alice", "photo.jpg", camera)
	tries := 0
	examiner, _, left := examinerWith(t, l, "exit 1", func(cfg *thumb.Config) {
		cfg.Spool = func() (*os.File, error) {
			tries++
			return nil, errors.New("the disk fails")
		}
	})
	for try := range 4 {
		for range 2 { // the second call passes over it
			if _, err := examiner.Examine(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if tries != try+1 || left() != 1 {
			t.Errorf("after %d tries %d pictures are left, want %d and 1", tries, left(), try+1)
		}
		l.Clock.Advance(15 * time.Minute)
	}
	examine(t, l, 2*time.Second)
	if width := widthOf(t, alice, photo); width != "480" {
		t.Errorf("width %q with a disk that works", width)
	}
}

// A picture whose child dies is tried three times, and then counts as one that cannot be read.
func TestChildThatDies(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite")
	l.User(t, "alice").Upload("/home/alice", "photo.jpg", camera)
	examiner, _, left := examinerWith(t, l, "kill -9 $$")
	for try, want := range []int{1, 1, 0} {
		for range 2 { // the second call passes over it
			if _, err := examiner.Examine(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if got := left(); got != want {
			t.Errorf("after %d tries %d pictures are left, want %d", try+1, got, want)
		}
		l.Clock.Advance(15 * time.Minute)
	}
}

// A picture for which a busy machine has no time is tried again after 1, 2, 4, 8, 15 and 15
// minutes. It never counts as one that cannot be read.
func TestBusyMachine(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite")
	l.User(t, "alice").Upload("/home/alice", "photo.jpg", camera)
	examiner, started, left := examinerWith(t, l, "exec sleep 3600", func(cfg *thumb.Config) {
		cfg.BackgroundTimeout = time.Millisecond
	})
	try := func(want int) {
		t.Helper()
		if _, err := examiner.Examine(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := started(); got != want {
			t.Errorf("tried %d times, want %d", got, want)
		}
	}
	try(1)
	for n, minutes := range []time.Duration{1, 2, 4, 8, 15, 15} {
		l.Clock.Advance(minutes*time.Minute - time.Millisecond)
		try(n + 1)
		l.Clock.Advance(time.Millisecond)
		try(n + 2)
	}
	if left() != 1 {
		t.Error("the picture counts as one that cannot be read")
	}
}

// An object that is shorter than it was is not read, and is examined once it is whole.
func TestShortPicture(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite")
	alice := l.User(t, "alice")
	photo := alice.Upload("/home/alice", "photo.jpg", camera)
	path := objectWith(t, l, camera)
	if err := os.Truncate(path, int64(len(camera))-1); err != nil {
		t.Fatal(err)
	}
	for range 4 {
		examine(t, l, time.Minute)
		l.Clock.Advance(15 * time.Minute)
	}
	if width := widthOf(t, alice, photo); width != "" {
		t.Errorf("width %q of a short object", width)
	}
	if err := os.WriteFile(path, camera, 0o600); err != nil {
		t.Fatal(err)
	}
	examine(t, l, 2*time.Second)
	if width := widthOf(t, alice, photo); width != "480" {
		t.Errorf("width %q of the whole object", width)
	}
}

// The server fetches a picture in a bucket once to examine it, and once for each request for its
// properties: up to 1 MiB the whole picture, and of a larger one the first MiB.
func TestPictureInABucket(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite", apptest.ReachLoopback)
	proxy := s3test.NewProxy(t, s3test.New(t))
	l.RootOnS3(t, apptest.M{"endpoint": proxy.Endpoint})
	alice := l.User(t, "alice")
	photo := thumbtest.InJPEG(thumbtest.JPEG(thumbtest.Quarters(64, 48)), thumbtest.Holiday(binary.LittleEndian))

	var mu sync.Mutex
	var fetched []string
	proxy.SetAfter(func(answer *http.Response) {
		if r := answer.Request; r.Method == http.MethodGet {
			mu.Lock()
			defer mu.Unlock()
			fetched = append(fetched, fmt.Sprintf("%s: %d bytes", r.Header.Get("Range"), answer.ContentLength))
		}
	})
	wantFetched := func(what, want string) {
		t.Helper()
		mu.Lock()
		defer mu.Unlock()
		if !slices.Equal(fetched, []string{want}) {
			t.Errorf("%s: fetched %q, want %q once", what, fetched, want)
		}
		fetched = nil
	}
	for _, c := range []struct {
		size    int
		fetched string
		preview bool
	}{{1 << 20, ": 1048576 bytes", true}, {1<<20 + 1, "bytes=0-1048575: 1048576 bytes", false}} {
		content := slices.Concat(photo, make([]byte, c.size-len(photo)))
		id := alice.Upload("/home/alice", fmt.Sprintf("%d.jpg", c.size), content)
		examine(t, l, 2*time.Second)
		wantFetched(fmt.Sprintf("examine %d bytes", c.size), c.fetched)
		got := item(t, alice.Get("/api/files?path=/home/alice"), id)
		if _, preview := got["thumbhash"]; fmt.Sprint(got["width"]) != "64" || preview != c.preview {
			t.Errorf("%d bytes: width %v, preview %t, want 64, %t", c.size, got["width"], preview, c.preview)
		}
		if name := alice.Get("/api/files/" + id + "/properties").OK(200).Text("camera"); name != "NIKON D750" {
			t.Errorf("%d bytes: camera %q", c.size, name)
		}
		wantFetched(fmt.Sprintf("properties of %d bytes", c.size), c.fetched)
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
	examine(t, l, 2*time.Second)
	if width() != "" {
		t.Error("a replica examined while another one holds the lease")
	}
	l.Clock.Advance(2*time.Minute - time.Millisecond)
	examine(t, l, 2*time.Second)
	if width() != "" {
		t.Error("a replica examined before the end of the lease")
	}
	l.Clock.Advance(time.Millisecond)
	examine(t, l, 2*time.Second)
	if width() != "480" {
		t.Errorf("width %q after the end of the lease", width())
	}
	var left int64
	if err := l.Apps[1].DB.Read(t.Context()).QueryRow("SELECT value FROM versions WHERE name = 'examine until'").
		Scan(&left); err != nil || left != 0 {
		t.Errorf("the lease ends at %d, %v, want 0", left, err)
	}
}

// A replica with more pictures than it examines in one turn keeps the lease for the next turn.
func TestLeaseBetweenTurns(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "postgres")
	alice := l.User(t, "alice")
	for n := range 21 {
		alice.Upload("/home/alice", fmt.Sprintf("%d.jpg", n), []byte("no picture"))
	}
	a := l.Apps[0]
	slow := func() time.Time { // each picture takes at least a second
		l.Clock.Advance(time.Second)
		return l.Clock.Now()
	}
	examiner := pictures.New(pictures.Config{DB: a.DB, Tree: a.Tree, Thumbs: a.Thumbs, Now: slow,
		Log: slog.New(slog.DiscardHandler)})
	for turn, want := range []int{1, 0} {
		if _, err := examiner.Examine(t.Context()); err != nil {
			t.Fatal(err)
		}
		left, err := a.Tree.Unexamined(t.Context(), files.FirstExaminePosition, 100)
		if err != nil || len(left) != want {
			t.Errorf("after turn %d %d pictures are left, %v, want %d", turn+1, len(left), err, want)
		}
	}
}
