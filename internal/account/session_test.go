package account_test

import (
	"context"
	"encoding/base64"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"larder/internal/access"
	"larder/internal/account"
	"larder/internal/db"
	"larder/internal/db/dbtest"
	"larder/internal/fault"
	"larder/internal/secret"
)

const week = 7 * 24 * time.Hour

func (f *fixture) issue(u account.User) string {
	f.t.Helper()
	token, _, err := f.Issue(context.Background(), u, account.Origin{})
	if err != nil {
		f.t.Fatal(err)
	}
	return token
}

// authenticate checks a token as a request at the present time does.
func (f *fixture) authenticate(token string) (account.Session, error) {
	f.t.Helper()
	return f.Authenticate(context.Background(), f.version(), token, account.Origin{})
}

func (f *fixture) user(id string) account.User {
	f.t.Helper()
	u, err := f.ByID(f.db.Read(context.Background()), id)
	if err != nil {
		f.t.Fatal(err)
	}
	return u
}

// Abuse case C48.
func TestLogin(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newFixture(t, d)
		ann := w.addUser("Ann")
		w.addUser("newcomer", func(n *account.NewUser) { n.EmailVerified = false })
		w.addUser("boss", func(n *account.NewUser) { n.EmailVerified, n.Role = false, access.Admin })
		off, out := w.addUser("off", func(n *account.NewUser) { n.EmailVerified = false }), w.addUser("out")
		w.mustWrite(func(tx *db.Tx) error {
			return errors.Join(w.SetStatus(tx, off.ID, account.Disabled), w.SetStatus(tx, out.ID, account.Banned))
		})
		const none = fault.Internal
		for _, c := range []struct {
			name     string
			password secret.Text
			verified bool
			want     fault.Kind
		}{
			{"Ann", "password", false, none},
			{"aNN", "password", true, none},
			{"ann@example.org", "password", true, none},
			{"ANN@Example.ORG", "password", true, none},
			{"Ann", "Password", false, fault.BadCredentials},
			{"Ann", "", false, fault.BadCredentials},
			{"Ann", secret.Text(strings.Repeat("x", 1<<20)), false, fault.BadCredentials},
			{" Ann", "password", false, fault.BadCredentials},
			{"nobody", "password", false, fault.BadCredentials},
			{"nobody@example.org", "password", false, fault.BadCredentials},
			{"", "password", false, fault.BadCredentials},
			{"Ann\x00", "password", false, fault.BadCredentials},
			{"A\xffn", "password", false, fault.BadCredentials},
			{strings.Repeat("A", 1<<20), "password", false, fault.BadCredentials},
			{"' OR 1=1 --", "password", false, fault.BadCredentials},
			{"newcomer", "password", false, none},
			{"newcomer", "password", true, fault.EmailNotVerified},
			{"newcomer", "wrong", true, fault.BadCredentials},
			{"boss", "password", true, none},
			{"off", "password", true, fault.UserDisabled},
			{"off", "wrong", true, fault.BadCredentials},
			{"out", "password", false, fault.UserDisabled},
			{"out", "wrong", false, fault.BadCredentials},
		} {
			u, err := w.Login(context.Background(), testSource, c.name, c.password, c.verified)
			if c.want == none {
				if err != nil || u.ID == "" {
					t.Errorf("%.40q: %v", c.name, err)
				}
				continue
			}
			if !fault.Is(err, c.want) || u != (account.User{}) {
				t.Errorf("%.40q, verified %v: got %v", c.name, c.verified, err)
			}
			if c.want == fault.BadCredentials && err.Error() != "Wrong username or password." {
				t.Errorf("%.40q: the answer differs: %v", c.name, err)
			}
		}
		if u, err := w.Login(context.Background(), testSource, "ann", "password", true); err != nil || u != ann {
			t.Errorf("got %+v, %v", u, err)
		}
	})
}

// Abuse case C48. A cancelled context fails every hash, so the error proves that a hash is computed
// for an unknown user as well.
func TestLoginHashesForUnknownNamesToo(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newFixture(t, d)
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		for _, name := range []string{"no name", "x", "\x00"} { // not looked up in the database
			if _, err := w.Login(ctx, testSource, name, "password", false); !errors.Is(err, context.Canceled) {
				t.Errorf("%q: got %v", name, err)
			}
		}
	})
}

