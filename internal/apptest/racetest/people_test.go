package racetest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"testing"
	"time"

	"larder/internal/apptest"
	"larder/internal/config"
)

func TestRacesOfPeople(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		w := &world{Larder: l, admin: l.Admin(t), box: l.Mailbox(t)}
		w.run(t, cases{
			"C49 a password is reset once": oneReset, "a verification link works repeatedly": sameVerification,
			"C50 five tries of a code":            fiveTries,
			"three codes in a quarter of an hour": threeCodes, "C51 an invite is used once": oneInvited,
			"C51 a name is registered once": oneRegistered,
			"C89 one more key":              oneMoreKey, "no setting is lost": changedSettings,
			"an account is deleted while it creates entries": deletingAccount,
			"C84 a share's token gives the file once":        oneShareToken, "C85 one download": oneDownload,
			"C85 three views":     threeViews,
			"C86 a revoked share": revokedShare, "a changed share": changedShare,
		})
	}, func(cfg *config.Config) { cfg.RateLimitEnabled = false })
}

// mailed creates a token as in a mail to a user, without the mail, since an account gets only three
// mails in 15 minutes.
func (w *world) mailed(t *testing.T, username, purpose string, serial int) (token string) {
	t.Helper()
	token = fmt.Sprintf("%.1s%042d", purpose, serial)
	sum := sha256.Sum256([]byte(token))
	w.change(t, `
		INSERT INTO mailed_tokens (hash, user_id, purpose, email_fold, expires_at, created_at)
		SELECT CAST($1 AS TEXT), id, CAST($2 AS TEXT), email_fold, CAST($3 AS BIGINT), 0 FROM users WHERE username = $4`,
		hex.EncodeToString(sum[:]), purpose, w.Clock.Now().Add(10*time.Minute).UnixMilli(), username)
	return token
}

// oneReset: of 4 parallel uses of one reset token one sets the password, and the sessions end once
// (abuse case C49). There are few, since each may hash; the endpoint's own test uses many.
func oneReset(t *testing.T, w *world) {
	w.User(t, "max")
	visitor, password := w.Client(t), ""
	sessions := func() int { return w.count(t, "SELECT session_version FROM users WHERE username = 'max'") }
	before := sessions()
	for round := range peopleRounds {
		token := w.mailed(t, "max", "reset", round)
		var asks []call
		for i := range 4 {
			asks = append(asks, func() *apptest.Reply {
				return visitor.Fork().Post("/api/auth/reset-password",
					M{"token": token, "password": fmt.Sprintf("password %d of %d", i, round)})
			})
		}
		won := 0
		for i, r := range runAtOnce(t, asks...) {
			if r.Status == 200 {
				won++
				password = fmt.Sprintf("password %d of %d", i, round)
				continue
			}
			r.Fails(400, "VALIDATION_ERROR")
		}
		if n := sessions() - before; won != 1 || n != round+1 {
			t.Errorf("round %d: %d set the password; it was set %d times so far", round, won, n)
		}
	}
	w.SignIn(t, "max", password)
}

// sameVerification: 8 parallel uses of one verification link all succeed.
func sameVerification(t *testing.T, w *world) {
	w.User(t, "ned")
	visitor := w.Client(t)
	link := "/api/auth/verify-email?token=" + w.mailed(t, "ned", "verify", 0)
	for round := range peopleRounds {
		w.change(t, "UPDATE users SET email_verified = FALSE WHERE username = 'ned'")
		for _, r := range runAtOnce(t, repeat(8, func() *apptest.Reply { return visitor.Fork().Get(link) })...) {
			r.OK(200)
		}
		if w.count(t, "SELECT COUNT(*) FROM users WHERE username = 'ned' AND email_verified") != 1 {
			t.Errorf("round %d: the address is not verified", round)
		}
	}
}

var sixDigits = regexp.MustCompile(`\b[0-9]{6}\b`)

// fiveTries: of 12 parallel wrong codes five are evaluated, and the right code is invalid
// afterwards. Of 24 wrong codes in an hour beside the right one 19 are answered (abuse case C50).
func fiveTries(t *testing.T, w *world) {
	const address = "olga@new.example.org"
	olga := w.User(t, "olga")
	id := olga.Get("/api/auth/me").OK(200).Text("user.id")
	for round := range peopleRounds {
		w.change(t, "DELETE FROM email_codes WHERE user_id = $1", id)
		w.change(t, "DELETE FROM wrong_codes WHERE user_id = $1", id)
		olga.Post("/api/users/me/email/send-otp", M{"email": address}).OK(200)
		right, wrong := sixDigits.FindString(w.box.Next(address).Text), "000000"
		if right == wrong {
			wrong = "111111"
		}
		try := func(code string) *apptest.Reply {
			return olga.Fork().Post("/api/users/me/email/verify-otp", M{"email": address, "code": code})
		}
		first := countStatuses(runAtOnce(t, repeat(12, func() *apptest.Reply { return try(wrong) })...))
		if n := w.count(t, "SELECT attempts FROM email_codes WHERE user_id = $1", id); n != 5 || first[400] != 12 {
			t.Errorf("round %d: answers %v, %d were evaluated", round, first, n)
		}
		try(right).Fails(400, "VALIDATION_ERROR")
		if then := countStatuses(runAtOnce(t,
			repeat(12, func() *apptest.Reply { return try(wrong) })...)); then[400] != 7 ||
			then[429] != 5 {
			t.Errorf("round %d: answers %v after 13 wrong ones", round, then)
		}
	}
}

