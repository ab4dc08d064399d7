package oracletest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"larder/internal/apptest"
)

// probe sends one random request.
func (b *oracle) probe() {
	weighted := []struct {
		weight int
		name   string
		ask    func(c caller)
	}{
		{20, "list", b.askList}, {12, "search", b.askSearch}, {5, "details", b.askDetails},
		{7, "download", b.askDownload}, {10, "public", b.askPublic},
		{3, "link", b.askPermanent}, {3, "make link", b.askMakeLink}, {9, "explain", b.askExplain},
		{6, "folder", b.askFolder}, {6, "upload", b.askUpload},
		{6, "rename", b.askRename}, {8, "move", b.askMove}, {7, "delete", b.askDelete},
		{5, "share", b.askShared},
		{9, "dav list", b.askDAVList}, {5, "dav get", b.askDAVGet}, {6, "dav put", b.askDAVPut},
		{4, "dav folder", b.askDAVFolder}, {4, "dav delete", b.askDAVDelete},
		{9, "dav transfer", b.askDAVTransfer},
	}
	c, n := b.caller(), b.d.IntN(144)
	for _, at := range weighted {
		if n -= at.weight; n < 0 {
			// the answer would only be that a sign-in is required
			if c.user == nil && at.name != "public" && at.name != "explain" && b.d.chance(80) {
				c.user = pick(b.d, b.w.users)
			}
			if *door == "" || *door == at.name {
				at.ask(c)
			}
			return
		}
	}
}

func (b *oracle) entry() *entry { return pick(b.d, b.w.entries) }

// file picks a file, nil in a world without files.
func (b *oracle) file() *entry {
	for range 20 {
		if e := b.entry(); !e.folder {
			return e
		}
	}
	return nil
}

// folder picks a path, mostly that of a folder.
func (b *oracle) folder() string {
	for range 10 {
		if at := pick(b.d, b.w.paths()); b.w.isFolder(at) {
			return at
		}
	}
	return b.w.anyPath(b.d)
}

type page struct {
	Data struct {
		Items []struct {
			Path, Name, Type string
		}
		Pagination struct{ Total int }
	}
}

func (b *oracle) items(r *apptest.Reply) (items []item, total int) {
	var p page
	if err := json.Unmarshal(r.Body, &p); err != nil {
		b.t.Fatalf("seed %d: %v in %s", b.seed, err, r.Body)
	}
	for _, i := range p.Data.Items {
		items = append(items, item{path: child(i.Path, i.Name), folder: i.Type == "folder"})
	}
	return items, p.Data.Pagination.Total
}

// write formats a list for comparison. It omits the optional items, also from the total.
func write(items, openOnes []item, total int) string {
	words := []string{"200\t"}
	for _, i := range items {
		mark := ""
		if i.folder {
			mark = "/"
		}
		if slices.ContainsFunc(openOnes, func(o item) bool {
			return o.open && o.path == i.path &&
				o.folder == i.folder
		}) {
			total--
			continue
		}
		words = append(words, i.path+mark)
	}
	return fmt.Sprintf("%s (%d)", strings.Join(words, "  "), total)
}

func (b *oracle) askList(c caller) {
	folder, kind := b.folder(), ""
	if b.d.chance(15) {
		folder = b.w.anyPath(b.d)
	}
	if b.d.chance(20) {
		kind = pick(b.d, []string{"file", "folder"})
	}
	query := url.Values{"path": {folder}, "sort": {"name"}, "limit": {"1000"}}
	if kind != "" {
		query.Set("type", kind)
	}
	want, fine := b.w.list(c, folder)
	var all []item
	number, size := 1, 1000
	if fine {
		all = b.w.listing(c, folder, kind)
		part := all
		if b.d.chance(25) && len(all) > 1 && !slices.ContainsFunc(all, func(i item) bool { return i.open }) {
			size = 1 + b.d.IntN(3)
			number = 1 + b.d.IntN((len(all)+size-1)/size)
			part = all[(number-1)*size : min(len(all), number*size)]
			query.Set("limit", fmt.Sprint(size))
			query.Set("page", fmt.Sprint(number))
		}
		want = append(answer{write(part, all, len(all))}, want...)
	}
	got := b.toldItems(b.send(c, "GET", "/api/files?"+query.Encode(), nil), all, false)
	b.compare("list", c, fmt.Sprintf("GET /api/files of %s type %q limit %d page %d", folder, kind, size, number), got,
		want)
}

