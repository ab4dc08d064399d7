package files_test

import (
	"net/netip"
	"regexp"
	"testing"

	"larder/internal/access"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/files"
)

func TestPublicPathServing(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		h.mustUpload(h.admin, "/public/a.txt", "public")
		h.mustUpload(h.ann, "/home/ann/b.txt", "private")
		locked := h.createFolder(h.admin, "/public/locked")
		h.mustUpload(h.admin, "/public/locked/c.txt", "locked")
		h.protectEntry(locked.ID)
		for _, c := range []struct {
			who  access.Actor
			path string
			want string
			kind fault.Kind
		}{
			{h.visitor, "/public/a.txt", "public", 0},
			{h.bob, "/public/a.txt", "public", 0},
			{h.ann, "/home/ann/b.txt", "private", 0},
			{h.visitor, "/public/absent", "", fault.NotFound},
			{h.visitor, "/public", "", fault.NotFound},
			{h.visitor, "/home/ann/b.txt", "", fault.Unauthorized},
			{h.visitor, "/home/ann/absent", "", fault.Unauthorized},
			{h.visitor, "/absent/deeper", "", fault.Unauthorized},
			{h.visitor, "/home", "", fault.Unauthorized},
			{h.bob, "/home/ann/b.txt", "", fault.Forbidden},
			{h.bob, "/home/ann/absent", "", fault.Forbidden},
			{h.ann, "/home/ann/absent", "", fault.NotFound},
			{h.ann, "/home/ann", "", fault.NotFound},
			{h.ann, "/home/ann/b.txt/deeper", "", fault.NotFound},
			{h.visitor, "/public/locked/c.txt", "", fault.PasswordRequired},
			{h.visitor, "/public/locked/absent", "", fault.PasswordRequired},
			{h.admin, "/public/locked/c.txt", "", fault.PasswordRequired},
		} {
			what := c.who.UserID + " gets " + c.path
			got, err := h.readPath(c.who, c.path)
			switch {
			case c.want == "":
				h.wantFault(what, err, c.kind)
			case err != nil || got != c.want:
				t.Errorf("%s: %q, %v", what, got, err)
			}
		}
		for p, public := range map[string]bool{"/public/a.txt": true, "/home/ann/b.txt": false} {
			c, err := h.tree.ByPath(t.Context(), h.ann, mustParsePath(p))
			h.must(err)
			if c.Public != public || !regexp.MustCompile(`^"[0-9a-f]{32}"$`).MatchString(c.ETag) ||
				c.Modified != h.clock() {
				t.Errorf("%s: %+v", p, c)
			}
		}
		// A new rule applies to the next request, although rules are cached.
		h.addRule(access.Rule{Pattern: "/public/a.txt", Effect: access.Deny, Role: access.Guest})
		_, err := h.readPath(h.visitor, "/public/a.txt")
		h.wantFault("denied a moment ago", err, fault.Unauthorized)
	})
}

// When a store has lost an object or cannot be reached, the fault is never NotFound.
func TestUnopenableContentIsNotReportedMissing(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		dest, err := h.tree.ResolveDestination(t.Context(), h.ann, mustParsePath("/home/ann"), "x", files.Fail)
		h.must(err)
		s := h.storeContent("x")
		_, err = h.putEntry(h.ann, dest, s)
		h.must(err)
		store, err := h.reg.Store(t.Context(), "local")
		h.must(err)
		h.must(store.Delete(t.Context(), s.Key))
		c, err := h.tree.ByPath(t.Context(), h.ann, mustParsePath("/home/ann/x"))
		h.must(err)
		_, err = c.Open(t.Context())
		h.wantFault("an object that is lost", err, fault.Unavailable)
	})
}

