package audit_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"larder/internal/audit"
)

func upload(path string) audit.Entry {
	return audit.Entry{UserID: "u1", KeyID: "pk_1", IP: "192.0.2.1", Action: audit.Upload, Path: path, Bytes: 5,
		Status: 201}
}

func TestListReturnsRecordedEntries(t *testing.T) {
	t.Parallel()
	eachEngine(t, nil, func(t *testing.T, w *fixture) {
		w.Record(upload("/home/Älva/猫.jpg"))
		w.advance(time.Millisecond)
		w.Record(audit.Entry{Action: audit.LoginFailed, Path: "/api/auth/login", Status: 401})
		if len(w.allEntries()) != 0 {
			t.Error("written on the way of the request")
		}
		w.flush()
		got := w.allEntries()
		want := []audit.Entry{
			{ID: 2, Action: audit.LoginFailed, Path: "/api/auth/login", Status: 401, Count: 1,
				CreatedAt: start.UnixMilli() + 1},
			{ID: 1, UserID: "u1", KeyID: "pk_1", IP: "192.0.2.1", Action: audit.Upload, Path: "/home/Älva/猫.jpg",
				Bytes: 5, Status: 201, Count: 1, CreatedAt: start.UnixMilli()},
		}
		if !slices.Equal(got, want) {
			t.Errorf("got %v", got)
		}
	})
}

// Of entries of the same millisecond the one recorded later comes first.
func TestListFilters(t *testing.T) {
	t.Parallel()
	eachEngine(t, nil, func(t *testing.T, w *fixture) {
		for i, e := range []audit.Entry{
			{UserID: "u1", Action: audit.Upload, Path: "/home/A/Straße.jpg"},
			{UserID: "u2", Action: audit.Upload, Path: "/home/B/100%_sure.txt"},
			{UserID: "u1", Action: audit.Delete, Path: "/home/A/ÄRGER", Status: 400},
			{Action: audit.LoginFailed, Path: "/api/auth/login", Status: 401},
			{UserID: "u1", Action: audit.Delete, Path: "/home/A/last", Status: 399},
		} {
			w.Record(e)
			if i < 3 {
				w.advance(time.Second)
			}
		}
		w.flush()
		at := func(seconds, millis int64) *int64 { ms := start.UnixMilli() + seconds*1000 + millis; return &ms }
		for name, c := range map[string]struct {
			query audit.Query
			want  string // the last letters of the paths
		}{
			"all":                         {audit.Query{}, "last login RGER sure.txt e.jpg"},
			"a user":                      {audit.Query{UserID: "u1"}, "last RGER e.jpg"},
			"a user exactly":              {audit.Query{UserID: "u"}, ""},
			"an action":                   {audit.Query{Action: audit.Delete}, "last RGER"},
			"user and action":             {audit.Query{UserID: "u1", Action: audit.Upload}, "e.jpg"},
			"failed":                      {audit.Query{Failed: true}, "login RGER"},
			"failed, of a user":           {audit.Query{Failed: true, UserID: "u1"}, "RGER"},
			"failed, of an action":        {audit.Query{Failed: true, Action: audit.LoginFailed}, "login"},
			"failed, from":                {audit.Query{Failed: true, From: at(2, 1)}, "login"},
			"search, other case":          {audit.Query{Search: "strasse"}, "e.jpg"},
			"search, other case again":    {audit.Query{Search: "/HOME/a/ärg"}, "RGER"},
			"search, plain":               {audit.Query{Search: "home/a/la"}, "last"},
			"percent is no wildcard":      {audit.Query{Search: "%"}, "sure.txt"},
			"underscore is no wildcard":   {audit.Query{Search: "_"}, "sure.txt"},
			"backslash and star are none": {audit.Query{Search: `\*`}, ""},
			"search and user":             {audit.Query{Search: "home", UserID: "u2"}, "sure.txt"},
			"from, inclusive":             {audit.Query{From: at(2, 0)}, "last login RGER"},
			"from, beyond":                {audit.Query{From: at(2, 1)}, "last login"},
			"to, inclusive":               {audit.Query{To: at(1, 0)}, "sure.txt e.jpg"},
			"to, before":                  {audit.Query{To: at(1, -1)}, "e.jpg"},
			"from and to":                 {audit.Query{From: at(1, 0), To: at(1, 0)}, "sure.txt"},
			"all filters at once": {audit.Query{
				UserID: "u1", Action: audit.Delete, Search: "HOME", From: at(2, 0), To: at(2, 0),
			}, "RGER"},
		} {
			c.query.Page, c.query.Limit = 1, 50
			entries, total, err := w.List(t.Context(), c.query)
			var got []string
			for _, e := range entries {
				for _, end := range []string{"e.jpg", "sure.txt", "RGER", "login", "last"} {
					if strings.HasSuffix(e.Path, end) {
						got = append(got, end)
					}
				}
			}
			if err != nil || total != int64(len(entries)) || strings.Join(got, " ") != c.want {
				t.Errorf("%s: %v, total %d, %v; want %q", name, got, total, err, c.want)
			}
		}
	})
}

