package e2e

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
)

// stored is a file in a ledger.
type stored struct {
	id   string // "" until the service has returned it
	hash string
	size int64
}

// tree holds the files below a worker's folder by relative path. The two folders are in
// ledger.folders.
type tree map[string]stored

// sent holds the hash of every content whose upload began. Every complete download must be one of
// them.
type sent struct {
	mu     sync.Mutex // guards hashes
	hashes map[string]bool
}

func (s *sent) add(h string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hashes[h] = true
}

func (s *sent) has(h string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hashes[h]
}

// ledger records what one worker has requested below its own folder. It has one request at a time,
// so after a crash the service must be in the state `before` or `after`: the operation in progress
// happened completely or not at all, and nothing acknowledged is undone.
type ledger struct {
	root    string // /uploads/w0
	random  *rand.Rand
	client  *client
	keyed   *client
	sent    *sent
	serial  int
	folders [2]entry // id and name
	deleted []string // ids whose deletion was acknowledged since the last comparison

	mu            sync.Mutex // guards before and after, which readers look at
	before, after tree
}

// operation is a request with the tree after its success.
type operation struct {
	name  string
	after tree
	run   func() (reply, error)
	done  func(r reply) error // receives data of the answer, such as a new id; may be nil
}

// step executes one random operation. acknowledged is false when the transport failed, as in a
// crash; err describes a wrong answer.
func (l *ledger) step() (acknowledged bool, err error) {
	op := l.choose()
	l.mu.Lock()
	l.after = op.after
	l.mu.Unlock()
	r, err := op.run()
	if err != nil {
		return false, nil
	}
	if r.status != 200 && r.status != 201 {
		return true, fmt.Errorf("%s below %s answered %d: %s", op.name, l.root, r.status, tail(string(r.body), 300))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.before = op.after
	if op.done != nil {
		return true, op.done(r)
	}
	return true, nil
}

func (l *ledger) choose() operation {
	l.serial++
	paths := slices.Sorted(maps.Keys(l.before))
	dice := l.random.IntN(100)
	if len(paths) < 3 || dice < 40 {
		return l.upload()
	}
	path := paths[l.random.IntN(len(paths))]
	switch {
	case dice < 50:
		return l.replace(path)
	case dice < 65:
		return l.rename(path)
	case dice < 78:
		return l.move(path)
	case dice < 84:
		return l.renameFolder()
	default:
		return l.remove(path)
	}
}

func (l *ledger) content() []byte {
	size := 1 + l.random.IntN(40_000)
	if l.random.IntN(8) == 0 {
		size = 1<<20 + l.random.IntN(1<<20)
	}
	b := randomContent(l.random, size)
	l.sent.add(hash(b))
	return b
}

// randomContent returns bytes of which enough are random to differ everywhere.
func randomContent(random *rand.Rand, size int) []byte {
	b := make([]byte, size)
	for i := 0; i < len(b); i += 61 {
		b[i] = byte(random.Uint32())
	}
	return b
}

func (l *ledger) upload() operation {
	folder, name, content := l.folders[l.random.IntN(2)].Name, fmt.Sprintf("f%05d.bin", l.serial), l.content()
	after := maps.Clone(l.before)
	path := folder + "/" + name
	after[path] = stored{hash: hash(content), size: int64(len(content))}
	return operation{
		name: "upload", after: after,
		run: func() (reply, error) {
			return l.keyed.send("POST", "/api/upload", content, "X-File-Name", name, "X-Path", l.root+"/"+folder,
				"Content-Type", "application/x-crash")
		},
		done: func(r reply) error {
			var u uploaded
			if err := r.decode(&u); err != nil || u.FileID == "" || u.Filename != name ||
				u.Size != int64(len(content)) {
				return fmt.Errorf("upload of %s answered %s", path, r.body)
			}
			after[path] = stored{id: u.FileID, hash: hash(content), size: int64(len(content))}
			return nil
		},
	}
}

// replace replaces a file's content by an upload session, with three requests; the last one
// commits.
func (l *ledger) replace(path string) operation {
	content := l.content()
	after := maps.Clone(l.before)
	after[path] = stored{id: l.before[path].id, hash: hash(content), size: int64(len(content))}
	folder, name, _ := strings.Cut(path, "/")
	return operation{name: "replace", after: after, run: func() (reply, error) {
		r, err := l.client.send("POST", "/api/files/upload-session", object{
			"path": l.root + "/" + folder, "fileName": name, "fileSize": len(content), "conflict": "replace",
		})
		var session struct{ SessionID string }
		if err != nil || r.status != 200 {
			return r, err
		}
		if err := r.decode(&session); err != nil {
			return reply{status: 0, body: r.body}, nil
		}
		var part struct{ Etag string }
		r, err = l.client.send("PUT", "/api/files/upload/raw/"+session.SessionID, content)
		if err != nil || r.status != 200 {
			return r, err
		}
		if err := r.decode(&part); err != nil {
			return reply{status: 0, body: r.body}, nil
		}
		return l.client.send("POST", "/api/files/upload-complete",
			object{"sessionId": session.SessionID, "etag": part.Etag})
	}}
}

func (l *ledger) rename(path string) operation {
	folder, _, _ := strings.Cut(path, "/")
	name := fmt.Sprintf("r%05d.bin", l.serial)
	return operation{name: "rename", after: relocated(l.before, path, folder+"/"+name), run: func() (reply, error) {
		return l.client.send("PUT", "/api/files/"+l.before[path].id, object{"name": name})
	}}
}

func (l *ledger) move(path string) operation {
	folder, name, _ := strings.Cut(path, "/")
	target := l.folders[0].Name
	if folder == target {
		target = l.folders[1].Name
	}
	return operation{name: "move", after: relocated(l.before, path, target+"/"+name), run: func() (reply, error) {
		return l.client.send("POST", "/api/files/"+l.before[path].id+"/move",
			object{"targetPath": l.root + "/" + target})
	}}
}

func (l *ledger) renameFolder() operation {
	i := l.random.IntN(2)
	old, name := l.folders[i].Name, fmt.Sprintf("d%05d", l.serial)
	after := tree{}
	for path, file := range l.before {
		if rest, ok := strings.CutPrefix(path, old+"/"); ok {
			path = name + "/" + rest
		}
		after[path] = file
	}
	return operation{
		name: "rename of a folder", after: after,
		run: func() (reply, error) {
			return l.client.send("PUT", "/api/files/"+l.folders[i].ID, object{"name": name})
		},
		done: func(reply) error { l.folders[i].Name = name; return nil },
	}
}

func (l *ledger) remove(path string) operation {
	after, id := maps.Clone(l.before), l.before[path].id
	delete(after, path)
	return operation{
		name: "delete", after: after,
		run:  func() (reply, error) { return l.client.send("DELETE", "/api/files/"+id, nil) },
		done: func(reply) error { l.deleted = append(l.deleted, id); return nil },
	}
}

func relocated(t tree, from, to string) tree {
	after := maps.Clone(t)
	after[to] = after[from]
	delete(after, from)
	return after
}

// readOne reads a random file of the ledger during changes. A complete answer must be a complete
// sent content.
func (l *ledger) readOne(random *rand.Rand) (acknowledged bool, err error) {
	l.mu.Lock()
	paths := slices.Sorted(maps.Keys(l.after))
	l.mu.Unlock()
	if len(paths) == 0 {
		return true, nil
	}
	path := l.root + "/" + paths[random.IntN(len(paths))]
	r, err := l.client.send("GET", escaped(path), nil)
	switch {
	case err != nil:
		return false, nil
	case r.status == 404: // the file was moved
		return true, nil
	case r.status != 200:
		return true, fmt.Errorf("reading %s answered %d: %s", path, r.status, tail(string(r.body), 300))
	case !l.sent.has(hash(r.body)):
		return true, fmt.Errorf("reading %s gave %d bytes that were never sent", path, len(r.body))
	}
	return true, nil
}

// settle compares the state after a crash with before and after, adopts it, and describes the
// differences.
func (l *ledger) settle(seen tree) error {
	toBefore, toAfter := difference(l.before, seen), difference(l.after, seen)
	if toBefore != "" && toAfter != "" {
		return fmt.Errorf("%s has neither the acknowledged state:%s\nnor that with the unfinished operation:%s", l.root,
			toBefore, toAfter)
	}
	l.before, l.after = seen, seen
	return nil
}

// difference lists what is missing, added or changed in seen; an unknown id matches any.
func difference(want, seen tree) string {
	text := ""
	for path, w := range want {
		s, ok := seen[path]
		switch {
		case !ok:
			text += "\n  lost " + path
		case s.hash != w.hash || s.size != w.size:
			text += fmt.Sprintf("\n  %s has %d bytes, hash %.8s, want %d bytes, hash %.8s", path, s.size, s.hash,
				w.size, w.hash)
		case w.id != "" && s.id != w.id:
			text += fmt.Sprintf("\n  %s has id %s, want %s", path, s.id, w.id)
		}
	}
	for path := range seen {
		if _, ok := want[path]; !ok {
			text += "\n  unknown " + path
		}
	}
	return text
}
