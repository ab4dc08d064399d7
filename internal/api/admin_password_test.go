package api_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"larder/internal/apptest"
)

// An administrator gives an account another password, which is shown once and ends its sessions.
func TestAdministratorResetsPassword(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, alice, bob := l.Admin(t), l.User(t, "alice"), l.User(t, "bob")
		id := callerID(alice)
		address := "/api/admin/users/" + id + "/password"
		bob.Post(address, nil).Fails(403, "FORBIDDEN")
		l.Client(t).Post(address, nil).Fails(401, "UNAUTHORIZED")
		alice.Get("/api/users/me/settings").OK(200) // refused requests have changed nothing

		r := admin.Post(address, nil).OK(200)
		wantFields(t, "data", r.Object()["data"], "password")
		password := r.Text("password")
		if !regexp.MustCompile(`^[0-9A-Za-z]{20}$`).MatchString(password) {
			t.Errorf("the password is %q", password)
		}
		if kept := r.Header.Get("Cache-Control"); !strings.Contains(kept, "no-store") {
			t.Errorf("Cache-Control: %s", kept)
		}
		alice.Get("/api/users/me/settings").Fails(401, "SESSION_REVOKED")
		bob.Get("/api/users/me/settings").OK(200)
		for given, status := range map[string]int{"password of alice": 401, password: 200} {
			got := l.Client(t).Post("/api/auth/login", M{"username": "alice", "password": given}).Status
			if got != status {
				t.Errorf("sign-in with %q: %d, want %d", given, got, status)
			}
		}
		if again := admin.Post(address, nil).OK(200).Text("password"); again == password {
			t.Error("the second password is the first one")
		}

		own := "/api/admin/users/" + callerID(admin) + "/password"
		admin.Post(own, nil).Fails(400, "VALIDATION_ERROR")
		admin.Get("/api/users/me/settings").OK(200)
		admin.Post("/api/admin/users/none/password", nil).Fails(404, "NOT_FOUND")

		l.FlushLog()
		var logged []string
		for _, e := range accessLogs(t, l, admin, "&action=admin") {
			if strings.HasSuffix(e.Path, "/password") {
				logged = append(logged, fmt.Sprint(e.Path, " ", e.StatusCode))
			}
		}
		wantJSON(t, "the log", logged, []any{address + " 200", address + " 200"})
		if strings.Contains(l.Log.String(), password) {
			t.Error("the password is in the log of the service")
		}
	})
}
