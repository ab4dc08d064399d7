package files_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"larder/internal/access"
	"larder/internal/db"
	"larder/internal/db/dbtest"
	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/vpath"
)

// eachHouse runs a test in a house on each engine.
func eachHouse(t *testing.T, test func(t *testing.T, h *house)) {
	t.Helper()
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) { test(t, newHouse(t, d)) })
}

// by is the actor through an API key that may do everything, with the tokens of locks.
func by(a access.Actor, key string, tokens ...string) access.Actor {
	a.Key = &access.Key{ID: key, Permissions: access.All, Root: vpath.Root}
	a.Locks = tokens
	return a
}

// lock locks an entry of ann's for an hour, for a key.
func (h *house) lock(key, id string, l files.WriteLock) files.WriteLock {
	h.t.Helper()
	made, err := h.tree.Lock(h.t.Context(), by(h.ann, key), id, l, time.Hour)
	h.must(err)
	return made
}

var (
	exclusive = files.WriteLock{Exclusive: true}
	deep      = files.WriteLock{Exclusive: true, Deep: true}
	shared    = files.WriteLock{}
)

// wantLocked checks that err is the refusal because of the lock on that path.
func (h *house) wantLocked(what string, err error, at string) {
	h.t.Helper()
	h.wantFault(what, err, fault.Locked)
	if p, known := files.LockedAt(err); fault.Is(err, fault.Locked) && (!known || p.String() != at) {
		h.t.Errorf("%s: the lock lies at %s (%v), want %s", what, p, known, at)
	}
}

// TestLockTellsWhatItIs of RFC 4918, section 14.1: scope, depth, owner, root and time are told of the lock that was made.
func TestLockTellsWhatItIs(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		dir := h.folder(h.ann, "/home/ann/dir")
		f := h.file(h.ann, "/home/ann/dir/f", "x")
		l, err := h.tree.Lock(t.Context(), by(h.ann, "one"), dir.ID, files.WriteLock{Deep: true, Owner: "<href>mailto:ann</href>"}, time.Minute)
		h.must(err)
		until := h.clock().Add(time.Minute).UnixMilli()
		if l.Token == "" || l.EntryID != dir.ID || !l.Deep || l.Exclusive || l.KeyID != "one" || l.ExpiresAt != until || l.Path != path("/home/ann/dir") {
			t.Errorf("made %+v", l)
		}
		on := h.lock("one", f.ID, files.WriteLock{Deep: true})
		if on.Deep || on.Token == l.Token {
			t.Errorf("a lock on a file: %+v", on)
		}
		held, err := h.held(f.ID)
		h.must(err)
		byToken := map[string]files.WriteLock{}
		for _, one := range held {
			byToken[one.Token] = one
		}
		if len(held) != 2 || byToken[l.Token] != l || byToken[on.Token] != on {
			t.Errorf("held %+v, want %+v and %+v", held, l, on)
		}
		s, err := h.tree.At(t.Context(), path("/home/ann/dir/f"))
		h.must(err)
		if seen, err := s.Locks(t.Context()); err != nil || len(seen) != 2 {
			t.Errorf("at the path: %+v, %v", seen, err)
		}
		only, err := h.tree.LocksOn(t.Context(), []string{dir.ID, f.ID})
		h.must(err)
		if len(only[dir.ID]) != 1 || only[dir.ID][0].Token != l.Token || len(only[f.ID]) != 1 || only[f.ID][0].Token != on.Token {
			t.Errorf("on themselves: %+v", only)
		}
	})
}

// held returns the locks that cover an entry.
func (h *house) held(id string) ([]files.WriteLock, error) {
	h.t.Helper()
	at, err := h.tree.PathOf(h.t.Context(), id)
	h.must(err)
	s, err := h.tree.At(h.t.Context(), at)
	h.must(err)
	return s.Locks(h.t.Context())
}

// Two locks go together when both are shared, or when neither covers what the other does; whichever comes first (RFC 4918, section 6.2). What lies in
// a mount lies below the folders that its path leads through.
func TestLocksBesideEachOther(t *testing.T) {
	t.Run("near the top", func(t *testing.T) { locksBesideEachOther(t, "/home/ann") })
	t.Run("deep down", func(t *testing.T) { locksBesideEachOther(t, "/home/ann"+strings.Repeat("/x", 11)) })
}

