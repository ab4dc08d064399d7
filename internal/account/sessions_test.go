package account_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"larder/internal/access"
	"larder/internal/account"
	"larder/internal/db"
	"larder/internal/db/dbtest"
	"larder/internal/fault"
)

const (
	firefox = "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:133.0) Gecko/20100101 Firefox/133.0"
	safari  = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18.0 Mobile/15E148 Safari/604.1"
)

func (f *fixture) issueFrom(u account.User, from account.Origin) (token string, session account.Session) {
	f.t.Helper()
	token, session, err := f.Issue(context.Background(), u, from)
	if err != nil {
		f.t.Fatal(err)
	}
	return token, session
}

// listed returns the list of a user's sessions.
func (f *fixture) listed(u account.User) []account.ListedSession {
	f.t.Helper()
	all, err := f.Sessions(context.Background(), u.ID)
	if err != nil {
		f.t.Fatal(err)
	}
	return all
}

// wantEnded and wantLasting check a token on two replicas.
func wantEnded(t *testing.T, what, token string, replicas ...*fixture) {
	t.Helper()
	for _, r := range replicas {
		_, err := r.authenticate(token)
		wantKind(t, what, err, fault.SessionRevoked)
	}
}

func wantLasting(t *testing.T, what, token string, replicas ...*fixture) {
	t.Helper()
	for _, r := range replicas {
		if _, err := r.authenticate(token); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// My laptop was stolen: I end its session, and its next request is refused on every replica.
func TestEndedSessionIsRefusedOnEveryReplica(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w, other, ctx := newFixture(t, d), newFixture(t, d), context.Background()
		ann, bob := w.addUser("ann"), w.addUser("bob")
		laptop, stolen := w.issueFrom(ann, account.Origin{Agent: firefox, IP: netip.MustParseAddr("192.0.2.1")})
		w.advance(time.Second)
		phone, mine := w.issueFrom(ann, account.Origin{Agent: safari, IP: netip.MustParseAddr("2001:db8::1")})
		bobs, his := w.issueFrom(bob, account.Origin{})
		wantLasting(t, "the laptop before", laptop, w, other)
		wantLasting(t, "the phone before", phone, w, other)

		at := start.UnixMilli()
		want := []account.ListedSession{
			{ID: mine.ID, Device: "Safari on iPhone", IP: "2001:db8::1", CreatedAt: at + 1000, LastUsedAt: at + 1000},
			{ID: stolen.ID, Device: "Firefox on Windows", IP: "192.0.2.1", CreatedAt: at, LastUsedAt: at},
		}
		if got := w.listed(ann); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("listed %+v, want %+v", got, want)
		}
		for _, id := range []string{his.ID, "x", "", "\x00", "\xff", strings.Repeat("a", 1<<20)} {
			wantKind(t, fmt.Sprintf("%.10q", id), w.EndSession(ctx, mine, id), fault.NotFound)
		}
		before := w.version()
		if err := w.EndSession(ctx, mine, stolen.ID); err != nil {
			t.Fatal(err)
		}
		if w.version() == before {
			t.Error("the config version stayed")
		}
		wantEnded(t, "the laptop", laptop, w, other)
		wantLasting(t, "the phone", phone, w, other)
		wantLasting(t, "another account", bobs, w, other)
		if got := w.listed(ann); len(got) != 1 || got[0].ID != mine.ID {
			t.Errorf("listed afterwards: %+v", got)
		}
		wantKind(t, "an ended session", w.EndSession(ctx, mine, stolen.ID), fault.NotFound)

		// requests of the laptop that were admitted before its end
		wantKind(t, "ending the phone", other.EndSession(ctx, stolen, mine.ID), fault.SessionRevoked)
		wantKind(t, "ending all others", other.EndOtherSessions(ctx, stolen), fault.SessionRevoked)
		if err := w.Logout(ctx, laptop); err != nil {
			t.Fatal(err)
		}
		wantLasting(t, "the phone, after a logout with the laptop's token", phone, w, other)

		if err := w.EndSession(ctx, mine, mine.ID); err != nil {
			t.Fatal(err)
		}
		wantEnded(t, "the phone, ended individually", phone, w, other)
		wantLasting(t, "another account", bobs, w, other)
	})
}

