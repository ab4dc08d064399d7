package vpath_test

import (
	"cmp"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"pgregory.net/rapid"

	"larder/internal/vpath"
)

// sorted are names in the order of listings. Names on one line have equal keys and are ordered by
// themselves.
var sorted = [][]string{
	{"(1)"},
	{"-5"},
	{"0", "00", "٠"},
	{"01", "1", "１"}, // the last is FULLWIDTH DIGIT ONE
	{"1 a"},
	{"1a"},
	{"001b", "1b"},
	{"2"},
	{"9"},
	{"10"},
	{"99999999"},
	{"100000000"},
	{"999999999"},
	{"1000000000"},
	{"99999999999999999"},
	{"100000000000000000"},
	{"18446744073709551615"},
	{"18446744073709551616"},
	{"1" + strings.Repeat("0", 254)},
	{"9" + strings.Repeat("0", 254)},
	{"IMG.jpg"},
	{"IMG_9.jpg", "img_09.JPG"},
	{"IMG_10.jpg"},
	{"lake"},
	{"lake "},
	{"lake 0"},
	{"lake 2"},
	{"Lake 3", "lake 3"},
	{"lake 10", "lake १०", "lake １０"},
	{"lake 10a"},
	{"lake two"},
	{"LÄNGE 7", "länge 7"},
	{"LÄNGE 12", "länge 12"},
	{"STRASSE 2", "Straße 2"},
	{"v1.2.9"},
	{"v1.2.10"},
	{"v1.10"},
	{"x²"}, // a superscript is no decimal digit
	{"Ü", "ü"},
	{"第2章"},
	{"第10章"},
	{"第二章"},
	{"🐈 2"},
	{"🐈 10"},
}

// position orders names as listings do.
func position(a, b string) int {
	return cmp.Or(cmp.Compare(vpath.SortKey(a), vpath.SortKey(b)), cmp.Compare(a, b))
}

func TestSortKey(t *testing.T) {
	t.Parallel()
	var want []string
	for i, line := range sorted {
		want = append(want, line...)
		for _, name := range line[1:] {
			if vpath.SortKey(name) != vpath.SortKey(line[0]) {
				t.Errorf("%q and %q have different keys", line[0], name)
			}
		}
		if i > 0 && vpath.SortKey(line[0]) <= vpath.SortKey(sorted[i-1][0]) {
			t.Errorf("the key of %q does not come after that of %q", line[0], sorted[i-1][0])
		}
	}
	got := slices.Clone(want)
	rand.Shuffle(len(got), func(i, j int) { got[i], got[j] = got[j], got[i] })
	slices.SortFunc(got, position)
	if !slices.Equal(got, want) {
		t.Errorf("sorted\n%q, want\n%q", got, want)
	}
	for name, key := range map[string]string{
		"": "", "Lake 2": "lake 12", "lake 10": "lake 210", "000": "0", "a007": "a17", "12345678": "812345678",
		"123456789": "90123456789", "1234567890123456789": "9911234567890123456789",
		"E\u0301": "\u00e9", "e\u0301 ٣": "\u00e9 13",
	} {
		if got := vpath.SortKey(name); got != key {
			t.Errorf("SortKey(%q) = %q, want %q", name, got, key)
		}
	}
}

// A name in NFD or in other case has the same key.
func TestSortKeyIgnoresFormAndCase(t *testing.T) {
	t.Parallel()
	for _, same := range [][]string{{"\u00dc 1", "U\u0308 1", "u\u0308 1"}, {"ΣΑΣ", "σας", "σασ"}, {"ǅ9", "Ǆ9", "ǆ9"}} {
		for _, name := range same {
			if vpath.SortKey(name) != vpath.SortKey(same[0]) {
				t.Errorf("%q and %q have different keys", name, same[0])
			}
		}
	}
}

// Every decimal digit of Unicode counts by its value. Its rows of ten are the ground for
// digitValue.
func TestSortKeyOfEveryDigit(t *testing.T) {
	t.Parallel()
	rows := 0
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if !unicode.IsDigit(r) {
			continue
		}
		for value := range rune(10) {
			want := "x1" + string('0'+value)
			if value == 0 {
				want = "x0"
			}
			if got := vpath.SortKey("x" + string(r+value)); got != want {
				t.Errorf("the digit %U: %q, want %q", r+value, got, want)
			}
		}
		rows++
		r += 9
	}
	if rows != 68 { // 680 decimal digits in Unicode 15.0
		t.Errorf("%d rows of digits", rows)
	}
}

// Stored keys depend on these tables. Where they change, a step has to compute all keys anew: add
// it to internal/db, then change the version here.
func TestSortKeysAreOfUnicode15(t *testing.T) {
	t.Parallel()
	if unicode.Version != "15.0.0" || cases.UnicodeVersion != "15.0.0" {
		t.Errorf("digits are of Unicode %s, cases of %s", unicode.Version, cases.UnicodeVersion)
	}
}

