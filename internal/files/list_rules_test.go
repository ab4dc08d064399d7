package files_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"larder/internal/access"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/vpath"
)

// Listings and searches show entries, and the folders that lead to them, by the rules alone.
func TestListByRules(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		for _, p := range []string{"/wing", "/wing/read", "/wing/read/deep", "/wing/drop", "/wing/drop/box",
			"/wing/way", "/wing/way/to", "/wing/way/to/it", "/wing/office", "/wing/closed"} {
			h.createFolder(h.admin, p)
		}
		for _, p := range []string{"/wing/plan.txt", "/wing/read/a.txt", "/wing/read/deep/b.txt",
			"/wing/drop/others.txt", "/wing/drop/box/in.txt", "/wing/way/no.txt", "/wing/way/to/it/yes.txt",
			"/wing/office/o.txt", "/wing/closed/c.txt"} {
			h.mustUpload(h.admin, p, "x")
		}
		read := access.Set(access.Read)
		h.addRule(access.Rule{Pattern: "/wing/read/**", Effect: access.Allow, Role: access.User, Permissions: read})
		h.addRule(access.Rule{Pattern: "/wing/drop/**", Effect: access.Allow, Role: access.User,
			Permissions: access.Set(access.Write)})
		h.addRule(access.Rule{Pattern: "/wing/way/to/it/**", Effect: access.Allow, Role: access.Guest,
			Permissions: read})
		h.addRule(access.Rule{Pattern: "/wing/office/**", Effect: access.Allow, Role: access.User, Permissions: read,
			AllowedIPs: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}})
		h.addRule(access.Rule{Pattern: "/wing/read/deep/**", Effect: access.Deny, UserID: "bob"})
		mine := h.mustUpload(h.ann, "/wing/drop/mine.txt", "x")

		inOffice := h.ann
		inOffice.IP = netip.MustParseAddr("10.1.2.3")
		confined, free := h.ann, h.ann
		confined.Key = &access.Key{ID: "k", Permissions: access.Set(access.Read | access.Write),
			Root: mustParsePath("/wing/drop"), RootOnly: true}
		free.Key = &access.Key{ID: "k", Permissions: access.Set(access.Read | access.Write),
			Root: mustParsePath("/wing/drop")}
		for _, c := range []struct {
			name, path, search string
			who                access.Actor
			want               string
		}{
			{"readable, writable and parent folders are listed", "/wing", "", h.ann, "/wing/drop /wing/read /wing/way"},
			{"entries that guests may see are listed for users", "/wing/way", "", h.ann, "/wing/way/to"},
			{"a denied folder is listed for others", "/wing/read", "", h.ann, "/wing/read/deep /wing/read/a.txt"},
			{"denied to the subject of the rule", "/wing/read", "", h.bob, "/wing/read/a.txt"},
			{"own entries in a write-only folder", "/wing/drop", "", h.ann, "/wing/drop/box /wing/drop/mine.txt"},
			{"folder with only the caller's entries", "/wing/drop", "", h.bob, "/wing/drop/box"},
			{"an address that is allowed", "/wing", "", inOffice, "/wing/drop /wing/office /wing/read /wing/way"},
			{"a visitor sees the parent folders", "/", "", h.visitor, "/public /wing"},
			{"a visitor sees only the parent folders", "/wing", "", h.visitor, "/wing/way"},
			{"a key in its root", "/wing", "", confined, "/wing/drop"},
			{"a key that reads everywhere", "/wing", "", free, "/wing/drop /wing/read /wing/way"},
			{"search", "/", "txt", h.ann,
				"/wing/read/a.txt /wing/read/deep/b.txt /wing/drop/mine.txt /wing/way/to/it/yes.txt"},
			{"search, with a deny", "/", "txt", h.bob, "/wing/read/a.txt /wing/way/to/it/yes.txt"},
			{"search from the office", "/", "o.txt", inOffice, "/wing/office/o.txt"},
			{"search from another address", "/", "o.txt", h.ann, ""},
			{"search by a visitor", "/", "t", h.visitor, "/wing/way/to/it /wing/way/to /wing/way/to/it/yes.txt"},
			{"search by a key", "/", "txt", confined, "/wing/drop/mine.txt"},
			{"an administrator's search", "/wing", "txt", h.admin,
				"/wing/read/a.txt /wing/read/deep/b.txt /wing/closed/c.txt /wing/drop/box/in.txt /wing/drop/mine.txt " +
					"/wing/way/no.txt /wing/office/o.txt /wing/drop/others.txt /wing/plan.txt /wing/way/to/it/yes.txt"},
		} {
			if got := strings.Join(h.searchPaths(c.who, files.ListQuery{Path: mustParsePath(c.path), Search: c.search}),
				" "); got != c.want {
				t.Errorf("%s: %s, want %s", c.name, got, c.want)
			}
		}
		if mine.OwnerID != "ann" {
			t.Errorf("mine.txt belongs to %s", mine.OwnerID)
		}
		h.guests = false
		h.write(func(tx *db.Tx) error { return tx.BumpConfig() })
		if got := h.searchPaths(h.ann, files.ListQuery{Path: mustParsePath("/wing")}); !slices.Equal(got,
			[]string{"/wing/drop", "/wing/read"}) {
			t.Errorf("without guest access: %q", got)
		}
	})
}

