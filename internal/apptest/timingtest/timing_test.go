// Package timingtest compares requests to the running service whose answers must not reveal which
// case applies, such as a known or an unknown user name: neither by their content nor by the time
// that they take.
//
// The two requests of a case are sent as a pair, in alternating order. LARDER_TEST_PAIRS sets the
// number of pairs and makes the test compare the median times: scripts/soak sets it to 500 on an
// otherwise idle machine. Without it the test sends a few pairs and compares only the answers.
package timingtest

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"larder/internal/apptest"
	"larder/internal/config"
	"larder/internal/db"
)

// M is a JSON object.
type M = apptest.M

// maxDifference is the largest allowed difference between the medians, relative to the smaller one.
const maxDifference = 0.05

// pair is two requests whose answers must be equal.
type pair struct {
	name   string
	status int // expected of both answers
	ask    [2]timedRequest
}

// timedRequest sends one request; i differs in each call.
type timedRequest struct {
	what string
	send func(c *apptest.Client, i int, header ...string) *apptest.Reply
}

// Equal requests about different cases get equal answers that take equally long (abuse case C48).
func TestAnswersTakeAsLong(t *testing.T) {
	pairs, timed := 3, false
	if text := os.Getenv("LARDER_TEST_PAIRS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			t.Fatalf("LARDER_TEST_PAIRS: %q is not a number of pairs", text)
		}
		pairs, timed = n, true
	}
	l := apptest.StartWithRealHashes(t, "sqlite", apptest.TrustLoopback, func(cfg *config.Config) {
		cfg.RateLimitEnabled, cfg.AuthRateLimit = false, 1<<30
	})
	for _, p := range cases(t, l) {
		t.Run(p.name, func(t *testing.T) { p.run(t, l, pairs, timed) })
	}
}

// cases creates the accounts, keys and shares and returns the pairs.
func cases(t *testing.T, l *apptest.Larder) []pair {
	alice := l.User(t, "alice")
	resting := idOf(l.User(t, "disabled").Key(M{"protocols": []string{"webdav"}}))
	l.User(t, "waiting")
	err := l.Apps[0].DB.Write(t.Context(), func(tx *db.Tx) error {
		_, err := tx.Exec(
			"UPDATE users SET status = 'disabled', session_version = session_version + 1 WHERE username = 'disabled'")
		if err == nil {
			_, err = tx.Exec("UPDATE users SET email_verified = FALSE WHERE username = 'waiting'")
		}
		if err != nil {
			return err
		}
		return tx.BumpConfig()
	})
	if err != nil {
		t.Fatal(err)
	}
	l.Mailbox(t)
	login := func(what, username string) timedRequest {
		return timedRequest{what, func(c *apptest.Client, i int, header ...string) *apptest.Reply {
			return c.Post("/api/auth/login", M{"username": username, "password": fmt.Sprintf("wrong password %06d", i)},
				header...)
		}}
	}
	mailed := func(path, what string, address func(i int) string) timedRequest {
		return timedRequest{what, func(c *apptest.Client, i int, header ...string) *apptest.Reply {
			return c.Post(path, M{"email": address(i)}, header...)
		}}
	}
	const forgot, resend = "/api/auth/forgot-password", "/api/auth/resend-verification"
	unknown := counted("nobody%06d@example.org")
	id, drive := idOf(alice.Key(M{})), idOf(alice.Key(M{"protocols": []string{"webdav"}}))
	key := func(what string, id func(i int) string) timedRequest {
		return timedRequest{what, func(c *apptest.Client, i int, header ...string) *apptest.Reply {
			return c.Get("/api/files?path=/uploads",
				append(header, "Authorization", fmt.Sprintf("Bearer %s.sk_%048d", id(i), i))...)
		}}
	}
	basic := func(what string, id func(i int) string) timedRequest {
		return timedRequest{what, func(c *apptest.Client, i int, header ...string) *apptest.Reply {
			credential := base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "%s:sk_%048d", id(i), i))
			h := http.Header{"Authorization": {"Basic " + credential}, "Depth": {"0"}}
			for n := 0; n+1 < len(header); n += 2 {
				h.Set(header[n], header[n+1])
			}
			return c.Do(apptest.Request{Method: "PROPFIND", Path: "/webdav/uploads", Header: h})
		}}
	}
	l.User(t, "tired")
	for i := range 20 {
		for _, name := range []string{"noone", "tired"} {
			from := fmt.Sprintf("10.9.%d.%d", len(name), i) // attempts are limited by address as well
			l.Client(t).Post("/api/auth/login", M{"username": name, "password": "wrong"}, "X-Forwarded-For", from)
		}
	}
	own, files := shares(alice)
	verify := func(what, share, password string) timedRequest {
		return timedRequest{what, func(c *apptest.Client, i int, header ...string) *apptest.Reply {
			return c.Post("/api/shares/"+share+"/verify", M{"password": password}, header...)
		}}
	}
	return []pair{
		// first: cases that move the clock allow these accounts new attempts
		{"login refused, unknown and known user name", 429,
			[2]timedRequest{login("unknown", "noone"), login("known", "tired")}},
		{"login, unknown user name and wrong password", 401,
			[2]timedRequest{login("unknown user name", "nobody"), login("a wrong password", "alice")}},
		{"login, wrong password and disabled account", 401,
			[2]timedRequest{login("a wrong password", "alice"), login("a disabled account", "disabled")}},
		{"login, wrong password and unverified account", 401,
			[2]timedRequest{login("a wrong password", "alice"), login("an unverified account", "waiting")}},
		{"login, unknown and known address", 401,
			[2]timedRequest{login("unknown", "nobody@example.org"), login("known", "alice@example.org")}},
		{"forgot-password, unknown and known", 200,
			[2]timedRequest{mailed(forgot, "unknown", unknown),
				mailed(forgot, "known", constant("alice@example.org"))}},
		{"resend-verification, unknown and waiting", 200,
			[2]timedRequest{mailed(resend, "unknown", unknown),
				mailed(resend, "waiting", constant("waiting@example.org"))}},
		{"resend-verification, verified and waiting", 200,
			[2]timedRequest{mailed(resend, "verified", constant("alice@example.org")),
				mailed(resend, "waiting", constant("waiting@example.org"))}},
		{"share, wrong password and correct prefix", 401,
			[2]timedRequest{verify("wrong", own, "a wrong password"),
				verify("correct prefix", own, "a right passwore")}},
		{"share, own password and password of the file", 401,
			[2]timedRequest{verify("own password", own, "a wrong password"),
				verify("password of the file", files, "a wrong password")}},
		{"key, unknown id and wrong secret", 401,
			[2]timedRequest{key("unknown id", counted("pk_%024d")), key("a wrong secret", constant(id))}},
		{"WebDAV, unknown id and wrong secret", 401,
			[2]timedRequest{basic("unknown id", counted("pk_%024d")), basic("a wrong secret", constant(drive))}},
		{"WebDAV, wrong secret and key of a disabled account", 401,
			[2]timedRequest{basic("a wrong secret", constant(drive)),
				basic("key of a disabled account", constant(resting))}},
	}
}

