package files_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"larder/internal/access"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/vpath"
)

// viaKey returns the actor through an API key that may do everything, with the given lock tokens.
func viaKey(a access.Actor, key string, tokens ...string) access.Actor {
	a.Key = &access.Key{ID: key, Permissions: access.All, Root: vpath.Root}
	a.Locks = tokens
	return a
}

// mustLock locks an entry of ann's for an hour, for a key.
func (f *fixture) mustLock(key, id string, l files.WriteLock) files.WriteLock {
	f.t.Helper()
	made, err := f.tree.Lock(f.t.Context(), viaKey(f.ann, key), id, l, time.Hour)
	f.must(err)
	return made
}

var (
	exclusiveLock = files.WriteLock{Exclusive: true}
	deepLock      = files.WriteLock{Exclusive: true, Deep: true}
	sharedLock    = files.WriteLock{}
)

// wantLocked checks that err is the refusal because of the lock at that path.
func (f *fixture) wantLocked(what string, err error, at string) {
	f.t.Helper()
	f.wantFault(what, err, fault.Locked)
	if p, known := files.LockedAt(err); fault.Is(err, fault.Locked) && (!known || p.String() != at) {
		f.t.Errorf("%s: the lock is at %s (%v), want %s", what, p, known, at)
	}
}

// A lock is returned with its scope, depth, owner, root and time (RFC 4918, section 14.1).
func TestLockReturnsItsProperties(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		dir := h.createFolder(h.ann, "/home/ann/dir")
		f := h.mustUpload(h.ann, "/home/ann/dir/f", "x")
		l, err := h.tree.Lock(t.Context(), viaKey(h.ann, "one"), dir.ID,
			files.WriteLock{Deep: true, Owner: "<href>mailto:ann</href>"}, time.Minute)
		h.must(err)
		until := h.clock().Add(time.Minute).UnixMilli()
		if l.Token == "" || l.EntryID != dir.ID || !l.Deep || l.Exclusive || l.KeyID != "one" || l.ExpiresAt != until ||
			l.Path != mustParsePath("/home/ann/dir") {
			t.Errorf("made %+v", l)
		}
		on := h.mustLock("one", f.ID, files.WriteLock{Deep: true})
		if on.Deep || on.Token == l.Token {
			t.Errorf("a lock on a file: %+v", on)
		}
		held, err := h.locksOf(f.ID)
		h.must(err)
		byToken := map[string]files.WriteLock{}
		for _, one := range held {
			byToken[one.Token] = one
		}
		if len(held) != 2 || byToken[l.Token] != l || byToken[on.Token] != on {
			t.Errorf("held %+v, want %+v and %+v", held, l, on)
		}
		s, err := h.tree.ResourceAt(t.Context(), mustParsePath("/home/ann/dir/f"))
		h.must(err)
		if seen, err := s.Locks(t.Context()); err != nil || len(seen) != 2 {
			t.Errorf("at the path: %+v, %v", seen, err)
		}
		only, err := h.tree.LocksOn(t.Context(), []string{dir.ID, f.ID})
		h.must(err)
		if len(only[dir.ID]) != 1 || only[dir.ID][0].Token != l.Token || len(only[f.ID]) != 1 ||
			only[f.ID][0].Token != on.Token {
			t.Errorf("on themselves: %+v", only)
		}
	})
}

// locksOf returns the locks that cover an entry.
func (f *fixture) locksOf(id string) ([]files.WriteLock, error) {
	f.t.Helper()
	at, err := f.tree.PathOf(f.t.Context(), id)
	f.must(err)
	s, err := f.tree.ResourceAt(f.t.Context(), at)
	f.must(err)
	return s.Locks(f.t.Context())
}

// Two locks are compatible when both are shared, or when neither covers what the other covers, in
// either order (RFC 4918, section 6.2). The entries in a mount are below the folders that its path
// leads through.
func TestLockCompatibility(t *testing.T) {
	t.Run("near the top", func(t *testing.T) { checkLockCompatibility(t, "/home/ann") })
	t.Run("in a deep folder", func(t *testing.T) { checkLockCompatibility(t, "/home/ann"+strings.Repeat("/x", 11)) })
}