func TestSessionLastsSevenDays(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newFixture(t, d)
		u := w.addUser("ann")
		w.advance(300 * time.Millisecond)
		token, issued, err := w.Issue(context.Background(), u, account.Origin{})
		if err != nil {
			t.Fatal(err)
		}
		if len(issued.ID) != 36 || issued.User != u || !issued.ExpiresAt.Equal(start.Add(week)) {
			t.Errorf("issued %+v", issued)
		}
		got, err := w.authenticate(token)
		if err != nil || got.ID != issued.ID || got.User != u || !got.ExpiresAt.Equal(issued.ExpiresAt) {
			t.Errorf("got %+v, %v", got, err)
		}
		w.advance(week - 301*time.Millisecond)
		if _, err := w.authenticate(token); err != nil {
			t.Errorf("a millisecond before the end: %v", err)
		}
		w.advance(time.Millisecond)
		_, err = w.authenticate(token)
		wantKind(t, "at the end", err, fault.InvalidToken)
	})
}

func TestTokenHasTheClaimsOfTheSpecification(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newFixture(t, d)
		u := w.addUser("ann")
		token, session, err := w.Issue(context.Background(), u, account.Origin{})
		if err != nil {
			t.Fatal(err)
		}
		said := jwt.MapClaims{}
		parsed, _, err := jwt.NewParser().ParseUnverified(token, said)
		if err != nil || parsed.Method.Alg() != "HS256" {
			t.Fatalf("%v, %v", parsed, err)
		}
		want := map[string]any{
			"aud": "larder/session", "sub": u.ID, "role": "user", "rv": 1.0, "sv": 1.0, "jti": session.ID,
			"iat": float64(start.Unix()), "exp": float64(start.Unix() + 604800),
		}
		for name, value := range want {
			if said[name] != value {
				t.Errorf("%s is %v, want %v", name, said[name], value)
			}
		}
		if len(said) != len(want) {
			t.Errorf("claims: %v", said)
		}
	})
}

// Abuse case C40.
func TestForgedTokensAreInvalid(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newFixture(t, d)
		u := w.addUser("ann")
		key := w.keys.Key("session")
		sign := func(method jwt.SigningMethod, key any, change func(c jwt.MapClaims)) string {
			c := jwt.MapClaims{
				"aud": "larder/session", "sub": u.ID, "role": "user", "rv": 1, "sv": 1, "jti": "j",
				"iat": start.Unix(), "exp": start.Unix() + 60,
			}
			change(c)
			token, err := jwt.NewWithClaims(method, c).SignedString(key)
			if err != nil {
				t.Fatal(err)
			}
			return token
		}
		as := func(jwt.MapClaims) {}
		without := func(name string) func(c jwt.MapClaims) { return func(c jwt.MapClaims) { delete(c, name) } }
		with := func(name string, value any) func(c jwt.MapClaims) { return func(c jwt.MapClaims) { c[name] = value } }
		good := sign(jwt.SigningMethodHS256, key, as)
		if _, err := w.authenticate(good); err != nil {
			t.Fatalf("the pattern of the forgeries is bad itself: %v", err)
		}
		parts := strings.Split(good, ".")
		admin := base64.RawURLEncoding.EncodeToString([]byte(`{"aud":"larder/session","sub":"` + u.ID +
			`","role":"admin","rv":1,"sv":1,"jti":"j","exp":99999999999}`))
		for name, token := range map[string]string{
			"empty":                          "",
			"garbage":                        "garbage",
			"dots":                           "..",
			"a megabyte":                     strings.Repeat("x", 1<<20),
			"alg none":                       sign(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, as),
			"HS512, our key":                 sign(jwt.SigningMethodHS512, key, as),
			"HS384, our key":                 sign(jwt.SigningMethodHS384, key, as),
			"another purpose's key":          sign(jwt.SigningMethodHS256, w.keys.Key("share"), as),
			"empty key":                      sign(jwt.SigningMethodHS256, []byte{}, as),
			"no exp":                         sign(jwt.SigningMethodHS256, key, without("exp")),
			"exp null":                       sign(jwt.SigningMethodHS256, key, with("exp", nil)),
			"exp past":                       sign(jwt.SigningMethodHS256, key, with("exp", start.Unix())),
			"exp text":                       sign(jwt.SigningMethodHS256, key, with("exp", "soon")),
			"another audience":               sign(jwt.SigningMethodHS256, key, with("aud", "larder/share")),
			"no audience":                    sign(jwt.SigningMethodHS256, key, without("aud")),
			"not valid yet":                  sign(jwt.SigningMethodHS256, key, with("nbf", start.Unix()+1)),
			"no sub":                         sign(jwt.SigningMethodHS256, key, without("sub")),
			"sub of another type":            sign(jwt.SigningMethodHS256, key, with("sub", 1)),
			"no jti":                         sign(jwt.SigningMethodHS256, key, without("jti")),
			"no rv":                          sign(jwt.SigningMethodHS256, key, without("rv")),
			"no sv":                          sign(jwt.SigningMethodHS256, key, without("sv")),
			"sv of another type":             sign(jwt.SigningMethodHS256, key, with("sv", "1")),
			"sv not whole":                   sign(jwt.SigningMethodHS256, key, with("sv", 1.5)),
			"claims exchanged":               parts[0] + "." + admin + "." + parts[2],
			"signature cut off":              parts[0] + "." + parts[1] + ".",
			"no signature":                   parts[0] + "." + parts[1],
			"signature one bit off":          parts[0] + "." + parts[1] + "." + changeFirstCharacter(parts[2]),
			"signature in another spelling":  parts[0] + "." + parts[1] + "." + respellBase64(parts[2]),
			"blank after":                    good + " ",
			"padding after":                  good + "=",
			"a signed value of another kind": w.keys.Sign("session", []byte(u.ID)),
		} {
			_, err := w.authenticate(token)
			wantKind(t, name, err, fault.InvalidToken)
			if err := w.Logout(context.Background(), token); err != nil {
				t.Errorf("logout with %s: %v", name, err)
			}
		}
		if got := w.user(u.ID); got.SessionVersion != 1 {
			t.Errorf("a forged token logged out: %+v", got)
		}
	})
}

