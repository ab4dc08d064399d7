package files_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"larder/internal/access"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/vpath"
)

// setProperty sets a property of an entry of ann's.
func (f *fixture) setProperty(id, name, value string) {
	f.t.Helper()
	f.must(f.tree.SetProperties(f.t.Context(), f.ann, id,
		[]files.PropertyChange{{Property: files.Property{Namespace: "urn:n", Name: name, Value: value}}}))
}

// listProperties returns the properties of an entry as `name=value`.
func (f *fixture) listProperties(id string) (list []string) {
	f.t.Helper()
	found, err := f.tree.Properties(f.t.Context(), []string{id})
	f.must(err)
	for _, p := range found[id] {
		list = append(list, p.Name+"="+p.Value)
	}
	return list
}

func (f *fixture) wantProperties(what, id string, want ...string) {
	f.t.Helper()
	if got := f.listProperties(id); !slices.Equal(got, want) {
		f.t.Errorf("%s: properties %q, want %q", what, got, want)
	}
}

// Properties are set, replaced and removed in the given order, all or none (RFC 4918, section 9.2),
// and returned in the order of their names.
func TestProperties(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		f := h.mustUpload(h.ann, "/home/ann/f", "x")
		set := func(namespace, name, lang, value string) files.PropertyChange {
			return files.PropertyChange{Property: files.Property{Namespace: namespace, Name: name, Lang: lang,
				Value: value}}
		}
		remove := func(namespace, name string) files.PropertyChange {
			return files.PropertyChange{Property: files.Property{Namespace: namespace, Name: name}, Remove: true}
		}
		change := func(a access.Actor, c ...files.PropertyChange) error {
			return h.tree.SetProperties(t.Context(), a, f.ID, c)
		}
		want := func(what string, want ...files.Property) {
			t.Helper()
			got, err := h.tree.Properties(t.Context(), []string{f.ID, h.ann.HomeID})
			h.must(err)
			if !slices.Equal(got[f.ID], want) || len(got[h.ann.HomeID]) != 0 {
				t.Errorf("%s: %q, want %q", what, got, want)
			}
		}
		want("at first")
		h.must(change(h.ann, set("urn:b", "a", "", "1"), set("urn:a", "z", "de", "2"), set("", "é", "", "<x/>"),
			set("", "Z", "", ""), set("", "a", "", "3"), set("urn:a", "Z", "", "4")))
		all := []files.Property{
			{Name: "Z"}, {Name: "a", Value: "3"}, {Name: "é", Value: "<x/>"},
			{Namespace: "urn:a", Name: "Z", Value: "4"},
			{Namespace: "urn:a", Name: "z", Lang: "de", Value: "2"}, {Namespace: "urn:b", Name: "a", Value: "1"},
		}
		want("set", all...)
		h.must(change(h.ann, set("urn:a", "z", "en-GB", "new"), remove("", "Z"), remove("urn:none", "absent"),
			set("", "a", "", "twice"), set("", "a", "", "last"),
			set("", "é", "", "back"), remove("", "é"), remove("urn:b", "a"), set("urn:b", "a", "", "after")))
		all = []files.Property{
			{Name: "a", Value: "last"}, {Namespace: "urn:a", Name: "Z", Value: "4"},
			{Namespace: "urn:a", Name: "z", Lang: "en-GB", Value: "new"},
			{Namespace: "urn:b", Name: "a", Value: "after"},
		}
		want("changed", all...)
		h.must(change(h.ann))
		h.wantFault("too long", change(h.ann, remove("", "a"), set("", "b", "", strings.Repeat("x", 65536))),
			fault.QuotaExceeded)
		want("after a refusal", all...)
		h.wantFault("another's", change(h.bob, set("", "b", "", "")), fault.Forbidden)
		h.wantFault("nothing's", h.tree.SetProperties(t.Context(), h.ann, "absent", nil), fault.NotFound)
		reads := viaKey(h.ann, "one")
		reads.Key.Permissions = access.Set(access.Read)
		h.wantFault("by a key that may only read", change(reads, set("", "b", "", "")), fault.Forbidden)
		h.protectEntry(f.ID)
		if err := change(h.bob, set("", "b", "", "")); err == nil {
			t.Error("set on an entry with a password")
		}
		want("after a refusal", all...)
	})
}