// toldItems formats the items of an answer, sorted by path when their order is not tested.
func (b *oracle) toldItems(r *apptest.Reply, openOnes []item, sorted bool) string {
	if r.Status != 200 {
		return describeReply(r)
	}
	items, total := b.items(r)
	if sorted {
		slices.SortFunc(items, byPath)
	}
	return write(items, openOnes, total)
}

func byPath(x, y item) int { return strings.Compare(x.path, y.path) }

func (b *oracle) askSearch(c caller) {
	folder, kind := b.folder(), ""
	if b.d.chance(50) {
		folder = "/"
	}
	needle := pick(b.d, []string{"a", "b", "x", ".", "A", "É", "%", "_", "日", "x.JPG", "*", "1", "m", "n",
		pick(b.d, names)})
	if b.d.chance(20) {
		kind = pick(b.d, []string{"file", "folder"})
	}
	query := url.Values{"path": {folder}, "sort": {"name"}, "limit": {"1000"}, "search": {needle}}
	if kind != "" {
		query.Set("type", kind)
	}
	want, fine := b.w.list(c, folder)
	var all []item
	if fine {
		all = b.w.found(c, folder, kind, needle)
		slices.SortFunc(all, byPath)
		want = append(answer{write(all, all, len(all))}, want...)
	}
	got := b.toldItems(b.send(c, "GET", "/api/files?"+query.Encode(), nil), all, true)
	b.compare("search", c, fmt.Sprintf("GET /api/files of %s type %q search %q", folder, kind, needle), got, want)
}

func (b *oracle) askDetails(c caller) {
	e := b.entry()
	r := b.send(c, "GET", "/api/files/"+e.id, nil)
	if !b.compare("details", c, "GET details of "+e.place(), describeReply(r), b.w.details(c, e)) || r.Status != 200 ||
		b.w.guard(e.place()) != nil {
		return
	}
	has := []string{}
	for _, p := range allPermissions {
		if b.w.has(c, p, e.place()) == allow {
			has = append(has, p)
		}
	}
	got := []string{}
	list, _ := r.Value("permissions").([]any)
	for _, p := range list {
		got = append(got, fmt.Sprint(p))
	}
	b.compare("permissions", c, "permissions in details of "+e.place(), "200\t"+strings.Join(got, " "),
		answer{"200\t" + strings.Join(has, " ")})
}

func (b *oracle) askDownload(c caller) {
	e := b.file()
	if e == nil {
		return
	}
	want := b.w.download(c, e)
	r := b.send(c, "GET", "/api/files/"+e.id+"/download", nil)
	if !b.compare("download", c, "GET download of "+e.place(), describeReply(r), want) || r.Status != 200 {
		return
	}
	b.compare("gateway", c, "GET gateway for "+e.place(),
		describeReply(b.send(caller{ip: c.ip}, "GET", r.Text("url"), nil)),
		answer{done})
}

func (b *oracle) askPublic(c caller) {
	at := b.w.anyPath(b.d)
	if e := b.file(); e != nil && b.d.chance(70) {
		at = e.place()
	}
	if at == "/" {
		return
	}
	method := pick(b.d, []string{"GET", "GET", "HEAD"})
	got := describeReply(b.send(c, method, escape(at), nil))
	want := slices.Clone(b.w.public(c, at))
	if method == "HEAD" { // without a body there is no code
		got, _, _ = strings.Cut(got, " ")
		for i := range want {
			want[i], _, _ = strings.Cut(want[i], " ")
		}
	}
	b.compare("public", c, method+" "+at, got, want)
}

