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
func (o *oracle) probe() {
	weighted := []struct {
		weight int
		name   string
		ask    func(c caller)
	}{
		{20, "list", o.askList}, {12, "search", o.askSearch}, {5, "details", o.askDetails},
		{7, "download", o.askDownload}, {10, "public", o.askPublic},
		{3, "link", o.askPermanent}, {3, "make link", o.askMakeLink}, {9, "explain", o.askExplain},
		{6, "folder", o.askFolder}, {6, "upload", o.askUpload},
		{6, "rename", o.askRename}, {8, "move", o.askMove}, {7, "delete", o.askDelete},
		{5, "share", o.askShared},
		{9, "dav list", o.askDAVList}, {5, "dav get", o.askDAVGet}, {6, "dav put", o.askDAVPut},
		{4, "dav folder", o.askDAVFolder}, {4, "dav delete", o.askDAVDelete},
		{9, "dav transfer", o.askDAVTransfer},
	}
	c, n := o.caller(), o.d.IntN(144)
	for _, at := range weighted {
		if n -= at.weight; n < 0 {
			// the answer would only be that a sign-in is required
			if c.user == nil && at.name != "public" && at.name != "explain" && o.d.chance(80) {
				c.user = pick(o.d, o.w.users)
			}
			if *endpoint == "" || *endpoint == at.name {
				at.ask(c)
			}
			return
		}
	}
}

func (o *oracle) entry() *entry { return pick(o.d, o.w.entries) }

// file picks a file, nil in a world without files.
func (o *oracle) file() *entry {
	for range 20 {
		if e := o.entry(); !e.folder {
			return e
		}
	}
	return nil
}

// folder picks a path, mostly that of a folder.
func (o *oracle) folder() string {
	for range 10 {
		if at := pick(o.d, o.w.paths()); o.w.isFolder(at) {
			return at
		}
	}
	return o.w.anyPath(o.d)
}

type page struct {
	Data struct {
		Items []struct {
			Path, Name, Type string
		}
		Pagination struct{ Total int }
	}
}

