package e2e

import (
	"fmt"
	"strings"
	"testing"
)

// The crash scenarios of WebDAV.

// davPut puts a file, new or over an existing locked one. Before the commit the old content stays,
// and after it the new content is stored.
func davPut(size func(*crashFixture) int, over, committed bool) func(*testing.T, *crashFixture) crashAttempt {
	return func(t *testing.T, w *crashFixture) crashAttempt {
		path, before, after := "/uploads/"+w.fresh(), "", w.content(size(w))
		var headers []string
		if over {
			before = w.content(small(w))
			w.davPut(t, path, before)
			headers = holding(path, w.lock(t, path))
		}
		may := before
		if committed {
			may = after
		}
		return crashAttempt{
			run: func() (reply, error) { return w.dav.send("PUT", dav(path), []byte(after), headers...) },
			may: map[string][]string{path: {may}},
			again: func(t *testing.T) {
				if over { // the acknowledged lock is still valid
					w.dav.do(t, "PUT", dav(path), []byte(after)).want(t, 423)
				}
				w.dav.do(t, "PUT", dav(path), []byte(after), headers...).want(t, settled(over || committed))
				w.kept[path] = after
			},
		}
	}
}

// davPut uploads to a running process and records the content.
func (f *crashFixture) davPut(t *testing.T, path, content string) {
	t.Helper()
	f.dav.do(t, "PUT", dav(path), []byte(content)).want(t, 201)
	f.kept[path] = content
}

// lock locks a resource and returns the token.
func (f *crashFixture) lock(t *testing.T, path string) string {
	t.Helper()
	return strings.Trim(f.dav.do(t, "LOCK", dav(path), []byte(lockIt)).lockToken(t, 200), "<>")
}

func holding(path, token string) []string {
	return []string{"If", fmt.Sprintf("<%s> (<%s>)", dav(path), token)}
}

// resourceAt returns the PROPFIND answer about a resource itself.
func (f *crashFixture) resourceAt(t *testing.T, path string) davResource {
	t.Helper()
	is, told := f.dav.propfind(t, path)[path]
	if !told {
		t.Errorf("PROPFIND %s does not list it", path)
	}
	return is
}

// davDelete loses the answer to the deletion of a folder with locks in it.
func davDelete(t *testing.T, w *crashFixture) crashAttempt {
	folder := "/uploads/" + w.fresh()
	w.dav.do(t, "MKCOL", dav(folder), nil).want(t, 201)
	path := folder + "/" + w.fresh()
	w.davPut(t, path, w.content(small(w)))
	headers := holding(path, w.lock(t, path))
	return crashAttempt{
		run:   func() (reply, error) { return w.dav.send("DELETE", dav(folder), nil, headers...) },
		may:   map[string][]string{path: {""}},
		again: func(t *testing.T) { w.dav.do(t, "DELETE", dav(folder), nil).want(t, 404) },
	}
}

func davMkcol(t *testing.T, w *crashFixture) crashAttempt {
	folder := "/uploads/" + w.fresh()
	return crashAttempt{
		run: func() (reply, error) { return w.dav.send("MKCOL", dav(folder), nil) },
		again: func(t *testing.T) {
			w.dav.do(t, "MKCOL", dav(folder), nil).want(t, 405)
			if is := w.resourceAt(t, folder); !is.folder {
				t.Errorf("the created entry is %+v", is)
			}
		},
	}
}

// davOver moves or copies a file over another. Each has its own properties, and the first is
// locked. All of the change happens, or none.
func davOver(method, fromMount, toMount string) func(*testing.T, *crashFixture) crashAttempt {
	return func(t *testing.T, w *crashFixture) crashAttempt {
		if fromMount != toMount {
			w.mountAll(t)
		}
		from, to := fromMount+"/"+w.fresh(), toMount+"/"+w.fresh()
		content, old := w.content(small(w)), w.content(small(w))
		for path, text := range map[string]string{from: content, to: old} {
			w.davPut(t, path, text)
			w.dav.do(t, "PROPPATCH", dav(path), setBoth(path)).want(t, 207)
		}
		headers := append(holding(from, w.lock(t, from)), "Destination", dav(to))
		left := content
		if method == "MOVE" {
			left = ""
		}
		a := crashAttempt{
			run: func() (reply, error) { return w.dav.send(method, dav(from), nil, headers...) },
			may: map[string][]string{from: {left}, to: {content}},
			again: func(t *testing.T) {
				if is := w.resourceAt(t, to); is.properties != bothAre(from) || is.lock != "" {
					t.Errorf("%s over another is %+v", method, is)
				}
				if method == "MOVE" {
					w.dav.do(t, method, dav(from), nil, "Destination", dav(to)).want(t, 404)
					return
				}
				if is := w.resourceAt(t, from); is.properties != bothAre(from) || is.lock == "" {
					t.Errorf("the original is %+v", is)
				}
				w.dav.do(t, method, dav(from), nil, headers...).want(t, 204)
			},
		}
		if fromMount != toMount {
			a.first = func(t *testing.T) { // the job continues by itself
				switch r := w.dav.do(t, "GET", dav(to), nil).want(t, 200); string(r.body) {
				case content:
				case old:
					if method == "MOVE" && w.dav.do(t, "GET", dav(from), nil).status != 200 &&
						string(w.dav.do(t, "GET", dav(to), nil).body) != content {
						t.Errorf("%s is lost", from)
					}
				default:
					t.Errorf("%s is neither the old nor the new", to)
				}
			}
		}
		return a
	}
}

