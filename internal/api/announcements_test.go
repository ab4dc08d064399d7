package api_test

import (
	"strings"
	"testing"
	"time"

	"larder/internal/apptest"
)

func TestAnnouncements(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, visitor := l.Admin(t), l.Client(t)
		public := func(want ...any) {
			t.Helper()
			for range l.Apps { // a change is visible on each replica immediately
				got := visitor.Get("/api/public/announcements").OK(200)
				wantJSON(t, "for everybody", got.Value("items"), append([]any{}, want...))
			}
		}
		public()
		wantJSON(t, "none", admin.Get("/api/admin/announcements").OK(200).Value("items"), []any{})

		began := l.Clock.Now().UnixMilli()
		made := admin.Post("/api/admin/announcements",
			M{"title": "<b>Move</b>", "content": "*Sunday*\n[x](javascript:1)", "level": "warning", "expiresIn": 60}).
			OK(201)
		first := made.Text("announcement.id")
		record := M{
			"id": first, "title": "<b>Move</b>", "content": "*Sunday*\n[x](javascript:1)", "level": "warning",
			"expiresAt": began + 60_000, "createdAt": began, "updatedAt": began,
		}
		wantJSON(t, "the created announcement", made.Value("announcement"), record)
		l.Clock.Advance(time.Second)
		second := admin.Post("/api/admin/announcements", M{"title": "Welcome", "content": "Hello"}).OK(201)
		id := second.Text("announcement.id")
		welcome := M{"id": id, "title": "Welcome", "content": "Hello", "level": "info", "expiresAt": nil,
			"createdAt": began + 1000, "updatedAt": began + 1000}
		wantJSON(t, "the second", second.Value("announcement"), welcome)
		wantJSON(t, "all", admin.Get("/api/admin/announcements").OK(200).Value("items"), []any{welcome, record})
		shown := func(record M) M {
			return M{"id": record["id"], "title": record["title"], "content": record["content"],
				"level": record["level"]}
		}
		public(shown(welcome), shown(record))

		// the sign-in page shows them too
		setAllowGuestAccess(t, l, false)
		public(shown(welcome), shown(record))

		l.Clock.Advance(58*time.Second + 999*time.Millisecond)
		public(shown(welcome), shown(record))
		l.Clock.Advance(time.Millisecond)
		public(shown(welcome))
		wantJSON(t, "all, later", admin.Get("/api/admin/announcements").OK(200).Value("items"), []any{welcome, record})

		record["expiresAt"], record["updatedAt"], record["level"] = began+120_000, began+60_000, "danger"
		wantJSON(t, "again", admin.Put("/api/admin/announcements/"+first,
			M{"level": "danger", "expiresIn": 60}).OK(200).Value("announcement"), record)
		public(shown(welcome), shown(record))
		record["expiresAt"] = nil
		wantJSON(t, "for ever", admin.Put("/api/admin/announcements/"+first,
			M{"expiresIn": nil}).OK(200).Value("announcement"), record)
		wantJSON(t, "unchanged", admin.Put("/api/admin/announcements/"+first,
			M{"title": nil, "unknown": 1}).OK(200).Value("announcement"), record)
		if body := admin.Delete("/api/admin/announcements/" + first).OK(200); body.Value("") != nil {
			t.Errorf("a deletion answers %s", body.Body)
		}
		public(shown(welcome))
		admin.Delete("/api/admin/announcements/"+first).Fails(404, "NOT_FOUND")
		admin.Put("/api/admin/announcements/"+first, M{"title": "x"}).Fails(404, "NOT_FOUND")

		long := func(n int) string { return strings.Repeat("猫", n) }
		for _, body := range []M{
			{"title": long(200), "content": long(5000), "level": "info", "expiresIn": 60},
			{"title": "t", "content": "c", "level": "danger", "expiresIn": 315_360_000},
			{"title": "t", "content": "c", "level": nil, "expiresIn": nil},
		} {
			admin.Post("/api/admin/announcements", body).OK(201)
			admin.Put("/api/admin/announcements/"+id, body).OK(200)
		}
		for _, body := range []M{
			{"title": long(201)}, {"content": long(5001)}, {"title": ""}, {"content": ""}, {"title": "  "},
			{"title": "a\nb"}, {"content": "a\u202eb"}, {"level": "notice"}, {"level": ""},
			{"expiresIn": 59}, {"expiresIn": 0}, {"expiresIn": -60}, {"expiresIn": 315_360_001},
		} {
			whole := M{"title": "t", "content": "c"}.With(body)
			for name := range body { // the form shows the refusal beside the field
				for _, reply := range []*apptest.Reply{admin.Put("/api/admin/announcements/"+id, body),
					admin.Post("/api/admin/announcements", whole)} {
					refused := reply.Fails(400, "VALIDATION_ERROR").Object()["error"].(map[string]any)
					wantJSON(t, "the refused field", refused["field"], name)
				}
			}
		}
		for _, body := range []M{{"expiresIn": 60.5}, {"expiresIn": "60"}, {"title": 1}, {"content": []string{}}} {
			admin.Put("/api/admin/announcements/"+id, body).Fails(400, "VALIDATION_ERROR")
			admin.Post("/api/admin/announcements", M{"title": "t", "content": "c"}.With(body)).
				Fails(400, "VALIDATION_ERROR")
		}
		for _, body := range []M{{"title": "t"}, {"content": "c"}, {"title": nil, "content": "c"},
			{"title": "t", "content": nil}} {
			admin.Post("/api/admin/announcements", body).Fails(400, "VALIDATION_ERROR")
		}
	})
}
