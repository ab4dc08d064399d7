package e2e

import (
	"fmt"
	"maps"
	"testing"
	"time"
)

// The crash scenarios of the trash, versions and earlier times.

// makeEntry creates what goes to the trash: oneFile or folderOfFiles.
type makeEntry func(t *testing.T, w *crashFixture) (id string, files contents)

func trashCommitted(entry makeEntry) func(*testing.T, *crashFixture) crashAttempt {
	return func(t *testing.T, w *crashFixture) crashAttempt {
		id, files := entry(t, w)
		return crashAttempt{
			run: func() (reply, error) { return w.admin.send("DELETE", "/api/files/"+id+"?trash=true", nil) },
			may: files.afterwards(false),
			again: func(t *testing.T) {
				w.admin.do(t, "DELETE", "/api/files/"+id+"?trash=true", nil).fails(t, 404, "NOT_FOUND")
				w.admin.do(t, "POST", "/api/trash/"+id+"/restore", object{}).want(t, 200)
				maps.Copy(w.kept, files)
			},
		}
	}
}

// trashBatchCommitted deletes two files by one batch into the trash.
func trashBatchCommitted(t *testing.T, w *crashFixture) crashAttempt {
	first, files := oneFile(t, w)
	second, more := oneFile(t, w)
	maps.Copy(files, more)
	batch := object{"action": "delete", "fileIds": []string{first, second}, "trash": true}
	return crashAttempt{
		run: func() (reply, error) { return w.admin.send("POST", "/api/files/batch", batch) },
		may: files.afterwards(false),
		again: func(t *testing.T) {
			for _, id := range []string{first, second} {
				w.admin.do(t, "DELETE", "/api/files/"+id+"?trash=true", nil).fails(t, 404, "NOT_FOUND")
				w.admin.do(t, "POST", "/api/trash/"+id+"/restore", object{}).want(t, 200)
			}
			maps.Copy(w.kept, files)
		},
	}
}

func trashRestored(entry makeEntry) func(*testing.T, *crashFixture) crashAttempt {
	return func(t *testing.T, w *crashFixture) crashAttempt {
		id, files := w.trashed(t, entry)
		return crashAttempt{
			run: func() (reply, error) { return w.admin.send("POST", "/api/trash/"+id+"/restore", object{}) },
			may: files.afterwards(true),
			again: func(t *testing.T) {
				w.admin.do(t, "POST", "/api/trash/"+id+"/restore", object{}).fails(t, 404, "NOT_FOUND")
			},
		}
	}
}

func trashPurged(entry makeEntry) func(*testing.T, *crashFixture) crashAttempt {
	return func(t *testing.T, w *crashFixture) crashAttempt {
		id, files := w.trashed(t, entry)
		return crashAttempt{
			run: func() (reply, error) { return w.admin.send("DELETE", "/api/trash/"+id, nil) },
			may: files.afterwards(false),
			again: func(t *testing.T) {
				w.admin.do(t, "DELETE", "/api/trash/"+id, nil).fails(t, 404, "NOT_FOUND")
			},
		}
	}
}

// trashed creates an entry and deletes it into the trash.
func (f *crashFixture) trashed(t *testing.T, entry makeEntry) (id string, files contents) {
	t.Helper()
	id, files = entry(t, f)
	f.admin.do(t, "DELETE", "/api/files/"+id+"?trash=true", nil).want(t, 200)
	for path := range files {
		delete(f.kept, path)
	}
	return id, files
}

// write uploads a file with new content into a folder, over the one with its name, and returns the
// content.
func (f *crashFixture) write(t *testing.T, folder, name string) string {
	t.Helper()
	content := f.content(small(f))
	session := f.admin.announce(t, folder, name, int64(len(content)), object{"conflict": "replace"}).SessionID
	r, err := f.complete(session, f.raw(t, session, content))
	if err != nil {
		t.Fatal(err)
	}
	r.want(t, 200)
	return content
}

// oneFile creates a file, and returns its id, and its content by its path.
func oneFile(t *testing.T, w *crashFixture) (id string, files contents) {
	t.Helper()
	path, id := w.put(t, w.fresh(), w.content(small(w)))
	return id, contents{path: w.kept[path]}
}

// folderOfFiles creates a folder with a file, and a folder with another file in it. It returns the
// id of the folder, and the contents by path.
func folderOfFiles(t *testing.T, w *crashFixture) (id string, files contents) {
	t.Helper()
	name := w.fresh()
	id = w.admin.mkdir(t, "/uploads", name)
	top := "/uploads/" + name
	w.admin.mkdir(t, top, "below")
	files = contents{top + "/file": w.write(t, top, "file"), top + "/below/file": w.write(t, top+"/below", "file")}
	maps.Copy(w.kept, files)
	return id, files
}

// afterwards returns the allowed contents of the files when all of them are there, or none.
func (c contents) afterwards(there bool) map[string][]string {
	may := map[string][]string{}
	for path, content := range c {
		if !there {
			content = ""
		}
		may[path] = []string{content}
	}
	return may
}

func versionRestored(t *testing.T, w *crashFixture) crashAttempt {
	old, fresh := w.content(small(w)), w.content(small(w))
	path, id := w.put(t, w.fresh(), old)
	session := w.begin(t, path[len("/uploads/"):], "replace", len(fresh))
	r, err := w.complete(session, w.raw(t, session, fresh))
	if err != nil {
		t.Fatal(err)
	}
	r.want(t, 200)
	w.kept[path] = fresh
	var list struct{ Versions []struct{ Until int64 } }
	versions := "/api/files/" + id + "/versions"
	w.admin.do(t, "GET", versions, nil).data(t, 200, &list)
	restore := fmt.Sprintf("%s/%d/restore", versions, list.Versions[0].Until)
	return crashAttempt{
		run: func() (reply, error) { return w.admin.send("POST", restore, nil) },
		may: map[string][]string{path: {old}},
		again: func(t *testing.T) {
			w.admin.do(t, "POST", restore, nil).want(t, 200)
			w.kept[path] = old
		},
	}
}

// rewinding brings a folder back in which a file was replaced, one was deleted, and one is new.
func rewinding(t *testing.T, w *crashFixture) crashAttempt {
	folder := w.fresh()
	id := w.admin.mkdir(t, "/uploads", folder)
	in := "/uploads/" + folder
	replaced, deleted := w.write(t, in, "replaced"), w.write(t, in, "deleted")
	then := time.Now().UnixMilli()
	until(t, "earlier times are known", func() bool {
		then = time.Now().UnixMilli()
		return w.admin.do(t, "GET", fmt.Sprintf("/api/files?path=%s&at=%d", in, then), nil).status == 200
	})
	w.write(t, in, "replaced")
	w.write(t, in, "new")
	for _, e := range w.admin.list(t, in) {
		if e.Name == "deleted" {
			w.admin.do(t, "DELETE", "/api/files/"+e.ID+"?trash=true", nil).want(t, 200)
		}
	}
	return crashAttempt{
		run: func() (reply, error) { // until the job has reached the crash point
			return w.untilDead(w.admin.send("POST", "/api/files/"+id+"/rewind", object{"at": then}))
		},
		may: map[string][]string{in + "/replaced": {replaced}, in + "/deleted": {deleted}, in + "/new": {""}},
	}
}
