package oracletest

import (
	"context"
	"crypto/sha256"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"larder/internal/apptest"
	"larder/internal/config"
	"larder/internal/secret"
	"larder/internal/site"
)

var (
	worlds   = flag.Int("worlds", 600, "how many random worlds to check on each engine")
	seed     = flag.Uint64("seed", 1, "seed of the first world; each further one has the next")
	probes   = flag.Int("probes", 30, "requests in each world")
	shown    = flag.Int("shown", 1, "how many differences of a kind are printed with their world")
	endpoint = flag.String("endpoint", "", "send requests only to this endpoint")
)

// TestRightsAgainstOracle sends requests to every endpoint in random worlds and compares each
// answer with the naive implementation. Abuse case C34, and all others in which a user would see,
// count or change rows of others.
func TestRightsAgainstOracle(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		b := newOracle(t, l)
		for i := range *worlds {
			b.world(*seed + uint64(i))
		}
		b.report()
	}, apptest.TrustLoopback, func(cfg *config.Config) { cfg.RateLimitEnabled = false })
}

// oracle is a running service that receives one world after another.
type oracle struct {
	t                *testing.T
	l                *apptest.Larder
	accounts         []*user
	clients          map[string]*apptest.Client // by user name, "" for a visitor
	keys             *apptest.Client
	object, provider string
	guests           bool
	secrets          *secret.Keyring // the service's own, to sign the proofs of given passwords

	w       *world
	seed    uint64
	d       random
	printed uint64 // seed of the world printed last

	outcomes    map[string]int // number of answers by endpoint and outcome
	differences map[string]int
}

func newOracle(t *testing.T, l *apptest.Larder) *oracle {
	b := &oracle{t: t, l: l, clients: map[string]*apptest.Client{"": l.Client(t), "admin": l.Admin(t)}, guests: true,
		keys: l.Client(t), outcomes: map[string]int{}, differences: map[string]int{}}
	for _, name := range []string{"ann", "bob", "cid"} {
		b.clients[name] = l.User(t, name)
	}
	b.clients["gus"] = l.User(t, "gus", apptest.M{"role": "guest"})
	for _, name := range []string{"admin", "ann", "bob", "cid", "gus"} {
		me := b.clients[name].Get("/api/auth/me").OK(200)
		b.accounts = append(b.accounts, &user{id: me.Text("user.id"), name: name, role: me.Text("user.role")})
	}
	master := sha256.Sum256([]byte(t.Name()))
	var err error
	if b.secrets, err = secret.New(master[:]); err != nil {
		t.Fatal(err)
	}
	file := b.clients["admin"].Upload("/", "content.png", []byte("x"))
	if b.object, b.provider, err = sharedObject(context.Background(), l.Apps[0].DB, file); err != nil {
		t.Fatal(err)
	}
	return b
}

// world tests one world.
func (o *oracle) world(seed uint64) {
	o.seed, o.d = seed, random{rand.New(rand.NewPCG(seed, 0))}
	o.w = newWorld(o.d, o.accounts)
	if o.w.guests != o.guests {
		o.guests = o.w.guests
		o.l.ChangeSettings(o.t, func(s *site.Settings) { s.AllowGuestAccess = o.guests })
	}
	if err := o.w.put(context.Background(), o.l.Apps[0].DB, o.provider, o.object, o.now()); err != nil {
		o.t.Fatalf("seed %d: %v\n%s", seed, err, o.w)
	}
	for range *probes {
		o.probe()
	}
}

func (o *oracle) now() int64 { return o.l.Clock.Now().UnixMilli() }

func (o *oracle) restore() {
	if err := o.w.restore(context.Background(), o.l.Apps[0].DB, o.object, o.now()); err != nil {
		o.t.Fatalf("seed %d: %v", o.seed, err)
	}
}

