package api_test

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"

	"larder/internal/access"
	"larder/internal/app"
	"larder/internal/apptest"
	"larder/internal/files"
	"larder/internal/vpath"
)

// warmChange is a change that counts at the next request. The statuses are in the order of
// warmWays; "" stands for 200 in each way.
type warmChange struct {
	name      string
	account   M                        // fields of the owner's account
	mount     string                   // path of a mount for the file alone, with NAME for the account; "" for none
	before    func(w *warmFile)        // prepares the file
	change    func(w *warmFile) func() // makes the change and returns the way back, nil for none
	want      string                   // statuses of the file
	neighbour string                   // those of another file of the account
	strangers string                   // those of a file of another account
	content   string                   // of the file after the change, "" for the former
	movedTo   string                   // path of the file after the change, below home or the mount
	undone    string                   // statuses of both files of the account after the way back
}

const (
	otherContent = "\x89PNG\r\n\x1a\nother bytes of a picture"
	onlyByID     = "404 200 200 404 404" // the file has another path
	gone         = "404 404 404 404 404"
)

// warmChanges are the changes of the table. A password opens a file nowhere here, since no request
// gives it (specification: Public path serving; docs/webdav.md). A visitor is told to sign in at
// each path that is not public. A permanent link publishes the file while guest access is on, the
// owner is active and may share and download, and no password or address rule prevents it
// (docs/decisions.md, Serving files).
var warmChanges = []warmChange{
	// places
	{name: "the file is renamed", want: onlyByID, movedTo: "/top/dir/g.png", change: func(w *warmFile) func() {
		w.rename(w.id, "g.png")
		return func() { w.rename(w.id, "f.png") }
	}},
	{name: "the file is moved", want: onlyByID, movedTo: "/f.png", change: func(w *warmFile) func() {
		w.move(w.id, w.home)
		return func() { w.move(w.id, w.dir) }
	}},
	{name: "the file is moved by WebDAV", want: onlyByID, movedTo: "/top/g.png", change: func(w *warmFile) func() {
		w.davMove(w.path, w.home+"/top/g.png")
		return func() { w.davMove(w.home+"/top/g.png", w.path) }
	}},
	{name: "the folder above is renamed", want: onlyByID, movedTo: "/other/dir/f.png",
		change: func(w *warmFile) func() {
			top := w.folder()
			w.rename(top, "other")
			return func() { w.rename(top, "top") }
		}},
	{name: "the folder above is moved", want: onlyByID, movedTo: "/new/top/dir/f.png",
		before: func(w *warmFile) { mkdir(w.owner, w.home, "new") },
		change: func(w *warmFile) func() {
			top := w.folder()
			w.move(top, w.home+"/new")
			return func() { w.move(top, w.home) }
		}},
	// ends of the file
	{name: "the file is deleted", want: gone, change: func(w *warmFile) func() {
		w.owner.Delete("/api/files/" + w.id).OK(200)
		return nil
	}},
	{name: "the file is in the trash", want: gone, change: func(w *warmFile) func() {
		w.owner.Delete("/api/files/" + w.id + "?trash=true").OK(200)
		return func() { w.owner.Post("/api/trash/"+w.id+"/restore", M{}).OK(200) }
	}},
	{name: "the folder above is in the trash", want: gone, change: func(w *warmFile) func() {
		top := w.folder()
		w.owner.Delete("/api/files/" + top + "?trash=true").OK(200)
		return func() { w.owner.Post("/api/trash/"+top+"/restore", M{}).OK(200) }
	}},
	{name: "the folder above is deleted", want: gone, change: func(w *warmFile) func() {
		w.owner.Delete("/api/files/" + w.folder()).OK(200)
		return nil
	}},
	{name: "WebDAV deletes the folder above", want: gone, change: func(w *warmFile) func() {
		dav(w.writer(), "DELETE", w.home+"/top", nil).OK(204)
		return nil
	}},
	// contents
	{name: "an upload replaces the content", want: served, content: otherContent, change: func(w *warmFile) func() {
		w.replace(otherContent)
		return func() { w.replace(onePixel) }
	}},
	{name: "WebDAV replaces the content", want: served, content: otherContent, change: func(w *warmFile) func() {
		dav(w.writer(), "PUT", w.path, otherContent).OK(204)
		return nil
	}},
	{name: "another file is moved over it", want: served, content: otherContent,
		before: func(w *warmFile) { w.owner.Upload(w.home, "new.png", []byte(otherContent)) },
		change: func(w *warmFile) func() {
			w.davMove(w.home+"/new.png", w.path)
			return nil
		}},
	{name: "another file is copied over it", want: served, content: otherContent,
		before: func(w *warmFile) { w.owner.Upload(w.home, "new.png", []byte(otherContent)) },
		change: func(w *warmFile) func() {
			dav(w.writer(), "COPY", w.home+"/new.png", nil, "Destination", "/webdav"+w.path).OK(204)
			return nil
		}},
	{name: "an old version is the content again", want: served, content: otherContent,
		before: func(w *warmFile) { w.replace(otherContent); w.replace(onePixel) },
		change: func(w *warmFile) func() {
			versions := "/api/files/" + w.id + "/versions"
			until := w.owner.Get(versions).OK(200).Int("versions.0.until")
			w.owner.Post(fmt.Sprint(versions, "/", until, "/restore"), nil).OK(200)
			return nil
		}},
	// passwords
	{name: "the file has a password", want: "403 404 403 403 403", change: func(w *warmFile) func() {
		w.setPassword(w.id, "open sesame")
		return func() { w.setPassword(w.id, nil) }
	}},
	{name: "the folder above has a password", want: "403 404 403 403 403", change: func(w *warmFile) func() {
		top := w.folder()
		w.setPassword(top, "open sesame")
		return func() { w.setPassword(top, nil) }
	}},
	{name: "a folder above the mount has a password", mount: "/home/NAME/outer/volume", want: "403 404 403 403 403",
		before: func(w *warmFile) { mkdir(w.owner, w.home, "outer") },
		change: func(w *warmFile) func() {
			outer := "/api/files/" + entryIDOf(w.owner, w.home, "outer")
			w.admin.Put(outer, M{"accessPassword": "open sesame"}).OK(200)
			return func() { w.admin.Put(outer, M{"accessPassword": nil}).OK(200) }
		}},
	{name: "a folder is made above the mount and gets a password", mount: "/home/NAME/outer/volume",
		want: "403 404 403 403 403", change: func(w *warmFile) func() {
			mkdir(w.admin, w.home, "outer")
			outer := "/api/files/" + entryIDOf(w.owner, w.home, "outer")
			w.admin.Put(outer, M{"accessPassword": "open sesame"}).OK(200)
			return func() { w.admin.Put(outer, M{"accessPassword": nil}).OK(200) }
		}},
	// links and rules
	{name: "the link is revoked", want: "200 404 200 200 200", change: func(w *warmFile) func() {
		w.owner.Delete("/api/files/" + w.id + "/link").OK(200)
		return nil
	}},
	{name: "a rule denies guests the download", want: "401 200 200 200 200", change: func(w *warmFile) func() {
		return w.deny(M{"role": "guest"})
	}},
	{name: "a rule denies users the download", want: "200 404 403 403 403", change: func(w *warmFile) func() {
		return w.deny(M{"role": "user"})
	}},
	{name: "a rule denies the owner the download", want: "200 404 403 403 403", change: func(w *warmFile) func() {
		return w.deny(M{"userId": callerID(w.owner)})
	}},
	{name: "a rule denies the key the download", want: "200 200 200 403 200", change: func(w *warmFile) func() {
		return w.deny(M{"apiKeyId": keyIDOf(w.key.Header)})
	}},
	{name: "a rule denies guests from elsewhere", want: "200 404 200 200 200", change: func(w *warmFile) func() {
		return w.deny(M{"role": "guest", "allowedIps": []string{"127.0.0.1"}})
	}},
	{name: "a rule denies guests from here", want: "401 404 200 200 200", change: func(w *warmFile) func() {
		return w.deny(M{"role": "guest", "allowedIps": []string{"10.1.2.3"}})
	}},
	{name: "the rule for guests asks for a password", want: "403 404 200 200 200", neighbour: "403 404 200 200 200",
		change: func(w *warmFile) func() {
			rule := "/api/admin/rules/" + w.rule
			w.admin.Put(rule, M{"requirePassword": true, "password": "open sesame"}).OK(200)
			return func() { w.admin.Put(rule, M{"requirePassword": false}).OK(200) }
		}},
	{name: "the rule for guests covers another folder", want: "401 200 200 200 200", neighbour: "401 200 200 200 200",
		change: func(w *warmFile) func() {
			rule := "/api/admin/rules/" + w.rule
			w.admin.Put(rule, M{"pathPattern": w.home + "/other/**"}).OK(200)
			return func() { w.admin.Put(rule, M{"pathPattern": w.home + "/**"}).OK(200) }
		}},
	{name: "the rule for guests is deleted", want: "401 200 200 200 200", neighbour: "401 200 200 200 200",
		change: func(w *warmFile) func() {
			w.admin.Delete("/api/admin/rules/" + w.rule).OK(200)
			return nil
		}},
	{name: "guest access is off", want: "401 404 200 200 200", neighbour: "401 404 200 200 200",
		strangers: "401 404 200 200 200", change: func(w *warmFile) func() {
			w.admin.Patch("/api/admin/settings", M{"allowGuestAccess": false}).OK(200)
			return func() { w.admin.Patch("/api/admin/settings", M{"allowGuestAccess": true}).OK(200) }
		}},
	// accounts and credentials
	{name: "the owner is disabled", want: "200 404 401 401 401", neighbour: "200 404 401 401 401",
		undone: "200 200 401 200 200", change: func(w *warmFile) func() { return w.setStatus("disabled") }},
	{name: "the owner is banned", want: "200 404 401 401 401", neighbour: "200 404 401 401 401",
		undone: "200 200 401 200 200", change: func(w *warmFile) func() { return w.setStatus("banned") }},
	{name: "the owner is deleted", want: "401 200 401 401 401", neighbour: "401 200 401 401 401",
		change: func(w *warmFile) func() {
			w.admin.Delete("/api/admin/users/" + callerID(w.owner)).OK(200)
			waitForHandover(w.t, w.l)
			heir := *w
			heir.session = w.admin
			heir.want("after the handover", "401 200 200")
			return nil
		}},
	{name: "an administrator is a user now, whom a rule denies the download", want: "200 404 401 403 403",
		account: M{"role": "admin"}, neighbour: "200 200 401 200 200", undone: "200 200 401 200 200",
		before: func(w *warmFile) { w.t.Cleanup(w.deny(M{"role": "user"})) },
		change: func(w *warmFile) func() {
			owner := "/api/admin/users/" + callerID(w.owner)
			w.admin.Put(owner, M{"role": "user"}).OK(200)
			return func() { w.admin.Put(owner, M{"role": "admin"}).OK(200) }
		}},
	{name: "the sessions end by a logout", want: "200 200 401 200 200", neighbour: "200 200 401 200 200",
		change: func(w *warmFile) func() {
			w.owner.Post("/api/auth/logout", M{}).OK(200)
			return nil
		}},
	{name: "all other sessions are ended", want: "200 200 401 200 200", neighbour: "200 200 401 200 200",
		change: func(w *warmFile) func() {
			w.owner.Delete("/api/users/me/sessions").OK(200)
			w.owner.Get("/api/auth/me").OK(200)
			return nil
		}},
	{name: "the password of the account is changed", want: "200 200 401 200 200", neighbour: "200 200 401 200 200",
		change: func(w *warmFile) func() {
			w.owner.Put("/api/users/me/password", M{"oldPassword": "password of " + w.name,
				"newPassword": "another password"}).OK(200)
			return nil
		}},
	{name: "another process sets the password of the account", want: "200 200 401 200 200",
		neighbour: "200 200 401 200 200", change: func(w *warmFile) func() {
			w.beside(func(a *app.App) error {
				_, err := a.Lifecycle.ResetPassword(w.t.Context(), w.name, "")
				return err
			})
			return nil
		}},
	{name: "another process renames the file", want: onlyByID, movedTo: "/top/dir/g.png",
		change: func(w *warmFile) func() {
			actor := access.Actor{UserID: callerID(w.owner), Role: access.User}
			rename := func(to string) {
				w.beside(func(a *app.App) error {
					name, err := vpath.ParseName(to)
					if err != nil {
						return err
					}
					_, err = a.Tree.Update(w.t.Context(), actor, w.id, files.Change{Name: &name})
					return err
				})
			}
			rename("g.png")
			return func() { rename("f.png") }
		}},
	{name: "the API key is revoked", want: "200 200 200 401 200", neighbour: "200 200 200 401 200",
		change: func(w *warmFile) func() {
			w.owner.Delete("/api/keys/" + keyIDOf(w.key.Header)).OK(200)
			return nil
		}},
	{name: "the WebDAV key is revoked", want: "200 200 200 200 401", neighbour: "200 200 200 200 401",
		change: func(w *warmFile) func() {
			w.owner.Delete("/api/keys/" + keyIDOf(w.davKey.Header)).OK(200)
			return nil
		}},
	{name: "the keys may not read", want: "200 200 200 403 403", neighbour: "200 200 200 403 403",
		change: func(w *warmFile) func() {
			w.changeKeys(M{"permissions": []string{"write"}})
			return func() { w.changeKeys(M{"permissions": []string{"read"}}) }
		}},
	{name: "the keys have other addresses", want: "200 200 200 403 403", neighbour: "200 200 200 403 403",
		change: func(w *warmFile) func() {
			w.changeKeys(M{"allowedIps": []string{"10.1.2.3"}})
			return func() { w.changeKeys(M{"allowedIps": []string{}}) }
		}},
	{name: "the keys read in their upload root only", want: "200 200 200 403 403", neighbour: "200 200 200 403 403",
		change: func(w *warmFile) func() {
			w.changeKeys(M{"rootOnly": true})
			return func() { w.changeKeys(M{"rootOnly": false}) }
		}},
	// storage
	{name: "a mount covers the folder", want: gone, change: func(w *warmFile) func() {
		mount := addMount(w.admin, addProvider(w.admin, w.name), w.home+"/top")
		return func() { w.admin.Delete(mountsPath + "/" + mount).OK(200) }
	}},
	{name: "the mount has another path", mount: "/NAME", want: onlyByID, change: func(w *warmFile) func() {
		mount := mountsPath + "/" + w.owner.Get("/api/files/"+w.id).OK(200).Text("mount.id")
		w.admin.Put(mount, M{"mountPath": "/other_" + w.name}).OK(200)
		return func() { w.admin.Put(mount, M{"mountPath": "/" + w.name}).OK(200) }
	}},
	{name: "the disk is not there", mount: "/NAME", want: "500 500 500 500 503", change: func(w *warmFile) func() {
		away := w.bucket + "-away"
		w.must(errors.Join(os.Rename(w.bucket, away), os.Mkdir(w.bucket, 0o700)))
		return func() { w.must(errors.Join(os.Remove(w.bucket), os.Rename(away, w.bucket))) }
	}},
}

