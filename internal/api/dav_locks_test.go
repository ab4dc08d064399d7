package api_test

import (
	"encoding/xml"
	"fmt"
	"strings"
	"testing"
	"time"

	"larder/internal/apptest"
)

// davLock locks the entry at path and returns the token without its brackets.
func davLock(t *testing.T, c *apptest.Client, path string, header ...string) string {
	t.Helper()
	r := dav(c, "LOCK", path, lockBody, header...)
	token, opened := strings.CutPrefix(r.Header.Get("Lock-Token"), "<")
	token, closed := strings.CutSuffix(token, ">")
	if r.Status != 200 && r.Status != 201 || !opened || !closed {
		t.Fatalf("LOCK %s: %d %q %s", path, r.Status, r.Header.Get("Lock-Token"), r.Body)
	}
	return token
}

// wantDAVLocked fails the test unless the answer is 423 and names the root of the lock.
func wantDAVLocked(t *testing.T, what string, r *apptest.Reply, root, token string) {
	t.Helper()
	wantDAVStatus(t, what, r, 423)
	var e davElement
	if err := xml.Unmarshal(r.Body, &e); err != nil {
		t.Errorf("%s: %v", what, err)
	}
	href := e.at("lock-token-submitted", "href").Text + e.at("no-conflicting-lock", "href").Text
	if strings.TrimSuffix(href, "/") != "/webdav"+root || strings.Contains(string(r.Body), token) {
		t.Errorf("%s: %s", what, r.Body)
	}
}