func (o *oracle) items(r *apptest.Reply) (items []item, total int) {
	var p page
	if err := json.Unmarshal(r.Body, &p); err != nil {
		o.t.Fatalf("seed %d: %v in %s", o.seed, err, r.Body)
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

func (o *oracle) askList(c caller) {
	folder, kind := o.folder(), ""
	if o.d.chance(15) {
		folder = o.w.anyPath(o.d)
	}
	if o.d.chance(20) {
		kind = pick(o.d, []string{"file", "folder"})
	}
	query := url.Values{"path": {folder}, "sort": {"name"}, "limit": {"1000"}}
	if kind != "" {
		query.Set("type", kind)
	}
	want, fine := o.w.list(c, folder)
	var all []item
	number, size := 1, 1000
	if fine {
		all = o.w.listing(c, folder, kind)
		part := all
		if o.d.chance(25) && len(all) > 1 && !slices.ContainsFunc(all, func(i item) bool { return i.open }) {
			size = 1 + o.d.IntN(3)
			number = 1 + o.d.IntN((len(all)+size-1)/size)
			part = all[(number-1)*size : min(len(all), number*size)]
			query.Set("limit", fmt.Sprint(size))
			query.Set("page", fmt.Sprint(number))
		}
		want = append(answer{write(part, all, len(all))}, want...)
	}
	got := o.toldItems(o.send(c, "GET", "/api/files?"+query.Encode(), nil), all, false)
	o.compare("list", c, fmt.Sprintf("GET /api/files of %s type %q limit %d page %d", folder, kind, size, number), got,
		want)
}

// toldItems formats the items of an answer, sorted by path when their order is not tested.
func (o *oracle) toldItems(r *apptest.Reply, openOnes []item, sorted bool) string {
	if r.Status != 200 {
		return describeReply(r)
	}
	items, total := o.items(r)
	if sorted {
		slices.SortFunc(items, byPath)
	}
	return write(items, openOnes, total)
}

func byPath(x, y item) int { return strings.Compare(x.path, y.path) }

func (o *oracle) askSearch(c caller) {
	folder, kind := o.folder(), ""
	if o.d.chance(50) {
		folder = "/"
	}
	needle := pick(o.d, []string{"a", "b", "x", ".", "A", "É", "%", "_", "日", "x.JPG", "*", "1", "m", "n",
		pick(o.d, names)})
	if o.d.chance(20) {
		kind = pick(o.d, []string{"file", "folder"})
	}
	query := url.Values{"path": {folder}, "sort": {"name"}, "limit": {"1000"}, "search": {needle}}
	if kind != "" {
		query.Set("type", kind)
	}
	want, fine := o.w.list(c, folder)
	var all []item
	if fine {
		all = o.w.found(c, folder, kind, needle)
		slices.SortFunc(all, byPath)
		want = append(answer{write(all, all, len(all))}, want...)
	}
	got := o.toldItems(o.send(c, "GET", "/api/files?"+query.Encode(), nil), all, true)
	o.compare("search", c, fmt.Sprintf("GET /api/files of %s type %q search %q", folder, kind, needle), got, want)
}

func (o *oracle) askDetails(c caller) {
	e := o.entry()
	r := o.send(c, "GET", "/api/files/"+e.id, nil)
	if !o.compare("details", c, "GET details of "+e.path(), describeReply(r), o.w.details(c, e)) || r.Status != 200 ||
		o.w.guard(e.path()) != nil {
		return
	}
	has := []string{}
	for _, p := range allPermissions {
		if o.w.has(c, p, e.path()) == allow {
			has = append(has, p)
		}
	}
	got := []string{}
	list, _ := r.Value("permissions").([]any)
	for _, p := range list {
		got = append(got, fmt.Sprint(p))
	}
	o.compare("permissions", c, "permissions in details of "+e.path(), "200\t"+strings.Join(got, " "),
		answer{"200\t" + strings.Join(has, " ")})
}

func (o *oracle) askDownload(c caller) {
	e := o.file()
	if e == nil {
		return
	}
	want := o.w.download(c, e)
	r := o.send(c, "GET", "/api/files/"+e.id+"/download", nil)
	if !o.compare("download", c, "GET download of "+e.path(), describeReply(r), want) || r.Status != 200 {
		return
	}
	o.compare("gateway", c, "GET gateway for "+e.path(),
		describeReply(o.send(caller{ip: c.ip}, "GET", r.Text("url"), nil)),
		answer{done})
}

func (o *oracle) askPublic(c caller) {
	at := o.w.anyPath(o.d)
	if e := o.file(); e != nil && o.d.chance(70) {
		at = e.path()
	}
	if at == "/" {
		return
	}
	method := pick(o.d, []string{"GET", "GET", "HEAD"})
	got := describeReply(o.send(c, method, escape(at), nil))
	want := slices.Clone(o.w.public(c, at))
	if method == "HEAD" { // without a body there is no code
		got, _, _ = strings.Cut(got, " ")
		for i := range want {
			want[i], _, _ = strings.Cut(want[i], " ")
		}
	}
	o.compare("public", c, method+" "+at, got, want)
}

func escape(at string) string {
	parts := segments(at)
	for i, name := range parts {
		parts[i] = url.PathEscape(name)
	}
	return join(parts...)
}

func (o *oracle) askPermanent(c caller) {
	for range 10 {
		if e := o.file(); e != nil && e.link != "" {
			o.compare("link", c, "GET permanent link of "+e.path()+" of "+e.owner.name,
				describeReply(o.send(caller{ip: c.ip}, "GET", "/api/i/"+e.link+".png", nil)), o.w.permanent(e))
			return
		}
	}
}

func (o *oracle) askMakeLink(c caller) {
	if e := o.file(); e != nil {
		o.compare("make link", c, "POST link of "+e.path(),
			describeReply(o.send(c, "POST", "/api/files/"+e.id+"/link", apptest.M{})), o.w.makeLink(c, e))
	}
}

func (o *oracle) askShared(c caller) {
	e := o.file()
	if e == nil || c.user == nil {
		return
	}
	c.key = nil
	id := strings.ReplaceAll(e.id, "-", "")[:12]
	if err := o.w.share(context.Background(), o.l.Apps[0].DB, id, e, c.user, o.now()); err != nil {
		o.t.Fatalf("seed %d: %v", o.seed, err)
	}
	visitor := o.clients[""]
	if c.given != nil {
		visitor.Cookies["share_auth_"+id] = o.secrets.Sign("share", []byte(id+";"+o.proofs(c)))
	}
	r := o.send(caller{ip: c.ip}, "GET", "/api/shares/"+id+"/download", nil)
	delete(visitor.Cookies, "share_auth_"+id)
	if !o.compare("share", c, "GET download of a share of "+e.path()+" by "+c.user.name, describeReply(r),
		o.w.shared(c, e)) ||
		r.Status != 200 {
		return
	}
	o.compare("gateway", c, "GET gateway for the share of "+e.path(),
		describeReply(o.send(caller{ip: c.ip}, "GET", r.Text("url"), nil)), answer{done})
}

func (o *oracle) askExplain(c caller) {
	at, permission := o.w.anyPath(o.d), pick(o.d, allPermissions)
	c.given = nil // the rule is about callers who have given no password
	body := apptest.M{"path": at, "permission": permission, "ip": c.ip}
	verdict, by := o.w.evaluate(caller{user: c.user, ip: c.ip}, permission, at, o.w.ownerAt(at))
	switch {
	case c.key != nil:
		body["apiKeyId"] = c.key.id
		verdict, by = o.w.has(c, permission, at), ""
	case c.user == nil:
		body["anonymous"] = true
	case o.d.chance(20):
		body["role"] = c.user.role
		verdict, by = o.w.evaluate(caller{user: &user{role: c.user.role}, ip: c.ip}, permission, at, nil)
	default:
		body["userId"] = c.user.id
	}
	if verdict == allow && o.w.barred(c, permission, at, body["role"] != nil) {
		verdict = needsPassword
	}
	if verdict == needsPassword {
		by = ""
	}
	want := answer{fmt.Sprint("200 ", verdict == allow, " ", verdict == needsPassword)}
	if by != "" {
		want[0] += "\t" + by
	}
	if o.w.covering(at) == nil {
		want = answer{notFound}
	}
	r := o.send(caller{user: o.w.users[0], ip: c.ip}, "POST", "/api/admin/rules/explain", body)
	got := describeReply(r)
	if r.Status == 200 {
		got = fmt.Sprint("200 ", r.Value("allowed"), " ", r.Value("needsPassword"))
		if by != "" {
			got += "\t" + r.Text("decidedBy")
		}
	}
	o.compare("explain", c, fmt.Sprint("explain ", permission, " ", at, " ", body), got, want)
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
func (o *oracle) homes(c caller, at string) bool {
	return c.user != nil && c.user.home != nil && c.user.home.path() == at
}

// change is compare for requests that may have changed the world, which it restores.
func (o *oracle) change(endpoint string, c caller, request string, r *apptest.Reply, want answer) {
	o.compare(endpoint, c, request, describeReply(r), want)
	if r.Status < 300 {
		o.restore()
	}
}

// freshName returns a name for a new entry, sometimes an existing one.
func (o *oracle) freshName() string {
	if o.d.chance(35) {
		return pick(o.d, names)
	}
	return pick(o.d, []string{"new", "new.jpg", "x.txt", "新"})
}

func (o *oracle) askFolder(c caller) {
	dir, name := o.folder(), o.freshName()
	if o.d.chance(15) {
		dir = o.w.anyPath(o.d)
	}
	if o.homes(c, child(dir, name)) {
		return
	}
	o.change("folder", c, fmt.Sprintf("POST folder %s in %s", name, dir),
		o.send(c, "POST", "/api/files/folder", apptest.M{"path": dir, "name": name}), o.w.createFolder(c, dir, name))
}

func (o *oracle) askUpload(c caller) {
	dir, name, onConflict := o.folder(), o.freshName(), pick(o.d, []string{"rename", "replace", "fail"})
	switch n := o.d.IntN(10); {
	case n < 2:
		dir = o.w.anyPath(o.d)
	case n < 4:
		dir = child(dir, "new")
	}
	if o.homes(c, child(dir, name)) {
		return
	}
	r := o.send(c, "POST", "/api/files/upload-session",
		apptest.M{"path": dir, "fileName": name, "fileSize": 1, "conflict": onConflict})
	o.compare("upload", c, fmt.Sprintf("POST upload-session %s in %s %s", name, dir, onConflict), describeReply(r),
		o.w.uploadSession(c, dir, name, onConflict))
}

func (o *oracle) askRename(c caller) {
	e, name := o.entry(), o.freshName()
	if baseOf(e.path()) == name || o.homes(c, child(parentOf(e.path()), name)) {
		return
	}
	o.change("rename", c, fmt.Sprintf("PUT name %s for %s", name, e.path()),
		o.send(c, "PUT", "/api/files/"+e.id, apptest.M{"name": name}), o.w.rename(c, e, name))
}

func (o *oracle) askMove(c caller) {
	e, folder, name := o.entry(), o.folder(), ""
	if o.d.chance(10) {
		folder = o.w.anyPath(o.d)
	}
	body := apptest.M{"targetPath": folder}
	if o.d.chance(40) {
		name = o.freshName()
		body["newName"] = name
	}
	if e.parent != nil && parentOf(e.path()) == folder && (name == "" || name == baseOf(e.path())) {
		return // it exists
	}
	if o.homes(c, child(folder, name)) || o.homes(c, child(folder, baseOf(e.path()))) {
		return
	}
	o.change("move", c, fmt.Sprintf("POST move %s to %s name %q", e.path(), folder, name),
		o.send(c, "POST", "/api/files/"+e.id+"/move", body), o.w.move(c, e, folder, name))
}

func (o *oracle) askDelete(c caller) {
	e := o.entry()
	o.change("delete", c, "DELETE "+e.path(), o.send(c, "DELETE", "/api/files/"+e.id, nil), o.w.remove(c, e))
}
