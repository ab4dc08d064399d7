package e2e

import (
	"bytes"
	"fmt"
	"maps"
	"strings"
	"testing"
)

// The crash scenarios of accounts, mails and shares.

// visitor returns a client without an account for the current process.
func (f *crashFixture) visitor() *client { return newClient(f.admin.bases...) }

// accountWithFiles is an account with files that will be deleted. All files have the same content.
type accountWithFiles struct {
	id, name, content  string
	file, link, share  string
	files              int
	adminSize, adminOf int64 // the administrator's usage before
	keyed              *client
}

// createAccountWithFiles creates an account with some files; with many, more than a request hands
// over.
func (f *crashFixture) createAccountWithFiles(t *testing.T, many bool) *accountWithFiles {
	t.Helper()
	f.serial++
	r := &accountWithFiles{name: fmt.Sprintf("ann%d", f.serial), content: f.content(small(f) % 5000), files: 5}
	r.id = f.admin.createUser(t, r.name, firstPassword, "user")
	ann, home := login(t, r.name, firstPassword, f.admin.bases...), "/home/"+r.name
	if many {
		r.files = 30
	}
	folder := ann.mkdir(t, home, "few")
	for i := range r.files {
		r.file = ann.upload(t, home+"/few", fmt.Sprintf("f%d.bin", i), []byte(r.content), nil).ID
	}
	if many {
		more := ann.mkdir(t, home, "more")
		for i := range 20 {
			ann.do(t, "POST", "/api/files/"+folder+"/copy",
				object{"targetPath": home + "/more", "newName": fmt.Sprint(i)}).want(t, 200)
		}
		for i := range 5 {
			ann.do(t, "POST", "/api/files/"+more+"/copy", object{"targetPath": home, "newName": fmt.Sprint(i)}).
				want(t, 200)
		}
		r.files *= 1 + 20 + 5*20
	}
	if _, files := ann.usage(t); files != int64(r.files) {
		t.Fatalf("%s has %d files, want %d", r.name, files, r.files)
	}
	r.link = at(t, ann.permanentLink(t, r.file))
	r.share = ann.share(t, object{"fileId": folder})
	r.keyed = withKey(f.site.key(t, r.name))
	r.adminSize, r.adminOf = f.admin.usage(t)
	return r
}

// deletingAccount deletes an account; deletingLargeAccount deletes one whose files are handed over
// by a job.
func deletingAccount(t *testing.T, w *crashFixture) crashAttempt { return w.deletingAccount(t, false) }
func deletingLargeAccount(t *testing.T, w *crashFixture) crashAttempt {
	return w.deletingAccount(t, true)
}

func (f *crashFixture) deletingAccount(t *testing.T, many bool) crashAttempt {
	t.Helper()
	ann := f.createAccountWithFiles(t, many)
	run := func() (reply, error) {
		return f.untilDead(f.admin.send("DELETE", "/api/admin/users/"+ann.id, nil))
	}
	first := func(t *testing.T) { // during the handover
		f.gone(t, ann)
		until(t, "all of "+ann.name+"'s with the administrator", func() bool {
			size, files := f.admin.usage(t)
			return size == ann.adminSize+int64(ann.files*len(ann.content)) && files == ann.adminOf+int64(ann.files)
		})
	}
	again := func(t *testing.T) {
		f.admin.do(t, "DELETE", "/api/admin/users/"+ann.id, nil).fails(t, 404, "NOT_FOUND")
		f.gone(t, ann)
		f.admin.createUser(t, ann.name, firstPassword, "user")
		anew := login(t, ann.name, firstPassword, f.admin.bases...)
		if lie := anew.list(t, "/home/"+ann.name); len(lie) != 0 {
			t.Errorf("the current account of that name has %d entries in its home", len(lie))
		}
		anew.do(t, "GET", "/api/files/"+ann.file, nil).fails(t, 403, "FORBIDDEN")
		for _, home := range f.admin.list(t, "/home") {
			if strings.HasPrefix(home.Name, ann.name+".deleted-") {
				f.admin.do(t, "DELETE", "/api/files/"+home.ID, nil).want(t, 200)
			}
		}
	}
	return crashAttempt{run: run, first: first, again: again}
}

// gone fails the test when anything of the account but its files remains.
func (f *crashFixture) gone(t *testing.T, ann *accountWithFiles) {
	t.Helper()
	anybody := f.visitor()
	anybody.do(t, "POST", "/api/auth/login", object{"username": ann.name, "password": firstPassword}).
		fails(t, 401, "INVALID_CREDENTIALS")
	anybody.do(t, "GET", "/api/shares/"+ann.share, nil).fails(t, 410, "SHARE_REVOKED")
	ann.keyed.bases = f.admin.bases
	ann.keyed.do(t, "GET", "/api/files?path=/", nil).fails(t, 401, "INVALID_TOKEN")
	anybody.reads(t, ann.link, []byte(ann.content))
	if r := f.admin.do(t, "GET", "/api/files/"+ann.file, nil).want(t, 200); bytes.Contains(r.body, []byte(ann.id)) &&
		ann.files < 1000 {
		t.Errorf("a file is still theirs: %s", r.body)
	}
}

