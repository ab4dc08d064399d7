package account_test

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"larder/internal/account"
	"larder/internal/db"
	"larder/internal/db/dbtest"
)

// A session shows its browser and system, or its program, and the address of the sign-in.
func TestDeviceAndAddressOfASession(t *testing.T) {
	t.Parallel()
	const (
		windows = "Mozilla/5.0 (Windows NT 10.0; Win64; x64)"
		mac     = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7)"
		linux   = "Mozilla/5.0 (X11; Linux x86_64)"
		android = "Mozilla/5.0 (Linux; Android 10; K)"
		iPhone  = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko)"
		chrome  = " AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36"
	)
	agents := map[string]string{
		windows + " Gecko/20100101 Firefox/133.0":                                        "Firefox on Windows",
		"Mozilla/5.0 (X11; Ubuntu; Linux x86_64; rv:133.0) Gecko/20100101 Firefox/133.0": "Firefox on Linux",
		"Mozilla/5.0 (Android 14; Mobile; rv:133.0) Gecko/133.0 Firefox/133.0":           "Firefox on Android",
		iPhone + " FxiOS/133.0 Mobile/15E148 Safari/605.1.15":                            "Firefox on iPhone",
		windows + chrome: "Chrome on Windows",
		mac + chrome:     "Chrome on macOS",
		android + chrome: "Chrome on Android",
		"Mozilla/5.0 (X11; CrOS x86_64 14541.0.0)" + chrome:                              "Chrome on ChromeOS",
		iPhone + " CriOS/131.0 Mobile/15E148 Safari/604.1":                               "Chrome on iPhone",
		windows + chrome + " Edg/131.0.0.0":                                              "Edge on Windows",
		android + chrome + " EdgA/131.0":                                                 "Edge on Android",
		linux + chrome + " OPR/115.0.0.0":                                                "Opera on Linux",
		mac + chrome + " Vivaldi/7.0":                                                    "Vivaldi on macOS",
		android + " AppleWebKit/537.36 SamsungBrowser/27.0 Chrome/125.0":                 "Samsung Internet on Android",
		mac + " AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Safari/605.1.15":   "Safari on macOS",
		iPhone + " Version/18.0 Mobile/15E148 Safari/604.1":                              "Safari on iPhone",
		"Mozilla/5.0 (iPad; CPU OS 16_0 like Mac OS X) Version/16.0 Mobile Safari/604.1": "Safari on iPad",
		"Firefox/133.0":                          "Firefox",
		"curl/8.5.0":                             "curl",
		"Go-http-client/1.1":                     "Go-http-client",
		"Larder Sync":                            "Larder",
		"  python-requests/2.32.3 (Windows)":     "python-requests",
		windows:                                  "Mozilla",
		"":                                       "",
		"   ":                                    "",
		"/":                                      "",
		"\x1b[31mred\x00 x\xff":                  "[31mred",
		strings.Repeat("é", 400) + "/1":          strings.Repeat("é", 60),
		strings.Repeat("\u202e", 3) + "evil/1.0": "evil",
	}
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newFixture(t, d)
		for agent, want := range agents {
			u := w.addUser(fmt.Sprint("user", w.sessionRows()))
			w.issueFrom(u, account.Origin{Agent: agent, IP: netip.MustParseAddr("::ffff:192.0.2.7")})
			if got := w.listed(u); len(got) != 1 || got[0].Device != want || got[0].IP != "192.0.2.7" {
				t.Errorf("%.60q: %+v, want %q from 192.0.2.7", agent, got, want)
			}
		}
	})
}

// What is stored of a User-Agent ends between two characters, at 300 bytes at most.
func TestLongAgentIsCutBetweenCharacters(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newFixture(t, d)
		for i, c := range []struct{ agent, want string }{
			{strings.Repeat("a", 300), strings.Repeat("a", 300)},
			{strings.Repeat("a", 301), strings.Repeat("a", 300)},
			{strings.Repeat("a", 299) + "éb", strings.Repeat("a", 299)},
			{strings.Repeat("a", 298) + "éb", strings.Repeat("a", 298) + "é"},
			{strings.Repeat("猫", 101), strings.Repeat("猫", 100)},
			{"a" + strings.Repeat("猫", 100), "a" + strings.Repeat("猫", 99)},
			{strings.Repeat("a", 297) + "🐈b", strings.Repeat("a", 297)},
			{strings.Repeat("a", 1<<20), strings.Repeat("a", 300)},
			{strings.Repeat("\xff\x01", 100) + "b", "b"},
		} {
			u := w.addUser("user" + string(rune('a'+i)))
			w.issueFrom(u, account.Origin{Agent: c.agent})
			var got string
			if err := d.Read(context.Background()).QueryRow("SELECT agent FROM sessions WHERE user_id = $1", u.ID).
				Scan(&got); err != nil || got != c.want {
				t.Errorf("%d: stored %d bytes %q, want %d: %v", i, len(got), got, len(c.want), err)
			}
		}
	})
}
