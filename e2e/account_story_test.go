package e2e

import (
	"bytes"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	firstPassword  = "canary-first-password-1"
	secondPassword = "canary-second-password-2"
	sharePassword  = "canary-share-password-3"
	wrongPassword  = "canary-wrong-password-4"
)

// ownToken is the name of the download address that ann's session created.
const ownToken = "ann's own"

// accountStory is the life of the account ann, tested from outside.
type accountStory struct {
	*setup
	post     *mailServer
	invite   string
	ann      *client // signed in
	annID    string
	keyed    *client             // with ann's key
	folder   string              // id of /home/ann/trip
	pictures map[string][]byte   // in the folder, by path
	ids      map[string]string   // of the pictures
	link     string              // permanent link of the first picture
	guest    *client             // has given the password of the folder's share
	shares   map[string]string   // ids: folder, file
	tokens   map[string]string   // unused download addresses by name; one is ownToken
	secrets  map[string][]string // values that no log may contain
	ended    []*process
}

// An account from its invite to its deletion, with every set-up: mails by a mail server that is
// down for a while, restarts, shares, a new password, a new address, a ban, and the deletion, after
// which the administrator owns the files. Specification: Authentication, Shares, Users.
func TestAnAccountFromInviteToDeletion(t *testing.T) {
	t.Parallel()
	eachSetup(t, func(t *testing.T, s *setup) {
		p := &accountStory{setup: s, post: newMailServer(t), pictures: map[string][]byte{}, ids: map[string]string{},
			shares: map[string]string{}, tokens: map[string]string{}}
		p.secrets = map[string][]string{"password": {adminPassword, firstPassword, secondPassword, sharePassword,
			wrongPassword, smtpPassword}}
		p.setsUpMail(t)
		p.registers(t)
		p.uploads(t)
		p.sharesWithVisitors(t)
		p.forgetsThePassword(t)
		p.movesToAnotherAddress(t)
		p.isBannedForAWhile(t)
		p.isDeleted(t)
		p.registerAgain(t)
		p.logsHoldNoSecret(t)
	}, "LARDER_LOG_LEVEL", "debug", "SSL_CERT_FILE", mailRoots(t))
}

// secret records a value that no log may contain.
func (s *accountStory) secret(kind, value string) { s.secrets[kind] = append(s.secrets[kind], value) }

// cookies records a client's cookies and CSRF token.
func (s *accountStory) cookies(t *testing.T, c *client, paths ...string) {
	t.Helper()
	for _, path := range append(paths, "/") {
		u, err := url.Parse(c.bases[0] + path)
		if err != nil {
			t.Fatal(err)
		}
		for _, cookie := range c.http.Jar.Cookies(u) {
			s.secret("cookie "+cookie.Name, cookie.Value)
		}
	}
	if token := c.header.Get("X-CSRF-Token"); token != "" {
		s.secret("CSRF token", token)
	}
}

func (s *accountStory) setsUpMail(t *testing.T) {
	var settings struct {
		SMTPPassword      string
		AllowRegistration bool
	}
	s.admin.do(t, "POST", "/api/admin/settings/test-email", object{"to": "operator@example.org"}).
		fails(t, 400, "VALIDATION_ERROR")
	mail := s.post.settings(t)
	maps.Copy(mail, object{"requireInviteCode": true, "requireEmailVerification": true})
	s.admin.do(t, "PATCH", "/api/admin/settings", mail).data(t, 200, &settings)
	if settings.SMTPPassword != "******" || settings.AllowRegistration {
		t.Errorf("the settings are %+v", settings)
	}
	s.admin.do(t, "POST", "/api/admin/settings/test-email", object{"to": "operator@example.org"}).want(t, 200)
	if m := s.post.mail(t, "operator@example.org"); !strings.Contains(m.Text, "admin") {
		t.Errorf("the test message says %q", m.Text)
	}
	var made struct{ Invite struct{ Code string } }
	s.admin.do(t, "POST", "/api/admin/invites", object{"maxUses": 2, "note": "for ann"}).data(t, 201, &made)
	s.invite = made.Invite.Code
	s.secret("invite code", s.invite)
}

