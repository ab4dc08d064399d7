package e2e

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// locking are two keys that lock the same file in turn.
type locking struct {
	*chaos
	path    string
	clients [2]*client
	serial  [2]int
	holders atomic.Int64
	locked  atomic.Int64 // locks so far
	last    sync.Mutex
	written string // by the last holder
}

func newLocking(c *chaos, admin *client) *locking {
	l := &locking{chaos: c, path: "/uploads/locked.bin"}
	for i := range l.clients {
		l.clients[i] = driveKey(c.t, admin).client(c.bases...)
	}
	l.clients[0].do(c.t, "PUT", dav(l.path), []byte("first")).want(c.t, 201)
	l.written = "first"
	return l
}

var lockOwner = regexp.MustCompile(`<D:owner[^>]*>(?:<[^>]*>)?(chaos \d+)`)
var lockToken = regexp.MustCompile(`urn:uuid:[0-9a-f-]+`)

// step takes the lock when it is free, writes, and returns it.
func (l *locking) step(i int) error {
	me := fmt.Sprintf("chaos %d", i)
	ask := strings.Replace(lockIt, "crash", me, 1)
	r, attempts, err := l.ask(l.clients[i], "LOCK", dav(l.path), []byte(ask), "Depth", "0", "Timeout", "Second-3600")
	if err != nil {
		return err
	}
	token := strings.Trim(r.header.Get("Lock-Token"), "<>")
	if token == "" && (r.status != 423 || attempts == 1) {
		if r.status != 423 {
			return unexpected("LOCK", r, nil)
		}
		return nil
	}
	// an attempt without an answer may have locked the file: the properties tell
	found, _, err := l.ask(l.clients[i], "PROPFIND", dav(l.path), []byte(askAbout), "Depth", "0")
	if err != nil {
		return err
	}
	owner := lockOwner.FindSubmatch(found.body)
	switch mine := owner != nil && string(owner[1]) == me; {
	case !mine && token == "":
		return nil
	case !mine || token != "" && !strings.Contains(string(found.body), token):
		return fmt.Errorf("%s has the lock %q, and the properties are %s", me, token, found.body)
	}
	token = string(lockToken.Find(found.body))
	if n := l.holders.Add(1); n != 1 {
		return fmt.Errorf("%d clients hold the exclusive lock", n)
	}
	l.locked.Add(1)
	l.serial[i]++
	text := fmt.Sprintf("%s, %d", me, l.serial[i])
	r, _, err = l.ask(l.clients[i], "PUT", dav(l.path), []byte(text), "If", "(<"+token+">)")
	if err != nil || r.status != 204 {
		return errors.Join(err, unexpected("PUT with the lock", r, err))
	}
	l.last.Lock()
	l.written = text
	l.last.Unlock()
	r, _, err = l.ask(l.clients[1-i], "PUT", dav(l.path), []byte("not by the holder"))
	if err != nil || r.status != 423 {
		return errors.Join(err, unexpected("PUT without the lock", r, err))
	}
	l.holders.Add(-1)
	r, attempts, err = l.ask(l.clients[i], "UNLOCK", dav(l.path), nil, "Lock-Token", "<"+token+">")
	if err == nil && r.status != 204 && attempts == 1 {
		err = unexpected("UNLOCK", r, nil)
	}
	return err
}

func (l *locking) check(t *testing.T, admin *client) {
	t.Helper()
	if r := admin.do(t, "GET", l.path, nil).want(t, 200); string(r.body) != l.written {
		t.Errorf("the locked file has %q, want %q", r.body, l.written)
	}
}

func (l *locking) String() string { return fmt.Sprintf("locked %d times", l.locked.Load()) }

// Limits of the shares.
const (
	shareDownloads = 3
	shareViews     = 5
)

// sharing makes shares with limits and uses them up.
type sharing struct {
	*chaos
	file    string
	content []byte
	shares  []string // used up
	given   int
}

func newSharing(c *chaos, keyed *client) *sharing {
	s := &sharing{chaos: c, content: contentOf("shared", 5000)}
	s.file = keyed.mustRaw(c.t, "shared.bin", "/uploads", "application/x-chaos", s.content).FileID
	return s
}

// step uses up one share: four clients at a time view it, ask for download addresses and use each
// of them twice, until the limits are reached.
func (s *sharing) step() error {
	owner, err := s.signedIn("admin", adminPassword)
	if err != nil {
		return err
	}
	r, err := owner.send("POST", "/api/shares/", object{"fileId": s.file, "maxDownloads": shareDownloads,
		"maxViews": shareViews})
	if err != nil || r.status != 201 {
		return nil // this replica is gone
	}
	var made struct{ Share struct{ ID string } }
	if err := r.decode(&made); err != nil {
		return err
	}
	share := "/api/shares/" + made.Share.ID
	var given, viewed atomic.Int64
	var faults faultList
	var all sync.WaitGroup
	for range 4 {
		visitor := newClient(s.bases...)
		all.Go(func() {
			for {
				r, _, err := s.ask(visitor, "GET", share, nil)
				if err != nil || r.status != 200 {
					if err != nil || r.status != 410 {
						faults.add(errors.Join(err, unexpected("a view", r, err)))
					}
					return
				}
				viewed.Add(1)
			}
		})
		all.Go(func() {
			for {
				r, _, err := s.ask(visitor, "GET", share+"/download", nil)
				if err != nil || r.status != 200 {
					if err != nil || r.status != 410 {
						faults.add(errors.Join(err, unexpected("a download address", r, err)))
					}
					return
				}
				var issued struct{ URL string }
				if err := r.decode(&issued); err != nil {
					faults.add(err)
					return
				}
				once, err := s.useTwice(visitor, at(s.t, issued.URL))
				if err != nil {
					faults.add(err)
					return
				}
				given.Add(once)
			}
		})
	}
	all.Wait()
	if given.Load() > shareDownloads || viewed.Load() > shareViews {
		faults.add(fmt.Errorf("a share for %d downloads and %d views was downloaded %d times and viewed %d times",
			shareDownloads, shareViews, given.Load(), viewed.Load()))
	}
	s.shares, s.given = append(s.shares, made.Share.ID), s.given+int(given.Load())
	return errors.Join(faults.errs...)
}

