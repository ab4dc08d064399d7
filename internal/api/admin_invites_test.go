package api_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"larder/internal/apptest"
	"larder/internal/db"
	"larder/internal/site"
)

func invite(admin *apptest.Client, body M) (code string) {
	return admin.Post("/api/admin/invites", body).OK(201).Text("invite.code")
}

// execDDL changes the schema of the service's database.
func execDDL(t *testing.T, l *apptest.Larder, statement string) {
	t.Helper()
	if err := l.Apps[0].DB.Write(context.Background(),
		func(tx *db.Tx) error { _, err := tx.Exec(statement); return err }); err != nil {
		t.Fatal(err)
	}
}

func TestInvites(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		const path = "/api/admin/invites"
		admin := l.Admin(t)
		wantJSON(t, "none yet", admin.Get(path).OK(200).Value("invites"), []any{})
		now := l.Clock.Now().UnixMilli()
		reply := admin.Post(path, M{}).OK(201)
		wantFields(t, "data", reply.Object()["data"], "invite")
		wantFields(t, "invite", reply.Value("invite"), "id", "code", "maxUses", "usedCount", "expiresAt", "note",
			"createdAt", "usable")
		first, _ := reply.Value("invite").(map[string]any)
		id, code := reply.Text("invite.id"), reply.Text("invite.code")
		if !regexp.MustCompile(`^[0-9A-Za-z]{16,}$`).MatchString(code) || id == code {
			t.Errorf("the code is %q, the id %q", code, id)
		}
		delete(first, "id")
		delete(first, "code")
		wantJSON(t, "the created invite", first,
			M{"maxUses": 1, "usedCount": 0, "expiresAt": nil, "note": "", "createdAt": now, "usable": true})
		l.Clock.Advance(time.Second)
		second := admin.Post(path, M{"maxUses": 7, "expiresIn": 3600, "note": " für <b>Lee</b>", "usedCount": 5,
			"code": "mine", "id": "mine"}).OK(201)
		later := l.Clock.Now().UnixMilli()
		given, _ := second.Value("invite").(map[string]any)
		if given["code"] == "mine" || given["code"] == code || given["id"] == "mine" {
			t.Errorf("%v", given)
		}
		listed, _ := admin.Get(path).OK(200).Value("invites").([]any)
		if len(listed) != 2 {
			t.Fatalf("%d are listed", len(listed))
		}
		wantJSON(t, "the newest first", listed[0], second.Value("invite"))
		delete(given, "id")
		delete(given, "code")
		wantJSON(t, "the second", given, M{"maxUses": 7, "usedCount": 0, "expiresAt": later + 3600*1000,
			"note": " für <b>Lee</b>", "createdAt": later, "usable": true})

		for name, body := range map[string]M{
			"0 uses": {"maxUses": 0}, "-1 uses": {"maxUses": -1}, "10001 uses": {"maxUses": 10001},
			"1.5 uses": {"maxUses": 1.5}, "59 seconds": {"expiresIn": 59}, "0 seconds": {"expiresIn": 0},
			"beyond ten years": {"expiresIn": 315360001}, "a note of 201": {"note": strings.Repeat("ü", 201)},
			"a note that is a number":    {"note": 1},
			"201 characters, decomposed": {"note": strings.Repeat("u\u0308", 201)},
			"an override":                {"note": "a\u202eb"}, "an isolate": {"note": "a\u2066b"},
			"a control character": {"note": "a\x07"}, "a return": {"note": "a\rb"},
		} {
			wantStatus(t, name, admin.Post(path, body), 400, "VALIDATION_ERROR")
		}
		for name, body := range map[string]M{
			"10000 uses": {"maxUses": 10000}, "60 seconds": {"expiresIn": 60}, "ten years": {"expiresIn": 315360000},
			"a note of 200":              {"note": strings.Repeat("ü", 200)},
			"200 characters, decomposed": {"note": strings.Repeat("u\u0308", 200)},
			"nulls":                      {"maxUses": nil, "expiresIn": nil, "note": nil},
			"two lines":                  {"note": "for Lee\n\tand Max"}, "from right to left": {"note": "לי"},
		} {
			wantStatus(t, name, admin.Post(path, body), 201, "")
		}

		if body := admin.Delete(path + "/" + id).OK(200).Object(); body["data"] != nil {
			t.Errorf("%v", body)
		}
		wantStatus(t, "again", admin.Delete(path+"/"+id), 404, "NOT_FOUND")
		wantStatus(t, "by its code", admin.Delete(path+"/"+code), 404, "NOT_FOUND")
		if strings.Contains(string(admin.Get(path).OK(200).Body), code) {
			t.Error("it is still listed")
		}
		l.FlushLog()
		wantJSON(t, "in the log", admin.Get("/api/admin/logs?action=admin&search="+
			id).OK(200).Value("pagination.total"), 1)
	})
}

func TestInvitesAreBounded(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite")
	admin := l.Admin(t)
	execAndRaiseVersion(t, l, `
		WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 999)
		INSERT INTO invites (id, code, max_uses, used_count, note, created_by, created_at)
		SELECT 'i' || n, 'c' || n, 1, 1, '', '', 0 FROM numbers`)
	admin.Post("/api/admin/invites", M{}).OK(201)
	wantStatus(t, "the 1001st", admin.Post("/api/admin/invites", M{}), 409, "OPERATION_FAILED")
	admin.Delete("/api/admin/invites/i1").OK(200)
	admin.Post("/api/admin/invites", M{}).OK(201)
}