func escape(at string) string {
	parts := segments(at)
	for i, name := range parts {
		parts[i] = url.PathEscape(name)
	}
	return join(parts...)
}

func (b *oracle) askPermanent(c caller) {
	for range 10 {
		if e := b.file(); e != nil && e.link != "" {
			b.compare("link", c, "GET permanent link of "+e.place()+" of "+e.owner.name,
				describeReply(b.send(caller{ip: c.ip}, "GET", "/api/i/"+e.link+".png", nil)), b.w.permanent(e))
			return
		}
	}
}

func (b *oracle) askMakeLink(c caller) {
	if e := b.file(); e != nil {
		b.compare("make link", c, "POST link of "+e.place(),
			describeReply(b.send(c, "POST", "/api/files/"+e.id+"/link", apptest.M{})), b.w.makeLink(c, e))
	}
}

func (b *oracle) askShared(c caller) {
	e := b.file()
	if e == nil || c.user == nil {
		return
	}
	c.key = nil
	id := strings.ReplaceAll(e.id, "-", "")[:12]
	if err := b.w.share(context.Background(), b.l.Apps[0].DB, id, e, c.user, b.now()); err != nil {
		b.t.Fatalf("seed %d: %v", b.seed, err)
	}
	visitor := b.clients[""]
	if c.given != nil {
		visitor.Cookies["share_auth_"+id] = b.secrets.Sign("share", []byte(id+";"+b.proofs(c)))
	}
	r := b.send(caller{ip: c.ip}, "GET", "/api/shares/"+id+"/download", nil)
	delete(visitor.Cookies, "share_auth_"+id)
	if !b.compare("share", c, "GET download of a share of "+e.place()+" by "+c.user.name, describeReply(r),
		b.w.shared(c, e)) ||
		r.Status != 200 {
		return
	}
	b.compare("gateway", c, "GET gateway for the share of "+e.place(),
		describeReply(b.send(caller{ip: c.ip}, "GET", r.Text("url"), nil)), answer{done})
}

func (b *oracle) askExplain(c caller) {
	at, permission := b.w.anyPath(b.d), pick(b.d, allPermissions)
	c.given = nil // the rule is about callers who have given no password
	body := apptest.M{"path": at, "permission": permission, "ip": c.ip}
	verdict, by := b.w.judge(caller{user: c.user, ip: c.ip}, permission, at, b.w.ownerAt(at))
	switch {
	case c.key != nil:
		body["apiKeyId"] = c.key.id
		verdict, by = b.w.has(c, permission, at), ""
	case c.user == nil:
		body["anonymous"] = true
	case b.d.chance(20):
		body["role"] = c.user.role
		verdict, by = b.w.judge(caller{user: &user{role: c.user.role}, ip: c.ip}, permission, at, nil)
	default:
		body["userId"] = c.user.id
	}
	if verdict == allow && b.w.barred(c, permission, at, body["role"] != nil) {
		verdict = needsPassword
	}
	if verdict == needsPassword {
		by = ""
	}
	want := answer{fmt.Sprint("200 ", verdict == allow, " ", verdict == needsPassword)}
	if by != "" {
		want[0] += "\t" + by
	}
	if b.w.covering(at) == nil {
		want = answer{notFound}
	}
	r := b.send(caller{user: b.w.users[0], ip: c.ip}, "POST", "/api/admin/rules/explain", body)
	got := describeReply(r)
	if r.Status == 200 {
		got = fmt.Sprint("200 ", r.Value("allowed"), " ", r.Value("needsPassword"))
		if by != "" {
			got += "\t" + r.Text("decidedBy")
		}
	}
	b.compare("explain", c, fmt.Sprint("explain ", permission, " ", at, " ", body), got, want)
}

