package dirimport_test

import (
	"context"
	"errors"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"larder/internal/access"
	"larder/internal/apikey"
	"larder/internal/app"
	"larder/internal/apptest"
	"larder/internal/dirimport"
	"larder/internal/files"
	"larder/internal/vpath"
)

// fixture is a service with the account alice, and a directory to import into her home.
type fixture struct {
	t       *testing.T
	l       *apptest.Larder
	app     *app.App
	alice   *apptest.Client
	dir     string
	options dirimport.Options
	found   []dirimport.Finding // by the last call
}

func newFixture(t *testing.T, l *apptest.Larder) *fixture {
	t.Helper()
	f := &fixture{t: t, l: l, app: l.Apps[0], alice: l.User(t, "alice"), dir: filepath.Join(t.TempDir(), "from")}
	user, err := f.app.Accounts.ByName(f.app.DB.Read(t.Context()), "alice")
	f.must(err)
	f.must(os.Mkdir(f.dir, 0o700))
	f.options = dirimport.Options{Dir: f.dir, UserID: user.ID, Into: vpath.Root.Child("home").Child("alice"),
		Report: func(found dirimport.Finding) { f.found = append(f.found, found) }}
	return f
}

func (f *fixture) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

var taken = time.Date(2020, 2, 29, 12, 0, 0, 0, time.UTC)

// write writes a file of the directory.
func (f *fixture) write(name, content string) {
	f.t.Helper()
	path := filepath.Join(f.dir, name)
	f.must(os.MkdirAll(filepath.Dir(path), 0o700))
	f.must(os.WriteFile(path, []byte(content), 0o600))
	f.must(os.Chtimes(path, taken, taken))
}

// wantImport imports, and checks the number of stored files and what is left out, as `kind path`.
func (f *fixture) wantImport(stored int64, left ...string) {
	f.t.Helper()
	f.found = nil
	sum, err := f.app.Imports.Import(f.t.Context(), f.options)
	f.must(err)
	var names []string
	for _, found := range f.found {
		names = append(names, string(found.Kind)+" "+found.Path)
	}
	if sum.Files != stored || !slices.Equal(names, left) {
		f.t.Errorf("%d files were stored, and left out %q; want %d and %q: %v", sum.Files, names, stored, left, f.found)
	}
}

// wantContent checks the content of a file of alice, "" for none.
func (f *fixture) wantContent(name, content string) {
	f.t.Helper()
	reply := f.alice.Get("/home/alice/" + url.PathEscape(name))
	if content == "" && reply.Status != 404 || content != "" && string(reply.Body) != content {
		f.t.Errorf("%s: status %d, %d bytes, want %d", name, reply.Status, len(reply.Body), len(content))
	}
}

// during runs change when the first byte of a file was read.
func (f *fixture) during(change func()) {
	f.options.Progress = func(p dirimport.Progress) {
		if p.Bytes > 0 && change != nil {
			now := change
			change = nil
			now()
		}
	}
}

const mebibyte = 1 << 20

// A file that changes while it is read is reported, and nothing of it is visible.
func TestChangingFile(t *testing.T) {
	t.Parallel()
	changes := map[string]func(f *fixture, path string){
		"grows": func(f *fixture, path string) {
			file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
			f.must(err)
			_, err = io.WriteString(file, "more")
			f.must(errors.Join(err, file.Close()))
		},
		"shrinks": func(f *fixture, path string) { f.must(os.Truncate(path, 100)) },
		"is written in place": func(f *fixture, path string) {
			file, err := os.OpenFile(path, os.O_WRONLY, 0)
			f.must(err)
			_, err = file.WriteAt([]byte("X"), 0)
			f.must(errors.Join(err, file.Close()))
		},
	}
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		f := newFixture(t, l)
		for name, change := range changes {
			for _, size := range []int{1000, mebibyte} {
				f.write("a file", strings.Repeat("x", size))
				f.write("b", name+strings.Repeat("y", size))
				f.during(func() { change(f, filepath.Join(f.dir, "a file")) })
				f.options.Replace = true // of b
				f.wantImport(1, "failed a file")
				if reason := f.found[0].Reason; reason != "The file changed while it was read." {
					t.Errorf("%s: %s", name, reason)
				}
				f.wantContent("a file", "")
				f.wantContent("b", name+strings.Repeat("y", size))
			}
		}
		if stored := f.alice.Get("/api/auth/me").OK(200).Int("quota.usedFiles"); stored != 1 {
			t.Errorf("alice has %d files", stored)
		}
	})
}

