package site_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"larder/internal/db"
	"larder/internal/db/dbtest"
	"larder/internal/fault"
	"larder/internal/ident"
	"larder/internal/site"
)

// newAnnouncements returns announcements with a clock that the test moves.
func newAnnouncements(d *db.DB, now *time.Time) *site.Announcements {
	return site.NewAnnouncements(d, ident.New(rand.Reader), func() time.Time { return *now })
}

func ptr[T any](v T) *T { return &v }

// titles returns the titles of the announcements, in order.
func titles(t *testing.T, list func() ([]site.Announcement, error)) string {
	t.Helper()
	all, err := list()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, a := range all {
		names = append(names, a.Title)
	}
	return strings.Join(names, " ")
}

func TestAnnouncementsEndAtTheirTime(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		ctx, now := t.Context(), time.UnixMilli(1_800_000_000_000)
		here, there := newAnnouncements(d, &now), newAnnouncements(d, &now) // two replicas
		active := func(b *site.Announcements) string {
			t.Helper()
			return titles(t, func() ([]site.Announcement, error) { return b.Active(ctx, version(t, d)) })
		}
		if got := active(there); got != "" {
			t.Errorf("at first: %q", got)
		}
		minute, err := here.Create(ctx, site.AnnouncementInput{Title: ptr("minute"), Content: ptr("c"),
			ExpiresIn: ptr(int64(60))})
		if err != nil || minute.Level != "info" || *minute.ExpiresAt != 1_800_000_060_000 ||
			minute.CreatedAt != 1_800_000_000_000 || minute.UpdatedAt != minute.CreatedAt {
			t.Fatalf("%+v, %v", minute, err)
		}
		now = now.Add(time.Second)
		ever, err := here.Create(ctx, site.AnnouncementInput{Title: ptr("ever"), Content: ptr("c"),
			Level: ptr("danger")})
		if err != nil || ever.ExpiresAt != nil || ever.Level != "danger" {
			t.Fatalf("%+v, %v", ever, err)
		}
		now = now.Add(59*time.Second - time.Millisecond)
		if got := active(there); got != "ever minute" {
			t.Errorf("a millisecond before its end: %q", got)
		}
		now = now.Add(time.Millisecond)
		if got := active(there); got != "ever" {
			t.Errorf("at its end: %q", got)
		}
		if got := titles(t, func() ([]site.Announcement, error) { return here.All(ctx) }); got != "ever minute" {
			t.Errorf("all: %q", got)
		}
		again, err := there.Change(ctx, minute.ID, site.AnnouncementInput{SetExpiry: true, ExpiresIn: ptr(int64(60))})
		if err != nil || *again.ExpiresAt != now.UnixMilli()+60_000 || again.Title != "minute" ||
			again.Level != "info" || again.CreatedAt != minute.CreatedAt || again.UpdatedAt != now.UnixMilli() {
			t.Errorf("%+v, %v", again, err)
		}
		if got := active(here); got != "ever minute" {
			t.Errorf("with another minute: %q", got)
		}
		if kept, err := there.Change(ctx, minute.ID,
			site.AnnouncementInput{Title: ptr("hour"), Level: ptr("warning")}); err != nil || kept.ExpiresAt == nil ||
			*kept.ExpiresAt != *again.ExpiresAt || kept.Title != "hour" || kept.Level != "warning" ||
			kept.Content != "c" {
			t.Errorf("%+v, %v", kept, err)
		}
		if forever, err := there.Change(ctx, minute.ID, site.AnnouncementInput{SetExpiry: true}); err != nil ||
			forever.ExpiresAt != nil {
			t.Errorf("%+v, %v", forever, err)
		}
		if err := there.Delete(ctx, ever.ID); err != nil {
			t.Fatal(err)
		}
		if got := active(here); got != "hour" {
			t.Errorf("after a deletion: %q", got)
		}
		before := version(t, d)
		if _, err := here.Change(ctx, ever.ID, site.AnnouncementInput{}); !fault.Is(err, fault.NotFound) {
			t.Errorf("changing a deleted entry: %v", err)
		}
		if err := here.Delete(ctx, ever.ID); !fault.Is(err, fault.NotFound) {
			t.Errorf("deleting a deleted entry: %v", err)
		}
		if version(t, d) != before {
			t.Error("a failed change raised the config version")
		}
	})
}

// Every page load asks for the announcements: nothing is read again until something has changed.
func TestAnnouncementsAreKeptInMemoryUnderTheirVersion(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		now := time.UnixMilli(1_800_000_000_000)
		b, v := newAnnouncements(d, &now), version(t, d)
		if _, err := b.Active(t.Context(), v); err != nil {
			t.Fatal(err)
		}
		cancelled, cancel := context.WithCancel(context.Background())
		cancel()
		if _, err := b.Active(cancelled, v); err != nil {
			t.Errorf("a known version is read again: %v", err)
		}
		if _, err := b.Active(cancelled, v+1); err == nil {
			t.Error("another version is not read")
		}
	})
}