// barred reports whether the password of an entry prevents a permission. For reading only the
// passwords above count, since a protected entry itself is visible.
func (w *world) barred(c caller, permission, at string, stranger bool) bool {
	if permission == "read" {
		if at == "/" {
			return false
		}
		at = parentOf(at)
	}
	return w.guard(at) != nil && (permission == "download" || !w.opens(c, at) || stranger && c.user.role != "admin")
}

// homes reports whether a path is the caller's home itself, where nothing can be created.
func (b *oracle) homes(c caller, at string) bool {
	return c.user != nil && c.user.home != nil && c.user.home.place() == at
}

// change is compare for requests that may have changed the world, which it restores.
func (b *oracle) change(door string, c caller, request string, r *apptest.Reply, want answer) {
	b.compare(door, c, request, describeReply(r), want)
	if r.Status < 300 {
		b.restore()
	}
}

// freshName returns a name for a new entry, sometimes an existing one.
func (b *oracle) freshName() string {
	if b.d.chance(35) {
		return pick(b.d, names)
	}
	return pick(b.d, []string{"new", "new.jpg", "x.txt", "新"})
}

func (b *oracle) askFolder(c caller) {
	dir, name := b.folder(), b.freshName()
	if b.d.chance(15) {
		dir = b.w.anyPath(b.d)
	}
	if b.homes(c, child(dir, name)) {
		return
	}
	b.change("folder", c, fmt.Sprintf("POST folder %s in %s", name, dir),
		b.send(c, "POST", "/api/files/folder", apptest.M{"path": dir, "name": name}), b.w.createFolder(c, dir, name))
}

func (b *oracle) askUpload(c caller) {
	dir, name, onConflict := b.folder(), b.freshName(), pick(b.d, []string{"rename", "replace", "fail"})
	switch n := b.d.IntN(10); {
	case n < 2:
		dir = b.w.anyPath(b.d)
	case n < 4:
		dir = child(dir, "new")
	}
	if b.homes(c, child(dir, name)) {
		return
	}
	r := b.send(c, "POST", "/api/files/upload-session",
		apptest.M{"path": dir, "fileName": name, "fileSize": 1, "conflict": onConflict})
	b.compare("upload", c, fmt.Sprintf("POST upload-session %s in %s %s", name, dir, onConflict), describeReply(r),
		b.w.uploadSession(c, dir, name, onConflict))
}

func (b *oracle) askRename(c caller) {
	e, name := b.entry(), b.freshName()
	if baseOf(e.place()) == name || b.homes(c, child(parentOf(e.place()), name)) {
		return
	}
	b.change("rename", c, fmt.Sprintf("PUT name %s for %s", name, e.place()),
		b.send(c, "PUT", "/api/files/"+e.id, apptest.M{"name": name}), b.w.rename(c, e, name))
}

func (b *oracle) askMove(c caller) {
	e, folder, name := b.entry(), b.folder(), ""
	if b.d.chance(10) {
		folder = b.w.anyPath(b.d)
	}
	body := apptest.M{"targetPath": folder}
	if b.d.chance(40) {
		name = b.freshName()
		body["newName"] = name
	}
	if e.parent != nil && parentOf(e.place()) == folder && (name == "" || name == baseOf(e.place())) {
		return // it exists
	}
	if b.homes(c, child(folder, name)) || b.homes(c, child(folder, baseOf(e.place()))) {
		return
	}
	b.change("move", c, fmt.Sprintf("POST move %s to %s name %q", e.place(), folder, name),
		b.send(c, "POST", "/api/files/"+e.id+"/move", body), b.w.move(c, e, folder, name))
}

func (b *oracle) askDelete(c caller) {
	e := b.entry()
	b.change("delete", c, "DELETE "+e.place(), b.send(c, "DELETE", "/api/files/"+e.id, nil), b.w.remove(c, e))
}