func locksBesideEachOther(t *testing.T, base string) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.file(h.ann, base+"/a/b/f", "x")
		h.file(h.ann, base+"/a/c", "x")
		h.mount(base + "/a/disk")
		h.file(h.ann, base+"/a/disk/in/f", "x")
		type one struct {
			path vpath.Path
			id   string
			files.WriteLock
		}
		var all []one
		for _, p := range []string{"/a", "/a/b", "/a/b/f", "/a/c", "/a/disk", "/a/disk/in/f"} {
			s, err := h.tree.At(t.Context(), path(base+p))
			h.must(err)
			for _, l := range []files.WriteLock{shared, {Deep: true}, exclusive, deep} {
				all = append(all, one{path(base + p), s.ID(), l})
			}
		}
		covers := func(a, b one) bool { return a.path == b.path || a.Deep && b.path.Within(a.path) }
		for _, first := range all {
			l := h.lock("one", first.id, first.WriteLock)
			for _, second := range all {
				what := fmt.Sprintf("exclusive %v deep %v on %s after exclusive %v deep %v on %s", second.Exclusive, second.Deep, second.path, first.Exclusive, first.Deep, first.path)
				made, err := h.tree.Lock(t.Context(), by(h.ann, "two", l.Token), second.id, second.WriteLock, time.Hour)
				if (first.Exclusive || second.Exclusive) && (covers(first, second) || covers(second, first)) {
					h.wantLocked(what, err, first.path.String())
				} else if err != nil {
					t.Errorf("%s: %v", what, err)
				}
				if err == nil {
					h.must(h.tree.Unlock(t.Context(), by(h.ann, "two"), second.id, made.Token))
				}
			}
			h.must(h.tree.Unlock(t.Context(), by(h.ann, "one"), first.id, l.Token))
		}
		if n := h.count("locks"); n != 0 {
			t.Errorf("%d locks are left", n)
		}
	})
}

// A lock takes the permission to update and a key. Nobody else is told what there is.
func TestWhoMayLock(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		f := h.file(h.ann, "/home/ann/f", "x")
		open := h.file(h.admin, "/public/f", "x")
		reads := by(h.ann, "reads")
		reads.Key.Permissions = access.Set(access.Read | access.Download)
		for what, c := range map[string]struct {
			who  access.Actor
			id   string
			kind fault.Kind
		}{
			"a session":                  {h.ann, f.ID, fault.Unauthorized},
			"another's file":             {by(h.bob, "one"), f.ID, fault.Forbidden},
			"what may only be read":      {by(h.bob, "one"), open.ID, fault.Forbidden},
			"a key that may only read":   {reads, f.ID, fault.Forbidden},
			"no such entry":              {by(h.bob, "one"), "absent", fault.NotFound},
			"a session, no such entry":   {h.ann, "absent", fault.Unauthorized},
			"no such entry, for the key": {by(h.ann, "one"), "absent", fault.NotFound},
		} {
			_, err := h.tree.Lock(t.Context(), c.who, c.id, exclusive, time.Hour)
			h.wantFault(what, err, c.kind)
		}
		h.lock("one", f.ID, exclusive)
		_, err := h.tree.Lock(t.Context(), by(h.bob, "two"), f.ID, exclusive, time.Hour)
		h.wantFault("of what another has locked", err, fault.Forbidden)
		if n := h.count("locks"); n != 1 {
			t.Errorf("%d locks", n)
		}
	})
}