// inherited returns the files in the homes of deleted accounts, which the administrator owns.
func (f *crashFixture) inherited(t *testing.T) (size, files int64) {
	t.Helper()
	for _, e := range f.admin.walk(t, "/home") {
		size, files = size+e.Size, files+1
	}
	return size, files
}

// configureMail sets the test's mail server and opens the registration.
func (f *crashFixture) configureMail(t *testing.T) *mailServer {
	t.Helper()
	p := newMailServer(t)
	settings := p.settings(t)
	maps.Copy(settings, object{"allowRegistration": true, "requireEmailVerification": true})
	f.admin.do(t, "PATCH", "/api/admin/settings", settings).want(t, 200)
	return p
}

// registering kills the service between the creation of an account and its verification mail.
// Afterwards both exist, with an additional mail when the crash came after the sending; each of the
// links works.
func registering(mails int) func(*testing.T, *crashFixture) crashAttempt {
	return func(t *testing.T, w *crashFixture) crashAttempt {
		p := w.configureMail(t)
		w.serial++
		name := fmt.Sprintf("ann%d", w.serial)
		ann := object{"username": name, "password": firstPassword, "email": name + "@example.org"}
		first := func(t *testing.T) {
			w.visitor().do(t, "POST", "/api/auth/register", ann).fails(t, 409, "ALREADY_EXISTS")
			w.visitor().do(t, "POST", "/api/auth/login", object{"username": name, "password": firstPassword}).
				fails(t, 403, "EMAIL_NOT_VERIFIED")
			var links []string
			for range mails {
				address, _ := link(t, p.mail(t, name+"@example.org"))
				links = append(links, address)
			}
			for _, address := range links { // no mail is sent after the verification
				w.visitor().do(t, "GET", at(t, address), nil).want(t, 200)
			}
			login(t, name, firstPassword, w.admin.bases...)
		}
		return crashAttempt{first: first, run: func() (reply, error) {
			return w.untilDead(w.visitor().send("POST", "/api/auth/register", ann))
		}}
	}
}

// forgetting kills the service while it sends a link to reset the password. The last link works,
// and the earlier ones do not.
func forgetting(mails int) func(*testing.T, *crashFixture) crashAttempt {
	return func(t *testing.T, w *crashFixture) crashAttempt {
		p := w.configureMail(t)
		w.serial++
		name := fmt.Sprintf("ann%d", w.serial)
		w.admin.createUser(t, name, firstPassword, "user")
		first := func(t *testing.T) {
			var tokens []string
			for range mails {
				_, token := link(t, p.mail(t, name+"@example.org"))
				tokens = append(tokens, token)
			}
			for i, token := range tokens {
				r := w.visitor().do(t, "POST", "/api/auth/reset-password",
					object{"token": token, "password": secondPassword})
				if i < len(tokens)-1 {
					r.fails(t, 400, "VALIDATION_ERROR")
				} else {
					r.want(t, 200)
				}
			}
			login(t, name, secondPassword, w.admin.bases...)
		}
		forgot := object{"email": name + "@example.org"}
		return crashAttempt{first: first, run: func() (reply, error) {
			return w.untilDead(w.visitor().send("POST", "/api/auth/forgot-password", forgot))
		}}
	}
}

// redeeming loses the answer to a download. The download address is used up and does not work
// again.
func redeeming(t *testing.T, w *crashFixture) crashAttempt {
	content := w.content(small(w))
	path, id := w.put(t, w.fresh(), content)
	share := "/api/shares/" + w.admin.share(t, object{"fileId": id, "maxDownloads": 1})
	address := at(t, w.visitor().downloadAddress(t, share+"/download"))
	again := func(t *testing.T) {
		w.visitor().do(t, "GET", address, nil).fails(t, 401, "INVALID_TOKEN")
		w.visitor().do(t, "GET", share+"/download", nil).fails(t, 410, "SHARE_LIMIT_REACHED")
		var changed struct{ Share struct{ DownloadCount int } }
		w.admin.do(t, "PATCH", share, object{"maxDownloads": 2}).data(t, 200, &changed)
		if changed.Share.DownloadCount != 1 {
			t.Errorf("%d downloads were counted, want 1", changed.Share.DownloadCount)
		}
		w.visitor().reads(t, at(t, w.visitor().downloadAddress(t, share+"/download")), []byte(content))
	}
	return crashAttempt{
		run:   func() (reply, error) { return w.visitor().send("GET", address, nil) },
		may:   map[string][]string{path: {content}},
		again: again,
	}
}