func counted(format string) func(int) string {
	return func(i int) string { return fmt.Sprintf(format, i) }
}

// idOf returns the id of the API key that a client sends.
func idOf(key *apptest.Client) string {
	id, _, _ := strings.Cut(strings.TrimPrefix(key.Header.Get("Authorization"), "Bearer "), ".")
	return id
}

func constant(text string) func(int) string { return func(int) string { return text } }

// shares creates a share with its own password and a share of a file with a password.
func shares(c *apptest.Client) (own, files string) {
	open, locked := c.Upload("/home/alice", "open.txt", []byte("x")), c.Upload("/home/alice", "locked.txt", []byte("x"))
	c.Put("/api/files/"+locked, M{"accessPassword": "a right password"}).OK(200)
	share := func(body M) string { return c.Post("/api/shares/", body).OK(201).Text("share.id") }
	return share(M{"fileId": open, "password": "a right password"}), share(M{"fileId": locked})
}

func (p pair) run(t *testing.T, l *apptest.Larder, pairs int, timed bool) {
	c := l.Client(t)
	var took [2][]time.Duration
	for i := -2; i < pairs; i++ { // two pairs to warm up
		var said [2]string
		if p.status == 401 {
			l.Clock.Advance(2 * time.Minute) // wrong passwords are limited by target
		}
		for turn := range 2 {
			which := (turn + i&1) % 2
			from := fmt.Sprintf("10.%d.%d.%d", 1+which, (i+2)/250, (i+2)%250+1) // wrong answers are limited by address
			begin := time.Now()
			reply := p.ask[which].send(c, i+2, "X-Forwarded-For", from)
			if d := time.Since(begin); i >= 0 {
				took[which] = append(took[which], d)
			}
			said[which] = fmt.Sprint(reply.Status, " ", withoutTimestamp([]byte(reply.BodyWithoutID())))
			if reply.Err != nil || reply.Status != p.status {
				t.Fatalf("%s: %d %v %s, want %d", p.ask[which].what, reply.Status, reply.Err, reply.Body, p.status)
			}
		}
		if said[0] != said[1] {
			t.Fatalf("%s: %s\n%s: %s", p.ask[0].what, said[0], p.ask[1].what, said[1])
		}
	}
	a, b := median(took[0]), median(took[1])
	apart := float64(max(a, b)-min(a, b)) / float64(min(a, b))
	t.Logf("%d pairs: %s %s, %s %s, %.1f %% apart", pairs, p.ask[0].what, a, p.ask[1].what, b, 100*apart)
	if timed && apart > maxDifference {
		t.Errorf("the medians differ by %.1f %%, want at most %.0f %%", 100*apart, 100*maxDifference)
	}
}

// timestamp matches the time in an answer.
var timestamp = regexp.MustCompile(`"timestamp":\d+`)

func withoutTimestamp(body []byte) string { return timestamp.ReplaceAllString(string(body), "") }

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}
