package files_test

import (
	"cmp"
	"context"
	"net/netip"
	"slices"
	"testing"

	"larder/internal/access"
	"larder/internal/fault"
	"larder/internal/files"
)

// newProtectedHome gives ann a home with nested passwords and returns an API key of hers. bob may
// do everything in the home and owns nothing.
func (f *storesFixture) newProtectedHome() (key access.Actor) {
	f.addRule(access.Rule{Pattern: "/home/ann/**", Effect: access.Allow, UserID: "bob"})
	f.addRule(access.Rule{Pattern: "/vault/**", Effect: access.Allow, UserID: "bob"})
	f.fillProtectedHome()
	key = f.ann
	key.Key, key.Unlocked = &access.Key{ID: "k", Permissions: access.All, Root: mustParsePath("/")}, []string{"p1",
		"p2", "p3", "p4", "p5", "p6"}
	return key
}

// fillProtectedHome fills the home of newProtectedHome.
func (f *storesFixture) fillProtectedHome() {
	for _, p := range []string{"free", "other", "shut", "shut/deep", "shut/inner", "shut/inner/low"} {
		f.createFolder(f.ann, "/home/ann/"+p)
	}
	for _, p := range []string{"free/x", "free/own", "free/own2", "shut/f", "shut/own", "shut/deep/d", "shut/inner/g",
		"shut/inner/low/h", "other/o"} {
		f.mustUpload(f.ann, "/home/ann/"+p, p)
	}
	for p, password := range map[string]string{"shut": "p1", "shut/inner": "p2", "other": "p3", "shut/own": "p4",
		"free/own": "p5", "free/own2": "p6"} {
		f.setPassword(f.idAtPath("/home/ann/"+p), password)
	}
}

// moveTo moves the entry at a path to another path, over an existing entry if over is set.
func (f *storesFixture) moveTo(a access.Actor, from, to string, over bool) error {
	f.t.Helper()
	_, err := f.tree.MoveWithOptions(f.t.Context(), a, f.idAtPath(from), mustParsePath(to).Parent(),
		mustParsePath(to).Base(), files.CopyMoveOptions{Replace: over})
	return err
}

// movesOutOfPassword are moves that take an entry out of the reach of a password, or to a place
// with another password.
var movesOutOfPassword = []struct {
	from, to string
	over     bool
	lifts    []string // the passwords that an actor who may not set them has to give
}{
	{"/home/ann/shut/f", "/home/ann/free/f", false, []string{"p1"}},
	{"/home/ann/shut/f", "/home/ann/f", false, []string{"p1"}},
	{"/home/ann/shut/f", "/vault/f", false, []string{"p1"}}, // to another provider, by a job
	{"/home/ann/shut/deep", "/home/ann/free/deep", false, []string{"p1"}},
	{"/home/ann/shut/deep", "/vault/deep", false, []string{"p1"}},
	{"/home/ann/shut/deep/d", "/home/ann/free/d", false, []string{"p1"}},
	{"/home/ann/shut/f", "/home/ann/other/f", false, []string{"p1", "p3"}}, // another password covers the target
	// of nested passwords the nearest counts
	{"/home/ann/shut/f", "/home/ann/shut/inner/f", false, []string{"p1", "p2"}},
	{"/home/ann/shut/inner/g", "/home/ann/shut/g", false, []string{"p1", "p2"}},
	{"/home/ann/shut/inner/g", "/home/ann/free/g", false, []string{"p2"}},
	{"/home/ann/shut/inner/low", "/home/ann/free/low", false, []string{"p2"}},
	// the outer password covers the folder itself
	{"/home/ann/shut/inner", "/home/ann/free/inner", false, []string{"p1", "p2"}},
	{"/home/ann/shut/own", "/home/ann/free/own3", false, []string{"p1", "p4"}},
	{"/home/ann/shut/f", "/home/ann/free/x", true, []string{"p1"}},
	{"/home/ann/shut/deep", "/home/ann/free/x", true, []string{"p1"}},
	{"/home/ann/shut/f", "/home/ann/free/own", true, []string{"p1", "p5"}},    // with another password
	{"/home/ann/shut/f", "/home/ann/shut/own", true, []string{"p1", "p4"}},    // with another password
	{"/home/ann/free/own", "/home/ann/free/own2", true, []string{"p5", "p6"}}, // with another password
}

// No API key moves an entry out of the reach of a password, because a key can neither give nor
// remove one. That includes keys of the owner and of administrators.
func TestKeysCannotMoveOutOfProtectedFolder(t *testing.T) {
	eachStoresFixture(t, func(t *testing.T, w *storesFixture) {
		key := w.newProtectedHome()
		adminKey := w.admin
		adminKey.Key, adminKey.Unlocked = key.Key, key.Unlocked
		for _, c := range movesOutOfPassword {
			id := w.idAtPath(c.from)
			for whose, who := range map[string]access.Actor{"ann's key": key, "an administrator's key": adminKey} {
				what := whose + ", " + c.from + " to " + c.to
				w.wantFault(what, w.moveTo(who, c.from, c.to, c.over), fault.PasswordRequired)
				if !c.over {
					done, err := w.tree.MoveEach(t.Context(), who, []string{id}, mustParsePath(c.to).Parent(), nil)
					w.must(err)
					w.wantFault(what+", in a batch", done[0].Err, fault.PasswordRequired)
				}
				_, err := w.tree.Copy(t.Context(), who, id, mustParsePath("/home/ann/free"), nil)
				w.wantFault(what+", copied", err, fault.PasswordRequired)
			}
			if w.idAtPath(c.from) != id {
				t.Errorf("%s was deleted", c.from)
			}
		}
		if n := w.countRows("jobs"); n != 0 {
			t.Errorf("%d jobs were made", n)
		}
	})
}

