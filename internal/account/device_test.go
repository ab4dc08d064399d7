package account_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"larder/internal/account"
	"larder/internal/db"
	"larder/internal/db/dbtest"
)

func (f *fixture) target(name, proofs string) string {
	f.t.Helper()
	target, err := f.LoginTarget(context.Background(), name, proofs)
	if err != nil {
		f.t.Fatal(err)
	}
	return target
}

func (f *fixture) rememberDevice(u account.User, proofs string) string {
	f.t.Helper()
	proofs, err := f.DeviceCookie(context.Background(), u, proofs)
	if err != nil {
		f.t.Fatal(err)
	}
	return proofs
}

// Unknown names share 65,536 targets, however many names are tried.
func TestUnknownNamesShareTargets(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newFixture(t, d)
		ann := w.addUser("ann")
		seen := map[string]bool{}
		for i := range 1000 {
			target := w.target(fmt.Sprintf("nobody_%d", i), "")
			if !strings.HasPrefix(target, "nobody:") || len(target) != len("nobody:ffff") {
				t.Fatalf("target %s", target)
			}
			seen[target] = true
		}
		if len(seen) < 950 {
			t.Errorf("1000 names have %d targets", len(seen))
		}
		if got := w.target("ANN", ""); got != "username:"+ann.ID {
			t.Errorf("a username has the target %s", got)
		}
		if got := w.target("ANN@example.org", ""); got != "email:"+ann.ID {
			t.Errorf("an address has the target %s", got)
		}
	})
}

// A known device is bound to the password of the sign-in, even if the password was replaced at the
// same moment.
func TestKnownDeviceEndsWithThePassword(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newFixture(t, d)
		ann, gone := w.addUser("ann"), w.addUser("gone")
		signedIn, err := w.Login(context.Background(), testSource, "ann", "password", false)
		if err != nil {
			t.Fatal(err)
		}
		if got := w.target("ann", w.rememberDevice(signedIn, "")); !strings.HasPrefix(got, "device:") {
			t.Errorf("a known device has the target %s", got)
		}
		other, err := w.HashPassword(context.Background(), testSource, "another one")
		if err != nil {
			t.Fatal(err)
		}
		w.mustWrite(func(tx *db.Tx) error { return w.SetPassword(tx, ann.ID, other) })
		if got := w.rememberDevice(signedIn, ""); got != "" {
			t.Errorf("a device with the old password is known by %s", got)
		}
		w.mustWrite(func(tx *db.Tx) error { _, err := tx.Exec("DELETE FROM users WHERE id = $1", gone.ID); return err })
		if got := w.rememberDevice(gone, ""); got != "" {
			t.Errorf("the device of a deleted account is known by %s", got)
		}
	})
}

// A cookie holds the proofs of eight accounts, one for each. The oldest is dropped.
func TestDeviceCookieHasAtMostEightProofs(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newFixture(t, d)
		proofs := ""
		for i := range 9 {
			u := w.addUser(fmt.Sprint("user", i))
			for range 3 {
				proofs = w.rememberDevice(u, proofs)
			}
		}
		for i := range 9 {
			want := "device:"
			if i == 0 {
				want = "username:"
			}
			if got := w.target(fmt.Sprint("user", i), proofs); !strings.HasPrefix(got, want) {
				t.Errorf("account %d of nine has the target %s, want %s", i+1, got, want)
			}
		}
		if len(proofs) != 8*75+7 {
			t.Errorf("the cookie has %d characters", len(proofs))
		}
	})
}
