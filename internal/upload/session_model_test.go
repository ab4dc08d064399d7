package upload_test

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"larder/internal/access"
	"larder/internal/blob"
	"larder/internal/blob/blobtest"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/upload"
	"larder/internal/vpath"
)

// machineSteps is the number of operations on each engine.
var machineSteps = flag.Int("machine.steps", 2500, "operations of TestQuotaNeverDrifts on each engine")

// machine runs random operations of two users on the service, beside a model that consists of maps.
// The store fails in one operation of twenty; nothing may have changed then.
type machine struct {
	*fixture
	users      []access.Actor
	files      map[string]modelFile // by path
	folders    map[string]string    // ids by path
	sessions   map[string]modelSession
	sendDirect func(address, content string) (etag string)
	made       int // number of names given so far
	steps      int
}

type modelFile struct {
	id, owner, content string
}

type modelSession struct {
	number   int // in the order of creation
	owner    string
	folder   string // its id, "" for a home
	size     int64
	received string // etag of the content that came in, "" for none
	content  string
	expires  time.Time
	address  string // where its bytes may be sent directly, "" for none and after bytes came through the service

	parts          map[int]bool // in parts: those that came in
	key            string       // idempotency key, "" for none
	kept           bool         // expired, and its parts are kept
	mayBeAssembled bool         // assembled by a completion that failed afterwards
	asked          time.Time    // of the last completion that the store did not answer clearly
}

// reserved is the reservation of the session in its owner's quota.
func (s modelSession) reserved() (bytes, count int64) {
	if !s.kept {
		return s.size, 1
	}
	for n := range s.parts {
		bytes += int64(len(partOf(s.content, n)))
	}
	return bytes, 0
}

// Quota drift is 0 (abuse case C93): after every operation the counters of each user are the sums
// of the model, which knows nothing of rows.
func TestQuotaNeverDrifts(t *testing.T) {
	each(t, func(t *testing.T, w *fixture) {
		w.up.SetPartSize(partLength)
		m := &machine{fixture: w, users: []access.Actor{w.ann, w.ben}, files: map[string]modelFile{},
			folders: map[string]string{}, sessions: map[string]modelSession{}, sendDirect: w.signAddresses()}
		if err := errors.Join(w.setLimits(w.ann, 64<<10, 40), w.setLimits(w.ben, 64<<10, 40)); err != nil {
			t.Fatal(err)
		}
		for m.steps < *machineSteps {
			rapid.Check(t, func(r *rapid.T) {
				if m.steps >= *machineSteps {
					return
				}
				m.reset(r)
				r.Repeat(map[string]func(*rapid.T){
					"put":    m.put,
					"begin":  m.begin,
					"send":   m.send,
					"resume": m.resume,
					"finish": m.finish,
					"abort":  m.abort,
					"mkdir":  m.mkdir,
					"rename": m.rename,
					"move":   m.move,
					"copy":   m.copy,
					"delete": m.delete,
					"wait":   m.passTime,
					"sweep":  func(*rapid.T) { w.sweepAndCollect() },
					"":       m.check,
				})
			})
			if t.Failed() {
				return
			}
		}
		w.sweepAndCollect() // deletes the rows of deleted entries
		w.checkInvariants()
	})
}

// reset deletes what the former sequence left, so that a failing one can be shrunk.
func (m *machine) reset(r *rapid.T) {
	defer m.advance(time.Hour) // until then aborted sessions count whose bytes could go directly to the store
	for id, s := range m.sessions {
		if err := m.up.Abort(ctx, m.user(s.owner), id); err != nil {
			r.Fatal(err)
		}
	}
	for _, owner := range m.users {
		list, err := m.tree.List(ctx, owner, files.ListQuery{Path: m.home(owner), Page: 1, Limit: 1000})
		if err != nil {
			r.Fatal(err)
		}
		for _, e := range list.Items {
			if _, _, err := m.tree.Delete(ctx, owner, e.ID); err != nil {
				r.Fatal(err)
			}
		}
	}
	err := m.db.Write(ctx, func(tx *db.Tx) error { // after a failure, so that shrinking begins with nothing
		_, err := tx.Exec(
			"UPDATE quotas SET used_storage = 0, used_files = 0, reserved_storage = 0, reserved_files = 0 WHERE "+
				"user_id IN ($1, $2)", m.ann.UserID, m.ben.UserID)
		return err
	})
	if err != nil {
		r.Fatal(err)
	}
	clear(m.files)
	clear(m.folders)
	clear(m.sessions)
	m.made = 0
}

