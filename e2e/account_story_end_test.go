package e2e

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// endpoint is a request that depends on ann's account, with the expected refusal.
type endpoint struct {
	name   string
	by     *client
	path   string
	status int
	code   string
}

// endpoints returns the requests that depend on ann's account.
func (s *accountStory) endpoints() []endpoint {
	all := []endpoint{
		{"session", s.ann, "/api/auth/me", 401, "SESSION_REVOKED"},
		{"key", s.keyed, "/home/ann/trip/beach.jpg", 401, "INVALID_TOKEN"},
		{"link", s.visitor(), s.link, 404, "NOT_FOUND"},
	}
	for name, id := range s.shares {
		all = append(all, endpoint{"share", s.visitor(), "/api/shares/" + id, 410, "SHARE_REVOKED"})
		if name == "file" { // all inactive shares have the same answer
			all = append(all, endpoint{"share", s.visitor(), "/api/shares/" + id + "/preview", 410,
				"SHARE_EXPIRED"})
		}
	}
	return all
}

// opens tries every endpoint; those that are not named must refuse.
func (s *accountStory) opens(t *testing.T, open ...string) {
	t.Helper()
	for _, d := range s.endpoints() {
		for range s.processes { // on each replica
			r := d.by.do(t, "GET", d.path, nil)
			if !slices.Contains(open, d.name) {
				r.fails(t, d.status, d.code)
				continue
			}
			if r.want(t, 200); (d.name == "key" || d.name == "link") && hash(r.body) != hash(s.pictures["beach.jpg"]) {
				t.Errorf("by %s come %d bytes, %d were uploaded", d.name, len(r.body), len(s.pictures["beach.jpg"]))
			}
		}
	}
	for name, path := range s.tokens {
		// ends with the session that created it
		if slices.Contains(open, "tokens") && (name != ownToken || slices.Contains(open, "session")) {
			s.visitor().do(t, "HEAD", path, nil).want(t, 200) // which does not use it up
		} else if r := s.visitor().do(t, "GET", path, nil); r.status != 401 {
			t.Errorf("the download address %s answers %d: %s", name, r.status, tail(string(r.body), 200))
		}
	}
}

func (s *accountStory) forgetsThePassword(t *testing.T) {
	visitor := s.visitor()
	unknown := visitor.do(t, "POST", "/api/auth/forgot-password", object{"email": "nobody@example.org"}).want(t, 200)
	known := visitor.do(t, "POST", "/api/auth/forgot-password", object{"email": "Ann@Example.org"}).want(t, 200)
	told := regexp.MustCompile(`"message":"[^"]*"`)
	if a, b := told.FindString(string(unknown.body)), told.FindString(string(known.body)); a != b || a == "" {
		t.Errorf("an unknown address gets the answer %s, ann's address %s", a, b)
	}
	_, token := link(t, s.post.mail(t, "ann@example.org"))
	s.secret("reset token", token)
	reset := object{"token": token, "password": secondPassword}
	visitor.do(t, "POST", "/api/auth/reset-password", reset).want(t, 200)
	visitor.do(t, "POST", "/api/auth/reset-password", reset).fails(t, 400, "VALIDATION_ERROR")
	s.opens(t, "key", "link", "share", "tokens") // all but the session
	visitor.do(t, "POST", "/api/auth/login", object{"username": "ann", "password": firstPassword}).
		fails(t, 401, "INVALID_CREDENTIALS")
	s.ann = login(t, "ann", secondPassword, s.admin.bases...)
	s.cookies(t, s.ann)
	s.tokens[ownToken] = s.download(t, s.ann, "/api/files/"+s.ids["beach.jpg"]+"/download")
	if s.post.Len() != 0 {
		t.Error("another address got a mail")
	}
}

func (s *accountStory) movesToAnotherAddress(t *testing.T) {
	s.ann.do(t, "POST", "/api/users/me/email/send-otp", object{"email": "admin@localhost"}).want(t, 400)
	var sent struct{ ExpiresIn int }
	s.ann.do(t, "POST", "/api/users/me/email/send-otp", object{"email": "ann@elsewhere.example"}).data(t, 200, &sent)
	m := s.post.mail(t, "ann@elsewhere.example")
	found := mailedCode.FindStringSubmatch(m.Text)
	if found == nil || sent.ExpiresIn != 300 {
		t.Fatalf("no code in %q, good for %d seconds", m.Text, sent.ExpiresIn)
	}
	code := found[1]
	s.secret("code", code)
	wrong := strings.Map(func(r rune) rune { return '0' + (r-'0'+1)%10 }, code)
	s.ann.do(t, "POST", "/api/users/me/email/verify-otp", object{"email": "ann@elsewhere.example", "code": wrong}).
		fails(t, 400, "VALIDATION_ERROR")
	s.ann.do(t, "POST", "/api/users/me/email/verify-otp", object{"email": "ann@elsewhere.example", "code": code}).
		want(t, 200)
	s.ann.do(t, "POST", "/api/users/me/email/verify-otp", object{"email": "ann@elsewhere.example", "code": code}).
		fails(t, 400, "VALIDATION_ERROR")
	var mine struct {
		Profile struct {
			Email         string
			EmailVerified bool
		}
	}
	s.ann.do(t, "GET", "/api/users/me/settings", nil).data(t, 200, &mine)
	if mine.Profile.Email != "ann@elsewhere.example" || !mine.Profile.EmailVerified {
		t.Errorf("the profile is %+v", mine.Profile)
	}
	s.visitor().do(t, "POST", "/api/auth/login", object{"username": "ann@example.org", "password": secondPassword}).
		fails(t, 401, "INVALID_CREDENTIALS")
	login(t, "Ann@Elsewhere.example", secondPassword, s.admin.bases...)
}