// registers registers ann while the mail server is down and the service is restarted.
func (s *accountStory) registers(t *testing.T) {
	visitor := s.visitor()
	ann := object{"username": "ann", "password": firstPassword, "email": "ann@example.org"}
	visitor.do(t, "POST", "/api/auth/register", ann).fails(t, 400, "VALIDATION_ERROR")
	ann["inviteCode"] = s.invite
	s.post.relay.set(true)
	var made struct {
		User struct {
			ID, Role      string
			EmailVerified bool
		}
	}
	visitor.do(t, "POST", "/api/auth/register", ann).data(t, 201, &made)
	if made.User.Role != "user" || made.User.EmailVerified {
		t.Errorf("the registered account is %+v", made.User)
	}
	s.annID = made.User.ID
	visitor.do(t, "POST", "/api/auth/register", ann).fails(t, 409, "ALREADY_EXISTS")
	s.processes[0].await(t, "trying to send the mail", func() bool {
		return slices.ContainsFunc(s.processes,
			func(p *process) bool { return strings.Contains(p.stderr.String(), "a job will be retried") })
	})
	s.ended = append(s.ended, s.restart(t)...)
	credentials := object{"username": "ann", "password": firstPassword}
	visitor.do(t, "POST", "/api/auth/login", credentials).fails(t, 403, "EMAIL_NOT_VERIFIED")
	s.post.relay.set(false)
	s.verifies(t, "ann@example.org")
	visitor.do(t, "POST", "/api/auth/login", object{"username": "ann", "password": wrongPassword}).
		fails(t, 401, "INVALID_CREDENTIALS")
	s.ann = login(t, "ann", firstPassword, s.admin.bases...)
	s.cookies(t, s.ann)
}

// verifies follows the link in the verification mail. A HEAD does not verify the address (abuse
// case C44).
func (s *accountStory) verifies(t *testing.T, email string) {
	t.Helper()
	address, token := link(t, s.post.mail(t, email))
	s.secret("verification token", token)
	visitor := s.visitor()
	visitor.do(t, "HEAD", at(t, address), nil).want(t, 200)
	visitor.do(t, "POST", "/api/auth/login", object{"username": "ann", "password": firstPassword}).
		fails(t, 403, "EMAIL_NOT_VERIFIED")
	for range 2 {
		if page := visitor.do(t, "GET", at(t, address), nil).
			want(t, 200); !strings.HasPrefix(page.header.Get("Content-Type"), "text/html") {
			t.Errorf("following the link answers %v", page.header)
		}
	}
	visitor.do(t, "GET", "/api/auth/me", nil).fails(t, 401, "UNAUTHORIZED")
}

func (s *accountStory) uploads(t *testing.T) {
	s.folder = s.ann.mkdir(t, "/home/ann", "trip")
	s.ann.mkdir(t, "/home/ann/trip", "day two")
	photo := photograph(t)
	for i, path := range []string{"beach.jpg", "day two/ä hill.jpg",
		"day two/" + strings.TrimSuffix(oddName, ".txt") + ".jpg"} {
		s.pictures[path] = append(slices.Clone(photo), contentOf(path, 1000*(i+1))...)
		file := s.ann.upload(t, filepath.Dir("/home/ann/trip/"+path), filepath.Base(path), s.pictures[path], nil)
		s.ids[path] = file.ID
	}
	s.link = at(t, s.ann.permanentLink(t, s.ids["beach.jpg"]))
	token := s.key(t, "ann")
	s.secret("key", token)
	s.keyed = withKey(token, s.admin.bases...)
	s.opens(t, "session", "key", "link")
}

// download requests a download address.
func (s *accountStory) download(t *testing.T, c *client, path string) string {
	t.Helper()
	address := at(t, c.downloadAddress(t, path))
	s.secret("download token", address[strings.LastIndex(address, "/")+1:])
	return address
}

// listed returns the names in a folder of a share.
func listed(t *testing.T, c *client, share, path string) (names []string) {
	t.Helper()
	var page struct{ Items []entry }
	c.do(t, "GET", "/api/shares/"+share+"/files?path="+url.QueryEscape(path), nil).data(t, 200, &page)
	for _, e := range page.Items {
		names = append(names, e.Type+" "+e.Name)
	}
	slices.Sort(names)
	return names
}