func (m *machine) user(id string) access.Actor {
	if id == m.ann.UserID {
		return m.ann
	}
	return m.ben
}

func (m *machine) home(a access.Actor) vpath.Path {
	if a.UserID == m.ann.UserID {
		return path("/home/ann")
	}
	return path("/home/ben")
}

// faulty makes the store fail in one operation of twenty, and reports whether it will if the
// operation gets as far as the store.
func (m *machine) faulty(r *rapid.T, ops ...blobtest.Op) bool {
	if rapid.IntRange(0, 19).Draw(r, "fault") != 0 {
		return false
	}
	op := rapid.SampledFrom(ops).Draw(r, "faulty operation")
	cause := errors.New("injected")
	m.store.QueueFaults(op, rapid.SampledFrom([]blobtest.Fault{
		{Err: blob.Unavailable("use store", cause)},
		{Err: blob.Unavailable("use store", cause), AnswerLost: true},
		{Err: blob.NoSpace("use store", cause), FailAfter: 7},
	}).Draw(r, "kind of fault"))
	return true
}

// checkOutcome checks that an operation failed only when it may, and removes a fault that was not
// used.
func (m *machine) checkOutcome(r *rapid.T, err error, faulty bool, allowed ...fault.Kind) bool {
	if faulty {
		m.store.ClearFaults()
	}
	switch kind := fault.KindOf(err); {
	case err == nil:
		return true
	case kind == fault.Unavailable && faulty, slices.Contains(allowed, kind) && kind != fault.Internal:
	default:
		r.Fatalf("unexpected error: %v", err)
	}
	return false
}

// dir draws the home of a user or a folder in it.
func (m *machine) dir(r *rapid.T, a access.Actor) string {
	dirs := []string{m.home(a).String()}
	for _, p := range slices.Sorted(maps.Keys(m.folders)) {
		if path(p).Within(m.home(a)) {
			dirs = append(dirs, p)
		}
	}
	return rapid.SampledFrom(dirs).Draw(r, "folder")
}

func (m *machine) name(r *rapid.T) string {
	return rapid.SampledFrom([]string{"a", "b", "c", "d.txt"}).Draw(r, "name")
}

func (m *machine) bytes(r *rapid.T) string {
	m.made++
	return strings.Repeat(fmt.Sprintf("%06d", m.made), 3000)[:rapid.IntRange(0, 17_000).Draw(r, "size")]
}

// left is the remaining quota of a user.
func (m *machine) left(owner string) (bytes int64, count int) {
	bytes, count = 64<<10, 40
	for _, f := range m.files {
		if f.owner == owner {
			bytes, count = bytes-int64(len(f.content)), count-1
		}
	}
	for _, s := range m.sessions {
		if s.owner == owner {
			held, files := s.reserved()
			bytes, count = bytes-held, count-int(files)
		}
	}
	return bytes, count
}

func (m *machine) put(r *rapid.T) {
	a := m.users[rapid.IntRange(0, 1).Draw(r, "user")]
	dir, name, content := m.dir(r, a), m.name(r), m.bytes(r)
	replace := rapid.Bool().Draw(r, "replace")
	o := upload.OneShot{Dir: path(dir), Name: vpath.Name(name), Size: int64(len(content)),
		Body: strings.NewReader(content)}
	old, there := m.files[dir+"/"+name]
	bytes, count := m.left(a.UserID)
	if replace {
		o.Conflict = files.Replace
	}
	if replace && there {
		bytes, count = bytes+int64(len(old.content)), count+1
	}
	faulty := m.faulty(r, blobtest.Put)
	result, err := m.up.Put(ctx, a, o)
	full := bytes < int64(len(content)) || count < 1
	if folder := m.folders[dir+"/"+name] != ""; replace && folder {
		m.checkOutcome(r, err, faulty, fault.AlreadyExists)
		return
	}
	if !m.checkOutcome(r, err, faulty, fault.QuotaExceeded) {
		if fault.Is(err, fault.QuotaExceeded) && !full {
			r.Fatalf("refused with %d bytes and %d files left: %v", bytes, count, err)
		}
		return
	}
	if full {
		r.Fatalf("%d bytes taken with %d bytes and %d files left", len(content), bytes, count)
	}
	m.files[result.File.Path().String()] = modelFile{id: result.File.ID, owner: a.UserID, content: content}
}

