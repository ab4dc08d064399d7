package api_test

import (
	"fmt"
	"testing"
	"time"

	"larder/internal/apptest"
)

const favouritesPath = "/api/users/me/favourites"

// Starring a file marks it in every answer that shows it to a session of the account.
func TestFavourites(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice, bob := l.User(t, "alice"), l.User(t, "bob")
		lake := alice.Upload("/home/alice", "lake.jpg", []byte("lake"))
		l.Clock.Advance(time.Second)
		sea := alice.Upload("/home/alice", "sea.jpg", []byte("sea"))
		wantJSON(t, "none", alice.Get(favouritesPath).OK(200).Value("items"), []any{})
		for _, id := range []string{lake, sea, lake} {
			wantJSON(t, "starred", alice.Put(favouritesPath+"/"+id, nil).OK(200).Value("favourite"), true)
			l.Clock.Advance(time.Second)
		}
		reply := alice.Get(favouritesPath + "?limit=1").OK(200)
		wantJSON(t, "pagination", reply.Value("pagination"), M{"total": 2, "page": 1, "limit": 1, "pages": 2})
		wantJSON(t, "newest", reply.Value("items.0.name"), "sea.jpg")
		wantJSON(t, "its folder", reply.Value("items.0.path"), "/home/alice")
		wantJSON(t, "its star", reply.Value("items.0.favourite"), true)
		wantJSON(t, "second", alice.Get(favouritesPath+"?limit=1&page=2").OK(200).Value("items.0.name"), "lake.jpg")

		bob.Put(favouritesPath+"/"+lake, nil).Fails(404, "NOT_FOUND")
		bob.Put(favouritesPath+"/absent", nil).Fails(404, "NOT_FOUND")
		bob.Delete(favouritesPath+"/"+lake).Fails(404, "NOT_FOUND")
		wantJSON(t, "alice removes one", alice.Delete(favouritesPath+"/"+sea).OK(200).Value("favourite"), false)
		alice.Delete(favouritesPath + "/" + sea).OK(200)
		alice.Delete(favouritesPath+"/absent").Fails(404, "NOT_FOUND")

		stars := func(what string, items any) {
			t.Helper()
			got := ""
			for _, item := range items.([]any) {
				got += fmt.Sprintf("%v %v;", item.(map[string]any)["name"], item.(map[string]any)["favourite"])
			}
			if want := "lake.jpg true;sea.jpg <nil>;"; got != want {
				t.Errorf("%s: %s, want %s", what, got, want)
			}
		}
		stars("a listing", alice.Get("/api/files?path=/home/alice").OK(200).Value("items"))
		stars("a search", alice.Get("/api/files?path=/&search=jpg").OK(200).Value("items"))
		wantJSON(t, "details", alice.Get("/api/files/"+lake).OK(200).Value("file.favourite"), true)
		wantJSON(t, "recent files", alice.Get("/api/files/recent").OK(200).Value("items.1.favourite"), true)
		key := alice.Key(M{"permissions": []string{"read"}, "uploadPath": "/home/alice"})
		for _, item := range key.Get("/api/files?path=/home/alice").OK(200).Value("items").([]any) {
			if _, there := item.(map[string]any)["favourite"]; there {
				t.Errorf("an API key is told of favourites: %v", item)
			}
		}
	})
}

// Recent files are those of the account. A key that may read only in its upload
// root gets those in it.
func TestRecentFiles(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice, bob := l.User(t, "alice"), l.User(t, "bob")
		mkdir(alice, "/home/alice", "box")
		for _, p := range [][2]string{{"/home/alice", "a.txt"}, {"/home/alice/box", "b.txt"}, {"/home/alice", "c.txt"}} {
			alice.Upload(p[0], p[1], []byte("x"))
			l.Clock.Advance(time.Second)
		}
		bob.Upload("/home/bob", "d.txt", []byte("x"))
		names := func(c *apptest.Client, query string) (names []string) {
			t.Helper()
			for _, item := range c.Get("/api/files/recent" + query).OK(200).Value("items").([]any) {
				names = append(names, item.(map[string]any)["name"].(string))
			}
			return names
		}
		wantJSON(t, "alice", names(alice, ""), []string{"c.txt", "b.txt", "a.txt"})
		wantJSON(t, "one", names(alice, "?limit=1"), []string{"c.txt"})
		wantJSON(t, "bob", names(bob, ""), []string{"d.txt"})
		wantJSON(t, "a key", names(alice.Key(M{"permissions": []string{"read"}, "uploadPath": "/home/alice/box",
			"rootOnly": true}), ""),
			[]string{"b.txt"})
		alice.Get("/api/files/recent?limit=101").Fails(400, "VALIDATION_ERROR")
		alice.Get("/api/files/recent?limit=0").Fails(400, "VALIDATION_ERROR")
	})
}

// The favourites of an account are deleted with it.
func TestFavouritesAreDeletedWithAccount(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, alice, bob := l.Admin(t), l.User(t, "alice"), l.User(t, "bob")
		alice.Put(favouritesPath+"/"+alice.Upload("/home/alice", "a.txt", []byte("a")), nil).OK(200)
		bob.Put(favouritesPath+"/"+bob.Upload("/home/bob", "b.txt", []byte("b")), nil).OK(200)
		admin.Delete("/api/admin/users/" + callerID(alice)).OK(200)
		if n := queryInt(t, l, "SELECT COUNT(*) FROM favourites"); n != 1 {
			t.Errorf("%d favourites are stored, want that of bob", n)
		}
	})
}