// A lock counts until its time is over, to the millisecond, and is refreshed by whoever shows its token through its key.
func TestLocksExpire(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		dir := h.folder(h.ann, "/home/ann/dir")
		f := h.file(h.ann, "/home/ann/dir/f", "x")
		l, err := h.tree.Lock(t.Context(), by(h.ann, "one"), dir.ID, deep, 10*time.Second)
		h.must(err)
		title := func(a access.Actor) error {
			text := "t"
			_, err := h.tree.Update(t.Context(), a, f.ID, files.Change{Title: files.Field[string]{Given: true, Value: &text}})
			return err
		}
		h.pass(10*time.Second - time.Millisecond)
		h.wantLocked("a millisecond before the end", title(h.ann), "/home/ann/dir")
		h.must(h.tree.SweepLocks(t.Context()))
		if n := h.count("locks"); n != 1 {
			t.Errorf("%d locks a millisecond before the end", n)
		}
		for what, a := range map[string]access.Actor{
			"without the token": by(h.ann, "one"), "by another key": by(h.ann, "two", l.Token), "in a session": {UserID: "ann", Role: access.User, Locks: []string{l.Token}},
			"with another token": by(h.ann, "one", "11111111-2222-3333-4444-555555555555"),
		} {
			_, err := h.tree.Refresh(t.Context(), a, dir.ID, time.Hour)
			h.wantFault("refreshed "+what, err, fault.Precondition)
		}
		_, err = h.tree.Refresh(t.Context(), by(h.ann, "one", l.Token), "absent", time.Hour)
		h.wantFault("refreshed by nothing", err, fault.NotFound)
		_, err = h.tree.Refresh(t.Context(), by(h.ann, "one", l.Token), h.ann.HomeID, time.Hour)
		h.wantFault("refreshed by what it does not cover", err, fault.Precondition)
		again, err := h.tree.Refresh(t.Context(), by(h.ann, "one", l.Token), f.ID, 20*time.Second) // by what lies below
		h.must(err)
		want := l
		want.ExpiresAt = h.clock().Add(20 * time.Second).UnixMilli()
		if again != want {
			t.Errorf("refreshed %+v, want %+v", again, want)
		}
		h.pass(20*time.Second - time.Millisecond)
		h.wantLocked("a millisecond before the new end", title(h.ann), "/home/ann/dir")
		h.pass(time.Millisecond)
		h.must(title(h.ann))
		h.must(title(by(h.ann, "one", l.Token)))
		_, err = h.tree.Refresh(t.Context(), by(h.ann, "one", l.Token), dir.ID, time.Hour)
		h.wantFault("refreshed afterwards", err, fault.Precondition)
		h.wantFault("ended afterwards", h.tree.Unlock(t.Context(), by(h.ann, "one"), dir.ID, l.Token), fault.Conflict)
		if held, err := h.held(f.ID); err != nil || len(held) != 0 {
			t.Errorf("held %+v, %v", held, err)
		}
		h.lock("two", f.ID, exclusive)
		h.lock("two", h.ann.HomeID, exclusive)
		_, err = h.tree.Lock(t.Context(), by(h.ann, "two"), h.ann.HomeID, files.WriteLock{Deep: true}, time.Hour)
		h.wantFault("over locks that count", err, fault.Locked)
		h.must(h.tree.SweepLocks(t.Context()))
		if n := h.count("locks"); n != 2 {
			t.Errorf("%d locks are left, want those that count", n)
		}
	})
}

// A lock is ended by its key, through what it covers.
func TestUnlock(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		dir := h.folder(h.ann, "/home/ann/dir")
		f := h.file(h.ann, "/home/ann/dir/f", "x")
		g := h.file(h.ann, "/home/ann/g", "x")
		l := h.lock("one", dir.ID, deep)
		on := h.lock("one", g.ID, exclusive)
		unlock := func(a access.Actor, id, token string) error { return h.tree.Unlock(t.Context(), a, id, token) }
		h.wantFault("another key", unlock(by(h.ann, "two", l.Token), dir.ID, l.Token), fault.Forbidden)
		h.wantFault("another key, from below", unlock(by(h.ann, "two"), f.ID, l.Token), fault.Forbidden)
		h.wantFault("a session", unlock(h.ann, dir.ID, l.Token), fault.Forbidden)
		h.wantFault("an unknown token", unlock(by(h.ann, "one"), dir.ID, "11111111-2222-3333-4444-555555555555"), fault.Conflict)
		h.wantFault("of another entry", unlock(by(h.ann, "one"), g.ID, l.Token), fault.Conflict)
		h.wantFault("of an entry below", unlock(by(h.ann, "one"), h.ann.HomeID, on.Token), fault.Conflict)
		h.wantFault("of nothing", unlock(by(h.ann, "one"), "absent", l.Token), fault.Conflict)
		flat := h.lock("one", h.ann.HomeID, exclusive)
		h.wantFault("a lock on the folder alone, from below", unlock(by(h.ann, "one"), g.ID, flat.Token), fault.Conflict)
		if n := h.count("locks"); n != 3 {
			t.Errorf("%d locks, want 3", n)
		}
		h.must(unlock(by(h.ann, "one"), f.ID, l.Token))
		h.wantFault("twice", unlock(by(h.ann, "one"), dir.ID, l.Token), fault.Conflict)
		h.must(unlock(by(h.ann, "one"), g.ID, on.Token))
		_, _, err := h.tree.Delete(t.Context(), h.ann, f.ID)
		h.must(err)
	})
}

