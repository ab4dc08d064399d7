package e2e

import (
	"fmt"
	"testing"
	"time"
)

// The crash scenarios of the trash, versions and earlier times.

func trashCommitted(t *testing.T, w *crashFixture) crashAttempt {
	content := w.content(small(w))
	path, id := w.put(t, w.fresh(), content)
	return crashAttempt{
		run: func() (reply, error) { return w.admin.send("DELETE", "/api/files/"+id+"?trash=true", nil) },
		may: map[string][]string{path: {""}},
		again: func(t *testing.T) {
			w.admin.do(t, "DELETE", "/api/files/"+id+"?trash=true", nil).fails(t, 404, "NOT_FOUND")
			w.admin.do(t, "POST", "/api/trash/"+id+"/restore", object{}).want(t, 200)
			w.kept[path] = content
		},
	}
}

func trashRestored(t *testing.T, w *crashFixture) crashAttempt {
	content := w.content(small(w))
	path, id := w.put(t, w.fresh(), content)
	w.admin.do(t, "DELETE", "/api/files/"+id+"?trash=true", nil).want(t, 200)
	delete(w.kept, path)
	return crashAttempt{
		run: func() (reply, error) { return w.admin.send("POST", "/api/trash/"+id+"/restore", object{}) },
		may: map[string][]string{path: {content}},
		again: func(t *testing.T) {
			w.admin.do(t, "POST", "/api/trash/"+id+"/restore", object{}).fails(t, 404, "NOT_FOUND")
		},
	}
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

func trashPurged(t *testing.T, w *crashFixture) crashAttempt {
	path, id := w.put(t, w.fresh(), w.content(small(w)))
	w.admin.do(t, "DELETE", "/api/files/"+id+"?trash=true", nil).want(t, 200)
	delete(w.kept, path)
	return crashAttempt{
		run: func() (reply, error) { return w.admin.send("DELETE", "/api/trash/"+id, nil) },
		may: map[string][]string{path: {""}},
		again: func(t *testing.T) {
			w.admin.do(t, "DELETE", "/api/trash/"+id, nil).fails(t, 404, "NOT_FOUND")
		},
	}
}

// rewinding brings a folder back in which a file was replaced, one was deleted, and one is new.
func rewinding(t *testing.T, w *crashFixture) crashAttempt {
	folder := w.fresh()
	id := w.admin.mkdir(t, "/uploads", folder)
	in := "/uploads/" + folder
	write := func(name string) string {
		t.Helper()
		content := w.content(small(w))
		session := w.admin.announce(t, in, name, int64(len(content)), object{"conflict": "replace"}).SessionID
		r, err := w.complete(session, w.raw(t, session, content))
		if err != nil {
			t.Fatal(err)
		}
		r.want(t, 200)
		return content
	}
	replaced, deleted := write("replaced"), write("deleted")
	then := time.Now().UnixMilli()
	until(t, "earlier times are known", func() bool {
		then = time.Now().UnixMilli()
		return w.admin.do(t, "GET", fmt.Sprintf("/api/files?path=%s&at=%d", in, then), nil).status == 200
	})
	write("replaced")
	write("new")
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
