package files_test

import (
	"testing"

	"larder/internal/access"
	"larder/internal/fault"
	"larder/internal/files"
)

// Each kind of link requires its own permission. A password hides the file's name only where it
// hides the file in listings too.
func TestCopyLinksCheckEachKindSeparately(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		dir := h.createFolder(h.admin, "/public/dir")
		file := h.mustUpload(h.admin, "/public/f", "x")
		inside := h.mustUpload(h.admin, "/public/dir/in", "x")
		closed := h.mustUpload(h.admin, "/public/closed", "x")
		h.addRule(access.Rule{Pattern: "/public/closed", Effect: access.Deny, Role: access.Guest,
			Permissions: access.Set(access.Download), Priority: 1})
		h.addRule(access.Rule{Pattern: "/public/closed", Effect: access.Deny, Role: access.User,
			Permissions: access.Set(access.Download), Priority: 1})
		hers := h.mustUpload(h.ann, "/home/ann/f", "x")
		h.protectEntry(file.ID)
		h.protectEntry(dir.ID)

		ids := []string{file.ID, inside.ID, dir.ID, closed.ID, hers.ID, "none"}
		for name, c := range map[string]struct {
			who          access.Actor
			plain, signs []any // the fault, or whether a password is needed
		}{
			"bob": {h.bob, []any{true, fault.PasswordRequired, true, false, fault.Forbidden,
				fault.NotFound}, []any{true, fault.PasswordRequired, true, fault.Forbidden, fault.Forbidden,
				fault.NotFound}},
			"ann": {h.ann, []any{true, fault.PasswordRequired, true, false, false, fault.NotFound},
				[]any{true, fault.PasswordRequired, true, fault.Forbidden, false, fault.NotFound}},
			"an administrator": {h.admin, []any{true, true, true, false, false, fault.NotFound},
				[]any{true, true, true, false, false, fault.NotFound}},
		} {
			for _, signed := range []bool{false, true} {
				wants := c.plain
				if signed {
					wants = c.signs
				}
				links, err := h.tree.CopyLinks(t.Context(), c.who, ids, signed)
				h.must(err)
				for i, link := range links {
					switch want := wants[i].(type) {
					case fault.Kind:
						h.wantFault(name+": "+ids[i], link.Err, want)
						if link.Entry.Name != "" || link.Content != "" {
							t.Errorf("%s: a refusal reveals %+v", name, link)
						}
					case bool:
						if link.Err != nil || link.NeedsPassword != want || link.Entry.ID != ids[i] ||
							(link.Content == "") != link.Entry.Folder {
							t.Errorf("%s: %s, signed %v: %+v", name, ids[i], signed, link)
						}
					}
				}
			}
		}
	})
}

// A public listing depends on the passwords given with the request and on no other right of the
// caller.
func TestListPublicIgnoresCallersRights(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		box := h.createFolder(h.admin, "/public/box")
		h.mustUpload(h.admin, "/public/box/in", "x")
		h.mustUpload(h.ann, "/home/ann/f", "x")
		h.protectEntry(box.ID)
		list := func(a access.Actor, p string) error {
			_, err := h.tree.ListPublic(t.Context(), a, files.ListQuery{Path: mustParsePath(p), Page: 1, Limit: 10})
			return err
		}
		for _, who := range []access.Actor{h.visitor, h.ann, h.admin} {
			h.wantFault("without the password", list(who, "/public/box"), fault.PasswordRequired)
			who.Unlocked = []string{"another", box.ID}
			h.must(list(who, "/public/box"))
			h.wantFault("a home", list(who, "/home/ann"), fault.Unauthorized)
			h.wantFault("nothing", list(who, "/home/ann/none"), fault.Unauthorized)
		}
	})
}