// An entry has a limited number of properties of a limited size, also when requests are concurrent.
func TestPropertiesAreBounded(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		dir := h.createFolder(h.ann, "/home/ann/dir")
		f := h.mustUpload(h.ann, "/home/ann/dir/f", "x")
		change := func(id string, c ...files.PropertyChange) error {
			return h.tree.SetProperties(t.Context(), h.ann, id, c)
		}
		named := func(n int) files.PropertyChange {
			return files.PropertyChange{Property: files.Property{Name: fmt.Sprint("n", n)}}
		}
		var many []files.PropertyChange
		for i := range 100 {
			many = append(many, named(i))
		}
		h.must(change(f.ID, many...))
		h.wantFault("one more", change(f.ID, named(100)), fault.QuotaExceeded)
		gone := named(0)
		gone.Remove = true
		h.must(change(f.ID, named(100), gone)) // the number at the end counts
		h.must(change(f.ID, named(100)))
		h.must(change(dir.ID, named(0))) // each entry has its own limit

		g := h.mustUpload(h.ann, "/home/ann/dir/g", "x")
		full := files.Property{Namespace: "four", Name: "éx", Lang: "en", Value: strings.Repeat("x", 65536-4-3-2)}
		h.must(change(g.ID, files.PropertyChange{Property: full}))
		more := full
		more.Value += "x"
		h.wantFault("a byte more", change(g.ID, files.PropertyChange{Property: more}), fault.QuotaExceeded)
		h.wantFault("another", change(g.ID, files.PropertyChange{Property: files.Property{Name: "x"}}),
			fault.QuotaExceeded)
		if got, err := h.tree.Properties(t.Context(), []string{g.ID}); err != nil || len(got[g.ID]) != 1 ||
			got[g.ID][0] != full {
			t.Errorf("afterwards there are %d, %v", len(got[g.ID]), err)
		}
		for round := range 10 {
			e := h.mustUpload(h.ann, fmt.Sprintf("/home/ann/dir/e%d", round), "x")
			var some sync.WaitGroup
			for i := range 4 {
				some.Go(func() {
					mine := []files.PropertyChange{}
					for n := range 40 {
						mine = append(mine, named(100*i+n))
					}
					if err := change(e.ID, mine...); err != nil && !fault.Is(err, fault.QuotaExceeded) {
						t.Error(err)
					}
				})
			}
			some.Wait()
			if n := len(h.listProperties(e.ID)); n != 80 {
				t.Errorf("round %d: %d properties of four times forty", round, n)
			}
		}
	})
}

// No property of an entry remains when the entry is deleted concurrently.
func TestPropertiesAgainstDelete(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		for i := range 50 {
			f := h.mustUpload(h.ann, fmt.Sprintf("/home/ann/f%d", i), "x")
			var both sync.WaitGroup
			both.Go(func() {
				err := h.tree.SetProperties(t.Context(), h.ann, f.ID,
					[]files.PropertyChange{{Property: files.Property{Name: "n"}}})
				if err != nil && !fault.Is(err, fault.NotFound) {
					t.Error(err)
				}
			})
			both.Go(func() {
				if _, _, err := h.tree.Delete(t.Context(), h.ann, f.ID); err != nil {
					t.Error(err)
				}
			})
			both.Wait()
		}
		if n := h.countRows("properties"); n != 0 {
			t.Errorf("%d properties without an entry", n)
		}
	})
}