func (s *accountStory) isBannedForAWhile(t *testing.T) {
	s.opens(t, "session", "key", "link", "share", "tokens")
	s.admin.do(t, "PUT", "/api/admin/users/"+s.annID, object{"status": "banned"}).want(t, 200)
	s.opens(t)
	credentials := object{"username": "ann", "password": secondPassword}
	s.visitor().do(t, "POST", "/api/auth/login", credentials).fails(t, 401, "USER_DISABLED")
	s.admin.do(t, "PUT", "/api/admin/users/"+s.annID, object{"status": "active"}).want(t, 200)
	s.opens(t, "key", "link", "share", "tokens") // the session has ended permanently
	s.ann = login(t, "ann", secondPassword, s.admin.bases...)
	s.cookies(t, s.ann)
}

func (s *accountStory) isDeleted(t *testing.T) {
	size, files := s.admin.usage(t)
	s.admin.do(t, "DELETE", "/api/admin/users/"+s.annID, nil).want(t, 200)
	s.opens(t, "link")
	s.visitor().do(t, "POST", "/api/auth/login", object{"username": "ann", "password": secondPassword}).
		fails(t, 401, "INVALID_CREDENTIALS")
	homes := s.admin.list(t, "/home")
	if len(homes) != 1 || !regexp.MustCompile(`^ann\.deleted-[0-9a-f]{8}$`).MatchString(homes[0].Name) {
		t.Fatalf("in /home lies %+v", homes)
	}
	var me struct{ User struct{ ID string } }
	s.admin.do(t, "GET", "/api/auth/me", nil).data(t, 200, &me)
	for path, content := range s.pictures {
		s.admin.reads(t, escaped(homes[0].full()+"/trip/"+path), content)
		var told struct{ File struct{ OwnerID string } }
		s.admin.do(t, "GET", "/api/files/"+s.ids[path], nil).data(t, 200, &told)
		if told.File.OwnerID != me.User.ID {
			t.Errorf("%s belongs to %s", path, told.File.OwnerID)
		}
		size, files = size+int64(len(content)), files+1
	}
	if gotSize, gotFiles := s.admin.usage(t); gotSize != size || gotFiles != files {
		t.Errorf("the administrator is charged for %d bytes in %d files, want %d in %d", gotSize, gotFiles, size, files)
	}
}

// registerAgain registers another user with the released name and address, who gets nothing of the
// earlier account.
func (s *accountStory) registerAgain(t *testing.T) {
	again := object{"username": "ann", "password": firstPassword, "email": "ann@elsewhere.example",
		"inviteCode": s.invite}
	s.visitor().do(t, "POST", "/api/auth/register", again).want(t, 201)
	s.verifies(t, "ann@elsewhere.example")
	if s.post.Len() != 0 {
		t.Error("there are unexpected mails")
	}
	ann := login(t, "ann", firstPassword, s.admin.bases...)
	s.cookies(t, ann)
	var me struct {
		User struct{ ID, DefaultPath string }
	}
	ann.do(t, "GET", "/api/auth/me", nil).data(t, 200, &me)
	if me.User.ID == s.annID || me.User.DefaultPath != "/home/ann" || len(ann.list(t, "/home/ann")) != 0 {
		t.Errorf("the new account is %+v", me.User)
	}
	if size, files := ann.usage(t); size != 0 || files != 0 {
		t.Errorf("it is charged for %d bytes in %d files", size, files)
	}
	ann.do(t, "GET", "/api/files/"+s.ids["beach.jpg"], nil).fails(t, 403, "FORBIDDEN")
	s.keyed.do(t, "GET", "/api/files?path=/home/ann", nil).fails(t, 401, "INVALID_TOKEN")
	s.opens(t, "link")
	third := object{"username": "ben", "password": firstPassword, "email": "ben@example.org", "inviteCode": s.invite}
	s.visitor().do(t, "POST", "/api/auth/register", third).fails(t, 400, "VALIDATION_ERROR") // the invite is used up
}

// logsHoldNoSecret searches the output of all processes and the access log for every secret sent or
// received (abuse case C114).
func (s *accountStory) logsHoldNoSecret(t *testing.T) {
	s.cookies(t, s.admin)
	s.cookies(t, s.guest, "/api/shares/"+s.shares["folder"])
	log := string(s.admin.do(t, "GET", "/api/admin/logs?limit=100", nil).want(t, 200).body)
	for _, p := range slices.Concat(s.ended, s.processes) {
		log += p.stdout.String() + p.stderr.String()
	}
	for _, kind := range []string{"invite code", "verification token", "reset token", "download token", "code", "key",
		"CSRF token"} {
		if len(s.secrets[kind]) == 0 {
			t.Errorf("no %s was noted", kind)
		}
	}
	if !strings.Contains(log, "/api/auth/reset-password") || !strings.Contains(log, "/api/shares/") {
		t.Error("the log does not hold the requests")
	}
	for kind, values := range s.secrets {
		for _, value := range values {
			switch {
			case kind == "code": // digits may be part of other numbers in a log
				if regexp.MustCompile(`["=: ]` + value + `["& ]`).MatchString(log) {
					t.Errorf("a %s is in the log", kind)
				}
			case len(value) < 10:
				t.Errorf("the %s is %q, too short to be looked for", kind, value)
			case strings.Contains(log, value):
				t.Errorf("a %s is in the log: %s", kind, around(log, value))
			}
		}
	}
}

// around returns the line of a log that contains a value.
func around(log, value string) string {
	for line := range strings.Lines(log) {
		if strings.Contains(line, value) {
			return line
		}
	}
	return ""
}