// davFolderOver moves or copies a folder over another. Afterwards the address has all of the old
// content or all of the new.
func davFolderOver(method string) func(*testing.T, *crashFixture) crashAttempt {
	return func(t *testing.T, w *crashFixture) crashAttempt {
		from, to := "/uploads/"+w.fresh(), "/uploads/"+w.fresh()
		may := map[string][]string{}
		for _, folder := range []string{from, to} {
			w.dav.do(t, "MKCOL", dav(folder), nil).want(t, 201)
			for range 2 {
				name, content := "/"+w.fresh(), w.content(small(w))
				w.davPut(t, folder+name, content)
				if may[folder+name] = []string{content}; folder == to || method == "MOVE" {
					may[folder+name] = []string{""}
				}
				if folder == from {
					may[to+name] = []string{content}
				}
			}
		}
		return crashAttempt{
			run: func() (reply, error) { return w.dav.send(method, dav(from), nil, "Destination", dav(to)) },
			may: may,
		}
	}
}

// davLock loses the answer to a lock. The lock stays, and a client can find its token.
func davLock(t *testing.T, w *crashFixture) crashAttempt {
	path, content := "/uploads/"+w.fresh(), w.content(small(w))
	w.davPut(t, path, content)
	return crashAttempt{
		run: func() (reply, error) { return w.dav.send("LOCK", dav(path), []byte(lockIt)) },
		again: func(t *testing.T) {
			is := w.resourceAt(t, path)
			w.dav.do(t, "PUT", dav(path), []byte("x")).want(t, 423)
			w.admin.do(t, "DELETE", "/api/files/"+w.idOf(t, path), nil).fails(t, 409, "OPERATION_FAILED")
			w.dav.do(t, "UNLOCK", dav(path), nil, "Lock-Token", "<"+is.lock+">").want(t, 204)
			w.dav.do(t, "PUT", dav(path), []byte(content)).want(t, 204)
		},
	}
}

// idOf returns the id of a file in /uploads.
func (f *crashFixture) idOf(t *testing.T, path string) string {
	t.Helper()
	for _, e := range f.admin.list(t, "/uploads") {
		if e.full() == path {
			return e.ID
		}
	}
	t.Fatalf("there is no %s", path)
	return ""
}

// davLockNothing creates an empty file and its lock in one change.
func davLockNothing(t *testing.T, w *crashFixture) crashAttempt {
	path := "/uploads/" + w.fresh()
	return crashAttempt{
		run: func() (reply, error) { return w.dav.send("LOCK", dav(path), []byte(lockIt)) },
		may: map[string][]string{path: {""}},
		again: func(t *testing.T) {
			if is := w.resourceAt(t, path); is.size != 0 || is.folder || is.lock == "" {
				t.Errorf("the file that the lock made is %+v", is)
			}
		},
	}
}

// davRefresh loses the answer to the refresh of a lock.
func davRefresh(t *testing.T, w *crashFixture) crashAttempt {
	path := "/uploads/" + w.fresh()
	w.davPut(t, path, w.content(small(w)))
	token := w.lock(t, path)
	return crashAttempt{
		run: func() (reply, error) { return w.dav.send("LOCK", dav(path), nil, holding(path, token)...) },
		again: func(t *testing.T) {
			if is := w.resourceAt(t, path); is.lock != token {
				t.Errorf("the lock is %q, want %q", is.lock, token)
			}
			w.dav.do(t, "LOCK", dav(path), nil, holding(path, token)...).want(t, 200)
		},
	}
}

// davUnlock loses the answer to the end of a lock.
func davUnlock(t *testing.T, w *crashFixture) crashAttempt {
	path, content := "/uploads/"+w.fresh(), w.content(small(w))
	w.davPut(t, path, content)
	end := []string{"Lock-Token", "<" + w.lock(t, path) + ">"}
	return crashAttempt{
		run: func() (reply, error) { return w.dav.send("UNLOCK", dav(path), nil, end...) },
		again: func(t *testing.T) {
			w.dav.do(t, "UNLOCK", dav(path), nil, end...).want(t, 409)
			w.dav.do(t, "PUT", dav(path), []byte(content)).want(t, 204)
		},
	}
}

// davProppatch loses the answer to a change of properties.
func davProppatch(t *testing.T, w *crashFixture) crashAttempt {
	path := "/uploads/" + w.fresh()
	w.davPut(t, path, w.content(small(w)))
	w.dav.do(t, "PROPPATCH", dav(path), setBoth("old")).want(t, 207)
	token := w.lock(t, path)
	return crashAttempt{
		run: func() (reply, error) {
			return w.dav.send("PROPPATCH", dav(path), setBoth("new"), holding(path, token)...)
		},
		again: func(t *testing.T) {
			if is := w.resourceAt(t, path); is.properties != bothAre("new") || is.lock != token {
				t.Errorf("after new properties it is %+v", is)
			}
		},
	}
}