func checkLockCompatibility(t *testing.T, base string) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		h.mustUpload(h.ann, base+"/a/b/f", "x")
		h.mustUpload(h.ann, base+"/a/c", "x")
		h.addMount(base + "/a/disk")
		h.mustUpload(h.ann, base+"/a/disk/in/f", "x")
		type one struct {
			path vpath.Path
			id   string
			files.WriteLock
		}
		var all []one
		for _, p := range []string{"/a", "/a/b", "/a/b/f", "/a/c", "/a/disk", "/a/disk/in/f"} {
			s, err := h.tree.ResourceAt(t.Context(), mustParsePath(base+p))
			h.must(err)
			for _, l := range []files.WriteLock{sharedLock, {Deep: true}, exclusiveLock, deepLock} {
				all = append(all, one{mustParsePath(base + p), s.ID(), l})
			}
		}
		covers := func(a, b one) bool { return a.path == b.path || a.Deep && b.path.Within(a.path) }
		for _, first := range all {
			l := h.mustLock("one", first.id, first.WriteLock)
			for _, second := range all {
				what := fmt.Sprintf("exclusive %v deep %v on %s after exclusive %v deep %v on %s", second.Exclusive,
					second.Deep, second.path, first.Exclusive, first.Deep, first.path)
				made, err := h.tree.Lock(t.Context(), viaKey(h.ann, "two", l.Token), second.id, second.WriteLock,
					time.Hour)
				if (first.Exclusive || second.Exclusive) && (covers(first, second) || covers(second, first)) {
					h.wantLocked(what, err, first.path.String())
				} else if err != nil {
					t.Errorf("%s: %v", what, err)
				}
				if err == nil {
					h.must(h.tree.Unlock(t.Context(), viaKey(h.ann, "two"), second.id, made.Token))
				}
			}
			h.must(h.tree.Unlock(t.Context(), viaKey(h.ann, "one"), first.id, l.Token))
		}
		if n := h.countRows("locks"); n != 0 {
			t.Errorf("%d locks are left", n)
		}
	})
}

// A lock requires the permission to update and a key. Other actors do not learn whether the entry
// exists.
func TestWhoMayLock(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		f := h.mustUpload(h.ann, "/home/ann/f", "x")
		open := h.mustUpload(h.admin, "/public/f", "x")
		reads := viaKey(h.ann, "reads")
		reads.Key.Permissions = access.Set(access.Read | access.Download)
		for what, c := range map[string]struct {
			who  access.Actor
			id   string
			kind fault.Kind
		}{
			"a session":                  {h.ann, f.ID, fault.Unauthorized},
			"another's file":             {viaKey(h.bob, "one"), f.ID, fault.Forbidden},
			"a read-only entry":          {viaKey(h.bob, "one"), open.ID, fault.Forbidden},
			"a key that may only read":   {reads, f.ID, fault.Forbidden},
			"no such entry":              {viaKey(h.bob, "one"), "absent", fault.NotFound},
			"a session, no such entry":   {h.ann, "absent", fault.Unauthorized},
			"no such entry, for the key": {viaKey(h.ann, "one"), "absent", fault.NotFound},
		} {
			_, err := h.tree.Lock(t.Context(), c.who, c.id, exclusiveLock, time.Hour)
			h.wantFault(what, err, c.kind)
		}
		h.mustLock("one", f.ID, exclusiveLock)
		_, err := h.tree.Lock(t.Context(), viaKey(h.bob, "two"), f.ID, exclusiveLock, time.Hour)
		h.wantFault("of an entry that another key has locked", err, fault.Forbidden)
		if n := h.countRows("locks"); n != 1 {
			t.Errorf("%d locks", n)
		}
	})
}