// Abuse case C74: markup is stored unchanged like any other text; invisible text is refused.
func TestAnnouncementTextIsChecked(t *testing.T) {
	t.Parallel()
	const markup = `<script>alert(1)</script> [x](javascript:alert(1)) ![](https://example.org/a.png) <img src=x onerror=alert(1)>`
	cases := map[string]struct {
		title, content string
		want           string // of the content; "" if refused
	}{
		"markup":                   {markup[:60], markup, markup},
		"lines and tabs":           {"t", "a\n\tb", "a\n\tb"},
		"lines of Windows":         {"t", "a\r\nb", "a\nb"},
		"a lone carriage return":   {"t", "a\rb", ""},
		"decomposed":               {"t", "u\u0308", "ü"},
		"title of 200":             {strings.Repeat("ü", 200), "c", "c"},
		"title of 201":             {strings.Repeat("ü", 201), "c", ""},
		"title of 200, decomposed": {strings.Repeat("u\u0308", 200), "c", "c"},
		"content of 5000":          {"t", strings.Repeat("猫", 5000), strings.Repeat("猫", 5000)},
		"content of 5001":          {"t", strings.Repeat("猫", 5001), ""},
		"no title":                 {"", "c", ""},
		"no content":               {"t", "", ""},
		"a title of white space":   {" \u3000", "c", ""},
		"a content of white space": {"t", "\n\t ", ""},
		"a title of two lines":     {"a\nb", "c", ""},
		"a tab in the title":       {"a\tb", "c", ""},
		"an escape":                {"t", "a\x1b[31m", ""},
		"NUL":                      {"t", "a\x00", ""},
		"an override":              {"t", "a\u202Eb", ""},
		"an isolate in the title":  {"a\u2066b", "c", ""},
		"a line separator":         {"t", "a\u2028b", ""},
		"broken UTF-8":             {"t", "a\xff", ""},
		"a very long title":        {strings.Repeat("x", 5_000_000), "c", ""},
	}
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		now := time.UnixMilli(1_800_000_000_000)
		b := newAnnouncements(d, &now)
		seed, err := b.Create(t.Context(), site.AnnouncementInput{Title: ptr("t"), Content: ptr("c")})
		if err != nil {
			t.Fatal(err)
		}
		for name, c := range cases {
			made, err := b.Create(t.Context(), site.AnnouncementInput{Title: &c.title, Content: &c.content})
			changed, again := b.Change(t.Context(), seed.ID,
				site.AnnouncementInput{Title: &c.title, Content: &c.content})
			if c.want == "" {
				if !fault.Is(err, fault.Invalid) || !fault.Is(again, fault.Invalid) {
					t.Errorf("%s: %v, %v", name, err, again)
				}
				continue
			}
			if err != nil || again != nil || made.Content != c.want || changed.Content != c.want {
				t.Errorf("%s: %q, %v; %q, %v", name, made.Content, err, changed.Content, again)
			}
		}
		for in, ok := range map[int64]bool{-1: false, 0: false, 59: false, 60: true, 315_360_000: true,
			315_360_001: false} {
			n := site.AnnouncementInput{Title: ptr("t"), Content: ptr("c"), SetExpiry: true, ExpiresIn: &in}
			_, err := b.Create(t.Context(), n)
			_, again := b.Change(t.Context(), seed.ID, n)
			if ok != (err == nil) || ok != (again == nil) || !ok &&
				(!fault.Is(err, fault.Invalid) || !fault.Is(again, fault.Invalid)) {
				t.Errorf("expiresIn %d: %v, %v", in, err, again)
			}
		}
		if _, err := b.Create(t.Context(), site.AnnouncementInput{Title: ptr("t"), Content: ptr("c"),
			Level: ptr("notice")}); !fault.Is(err, fault.Invalid) {
			t.Errorf("an unknown level: %v", err)
		}
		if _, err := b.Create(t.Context(), site.AnnouncementInput{}); !fault.Is(err, fault.Invalid) {
			t.Errorf("an empty input: %v", err)
		}
	})
}

// At most 200 announcements are stored, also when they are created at once, and the newest 50 are
// shown.
func TestAnnouncementsAreBounded(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		now := time.UnixMilli(1_800_000_000_000)
		b := newAnnouncements(d, &now)
		for i := range 190 {
			now = now.Add(time.Millisecond)
			if _, err := b.Create(t.Context(),
				site.AnnouncementInput{Title: ptr(fmt.Sprint(i)), Content: ptr("c")}); err != nil {
				t.Fatal(err)
			}
		}
		var all sync.WaitGroup
		var made, refused atomic.Int64
		for range 20 {
			all.Go(func() {
				switch _, err := b.Create(t.Context(), site.AnnouncementInput{Title: ptr("last"), Content: ptr("c")}); {
				case err == nil:
					made.Add(1)
				case fault.Is(err, fault.Conflict):
					refused.Add(1)
				default:
					t.Error(err)
				}
			})
		}
		all.Wait()
		if made.Load() != 10 || refused.Load() != 10 {
			t.Errorf("%d were made and %d refused, want 10 each", made.Load(), refused.Load())
		}
		active, err := b.Active(t.Context(), version(t, d))
		if err != nil || len(active) != 50 || active[49].Title != "150" {
			t.Errorf("%d are shown, the last is %q, %v", len(active), active[len(active)-1].Title, err)
		}
	})
}
