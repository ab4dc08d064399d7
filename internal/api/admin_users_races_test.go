package api_test

import (
	"fmt"
	"testing"

	"larder/internal/apptest"
)

// adminEnding is a request that ends an administrator's rights.
type adminEnding struct {
	what string
	ask  func(c *apptest.Client, id string) *apptest.Reply
}

var adminEndings = []adminEnding{
	{"demote", func(c *apptest.Client, id string) *apptest.Reply { return updateUser(c, id, M{"role": "user"}) }},
	{"disable", func(c *apptest.Client, id string) *apptest.Reply {
		return updateUser(c, id, M{"status": "disabled"})
	}},
	{"delete", func(c *apptest.Client, id string) *apptest.Reply { return c.Delete("/api/admin/users/" + id) }},
}

// Abuse case C54: two administrators who remove each other, or themselves, concurrently leave one.
func TestConcurrentRemovalOfLastAdministrators(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		first := l.Admin(t)
		serial := 0
		for _, one := range adminEndings {
			for _, other := range adminEndings {
				for _, themselves := range []bool{false, true} {
					if themselves && (one.what == "delete" || other.what == "delete") {
						continue
					}
					serial++
					var clients [2]*apptest.Client
					var ids [2]string
					for i := range clients {
						name := fmt.Sprintf("boss%d_%d", serial, i)
						clients[i] = l.User(t, name, M{"role": "admin"})
						ids[i] = userIDOf(t, first, name)
					}
					execAndRaiseVersion(t, l, "UPDATE users SET status = 'disabled' WHERE username = 'admin'")
					at := [2]string{ids[1], ids[0]}
					if themselves {
						at = ids
					}
					replies := runConcurrently(t, clients[0], 2, func(c *apptest.Client, i int) *apptest.Reply {
						return []adminEnding{one, other}[i].ask(clients[i].In(t), at[i])
					})
					what := fmt.Sprintf("%s against %s, themselves: %v", one.what, other.what, themselves)
					if count := countStatuses(t, replies); count[200] != 1 {
						t.Errorf("%s: answers %v", what, count)
					}
					if n := queryInt(t, l,
						"SELECT count(*) FROM users WHERE role = 'admin' AND status = 'active'"); n != 1 {
						t.Errorf("%s: %d administrators are left", what, n)
					}
					execAndRaiseVersion(t, l, "UPDATE users SET status = 'active' WHERE username = 'admin'")
					execAndRaiseVersion(t, l, "UPDATE users SET role = 'user' WHERE username LIKE 'boss%'")
				}
			}
		}
		checkOwnershipAndCharges(t, l, "afterwards")
	})
}

// Nothing that is made in the name of an account remains when the account is deleted concurrently.
func TestAccountDeletionAgainstConcurrentWrites(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin := l.Admin(t)
		for round := range 3 {
			name := fmt.Sprint("user", round)
			user := l.User(t, name)
			id, home := userIDOf(t, admin, name), "/home/"+name
			kept := user.Upload(home, "kept", []byte("12"))
			link := user.Post("/api/files/"+kept+"/link", nil).OK(200).Text("link.url")
			var ready [3][2]string
			for i := range ready {
				upload := newUploadSession(user, home, fmt.Sprint("f", i), 1)
				ready[i] = [2]string{upload, putRaw(user, upload, []byte("x")).OK(200).Text("etag")}
			}
			before, _ := usedQuota(admin)
			replies := runConcurrently(t, user, 14, func(c *apptest.Client, i int) *apptest.Reply {
				switch {
				case i == 5:
					return admin.Fork().Delete("/api/admin/users/" + id)
				case i < 3:
					return completeUpload(c, ready[i][0], ready[i][1])
				case i < 7:
					return c.Post("/api/keys/",
						M{"name": "k", "permissions": []string{"read"}, "protocols": []string{"api"},
							"uploadPath": home})
				case i < 9:
					return c.Post("/api/files/folder", M{"path": home, "name": fmt.Sprint("d", i)})
				case i < 11:
					return c.Post("/api/files/"+kept+"/copy", M{"targetPath": home, "newName": fmt.Sprint("c", i)})
				case i < 13:
					return c.Post("/api/files/upload-session",
						M{"path": home, "fileName": fmt.Sprint("s", i), "fileSize": 5})
				default: // another account takes the name
					return admin.Fork().Post("/api/admin/users",
						M{"username": name, "email": name + "@example.org", "password": "another password"})
				}
			})
			countStatuses(t, replies)
			replies[5].OK(200)
			checkOwnershipAndCharges(t, l, fmt.Sprint("round ", round))
			if r := replies[13]; r.Status != 201 {
				r.Fails(409, "ALREADY_EXISTS")
			}
			wantBody(t, l.Client(t).Get(link).OK(200), "12")
			if after, _ := usedQuota(admin); after < before+2 {
				t.Errorf("%d bytes, there were %d", after, before)
			}
			user.Get("/api/auth/me").Fails(401, "SESSION_REVOKED")
		}
	})
}