// Properties move with their entry (RFC 4918, section 9.9.1), a copy has its own (section 9.8.2),
// new content changes none, and deletion of the entry deletes all.
func TestPropertiesFollowTheirEntry(t *testing.T) {
	eachSize(t, func(t *testing.T, w *storesFixture, _ bool) {
		w.uploadTree("/home/ann/box", map[string]string{"a": "1", "b": "22", "sub/c": "333", "sub/d": "4",
			"sub/deep/e": "5"})
		all := []string{"", "/a", "/sub", "/sub/c", "/sub/deep", "/sub/deep/e"}
		for _, p := range all {
			w.setProperty(w.idAtPath("/home/ann/box"+p), "at", p)
			w.setProperty(w.idAtPath("/home/ann/box"+p), "and", "too")
		}
		there := func(what, folder string) {
			t.Helper()
			for _, p := range all {
				w.wantProperties(what+p, w.idAtPath(folder+p), "and=too", "at="+p)
			}
			w.wantProperties(what, w.idAtPath(folder+"/b"))
		}
		w.mustCopy(w.ann, w.idAtPath("/home/ann/box"), "/home/ann", "copy")
		there("copied", "/home/ann/copy")
		there("the original", "/home/ann/box")
		w.mustCopy(w.ann, w.idAtPath("/home/ann/box"), "/vault", "copy")
		there("copied to another provider", "/vault/copy")
		if n := w.countRows("properties"); n != 36 {
			t.Errorf("%d properties, want three times twelve", n)
		}
		w.setProperty(w.idAtPath("/home/ann/copy/a"), "at", "the copy's")
		w.wantProperties("the original", w.idAtPath("/home/ann/box/a"), "and=too", "at=/a")
		w.setProperty(w.idAtPath("/home/ann/copy/a"), "at", "/a")

		name := vpath.Name("moved")
		_, err := w.tree.Move(t.Context(), w.ann, w.idAtPath("/home/ann/box"), mustParsePath("/home/ann/copy"), &name)
		w.must(err)
		there("moved", "/home/ann/copy/moved")
		_, err = w.tree.Rename(t.Context(), w.ann, w.idAtPath("/home/ann/copy"), "outer")
		w.must(err)
		there("below a renamed folder", "/home/ann/outer/moved")
		_, err = w.tree.Move(t.Context(), w.ann, w.idAtPath("/home/ann/outer"), mustParsePath("/vault"), nil)
		w.must(err)
		w.runJobs()
		there("below a folder moved to another provider", "/vault/outer/moved")
		there("moved to another provider", "/vault/outer")
		_, err = w.upload(w.ann, "/vault/outer/a", "new content", files.Replace)
		w.must(err)
		there("with new content", "/vault/outer")

		_, _, err = w.tree.Delete(t.Context(), w.ann, w.idAtPath("/vault/copy/a"))
		w.must(err)
		if n := w.countRows("properties"); n != 34 {
			t.Errorf("%d properties after a file was deleted, want 34", n)
		}
		_, _, err = w.tree.Delete(t.Context(), w.ann, w.idAtPath("/vault/copy/sub"))
		w.must(err)
		w.collect()
		if n := w.countRows("properties"); n != 26 {
			t.Errorf("%d properties after a folder was deleted, want 26", n)
		}
		for _, p := range []string{"/vault/copy", "/vault/outer"} {
			_, _, err = w.tree.Delete(t.Context(), w.ann, w.idAtPath(p))
			w.must(err)
		}
		w.collect()
		if n := w.countRows("properties"); n != 0 {
			t.Errorf("%d properties of deleted entries", n)
		}
		w.checkAccounting()
	})
}

// No properties remain of a copy that failed, nor of a folder that is deleted in batches.
func TestPropertiesOfFailedCopyAreDeleted(t *testing.T) {
	eachStoresFixture(t, func(t *testing.T, w *storesFixture) {
		w.uploadTree("/home/ann/box", sampleFiles())
		for _, p := range []string{"/home/ann/box", "/home/ann/box/a.txt", "/home/ann/box/sub", "/home/ann/box/sub/c"} {
			w.setProperty(w.idAtPath(p), "n", "v")
		}
		w.tree.SetCopyBatchSize(2)
		to := w.createFolder(w.ann, "/home/ann/to")
		j, err := w.requestCopy(w.ann, w.idAtPath("/home/ann/box"), "/home/ann/to")
		w.must(err)
		w.runBeforeTransaction(4, func() {
			_, _, err := w.tree.Delete(t.Context(), w.ann, to.ID)
			w.must(err)
			if n := w.countRows("properties"); n <= 4 {
				t.Errorf("%d properties in a partial copy", n)
			}
		})
		w.checkJobEnded(j.ID, "target folder")
		w.checkNothingStaged()
		w.collect()
		if n := w.countRows("properties"); n != 4 {
			t.Errorf("%d properties, want those of the original", n)
		}
		big := w.createFolder(w.ann, "/home/ann/big")
		w.write(func(tx *db.Tx) error {
			_, err := tx.Exec(
				"INSERT INTO objects (id, provider_id, key, size, etag, refs, created_at) VALUES ('o', 'local', " +
					"'ab/o', 1, '', 1100, 0)")
			for i := 0; i < 1100 && err == nil; i++ {
				id := fmt.Sprint("big", i)
				if err = w.insertFile(tx, id, big.ID, "o"); err == nil {
					_, err = tx.Exec(
						"INSERT INTO properties (entry_id, namespace, name, lang, value) VALUES ($1, '', 'n', '', '')",
						id)
				}
			}
			if err == nil {
				_, err = tx.Exec(
					"UPDATE quotas SET used_storage = used_storage + 1100, used_files = used_files + 1100 WHERE " +
						"user_id = 'ann'")
			}
			return err
		})
		_, _, err = w.tree.Delete(t.Context(), w.ann, big.ID)
		w.must(err)
		w.collect()
		if n := w.countRows("properties"); n != 4 {
			t.Errorf("%d properties, want those of the original", n)
		}
	})
}
