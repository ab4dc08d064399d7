package files_test

import (
	"fmt"
	"testing"

	"larder/internal/access"
	"larder/internal/fault"
)

// ownStorage returns the storage of an actor in a folder as text: files and bytes directly in it,
// and of each folder.
func (f *fixture) ownStorage(a access.Actor, p string) string {
	f.t.Helper()
	found, err := f.tree.OwnStorage(f.t.Context(), a, mustParsePath(p))
	f.must(err)
	text := fmt.Sprint(found.Here.Files, "/", found.Here.Bytes)
	for _, folder := range found.Folders {
		text += fmt.Sprint(" ", folder.Name, "@", folder.Path, "=", folder.Files, "/", folder.Bytes)
	}
	return text
}

func TestOwnStorage(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		h.addMount("/uploads/far/photos")
		for _, folder := range []string{"/uploads/box", "/uploads/box/deep", "/uploads/empty", "/uploads/theirs"} {
			h.createFolder(h.ann, folder)
		}
		h.addRule(access.Rule{Pattern: "/uploads/**", Effect: access.Allow, Role: access.User,
			Permissions: access.Set(access.Read | access.Write)})
		for path, bytes := range map[string]int{"/uploads/here.txt": 1, "/uploads/box/a.txt": 10,
			"/uploads/box/deep/b.txt": 20, "/uploads/box/deep/c.txt": 30, "/uploads/far/photos/d.jpg": 500,
			"/home/ann/e.txt": 7} {
			h.mustUpload(h.ann, path, string(make([]byte, bytes)))
		}
		h.mustUpload(h.bob, "/uploads/theirs/f.txt", "x")
		h.mustUpload(h.bob, "/uploads/box/deep/g.txt", "123456789")
		for _, c := range []struct{ who, path, want string }{
			{"ann", "/", "0/0 uploads@/uploads=5/561 home@/home=1/7"},
			{"ann", "/uploads", "1/1 far@/uploads/far=1/500 box@/uploads/box=3/60"},
			{"ann", "/uploads/far", "0/0 photos@/uploads/far/photos=1/500"}, // a virtual folder
			{"ann", "/uploads/far/photos", "1/500"},
			{"ann", "/uploads/box", "1/10 deep@/uploads/box/deep=2/50"},
			{"ann", "/uploads/empty", "0/0"},
			{"bob", "/uploads", "0/0 box@/uploads/box=1/9 theirs@/uploads/theirs=1/1"},
			{"bob", "/home", "0/0"},
		} {
			who := map[string]access.Actor{"ann": h.ann, "bob": h.bob}[c.who]
			if got := h.ownStorage(who, c.path); got != c.want {
				t.Errorf("%s in %s: %s, want %s", c.who, c.path, got, c.want)
			}
		}
		for _, c := range []struct {
			path string
			kind fault.Kind
		}{{"/home/ann", fault.Forbidden}, {"/uploads/absent", fault.NotFound}, {"/uploads/here.txt", fault.NotFound}} {
			_, err := h.tree.OwnStorage(t.Context(), h.bob, mustParsePath(c.path))
			h.wantFault(c.path, err, c.kind)
		}
	})
}
