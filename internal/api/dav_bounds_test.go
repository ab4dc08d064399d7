package api_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"larder/internal/apptest"
)

// A request with two headers that must be unique is refused: the server and a proxy could use
// different ones.
func TestDAVDuplicateHeadersAreRefused(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite")
	_, key := davHome(t, l, "alice")
	dav(key, "PUT", "/home/alice/f", "old").OK(201)
	dav(key, "PUT", "/home/alice/there", "there").OK(201)
	for _, row := range []struct {
		method string
		body   any
		header []string
	}{
		{"PUT", "new", []string{"Content-Range", "", "Content-Range", "bytes 0-2/6"}},
		{"PUT", "new", []string{"If", "(Not <DAV:no-lock>)", "If", "(<DAV:no-lock>)"}},
		{"PROPFIND", nil, []string{"Depth", "0", "Depth", "infinity"}},
		{"COPY", nil, []string{"Destination", "/webdav/home/alice/one", "Destination", "/webdav/home/alice/two"}},
		{"MOVE", nil, []string{"Destination", "/webdav/home/alice/there", "Overwrite", "T", "Overwrite", "F"}},
		{"UNLOCK", nil, []string{"Lock-Token", "<urn:uuid:00000000-0000-4000-8000-000000000000>", "Lock-Token",
			"<urn:uuid:00000000-0000-4000-8000-000000000001>"}},
	} {
		wantDAVStatus(t, fmt.Sprint(row.method, row.header),
			dav(key, row.method, "/home/alice/f", row.body, row.header...), 400)
	}
	wantBody(t, dav(key, "GET", "/home/alice/f", nil).OK(200), "old")
	wantBody(t, dav(key, "GET", "/home/alice/there", nil).OK(200), "there")
	wantStrings(t, "what is there", davMembers(t, key, "/home/alice"), "f", "there")
}

// A refresh prolongs a lock and requires the same permission as the lock (docs/webdav.md). An actor
// who may not change a file any more cannot keep it locked.
func TestDAVRefreshRequiresUpdate(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, alice := l.Admin(t), l.User(t, "alice")
		id := userIDOf(t, admin, "alice")
		mkdir(admin, "/", "common")
		admin.Upload("/common", "f.txt", []byte("old"))
		key, others := davKey(alice, M{"uploadPath": "/"}), davKey(admin, M{"uploadPath": "/"})
		addRule(admin, M{"pathPattern": "/common/**", "effect": "allow", "userId": id,
			"permissions": []string{"read", "update"}})
		token := davLock(t, key, "/common/f.txt")
		l.Clock.Advance(59 * time.Minute)
		wantStatus(t, "while it is allowed", dav(key, "LOCK", "/common/f.txt", nil, "If", "(<"+token+">)"), 200, "")
		addRule(admin, M{"pathPattern": "/common/**", "effect": "deny", "userId": id,
			"permissions": []string{"update"}})
		wantDAVStatus(t, "afterwards", dav(key, "LOCK", "/common/f.txt", nil, "If", "(<"+token+">)"), 403)
		wantDAVLocked(t, "until it has ended", dav(others, "PUT", "/common/f.txt", "new"), "/common/f.txt", token)
		l.Clock.Advance(time.Hour)
		wantStatus(t, "then", dav(others, "PUT", "/common/f.txt", "new"), 204, "")
	})
}

// A property answer lists a limited number of the shared locks of others on a folder for each entry
// in it. It lists all locks of the caller's key, because no other client knows their tokens.
func TestDAVLockDiscoveryLimit(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite")
	alice, key := davHome(t, l, "alice")
	other := davKey(alice, M{"uploadPath": "/home/alice"})
	dav(key, "MKCOL", "/home/alice/dir", nil).OK(201)
	dav(key, "PUT", "/home/alice/dir/f", "x").OK(201)
	for range 12 {
		wantStatus(t, "LOCK", dav(key, "LOCK", "/home/alice/dir", strings.ReplaceAll(lockBody, "exclusive", "shared")),
			200, "")
	}
	wantStatus(t, "LOCK", dav(other, "LOCK", "/home/alice/dir", strings.ReplaceAll(lockBody, "exclusive", "shared")),
		200, "")
	for c, want := range map[*apptest.Client]int{key: 13, other: 11} {
		for _, d := range parseMultistatus(t, "PROPFIND",
			dav(c, "PROPFIND", "/home/alice/dir", propOf("lockdiscovery"), "Depth", "1")) {
			found, _ := d.has("DAV:", "lockdiscovery")
			wantJSON(t, "locks listed for "+d.path(t), len(found.All), want)
		}
	}
}