func TestListPages(t *testing.T) {
	t.Parallel()
	eachEngine(t, nil, func(t *testing.T, w *fixture) {
		for i := range 7 {
			w.Record(upload(fmt.Sprint("/", i)))
		}
		w.flush()
		for page, want := range map[int64]string{1: "/6 /5 /4", 2: "/3 /2 /1", 3: "/0", 4: "", 1_000_000_000: ""} {
			entries, total, err := w.List(t.Context(), audit.Query{Page: page, Limit: 3})
			got := []string{}
			for _, e := range entries {
				got = append(got, e.Path)
			}
			if err != nil || total != 7 || strings.Join(got, " ") != want {
				t.Errorf("page %d: %v of %d, %v", page, got, total, err)
			}
		}
	})
}

func TestRetention(t *testing.T) {
	t.Parallel()
	eachEngine(t, nil, func(t *testing.T, w *fixture) {
		w.Record(upload("/old"))
		w.advance(time.Millisecond)
		w.Record(upload("/young"))
		w.flush()
		for _, step := range []struct {
			later time.Duration
			want  []string
		}{
			{90*24*time.Hour - time.Millisecond, []string{"/young", "/old"}}, // the maximum age
			{time.Millisecond, []string{"/young"}},
			{time.Millisecond, []string{}},
		} {
			w.advance(step.later)
			if err := w.Sweep(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := w.paths(); !slices.Equal(got, step.want) {
				t.Errorf("%v later: %v, want %v", step.later, got, step.want)
			}
		}
		w.Record(upload("/next"))
		w.flush()
		if got := w.allEntries(); len(got) != 1 || got[0].ID != 3 {
			t.Errorf("after everything was deleted: %v; an id never comes back", got)
		}
	})
}

func TestRowBound(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(c *audit.Config) { c.MaxRows = 3 }, func(t *testing.T, w *fixture) {
		note := func(i int, want ...string) {
			w.Record(upload(fmt.Sprint("/", i)))
			w.advance(time.Second)
			w.flush()
			if err := w.Sweep(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := w.paths(); !slices.Equal(got, want) {
				t.Errorf("%v, want %v", got, want)
			}
		}
		note(1, "/1")
		note(2, "/2", "/1")
		note(3, "/3", "/2", "/1")
		note(4, "/4", "/3", "/2")
	})
}

// A sweep deletes more than one step of 5,000 rows, and replicas that sweep at once do not delete
// too many.
func TestSweepsOfReplicasTogether(t *testing.T) {
	t.Parallel()
	bound := func(c *audit.Config) { c.MaxRows = 100 }
	eachEngine(t, bound, func(t *testing.T, w *fixture) {
		for i := range 10_100 {
			w.Record(upload(fmt.Sprint("/", i)))
		}
		w.flush()
		// many matches use another query than few
		for search, want := range map[string]int64{"/": 10_100, "/100": 111, "/1": 1211} {
			entries, total, err := w.List(t.Context(), audit.Query{Search: search, Page: 1, Limit: 2})
			if err != nil || total != want || entries[0].Path != "/10099" || entries[1].Path != "/10098" {
				t.Errorf("search for %s: %v of %d, %v", search, entries, total, err)
			}
		}
		other := w.replica(w.open(), bound)
		done := make(chan error)
		go func() { done <- other.Sweep(t.Context()) }()
		if err := w.Sweep(t.Context()); err != nil {
			t.Error(err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
		if got := w.paths(); len(got) != 100 || got[0] != "/10099" || got[99] != "/10000" {
			t.Errorf("%d are left", len(got))
		}
		w.advance(91 * 24 * time.Hour)
		for i := range 5001 {
			w.Record(upload(fmt.Sprint("/new", i)))
		}
		w.flush()
		w.MaxRows = 1_000_000
		if err := w.Sweep(t.Context()); err != nil {
			t.Error(err)
		}
		if got := w.paths(); len(got) != 5001 {
			t.Errorf("%d are left of the new ones", len(got))
		}
	})
}

func TestRequests24h(t *testing.T) {
	t.Parallel()
	eachEngine(t, nil, func(t *testing.T, w *fixture) {
		other := w.replica(w.open(), nil)
		expect := func(want int64) {
			t.Helper()
			w.flush()
			if err := other.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got, err := other.Requests24h(t.Context()); err != nil || got != want {
				t.Errorf("%d requests, want %d (%v)", got, want, err)
			}
		}
		expect(0)
		for range 3 {
			w.CountRequest(200)
		}
		expect(3)
		other.CountRequest(200) // in the same minute
		w.CountRequest(200)
		expect(5)
		w.advance(59 * time.Second)
		w.CountRequest(200)
		w.advance(time.Second) // the next minute
		other.CountRequest(200)
		expect(7)
		w.advance(24*time.Hour - 2*time.Minute) // the minute of the six is the 1,440th from the running one
		expect(7)
		if err := w.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		expect(7)
		w.advance(time.Minute)
		expect(1)
		if err := w.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		expect(1)
		var rows int
		if err := w.DB.Read(t.Context()).QueryRow("SELECT COUNT(*) FROM request_minutes").Scan(&rows); err != nil ||
			rows != 1 {
			t.Errorf("%d minutes are kept, %v", rows, err)
		}
		w.advance(time.Minute)
		expect(0)
	})
}
