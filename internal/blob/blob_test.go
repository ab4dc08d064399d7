package blob_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"larder/internal/blob"
	"larder/internal/ident"
)

// counting is a source of random bytes in which each byte is one more than the last.
type counting struct{ next byte }

func (c *counting) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = c.next
		c.next++
	}
	return len(p), nil
}

func noClock() time.Time { return time.Time{} }

func TestNewKey(t *testing.T) {
	t.Parallel()
	for ext, want := range map[string]string{
		"":                  "00/0102030405060708090a0b0c0d0e0f10",
		"jpg":               "00/0102030405060708090a0b0c0d0e0f10.jpg",
		".JPG":              "00/0102030405060708090a0b0c0d0e0f10.jpg",
		"7z":                "00/0102030405060708090a0b0c0d0e0f10.7z",
		"abcdefghijklmnop":  "00/0102030405060708090a0b0c0d0e0f10.abcdefghijklmnop",
		"abcdefghijklmnopq": "00/0102030405060708090a0b0c0d0e0f10",
		"..":                "00/0102030405060708090a0b0c0d0e0f10",
		"a/b":               "00/0102030405060708090a0b0c0d0e0f10",
		"tar.gz":            "00/0102030405060708090a0b0c0d0e0f10",
		"é":                 "00/0102030405060708090a0b0c0d0e0f10",
		"a\x00":             "00/0102030405060708090a0b0c0d0e0f10",
	} {
		key := blob.NewKey(ident.New(&counting{}), nil, ext)
		if string(key) != want {
			t.Errorf("NewKey with extension %q = %s, want %s", ext, key, want)
		}
		if parsed, err := blob.ParseKey(want); err != nil || parsed != key {
			t.Errorf("ParseKey(%s) = %s, %v", want, parsed, err)
		}
	}
}

func TestParseKey(t *testing.T) {
	t.Parallel()
	const name = "0102030405060708090a0b0c0d0e0f10"
	for _, s := range []string{"ab/" + name, "00/" + name + ".webp", "default/ab/" + name,
		"Photos-1/a_b.c/ff/" + name + ".x", "ab/cd/" + name} {
		if key, err := blob.ParseKey(s); err != nil || string(key) != s {
			t.Errorf("ParseKey(%q) = %q, %v", s, key, err)
		}
	}
	for _, s := range []string{
		"", name, "/" + name, "a/" + name, "abc/" + name, "ag/" + name, "aB/" + name, "ab/" + name[1:],
		"ab/" + name + "0", "ab/" + strings.ToUpper(name),
		"ab/" + name + ".", "ab/" + name + ".a.b", "ab/" + name + ".PNG", "ab/" + name + "/", "/ab/" + name,
		"./ab/" + name, "../ab/" + name,
		"x//ab/" + name, "x/../ab/" + name, ".x/ab/" + name, "-x/ab/" + name, "tmp/ab/" + name, "x y/ab/" + name,
		"é/ab/" + name, "\u212a/ab/" + name,
		"x\\y/ab/" + name, "x\x00/ab/" + name, "ab/" + name + "\n", strings.Repeat("a", 65) + "/ab/" + name,
		strings.Repeat("abcdefgh/", 60) + "ab/" + name,
	} {
		if key, err := blob.ParseKey(s); !errors.Is(err, blob.ErrKey) {
			t.Errorf("ParseKey(%q) = %q, %v, want ErrKey", s, key, err)
		}
	}
}

func TestShardKeepsConsecutiveKeysTogether(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	shard, err := blob.NewShard("default", func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	ids := ident.New(&counting{})
	next := func() string {
		key := blob.NewKey(ids, shard, "")
		if _, err := blob.ParseKey(string(key)); err != nil {
			t.Fatal(err)
		}
		dir, _ := key.Split()
		return dir
	}
	first := next()
	if !strings.HasPrefix(first, "default/") {
		t.Fatalf("directory %q is not below the prefix", first)
	}
	for i := range 255 {
		if dir := next(); dir != first {
			t.Fatalf("key %d lies in %s, the first in %s", i+2, dir, first)
		}
	}
	second := next()
	if second == first {
		t.Errorf("key 257 still lies in %s", first)
	}
	now = now.Add(999 * time.Millisecond)
	if dir := next(); dir != second {
		t.Errorf("directory changed within a second")
	}
	now = now.Add(time.Millisecond)
	third := next()
	if third == second {
		t.Errorf("directory did not change after a second")
	}
	now = now.Add(-2 * time.Hour) // abuse case C129
	if dir := next(); dir == third {
		t.Errorf("a clock that was put back keeps the directory")
	}
}

func TestNewShardRefusesPrefixes(t *testing.T) {
	t.Parallel()
	for _, prefix := range []string{"/", "/a", "a/", "a//b", "..", "a/../b", ".a", "tmp", "tmp/a", "a b",
		strings.Repeat("a", 65), strings.Repeat("abcdefg/", 58) + "a"} {
		if _, err := blob.NewShard(prefix, noClock); err == nil {
			t.Errorf("prefix %q is accepted", prefix)
		}
	}
	longest := strings.Repeat("abcdefg/", 57) + "a" // 457 bytes, with the rest of a key 511
	shard, err := blob.NewShard(longest, noClock)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := blob.ParseKey(string(blob.NewKey(ident.New(&counting{}), shard, "abcdefghijklmnop"))); err != nil {
		t.Errorf("key below the longest prefix: %v", err)
	}
}

func TestErrorsTellTheirCause(t *testing.T) {
	t.Parallel()
	if err := blob.Unavailable("sync", io.ErrShortWrite); !errors.Is(err, blob.ErrUnavailable) ||
		!errors.Is(err, io.ErrShortWrite) || errors.Is(err, blob.ErrNoSpace) {
		t.Errorf("Unavailable = %v", err)
	}
	if err := blob.NoSpace("write", io.ErrShortWrite); !errors.Is(err, blob.ErrNoSpace) ||
		!errors.Is(err, io.ErrShortWrite) || errors.Is(err, blob.ErrUnavailable) {
		t.Errorf("NoSpace = %v", err)
	}
}
