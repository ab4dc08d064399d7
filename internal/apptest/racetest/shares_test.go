package racetest

import (
	"testing"

	"larder/internal/apptest"
)

const shared = "what is shared"

// sharer is a user with a file that says what is shared.
type sharer struct {
	*apptest.Client
	w    *world
	file string
}

func (w *world) sharer(t *testing.T, name string) sharer {
	t.Helper()
	c := w.User(t, name)
	return sharer{c, w, c.Upload("/home/"+name, "shared.txt", []byte(shared))}
}

func (s sharer) share(fields M) string {
	fields["fileId"] = s.file
	return s.Post("/api/shares/", fields).OK(201).Text("share.id")
}

// tokens requests n download addresses of a share's file.
func tokens(visitor *apptest.Client, share string, n int) []string {
	urls := make([]string, n)
	for i := range urls {
		urls[i] = visitor.Get("/api/shares/" + share + "/download").OK(200).Text("url")
	}
	return urls
}

// gaveStatus reports whether an answer is the shared file; otherwise it must be that refusal.
func gaveStatus(r *apptest.Reply, status int, code string) bool {
	if r.Status == 200 && string(r.Body) == shared {
		return true
	}
	r.Fails(status, code)
	return false
}

// oneShareToken: of 50 requests with one token of a share one receives the file, and one download
// is counted (abuse case C84).
func oneShareToken(t *testing.T, w *world) {
	hal, visitor := w.sharer(t, "hal"), w.Client(t)
	id := hal.share(M{})
	for round := range peopleRounds {
		url := tokens(visitor, id, 1)[0]
		given := 0
		for _, r := range runAtOnce(t, repeat(50, func() *apptest.Reply { return visitor.Fork().Get(url) })...) {
			if gaveStatus(r, 401, "INVALID_TOKEN") {
				given++
			}
		}
		if n := w.count(t, "SELECT download_count FROM shares WHERE id = $1", id); given != 1 || n != round+1 {
			t.Errorf("round %d: given out %d times, %d downloads are counted", round, given, n)
		}
	}
}

// oneDownload: a share with one allowed download gives the file to one of 8 tokens used in parallel
// (abuse case C85).
func oneDownload(t *testing.T, w *world) {
	ida, visitor := w.sharer(t, "ida"), w.Client(t)
	for round := range peopleRounds {
		id := ida.share(M{"maxDownloads": 1})
		var asks []call
		for _, url := range tokens(visitor, id, 8) {
			asks = append(asks, func() *apptest.Reply { return visitor.Fork().Get(url) })
		}
		given := 0
		for _, r := range runAtOnce(t, asks...) {
			if gaveStatus(r, 410, "SHARE_LIMIT_REACHED") {
				given++
			}
		}
		if n := w.count(t, "SELECT download_count FROM shares WHERE id = $1", id); given != 1 || n != 1 {
			t.Errorf("round %d: given out %d times, %d downloads are counted", round, given, n)
		}
	}
}

// threeViews: a share with three allowed views is shown to three of 12 visitors (abuse case C85).
func threeViews(t *testing.T, w *world) {
	jon, visitor := w.sharer(t, "jon"), w.Client(t)
	for round := range peopleRounds {
		id := jon.share(M{"maxViews": 3})
		told := map[int64]int{}
		for _, r := range runAtOnce(t, repeat(12,
			func() *apptest.Reply { return visitor.Fork().Get("/api/shares/" + id) })...) {
			if r.Status != 200 {
				r.Fails(410, "SHARE_LIMIT_REACHED")
				continue
			}
			told[r.Int("share.viewCount")]++
		}
		if len(told) != 3 || told[1] != 1 || told[2] != 1 || told[3] != 1 {
			t.Errorf("round %d: shown by count: %v", round, told)
		}
		if n := w.count(t, "SELECT view_count FROM shares WHERE id = $1", id); n != 3 {
			t.Errorf("round %d: %d views are counted", round, n)
		}
	}
}

// revokedShare: after the answer to a revocation no body begins and nothing is counted. Downloads
// counted before were served (abuse case C86).
func revokedShare(t *testing.T, w *world) {
	kai, visitor := w.sharer(t, "kai"), w.Client(t)
	for round := range peopleRounds {
		id := kai.share(M{})
		urls := tokens(visitor, id, 6)
		fetch := func(i int) call { return func() *apptest.Reply { return visitor.Fork().Get(urls[i]) } }
		see := func() *apptest.Reply { return visitor.Fork().Get("/api/shares/" + id) }
		const counters = "SELECT view_count + 1000 * download_count FROM shares WHERE id = $1"
		var then int
		var failed error
		revoke := func() *apptest.Reply {
			r := kai.Fork().Delete("/api/shares/" + id)
			failed = w.Apps[0].DB.Read(t.Context()).QueryRow(counters, id).Scan(&then)
			return r
		}
		given := 0
		for i, r := range runAtOnce(t, fetch(0), see, fetch(1), see, revoke, see, fetch(2), see, fetch(3)) {
			switch {
			case i == 4:
				r.OK(200)
			case i%2 == 0 && gaveStatus(r, 401, "INVALID_TOKEN"):
				given += 1000
			case i%2 == 1 && r.Status == 200:
				given++
			case i%2 == 1:
				r.Fails(410, "SHARE_REVOKED")
			}
		}
		for i, r := range runAtOnce(t, fetch(4), see, fetch(5), see) {
			if i%2 == 1 {
				r.Fails(410, "SHARE_REVOKED")
			} else if gaveStatus(r, 401, "INVALID_TOKEN") {
				t.Errorf("round %d: given out after the revocation", round)
			}
		}
		if n := w.count(t, counters, id); failed != nil || n != then || n != given {
			t.Errorf(
				"round %d: counted %d, %d when the revocation was answered (%v), given out %d (views, and downloads "+
					"by the thousand)", round, n, then, failed, given)
		}
	}
}

// changedShare: parallel changes of different fields are all kept. In every second round the share
// is revoked in parallel and stays revoked.
func changedShare(t *testing.T, w *world) {
	lia := w.sharer(t, "lia")
	for round := range peopleRounds {
		id := lia.share(M{})
		patch := func(fields M) call {
			return func() *apptest.Reply { return lia.Fork().Patch("/api/shares/"+id, fields) }
		}
		asks := []call{
			patch(M{"title": "a title"}), patch(M{"maxViews": 5}), patch(M{"maxDownloads": 6}),
			patch(M{"allowPreview": false}), patch(M{"expiresIn": 60}),
		}
		revoked := round%2 == 1
		if revoked {
			asks = append(asks, func() *apptest.Reply { return lia.Fork().Delete("/api/shares/" + id) })
		}
		for i, r := range runAtOnce(t, asks...) {
			if revoked && i < 5 && r.Status != 200 {
				r.Fails(409, "OPERATION_FAILED")
				continue
			}
			r.OK(200)
		}
		where := "title = 'a title' AND max_views = 5 AND max_downloads = 6 AND NOT allow_preview AND expires_at IS " +
			"NOT NULL AND revoked_at IS NULL"
		if revoked {
			where = "revoked_at IS NOT NULL"
			patch(M{"title": "another"})().Fails(409, "OPERATION_FAILED")
		}
		if w.count(t, "SELECT COUNT(*) FROM shares WHERE id = $1 AND "+where, id) != 1 {
			t.Errorf("round %d, revoked: %v: a change is lost", round, revoked)
		}
	}
}
