package thumb

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"larder/internal/fault"
)

// storeOne stores a thumbnail of size bytes in a cache.
func storeOne(t testing.TB, c *cache, content string, size int) {
	t.Helper()
	d, err := c.createDraft()
	if err != nil {
		t.Fatal(err)
	}
	defer d.discard()
	if _, err := d.file.WriteString("\xff\xd8\xff" + strings.Repeat("x", size-3)); err != nil {
		t.Fatal(err)
	}
	if err := c.store(key{content, 160}, d); err != nil {
		t.Fatal(err)
	}
}

func has(t testing.TB, c *cache, content string) bool {
	t.Helper()
	got, found, err := c.open(key{content, 160})
	if err != nil {
		t.Fatal(err)
	}
	if found {
		got.Close()
	}
	return found
}

// The least recently used thumbnails are removed first, also after a restart. A file counts by its
// blocks.
func TestEviction(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	c := &cache{dir: filepath.Join(t.TempDir(), "thumbs"), now: func() time.Time { return now }, limit: 3 * block}
	storeOne(t, c, "aa", 20)
	storeOne(t, c, "bb", 20)
	storeOne(t, c, "cc", block)
	now = now.Add(2 * time.Hour)
	if !has(t, c, "aa") {
		t.Error("nothing should be removed yet")
	}
	storeOne(t, c, "dd", 20)
	if has(t, c, "bb") || !has(t, c, "aa") || !has(t, c, "cc") || !has(t, c, "dd") {
		t.Error("the removed thumbnail was not the least recently used one")
	}
	for content, used := range map[string]time.Time{"aa": now.Add(-time.Hour), "cc": now, "dd": now.Add(-time.Minute)} {
		files, err := filepath.Glob(filepath.Join(c.dir, "*", content+"_*"))
		if err != nil || len(files) != 1 {
			t.Fatal(files, err)
		}
		if err := os.Chtimes(files[0], used, used); err != nil {
			t.Fatal(err)
		}
	}
	after := &cache{dir: c.dir, now: c.now, limit: c.limit}
	storeOne(t, after, "ee", block+1)
	if has(t, after, "aa") || has(t, after, "dd") || !has(t, after, "cc") || !has(t, after, "ee") {
		t.Error("after a restart the sweep did not remove the least recently used thumbnails")
	}
	files, err := filepath.Glob(filepath.Join(c.dir, "*", "*"))
	if err != nil || len(files) != 2 {
		t.Errorf("%v, %v", files, err)
	}
}

// Foreign files stay unchanged. Files left by a crash are removed when no process can be writing to
// them.
func TestLeftovers(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	dir := t.TempDir()
	for name, age := range map[string]time.Duration{"tmp-1": 2 * time.Hour, "tmp-2": time.Minute,
		"notes.txt": 2 * time.Hour} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.WriteFile(path, []byte("x"), 0o600),
			os.Chtimes(path, now.Add(-age), now.Add(-age))); err != nil {
			t.Fatal(err)
		}
	}
	c := &cache{dir: dir, now: func() time.Time { return now }, limit: block}
	if has(t, c, "aa") {
		t.Error("there is something")
	}
	for name, want := range map[string]bool{"tmp-1": false, "tmp-2": true, "notes.txt": true} {
		if _, err := os.Stat(filepath.Join(dir, name)); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	d, err := c.createDraft()
	if err != nil {
		t.Fatal(err)
	}
	defer d.discard()
	if _, err := d.file.WriteString("\xff\xd8\xff and more"); err != nil {
		t.Fatal(err)
	}
	if err := c.store(key{"../../outside", 160}, d); err == nil || fault.Is(err, fault.NotFound) {
		t.Errorf("a name that leads elsewhere: %v", err)
	}
}