// Abuse case C28: patterns of file names are applied in order, and hidden entries are not counted.
func TestListByPatternsOfNames(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		h.createFolder(h.admin, "/shots")
		for _, name := range []string{"a.jpg", "b.JPG", "c.raw", "d.raw.jpg", "e_1.png", "ex1.png", "f100%.txt",
			"é.raw", "é.gif"} {
			h.mustUpload(h.admin, "/shots/"+name, "x")
		}
		h.exec("UPDATE entries SET owner_id = 'ann' WHERE name IN ('c.raw', 'f100%.txt')")
		read := access.Set(access.Read)
		h.addRule(access.Rule{Pattern: "/shots/**", Effect: access.Allow, Role: access.Guest,
			Permissions: access.Set(access.Write)})
		h.addRule(access.Rule{Pattern: "/shots/*.jpg", Effect: access.Allow, Role: access.User, Permissions: read})
		h.addRule(access.Rule{Pattern: "/shots/*.raw*", Effect: access.Deny, Role: access.User, Permissions: read,
			Priority: 1})
		h.addRule(access.Rule{Pattern: "/shots/e_*", Effect: access.Allow, Role: access.User, Permissions: read})
		h.addRule(access.Rule{Pattern: "/shots/?.gif", Effect: access.Allow, Role: access.Guest, Permissions: read})
		for _, c := range []struct {
			who  access.Actor
			want []string
		}{
			{h.ann, []string{"a.jpg", "e_1.png", "f100%.txt", "é.gif"}}, // c.raw is hers and denied; f100%.txt is hers
			{h.bob, []string{"a.jpg", "e_1.png", "é.gif"}},
			{h.visitor, []string{"é.gif"}},
			{h.admin, []string{"a.jpg", "b.JPG", "c.raw", "d.raw.jpg", "e_1.png", "ex1.png", "f100%.txt", "é.gif",
				"é.raw"}},
		} {
			for _, search := range []string{"", "."} {
				if got := h.listNames(c.who, files.ListQuery{Path: mustParsePath("/shots"),
					Search: search}); !slices.Equal(got, c.want) {
					t.Errorf("%s searching %q: %q, want %q", c.who.UserID, search, got, c.want)
				}
			}
			l, err := h.tree.List(t.Context(), c.who,
				files.ListQuery{Path: mustParsePath("/shots"), Page: len(c.want), Limit: 1})
			h.must(err)
			if l.Total != len(c.want) || len(l.Items) != 1 || l.Items[0].Name != c.want[len(c.want)-1] {
				t.Errorf("%s, last page: %d of %d", c.who.UserID, len(l.Items), l.Total)
			}
		}
		for i := range maxGlobs + 1 { // more than one query takes
			h.addRule(access.Rule{Pattern: "/shots/" + strings.Repeat("?", i+1) + ".png", Effect: access.Allow,
				UserID: "bob", Permissions: read})
		}
		if got, want := h.listFolder(h.bob, "/shots"), []string{"a.jpg", "e_1.png", "ex1.png",
			"é.gif"}; !slices.Equal(got, want) {
			t.Errorf("many patterns: %q, want %q", got, want)
		}
	})
}

// maxGlobs is the number of patterns that one query takes.
const maxGlobs = 32

// Abuse case C33: a pattern that is costly in other matchers is fast here.
func TestListIsFastWithCostlyPatterns(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		for i := range 20 {
			h.mustUpload(h.admin, "/public/"+strings.Repeat("a", 230+i), "x")
		}
		h.addRule(access.Rule{Pattern: "/public/" + strings.Repeat("*a", 30) + "*b", Effect: access.Deny,
			Role: access.User})
		start := time.Now()
		if got := h.listFolder(h.ann, "/public"); len(got) != 20 {
			t.Errorf("%d names, want 20", len(got))
		}
		if took := time.Since(start); took > time.Minute {
			t.Errorf("took %v", took)
		}
	})
}

