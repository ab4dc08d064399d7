package api_test

import (
	"strings"
	"testing"

	"larder/internal/apptest"
)

// Bytes are served by the permissions at the time of the request. Both replicas have cached the
// file, the credential and the rules. One of them makes a change, and each replica applies it to
// the next request (abuse cases C31, C49).
func TestBytesFollowCurrentPermissions(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice := l.User(t, "alice")
		id := alice.Upload("/home/alice", "f.png", []byte(onePixel))
		// getFromBothReplicas sends two requests, which the replicas take in turn.
		getFromBothReplicas := func(c *apptest.Client, path string, check func(r *apptest.Reply)) {
			for range 2 {
				check(c.Get(path, "Accept", "image/*"))
			}
		}
		wantBytes := func(r *apptest.Reply) { wantBody(t, r.OK(200), onePixel) }
		wantFailure := func(status int, code string) func(r *apptest.Reply) {
			return func(r *apptest.Reply) { r.Fails(status, code) }
		}
		for name, path := range map[string]string{"by path": "/home/alice/f.png",
			"by id": "/api/files/" + id + "/download"} {
			t.Run(name, func(t *testing.T) {
				alice := l.SignIn(t, "alice", "password of alice") // the logout below ends every session
				const missing = "/api/files/" + unknownID + "/download"
				// nor does the answer reveal whether the file exists
				for _, first := range []string{path, missing, "/home/alice/none.png"} {
					key := alice.Key(M{})
					getFromBothReplicas(key, path, wantBytes)
					token, _, _ := strings.Cut(strings.TrimPrefix(key.Header.Get("Authorization"), "Bearer "), ".")
					alice.Delete("/api/keys/" + token).OK(200)
					getFromBothReplicas(key, first, wantFailure(401, "INVALID_TOKEN"))
				}

				getFromBothReplicas(alice, path, wantBytes)
				deny := M{"pathPattern": "/home/alice/f.png", "effect": "deny", "role": "user",
					"permissions": []string{"download"}}
				rule := l.Admin(t).Post("/api/admin/rules", deny).OK(201).Text("rule.id")
				getFromBothReplicas(alice, path, wantFailure(403, "FORBIDDEN"))
				l.Admin(t).Delete("/api/admin/rules/" + rule).OK(200)
				getFromBothReplicas(alice, path, wantBytes)

				other := l.SignIn(t, "alice", "password of alice")
				getFromBothReplicas(other, path, wantBytes)
				other.Fork().Post("/api/auth/logout", M{}).OK(200)
				// on a public path, an ended session counts as no credential
				ended := map[string]string{"by path": "UNAUTHORIZED", "by id": "SESSION_REVOKED"}[name]
				getFromBothReplicas(other, path, wantFailure(401, ended))
				getFromBothReplicas(alice, path, wantFailure(401, ended))
			})
		}
	})
}