func (w *warmFile) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// writer makes a WebDAV key that may change files in the home.
func (w *warmFile) writer() *apptest.Client { return davKey(w.owner, M{"uploadPath": w.home}) }

func (w *warmFile) rename(id, name string) { w.owner.Put("/api/files/"+id, M{"name": name}).OK(200) }

func (w *warmFile) move(id, to string) {
	waitForJob(w.t, w.owner, w.owner.Post("/api/files/"+id+"/move", M{"targetPath": to}).OK(200).Text("jobId"))
}

func (w *warmFile) davMove(from, to string) {
	w.t.Helper()
	if r := dav(w.writer(), "MOVE", from, nil, "Destination", "/webdav"+to); r.Status != 201 && r.Status != 204 {
		w.t.Fatalf("MOVE to %s: %d %s", to, r.Status, r.Body)
	}
}

func (w *warmFile) replace(content string) {
	w.owner.Upload(w.dir, "f.png", []byte(content), M{"conflict": "replace"})
}

func (w *warmFile) setPassword(id string, password any) {
	w.owner.Put("/api/files/"+id, M{"accessPassword": password}).OK(200)
}

// deny adds a rule that denies the download of the file, and returns the way back.
func (w *warmFile) deny(more M) func() { return w.addRule(M{"effect": "deny"}.With(more)) }