// caller picks the caller and the address.
func (o *oracle) caller() caller {
	c := caller{ip: pick(o.d, addresses)}
	switch n := o.d.IntN(100); {
	case n < 14:
	case n < 38 && len(o.w.keys) > 0:
		c.key = pick(o.d, o.w.keys)
		c.user = c.key.owner
	default:
		c.user = pick(o.d, o.w.users)
		if c.user.role == "admin" && o.d.chance(60) { // administrators are allowed nearly everything
			c.user = pick(o.d, o.w.users)
		}
	}
	if ids := o.w.passwords(); len(ids) > 0 && o.d.chance(45) {
		for range 1 + o.d.IntN(2) {
			c.given = append(c.given, pick(o.d, ids))
		}
	}
	return c
}

// passwords returns the ids of the entries and rules with a password.
func (w *world) passwords() (ids []string) {
	for _, e := range w.entries {
		if e.password {
			ids = append(ids, e.id)
		}
	}
	for _, r := range w.rules {
		if r.password {
			ids = append(ids, r.id)
		}
	}
	return ids
}

// proofs returns the cookie value of a caller who has given passwords.
func (o *oracle) proofs(c caller) string {
	var items []string
	for _, id := range c.given {
		name := proofOf(id)
		if slices.ContainsFunc(o.w.rules, func(r *rule) bool { return r.id == id }) {
			name = proofOfRule(id)
		}
		items = append(items, fmt.Sprintf("%d:%s", o.now()+1000, name))
	}
	return strings.Join(items, ",")
}

// send sends a request as a caller.
func (o *oracle) send(c caller, method, path string, body any) *apptest.Reply {
	client := o.clients[""]
	switch {
	case c.key != nil:
		client = o.keys
		client.Header.Set("Authorization", "Bearer "+c.key.id+"."+c.key.secret)
	case c.user != nil:
		client = o.clients[c.user.name]
	}
	client.Header.Set("X-Forwarded-For", c.ip)
	delete(client.Cookies, "unlocked")
	if c.given != nil {
		client.Cookies["unlocked"] = o.secrets.Sign("unlocked", []byte(o.proofs(c)))
	}
	reply := client.Do(apptest.Request{Method: method, Path: path, Body: body})
	if reply.Err != nil {
		o.t.Fatalf("seed %d: %s %s: %v", o.seed, method, path, reply.Err)
	}
	return reply
}

// describeReply returns the status of an answer and the code of an error.
func describeReply(r *apptest.Reply) string {
	if r.Status < 400 {
		return fmt.Sprint(r.Status)
	}
	_, rest, _ := strings.Cut(string(r.Body), `"code":"`)
	code, _, _ := strings.Cut(rest, `"`)
	return fmt.Sprint(r.Status, " ", code)
}

// compare records an answer and reports whether it is expected.
func (o *oracle) compare(endpoint string, c caller, request, got string, want answer) bool {
	o.outcomes[endpoint+": "+summary(got)]++
	if slices.Contains(want, got) {
		return true
	}
	class := fmt.Sprintf("%s: got %s, want %s", endpoint, summary(got), summary(want[0]))
	if o.differences[class]++; o.differences[class] <= *shown {
		text := ""
		if o.printed != o.seed {
			text, o.printed = o.w.String(), o.seed
		}
		o.t.Errorf("-args -seed %d -worlds 1: %s: %s\n  %s\n  got  %s\n  want %s\n%s", o.seed, endpoint, c, request,
			got, strings.Join(want, " or "), text)
	}
	return false
}

// summary removes what differs between worlds.
func summary(outcome string) string {
	words, _, more := strings.Cut(outcome, "\t")
	if more {
		return words + "…"
	}
	return words
}

func (o *oracle) report() {
	o.t.Helper()
	for _, line := range slices.Sorted(maps.Keys(o.outcomes)) {
		o.t.Logf("%6d %s", o.outcomes[line], line)
	}
	for _, line := range slices.Sorted(maps.Keys(o.differences)) {
		o.t.Errorf("%6d differences at %s", o.differences[line], line)
	}
}
