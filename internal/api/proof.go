package api

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ProofCookie is the name of the cookie that lists the passwords of folders and rules that the
// caller has given. It contains the ids of passwords, never the passwords. A new password has
// another id.
const ProofCookie = "unlocked"

const (
	proofLifetime = 15 * time.Minute // from when a password was given
	maxProofs     = 32               // in one cookie; the oldest are dropped
	proofPurpose  = "unlocked"       // of the key that signs them
	clockSlack    = time.Hour        // how far the clocks of replicas may differ; see docs/decisions.md: Clocks
)

// proof states that a password was given.
type proof struct {
	id      string // of the password
	expires int64  // ms
}

// givenPasswords returns the ids of the passwords that the caller has given, from the signed
// ProofCookie, and keeps the proofs in c.proofs. A cookie that is forged or damaged, and a proof
// that has expired, count as none.
func (c *call) givenPasswords() []string {
	cookie, err := c.r.Cookie(ProofCookie)
	if err != nil || cookie.Value == "" {
		return nil
	}
	payload, err := c.a.Secrets.Verify(proofPurpose, cookie.Value)
	if err != nil {
		return nil
	}
	var ids []string
	for _, p := range c.parseProofs(string(payload)) {
		c.proofs, ids = append(c.proofs, p), append(ids, p.id)
	}
	return ids
}

// addProofs adds the passwords with these ids, which the caller has just given, to the signed
// ProofCookie.
func (c *call) addProofs(ids []string) {
	c.setProofs(c.a.Secrets.Sign(proofPurpose, []byte(c.formatProofs(c.proofs, ids))), int(proofLifetime.Seconds()))
}

// parseProofs reads the text that formatProofs writes, and returns the proofs that are valid now:
// neither expired, nor further in the future than the clocks of replicas may differ.
func (c *call) parseProofs(list string) (proofs []proof) {
	now := c.a.Now()
	latest := now.Add(proofLifetime + clockSlack).UnixMilli()
	for item := range strings.SplitSeq(list, ",") {
		at, id, _ := strings.Cut(item, ":")
		expires, err := strconv.ParseInt(at, 10, 64)
		if err != nil || id == "" || expires <= now.UnixMilli() || expires > latest {
			continue
		}
		proofs = append(proofs, proof{id, expires})
	}
	return proofs
}

// formatProofs returns the text of proofs for a cookie, "<ms>:<id>" joined by commas: the existing
// ones in had, and new ones for ids that expire after proofLifetime. Beyond maxProofs it drops
// those that expire first.
func (c *call) formatProofs(had []proof, ids []string) string {
	expires := c.a.Now().Add(proofLifetime).UnixMilli()
	all := slices.DeleteFunc(slices.Clone(had), func(p proof) bool { return slices.Contains(ids, p.id) })
	for _, id := range ids {
		all = append(all, proof{id, expires})
	}
	slices.SortStableFunc(all, func(a, b proof) int { return cmp.Compare(a.expires, b.expires) })
	all = all[max(0, len(all)-maxProofs):]
	items := make([]string, len(all))
	for i, p := range all {
		items[i] = strconv.FormatInt(p.expires, 10) + ":" + p.id
	}
	return strings.Join(items, ",")
}

// clearProofs clears the ProofCookie if the request has one, so that given passwords no longer
// count.
func (c *call) clearProofs() {
	if _, err := c.r.Cookie(ProofCookie); err == nil {
		c.setProofs("", -1)
	}
}

// setProofs sets the ProofCookie, which lists given passwords, to a signed value for maxAge
// seconds; a negative maxAge clears it.
func (c *call) setProofs(value string, maxAge int) {
	http.SetCookie(c.w, &http.Cookie{Name: ProofCookie, Value: value, Path: "/", MaxAge: maxAge, HttpOnly: true,
		Secure: c.a.secure, SameSite: http.SameSiteStrictMode})
}