func (w *warmFile) addRule(more M) func() {
	id := addRule(w.admin, M{"pathPattern": w.home + "/top/**", "permissions": []string{"download"},
		"priority": 1}.With(more))
	return func() { w.admin.Delete("/api/admin/rules/" + id).OK(200) }
}

func (w *warmFile) setStatus(status string) func() {
	owner := callerID(w.owner)
	updateUser(w.admin, owner, M{"status": status}).OK(200)
	return func() { updateUser(w.admin, owner, M{"status": "active"}).OK(200) }
}

func (w *warmFile) changeKeys(change M) {
	for _, key := range []*apptest.Client{w.key, w.davKey} {
		w.owner.Patch("/api/keys/"+keyIDOf(key.Header), change).OK(200)
	}
}

// keyIDOf returns the id of the API key that a client sends.
func keyIDOf(header http.Header) string {
	r := http.Request{Header: header}
	if id, _, basic := r.BasicAuth(); basic {
		return id
	}
	id, _, _ := strings.Cut(strings.TrimPrefix(header.Get("Authorization"), "Bearer "), ".")
	return id
}

// beside opens the service in the way of a command that runs beside the server, and lets it make a
// change.
func (w *warmFile) beside(change func(a *app.App) error) {
	w.t.Helper()
	a, err := app.Open(w.t.Context(), w.l.Apps[0].Config, app.Deps{Now: w.l.Clock.Now, Random: rand.Reader,
		Log: slog.New(slog.DiscardHandler), Out: io.Discard, HashMemory: 64, OwnClock: true})
	w.must(err)
	w.must(errors.Join(change(a), a.Close()))
}