// Within the reach of a password a key moves, renames and replaces as elsewhere. An entry with its
// own password keeps it (abuse case C82).
func TestKeysMoveWithinProtectedFolder(t *testing.T) {
	eachStoresFixture(t, func(t *testing.T, w *storesFixture) {
		key := w.newProtectedHome()
		for _, c := range []struct {
			from, to string
			over     bool
		}{
			{"/home/ann/shut/f", "/home/ann/shut/deep/f", false},
			{"/home/ann/shut/deep/f", "/home/ann/shut/deep/d", true},
			{"/home/ann/shut/deep/d", "/home/ann/shut/d", false},
			{"/home/ann/shut/deep", "/home/ann/shut/deeper", false},
			{"/home/ann/free/x", "/home/ann/shut/x", false},
			{"/home/ann/shut/inner/low", "/home/ann/shut/inner/lower", false},
			{"/home/ann/free/own", "/home/ann/own", false},
			{"/home/ann/shut", "/home/ann/free/shut", false}, // as a whole
			{"/home/ann/free/shut/inner/g", "/home/ann/free/shut/inner/lower/g", false},
		} {
			w.must(w.moveTo(key, c.from, c.to, c.over))
		}
		_, err := w.tree.Rename(t.Context(), key, w.idAtPath("/home/ann/free/shut/d"), "e")
		w.must(err)
		_, err = w.tree.Rename(t.Context(), key, w.idAtPath("/home/ann/free/shut"), "barred")
		w.must(err)
		for p, password := range map[string]string{"/home/ann/free/barred/e": "p1", "/home/ann/free/barred/x": "p1",
			"/home/ann/free/barred/inner/lower/g": "p2", "/home/ann/own": "p5"} {
			_, err := w.readPath(w.ann, p)
			w.wantFault(p+" after all that", err, fault.PasswordRequired)
			with := w.ann
			with.Unlocked = []string{password}
			_, err = w.readPath(with, p)
			w.must(err)
		}
	})
}

// A session moves an entry out of the reach of a password when it has given the password, or when
// its user may set and remove the password.
func TestSessionsMoveOutOfProtectedFolderTheyMayUnlock(t *testing.T) {
	for who, given := range map[string]bool{"ann": false, "admin": false, "bob": true} {
		t.Run(who, func(t *testing.T) {
			eachStoresFixture(t, func(t *testing.T, w *storesFixture) {
				w.newProtectedHome()
				actors := map[string]access.Actor{"ann": w.ann, "admin": w.admin, "bob": w.bob}
				for _, c := range movesOutOfPassword {
					a := actors[who]
					for i := range c.lifts {
						if given { // one password less is not enough
							a.Unlocked = slices.Delete(slices.Clone(c.lifts), i, i+1)
							w.wantFault(c.from+" to "+c.to+" without "+c.lifts[i], w.moveTo(a, c.from, c.to, c.over),
								fault.PasswordRequired)
							a.Unlocked = c.lifts
						}
					}
					w.must(w.moveTo(a, c.from, c.to, c.over))
					w.runJobs() // runs a move to another provider
					w.idAtPath(c.to)
					w.resetProtectedHome()
				}
			})
		})
	}
}

// resetProtectedHome restores the home of newProtectedHome.
func (f *storesFixture) resetProtectedHome() {
	f.t.Helper()
	for _, top := range []string{"/home/ann", "/vault"} {
		l, err := f.tree.List(f.t.Context(), f.admin, files.ListQuery{Path: mustParsePath(top), Page: 1, Limit: 100})
		f.must(err)
		for _, e := range l.Items {
			_, _, err := f.tree.Delete(f.t.Context(), f.admin, e.ID)
			f.must(err)
		}
	}
	f.fillProtectedHome()
}

// An owner who may not remove a folder's password, because something is mounted below the folder,
// moves nothing out of it without the password either.
func TestOwnerWithoutRightToRemovePassword(t *testing.T) {
	eachStoresFixture(t, func(t *testing.T, w *storesFixture) {
		w.newProtectedHome()
		w.createFolder(w.ann, "/home/ann/shut/disk")
		w.addMount("/home/ann/shut/disk")
		w.wantFault("the owner", w.moveTo(w.ann, "/home/ann/shut/f", "/home/ann/free/f", false), fault.PasswordRequired)
		w.must(w.moveTo(w.ann, "/home/ann/shut/inner/g", "/home/ann/shut/inner/low/g", false))
		with := w.ann
		with.Unlocked = []string{"p1"}
		w.must(w.moveTo(with, "/home/ann/shut/f", "/home/ann/free/f", false))
		w.must(w.moveTo(w.admin, "/home/ann/shut/deep/d", "/home/ann/free/d", false))
	})
}