// threeCodes: three codes are mailed in 15 minutes, for the requests of one user, and for those of
// several users to one address.
func threeCodes(t *testing.T, w *world) {
	var people [6]*apptest.Client
	for i := range people {
		people[i] = w.User(t, fmt.Sprint("paul", i))
	}
	three := func(round int, what string, who func(i int) *apptest.Client, address func(i int) string) {
		t.Helper()
		w.change(t, "DELETE FROM email_codes WHERE email_fold LIKE 'paul%'")
		var asks []call
		for i := range people {
			asks = append(asks, func() *apptest.Reply {
				return who(i).Fork().Post("/api/users/me/email/send-otp", M{"email": address(i)})
			})
		}
		replies := runAtOnce(t, asks...)
		if n := countStatuses(replies); n[200] != 3 || n[429] != 3 {
			t.Errorf("round %d, %s: answers %v", round, what, n)
		}
		for i, r := range replies {
			if r.Status == 200 {
				w.box.Next(address(i))
			}
		}
	}
	for round := range peopleRounds {
		three(round, "one user", func(int) *apptest.Client { return people[0] },
			func(i int) string { return fmt.Sprintf("paul-%d@new.example.org", i) })
		three(round, "one address", func(i int) *apptest.Client { return people[i] },
			func(int) string { return "paul@new.example.org" })
	}
}

func (w *world) invite(t *testing.T, uses int) (code string) {
	t.Helper()
	return w.admin.In(t).Post("/api/admin/invites", M{"maxUses": uses}).OK(201).Text("invite.code")
}

func register(c *apptest.Client, name, address, invite string) *apptest.Reply {
	return c.Post("/api/auth/register", M{"username": name, "email": address + "@example.org",
		"password": "a good password", "inviteCode": invite})
}

// oneInvited: of 3 parallel registrations with an invite for one, one succeeds (abuse case C51).
func oneInvited(t *testing.T, w *world) {
	visitor := w.Client(t)
	for round := range peopleRounds {
		code := w.invite(t, 1)
		var asks []call
		for i := range 3 {
			name := fmt.Sprintf("quin%dx%d", round, i)
			asks = append(asks, func() *apptest.Reply { return register(visitor.Fork(), name, name, code) })
		}
		in := 0
		for _, r := range runAtOnce(t, asks...) {
			if r.Status == 201 {
				in++
				continue
			}
			r.Fails(403, "FORBIDDEN")
		}
		used := w.count(t, "SELECT used_count FROM invites WHERE code = $1", code)
		users := w.count(t, "SELECT COUNT(*) FROM users WHERE username LIKE $1", fmt.Sprintf("quin%dx%%", round))
		if in != 1 || used != 1 || users != 1 {
			t.Errorf("round %d: %d got in, %d uses, %d accounts", round, in, used, users)
		}
	}
}

// oneRegistered: of two parallel registrations of one name or address in different case one
// succeeds, and the other uses up no invite (abuse case C51).
func oneRegistered(t *testing.T, w *world) {
	visitor, code := w.Client(t), w.invite(t, 10000)
	for round := range peopleRounds {
		names := [2]string{fmt.Sprint("ROSA", round), fmt.Sprint("rosa", round)}
		addresses := [2]string{fmt.Sprint("rosa", round), fmt.Sprint("anna", round)}
		if round%2 == 1 {
			names, addresses = addresses, names
		}
		in := 0
		for _, r := range runAtOnce(t,
			func() *apptest.Reply { return register(visitor.Fork(), names[0], addresses[0], code) },
			func() *apptest.Reply { return register(visitor.Fork(), names[1], addresses[1], code) },
		) {
			if r.Status == 201 {
				in++
				continue
			}
			r.Fails(409, "ALREADY_EXISTS")
		}
		if used := w.count(t, "SELECT used_count FROM invites WHERE code = $1", code); in != 1 || used != round+1 {
			t.Errorf("round %d: %d got in, %d uses so far", round, in, used)
		}
	}
}

