package account_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"larder/internal/account"
	"larder/internal/db"
	"larder/internal/db/dbtest"
	"larder/internal/fault"
)

func (f *fixture) session(u account.User) account.Session {
	f.t.Helper()
	_, s, err := f.Issue(context.Background(), u, account.Origin{})
	if err != nil {
		f.t.Fatal(err)
	}
	return s
}

func (f *fixture) csrf(s account.Session) string {
	f.t.Helper()
	token, err := f.CSRF(context.Background(), s)
	if err != nil {
		f.t.Fatal(err)
	}
	return token
}

func TestCSRFTokenStaysTheSameForTwoHours(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w, ctx := newFixture(t, d), context.Background()
		s := w.session(w.addUser("ann"))
		first := w.csrf(s)
		if len(first) != 32 {
			t.Errorf("token %q", first)
		}
		w.advance(2*time.Hour - time.Millisecond)
		if got := w.csrf(s); got != first {
			t.Errorf("it changed from %q to %q", first, got)
		}
		if err := w.CheckCSRF(ctx, s, first); err != nil {
			t.Errorf("a millisecond before the end: %v", err)
		}
		w.advance(time.Millisecond)
		wantKind(t, "at the end", w.CheckCSRF(ctx, s, first), fault.InvalidCSRF)
		second := w.csrf(s)
		if second == first || len(second) != 32 {
			t.Errorf("after two hours: %q", second)
		}
		wantKind(t, "the old one", w.CheckCSRF(ctx, s, first), fault.InvalidCSRF)
		if err := w.CheckCSRF(ctx, s, second); err != nil {
			t.Error(err)
		}
	})
}

// Abuse case C42.
func TestCSRFTokenOfAnotherSessionIsWrong(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w, ctx := newFixture(t, d), context.Background()
		ann := w.addUser("ann")
		mine, tab, bobs := w.session(ann), w.session(ann), w.session(w.addUser("bob"))
		token := w.csrf(mine)
		for name, foreign := range map[string]string{
			"none":                 "",
			"of bob":               w.csrf(bobs),
			"of another session":   w.csrf(tab),
			"a character short":    token[:31],
			"a character long":     token + "x",
			"one character off":    changeFirstCharacter(token),
			"another case":         swapCase(token),
			"32 blanks":            strings.Repeat(" ", 32),
			"32 times NUL":         strings.Repeat("\x00", 32),
			"the session's own id": mine.ID[:32],
		} {
			wantKind(t, name, w.CheckCSRF(ctx, mine, foreign), fault.InvalidCSRF)
		}
		if err := w.CheckCSRF(ctx, mine, token); err != nil {
			t.Error(err)
		}
		never := w.session(ann)
		for _, token := range []string{"", strings.Repeat("x", 32)} {
			wantKind(t, "a session without a token", w.CheckCSRF(ctx, never, token), fault.InvalidCSRF)
		}
	})
}

// swapCase swaps the case of every letter. A token of 32 characters of base 62 practically always
// has a letter.
func swapCase(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' {
			return r - 'a' + 'A'
		}
		if r >= 'A' && r <= 'Z' {
			return r - 'A' + 'a'
		}
		return r
	}, s)
}

func TestManyTabsGetOneCSRFToken(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w, other := newFixture(t, d), newFixture(t, d)
		s := w.session(w.addUser("ann"))
		old := ""
		for round := range 3 { // the first round creates a row, the others replace an expired one
			var got [20]string
			var wg sync.WaitGroup
			for i := range got {
				wg.Go(func() {
					replica := []*fixture{w, other}[i%2]
					token, err := replica.CSRF(context.Background(), s)
					if err != nil {
						t.Error(err)
					}
					got[i] = token
				})
			}
			wg.Wait()
			for i := range got {
				if got[i] != got[0] || got[i] == old || got[i] == "" {
					t.Errorf("round %d: tab 0 has %q, tab %d %q, before it was %q", round, got[0], i, got[i], old)
				}
			}
			old = got[0]
			w.advance(2 * time.Hour)
			other.advance(2 * time.Hour)
		}
		if n := w.csrfRows(); n != 1 {
			t.Errorf("%d rows", n)
		}
	})
}

func TestSweepDeletesExpiredCSRFTokensOnly(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w, ctx := newFixture(t, d), context.Background()
		ann := w.addUser("ann")
		w.csrf(w.session(ann))
		w.advance(time.Millisecond)
		young := w.session(ann)
		token := w.csrf(young)
		w.advance(2*time.Hour - time.Millisecond)
		if err := w.Sweep(ctx); err != nil {
			t.Fatal(err)
		}
		if n := w.csrfRows(); n != 1 {
			t.Errorf("%d rows are left", n)
		}
		if err := w.CheckCSRF(ctx, young, token); err != nil {
			t.Error(err)
		}
	})
}