func (m *machine) begin(r *rapid.T) {
	a := m.users[rapid.IntRange(0, 1).Draw(r, "user")]
	dir, name, content := m.dir(r, a), m.name(r), m.bytes(r)
	s := modelSession{number: m.made, owner: a.UserID, folder: m.folders[dir], size: int64(len(content)),
		content: content, expires: m.now().Add(time.Hour)}
	n := upload.NewSession{Dir: path(dir), Name: vpath.Name(name), Size: s.size}
	faulty := false
	if rapid.Bool().Draw(r, "through the service") {
		n.Mode = "worker"
	}
	if s.size > 0 && rapid.Bool().Draw(r, "in parts") {
		n.PartCount, s.parts = new(int64), map[int]bool{}
		*n.PartCount = 2
		if s.folder == "" && rapid.Bool().Draw(r, "with a key") { // in a home, whose path does not change
			s.key = fmt.Sprintf("key %d", m.made)
			n.Name, n.IdempotencyKey = vpath.Name(s.key), s.key
		}
		faulty = m.faulty(r, blobtest.Begin)
	}
	bytes, count := m.left(a.UserID)
	session, err := m.up.Create(ctx, a, n)
	if !m.checkOutcome(r, err, faulty, fault.QuotaExceeded) {
		if fault.Is(err, fault.QuotaExceeded) && bytes >= s.size && count >= 1 {
			r.Fatalf("refused with %d bytes and %d files left: %v", bytes, count, err)
		}
		return
	}
	s.address = session.URL
	m.sessions[session.ID] = s
}

// resume repeats the key of a session: a pending one is resumed, an expired one is continued by a
// new session with its parts.
func (m *machine) resume(r *rapid.T) {
	id, s := m.session(r)
	if s.key == "" {
		r.Skip("it has no key")
	}
	two := int64(2)
	bytes, count := m.left(s.owner)
	if s.kept {
		held, _ := s.reserved()
		bytes += held
	}
	session, err := m.up.Create(ctx, m.user(s.owner), upload.NewSession{
		Dir: m.home(m.user(s.owner)), Name: vpath.Name(s.key), Size: s.size, PartCount: &two, IdempotencyKey: s.key,
	})
	fits := !s.kept || bytes >= s.size && count >= 1
	if !m.checkOutcome(r, err, false, fault.QuotaExceeded) {
		if fits {
			r.Fatalf("refused with %d bytes and %d files left: %v", bytes, count, err)
		}
		return
	}
	if !fits || (session.ID == id) == s.kept {
		r.Fatalf("resumed %s as %s, kept %v, with %d bytes and %d files left", id, session.ID, s.kept, bytes, count)
	}
	if s.kept {
		s.kept, s.expires = false, m.now().Add(time.Hour)
	}
	delete(m.sessions, id)
	m.sessions[session.ID] = s
}

func (m *machine) session(r *rapid.T) (string, modelSession) {
	if len(m.sessions) == 0 {
		r.Skip("no session is open")
	}
	ids := slices.SortedFunc(maps.Keys(m.sessions),
		func(a, b string) int { return m.sessions[a].number - m.sessions[b].number })
	id := ids[rapid.IntRange(0, len(ids)-1).Draw(r, "session")]
	if s := m.sessions[id]; !s.kept && !m.now().Before(s.expires) {
		r.Skip("the session takes no more bytes, and the store may still assemble it")
	}
	return id, m.sessions[id]
}