func (s *accountStory) sharesWithVisitors(t *testing.T) {
	s.shares["folder"] = s.ann.share(t, object{"fileId": s.folder, "password": sharePassword, "maxDownloads": 1})
	s.shares["file"] = s.ann.share(t, object{"fileId": s.ids["beach.jpg"]})
	address := "/api/shares/" + s.shares["folder"]
	visitor := s.visitor()
	var seen struct {
		Share struct {
			CreatorName      string
			RequiresPassword bool
			File             *entry
		}
	}
	visitor.do(t, "GET", address, nil).data(t, 200, &seen)
	if !seen.Share.RequiresPassword || seen.Share.File != nil {
		t.Errorf("without the password: %+v", seen.Share)
	}
	for _, path := range []string{"/files", "/download", "/preview?file=" + s.ids["beach.jpg"]} {
		visitor.do(t, "GET", address+path, nil).fails(t, 401, "INVALID_PASSWORD")
	}
	visitor.do(t, "POST", address+"/verify", object{"password": wrongPassword}).fails(t, 401, "INVALID_PASSWORD")
	visitor.do(t, "POST", address+"/verify", object{"password": sharePassword}).want(t, 200)
	s.visitor().do(t, "GET", address+"/files", nil).fails(t, 401, "INVALID_PASSWORD") // without the password
	s.cookies(t, visitor, address)
	used, spare := s.download(t, visitor, address+"/download"), s.download(t, visitor, address+"/download")

	s.ended = append(s.ended, s.restart(t)...) // passwords given, uploads begun and sessions stay
	s.ann.do(t, "GET", "/api/auth/me", nil).want(t, 200)
	if got := listed(t, visitor, s.shares["folder"], "/"); !slices.Equal(got,
		[]string{"file beach.jpg", "folder day two"}) {
		t.Errorf("the share lists %q", got)
	}
	if got := listed(t, visitor, s.shares["folder"], "/day two"); len(got) != 2 {
		t.Errorf("its folder lists %q", got)
	}
	shown := visitor.do(t, "GET", address+"/preview?file="+s.ids["day two/ä hill.jpg"], nil).want(t, 200)
	if !bytes.Equal(shown.body, s.pictures["day two/ä hill.jpg"]) || shown.header.Get("Content-Type") != "image/jpeg" {
		t.Errorf("the preview is %d bytes of %s", len(shown.body), shown.header.Get("Content-Type"))
	}
	s.visitor().do(t, "HEAD", used, nil).want(t, 200)
	s.unpacks(t, s.visitor().do(t, "GET", used, nil).want(t, 200).body) // a download address needs no other credential
	s.visitor().do(t, "GET", used, nil).fails(t, 401, "INVALID_TOKEN")
	s.visitor().do(t, "GET", spare, nil).fails(t, 410, "SHARE_LIMIT_REACHED")
	visitor.do(t, "GET", address+"/download", nil).fails(t, 410, "SHARE_LIMIT_REACHED")
	s.ann.do(t, "PATCH", address, object{"maxDownloads": 3}).want(t, 200)
	single := "/api/shares/" + s.shares["file"] + "/download"
	s.visitor().reads(t, s.download(t, s.visitor(), single), s.pictures["beach.jpg"])
	s.visitor().do(t, "GET", single+"?file="+s.ids["day two/ä hill.jpg"], nil).fails(t, 404, "NOT_FOUND")
	s.tokens["of the folder's share"], s.tokens["of the file's share"] = s.download(t, visitor,
		address+"/download"), s.download(t, s.visitor(), single)
	s.tokens[ownToken] = s.download(t, s.ann, "/api/files/"+s.ids["beach.jpg"]+"/download")
	s.guest = visitor
}

// unpacks compares an archive with what was uploaded.
func (s *accountStory) unpacks(t *testing.T, archive []byte) {
	t.Helper()
	got, want := unzip(t, archive), map[string]string{}
	for path, content := range s.pictures {
		want[path] = hash(content)
	}
	if !maps.Equal(got, want) {
		t.Errorf("the archive holds %v, want %v", got, want)
	}
}