// useTwice requests a download address at both replicas at once, and again, and returns how often
// it gave the file.
func (s *sharing) useTwice(visitor *client, address string) (int64, error) {
	var given atomic.Int64
	var faults faultList
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			for range 2 {
				r, err := visitor.send("GET", address, nil)
				switch {
				case err != nil || r.status >= 500:
					s.refusals.Add(1)
				case r.status == 200 && hash(r.body) == hash(s.content):
					given.Add(1)
				case r.status != 401 && r.status != 410:
					faults.add(unexpected("a download", r, nil))
				}
			}
		})
	}
	all.Wait()
	if given.Load() > 1 {
		faults.add(fmt.Errorf("a download address was used %d times", given.Load()))
	}
	return given.Load(), errors.Join(faults.errs...)
}

// check compares the counts of all shares with their limits.
func (s *sharing) check(t *testing.T, admin *client) {
	t.Helper()
	counts := map[string][2]int{}
	for page := 1; ; page++ {
		var list struct {
			Items []struct {
				ID                       string
				ViewCount, DownloadCount int
			}
			Pagination struct{ Pages int }
		}
		admin.do(t, "GET", fmt.Sprintf("/api/shares/?limit=100&page=%d", page), nil).data(t, 200, &list)
		for _, share := range list.Items {
			counts[share.ID] = [2]int{share.DownloadCount, share.ViewCount}
		}
		if page >= list.Pagination.Pages {
			break
		}
	}
	for _, id := range s.shares {
		if counts[id] != [2]int{shareDownloads, shareViews} {
			t.Errorf("share %s counts %v, want %d downloads and %d views", id, counts[id], shareDownloads, shareViews)
		}
	}
}

func (s *sharing) String() string {
	return fmt.Sprintf("%d shares used up, by %d downloads with an answer", len(s.shares), s.given)
}

// filling is an account whose quota is filled by clients that upload until they are refused.
type filling struct {
	*chaos
	keyed  *client
	folder string
	full   atomic.Int64 // refusals
	turn   atomic.Int64
}

func newFilling(c *chaos, admin *client) *filling {
	f := &filling{chaos: c}
	id := admin.createUser(c.t, "filler", "password of filler", "user")
	admin.do(c.t, "PUT", "/api/admin/users/"+id, object{"maxFiles": chaosFiles}).want(c.t, 200)
	filler := login(c.t, "filler", "password of filler", c.bases[0])
	f.folder = "/home/filler"
	admin.do(c.t, "GET", "/api/files?path="+f.folder, nil).want(c.t, 200)
	f.keyed = withKey(filler.createKey(c.t, object{"name": "fill", "permissions": []string{"read", "write", "delete"},
		"protocols": []string{"api"}, "uploadPath": f.folder}), c.bases...)
	return f
}

// step uploads a file. When the quota is full it deletes one.
func (f *filling) step() error {
	name := fmt.Sprintf("q%d.bin", f.turn.Add(1))
	r, _, err := f.ask(f.keyed, "POST", "/api/upload", []byte(name), "X-File-Name", name, "X-Path", f.folder)
	if err != nil || r.status != 413 {
		if err == nil && r.status != 200 {
			err = unexpected("an upload into a quota", r, nil)
		}
		return err
	}
	f.full.Add(1)
	r, _, err = f.ask(f.keyed, "GET", "/api/files?limit=1000&path="+f.folder, nil)
	var listing struct{ Items []entry }
	if err == nil {
		err = r.decode(&listing)
	}
	if len(listing.Items) > chaosFiles {
		return fmt.Errorf("%d files in a quota of %d", len(listing.Items), chaosFiles)
	}
	if err != nil || len(listing.Items) == 0 {
		return err
	}
	for _, file := range listing.Items[:min(3, len(listing.Items))] {
		r, _, err = f.ask(f.keyed, "DELETE", "/api/files/"+file.ID, nil)
		if err != nil || r.status != 200 && r.status != 404 { // 404: the other one deleted it
			return errors.Join(err, unexpected("a deletion in a quota", r, err))
		}
	}
	return nil
}

func (f *filling) check(t *testing.T, admin *client) {
	t.Helper()
	var size, files int64
	for _, file := range admin.walk(t, f.folder) {
		size, files = size+file.Size, files+1
	}
	filler := login(t, "filler", "password of filler", admin.bases...)
	if usedSize, usedFiles := filler.usage(t); usedSize != size || usedFiles != files || files > chaosFiles {
		t.Errorf("the quota of the full account says %d bytes in %d files, the listings %d in %d", usedSize, usedFiles,
			size, files)
	}
}

func (f *filling) String() string { return fmt.Sprintf("%d times a full quota", f.full.Load()) }
