package e2e

import (
	"testing"
)

// copyCommitted loses the answer to a copy that is done within the request. The copy stays.
func copyCommitted(t *testing.T, w *crashFixture) crashAttempt {
	content := w.content(small(w))
	path, id := w.put(t, w.fresh(), content)
	name := w.fresh()
	order := object{"targetPath": "/uploads", "newName": name}
	return crashAttempt{
		run: func() (reply, error) { return w.admin.send("POST", "/api/files/"+id+"/copy", order) },
		may: map[string][]string{path: {content}, "/uploads/" + name: {content}},
		again: func(t *testing.T) { // the copy exists already
			w.admin.do(t, "POST", "/api/files/"+id+"/copy", order).fails(t, 409, "OPERATION_FAILED")
		},
	}
}

// copying kills the service during the copy of a folder, which is a job. Nothing of the copy is
// visible before it is complete, and the job is resumed and completed.
func copying(t *testing.T, w *crashFixture) crashAttempt {
	source, target := w.fresh(), w.fresh()
	id := w.admin.mkdir(t, "/uploads", source)
	w.makeTree(t, "/uploads/"+source)
	may := map[string][]string{}
	for range 3 {
		name, content := w.fresh(), w.content(small(w))
		w.keyed.mustRaw(t, name, "/uploads/"+source, "application/x-crash", []byte(content))
		w.kept["/uploads/"+source+"/"+name] = content
		may["/uploads/"+target+"/"+name] = []string{content}
	}
	run := func() (reply, error) { // until the job has reached the crash point
		return w.untilDead(
			w.admin.send("POST", "/api/files/"+id+"/copy", object{"targetPath": "/uploads", "newName": target}))
	}
	below := func(t *testing.T) (total int, id string) {
		r := w.admin.do(t, "GET", "/api/files?limit=1&path=/uploads/"+target, nil)
		if r.status == 404 {
			return 0, ""
		}
		var list struct {
			Pagination struct{ Total int }
			Folder     entry
		}
		r.data(t, 200, &list)
		return list.Pagination.Total, list.Folder.ID
	}
	first := func(t *testing.T) {
		if n, _ := below(t); n != 0 && n != 4 {
			t.Errorf("%d of 4 entries of the copy are seen", n)
		}
	}
	again := func(t *testing.T) { // each can be deleted without the other
		_, copied := below(t)
		w.admin.do(t, "DELETE", "/api/files/"+id, nil).want(t, 200)
		for path, content := range may {
			if got := w.admin.do(t, "GET", path, nil).want(t, 200); string(got.body) != content[0] {
				t.Errorf("%s has %d bytes of %d", path, len(got.body), len(content[0]))
			}
		}
		w.admin.do(t, "DELETE", "/api/files/"+copied, nil).want(t, 200)
		for path := range w.kept {
			if parent := path[:len(path)-len("/f0000.bin")]; parent == "/uploads/"+source ||
				parent == "/uploads/"+target {
				delete(w.kept, path)
			}
		}
	}
	return crashAttempt{may: may, run: run, first: first, again: again}
}

// makeTree creates more folders than a request copies, by copying.
func (f *crashFixture) makeTree(t *testing.T, at string) {
	t.Helper()
	id := f.admin.mkdir(t, at, "1")
	for n := 1; n <= 1000; n = 2*n + 1 {
		name := f.fresh()
		grown := f.admin.mkdir(t, at, name)
		for _, twin := range []string{"1", "2"} {
			f.admin.do(t, "POST", "/api/files/"+id+"/copy", object{"targetPath": at + "/" + name, "newName": twin}).
				want(t, 200)
		}
		f.admin.do(t, "DELETE", "/api/files/"+id, nil).want(t, 200)
		id = grown
	}
}
