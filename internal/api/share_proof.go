package api

import (
	"net/http"
	"slices"
	"strings"

	"larder/internal/files"
	"larder/internal/share"
)

// ShareCookie is the prefix of the names of the cookies that list the passwords given to a share.
// The share's id follows it. The signed value contains the id as well, so that a cookie copied to
// another share is not valid there, even if that share has the same password (abuse case C46).
const ShareCookie = "share_auth_"

const shareProofPurpose = "share" // of the key that signs them

// shareProofs returns the passwords that the caller has given to the share with that id, from the
// share's signed cookie. A cookie that is forged, damaged, expired or for another share counts as
// none.
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

// visitor returns the caller as a visitor of the share with that id: the address, and the ids of
// the passwords given to this share, with more added. No other rights of the caller count.
func (c *call) visitor(id string, more ...string) share.Visitor {
	v := share.Visitor{IP: c.ip, PasswordIDs: more}
	for _, p := range c.shareProofs(id) {
		v.PasswordIDs = append(v.PasswordIDs, p.id)
	}
	return v
}

// accessExpiresIn returns in how many milliseconds the first of the passwords that the caller has
// given for the visit expires; nil if the visit needs none.
func (c *call) accessExpiresIn(visit *share.Visit) *int64 {
	var first *int64
	for _, p := range c.shareProofs(visit.ID) {
		needed := slices.ContainsFunc(visit.Passwords, func(r files.RequiredPassword) bool { return r.ID == p.id })
		if left := p.expires - c.a.Now().UnixMilli(); needed && (first == nil || left < *first) {
			first = &left
		}
	}
	return first
}

// addShareProofs sets the share's cookie to the passwords in the request's cookie and those with
// the ids in given. The page of the share fetches files with its own requests, which carry the
// cookie although it is SameSite=Strict.
func (c *call) addShareProofs(id string, given []string) {
	http.SetCookie(c.w, &http.Cookie{
		Name: ShareCookie + id, Value: c.a.Secrets.Sign(shareProofPurpose,
			[]byte(id+";"+c.formatProofs(c.shareProofs(id), given))),
		Path: "/api/shares/" + id, MaxAge: int(proofLifetime.Seconds()), HttpOnly: true, Secure: c.a.secure,
		SameSite: http.SameSiteStrictMode,
	})
}
