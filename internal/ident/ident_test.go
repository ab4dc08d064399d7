package ident_test

import (
	"crypto/rand"
	"regexp"
	"testing"
	"testing/iotest"

	"larder/internal/ident"
)

func TestForms(t *testing.T) {
	t.Parallel()
	ids := ident.New(rand.Reader)
	for name, c := range map[string]struct {
		draw func() string
		form string
	}{
		"uuid":       {ids.UUID, `^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`},
		"key id":     {ids.KeyID, `^pk_[0-9A-Za-z]{24}$`},
		"key secret": {ids.KeySecret, `^sk_[0-9A-Za-z]{48}$`},
		"link id":    {func() string { return ids.Base62(22) }, `^[0-9A-Za-z]{22}$`},
		"hex":        {func() string { return ids.Hex(16) }, `^[0-9a-f]{32}$`},
	} {
		form := regexp.MustCompile(c.form)
		seen := map[string]bool{}
		for range 200 {
			id := c.draw()
			if !form.MatchString(id) || seen[id] {
				t.Fatalf("%s: %q", name, id)
			}
			seen[id] = true
		}
	}
}

// Each of the 62 characters is equally likely: each comes 1,000 times in 62,000 draws, within six
// standard deviations.
func TestBase62IsFair(t *testing.T) {
	t.Parallel()
	counts := map[rune]int{}
	for _, r := range ident.New(rand.Reader).Base62(62000) {
		counts[r]++
	}
	for r, n := range counts {
		if n < 810 || n > 1190 {
			t.Errorf("%c came %d times", r, n)
		}
	}
	if len(counts) != 62 {
		t.Errorf("%d different characters", len(counts))
	}
}

// Each of the ten digits is equally likely: each comes 1,000 times in 10,000 draws, within six
// standard deviations.
func TestDigitsAreFair(t *testing.T) {
	t.Parallel()
	counts := map[rune]int{}
	for _, r := range ident.New(rand.Reader).Digits(10000) {
		counts[r]++
	}
	for r, n := range counts {
		if n < 820 || n > 1180 {
			t.Errorf("%c came %d times", r, n)
		}
	}
	if len(counts) != 10 {
		t.Errorf("%d different digits", len(counts))
	}
	if code := ident.New(rand.Reader).Digits(6); !regexp.MustCompile(`^[0-9]{6}$`).MatchString(code) {
		t.Errorf("six digits: %q", code)
	}
}

func TestWithoutRandomnessNothingIsMade(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("an id was made without randomness")
		}
	}()
	ident.New(iotest.ErrReader(iotest.ErrTimeout)).UUID()
}