// A lock lasts until its expiry, to the millisecond. A client refreshes it with the token and the
// lock's own key.
func TestLocksExpire(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		dir := h.createFolder(h.ann, "/home/ann/dir")
		f := h.mustUpload(h.ann, "/home/ann/dir/f", "x")
		l, err := h.tree.Lock(t.Context(), viaKey(h.ann, "one"), dir.ID, deepLock, 10*time.Second)
		h.must(err)
		title := func(a access.Actor) error {
			text := "t"
			_, err := h.tree.Update(t.Context(), a, f.ID,
				files.Change{Title: files.Field[string]{Given: true, Value: &text}})
			return err
		}
		h.advance(10*time.Second - time.Millisecond)
		h.wantLocked("a millisecond before the end", title(h.ann), "/home/ann/dir")
		h.must(h.tree.SweepLocks(t.Context()))
		if n := h.countRows("locks"); n != 1 {
			t.Errorf("%d locks a millisecond before the end", n)
		}
		for what, a := range map[string]access.Actor{
			"without the token": viaKey(h.ann, "one"), "by another key": viaKey(h.ann, "two", l.Token),
			"in a session":       {UserID: "ann", Role: access.User, Locks: []string{l.Token}},
			"with another token": viaKey(h.ann, "one", "11111111-2222-3333-4444-555555555555"),
		} {
			_, err := h.tree.Refresh(t.Context(), a, dir.ID, time.Hour)
			h.wantFault("refreshed "+what, err, fault.Precondition)
		}
		_, err = h.tree.Refresh(t.Context(), viaKey(h.ann, "one", l.Token), "absent", time.Hour)
		h.wantFault("refreshed by nothing", err, fault.NotFound)
		_, err = h.tree.Refresh(t.Context(), viaKey(h.ann, "one", l.Token), h.ann.HomeID, time.Hour)
		h.wantFault("refreshed through an entry that it does not cover", err, fault.Precondition)
		// through an entry below
		again, err := h.tree.Refresh(t.Context(), viaKey(h.ann, "one", l.Token), f.ID, 20*time.Second)
		h.must(err)
		want := l
		want.ExpiresAt = h.clock().Add(20 * time.Second).UnixMilli()
		if again != want {
			t.Errorf("refreshed %+v, want %+v", again, want)
		}
		h.advance(20*time.Second - time.Millisecond)
		h.wantLocked("a millisecond before the new end", title(h.ann), "/home/ann/dir")
		h.advance(time.Millisecond)
		h.must(title(h.ann))
		h.must(title(viaKey(h.ann, "one", l.Token)))
		_, err = h.tree.Refresh(t.Context(), viaKey(h.ann, "one", l.Token), dir.ID, time.Hour)
		h.wantFault("refreshed afterwards", err, fault.Precondition)
		h.wantFault("ended afterwards", h.tree.Unlock(t.Context(), viaKey(h.ann, "one"), dir.ID, l.Token),
			fault.Conflict)
		if held, err := h.locksOf(f.ID); err != nil || len(held) != 0 {
			t.Errorf("held %+v, %v", held, err)
		}
		h.mustLock("two", f.ID, exclusiveLock)
		h.mustLock("two", h.ann.HomeID, exclusiveLock)
		_, err = h.tree.Lock(t.Context(), viaKey(h.ann, "two"), h.ann.HomeID, files.WriteLock{Deep: true}, time.Hour)
		h.wantFault("over locks that count", err, fault.Locked)
		h.must(h.tree.SweepLocks(t.Context()))
		if n := h.countRows("locks"); n != 2 {
			t.Errorf("%d locks are left, want the unexpired ones", n)
		}
	})
}

// Its own key ends a lock, through any entry that the lock covers.
func TestUnlock(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		dir := h.createFolder(h.ann, "/home/ann/dir")
		f := h.mustUpload(h.ann, "/home/ann/dir/f", "x")
		g := h.mustUpload(h.ann, "/home/ann/g", "x")
		l := h.mustLock("one", dir.ID, deepLock)
		on := h.mustLock("one", g.ID, exclusiveLock)
		unlock := func(a access.Actor, id, token string) error { return h.tree.Unlock(t.Context(), a, id, token) }
		h.wantFault("another key", unlock(viaKey(h.ann, "two", l.Token), dir.ID, l.Token), fault.Forbidden)
		h.wantFault("another key, from below", unlock(viaKey(h.ann, "two"), f.ID, l.Token), fault.Forbidden)
		h.wantFault("a session", unlock(h.ann, dir.ID, l.Token), fault.Forbidden)
		h.wantFault("an unknown token", unlock(viaKey(h.ann, "one"), dir.ID, "11111111-2222-3333-4444-555555555555"),
			fault.Conflict)
		h.wantFault("of another entry", unlock(viaKey(h.ann, "one"), g.ID, l.Token), fault.Conflict)
		h.wantFault("of an entry below", unlock(viaKey(h.ann, "one"), h.ann.HomeID, on.Token), fault.Conflict)
		h.wantFault("of nothing", unlock(viaKey(h.ann, "one"), "absent", l.Token), fault.Conflict)
		flat := h.mustLock("one", h.ann.HomeID, exclusiveLock)
		h.wantFault("a lock on the folder alone, from below", unlock(viaKey(h.ann, "one"), g.ID, flat.Token),
			fault.Conflict)
		if n := h.countRows("locks"); n != 3 {
			t.Errorf("%d locks, want 3", n)
		}
		h.must(unlock(viaKey(h.ann, "one"), f.ID, l.Token))
		h.wantFault("twice", unlock(viaKey(h.ann, "one"), dir.ID, l.Token), fault.Conflict)
		h.must(unlock(viaKey(h.ann, "one"), g.ID, on.Token))
		_, _, err := h.tree.Delete(t.Context(), h.ann, f.ID)
		h.must(err)
	})
}