// PROPFIND returns dead properties for all members of a folder, however many it reads at a time.
func TestDAVPropertiesAcrossPages(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		_, key := davHome(t, l, "alice")
		const count = 70
		for i := range count {
			path := fmt.Sprintf("/home/alice/%d", i)
			dav(key, "PUT", path, "").OK(201)
			set := fmt.Sprintf(
				`<propertyupdate xmlns="DAV:"><set><prop><number xmlns="urn:x">%d</number></prop></set></propertyupdate>`, i)
			wantStatus(t, "PROPPATCH", dav(key, "PROPPATCH", path, set), 207, "")
		}
		all := parseMultistatus(t, "PROPFIND", dav(key, "PROPFIND", "/home/alice", nil, "Depth", "1"))
		wantJSON(t, "entries with listed locks", len(all), 1+count)
		for _, d := range all[1:] {
			found, _ := d.has("urn:x", "number")
			wantJSON(t, d.path(t), "/home/alice/"+found.Text, d.path(t))
		}
	})
}

// A folder that is copied without its contents (Depth 0) requires no rights to the contents (RFC
// 4918, section 9.8.3), and mounts may lie below it.
func TestDAVShallowCopyOfFolder(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, alice := l.Admin(t), l.User(t, "alice")
		id := userIDOf(t, admin, "alice")
		key := davKey(alice, M{"uploadPath": "/home/alice"})
		mkdir(admin, "/", "common")
		mkdir(admin, "/common", "closed")
		admin.Upload("/common/closed", "f.txt", []byte("theirs"))
		addRule(admin, M{"pathPattern": "/common/**", "effect": "allow", "userId": id,
			"permissions": []string{"read", "download"}})
		addRule(admin, M{"pathPattern": "/common/closed/**", "effect": "deny", "userId": id})
		wantDAVStatus(t, "all of it", dav(key, "COPY", "/common", nil, "Destination", "/webdav/home/alice/copy"), 403)
		wantStatus(t, "the folder alone", dav(key, "COPY", "/common", nil, "Destination", "/webdav/home/alice/copy", "Depth",
			"0"), 201, "")
		wantStrings(t, "contents of the copy", davMembers(t, key, "/home/alice/copy"))
		wantDAVStatus(t, "an entry that may not be read",
			dav(key, "COPY", "/common/closed", nil, "Destination", "/webdav/home/alice/closed", "Depth", "0"), 403)
	})
}

// Of a concurrent DELETE and MOVE of one file, one finds it, and a moved file stays. Of concurrent
// COPYs to one name without overwrite, one succeeds, and the others get the reason.
func TestDAVRaces(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		_, key := davHome(t, l, "alice")
		for i := range 40 {
			from, to := fmt.Sprintf("/home/alice/from-%d", i), fmt.Sprintf("/home/alice/to-%d", i)
			dav(key, "PUT", from, "x").OK(201)
			both := runConcurrently(t, key, 2, func(c *apptest.Client, n int) *apptest.Reply {
				if n == 0 {
					return dav(c, "MOVE", from, nil, "Destination", "/webdav"+to)
				}
				return dav(c, "DELETE", from, nil)
			})
			countStatuses(t, both)
			moved, deleted := both[0].Status == 201, both[1].Status == 204
			if moved == deleted || dav(key, "GET", to, nil).Status == 200 != moved {
				t.Errorf("MOVE %d, DELETE %d", both[0].Status, both[1].Status)
			}
		}
		dav(key, "PUT", "/home/alice/f", "x").OK(201)
		for i := range 10 {
			to := fmt.Sprintf("/webdav/home/alice/copy-%d", i)
			count := countStatuses(t, runConcurrently(t, key, 6, func(c *apptest.Client, _ int) *apptest.Reply {
				return dav(c, "COPY", "/home/alice/f", nil, "Destination", to, "Overwrite", "F")
			}))
			if count[201] != 1 || count[412] != 5 {
				t.Errorf("COPY to one name: %v", count)
			}
		}
	})
}

// A lock ends when its key expires, because no client could unlock it or write through it any more.
func TestDAVLockEndsWithAKeyThatExpires(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite")
	alice, key := davHome(t, l, "alice")
	brief := davKey(alice, M{"uploadPath": "/home/alice", "expiresIn": 600})
	dav(key, "PUT", "/home/alice/f", "old").OK(201)
	token := davLock(t, brief, "/home/alice/f", "Timeout", "Infinite")
	wantStatus(t, "refresh", dav(brief, "LOCK", "/home/alice/f", nil, "If", "(<"+token+">)", "Timeout", "Infinite"),
		200, "")
	l.Clock.Advance(599 * time.Second)
	wantDAVLocked(t, "before", dav(key, "PUT", "/home/alice/f", "new"), "/home/alice/f", token)
	l.Clock.Advance(time.Second)
	wantStatus(t, "then", dav(key, "PUT", "/home/alice/f", "new"), 204, "")
}