// names draws names that often differ in little.
var names = rapid.StringOfN(rapid.OneOf(
	rapid.SampledFrom([]rune("0123456789 00aAbBé._-ß１０٣९猫🐈İı\u0301\u0308")), rapid.Rune()), 1, 30, -1)

// naturally compares two names by the rule itself: character by character with case folded, where a
// run of digits counts as one character, by its value, in the place of the digits.
func naturally(a, b string) int {
	x, y := []rune(vpath.Fold(a)), []rune(vpath.Fold(b))
	for len(x) > 0 && len(y) > 0 {
		p, q := number(&x), number(&y)
		switch {
		case p != nil && q != nil:
			if c := p.Cmp(q); c != 0 {
				return c
			}
		case p != nil:
			return cmp.Compare('0', y[0])
		case q != nil:
			return cmp.Compare(x[0], '0')
		default:
			if c := cmp.Compare(x[0], y[0]); c != 0 {
				return c
			}
			x, y = x[1:], y[1:]
		}
	}
	return cmp.Compare(len(x), len(y))
}

// number takes a number from the start of a text; nil for none.
func number(text *[]rune) *big.Int {
	end := slices.IndexFunc(*text, func(r rune) bool { return !unicode.IsDigit(r) })
	if end < 0 {
		end = len(*text)
	}
	if end == 0 {
		return nil
	}
	n := new(big.Int)
	for _, r := range (*text)[:end] {
		zero := r
		for unicode.IsDigit(zero-1) && r-zero < 9 {
			zero--
		}
		if r >= 0x1d7ce && r <= 0x1d7ff { // five rows without a gap
			zero = r - (r-0x1d7ce)%10
		}
		n.Add(n.Mul(n, big.NewInt(10)), big.NewInt(int64(r-zero)))
	}
	*text = (*text)[end:]
	return n
}

// The order of the keys is that of the rule, and the order of listings is total.
func TestSortKeyOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := names.Draw(t, "a"), names.Draw(t, "b"), names.Draw(t, "c")
		if got, want := cmp.Compare(vpath.SortKey(a), vpath.SortKey(b)), naturally(a, b); got != want {
			t.Fatalf("%q and %q: %d, want %d", a, b, got, want)
		}
		if position(a, b) != -position(b, a) || (position(a, b) == 0) != (a == b) {
			t.Fatalf("%q and %q are not in one order", a, b)
		}
		if position(a, b) <= 0 && position(b, c) <= 0 && position(a, c) > 0 {
			t.Fatalf("%q, %q and %q go in a circle", a, b, c)
		}
	})
}

// A key is valid UTF-8 without control characters, like its name, and it is bounded. Cutting does
// not reorder keys.
func TestSortKeyIsBounded(t *testing.T) {
	t.Parallel()
	const most = vpath.MaxSortKeyBytes + utf8.UTFMax - 1
	long := rapid.StringOfN(rapid.OneOf(rapid.SampledFrom([]rune("09猫🐈ΐﬃẞＡ１")), rapid.Rune()), 90, 255, -1)
	rapid.Check(t, func(t *rapid.T) {
		name, err := vpath.ParseName(long.Draw(t, "name"))
		if err != nil {
			return
		}
		key := vpath.SortKey(string(name))
		if len(key) > most || key == "" || !utf8.ValidString(key) || strings.ContainsFunc(key, unicode.IsControl) {
			t.Fatalf("%q has the key %q", name, key)
		}
		prefix := long.Draw(t, "prefix")
		a, b := prefix+names.Draw(t, "a"), prefix+names.Draw(t, "b")
		if got, want := cmp.Compare(vpath.SortKey(a), vpath.SortKey(b)), naturally(a, b); got != 0 && got != want {
			t.Fatalf("%q and %q: %d, want %d", a, b, got, want)
		}
	})
	for _, c := range []struct {
		name string
		want int
	}{
		{strings.Repeat("a1", 127) + "a", 127*3 + 1}, // the longest key of 255 characters of ASCII
		{strings.Repeat("9", 255), 255 + 28 + 1},
		{strings.Repeat("я", 255), 400},
		{strings.Repeat("猫", 133), 399},
		{strings.Repeat("猫", 134), 402},
		{strings.Repeat("猫", 255), 402},
		{strings.Repeat("🐈", 255), 400},
		{"猫" + strings.Repeat("🐈", 254), 403},
		{strings.Repeat("٣", 255), 255 + 28 + 1},
	} {
		if got := len(vpath.SortKey(c.name)); got != c.want {
			t.Errorf("the key of %q has %d bytes, want %d", c.name, got, c.want)
		}
	}
	// The last character of the first ends at 402 bytes and of the second at 403: both stay.
	short, tall := strings.Repeat("a", 399)+"\uffff", strings.Repeat("a", 399)+"\U00010000"
	if a, b := vpath.SortKey(short), vpath.SortKey(tall); a >= b || len(a) != 402 || len(b) != 403 {
		t.Errorf("keys of %d and %d bytes", len(a), len(b))
	}
}

func BenchmarkSortKey(b *testing.B) {
	for b.Loop() {
		vpath.SortKey("Photo of the lake 1234567.jpg")
	}
}