func TestEndingAllOthersKeepsTheCurrentOne(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w, other, ctx := newFixture(t, d), newFixture(t, d), context.Background()
		ann, bob := w.addUser("ann"), w.addUser("bob")
		one, two, unlisted, bobs := w.issue(ann), w.issue(ann), w.issue(ann), w.issue(bob)
		current, mine := w.issueFrom(ann, account.Origin{})
		w.unlist(unlisted)
		if err := other.EndOtherSessions(ctx, mine); err != nil {
			t.Fatal(err)
		}
		for what, token := range map[string]string{"one": one, "two": two, "one that is not listed": unlisted} {
			wantEnded(t, what, token, w, other)
		}
		wantLasting(t, "the current one", current, w, other)
		wantLasting(t, "another account", bobs, w, other)
		wantLasting(t, "the next sign-in", w.issue(ann), w, other)
		if err := w.Logout(ctx, unlisted); err != nil {
			t.Fatal(err)
		}
		wantLasting(t, "after a logout with an ended token", current, w, other)
		w.unlist(current)
		wantEnded(t, "the current one without its row", current, w, other)
	})
}

// A session that an older replica issued has no row; its next use lists it.
func TestSessionOfAnOlderReplicaIsListedAtItsNextUse(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w, other, ctx := newFixture(t, d), newFixture(t, d), context.Background()
		ann := w.addUser("ann")
		token, session := w.issueFrom(ann, account.Origin{Agent: "before/1"})
		w.unlist(token)
		if got := w.listed(ann); len(got) != 0 {
			t.Errorf("listed %+v", got)
		}
		w.advance(time.Hour)
		before := w.version()
		for range 2 {
			if _, err := w.Authenticate(ctx, w.version(), token,
				account.Origin{Agent: firefox, IP: netip.MustParseAddr("192.0.2.1")}); err != nil {
				t.Fatal(err)
			}
		}
		wantLasting(t, "on the other replica", token, other)
		want := account.ListedSession{ID: session.ID, Device: "Firefox on Windows", IP: "192.0.2.1",
			CreatedAt: start.UnixMilli(), LastUsedAt: start.Add(time.Hour).UnixMilli()}
		if got := w.listed(ann); len(got) != 1 || got[0] != want {
			t.Errorf("listed %+v, want %+v", got, want)
		}
		if w.version() != before {
			t.Error("listing a session raised the config version")
		}
		if err := w.EndSession(ctx, session, session.ID); err != nil {
			t.Fatal(err)
		}
		wantEnded(t, "after its end", token, w, other)

		gone := w.issue(ann)
		w.unlist(gone)
		w.mustWrite(func(tx *db.Tx) error { return w.SetRole(tx, ann.ID, access.Admin) })
		_, err := w.authenticate(gone)
		wantKind(t, "another role", err, fault.RoleChanged)
		w.mustWrite(func(tx *db.Tx) error { return w.SetPassword(tx, ann.ID, cheapHash) })
		wantEnded(t, "another password", gone, w, other)
		if got := w.sessionRows(); got != 0 {
			t.Errorf("%d rows of ended sessions", got)
		}
	})
}

// However the end of all other sessions and the use of an unlisted token interleave, the token is
// refused afterwards.
func TestRacesOfListingASessionAndEndingAllOthers(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w, other, ctx := newFixture(t, d), newFixture(t, d), context.Background()
		for round := range 25 {
			ann := w.addUser(fmt.Sprintf("ann%d", round))
			token := w.issue(ann)
			current, mine := w.issueFrom(ann, account.Origin{})
			w.unlist(token)
			version := w.version()
			var running sync.WaitGroup
			for i := range 6 {
				r := []*fixture{w, other}[i%2]
				running.Go(func() {
					_, err := r.Authenticate(ctx, version, token, account.Origin{})
					if err != nil && !fault.Is(err, fault.SessionRevoked) {
						t.Error(err)
					}
				})
			}
			running.Go(func() {
				if err := other.EndOtherSessions(ctx, mine); err != nil {
					t.Error(err)
				}
			})
			running.Wait()
			wantEnded(t, fmt.Sprintf("round %d", round), token, w, other)
			wantLasting(t, fmt.Sprintf("round %d, the current one", round), current, w, other)
		}
	})
}