// Abuse cases C7 and C8: rules and names are compared in NFC, with case.
func TestListByNFCAndCase(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		h.mustUpload(h.admin, "/public/cafe\u0301/x.txt", "x")
		h.mustUpload(h.admin, "/public/Secret/x.txt", "x")
		h.mustUpload(h.admin, "/public/secret/y.txt", "x")
		h.addRule(access.Rule{Pattern: "/public/caf\u00e9/**", Effect: access.Deny, Role: access.User})
		h.addRule(access.Rule{Pattern: "/public/Secret/**", Effect: access.Deny, Role: access.User})
		if got, want := h.listFolder(h.ann, "/public"), []string{"secret/"}; !slices.Equal(got, want) {
			t.Errorf("listing: %q, want %q", got, want)
		}
		if got, want := h.searchPaths(h.ann, files.ListQuery{Path: mustParsePath("/public"),
			Search: "TXT"}), []string{"/public/secret/y.txt"}; !slices.Equal(got, want) {
			t.Errorf("search: %q, want %q", got, want)
		}
		for _, p := range []string{"/public/cafe\u0301", "/public/caf\u00e9", "/public/Secret"} {
			_, err := h.tree.List(t.Context(), h.ann, files.ListQuery{Path: mustParsePath(p), Page: 1, Limit: 1})
			h.wantFault(p, err, fault.Forbidden)
		}
		if got := h.listFolder(h.admin, "/public/cafe\u0301"); !slices.Equal(got, []string{"x.txt"}) {
			t.Errorf("by NFD: %q", got)
		}
	})
}

// A password hides everything below it. Of nested passwords, the nearest counts, in listings and
// searches alike.
func TestListBehindPasswords(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		outer := h.createFolder(h.admin, "/public/outer")
		inner := h.createFolder(h.admin, "/public/outer/inner")
		h.createFolder(h.admin, "/public/outer/inner/deep")
		h.mustUpload(h.admin, "/public/outer/o.txt", "x")
		h.mustUpload(h.admin, "/public/outer/inner/i.txt", "x")
		h.mustUpload(h.admin, "/public/outer/inner/deep/d.txt", "x")
		h.protectEntry(outer.ID)
		h.protectEntry(inner.ID)
		withUnlocked := func(a access.Actor, ids ...string) access.Actor { a.Unlocked = ids; return a }
		key, adminKey := h.ann, h.admin
		key.Key = &access.Key{ID: "k", Permissions: access.Set(access.Read), Root: vpath.Root}
		adminKey.Key = key.Key
		all := "/public/outer/inner/deep /public/outer/inner /public/outer /public/outer/inner/deep/d.txt " +
			"/public/outer/inner/i.txt /public/outer/o.txt"
		for _, c := range []struct {
			name string
			who  access.Actor
			want string
		}{
			{"nobody's", h.ann, "/public/outer"},
			{"the outer one", withUnlocked(h.ann, outer.ID), "/public/outer/inner /public/outer /public/outer/o.txt"},
			{"the inner one, nearer to its contents", withUnlocked(h.ann, inner.ID),
				"/public/outer/inner/deep /public/outer /public/outer/inner/deep/d.txt /public/outer/inner/i.txt"},
			{"both", withUnlocked(h.ann, outer.ID, inner.ID), all},
			{"a visitor's", withUnlocked(h.visitor, outer.ID, inner.ID), all},
			{"an administrator's", h.admin, all},
			{"the administrator's key", adminKey, all},
			{"ann's key sees the same as ann without the password", key, "/public/outer"},
			{"a key cannot give one", withUnlocked(key, outer.ID, inner.ID), "/public/outer"},
		} {
			found := h.searchPaths(c.who, files.ListQuery{Path: mustParsePath("/public")})
			if !slices.Equal(found, []string{"/public/outer"}) {
				t.Errorf("%s: listing %q", c.name, found)
			}
			var got []string
			for _, search := range []string{"e", ".txt"} { // deep, inner and outer contain an e
				got = append(got, h.searchPaths(c.who,
					files.ListQuery{Path: mustParsePath("/public"), Search: search})...)
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("%s: %q, want %s", c.name, got, c.want)
			}
		}
	})
}

// Abuse case C108: a search is limited.
func TestSearchIsBounded(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		for _, search := range []string{strings.Repeat("x", 10<<10), strings.Repeat("é", 256), "\xff", "a\x00"} {
			_, err := h.tree.List(t.Context(), h.ann, files.ListQuery{Search: search, Page: 1, Limit: 1})
			h.wantFault("search", err, fault.Invalid)
		}
		if got := h.listNames(h.ann, files.ListQuery{Search: strings.Repeat("%", 255)}); len(got) != 0 {
			t.Errorf("found %q", got)
		}
	})
}