// Abuse case C110: a key holds so many locks, others are free, and what has expired does not count.
func TestLocksOfAKeyAreBounded(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		f := h.file(h.ann, "/home/ann/f", "x")
		g := h.file(h.ann, "/home/ann/g", "x")
		var last files.WriteLock
		for range 100 {
			last = h.lock("one", f.ID, shared)
		}
		more := func(key, id string) error {
			_, err := h.tree.Lock(t.Context(), by(h.ann, key), id, shared, time.Hour)
			return err
		}
		h.wantFault("one more", more("one", f.ID), fault.QuotaExceeded)
		h.wantFault("one more elsewhere", more("one", g.ID), fault.QuotaExceeded)
		h.must(more("two", f.ID))
		h.must(h.tree.Unlock(t.Context(), by(h.ann, "one"), f.ID, last.Token))
		h.must(more("one", g.ID))
		h.wantFault("one more again", more("one", g.ID), fault.QuotaExceeded)
		h.pass(time.Hour)
		h.must(more("one", g.ID)) // before anything was swept
	})
}

// What is deleted or moved loses its locks, and those on what is in it; a copy has none (RFC 4918, section 7.5 and 7.6).
func TestLocksDoNotGoAlong(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		to := h.folder(h.ann, "/home/ann/to")
		for what, c := range map[string]struct {
			gone bool
			do   func(a access.Actor, id string) error
		}{
			"delete": {true, func(a access.Actor, id string) error { _, _, err := h.tree.Delete(t.Context(), a, id); return err }},
			"move": {true, func(a access.Actor, id string) error {
				name := vpath.Name("moved " + id)
				_, err := h.tree.Move(t.Context(), a, id, to.Path(), &name)
				return err
			}},
			"rename": {true, func(a access.Actor, id string) error {
				_, err := h.tree.Rename(t.Context(), a, id, vpath.Name("renamed "+id))
				return err
			}},
			"copy": {false, func(a access.Actor, id string) error {
				name := vpath.Name("copied " + id)
				_, err := h.tree.Copy(t.Context(), a, id, to.Path(), &name)
				return err
			}},
		} {
			dir := h.folder(h.ann, "/home/ann/"+what)
			f := h.file(h.ann, "/home/ann/"+what+"/sub/f", "x")
			one := h.lock("one", dir.ID, shared)
			two := h.lock("one", f.ID, shared)
			alone := h.file(h.ann, "/home/ann/alone "+what, "x")
			three := h.lock("one", alone.ID, exclusive)
			beside := h.lock("two", h.ann.HomeID, shared) // stays, whatever becomes of what is in the folder
			a := by(h.ann, "one", one.Token, two.Token, three.Token)
			if c.gone {
				h.wantLocked(what+" with the folder locked", c.do(a, dir.ID), "/home/ann")
			}
			h.must(h.tree.Unlock(t.Context(), by(h.ann, "two"), h.ann.HomeID, beside.Token))
			h.must(c.do(a, dir.ID))
			h.must(c.do(a, alone.ID))
			want := map[bool]int{true: 0, false: 3}[c.gone]
			if n := h.count("locks"); n != want {
				t.Errorf("%s: %d locks are left, want %d", what, n, want)
			}
			h.write(func(tx *db.Tx) error { return h.tree.DropLocks(tx, "one") })
			if n := h.count("locks"); n != 0 {
				t.Errorf("%s: %d locks are left of a key that has ended", what, n)
			}
		}
	})
}

// DropLocks ends those of one key.
func TestLocksEndWithTheirKey(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		f := h.file(h.ann, "/home/ann/f", "x")
		g := h.file(h.ann, "/home/ann/g", "x")
		h.lock("one", f.ID, exclusive)
		h.lock("two", g.ID, exclusive)
		h.write(func(tx *db.Tx) error { return h.tree.DropLocks(tx, "one") })
		_, _, err := h.tree.Delete(t.Context(), h.ann, f.ID)
		h.must(err)
		_, _, err = h.tree.Delete(t.Context(), h.ann, g.ID)
		h.wantLocked("the other key's", err, "/home/ann/g")
	})
}
