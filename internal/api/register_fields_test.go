package api_test

import (
	"strings"
	"testing"

	"larder/internal/apptest"
	"larder/internal/site"
)

// A form shows a refusal beside the field that is at fault, so the answer names the field.
func TestRefusalsNameTheField(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		setAllowRegistration(t, l, true)
		register(l.Client(t), "ann", nil).OK(201)
		field := func(name string, reply *apptest.Reply, status int, code, field string) {
			t.Helper()
			refused := reply.Fails(status, code).Object()["error"]
			wantFields(t, name, refused, "code", "message", "field", "requestId")
			wantJSON(t, name, refused.(map[string]any)["field"], field)
		}
		field("the name is taken", register(l.Client(t), "ANN", M{"email": "other@example.org"}), 409,
			"ALREADY_EXISTS", "username")
		field("the address is taken", register(l.Client(t), "bob", M{"email": "ANN@example.org"}), 409,
			"ALREADY_EXISTS", "email")
		field("no address", register(l.Client(t), "bob", M{"email": "bob"}), 400, "VALIDATION_ERROR", "email")
		field("a reset link", l.Client(t).Post("/api/auth/reset-password",
			M{"token": strings.Repeat("x", 43), "password": "long enough"}), 400, "VALIDATION_ERROR", "token")
		l.ChangeSettings(t, func(s *site.Settings) { s.RequireInviteCode = true })
		field("a wrong invite", register(l.Client(t), "bob", M{"inviteCode": "wrong"}), 400, "VALIDATION_ERROR",
			"inviteCode")
	})
}