// Abuse case C110: the number of locks of a key is limited. Other keys have their own limit, and
// expired locks do not count.
func TestLocksOfAKeyAreBounded(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		f := h.mustUpload(h.ann, "/home/ann/f", "x")
		g := h.mustUpload(h.ann, "/home/ann/g", "x")
		var last files.WriteLock
		for range 100 {
			last = h.mustLock("one", f.ID, sharedLock)
		}
		more := func(key, id string) error {
			_, err := h.tree.Lock(t.Context(), viaKey(h.ann, key), id, sharedLock, time.Hour)
			return err
		}
		h.wantFault("one more", more("one", f.ID), fault.QuotaExceeded)
		h.wantFault("one more on another entry", more("one", g.ID), fault.QuotaExceeded)
		h.must(more("two", f.ID))
		h.must(h.tree.Unlock(t.Context(), viaKey(h.ann, "one"), f.ID, last.Token))
		h.must(more("one", g.ID))
		h.wantFault("one more again", more("one", g.ID), fault.QuotaExceeded)
		h.advance(time.Hour)
		h.must(more("one", g.ID)) // before the sweep
	})
}

// Deletion and move of an entry end its locks and the locks on entries below. A copy has no locks
// (RFC 4918, section 7.5 and 7.6).
func TestLocksEndWhenEntryMovesOrIsDeleted(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		to := h.createFolder(h.ann, "/home/ann/to")
		for what, c := range map[string]struct {
			gone bool
			do   func(a access.Actor, id string) error
		}{
			"delete": {true, func(a access.Actor, id string) error {
				_, _, err := h.tree.Delete(t.Context(), a, id)
				return err
			}},
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
			dir := h.createFolder(h.ann, "/home/ann/"+what)
			f := h.mustUpload(h.ann, "/home/ann/"+what+"/sub/f", "x")
			one := h.mustLock("one", dir.ID, sharedLock)
			two := h.mustLock("one", f.ID, sharedLock)
			alone := h.mustUpload(h.ann, "/home/ann/alone "+what, "x")
			three := h.mustLock("one", alone.ID, exclusiveLock)
			// stays, whatever happens to the contents of the folder
			beside := h.mustLock("two", h.ann.HomeID, sharedLock)
			a := viaKey(h.ann, "one", one.Token, two.Token, three.Token)
			if c.gone {
				h.wantLocked(what+" with the folder locked", c.do(a, dir.ID), "/home/ann")
			}
			h.must(h.tree.Unlock(t.Context(), viaKey(h.ann, "two"), h.ann.HomeID, beside.Token))
			h.must(c.do(a, dir.ID))
			h.must(c.do(a, alone.ID))
			want := map[bool]int{true: 0, false: 3}[c.gone]
			if n := h.countRows("locks"); n != want {
				t.Errorf("%s: %d locks are left, want %d", what, n, want)
			}
			h.write(func(tx *db.Tx) error { return h.tree.DropLocks(tx, "one") })
			if n := h.countRows("locks"); n != 0 {
				t.Errorf("%s: %d locks are left of a key that has ended", what, n)
			}
		}
	})
}

// DropLocks ends the locks of one key.
func TestLocksEndWithTheirKey(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		f := h.mustUpload(h.ann, "/home/ann/f", "x")
		g := h.mustUpload(h.ann, "/home/ann/g", "x")
		h.mustLock("one", f.ID, exclusiveLock)
		h.mustLock("two", g.ID, exclusiveLock)
		h.write(func(tx *db.Tx) error { return h.tree.DropLocks(tx, "one") })
		_, _, err := h.tree.Delete(t.Context(), h.ann, f.ID)
		h.must(err)
		_, _, err = h.tree.Delete(t.Context(), h.ann, g.ID)
		h.wantLocked("the other key's", err, "/home/ann/g")
	})
}