func (m *machine) send(r *rapid.T) {
	id, s := m.session(r)
	switch {
	case s.kept:
		r.Skip("it has expired")
	case s.parts != nil:
		m.sendPart(r, id, s)
		return
	}
	if s.address != "" && rapid.Bool().Draw(r, "straight") {
		s.received = m.sendDirect(s.address, s.content)
		m.sessions[id] = s
		return
	}
	body := s.content
	short := rapid.IntRange(0, 4).Draw(r, "cut") == 0
	if short {
		body += "and more"
	}
	faulty := m.faulty(r, blobtest.Put)
	etag, _, err := m.up.PutRaw(ctx, m.user(s.owner), id, strings.NewReader(body), -1, "")
	if m.checkOutcome(r, err, faulty, fault.Unverified) {
		if short {
			r.Fatal("a body that is too long was taken")
		}
		s.received, s.address = etag, ""
		m.sessions[id] = s
	}
}

func (m *machine) sendPart(r *rapid.T, id string, s modelSession) {
	total := (len(s.content) + partLength - 1) / partLength
	number := rapid.IntRange(1, total).Draw(r, "part")
	body := partOf(s.content, number)
	cut := rapid.IntRange(0, 4).Draw(r, "cut") == 0
	if cut {
		body = body[:len(body)-1]
	}
	faulty := m.faulty(r, blobtest.PutPart)
	_, err := m.up.PutPart(ctx, m.user(s.owner), id, number, strings.NewReader(body), -1)
	allowed := []fault.Kind{fault.Unverified}
	if s.mayBeAssembled {
		allowed = append(allowed, fault.Conflict)
	}
	if m.checkOutcome(r, err, faulty, allowed...) {
		if cut {
			r.Fatal("a part that is too short was taken")
		}
		s.parts[number] = true
		return
	}
	if fault.Is(err, fault.Unverified) && !cut {
		r.Fatalf("a part was refused: %v", err)
	}
	parts, err := m.up.Parts(ctx, m.user(s.owner), id) // the store may have it, though its answer was lost
	if err != nil {
		r.Fatal(err)
	}
	clear(s.parts)
	for _, part := range parts.Received {
		s.parts[part.Number] = true
	}
}

func (m *machine) finish(r *rapid.T) {
	id, s := m.session(r)
	if s.kept {
		r.Skip("it has expired")
	}
	if s.parts != nil {
		s.received = ""
		if len(s.parts) == (len(s.content)+partLength-1)/partLength {
			s.received = "all parts"
		}
	}
	etag := s.received
	if etag == "" {
		etag = "none"
	}
	faulty := m.faulty(r, blobtest.Stat, blobtest.Finish, blobtest.Open, blobtest.Put)
	file, already, err := m.up.Complete(ctx, m.user(s.owner), id, etag)
	gone := s.folder != "" && !slices.Contains(slices.Collect(maps.Values(m.folders)), s.folder)
	allowed := []fault.Kind{fault.Unverified}
	if gone {
		allowed = append(allowed, fault.Conflict)
	}
	if !m.checkOutcome(r, err, faulty, allowed...) {
		if fault.Is(err, fault.Unverified) && s.received != "" {
			r.Fatalf("the bytes are there: %v", err)
		}
		s.mayBeAssembled = s.parts != nil
		if s.parts != nil && fault.Is(err, fault.Unavailable) {
			s.asked = m.now()
		}
		m.sessions[id] = s
		return
	}
	if s.received == "" || already {
		r.Fatalf("completed without bytes, or twice (%v)", already)
	}
	delete(m.sessions, id)
	m.files[file.Path().String()] = modelFile{id: file.ID, owner: s.owner, content: s.content}
}

func (m *machine) abort(r *rapid.T) {
	id, s := m.session(r)
	if err := m.up.Abort(ctx, m.user(s.owner), id); err != nil {
		r.Fatal(err)
	}
	delete(m.sessions, id)
}