func TestPermanentLinks(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		f := h.mustUpload(h.ann, "/home/ann/Photo.JPEG", "bytes")
		link, err := h.tree.Link(t.Context(), h.ann, f.ID)
		h.must(err)
		if !regexp.MustCompile(`^[0-9A-Za-z]{22}$`).MatchString(link.ID) || link.Ext != "jpeg" {
			t.Errorf("made %+v", link)
		}
		again, err := h.tree.Link(t.Context(), h.ann, f.ID)
		h.must(err)
		if again != link {
			t.Errorf("asked again: %+v, want %+v", again, link)
		}
		checkLink := func(what string, want bool) {
			t.Helper()
			c, err := h.tree.ByLink(t.Context(), link.ID)
			if want && (err != nil || h.readContent(c) != "bytes" || !c.Public) {
				t.Errorf("%s: %v", what, err)
			}
			if !want {
				h.wantFault(what, err, fault.NotFound)
			}
			p, err := h.tree.PublicAccess(t.Context(), f.ID)
			h.must(err)
			if (p.Link != nil) != want {
				t.Errorf("%s: published %+v", what, p)
			}
		}
		checkLink("a new link", true)
		_, err = h.tree.Rename(t.Context(), h.ann, f.ID, "other.png")
		h.must(err)
		checkLink("after a rename", true)

		h.inactive["ann"] = true
		checkLink("the owner is not active", false)
		h.inactive["ann"] = false

		checkWithRule := func(what string, r access.Rule) {
			t.Helper()
			id := h.addRule(r)
			checkLink(what, false)
			h.write(func(tx *db.Tx) error { return h.rules.Delete(tx, id) })
			checkLink("after: "+what, true)
		}
		checkWithRule("the owner may not share",
			access.Rule{Pattern: "/home/**", Effect: access.Deny, Role: access.User,
				Permissions: access.Set(access.Share)})
		checkWithRule("the owner may not download",
			access.Rule{Pattern: "/home/**", Effect: access.Deny, UserID: "ann",
				Permissions: access.Set(access.Download)})
		checkWithRule("guests need an address",
			access.Rule{Pattern: "/home/**", Effect: access.Allow, Role: access.Guest,
				AllowedIPs: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}})
		checkWithRule("guests need a password",
			access.Rule{Pattern: "/home/**", Effect: access.Allow, Role: access.Guest, RequirePassword: true})

		h.guests = false
		h.write(func(tx *db.Tx) error { return tx.BumpConfig() })
		checkLink("without guest access", false)
		h.guests = true
		h.write(func(tx *db.Tx) error { return tx.BumpConfig() })
		checkLink("with guest access", true)

		_, err = h.tree.Link(t.Context(), h.bob, f.ID)
		h.wantFault("made by an actor who may not share", err, fault.Forbidden)
		h.wantFault("revoked by an actor who may not share", h.tree.Unlink(t.Context(), h.bob, f.ID), fault.Forbidden)
		_, err = h.tree.Link(t.Context(), h.ann, h.ann.HomeID)
		h.wantFault("for a folder", err, fault.Invalid)
		h.must(h.tree.Unlink(t.Context(), h.admin, f.ID))
		checkLink("revoked", false)
		h.must(h.tree.Unlink(t.Context(), h.ann, f.ID))
		renewed, err := h.tree.Link(t.Context(), h.ann, f.ID)
		h.must(err)
		if renewed.ID == link.ID || renewed.Ext != "png" {
			t.Errorf("a new link after a revocation: %+v, want another id and the extension png", renewed)
		}
		link = renewed
		h.protectEntry(h.ann.HomeID)
		checkLink("a password above it", false)
	})
}

func TestLinkExtensions(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		for name, want := range map[string]string{
			"noext": "txt", "strange.täst": "txt", "long.abcdefghijk": "txt", "a.tar.GZ": "gz", ".hidden": "hidden",
			"dot.": "txt",
		} {
			f := h.mustUpload(h.ann, "/home/ann/"+name, "x") // text/plain
			link, err := h.tree.Link(t.Context(), h.ann, f.ID)
			h.must(err)
			if link.Ext != want {
				t.Errorf("%q: %q, want %q", name, link.Ext, want)
			}
		}
		dest, err := h.tree.ResolveDestination(t.Context(), h.ann, mustParsePath("/home/ann"), "unknown", files.Fail)
		h.must(err)
		s := h.storeContent("x")
		s.MimeType = "application/x-never-heard-of"
		h.write(func(tx *db.Tx) error {
			e, err := h.tree.Put(t.Context(), tx, h.ann, dest, s)
			if err != nil {
				return err
			}
			link, err := h.tree.LinkTx(tx, e.ID)
			if err == nil && link.Ext != "bin" {
				t.Errorf("an unknown type: %q, want bin", link.Ext)
			}
			return err
		})
	})
}

func TestPublishedPath(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		public, private := h.mustUpload(h.admin, "/public/a", "x"), h.mustUpload(h.ann, "/home/ann/a", "x")
		p, err := h.tree.PublicAccess(t.Context(), public.ID)
		h.must(err)
		if p.Link != nil || p.Path == nil || p.Path.String() != "/public/a" {
			t.Errorf("public: %+v", p)
		}
		if p, err = h.tree.PublicAccess(t.Context(), private.ID); err != nil || p != (files.PublicAccess{}) {
			t.Errorf("private: %+v, %v", p, err)
		}
	})
}
