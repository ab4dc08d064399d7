package color_test

import (
	"testing"

	"larder/internal/color"
)

func TestValid(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]bool{
		"#1A2B3C": true, "#0a7f5b": true, "": false, "#": false, "1A2B3C": false, "#1A2B3": false, "#1A2B3CD": false,
		"#1A2B3G": false, " #1A2B3C": false, "#1A2B3C\n": false, "#\uff11A2B3C": false, `#"><x>`: false,
	} {
		if got := color.Valid(s); got != want {
			t.Errorf("%q: %t, want %t", s, got, want)
		}
	}
}