// A file that was listed and is a symbolic link by the time it is opened is not followed, within
// the directory or out of it. The same holds for directories.
func TestReplacedByLink(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		f := newFixture(t, l)
		outside := filepath.Join(t.TempDir(), "outside")
		f.must(os.Mkdir(outside, 0o700))
		f.must(os.WriteFile(filepath.Join(outside, "secret"), []byte("secret"), 0o600))
		f.write("a", "first")
		for _, name := range []string{"b", "c", "d/secret", "e"} {
			f.write(name, "replaced")
		}
		f.during(func() {
			for name, target := range map[string]string{"b": "a", "c": filepath.Join(outside, "secret"), "d": outside} {
				f.must(os.RemoveAll(filepath.Join(f.dir, name)))
				f.must(os.Symlink(target, filepath.Join(f.dir, name)))
			}
		})
		f.wantImport(2, "failed b", "failed c", "failed d")
		for name, content := range map[string]string{"a": "first", "b": "", "c": "", "d/secret": "", "e": "replaced"} {
			f.wantContent(name, content)
		}
	})
}

// The import asks neither rules nor passwords. It respects the locks of WebDAV clients, and files
// that change meanwhile.
func TestRightsAndLocks(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		f := newFixture(t, l)
		ctx := t.Context()
		for _, name := range []string{"locked", "theirs"} {
			f.alice.Upload("/home/alice", name, []byte("of alice"))
		}
		locked := f.alice.Upload("/home/alice", "locked", []byte("locked"), apptest.M{"conflict": "replace"})
		key, _, err := f.app.Keys.Create(ctx, f.options.UserID, apikey.NewKey{Name: "dav", UploadPath: "/home/alice",
			Permissions: []string{"read", "write", "delete"}, Protocols: []string{"webdav"}})
		f.must(err)
		holder := access.Actor{UserID: f.options.UserID, Role: access.User, Key: key.Scope()}
		_, err = f.app.Tree.Lock(ctx, holder, locked, files.WriteLock{Token: "t", Exclusive: true}, time.Minute)
		f.must(err)
		rule := l.Admin(t).Post("/api/admin/rules", apptest.M{"pathPattern": "/home/alice/**", "effect": "deny",
			"role": "user", "permissions": []string{"write", "update"}}).OK(201).Text("rule.id")
		f.alice.Put("/api/files/"+locked, apptest.M{"customTitle": "x"}).Fails(403, "FORBIDDEN")
		for _, name := range []string{"a", "locked", "theirs"} {
			f.write(name, "imported")
		}
		f.options.Replace = true
		f.wantImport(2, "failed locked")
		l.Admin(t).Delete("/api/admin/rules/" + rule).OK(200)
		f.wantContent("a", "imported")
		f.wantContent("locked", "locked")
		f.wantContent("theirs", "imported")

		f.must(os.Remove(filepath.Join(f.dir, "locked")))
		f.write("theirs", "imported again")
		f.during(func() {
			f.alice.Upload("/home/alice", "theirs", []byte("by another"), apptest.M{"conflict": "replace"})
		})
		f.wantImport(0, "failed theirs")
		f.wantContent("theirs", "by another")
	})
}

// The provider of a mount below the target gets the objects of the files there.
func TestImportIntoBucket(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		f := newFixture(t, l)
		l.S3Mount(t, "/home/alice/cloud/deep")
		f.write("cloud/deep/large", strings.Repeat("z", mebibyte))
		f.write("cloud/deep/small", "z")
		f.write("plain", "p")
		f.wantImport(3)
		f.wantImport(0)
		if reply := f.alice.Get("/home/alice/cloud/deep/large"); len(reply.Body) != mebibyte {
			t.Errorf("status %d, %d bytes", reply.Status, len(reply.Body))
		}
	}, apptest.ReachLoopback)
}

// An import ends with the error of its context, with that of a database that must not be used any
// more, and when the store is away. It stores nothing after that.
func TestImportStops(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		f := newFixture(t, l)
		for _, name := range []string{"a", "b"} {
			f.write(name, "content")
		}
		end := errors.New("the end")
		stopped := dirimport.New(f.app.Imports.Config)
		stopped.CheckUsable = func(context.Context) error { return end }
		if sum, err := stopped.Import(t.Context(), f.options); !errors.Is(err, end) || sum.Files != 0 {
			t.Errorf("%+v, %v", sum, err)
		}
		ctx, stop := context.WithCancel(t.Context())
		f.during(stop)
		if sum, err := f.app.Imports.Import(ctx, f.options); !errors.Is(err, context.Canceled) || sum.Files != 0 {
			t.Errorf("%+v, %v", sum, err)
		}
		f.wantContent("a", "")
		f.wantContent("b", "")
		f.options.Progress = nil
		f.wantImport(2)
	})
}