// The use of an unlisted token waits for the end of all other sessions that has begun, and is
// refused then. SQLite has one writer anyway.
func TestRacesOfListingASessionAreDecidedByTheUsersRow(t *testing.T) {
	t.Parallel()
	w := newFixture(t, dbtest.Open(t, "postgres"))
	ann := w.addUser("ann")
	token := w.issue(ann)
	w.unlist(token)
	version, used := w.version(), make(chan error, 1)
	w.mustWrite(func(tx *db.Tx) error {
		if _, err := tx.Exec("UPDATE users SET unlisted_ended_at = 1 WHERE id = $1", ann.ID); err != nil {
			return err
		}
		go func() {
			_, err := w.Authenticate(context.Background(), version, token, account.Origin{})
			used <- err
		}()
		for w.countRows("SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND "+
			"wait_event_type = 'Lock'") == 0 {
			select {
			case err := <-used:
				t.Errorf("the use did not wait: %v", err)
				used <- err
				return nil
			case <-time.After(time.Millisecond):
			}
		}
		return tx.BumpConfig()
	})
	wantKind(t, "the use", <-used, fault.SessionRevoked)
	wantEnded(t, "afterwards", token, w)
}

// Of two sessions that end all others at once exactly one lasts.
func TestRacesOfTwoSessionsThatEndEachOther(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w, other, ctx := newFixture(t, d), newFixture(t, d), context.Background()
		ann := w.addUser("ann")
		for round := range 15 {
			one, first := w.issueFrom(ann, account.Origin{})
			two, second := w.issueFrom(ann, account.Origin{})
			errs := make([]error, 2)
			var running sync.WaitGroup
			running.Go(func() { errs[0] = w.EndOtherSessions(ctx, first) })
			running.Go(func() { errs[1] = other.EndSession(ctx, second, first.ID) })
			running.Wait()
			winner, loser := one, two
			if errs[0] != nil {
				winner, loser = two, one
				errs[0], errs[1] = errs[1], errs[0]
			}
			if errs[0] != nil {
				t.Errorf("round %d: %v", round, errs)
			}
			wantKind(t, fmt.Sprintf("round %d", round), errs[1], fault.SessionRevoked)
			wantLasting(t, "the winner", winner, w, other)
			wantEnded(t, "the loser", loser, w, other)
		}
	})
}

// An older replica would not refuse an ended session, so none is ended while one is running.
func TestEndingASessionWaitsForOlderReplicas(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w, ctx := newFixture(t, d), context.Background()
		ann := w.addUser("ann")
		token, session := w.issueFrom(ann, account.Origin{})
		current, mine := w.issueFrom(ann, account.Origin{})
		w.addReplica("old", 14)
		before := w.version()
		wantKind(t, "one", w.EndSession(ctx, mine, session.ID), fault.Conflict)
		wantKind(t, "all others", w.EndOtherSessions(ctx, mine), fault.Conflict)
		if w.version() != before {
			t.Error("a refused change raised the config version")
		}
		wantLasting(t, "the session", token, w)
		w.removeReplica("old")
		if err := w.EndSession(ctx, mine, session.ID); err != nil {
			t.Fatal(err)
		}
		wantEnded(t, "the session", token, w)
		wantLasting(t, "the current one", current, w)
		if got := w.oldestSchema(); got != 15 {
			t.Errorf("a replica that knows schema %d may start", got)
		}
	})
}

// A use counts for the order of the list before it is written.
func TestSessionsAreListedByLastUse(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newFixture(t, d)
		ann := w.addUser("ann")
		_, first := w.issueFrom(ann, account.Origin{})
		w.advance(time.Second)
		_, second := w.issueFrom(ann, account.Origin{})
		w.advance(time.Second)
		order := func(what string, want ...string) {
			t.Helper()
			var got []string
			for _, s := range w.listed(ann) {
				got = append(got, s.ID)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s: %v, want %v", what, got, want)
			}
		}
		order("at first", second.ID, first.ID)
		w.Touch(first.ID)
		order("after a use of the first", first.ID, second.ID)
	})
}