// A lock refuses changes of the entries that it covers to every request without its token,
// including requests of the same key, by every method and by JSON (RFC 4918, section 7).
func TestDAVLocks(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice, key := davHome(t, l, "alice")
		other := davKey(alice, M{"name": "other", "uploadPath": "/home/alice"})
		const home, file = "/home/alice", "/home/alice/dir/f.txt"
		dav(key, "MKCOL", home+"/dir", nil).OK(201)
		dav(key, "PUT", file, "old").OK(201)
		dav(key, "PUT", home+"/loose.txt", "loose").OK(201)
		id := entryIDOf(alice, home+"/dir", "f.txt")
		token := davLock(t, key, file, "Timeout", "Infinite, Second-4100000000")
		for name, c := range map[string]*apptest.Client{"the key": key, "another key": other} {
			for what, r := range map[string]*apptest.Reply{
				"PUT":           dav(c, "PUT", file, "new"),
				"DELETE":        dav(c, "DELETE", file, nil),
				"PROPPATCH":     dav(c, "PROPPATCH", file, patchBody),
				"MOVE":          dav(c, "MOVE", file, nil, "Destination", "/webdav"+home+"/x"),
				"MOVE over":     dav(c, "MOVE", home+"/loose.txt", nil, "Destination", "/webdav"+file),
				"COPY over":     dav(c, "COPY", home+"/loose.txt", nil, "Destination", "/webdav"+file),
				"LOCK":          dav(c, "LOCK", file, lockBody),
				"DELETE above":  dav(c, "DELETE", home+"/dir", nil),
				"MOVE of above": dav(c, "MOVE", home+"/dir", nil, "Destination", "/webdav"+home+"/x"),
			} {
				if r.Status == 207 { // the locked entry is below
					all := parseMultistatus(t, what, r)
					if all[0].path(t) != file || all[0].Status != statusLine("423") {
						t.Errorf("%s by %s: %s", what, name, r.Body)
					}
					continue
				}
				wantDAVLocked(t, what+" by "+name, r, file, token)
			}
			wantStatus(t, "GET", dav(c, "GET", file, nil), 200, "")
			wantStatus(t, "COPY of it", dav(c, "COPY", file, nil, "Destination", "/webdav"+home+"/copy"), 201, "")
			wantStatus(t, "DELETE of the copy", dav(c, "DELETE", home+"/copy", nil), 204, "")
		}
		for what, r := range map[string]*apptest.Reply{ // docs/decisions.md, WebDAV
			"rename":       alice.Put("/api/files/"+id, M{"name": "x"}),
			"move":         alice.Post("/api/files/"+id+"/move", M{"targetPath": home}),
			"delete":       alice.Delete("/api/files/" + id),
			"delete above": alice.Delete("/api/files/" + entryIDOf(alice, home, "dir")),
			"replace":      postUploadSession(alice, home+"/dir", "f.txt", 0, M{"conflict": "replace"}),
		} {
			if what == "replace" && r.Status == 200 {
				session := r.Text("sessionId")
				r = completeUpload(alice, session, putRaw(alice, session, nil).OK(200).Text("etag"))
			}
			wantStatus(t, what+" by JSON", r, 409, "OPERATION_FAILED")
		}
		wantBody(t, dav(key, "GET", file, nil).OK(200), "old")

		// the token (C110) is returned to its own key only
		for name, c := range map[string]*apptest.Client{"the key": key, "another key": other} {
			r := dav(c, "PROPFIND", file, nil, "Depth", "0")
			found, _ := parseMultistatus(t, name, r)[0].has("DAV:", "lockdiscovery")
			active := found.at("activelock")
			wantJSON(t, "timeout", active.at("timeout").Text, "Second-3600")
			wantJSON(t, "lockroot", active.at("lockroot", "href").Text, "/webdav"+file)
			if (active.at("locktoken", "href").Text == token) != (c == key) ||
				strings.Contains(string(r.Body), token) != (c == key) {
				t.Errorf("%s: %s", name, r.Body)
			}
		}
		wantDAVStatus(t, "PUT with another key's token", dav(other, "PUT", file, "new", "If", "(<"+token+">)"), 412)
		wantDAVStatus(t, "submitted by trickery",
			dav(other, "PUT", file, "new", "If", "(Not <DAV:no-lock>) (<"+token+">)"), 423)
		wantDAVStatus(t, "UNLOCK by another key", dav(other, "UNLOCK", file, nil, "Lock-Token", "<"+token+">"), 403)
		wantDAVStatus(t, "refreshed by another key", dav(other, "LOCK", file, nil, "If", "(<"+token+">)"), 412)
		wantDAVStatus(t, "UNLOCK of no lock",
			dav(key, "UNLOCK", file, nil, "Lock-Token", "<urn:uuid:00000000-0000-4000-8000-000000000000>"), 409)
		wantDAVStatus(t, "UNLOCK elsewhere", dav(key, "UNLOCK", home+"/loose.txt", nil, "Lock-Token", "<"+token+">"),
			409)
		for _, bad := range []string{"", token, "<>", "<" + token} {
			wantDAVStatus(t, "UNLOCK with "+bad, dav(key, "UNLOCK", file, nil, "Lock-Token", bad), 400)
		}
		wantStatus(t, "PUT with the token", dav(key, "PUT", file, "new", "If", "(<"+token+">)"), 204, "")
		wantStatus(t, "UNLOCK", dav(key, "UNLOCK", file, nil, "Lock-Token", "<"+token+">"), 204, "")
		wantStatus(t, "PUT by another", dav(other, "PUT", file, "newer"), 204, "")

		// its timeout: at most an hour, renewed by a refresh, then it ends
		for wish, want := range map[string]string{"Second-10": "Second-10", "Second-4100000000": "Second-3600",
			"Infinite": "Second-3600", "": "Second-3600"} {
			r := dav(key, "LOCK", file, lockBody, "Timeout", wish)
			var e davElement
			if err := xml.Unmarshal(r.Body, &e); err != nil || e.at("lockdiscovery", "activelock", "timeout").
				Text != want {
				t.Errorf("Timeout %s: %v %s", wish, err, r.Body)
			}
			davUnlock(t, key, file, r)
		}
		token = davLock(t, key, file, "Timeout", "Second-60")
		l.Clock.Advance(59 * time.Second)
		wantDAVLocked(t, "just before", dav(other, "PUT", file, "x"), file, token)
		r := dav(key, "LOCK", file, nil, "If", "(<"+token+">)", "Timeout", "Second-60")
		wantStatus(t, "refresh", r, 200, "")
		wantHeader(t, r, "Lock-Token", "")
		l.Clock.Advance(59 * time.Second)
		wantDAVLocked(t, "after a refresh", dav(other, "PUT", file, "x"), file, token)
		l.Clock.Advance(time.Second)
		wantStatus(t, "after its end", dav(other, "PUT", file, "x"), 204, "")
		wantDAVStatus(t, "refreshed too late", dav(key, "LOCK", file, nil, "If", "(<"+token+">)"), 412)
		wantDAVStatus(t, "refreshed without a token", dav(key, "LOCK", file, nil), 400)
		wantDAVStatus(t, "Depth 1", dav(key, "LOCK", home+"/dir", lockBody, "Depth", "1"), 400)

		// LOCK of a free name creates the empty file
		r = dav(key, "LOCK", home+"/made.txt", lockBody)
		wantStatus(t, "LOCK of nothing", r, 201, "")
		wantBody(t, dav(other, "GET", home+"/made.txt", nil).OK(200), "")
		davUnlock(t, key, home+"/made.txt", r)
		wantBody(t, dav(other, "GET", home+"/made.txt", nil).OK(200), "")

		// a deep lock covers existing and new entries below; a lock on an entry below conflicts
		// with it
		inner := davLock(t, other, file)
		all := parseMultistatus(t, "LOCK above a lock", dav(key, "LOCK", home+"/dir", lockBody, "Depth", "infinity"))
		if len(all) != 2 || all[0].path(t) != file || all[0].Status != statusLine("423") ||
			all[1].path(t) != home+"/dir" || all[1].Status != statusLine("424") {
			t.Errorf("LOCK above a lock: %+v", all)
		}
		wantStatus(t, "UNLOCK", dav(other, "UNLOCK", file, nil, "Lock-Token", "<"+inner+">"), 204, "")
		deep := davLock(t, key, home+"/dir")
		wantDAVLocked(t, "below", dav(other, "PUT", file, "x"), home+"/dir", deep)
		wantDAVLocked(t, "a new member", dav(other, "PUT", home+"/dir/new", "x"), home+"/dir", deep)
		wantDAVLocked(t, "a new folder", dav(other, "MKCOL", home+"/dir/new", nil), home+"/dir", deep)
		wantStatus(t, "a new member, with the token",
			dav(key, "PUT", home+"/dir/new", "x", "If", "</webdav"+home+"/dir> (<"+deep+">)"), 201, "")
		wantDAVLocked(t, "LOCK of a free name below, with the token",
			dav(key, "LOCK", home+"/dir/none", lockBody, "If", "(<"+deep+">)"), home+"/dir", deep)
		wantDAVStatus(t, "no file is created", dav(key, "GET", home+"/dir/none", nil), 404)
		wantDAVStatus(t, "UNLOCK from below by another", dav(other, "UNLOCK", file, nil, "Lock-Token", "<"+deep+">"),
			403)
		wantStatus(t, "MOVE of all, with the token",
			dav(key, "MOVE", home+"/dir", nil, "Destination", "/webdav"+home+"/went", "If", "(<"+deep+">)"), 201, "")
		wantStatus(t, "the lock stayed behind", dav(other, "PUT", home+"/went/new", "y"), 204, "")
		checkOwnershipAndCharges(t, l, "in the end")
	})
}