// changeFirstCharacter changes the first character of a signature.
func changeFirstCharacter(s string) string {
	if s[0] == 'A' {
		return "B" + s[1:]
	}
	return "A" + s[1:]
}

// respellBase64 returns another spelling of the same 32 bytes: the last of 43 characters carries
// two bits that lax decoders ignore.
func respellBase64(s string) string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	last := strings.IndexByte(alphabet, s[len(s)-1])
	return s[:len(s)-1] + string(alphabet[last^1])
}

// Abuse case C41.
func TestWhatEndsASession(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w, other := newFixture(t, d), newFixture(t, d) // the other replica authenticates
		status := func(s account.Status) func(tx *db.Tx, id string) error {
			return func(tx *db.Tx, id string) error { return w.SetStatus(tx, id, s) }
		}
		role := func(r access.Role) func(tx *db.Tx, id string) error {
			return func(tx *db.Tx, id string) error { return w.SetRole(tx, id, r) }
		}
		for i, c := range []struct {
			name  string
			steps []func(tx *db.Tx, id string) error
			want  fault.Kind
		}{
			{"password", []func(tx *db.Tx, id string) error{func(tx *db.Tx, id string) error {
				return w.SetPassword(tx, id, cheapHash)
			}}, fault.SessionRevoked},
			{"disabled", []func(tx *db.Tx, id string) error{status(account.Disabled)}, fault.SessionRevoked},
			{"banned", []func(tx *db.Tx, id string) error{status(account.Banned)}, fault.SessionRevoked},
			{"disabled and enabled again",
				[]func(tx *db.Tx, id string) error{status(account.Disabled), status(account.Active)},
				fault.SessionRevoked},
			{"deleted", []func(tx *db.Tx, id string) error{deleteUser}, fault.SessionRevoked},
			{"role", []func(tx *db.Tx, id string) error{role(access.Guest)}, fault.RoleChanged},
			{"role changed and changed back", []func(tx *db.Tx, id string) error{role(access.Admin), role(access.User)},
				fault.RoleChanged},
			{"role and password changed",
				[]func(tx *db.Tx, id string) error{role(access.Admin), status(account.Banned)},
				fault.SessionRevoked},
			{"the same role", []func(tx *db.Tx, id string) error{role(access.User)}, fault.Internal},
			{"active already", []func(tx *db.Tx, id string) error{status(account.Active)}, fault.Internal},
		} {
			u := w.addUser("user" + string(rune('a'+i)))
			token := w.issue(u)
			if _, err := other.authenticate(token); err != nil {
				t.Fatalf("%s, before: %v", c.name, err)
			}
			for _, step := range c.steps {
				w.mustWrite(func(tx *db.Tx) error { return step(tx, u.ID) })
			}
			_, err := other.authenticate(token)
			if c.want == fault.Internal {
				if err != nil {
					t.Errorf("%s: got %v", c.name, err)
				}
				continue
			}
			wantKind(t, c.name, err, c.want)
		}
	})
}

