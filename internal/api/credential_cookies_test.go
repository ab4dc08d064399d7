package api_test

import (
	"testing"

	"larder/internal/apptest"
)

// Two different session cookies count as no credential: another service on this host could have set
// one beside the user's.
func TestTwoSessionCookies(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite")
	alice, bob := l.User(t, "alice"), l.User(t, "bob")
	mine, other := "auth_token="+alice.Cookies["auth_token"], "auth_token="+bob.Cookies["auth_token"]
	file := alice.Upload("/home/alice", "a.txt", []byte("a"))
	withCookies := func(csrf string, cookies ...string) *apptest.Client {
		c := l.Client(t)
		c.CSRF = csrf
		c.Header["Cookie"] = cookies
		return c
	}
	for name, cookies := range map[string][]string{
		"two":                {mine + "; " + other},
		"the other first":    {other + "; " + mine},
		"in two headers":     {mine, other},
		"an unknown session": {mine + "; auth_token=x"},
		"an empty one":       {mine + "; auth_token="},
		"an empty one first": {"auth_token=; " + mine},
		"three":              {mine + "; " + mine + "; " + other},
	} {
		c := withCookies(alice.CSRF, cookies...)
		wantStatus(t, name, c.Get("/api/auth/me"), 401, "INVALID_TOKEN")
		wantStatus(t, name+", write", c.Put("/api/users/me/settings", M{"displayName": "changed"}), 401,
			"INVALID_TOKEN")
		wantStatus(t, name+", administration", c.Get("/api/admin/users"), 401, "INVALID_TOKEN")
		// a public route ignores them
		wantStatus(t, name+", public", c.Get("/api/public/settings"), 200, "")
		wantStatus(t, name+", listing for visitors", c.Get("/api/public/files?path=/public"), 200, "")
		wantStatus(t, name+", a private file", c.Get("/home/alice/a.txt"), 401, "UNAUTHORIZED")
		wantStatus(t, name+", logout", c.Post("/api/auth/logout", nil), 200, "")
	}
	wantStatus(t, "alice's session continues", alice.Get("/api/auth/me"), 200, "")
	wantStatus(t, "bob's session continues", bob.Get("/api/auth/me"), 200, "")
	if name := alice.Get("/api/users/me/settings").OK(200).Value("profile.displayName"); name != nil {
		t.Errorf("a write succeeded: %v", name)
	}
	for name, cookies := range map[string][]string{"twice": {mine + "; " + mine}, "twice in two headers": {mine, mine},
		"beside others": {"x=1; " + mine + "; AUTH_TOKEN=x"}} {
		c := withCookies(alice.CSRF, cookies...)
		wantStatus(t, name, c.Get("/api/auth/me"), 200, "")
		wantStatus(t, name+", file", c.Get("/api/files/"+file), 200, "")
		wantStatus(t, name+", write", c.Put("/api/users/me/settings", M{"displayName": "Alice"}), 200, "")
	}
	key := alice.Key(M{"uploadPath": "/home/alice"})
	key.Header["Cookie"] = []string{mine + "; " + other}
	wantStatus(t, "a key beside a cookie", key.Get("/api/files/"+file), 200, "")
}
