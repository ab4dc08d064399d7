package e2e

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
)

// mostLocked is the largest number of locks of a davLedger.
const mostLocked = 12

// davLedger is a worker that uses WebDAV, and its record of the contents, folders, properties and
// locks below its own folder. Like a ledger it has one request at a time, so after a crash the
// service must be in the state `before` or `after`.
type davLedger struct {
	root   string // /uploads/d0
	random *rand.Rand
	client *client
	sent   *sent
	serial int

	mu            sync.Mutex // guards before and after, which readers look at
	before, after davTree
	between       davTree // nil unless the request consists of two changes, of which the first may happen alone
}

// davOperation is a request of a davLedger with the state after its success.
type davOperation struct {
	method, path string // relative
	body         []byte
	headers      []string
	status       int
	after        davTree
	between      davTree
}

// step executes one random request, see ledger.step.
func (d *davLedger) step() (acknowledged bool, err error) {
	e := d.choose()
	d.mu.Lock()
	d.after, d.between = e.after, e.between
	d.mu.Unlock()
	headers := append(e.headers, ifHeader(d.root, d.before)...)
	r, err := d.client.send(e.method, dav(d.root+"/"+e.path), e.body, headers...)
	if err != nil {
		return false, nil
	}
	if r.status != e.status || r.status == 207 && strings.Count(string(r.body), "<D:status>HTTP/1.1 200 OK") != 2 {
		return true, fmt.Errorf("%s of %s below %s %v answered %d, want %d: %s", e.method, e.path, d.root, headers,
			r.status, e.status, tail(string(r.body), 300))
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if e.method == "LOCK" {
		is := e.after[e.path]
		if is.lock = strings.Trim(r.header.Get("Lock-Token"), "<>"); is.lock == "" {
			return true, fmt.Errorf("the LOCK of %s below %s gave no token", e.path, d.root)
		}
		e.after[e.path] = is
	}
	d.before = e.after
	return true, nil
}

func (d *davLedger) choose() davOperation {
	d.serial++
	files, folders, locked := d.paths(false), d.paths(true), []string{}
	for path, is := range d.before {
		if is.lock != "" {
			locked = append(locked, path)
		}
	}
	slices.Sort(locked)
	dice := d.random.IntN(100)
	switch {
	case len(folders) < 2 || dice < 5 && len(folders) < 6:
		return d.mkcol()
	case len(files) < 4 || dice < 20:
		return d.put(d.fresh())
	case dice < 34:
		return d.put(d.pick(files))
	case dice < 40:
		return d.remove(d.pick(files))
	case dice < 43:
		return d.remove(d.pick(folders))
	case dice < 72:
		return d.transfer([]string{"MOVE", "COPY"}[d.random.IntN(2)], files, folders)
	case dice < 82 && len(locked) < mostLocked:
		return d.lock(files)
	case dice < 88 && len(locked) > 0:
		return d.unlock(d.pick(locked))
	}
	return d.proppatch(d.pick(append(files, folders...)))
}

// paths lists the existing folders, or the files.
func (d *davLedger) paths(folders bool) (list []string) {
	for path, is := range d.before {
		if path != "" && is.folder == folders {
			list = append(list, path)
		}
	}
	slices.Sort(list)
	return list
}

func (d *davLedger) pick(from []string) string { return from[d.random.IntN(len(from))] }

// fresh returns an unused path for a file in one of the folders.
func (d *davLedger) fresh() string {
	return fmt.Sprintf("%s/f%05d.bin", d.pick(d.paths(true)), d.serial)
}

func (d *davLedger) put(path string) davOperation {
	size := 1 + d.random.IntN(30_000)
	if d.random.IntN(8) == 0 {
		size = 300_000 + d.random.IntN(1<<20)
	}
	content := randomContent(d.random, size)
	d.sent.add(hash(content))
	is, existed := d.before[path]
	is.hash, is.size = hash(content), int64(len(content))
	return davOperation{method: "PUT", path: path, body: content, status: settled(existed),
		after: with(d.before, path, is)}
}

func settled(existed bool) int {
	if existed {
		return 204
	}
	return 201
}

func (d *davLedger) mkcol() davOperation {
	path := fmt.Sprintf("d%05d", d.serial)
	return davOperation{method: "MKCOL", path: path, status: 201,
		after: with(d.before, path, davResource{folder: true})}
}

func (d *davLedger) remove(path string) davOperation {
	return davOperation{method: "DELETE", path: path, status: 204, after: without(d.before, path)}
}

func (d *davLedger) proppatch(path string) davOperation {
	value := fmt.Sprintf("v%d", d.serial)
	is := d.before[path]
	is.properties = bothAre(value)
	return davOperation{method: "PROPPATCH", path: path, body: setBoth(value), status: 207,
		after: with(d.before, path, is)}
}

// lock locks a file. Locking an absent one first creates an empty file.
func (d *davLedger) lock(files []string) davOperation {
	path := d.pick(files)
	if d.random.IntN(3) == 0 {
		path = d.fresh()
	}
	is, existed := d.before[path]
	if is.lock != "" {
		return d.unlock(path)
	}
	e := davOperation{method: "LOCK", path: path, body: []byte(lockIt),
		headers: []string{"Depth", "0", "Timeout", "Second-3600"}, status: 200}
	if !existed {
		is.hash, e.status = hash(nil), 201
		e.between = with(d.before, path, is)
	}
	is.lock = unknownToken
	e.after = with(d.before, path, is)
	return e
}

// unknownToken stands for the token of a lock whose answer was lost.
const unknownToken = "?"

func (d *davLedger) unlock(path string) davOperation {
	is := d.before[path]
	headers := []string{"Lock-Token", "<" + is.lock + ">"}
	is.lock = ""
	return davOperation{method: "UNLOCK", path: path, headers: headers, status: 204, after: with(d.before, path, is)}
}

// transfer moves or copies a file or folder to a new name, or over another of its kind without
// locks: it is not specified who keeps the lock of a replaced file.
func (d *davLedger) transfer(method string, files, folders []string) davOperation {
	from, to := d.pick(files), d.fresh()
	if d.random.IntN(4) == 0 {
		from, to = d.pick(folders), fmt.Sprintf("e%05d", d.serial)
		files = folders
	}
	if over := d.pick(files); d.random.IntN(2) == 0 && over != from && ifHeader(d.root, under(d.before, over)) == nil {
		to = over
	}
	_, existed := d.before[to]
	after := without(d.before, to)
	if method == "MOVE" {
		after = without(after, from)
	}
	for path, is := range under(d.before, from) {
		is.lock = "" // a lock stays with the address
		after[to+strings.TrimPrefix(path, from)] = is
	}
	return davOperation{method: method, path: from, headers: []string{"Destination", dav(d.root + "/" + to)},
		status: settled(existed), after: after}
}

// under returns the resources at a path and below it.
func under(all davTree, top string) davTree {
	some := maps.Clone(all)
	maps.DeleteFunc(some, func(path string, _ davResource) bool {
		return path != top &&
			!strings.HasPrefix(path, top+"/")
	})
	return some
}

func without(all davTree, top string) davTree {
	left := maps.Clone(all)
	for path := range under(all, top) {
		delete(left, path)
	}
	return left
}

func with(all davTree, path string, is davResource) davTree {
	more := maps.Clone(all)
	more[path] = is
	return more
}

// readOne reads a random file during changes, see ledger.readOne.
func (d *davLedger) readOne(random *rand.Rand) (acknowledged bool, err error) {
	d.mu.Lock()
	var paths []string
	for path, is := range d.after {
		if !is.folder {
			paths = append(paths, path)
		}
	}
	d.mu.Unlock()
	if len(paths) == 0 {
		paths = []string{"nothing"} // requested as well, to detect the end of the service
	}
	path := paths[random.IntN(len(paths))]
	r, err := d.client.send("GET", dav(d.root+"/"+path), nil)
	switch {
	case err != nil:
		return false, nil
	case r.status == 404:
		return true, nil
	case r.status != 200 || !d.sent.has(hash(r.body)):
		return true, fmt.Errorf("reading %s below %s answered %d with %d bytes that were never sent", path, d.root,
			r.status, len(r.body))
	}
	return true, nil
}

// compare compares the restarted service with the record and adopts its state. It returns the bytes
// and files.
func (d *davLedger) compare(t *testing.T) (size, files int64) {
	t.Helper()
	seen := d.client.things(t, d.root)
	differences := map[string]string{"the acknowledged state": davDifference(d.before, seen),
		"the state after the unfinished request": davDifference(d.after, seen)}
	if d.between != nil {
		differences["half of that"] = davDifference(d.between, seen)
	}
	for _, text := range differences {
		if text == "" {
			differences = nil
			break
		}
	}
	if differences != nil {
		t.Errorf("%s holds none of these: %v", d.root, differences)
	}
	d.before, d.after, d.between = seen, seen, nil
	for path, is := range seen {
		if !is.folder {
			size, files = size+is.size, files+1
		}
		if is.lock != "" { // the lock is in effect
			d.client.do(t, "PROPPATCH", dav(d.root+"/"+path), setBoth("no token")).want(t, 423)
		}
	}
	return size, files
}

// davDifference lists the differences.
func davDifference(want, seen davTree) (text string) {
	for path, w := range want {
		s, there := seen[path]
		if w.lock == unknownToken && s.lock != "" {
			w.lock = s.lock
		}
		if !there || s != w {
			text += fmt.Sprintf("\n  %s is %+v, want %+v", path, s, w)
		}
	}
	for path := range seen {
		if _, known := want[path]; !known {
			text += "\n  unknown " + path
		}
	}
	return text
}
