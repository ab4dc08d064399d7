package api_test

import (
	"fmt"
	"testing"
	"time"

	"larder/internal/apptest"
)

// Addition: versions of files (docs/decisions.md, Versions). "I overwrite a picture and get
// yesterday's back, with the same link."
func TestVersions(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice, bob, guest := l.User(t, "alice"), l.User(t, "bob"), l.Client(t)
		replace := func(content string) {
			alice.Upload("/home/alice", "cat.png", []byte(content), M{"conflict": "replace"})
		}
		created := l.Clock.Now().UnixMilli()
		id := alice.Upload("/home/alice", "cat.png", []byte("yesterday"))
		link := alice.Post("/api/files/"+id+"/link", nil).OK(200).Text("link.url")
		versions := "/api/files/" + id + "/versions"
		wantJSON(t, "no version", alice.Get(versions).OK(200).Object()["data"], M{"versions": []any{}})
		l.Clock.Advance(time.Minute)
		replace("today")
		until := l.Clock.Now().UnixMilli()
		wantJSON(t, "the versions", alice.Get(versions).OK(200).Object()["data"], M{"versions": []any{M{
			"until": until, "since": created, "size": 9, "mimeType": "image/png",
			"sha256": "9523d9fbe79bcf3ee5f9f664a8041fa3cdba4b6b8bb902cb5ec335a5bf1ca769",
			"by":     M{"id": callerID(alice), "username": "alice"}, "expiresAt": until + 30*24*3600*1000}}})
		quota := alice.Get("/api/trash").OK(200)
		wantJSON(t, "kept", quota.Value("keptStorage"), 9)
		one := fmt.Sprint(versions, "/", until)

		once := alice.Get(one + "/download").OK(200).Text("url")
		saved := guest.Get(once).OK(200)
		wantBody(t, saved, "yesterday")
		wantJSON(t, "disposition", saved.Header.Get("Content-Disposition"), `attachment; filename="cat.png"`)
		guest.Get(once).Fails(401, "INVALID_TOKEN")
		shown := alice.Get(one + "/download?preview=true").OK(200).Text("url")
		for range 2 {
			r := guest.Get(shown).OK(200)
			wantBody(t, r, "yesterday")
			wantJSON(t, "disposition", r.Header.Get("Content-Disposition"), `inline; filename="cat.png"`)
		}
		for _, wrong := range []string{"1", "x", "-1", "99999999999999999999"} {
			alice.Get(versions+"/"+wrong+"/download").Fails(404, "NOT_FOUND")
			alice.Post(versions+"/"+wrong+"/restore", nil).Fails(404, "NOT_FOUND")
			alice.Delete(versions+"/"+wrong).Fails(404, "NOT_FOUND")
		}
		alice.Get(one+"/download?preview=maybe").Fails(400, "VALIDATION_ERROR")
		bob.Get(versions).Fails(403, "FORBIDDEN")

		l.Clock.Advance(time.Minute)
		back := alice.Post(one+"/restore", nil).OK(200)
		wantJSON(t, "restored", []any{back.Value("file.id"), back.Value("file.size")}, []any{id, 9})
		wantBody(t, guest.Get(link).OK(200), "yesterday")
		left := alice.Get(versions).OK(200)
		wantJSON(t, "the size of the version that was current", left.Value("versions.0.size"), 5)
		wantJSON(t, "the list without the restored one", len(left.Value("versions").([]any)), 1)
		alice.Delete(one).OK(200)
		alice.Delete(one).Fails(404, "NOT_FOUND")
		guest.Get(shown).Fails(404, "NOT_FOUND")
		wantJSON(t, "left", len(alice.Get(versions).OK(200).Value("versions").([]any)), 1)

		// the rights of now count
		until = l.Clock.Now().UnixMilli()
		shown = alice.Get(fmt.Sprint(versions, "/", until, "/download?preview=true")).OK(200).Text("url")
		alice.Put("/api/files/"+id, M{"accessPassword": "open sesame"}).OK(200)
		l.Admin(t).Put("/api/admin/users/"+callerID(alice), M{"status": "disabled"}).OK(200)
		guest.Get(shown).Fails(401, "INVALID_TOKEN")
	}, withTrash)
}
