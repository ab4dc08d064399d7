package account

import (
	"net/netip"
	"strings"
	"unicode/utf8"

	"larder/internal/vpath"
)

const (
	maxAgent  = 300 // bytes of a stored User-Agent
	maxDevice = 60  // runes of a device without a known browser
)

// Origin is where a request comes from.
type Origin struct {
	Agent string // User-Agent
	IP    netip.Addr
}

// row returns the row of a session with that id that begins at the origin, without its times. The
// versions are those of the user under which the session is issued.
func (o Origin) row(id, userID string, sessionVersion, roleVersion int64) sessionRow {
	r := sessionRow{id: id, userID: userID, sessionVersion: sessionVersion, roleVersion: roleVersion,
		agent: cleanAgent(o.Agent)}
	if o.IP.IsValid() {
		r.ip = o.IP.Unmap().WithZone("").String()
	}
	return r
}

// cleanAgent returns a User-Agent in the form in which the database stores it: valid UTF-8 of at
// most maxAgent bytes, without control characters and text-direction overrides.
func cleanAgent(agent string) string {
	agent = agent[:min(len(agent), 8*maxAgent)] // bounds the work; what is dropped makes room for more
	agent = strings.Map(func(r rune) rune {
		if vpath.IsUnprintable(r) || r == utf8.RuneError {
			return -1
		}
		return r
	}, agent)
	if len(agent) <= maxAgent {
		return agent
	}
	end := maxAgent
	for !utf8.RuneStart(agent[end]) {
		end--
	}
	return agent[:end]
}

// browsers and systems are marks in a User-Agent with their names. Browsers also bear the marks of
// those that they descend from, so the first that matches counts. The same holds for systems.
var (
	browsers = [][2]string{
		{"Edg/", "Edge"}, {"EdgA/", "Edge"}, {"EdgiOS/", "Edge"}, {"OPR/", "Opera"}, {"OPT/", "Opera"},
		{"SamsungBrowser/", "Samsung Internet"}, {"Vivaldi/", "Vivaldi"}, {"YaBrowser/", "Yandex Browser"},
		{"MicroMessenger/", "WeChat"}, {"FxiOS/", "Firefox"}, {"Firefox/", "Firefox"}, {"CriOS/", "Chrome"},
		{"Chromium/", "Chromium"}, {"Chrome/", "Chrome"}, {"Safari/", "Safari"},
	}
	systems = [][2]string{
		{"iPhone", "iPhone"}, {"iPad", "iPad"}, {"Android", "Android"}, {"Windows", "Windows"}, {"CrOS", "ChromeOS"},
		{"Mac OS X", "macOS"}, {"Macintosh", "macOS"}, {"Linux", "Linux"}, {"FreeBSD", "FreeBSD"},
		{"OpenBSD", "OpenBSD"},
	}
)

// deviceOf describes for people the device that sent a User-Agent, such as "Firefox on Windows".
// For a program that is no known browser it is the name of its first product, such as "curl"; ""
// for an empty User-Agent.
func deviceOf(agent string) string {
	browser := firstMark(agent, browsers)
	if browser == "" {
		product, _, _ := strings.Cut(strings.TrimSpace(agent), " ")
		product, _, _ = strings.Cut(product, "/")
		if runes := []rune(product); len(runes) > maxDevice {
			product = string(runes[:maxDevice])
		}
		return product
	}
	if system := firstMark(agent, systems); system != "" {
		return browser + " on " + system
	}
	return browser
}

// firstMark returns the name (the second text) of the first of marks whose first text is in text,
// "" for none.
func firstMark(text string, marks [][2]string) string {
	for _, m := range marks {
		if strings.Contains(text, m[0]) {
			return m[1]
		}
	}
	return ""
}