// oneMoreKey: a user with 19 active keys gets one more, of 8 created in parallel, and of 20 expired
// ones renewed in parallel (abuse case C89).
func oneMoreKey(t *testing.T, w *world) {
	sam := w.User(t, "sam")
	id := sam.Get("/api/auth/me").OK(200).Text("user.id")
	create := func(name string) *apptest.Reply {
		return sam.Fork().Post("/api/keys/", M{"name": name, "permissions": []string{"read"},
			"protocols": []string{"api"}})
	}
	expire := func() { w.change(t, "UPDATE api_keys SET expires_at = 1 WHERE user_id = $1 AND name = 'old'", id) }
	var old [20]string
	for i := range old {
		old[i] = create("old").OK(201).Text("key.id")
	}
	expire()
	for range 19 {
		create("live").OK(201)
	}
	one := func(round int, what string, good int, replies []*apptest.Reply) {
		t.Helper()
		made := 0
		for _, r := range replies {
			if r.Status == good {
				made++
				continue
			}
			r.Fails(403, "FORBIDDEN")
		}
		active := w.count(t,
			"SELECT COUNT(*) FROM api_keys WHERE user_id = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR "+
				"expires_at > $2)", id, w.Clock.Now().UnixMilli())
		if made != 1 || active != 20 {
			t.Errorf("round %d, %s: %d succeeded, %d keys are active", round, what, made, active)
		}
	}
	for round := range peopleRounds {
		one(round, "made", 201, runAtOnce(t, repeat(8, func() *apptest.Reply { return create("new") })...))
		w.change(t, "DELETE FROM api_keys WHERE user_id = $1 AND name = 'new'", id)
		var asks []call
		for _, key := range old {
			asks = append(asks, func() *apptest.Reply {
				return sam.Fork().Patch("/api/keys/"+key, M{"expiresIn": 86400})
			})
		}
		one(round, "renewed", 200, runAtOnce(t, asks...))
		expire()
	}
}

// changedSettings: parallel changes of different settings are all kept.
func changedSettings(t *testing.T, w *world) {
	admin := w.admin.In(t)
	for round := range peopleRounds {
		want := M{"siteTitle": fmt.Sprint("title ", round), "siteLogo": fmt.Sprint("/logo", round),
			"siteFavicon":    fmt.Sprint("/icon", round),
			"captchaSiteKey": fmt.Sprint("key", round), "smtpFromName": fmt.Sprint("name ", round),
			"rateLimitRequestsPerMinute": 5000 + round}
		var asks []call
		for name, value := range want {
			asks = append(asks, func() *apptest.Reply {
				return admin.Fork().Patch("/api/admin/settings", M{name: value})
			})
		}
		for _, r := range runAtOnce(t, asks...) {
			r.OK(200)
		}
		got := admin.Get("/api/admin/settings").OK(200)
		for name, value := range want {
			if fmt.Sprint(got.Value(name)) != fmt.Sprint(value) {
				t.Errorf("round %d: %s is %v, want %v", round, name, got.Value(name), value)
			}
		}
	}
}

// deletingAccount: an account is deleted while its uploads are completed and its keys, shares and
// folders are created. Nothing of it remains active, and every file has an existing owner or is
// about to be handed over.
func deletingAccount(t *testing.T, w *world) {
	for round := range peopleRounds {
		name := fmt.Sprint("tom", round)
		tom := w.User(t, name)
		id, home := tom.Get("/api/auth/me").OK(200).Text("user.id"), "/home/"+name
		kept := tom.Upload(home, "kept", []byte("kept"))
		m := member{Client: tom, home: home}
		ready := []M{m.begin(home, "a", "first", "fail"), m.begin(home, "b", "second", "fail")}
		complete := func(i int) call {
			return func() *apptest.Reply { return tom.Fork().Post("/api/files/upload-complete", ready[i]) }
		}
		key := func() *apptest.Reply {
			return tom.Fork().Post("/api/keys/",
				M{"name": "k", "permissions": []string{"read"}, "protocols": []string{"api"}})
		}
		share := func() *apptest.Reply { return tom.Fork().Post("/api/shares/", M{"fileId": kept}) }
		replies := runAtOnce(t, complete(0), key, share,
			func() *apptest.Reply { return w.admin.Fork().Delete("/api/admin/users/" + id) },
			complete(1), key, share,
			func() *apptest.Reply { return tom.Fork().Post("/api/files/folder", M{"path": home, "name": "folder"}) },
		)
		replies[3].OK(200)
		for what, query := range map[string]string{
			"accounts":     "SELECT COUNT(*) FROM users WHERE id = $1",
			"live keys":    "SELECT COUNT(*) FROM api_keys WHERE user_id = $1 AND revoked_at IS NULL",
			"live shares":  "SELECT COUNT(*) FROM shares WHERE creator_id = $1 AND revoked_at IS NULL",
			"open uploads": "SELECT COUNT(*) FROM upload_sessions WHERE user_id = $1 AND status = 'pending'",
			"files": "SELECT COUNT(*) FROM entries WHERE owner_id = $1 AND owner_id NOT IN (SELECT user_id " +
				"FROM legacies)",
			"quotas": "SELECT COUNT(*) FROM quotas WHERE user_id = $1 AND user_id NOT IN (SELECT user_id FROM " +
				"legacies)",
		} {
			if n := w.count(t, query, id); n != 0 {
				t.Errorf("round %d: %d %s are left", round, n, what)
			}
		}
	}
}