func TestNewPasswordReplacesTheOldOne(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newFixture(t, d)
		u := w.addUser("ann")
		hash := w.hash("another password")
		w.mustWrite(func(tx *db.Tx) error { return w.SetPassword(tx, u.ID, hash) })
		_, err := w.Login(context.Background(), testSource, "ann", "password", false)
		wantKind(t, "old password", err, fault.BadCredentials)
		again, err := w.Login(context.Background(), testSource, "ann", "another password", false)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.authenticate(w.issue(again)); err != nil {
			t.Errorf("a session after the change: %v", err)
		}
		if err := w.db.Write(context.Background(),
			func(tx *db.Tx) error { return w.SetPassword(tx, u.ID, "clear text") }); err == nil {
			t.Error("a stored password is not a hash")
		}
	})
}

func TestLogoutEndsAllSessionsOfTheUserOnce(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w, ctx := newFixture(t, d), context.Background()
		ann, bob := w.addUser("ann"), w.addUser("bob")
		one, two, bobs := w.issue(ann), w.issue(ann), w.issue(bob)
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				if err := w.Logout(ctx, one); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		for name, token := range map[string]string{"one": one, "two": two} {
			_, err := w.authenticate(token)
			wantKind(t, name, err, fault.SessionRevoked)
		}
		if _, err := w.authenticate(bobs); err != nil {
			t.Errorf("somebody else: %v", err)
		}
		if got := w.user(ann.ID).SessionVersion; got != 2 {
			t.Errorf("session version %d after 10 logouts at once", got)
		}

		later := w.issue(w.user(ann.ID))
		before := w.version()
		if err := w.Logout(ctx, two); err != nil {
			t.Fatal(err)
		}
		if _, err := w.authenticate(later); err != nil || w.version() != before {
			t.Errorf("an outdated token logged out: %v", err)
		}
		w.mustWrite(func(tx *db.Tx) error { return w.SetRole(tx, bob.ID, access.Admin) })
		fresh := w.issue(w.user(bob.ID))
		w.advance(week)
		if err := errors.Join(w.Logout(ctx, bobs), w.Logout(ctx, later)); err != nil {
			t.Fatal(err)
		}
		w.advance(-week)
		if _, err := w.authenticate(fresh); err != nil {
			t.Errorf("a token from before the change of role logged out: %v", err)
		}
		if _, err := w.authenticate(later); err != nil {
			t.Errorf("an expired token logged out: %v", err)
		}
	})
}

// A token that has been used, whose claims are kept, ends like any other: at the end of its
// lifetime, and when the clock says that it is not issued yet.
func TestUsedTokenExpires(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newFixture(t, d)
		token := w.issue(w.addUser("ann"))
		want := func(what string, err error) {
			t.Helper()
			if what == "valid" && err != nil || what != "valid" && !fault.Is(err, fault.InvalidToken) {
				t.Errorf("the token is %s: %v", what, err)
			}
		}
		for range 2 {
			_, err := w.authenticate(token)
			want("valid", err)
		}
		forged := token[:len(token)-1] + string(rune(token[len(token)-1]^1))
		_, err := w.authenticate(forged)
		want("forged", err)
		w.advance(week - time.Second)
		_, err = w.authenticate(token)
		want("valid", err)
		w.advance(time.Second)
		_, err = w.authenticate(token)
		want("expired", err)
		w.advance(-week - 2*time.Hour)
		_, err = w.authenticate(token)
		want("issued in two hours", err)
	})
}