// An invite code is valid or not depending on the settings.
func TestInviteCodeValidity(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin := l.Admin(t)
		at := 0
		used := func(code string) int {
			return queryInt(t, l, "SELECT CAST(COALESCE(SUM(used_count), 0) AS BIGINT) FROM invites WHERE code = $1",
				code)
		}
		for _, test := range []struct {
			open, required   bool
			none, bad, valid int
			counted          bool
		}{
			{open: true, required: false, none: 201, bad: 201, valid: 201, counted: false},
			{open: false, required: false, none: 403, bad: 403, valid: 201, counted: true},
			{open: true, required: true, none: 400, bad: 400, valid: 201, counted: true},
			{open: false, required: true, none: 400, bad: 400, valid: 201, counted: true},
		} {
			l.ChangeSettings(t, func(s *site.Settings) {
				s.AllowRegistration, s.RequireInviteCode = test.open, test.required
			})
			what := fmt.Sprintf("open %v, required %v: ", test.open, test.required)
			try := func(name string, code any, want int) {
				t.Helper()
				at++
				reply := register(l.Client(t), fmt.Sprint("user", at), M{"inviteCode": code})
				wantStatus(t, what+name, reply, want, map[int]string{400: "VALIDATION_ERROR", 403: "FORBIDDEN"}[want])
			}
			usedUp, expired, deleted := invite(admin, M{}), invite(admin, M{"expiresIn": 60}), invite(admin, M{})
			execAndRaiseVersion(t, l, "UPDATE invites SET used_count = max_uses WHERE code = $1", usedUp)
			l.Clock.Advance(time.Minute)
			id := admin.Get("/api/admin/invites").OK(200).Value("invites").([]any)
			for _, one := range id {
				if one := one.(map[string]any); one["code"] == deleted {
					admin.Delete("/api/admin/invites/" + one["id"].(string)).OK(200)
				}
			}
			try("none", nil, test.none)
			try("empty", "", test.none)
			try("blank", "  ", test.none)
			for name, code := range map[string]string{
				"wrong": "wrong", "used up": usedUp, "expired": expired, "deleted": deleted,
				"another case": withUpperCase("abcdefghijklmnopqrst", 5), "a pattern": "%", "part of one": usedUp[:10],
			} {
				try(name, code, test.bad)
			}
			code := invite(admin, M{"maxUses": 2, "expiresIn": 60})
			l.Clock.Advance(time.Minute - time.Millisecond)
			try("valid, a millisecond before its end", code, test.valid)
			try("valid, pasted with spaces", " "+code+" ", test.valid)
			want := 0
			if test.counted {
				want = 2
			}
			if got := used(code); got != want {
				t.Errorf("%sused %d times, want %d", what, got, want)
			}
			try("valid no more", code, test.bad)

			// a refused registration does not use up a code
			code = invite(admin, M{})
			wantStatus(t, what+"a name that is taken", register(l.Client(t), "ADMIN", M{"inviteCode": code}), 409,
				"ALREADY_EXISTS")
			wantStatus(t, what+"an invalid name", register(l.Client(t), "a", M{"inviteCode": code}), 400,
				"VALIDATION_ERROR")
			if got := used(code); got != 0 {
				t.Errorf("%sused %d times by refused requests", what, got)
			}
		}
		if features := l.Client(t).Get("/api/public/features").OK(200); features.Value("inviteRequired") != true {
			t.Errorf("%s", features.Body)
		}
		var keys []string
		for name := range l.Client(t).Get("/api/public/settings").OK(200).Object()["data"].(map[string]any) {
			keys = append(keys, name)
		}
		if slices.Contains(keys, "requireInviteCode") {
			t.Error("public settings have no such field")
		}
	})
}

// A code is valid only as long as its creator is an active administrator.
func TestInvitesEndWithTheirCreator(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		l.ChangeSettings(t, func(s *site.Settings) { s.AllowRegistration, s.RequireInviteCode = true, true })
		admin, maker := l.Admin(t), l.User(t, "maker", M{"role": "admin"})
		id, code := userIDOf(t, admin, "maker"), invite(maker, M{"maxUses": 10})
		at := 0
		try := func(when string, want int) {
			t.Helper()
			at++
			wantJSON(t, when+", usable", admin.Get("/api/admin/invites").OK(200).Value("invites.0.usable"), want == 201)
			wantStatus(t, when, register(l.Client(t), fmt.Sprint("user", at), M{"inviteCode": code}), want,
				map[int]string{400: "VALIDATION_ERROR"}[want])
		}
		try("an active administrator's", 201)
		for _, test := range []struct{ before, after M }{
			{M{"status": "disabled"}, M{"status": "active"}},
			{M{"status": "banned"}, M{"status": "active"}},
			{M{"role": "user"}, M{"role": "admin"}},
		} {
			updateUser(admin, id, test.before).OK(200)
			try(fmt.Sprint(test.before), 400)
			updateUser(admin, id, test.after).OK(200)
			try(fmt.Sprint(test.after), 201)
		}
		admin.Delete("/api/admin/users/" + id).OK(200)
		try("a deleted account's", 400)
		if n := queryInt(t, l, "SELECT used_count FROM invites WHERE code = $1", code); n != 4 {
			t.Errorf("used %d times", n)
		}
	})
}