func TestLastUseOfASessionIsWrittenAtMostOnceAMinute(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w, ctx := newFixture(t, d), context.Background()
		ann := w.addUser("ann")
		_, session := w.issueFrom(ann, account.Origin{})
		before := w.version()
		used := func(what string, shown, stored int64) {
			t.Helper()
			if got := w.listed(ann)[0].LastUsedAt; got != start.UnixMilli()+shown {
				t.Errorf("%s: shown as used %d after the start, want %d", what, got-start.UnixMilli(), shown)
			}
			if got := w.storedUse(session.ID); got != start.UnixMilli()+stored {
				t.Errorf("%s: stored as used %d after the start, want %d", what, got-start.UnixMilli(), stored)
			}
		}
		sweep := func() {
			t.Helper()
			if err := w.Sweep(ctx); err != nil {
				t.Fatal(err)
			}
		}
		used("at the sign-in", 0, 0)
		w.advance(time.Second)
		w.Touch(session.ID)
		used("before the sweep", 1000, 0)
		sweep()
		used("after the sweep", 1000, 1000)
		w.advance(59_999 * time.Millisecond)
		w.Touch(session.ID)
		sweep()
		used("within the minute", 1000, 1000)
		w.advance(time.Millisecond)
		w.Touch(session.ID)
		sweep()
		used("a minute after", 61_000, 61_000)
		late := newFixture(t, d) // its clock stands at the start
		late.Touch(session.ID)
		if err := late.WriteUses(ctx); err != nil {
			t.Fatal(err)
		}
		used("a replica that writes an older use", 61_000, 61_000)
		if w.version() != before {
			t.Error("using a session raised the config version")
		}
	})
}

// A row stays as long as any replica could accept the token, its clock being up to an hour behind.
func TestRowsOfSessionsAreDeleted(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w, behind, ctx := newFixture(t, d), newFixture(t, d), context.Background()
		sweep := func() {
			t.Helper()
			if err := w.Sweep(ctx); err != nil {
				t.Fatal(err)
			}
		}
		ann := w.addUser("ann")
		token, session := w.issueFrom(ann, account.Origin{})
		if err := w.EndSession(ctx, session, session.ID); err != nil {
			t.Fatal(err)
		}
		w.advance(week + time.Hour - time.Millisecond)
		behind.advance(week - time.Millisecond)
		sweep()
		wantEnded(t, "on a replica whose clock is behind", token, behind)
		if got := w.listed(ann); len(got) != 0 {
			t.Errorf("listed %+v", got)
		}
		w.advance(time.Millisecond)
		sweep()
		if got := w.sessionRows(); got != 0 {
			t.Errorf("%d rows after the sweep", got)
		}

		for name, end := range map[string]func(tx *db.Tx, u account.User) error{
			"password": func(tx *db.Tx, u account.User) error { return w.SetPassword(tx, u.ID, cheapHash) },
			"disabled": func(tx *db.Tx, u account.User) error { return w.SetStatus(tx, u.ID, account.Disabled) },
			"role":     func(tx *db.Tx, u account.User) error { return w.SetRole(tx, u.ID, access.Guest) },
			"deleted":  func(tx *db.Tx, u account.User) error { return w.Delete(tx, u.ID) },
		} {
			u := w.addUser("u_" + name)
			w.issue(u)
			w.issue(u)
			w.mustWrite(func(tx *db.Tx) error {
				return errors.Join(w.SetRole(tx, u.ID, access.User), w.SetStatus(tx, u.ID, account.Active))
			})
			if got := w.sessionRows(); got != 2 {
				t.Errorf("%s: %d rows before", name, got)
			}
			w.mustWrite(func(tx *db.Tx) error { return end(tx, u) })
			if got := w.sessionRows(); got != 0 {
				t.Errorf("%s: %d rows afterwards", name, got)
			}
		}
		ann = w.user(ann.ID)
		out := w.issue(ann)
		if err := w.Logout(ctx, out); err != nil || w.sessionRows() != 0 {
			t.Errorf("logout: %v, %d rows", err, w.sessionRows())
		}
		w.issue(w.user(ann.ID))
		w.mustWrite(func(tx *db.Tx) error { return account.AfterRestore(tx, w.now.Load()) })
		if got := w.sessionRows(); got != 0 {
			t.Errorf("restore: %d rows", got)
		}
	})
}

// An account has at most 1,000 sessions; the one that was not used for the longest time ends.
func TestThousandAndFirstSessionEndsTheOneUsedLeast(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newFixture(t, d)
		ann, bob := w.addUser("ann"), w.addUser("bob")
		bobs, old := w.issue(bob), w.issue(ann)
		w.advance(time.Second)
		kept := w.issue(ann)
		w.addSessions(ann, 998)
		wantLasting(t, "the oldest of a thousand", old, w)
		w.advance(time.Second)
		fresh := w.issue(ann)
		wantEnded(t, "the oldest of a thousand and one", old, w)
		wantLasting(t, "the second", kept, w)
		wantLasting(t, "the new one", fresh, w)
		wantLasting(t, "another account", bobs, w)
		if got := len(w.listed(ann)); got != 1000 {
			t.Errorf("%d sessions are listed", got)
		}
	})
}