func (m *machine) mkdir(r *rapid.T) {
	a := m.users[rapid.IntRange(0, 1).Draw(r, "user")]
	dir := m.dir(r, a)
	name := rapid.SampledFrom([]string{"x", "y", "a"}).Draw(r, "folder name")
	made, err := m.tree.CreateFolder(ctx, a, path(dir), vpath.Name(name))
	p := dir + "/" + name
	taken := m.folders[p] != "" || m.files[p].id != ""
	if m.checkOutcome(r, err, false, fault.AlreadyExists, fault.Invalid) {
		if taken {
			r.Fatalf("%s exists already", p)
		}
		m.folders[p] = made.ID
	}
}

// entry draws a file or folder, and its owner.
func (m *machine) entry(r *rapid.T) (p, id string, owner access.Actor) {
	all := slices.Sorted(maps.Keys(m.files))
	all = append(all, slices.Sorted(maps.Keys(m.folders))...)
	if len(all) == 0 {
		r.Skip("nothing is there")
	}
	p = rapid.SampledFrom(all).Draw(r, "entry")
	id = m.folders[p]
	if f, isFile := m.files[p]; isFile {
		id = f.id
	}
	owner = m.ann
	if path(p).Within(m.home(m.ben)) {
		owner = m.ben
	}
	return p, id, owner
}

// rebase moves the model's entries at and below one path to another.
func (m *machine) rebase(from, to string) {
	for _, p := range slices.Sorted(maps.Keys(m.files)) {
		if rest, ok := path(p).RelativeTo(path(from)); ok {
			f := m.files[p]
			delete(m.files, p)
			m.files[below(to, rest)] = f
		}
	}
	for _, p := range slices.Sorted(maps.Keys(m.folders)) {
		if rest, ok := path(p).RelativeTo(path(from)); ok {
			id := m.folders[p]
			delete(m.folders, p)
			m.folders[below(to, rest)] = id
		}
	}
}

func below(dir string, names []vpath.Name) string {
	for _, name := range names {
		dir += "/" + string(name)
	}
	return dir
}

func (m *machine) rename(r *rapid.T) {
	p, id, owner := m.entry(r)
	name := m.name(r)
	to := path(p).Parent().String() + "/" + name
	taken := m.folders[to] != "" || m.files[to].id != ""
	_, err := m.tree.Update(ctx, owner, id, files.Change{Name: new(vpath.Name(name))})
	if m.checkOutcome(r, err, false, fault.AlreadyExists) {
		if taken && to != p {
			r.Fatalf("%s exists already", to)
		}
		m.rebase(p, to)
	} else if !taken || to == p {
		r.Fatalf("%s is free: %v", to, err)
	}
}

func (m *machine) move(r *rapid.T) {
	p, id, owner := m.entry(r)
	dir := m.dir(r, owner)
	to := dir + "/" + string(path(p).Base())
	taken := m.folders[to] != "" || m.files[to].id != "" || path(dir).Within(path(p))
	_, err := m.tree.Move(ctx, owner, id, path(dir), nil)
	if m.checkOutcome(r, err, false, fault.Conflict, fault.Invalid) {
		if taken {
			r.Fatalf("%s cannot move to %s", p, to)
		}
		m.rebase(p, to)
	} else if !taken && !fault.Is(err, fault.Invalid) {
		r.Fatalf("%s is free: %v", to, err)
	}
}

func (m *machine) copy(r *rapid.T) {
	p, id, owner := m.entry(r)
	dir, name := m.dir(r, owner), vpath.Name(m.name(r))
	to := dir + "/" + string(name)
	taken := m.folders[to] != "" || m.files[to].id != "" || path(dir).Within(path(p))
	var size int64
	var count int
	for at, f := range m.files {
		if path(at).Within(path(p)) {
			size, count = size+int64(len(f.content)), count+1
		}
	}
	bytes, left := m.left(owner.UserID)
	full := size > bytes || count > left
	made, err := m.tree.Copy(ctx, owner, id, path(dir), &name)
	switch {
	case err == nil && (taken || full || made.Status != "completed"):
		r.Fatalf("%s was copied to %s: taken %v, full %v, job %+v", p, to, taken, full, made)
	case err != nil && !taken && !full && !fault.Is(err, fault.Invalid):
		r.Fatalf("%s cannot be copied to %s: %v", p, to, err)
	}
	if !m.checkOutcome(r, err, false, fault.Conflict, fault.Invalid, fault.QuotaExceeded) {
		return
	}
	for _, at := range slices.Sorted(maps.Keys(m.folders)) {
		if rest, ok := path(at).RelativeTo(path(p)); ok {
			m.folders[below(to, rest)] = m.idOf(r, owner, below(to, rest))
		}
	}
	for _, at := range slices.Sorted(maps.Keys(m.files)) {
		if rest, ok := path(at).RelativeTo(path(p)); ok {
			m.files[below(to, rest)] = modelFile{id: m.idOf(r, owner, below(to, rest)), owner: owner.UserID,
				content: m.files[at].content}
		}
	}
}