// A move to another provider is authorized when it begins and when it ends. A password that is set
// meanwhile stops a key's move.
func TestMoveJobIsRefusedByNewPassword(t *testing.T) {
	eachStoresFixture(t, func(t *testing.T, w *storesFixture) {
		key := w.newProtectedHome()
		w.tree.Key = func(context.Context, int64, string, netip.Addr) (*access.Key, bool, error) {
			return key.Key, true, nil
		}
		w.createFolder(w.ann, "/home/ann/box")
		for _, name := range []string{"begins", "ends"} {
			w.mustUpload(w.ann, "/home/ann/box/"+name, name)
		}
		box := w.idAtPath("/home/ann/box")
		first := w.startMove(key, w.idAtPath("/home/ann/box/begins"), "/vault")
		w.setPassword(box, "p9")
		w.runJobs()
		w.checkJobEnded(first.ID, "password")
		w.idAtPath("/home/ann/box/begins")

		w.exec("UPDATE entries SET password_hash = NULL, password_id = NULL WHERE id = $1", box)
		second := w.startMove(key, w.idAtPath("/home/ann/box/ends"), "/vault")
		w.setHook(func(_ int, op, _ string) error {
			if op == "stored" { // copied, not yet moved
				w.setPassword(box, "p9")
			}
			return nil
		})
		w.runJobs()
		w.setHook(nil)
		w.checkJobEnded(second.ID, "password")
		w.idAtPath("/home/ann/box/ends")

		w.must(w.moveTo(w.ann, "/home/ann/box/ends", "/vault/ends", false)) // she may remove the password
	})
}

// passwordsGiven returns the Unlocked value of an actor who has given a rule's password.
func (f *storesFixture) passwordsGiven(rule string) []string {
	f.t.Helper()
	all, err := f.rules.All(f.t.Context())
	f.must(err)
	for _, r := range all {
		if r.ID == rule {
			return []string{cmp.Or(r.PasswordID, r.ID)}
		}
	}
	f.t.Fatalf("there is no rule %s", rule)
	return nil
}

// A rule's password protects like a folder's. An actor who is asked for it moves nothing to a place
// where it is not asked for or where another one is.
func TestMovesOutOfARulesPassword(t *testing.T) {
	eachStoresFixture(t, func(t *testing.T, w *storesFixture) {
		read := access.Set(access.Read | access.Download)
		requirePassword := func(p string) string {
			id := w.addRule(access.Rule{Pattern: p + "/**", Effect: access.Allow, UserID: "ann", Permissions: read,
				RequirePassword: true, Priority: 2})
			w.addRule(access.Rule{Pattern: p + "/**", Effect: access.Deny, UserID: "ann", Permissions: read,
				Priority: 1})
			return id
		}
		for _, p := range []string{"/home/ann/one", "/home/ann/one/sub", "/home/ann/two", "/home/ann/free"} {
			w.createFolder(w.ann, p)
		}
		w.mustUpload(w.ann, "/home/ann/one/f", "f")
		w.mustUpload(w.ann, "/home/ann/one/g", "g")
		one := requirePassword("/home/ann/one")
		requirePassword("/home/ann/two")
		key := w.ann
		// The key may not read. Its owner, or a reading key of the owner, would find the moved
		// entry elsewhere.
		key.Key = &access.Key{ID: "k", Permissions: access.Set(access.Write | access.Update | access.Delete),
			Root: mustParsePath("/")}
		withCookie := key
		withCookie.Unlocked = w.passwordsGiven(one)
		for what, who := range map[string]access.Actor{"ann": w.ann, "a key": key,
			"a key with the cookie": withCookie} {
			for _, to := range []string{"/home/ann/free/f", "/home/ann/two/f"} {
				w.wantFault(what+", to "+to, w.moveTo(who, "/home/ann/one/f", to, false), fault.PasswordRequired)
			}
			w.must(w.moveTo(who, "/home/ann/one/f", "/home/ann/one/sub/f", false))
			w.must(w.moveTo(who, "/home/ann/one/sub/f", "/home/ann/one/f", false))
		}
		with := w.ann
		with.Unlocked = w.passwordsGiven(one)
		w.must(w.moveTo(with, "/home/ann/one/f", "/home/ann/free/f", false))
		w.must(w.moveTo(w.admin, "/home/ann/one/g", "/home/ann/free/g", false)) // no rule asks administrators

		// nor from a denied place to one where a password would let them read it
		w.addRule(access.Rule{Pattern: "/home/ann/free/**", Effect: access.Deny, UserID: "ann", Permissions: read,
			Priority: 5})
		w.wantFault("out of a deny", w.moveTo(w.ann, "/home/ann/free/f", "/home/ann/two/f", false), fault.Forbidden)
	})
}
