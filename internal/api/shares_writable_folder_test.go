package api_test

import (
	"testing"

	"larder/internal/apptest"
)

// A folder in which a share's creator may write but not read is hidden from visitors: it is in no
// listing, no count and no zip. A folder on the way to a readable entry is shown.
func TestSharedFolderOmitsUnreadableFolders(t *testing.T) {
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
		id := callerID(alice)
		deny := func(pattern string, permissions ...string) {
			addRule(admin, M{"pathPattern": trip + pattern, "effect": "deny", "userId": id, "permissions": permissions})
		}
		share := shareEntry(alice, shared)
		wantStrings(t, "at first", shareNames(t, visitor, share, "/"), "drop/", "nothing/", "open/", "way/", "note.txt")
		deny("/drop/**", "read")
		deny("/open/drop too/**", "read", "download")
		deny("/nothing/**", "read", "write")
		deny("/way", "read")
		// who may still write there
		wantStrings(t, "alice", listNames(alice, trip), "drop", "open", "way", "note.txt")

		wantStrings(t, "a visitor", shareNames(t, visitor, share, "/"), "open/", "way/", "note.txt")
		wantJSON(t, "the count", listShare(visitor, share, "/").OK(200).Int("pagination.total"), int64(3))
		wantStrings(t, "folders", shareNames(t, visitor, share, "/", "&limit=1&page=2"), "way/")
		wantStrings(t, "further down", shareNames(t, visitor, share, "/open"), "in.txt")
		wantStrings(t, "the way", shareNames(t, visitor, share, "/way"), "in.txt")
		for _, path := range []string{"/drop", "/nothing", "/open/drop too"} {
			listShare(visitor, share, path).Fails(404, "NOT_FOUND")
		}
		zip := unzip(t, visitor.Get(shareDownload(visitor, share)).OK(200))
		wantStrings(t, "the zip", zip, "note.txt=note", "open/", "open/in.txt=open", "way/", "way/in.txt=way")
	})
}
