package api_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"larder/internal/apptest"
	"larder/internal/fsck"
)

// A file whose object is marked as damaged answers 500 on every way to its bytes, also when the
// file and its bytes are in memory, and its neighbour does not. The administrator sees it in the
// data of the system, the readiness and the log. The file is served when its object is healed, and
// when it is replaced.
func TestDamagedObjects(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		for _, a := range l.Apps {
			a.Fsck.Pause = time.Millisecond
		}
		admin := l.Admin(t)
		w, neighbour := newWarmFile(t, l, admin, "alice", &warmChange{})
		w.owner.Upload(w.home, "neighbour.png", []byte("other bytes"), M{"conflict": "replace"})
		neighbour.content = "other bytes"
		share := shareEntry(w.owner, w.id, M{})
		scrub := func(wantFindings, wantHealed int64) {
			t.Helper()
			sum, err := l.Apps[0].Fsck.Scrub(t.Context(), fsck.ScrubOptions{})
			if err != nil || sum.Findings != wantFindings || sum.Healed != wantHealed {
				t.Fatalf("%+v (%v), want %d findings, %d of them healed", sum, err, wantFindings, wantHealed)
			}
		}
		system := func(damaged int) *apptest.Reply {
			t.Helper()
			r := admin.Get("/api/admin/system").OK(200)
			wantJSON(t, "damaged objects", r.Value("damagedObjects"), damaged)
			return r
		}
		wantJSON(t, "the scrub before the first one", system(0).Value("lastScrub"), nil)
		for range 2 {
			w.want("before", served)
			neighbour.want("before", served)
		}
		file := func() string {
			t.Helper()
			var key string
			err := l.Apps[0].DB.Read(t.Context()).QueryRow(
				"SELECT o.key FROM objects o JOIN entries e ON e.object_id = o.id WHERE e.id = $1", w.id).Scan(&key)
			if err != nil {
				t.Fatal(err)
			}
			return filepath.Join(l.Apps[0].Config.ObjectDir, "default", filepath.FromSlash(key))
		}
		if err := os.WriteFile(file(), []byte(strings.Repeat("x", len(onePixel))), 0o600); err != nil {
			t.Fatal(err)
		}

		scrub(1, 0)
		w.want("damaged", "500 500 500 500 500")
		neighbour.want("beside a damaged file", served)
		message := "This file is damaged in its storage. Tell the administrator."
		for range l.Apps {
			for _, r := range []*apptest.Reply{
				w.visitor.Get(shareDownload(w.visitor, share)),
				w.visitor.Get(w.path, "Range", "bytes=0-3"),
				w.visitor.Get(w.link),
				w.owner.Get("/api/files/zip?ids=" + w.id),
			} {
				if r.Status != 500 || !strings.Contains(string(r.Body), message) {
					t.Errorf("%d %.200s", r.Status, r.Body)
				}
			}
			if r := w.visitor.Head(w.path); r.Status != 500 {
				t.Errorf("HEAD: %d", r.Status)
			}
			if r := w.visitor.Get("/api/public/health/ready"); r.Status != 200 ||
				!strings.Contains(string(r.Body), "degraded: stored files are damaged") {
				t.Errorf("readiness: %d %s", r.Status, r.Body)
			}
		}
		if !strings.Contains(l.Log.String(), "larder scrub --now --from BACKUP") {
			t.Error("the log does not tell what to do")
		}
		r := system(1)
		wantJSON(t, "the warning", r.Value("warningDetails").([]any)[0].(map[string]any)["code"], "objects_damaged")
		last := r.Value("lastScrub")
		wantFields(t, "the last scrub", last, "endedAt", "problems", "healed", "objects", "bytes", "unread")
		wantJSON(t, "problems", last.(map[string]any)["problems"], 1)

		// the same content elsewhere heals it
		w.owner.Upload(w.home, "twin.png", []byte(onePixel))
		scrub(1, 1)
		w.want("healed", served)
		system(0)

		// a replacement has an object of its own
		w.owner.Upload(w.home, "twin.png", []byte("no twin any more"), M{"conflict": "replace"})
		if err := os.Remove(file()); err != nil {
			t.Fatal(err)
		}
		scrub(1, 0)
		w.want("damaged again", "500 500 500 500 500")
		w.owner.Upload(w.dir, "f.png", []byte("a new picture"), M{"conflict": "replace"})
		w.content = "a new picture"
		w.want("replaced", served)
		system(0)
	})
}

// A version has the mark of its own object, not that of the present content.
func TestDamagedVersions(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		for _, a := range l.Apps {
			a.Fsck.Pause = time.Millisecond
		}
		l.Admin(t)
		alice := l.User(t, "alice")
		contents := []string{"the first version", "the present bytes"} // of the same length
		id := alice.Upload("/home/alice", "a.txt", []byte(contents[0]))
		l.Clock.Advance(time.Minute)
		alice.Upload("/home/alice", "a.txt", []byte(contents[1]), M{"conflict": "replace"})
		until := alice.Get("/api/files/" + id + "/versions").OK(200).Int("versions.0.until")
		object := func(query string) string {
			t.Helper()
			var key string
			if err := l.Apps[0].DB.Read(t.Context()).QueryRow(query, id).Scan(&key); err != nil {
				t.Fatal(err)
			}
			return filepath.Join(l.Apps[0].Config.ObjectDir, "default", filepath.FromSlash(key))
		}
		files := []string{
			object("SELECT o.key FROM objects o JOIN past p ON p.object_id = o.id WHERE p.entry_id = $1"),
			object("SELECT o.key FROM objects o JOIN entries e ON e.object_id = o.id WHERE e.id = $1"),
		}
		for damaged, intact := range []int{1, 0} {
			for i, text := range contents {
				if i == damaged {
					text = strings.ToUpper(text)
				}
				if err := os.WriteFile(files[i], []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			text := ""
			report := func(f fsck.Finding) { text = f.Text }
			sum, err := l.Apps[0].Fsck.Scrub(t.Context(), fsck.ScrubOptions{Report: report})
			if err != nil || sum.Findings != 1 {
				t.Fatalf("%+v, %v", sum, err)
			}
			want := []string{"; a former version of /home/alice/a.txt (", "; /home/alice/a.txt ("}[damaged]
			if !strings.Contains(text, want) {
				t.Errorf("content %d is damaged: the finding is %q", damaged, text)
			}
			for i, download := range []string{fmt.Sprint("/api/files/", id, "/versions/", until, "/download"),
				"/api/files/" + id + "/download"} {
				r := alice.Get(download)
				if r.Status == 200 {
					r = alice.Get(r.Text("url"))
				}
				good := r.Status == 200 && string(r.Body) == contents[i]
				if i == intact && !good || i == damaged && r.Status != 500 {
					t.Errorf("content %d is damaged: content %d answers %d %.100s", damaged, i, r.Status, r.Body)
				}
			}
		}
	}, withTrash)
}