// idOf looks up an entry that must exist.
func (m *machine) idOf(r *rapid.T, owner access.Actor, p string) string {
	list, err := m.tree.List(ctx, owner, files.ListQuery{Path: path(p).Parent(), Page: 1, Limit: 1000})
	if err != nil {
		r.Fatal(err)
	}
	for _, e := range list.Items {
		if e.Path() == path(p) {
			return e.ID
		}
	}
	r.Fatalf("%s is not there", p)
	return ""
}

func (m *machine) delete(r *rapid.T) {
	p, id, owner := m.entry(r)
	rows, size, err := m.tree.Delete(ctx, owner, id)
	if err != nil {
		r.Fatal(err)
	}
	var wantRows, wantSize int64
	for at, f := range m.files {
		if path(at).Within(path(p)) {
			wantRows, wantSize = wantRows+1, wantSize+int64(len(f.content))
			delete(m.files, at)
		}
	}
	for at := range m.folders {
		if path(at).Within(path(p)) {
			wantRows++
			delete(m.folders, at)
		}
	}
	if rows != wantRows || size != wantSize {
		r.Fatalf("deleted %d rows of %d bytes, want %d of %d", rows, size, wantRows, wantSize)
	}
}

// passTime advances the clock; the sweep that follows within a minute releases the reservations of
// expired sessions.
func (m *machine) passTime(r *rapid.T) {
	minutes := rapid.IntRange(1, 40).Draw(r, "minutes")
	if rapid.IntRange(0, 9).Draw(r, "overnight") == 0 {
		minutes *= 36
	}
	m.advance(time.Duration(minutes) * time.Minute)
	m.sweepAndCollect()
	for id, s := range m.sessions {
		switch {
		case m.now().Before(s.expires), m.now().Before(s.asked.Add(15 * time.Minute)): // the store may assemble it
		case s.key != "" && len(s.parts) > 0 && m.now().Before(s.expires.Add(24*time.Hour)):
			s.kept = true
			m.sessions[id] = s
		default:
			delete(m.sessions, id)
		}
	}
}

// check compares the counters with the model, and every few steps the contents as well.
func (m *machine) check(r *rapid.T) {
	m.steps++
	for _, a := range m.users {
		var bytes, count, reservedBytes, reservedFiles int64
		for _, f := range m.files {
			if f.owner == a.UserID {
				bytes, count = bytes+int64(len(f.content)), count+1
			}
		}
		for _, s := range m.sessions {
			if s.owner == a.UserID {
				held, count := s.reserved()
				reservedBytes, reservedFiles = reservedBytes+held, reservedFiles+count
			}
		}
		gotBytes, gotCount := m.used(a)
		gotReserved, gotReservedFiles := m.reserved(a)
		if gotBytes != bytes || gotCount != count || gotReserved != reservedBytes || gotReservedFiles != reservedFiles {
			r.Fatalf("quota says %d bytes in %d files, %d in %d reserved; the model %d in %d, %d in %d",
				gotBytes, gotCount, gotReserved, gotReservedFiles, bytes, count, reservedBytes, reservedFiles)
		}
	}
	if m.steps%50 != 0 {
		return
	}
	for p, f := range m.files {
		if got := m.content(m.user(f.owner), f.id); got != f.content {
			r.Fatalf("%s: got %d bytes that differ from the expected %d", p, len(got), len(f.content))
		}
	}
}
