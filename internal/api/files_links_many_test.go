package api_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"larder/internal/apptest"
	"larder/internal/site"
)

// Addition: POST /api/files/links.
func TestManyPermanentLinks(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, alice, bob, visitor := l.Admin(t), l.User(t, "alice"), l.User(t, "bob"), l.Client(t)
		one := alice.Upload("/home/alice", "one.png", []byte(onePixel))
		two := alice.Upload("/home/alice", "two.txt", []byte("two"))
		folder := mkdir(alice, "/home/alice", "folder")
		foreign := bob.Upload("/home/bob", "what is bob's alone.txt", []byte("bob's"))
		public := admin.Upload("/public", "p.txt", []byte("x")) // download without share
		dir := mkdir(admin, "/public", "a folder with a lock")
		locked := admin.Upload("/public/a folder with a lock", "behind a password.txt", []byte("locked"))
		setAccessPassword(admin, dir, "open sesame")
		before := alice.Post("/api/files/"+two+"/link", nil).OK(200)
		many := func(c *apptest.Client, ids ...string) *apptest.Reply {
			return c.Post("/api/files/links", M{"ids": ids})
		}

		r := many(alice, two, foreign, one, two, unknownID, folder, public, locked, "", one).OK(200)
		want := []struct{ id, code string }{{two, ""}, {foreign, "FORBIDDEN"}, {one, ""}, {unknownID, "NOT_FOUND"},
			{folder, "VALIDATION_ERROR"}, {public, "FORBIDDEN"}, {locked, "FORBIDDEN"}, {"", "NOT_FOUND"}}
		if items := r.Value("items").([]any); len(items) != len(want) {
			t.Fatalf("%d items: %s", len(items), r.Body)
		}
		for i, w := range want {
			item := fmt.Sprint("items.", i)
			wantFields(t, item, r.Value(item), "id", "link", "error")
			wantJSON(t, item, r.Text(item+".id"), w.id)
			if w.code == "" {
				wantJSON(t, item, r.Value(item+".error"), nil)
				wantFields(t, item, r.Value(item+".link"), "url", "createdAt", "works")
				wantJSON(t, item, r.Value(item+".link.works"), true)
				continue
			}
			wantJSON(t, item, r.Value(item+".link"), nil)
			wantFields(t, item, r.Value(item+".error"), "code", "message")
			wantJSON(t, item, r.Value(item+".error.code"), w.code)
			if r.Text(item+".error.message") == "" {
				t.Errorf("%s has no message", item)
			}
		}
		for _, secret := range []string{"bob's", "behind", "/home/bob", "with a lock"} {
			if strings.Contains(string(r.Body), secret) {
				t.Errorf("the answer reveals %q: %s", secret, r.Body)
			}
		}
		// the same links as those of the operation on a single file, again and again
		wantJSON(t, "the link there was", r.Text("items.0.link.url"), before.Text("link.url"))
		wantJSON(t, "its time", r.Int("items.0.link.createdAt"), before.Int("link.createdAt"))
		wantJSON(t, "the new link", alice.Post("/api/files/"+one+"/link", nil).OK(200).Text("link.url"),
			r.Text("items.2.link.url"))
		wantJSON(t, "again", many(alice, one).OK(200).Text("items.0.link.url"), r.Text("items.2.link.url"))
		wantBody(t, visitor.Get(r.Text("items.0.link.url")).OK(200), "two")
		wantBody(t, visitor.Get(r.Text("items.2.link.url")).OK(200), onePixel)
		if n := queryInt(t, l, "SELECT COUNT(*) FROM links"); n != 2 {
			t.Errorf("%d links, want 2", n)
		}

		// a link that visitors can't open says so
		l.ChangeSettings(t, func(s *site.Settings) { s.AllowGuestAccess = false })
		closed := many(alice, one).OK(200)
		wantJSON(t, "the same link", closed.Text("items.0.link.url"), r.Text("items.2.link.url"))
		wantJSON(t, "works without guests", closed.Value("items.0.link.works"), false)
		wantJSON(t, "works without guests, alone",
			alice.Post("/api/files/"+one+"/link", nil).OK(200).Value("link.works"), false)
		l.ChangeSettings(t, func(s *site.Settings) { s.AllowGuestAccess = true })

		ids := func(n int) (list []string) {
			for i := range n {
				list = append(list, fmt.Sprint("id", i))
			}
			return list
		}
		if n := len(many(alice, append(ids(99), one)...).OK(200).Value("items").([]any)); n != 100 {
			t.Errorf("%d items of 100", n)
		}
		many(alice, append(ids(99), one, two)...).Fails(400, "VALIDATION_ERROR")
		many(alice, slices.Repeat([]string{one}, 101)...).Fails(400, "VALIDATION_ERROR")
		for _, body := range []M{{}, {"ids": []string{}}, {"ids": nil}, {"ids": one}, {"ids": []int{1}},
			{"ids": []string{"\x00"}}} {
			alice.Post("/api/files/links", body).Fails(400, "VALIDATION_ERROR")
		}
		many(visitor, one).Fails(401, "UNAUTHORIZED")
		many(alice.Key(M{}), one).Fails(401, "UNAUTHORIZED")
		forged := alice.Fork()
		forged.CSRF = ""
		many(forged, one).Fails(403, "INVALID_CSRF")
	})
}

// Requests for the same files at the same time return the same links.
func TestManyPermanentLinksAtOnce(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice := l.User(t, "alice")
		var ids []string
		for i := range 5 {
			ids = append(ids, alice.Upload("/home/alice", fmt.Sprint(i, ".png"), []byte(onePixel)))
		}
		answers := make([]string, 8)
		var all sync.WaitGroup
		for i := range answers {
			c := alice.Fork()
			order := slices.Clone(ids)
			if i%2 == 1 {
				slices.Reverse(order)
			}
			all.Go(func() {
				r := c.Post("/api/files/links", M{"ids": order})
				if r.Status != 200 {
					t.Errorf("status %d: %s", r.Status, r.Body)
					return
				}
				var links []string
				for at, id := range order {
					links = append(links, id+" "+r.Text(fmt.Sprint("items.", at, ".link.url")))
				}
				slices.Sort(links)
				answers[i] = strings.Join(links, "\n")
			})
		}
		all.Wait()
		for _, answer := range answers {
			if answer == "" || answer != answers[0] {
				t.Errorf("links differ:\n%s\nand\n%s", answer, answers[0])
			}
		}
		if n := queryInt(t, l, "SELECT COUNT(*) FROM links"); n != 5 {
			t.Errorf("%d links, want 5", n)
		}
	})
}
