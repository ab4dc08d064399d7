package api_test

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"time"

	"larder/internal/apptest"
	"larder/internal/thumb/thumbtest"
)

// examinedPictures uploads pictures that were taken at times in July and August 2025, and examines
// them.
func examinedPictures(t *testing.T, l *apptest.Larder, c *apptest.Client, dir string) {
	t.Helper()
	for name, taken := range map[string]string{"last.jpg": "2025:07:31 23:59:59", "next.jpg": "2025:08:01 00:00:00",
		"first.jpg": "2025:07:01 00:00:00"} {
		c.Upload(dir, name, thumbtest.Photograph(60, 40, 1, taken, ""))
	}
	if _, err := l.Apps[0].Pictures.Examine(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// namesIn returns the names of the items of a reply.
func namesIn(r *apptest.Reply) string {
	var names []string
	for _, item := range r.OK(200).Value("items").([]any) {
		names = append(names, item.(map[string]any)["name"].(string))
	}
	return strings.Join(names, " ")
}

// A timeline counts the account's pictures by month, and lists them in pages.
func TestTimeline(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice, bob := l.User(t, "alice"), l.User(t, "bob")
		examinedPictures(t, l, alice, "/home/alice")
		bob.Upload("/home/bob", "bobs.png", thumbtest.PNG(thumbtest.HalfTransparent(3, 2)))
		months, err := json.Marshal(alice.Get("/api/files/timeline").OK(200).Value("months"))
		if want := `[{"count":1,"month":"2025-08","ratios":[1.5]},{"count":2,"month":"2025-07","ratios":[1.5,1.5]}]`; err !=
			nil || string(months) != want {
			t.Errorf("the months are %s, want %s", months, want)
		}
		const at = "/api/files/timeline/entries"
		for query, want := range map[string]string{"": "next.jpg last.jpg first.jpg", "?month=2025-07": "last.jpg first.jpg",
			"?month=2025-06": "", "?kind=image&limit=1000": "next.jpg last.jpg first.jpg", "?kind=video": "",
			"?path=/home/alice": "next.jpg last.jpg first.jpg", "?limit=1": "next.jpg", "?offset=1": "last.jpg first.jpg",
			"?month=2025-07&offset=1": "first.jpg", "?path=/home/alice&offset=2": "first.jpg"} {
			if got := namesIn(alice.Get(at + query)); got != want {
				t.Errorf("%s: %s, want %s", query, got, want)
			}
		}
		first := alice.Get(at + "?limit=2").OK(200)
		rest := alice.Get(at + "?limit=2&cursor=" + url.QueryEscape(first.Value("cursor").(string))).OK(200)
		if got := namesIn(first) + ", " + namesIn(rest); got != "next.jpg last.jpg, first.jpg" {
			t.Errorf("two pages: %s", got)
		}
		wantJSON(t, "the cursor of the last page", rest.Value("cursor"), nil)
		wantJSON(t, "a picture", first.Value("items.0.takenAt"), time.Date(2025, 8, 1, 0, 0, 0, 0, time.UTC).UnixMilli())
		revision := func(query string) *apptest.Reply { return alice.Get("/api/files/timeline/revision" + query).OK(200) }
		before := revision("")
		wantJSON(t, "the total", before.Value("total"), 3)
		wantJSON(t, "the number of videos", revision("?kind=video").Value("total"), 0)
		wantJSON(t, "the state again", revision("?kind=image").Value("revision"), before.Value("revision"))
		alice.Upload("/home/alice", "new.png", thumbtest.PNG(thumbtest.HalfTransparent(3, 2)))
		after := revision("")
		wantJSON(t, "the total after an upload", after.Value("total"), 4)
		if after.Text("revision") == before.Text("revision") {
			t.Errorf("an upload leaves the state %s", after.Text("revision"))
		}
		alice.Get("/api/files/timeline/revision?kind=audio").Fails(400, "VALIDATION_ERROR")
		for _, query := range []string{"?kind=audio", "?path=home"} {
			alice.Get("/api/files/timeline"+query).Fails(400, "VALIDATION_ERROR")
			alice.Get(at+query).Fails(400, "VALIDATION_ERROR")
		}
		for _, query := range []string{"?month=2025-13", "?month=2025-7", "?month=2025-00", "?cursor=x", "?limit=0",
			"?limit=1001", "?cursor=1.a&month=x", "?offset=-1"} {
			alice.Get(at+query).Fails(400, "VALIDATION_ERROR")
		}
		bob.Get("/api/files/timeline?path=/home/alice").Fails(403, "FORBIDDEN")
		alice.Get("/api/files/timeline?path=/home/alice/none").Fails(404, "NOT_FOUND")
		alice.Get("/api/files/timeline?path=/home/alice/last.jpg").Fails(404, "NOT_FOUND")
		writer := alice.Key(M{"permissions": []string{"write"}})
		writer.Get("/api/files/timeline").Fails(403, "FORBIDDEN")
		writer.Get(at).Fails(403, "FORBIDDEN")
	})
}

// A search is filtered by kind, time, size and owner. Visitors and listings of an earlier time have
// no filters.
func TestSearchFilters(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice := l.User(t, "alice")
		examinedPictures(t, l, alice, "/home/alice")
		alice.Upload("/home/alice", "notes.txt", []byte("notes"))
		august := time.Date(2025, 8, 1, 0, 0, 0, 0, time.UTC)
		ms := func(at time.Time) string { text, _ := json.Marshal(at.UnixMilli()); return string(text) }
		for query, want := range map[string]string{
			"kind=document":           "notes.txt",
			"kind=image":              "first.jpg last.jpg next.jpg",
			"kind=image&search=la":    "last.jpg",
			"kind=image&type=file":    "first.jpg last.jpg next.jpg",
			"kind=audio":              "",
			"from=" + ms(august):      "next.jpg notes.txt",
			"to=" + ms(august):        "first.jpg last.jpg",
			"maxSize=5":               "notes.txt",
			"maxSize=4":               "",
			"minSize=5&kind=document": "notes.txt",
			"minSize=6&kind=document": "",
			"ownerId=" + callerID(alice) + "&kind=document": "notes.txt",
			"ownerId=unknown": "",
		} {
			if got := namesIn(alice.Get("/api/files?path=/home/alice&" + query)); got != want {
				t.Errorf("%s: %s, want %s", query, got, want)
			}
		}
		for _, query := range []string{"kind=folder", "minSize=-1", "maxSize=-1", "minSize=2&maxSize=1", "from=5&to=5",
			"kind=image&type=folder", "kind=image&at=" + ms(l.Clock.Now())} {
			alice.Get("/api/files?path=/home/alice&"+query).Fails(400, "VALIDATION_ERROR")
		}
	})
}
