package api_test

import (
	"testing"

	"larder/internal/apptest"
)

// A folder that the creator of a share may write in but not read shows to no visitor: it is in no
// listing, no count and no zip. One that is the way to something that the creator may read shows
// for that.
func TestSharedFolderLeavesOutWhatItsCreatorMayNotRead(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, alice, visitor := l.Admin(t), l.User(t, "alice"), l.Client(t)
		const trip = "/home/alice/trip"
		shared := mkdir(alice, "/home/alice", "trip")
		for _, name := range []string{"drop", "nothing", "open", "way"} {
			mkdir(alice, trip, name)
			alice.Upload(trip+"/"+name, "in.txt", []byte(name))
		}
		mkdir(alice, trip+"/open", "drop too")
		alice.Upload(trip, "note.txt", []byte("note"))
		id := alice.Get("/api/auth/me").OK(200).Text("user.id")
		deny := func(pattern string, permissions ...string) {
			addRule(admin, m{"pathPattern": trip + pattern, "effect": "deny", "userId": id, "permissions": permissions})
		}
		share := handOut(alice, shared)
		same(t, "at first", shownIn(t, visitor, share, "/"), "drop/", "nothing/", "open/", "way/", "note.txt")
		deny("/drop/**", "read")
		deny("/open/drop too/**", "read", "download")
		deny("/nothing/**", "read", "write")
		deny("/way", "read")
		same(t, "alice", names(alice, trip), "drop", "open", "way", "note.txt") // who may still put something there

		same(t, "a visitor", shownIn(t, visitor, share, "/"), "open/", "way/", "note.txt")
		equal(t, "the count", inShare(visitor, share, "/").OK(200).Int("pagination.total"), int64(3))
		same(t, "folders", shownIn(t, visitor, share, "/", "&limit=1&page=2"), "way/")
		same(t, "further down", shownIn(t, visitor, share, "/open"), "in.txt")
		same(t, "the way", shownIn(t, visitor, share, "/way"), "in.txt")
		for _, path := range []string{"/drop", "/nothing", "/open/drop too"} {
			inShare(visitor, share, path).Fails(404, "NOT_FOUND")
		}
		zip := unzipped(t, visitor.Get(voucher(visitor, share)).OK(200))
		same(t, "the zip", zip, "note.txt=note", "open/", "open/in.txt=open", "way/", "way/in.txt=way")
	})
}
