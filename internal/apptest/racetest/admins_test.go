package racetest

import (
	"fmt"
	"slices"
	"testing"

	"larder/internal/apptest"
	"larder/internal/config"
)

// accountEnding is a request that removes an administrator's rights.
type accountEnding struct {
	name string
	ask  func(c *apptest.Client, id string) *apptest.Reply
}

// administrator is an administrator.
type administrator struct {
	*apptest.Client
	id, name string
}

// Two administrators demote, disable and delete each other, or themselves, in parallel. One
// administrator remains and restores the other (abuse case C54).
func TestRacesOfAdministrators(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		w := &world{Larder: l, admin: l.Admin(t)}
		put := func(body M) func(c *apptest.Client, id string) *apptest.Reply {
			return func(c *apptest.Client, id string) *apptest.Reply { return c.Put("/api/admin/users/"+id, body) }
		}
		endings := []accountEnding{
			{"demote", put(M{"role": "user"})}, {"disable", put(M{"status": "disabled"})},
			{"delete", func(c *apptest.Client, id string) *apptest.Reply { return c.Delete("/api/admin/users/" + id) }},
		}
		chiefs := [2]administrator{w.newAdministrator(t, "chief0"), w.newAdministrator(t, "chief1")}
		w.change(t, "UPDATE users SET status = 'disabled' WHERE username = 'admin'")
		for round := range peopleRounds {
			ways := [2]accountEnding{endings[round%3], endings[round/3%3]}
			at := [2]string{chiefs[1].id, chiefs[0].id}
			themselves := round%4 == 3 && round%3 != 2 && round/3%3 != 2
			if themselves {
				at = [2]string{chiefs[0].id, chiefs[1].id}
			}
			what := fmt.Sprintf("round %d, %s against %s, themselves: %v", round, ways[0].name, ways[1].name,
				themselves)
			replies := runAtOnce(t,
				func() *apptest.Reply { return ways[0].ask(chiefs[0].Fork(), at[0]) },
				func() *apptest.Reply { return ways[1].ask(chiefs[1].Fork(), at[1]) },
			)
			winner := slices.IndexFunc(replies, func(r *apptest.Reply) bool { return r.Status == 200 })
			if n := w.count(t, "SELECT COUNT(*) FROM users WHERE role = 'admin' AND status = 'active'"); n != 1 ||
				winner < 0 || replies[1-winner].Status == 200 {
				t.Fatalf("%s: %d administrators are left; answers %d and %d", what, n, replies[0].Status,
					replies[1].Status)
			}
			lost := winner // the administrator who succeeded against themselves
			if !themselves {
				lost = 1 - winner
			}
			chiefs[lost] = w.restored(t, chiefs[1-lost], chiefs[lost], ways[winner].name == "delete", round)
		}
	}, func(cfg *config.Config) { cfg.RateLimitEnabled = false })
}

func (w *world) newAdministrator(t *testing.T, name string) administrator {
	t.Helper()
	c := w.User(t, name, M{"role": "admin"})
	return administrator{c, c.Get("/api/auth/me").OK(200).Text("user.id"), name}
}

// restored makes the remaining administrator restore or replace the other one, and signs that one
// in.
func (w *world) restored(t *testing.T, left, lost administrator, deleted bool, round int) administrator {
	t.Helper()
	if !deleted {
		left.Put("/api/admin/users/"+lost.id, M{"role": "admin", "status": "active"}).OK(200)
		lost.Client = w.SignIn(t, lost.name, "password of "+lost.name)
		return lost
	}
	name := fmt.Sprint("heir", round)
	left.Post("/api/admin/users", M{"username": name, "email": name + "@example.org", "password": "password of " + name,
		"role": "admin"}).OK(201)
	c := w.SignIn(t, name, "password of "+name)
	return administrator{c, c.Get("/api/auth/me").OK(200).Text("user.id"), name}
}