// Waiting clients take turns, so that one with a thousand pictures does not delay the others.
func TestQueueFairness(t *testing.T) {
	t.Parallel()
	q := newQueue(1)
	if err := q.enter(t.Context(), "alice"); err != nil {
		t.Fatal(err)
	}
	order := make(chan string)
	for i, who := range []string{"alice", "alice", "alice", "bob", "carol", "bob"} {
		turn, err := q.join(who)
		if err != nil || turn == nil {
			t.Fatal(i, err)
		}
		go func() {
			<-turn
			order <- who
		}()
	}
	var got []string
	for range 6 {
		q.leave()
		got = append(got, <-order)
	}
	if want := "alice bob carol alice bob alice"; strings.Join(got, " ") != want {
		t.Errorf("%v, want %s", got, want)
	}
	q.leave()
	if q.free != 1 || q.waiting != 0 || len(q.lanes) != 0 || len(q.order) != 0 {
		t.Errorf("left behind: %+v", q)
	}
}

// The number of waiting requests is limited, per client and in all. An abandoned request leaves no
// trace, whether its turn had come or not.
func TestQueueLimits(t *testing.T) {
	t.Parallel()
	q := newQueue(1)
	if err := q.enter(t.Context(), "alice"); err != nil {
		t.Fatal(err)
	}
	for range 256 {
		if _, err := q.join("alice"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := q.join("alice"); !fault.Is(err, fault.RateLimited) {
		t.Errorf("%v", err)
	}
	for i := range 1024 - 256 {
		if _, err := q.join(string(rune('a' + i%8))); err != nil {
			t.Fatal(i, err)
		}
	}
	if _, err := q.join("somebody new"); !fault.Is(err, fault.RateLimited) {
		t.Errorf("%v", err)
	}

	q = newQueue(1)
	if err := q.enter(t.Context(), "alice"); err != nil {
		t.Fatal(err)
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	if err := q.enter(gone, "bob"); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	late, err := q.join("carol")
	if err != nil {
		t.Fatal(err)
	}
	q.leave() // carol's turn
	q.abandon("carol", late)
	if q.free != 1 || q.waiting != 0 || len(q.lanes) != 0 || len(q.order) != 0 {
		t.Errorf("left behind: %+v", q)
	}
}

// stripMetadata keeps only the chunks of the picture, for any writer of the WebP.
func TestStripMetadata(t *testing.T) {
	t.Parallel()
	chunk := func(name, content string) string {
		return name + string([]byte{byte(len(content)), 0, 0, 0}) + content + strings.Repeat("\x00", len(content)%2)
	}
	riff := func(body string) string { return "RIFF" + string([]byte{byte(len(body) + 4), 0, 0, 0}) + "WEBP" + body }
	head := func(flags byte) string { return chunk("VP8X", string([]byte{flags, 0, 0, 0, 1, 0, 0, 1, 0, 0})) }
	for name, test := range map[string][2]string{
		"all of it": {
			riff(head(0x3c) + chunk("ICCP", "profile") + chunk("ALPH", "alpha") + chunk("VP8 ",
				"pixels.") + chunk("EXIF", "place") + chunk("XMP ", "more") + chunk("ABCD", "else")),
			riff(head(0x10) + chunk("ALPH", "alpha") + chunk("VP8 ", "pixels.")),
		},
		"no metadata":      {riff(chunk("VP8L", "pixels")), riff(chunk("VP8L", "pixels"))},
		"no WebP":          {"\xff\xd8\xff and so on", ""},
		"a chunk too long": {riff("VP8 \xff\x00\x00\x00pixels"), ""},
		"cut off":          {riff(chunk("VP8 ", "pixels") + "EXIF"), ""},
	} {
		file, err := os.CreateTemp(t.TempDir(), "webp")
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		if _, err := file.WriteString(test[0]); err != nil {
			t.Fatal(err)
		}
		err = stripMetadata(file)
		if test[1] == "" {
			if !errors.Is(err, errNoPicture) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if got, _ := os.ReadFile(file.Name()); err != nil || string(got) != test[1] {
			t.Errorf("%s: %q, want %q (%v)", name, got, test[1], err)
		}
	}
}