// Abuse case C110: a key has at most 100 locks.
func TestDAVLocksOfAKey(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite")
	alice, key := davHome(t, l, "alice")
	for i := range 100 {
		davLock(t, key, fmt.Sprintf("/home/alice/%d", i))
	}
	dav(key, "PUT", "/home/alice/one%20more", "x").OK(201)
	r := dav(key, "LOCK", "/home/alice/one%20more", lockBody)
	wantDAVStatus(t, "the 101st", r, 507)
	wantDAVStatus(t, "of nothing", dav(key, "LOCK", "/home/alice/nothing", lockBody), 507)
	wantDAVStatus(t, "no file is created", dav(key, "GET", "/home/alice/nothing", nil), 404)
	wantStatus(t, "another key", dav(davKey(alice, M{"uploadPath": "/home/alice"}), "LOCK", "/home/alice/one%20more",
		lockBody, "Timeout", "Second-1"), 200, "")
	l.Clock.Advance(time.Hour)
	davLock(t, key, "/home/alice/one%20more")
}

// The examples of the If header in RFC 4918, section 10.4, with their states.
func TestDAVIf(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice, key := davHome(t, l, "alice")
		other := davKey(alice, M{"name": "other", "uploadPath": "/home/alice"})
		const locked, free = "/home/alice/locked", "/home/alice/free"
		dav(key, "PUT", locked, "x").OK(201)
		dav(key, "PUT", free, "x").OK(201)
		dav(key, "MKCOL", "/home/alice/dir", nil).OK(201)
		token, foreign := davLock(t, key, locked), davLock(t, other, "/home/alice/dir")
		const none = "urn:uuid:00000000-0000-4000-8000-000000000000"
		etag := func(path string) string { return dav(key, "HEAD", path, nil).Header.Get("ETag") }
		for _, row := range []struct {
			path, header string
			want         int
		}{
			{locked, "(<TOKEN> [ETAG]) ([\"I am another ETag\"])", 204}, // 10.4.6
			{locked, "(<TOKEN> [\"x\"]) ([\"I am another ETag\"])", 412},
			{locked, "(<TOKEN> [\"x\"]) ([ETAG])", 204},
			{free, "(Not <NONE> [ETAG])", 204}, // 10.4.7
			{free, "(Not <TOKEN>)", 204},
			{locked, "(Not <TOKEN>)", 412},
			{locked, "(Not <TOKEN> <NONE>)", 412},
			{locked, "(<TOKEN>) (Not <DAV:no-lock>)", 204}, // 10.4.8
			{locked, "(<NONE>) (Not <DAV:no-lock>)", 423},
			{locked, "(<NONE>)", 412},
			{locked, "(<DAV:no-lock>)", 412},
			{locked, "</webdav/home/alice/locked> (<TOKEN>)", 204}, // 10.4.9, by path and by URI
			{locked,
				"<http://larder.test/webdav/home/alice/locked> (<TOKEN> [ETAG]) " +
					"<http://larder.test/webdav/home/alice/free> ([\"random\"])", 204},
			{locked, "<http://larder.test/webdav/home/alice/free> (<TOKEN>)", 412},
			{free, "</webdav/home/alice/locked> (<TOKEN>)", 204},
			{locked, "<http://other.test/webdav/home/alice/locked> (<TOKEN>)", 412},
			{free, "<http://other.test/x> (Not <TOKEN>)", 204},
			{free, "</webdav/home/alice/none> (Not [ETAG])", 204}, // 10.4.10 and 10.4.11: a free name has no state
			{free, "</webdav/home/alice/none> ([ETAG])", 412},
			{free, "</webdav/home/alice/dir> (<FOREIGN>)", 412}, // the token of another key does not count
			{free, "</webdav/home/alice/dir> (Not <FOREIGN>)", 204},
			{free, "([ETAG])", 204},
			{free, "([W/ETAG])", 412},
			{free, "(Not [ETAG])", 412},
			{free, "()", 400},
			{free, "", 204},
			{free, "(<TOKEN>", 400},
			{free, "(<TOKEN>) </webdav/x> (<TOKEN>)", 400},
			{free, "garbage", 400},
			{free, "</webdav/x>", 400},
		} {
			header := strings.NewReplacer("TOKEN", token, "NONE", none, "FOREIGN", foreign, "ETAG", etag(row.path)).
				Replace(row.header)
			wantStatus(t, "PUT "+row.path+", If: "+row.header, dav(key, "PUT", row.path, "y", "If", header), row.want,
				"")
		}
		// without a tag on an operation on two resources (10.4.9): the locks of source and target
		// are both needed
		wantDAVLocked(t, "MOVE onto", dav(key, "MOVE", free, nil, "Destination", "/webdav"+locked), locked, token)
		wantStatus(t, "with the token", dav(key, "MOVE", free, nil, "Destination", "/webdav"+locked, "If",
			"</webdav"+locked+"> (<"+token+">)"), 204, "")
	})
}
