package api

import (
	"net/http"
	"strings"

	"larder/internal/share"
)

// ShareCookie is what the names of the cookies begin with that hold which passwords were given to a
// share. The share's id follows, and stands in what is signed as well: copied to another share it
// says nothing there, though that may have the same password (abuse case C46).
const ShareCookie = "share_auth_"

const shareProofPurpose = "share" // of the key that signs them

// shareProofs reads which passwords the caller has given to a share. A cookie that is forged,
// damaged, expired or another share's counts as none.
func (c *call) shareProofs(id string) []proof {
	cookie, err := c.r.Cookie(ShareCookie + id)
	if err != nil || cookie.Value == "" {
		return nil
	}
	payload, err := c.a.Secrets.Verify(shareProofPurpose, cookie.Value)
	if err != nil {
		return nil
	}
	of, list, _ := strings.Cut(string(payload), ";")
	if of != id {
		return nil
	}
	return c.parseProofs(list)
}

// visitor is the caller as they stand before a share: from where, and with what they have given to
// it. Nothing else of theirs counts.
func (c *call) visitor(id string, more ...string) share.Visitor {
	v := share.Visitor{IP: c.ip, PasswordIDs: more}
	for _, p := range c.shareProofs(id) {
		v.PasswordIDs = append(v.PasswordIDs, p.id)
	}
	return v
}

// addShareProofs adds passwords that were given to the share's cookie. A page of the share asks for
// them with requests of its own, which carry the cookie however strict it is.
func (c *call) addShareProofs(id string, given []string) {
	http.SetCookie(c.w, &http.Cookie{
		Name: ShareCookie + id, Value: c.a.Secrets.Sign(shareProofPurpose,
			[]byte(id+";"+c.formatProofs(c.shareProofs(id), given))),
		Path: "/api/shares/" + id, MaxAge: int(proofLifetime.Seconds()), HttpOnly: true, Secure: c.a.secure,
		SameSite: http.SameSiteStrictMode,
	})
}
