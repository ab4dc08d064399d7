package main

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"time"
)

const (
	treeFan        = 10          // folders in each folder of the tree: three levels, a thousand at the bottom
	collectTimeout = time.Minute // how long the collection of deleted files is observed
)

// largeTree is W9 and the second half of W6. The home of a user holds a flat folder of
// options.entries files and a deep tree with as many.
type largeTree struct {
	*bench
	site       *installation
	server     *server
	caller     *caller
	cookie     string
	token      string
	flat, tree string // ids
	seeder     *seeder
}

const homeUser = "ann" // the user whose home is measured

// measureLargeTree sets up an installation with a large folder and a large tree, and runs W9 and
// the second half of W6 on it, as selected.
func (b *bench) measureLargeTree(ctx context.Context) (err error) {
	m := &largeTree{bench: b}
	if m.site, err = b.newInstallation(ctx, "million"); err != nil {
		return err
	}
	m.site.grace = time.Second
	if m.server, err = m.site.start(ctx); err != nil {
		return err
	}
	password, err := m.site.account(ctx, homeUser)
	m.server.stop()
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "  %s: seeding twice %d entries\n", b.engine, b.entries)
	if err := m.seed(ctx); err != nil {
		return err
	}
	defer m.seeder.close()
	if m.server, err = m.site.start(ctx); err != nil {
		return err
	}
	defer func() { m.server.stop() }()
	if m.caller, m.cookie, err = signIn(ctx, m.server, homeUser, password); err != nil {
		return err
	}
	if m.token, err = m.site.key(ctx, homeUser); err != nil {
		return err
	}
	if b.wants("W9") {
		if err := m.read(ctx); err != nil {
			return fmt.Errorf("W9: %w", err)
		}
	}
	if b.wants("W6") {
		if err := m.write(ctx); err != nil {
			return fmt.Errorf("W6: %w", err)
		}
	}
	return nil
}

// seed fills the home with the flat folder and the tree, straight in the database, while no server
// runs.
func (t *largeTree) seed(ctx context.Context) (err error) {
	if t.seeder, err = t.site.seeder(ctx); err != nil {
		return err
	}
	d := t.seeder
	var home string
	if err := d.queryOne(&home, "SELECT home_id FROM users WHERE username = $1", homeUser); err != nil {
		return err
	}
	var deepest []string
	err = d.transact(func() (err error) {
		if t.flat, err = d.folder(home, "flat"); err != nil {
			return err
		}
		if t.tree, err = d.folder(home, "tree"); err != nil {
			return err
		}
		below, err := d.folder(t.tree, "below")
		if err != nil {
			return err
		}
		deepest, err = d.tree(below, treeFan)
		return err
	})
	if err != nil {
		return err
	}
	if err := d.fill([]string{t.flat}, t.entries); err != nil {
		return err
	}
	if err := d.fill(deepest, max(1, t.entries/len(deepest))); err != nil {
		return err
	}
	return d.analyze()
}

// medianTime calls fn once per round and returns the median time in ms.
func (t *largeTree) medianTime(fn func() error) (float64, error) {
	var all []float64
	for range t.rounds {
		begin := time.Now()
		if err := fn(); err != nil {
			return 0, err
		}
		all = append(all, inMilliseconds(time.Since(begin)))
	}
	return median(all), nil
}

// list requests the page of a listing that query names, and fails unless the total is right.
func (t *largeTree) list(ctx context.Context, query string, total int) error {
	var page struct {
		Items      []struct{ Name string }
		Pagination struct{ Total int }
	}
	if err := t.caller.call(ctx, "GET", "/api/files?limit=100&"+query, nil, &page); err != nil {
		return err
	}
	if page.Pagination.Total != total || len(page.Items) == 0 && total > 0 {
		return fmt.Errorf("%s listed %d of %d, not of %d", query, len(page.Items), page.Pagination.Total, total)
	}
	return nil
}

// read runs W9: the time of listings, searches and a path lookup among that many entries.
func (t *largeTree) read(ctx context.Context) error {
	n, last := t.entries, t.entries/100
	flat := "path=/home/" + homeUser + "/flat"
	firstPage := 20.0
	if t.engine == onPostgres { // which counts the entries again
		firstPage = 100
	}
	if err := t.afterChange(ctx, flat+"&sort=name"); err != nil {
		return err
	}
	for _, q := range []struct {
		name, query string
		total       int
		goal        float64 // ms
	}{
		{"first page by name", flat + "&sort=name", n, firstPage},
		{"last page by name", fmt.Sprintf("%s&sort=name&page=%d", flat, last), n, 300},
		{"middle page by name", fmt.Sprintf("%s&sort=name&page=%d", flat, last/2), n, 1500},
		{"first page by time", flat + "&sort=time&order=desc", n, 1500},
		{"last page by time", fmt.Sprintf("%s&sort=time&page=%d", flat, last), n, 1500},
		{"first page by size", flat + "&sort=size", n, 1500},
		{"last page by size", fmt.Sprintf("%s&sort=size&page=%d", flat, last), n, 1500},
		{"search in it, few found", flat + "&search=queue", n / 100_000, 500},
		{"search in it, nearly all found", flat + "&search=jpg", n, 500},
		{"search in the tree, few found", "path=/home/" + homeUser + "/tree&search=queue", n / 100_000, 500},
	} {
		took, err := t.medianTime(func() error { return t.list(ctx, q.query, q.total) })
		if err != nil {
			return err
		}
		t.recordLimit("W9", fmt.Sprintf("folder of %d: %s", n, q.name), took, q.goal, milliseconds)
	}
	if err := t.media(ctx); err != nil {
		return err
	}
	if err := t.underRule(ctx, flat); err != nil {
		return err
	}
	return t.depth(ctx)
}

// media records the times of the recent files and of the timeline of the account, whose files are
// all pictures. The goal of the months is 200 ms for 100,000 pictures.
func (t *largeTree) media(ctx context.Context) error {
	pictures := 2 * t.entries
	for _, q := range []struct {
		name, path string
		goal       float64 // ms
	}{
		{"recent files", "/api/files/recent", 200},
		{"first page of the timeline", "/api/files/timeline/entries?limit=200", 200},
		{"months of the timeline", "/api/files/timeline", 200 * float64(pictures) / 100_000},
	} {
		took, err := t.medianTime(func() error {
			var page struct{ Items, Months []struct{} }
			err := t.caller.call(ctx, "GET", q.path, nil, &page)
			if err == nil && len(page.Items) == 0 && len(page.Months) == 0 {
				err = fmt.Errorf("%s is empty", q.path)
			}
			return err
		})
		if err != nil {
			return err
		}
		t.recordLimit("W9", fmt.Sprintf("account with %d pictures: %s", pictures, q.name), took, q.goal, milliseconds)
	}
	return nil
}

// afterChange records the time of the first page of the listing query when the folder has changed
// since the last one: by the server, and by another process.
func (t *largeTree) afterChange(ctx context.Context, query string) error {
	var own, others []float64
	list := func(entries int, times *[]float64) error {
		begin := time.Now()
		err := t.list(ctx, query, entries)
		*times = append(*times, inMilliseconds(time.Since(begin)))
		return err
	}
	for i := range t.rounds {
		if err := t.seeder.exec(`UPDATE entries SET updated_at = updated_at + 1
			WHERE id = (SELECT id FROM entries WHERE parent_id = $1 LIMIT 1)`, t.flat); err != nil {
			return err
		}
		if err := list(t.entries, &others); err != nil {
			return err
		}
		var made struct{ File struct{ ID string } }
		if err := t.caller.call(ctx, "POST", "/api/files/folder",
			map[string]string{"path": "/home/" + homeUser + "/flat", "name": fmt.Sprint("new", i)}, &made); err != nil {
			return err
		}
		if err := list(t.entries+1, &own); err != nil {
			return err
		}
		if err := t.caller.call(ctx, "DELETE", "/api/files/"+made.File.ID, nil, nil); err != nil {
			return err
		}
		if err := list(t.entries, &own); err != nil {
			return err
		}
	}
	t.recordLimit("W9", fmt.Sprintf("folder of %d: first page by name, after a change", t.entries), median(own), 100,
		milliseconds)
	t.recordLimit("W9", fmt.Sprintf("folder of %d: first page by name, after a change by another process", t.entries),
		median(others), 100, milliseconds)
	return nil
}

// underRule records the time of the first page of the listing flat under a rule on file names: when
// the rule is new, and once more.
func (t *largeTree) underRule(ctx context.Context, flat string) error {
	admin, _, err := t.site.login(ctx, t.server)
	if err != nil {
		return err
	}
	var hidden int
	if err := t.seeder.queryOne(&hidden, "SELECT COUNT(*) FROM entries WHERE parent_id = $1 AND name LIKE '%7.jpg'",
		t.flat); err != nil {
		return err
	}
	var first, again []float64
	for range t.rounds {
		var made struct{ Rule struct{ ID string } }
		rule := map[string]any{"pathPattern": "/home/" + homeUser + "/flat/*7.jpg", "effect": "deny", "role": "user",
			"permissions": []string{"read"}}
		if err := admin.call(ctx, "POST", "/api/admin/rules", rule, &made); err != nil {
			return err
		}
		for _, times := range []*[]float64{&first, &again} {
			begin := time.Now()
			if err := t.list(ctx, flat+"&sort=name", t.entries-hidden); err != nil {
				return err
			}
			*times = append(*times, inMilliseconds(time.Since(begin)))
		}
		if err := admin.call(ctx, "DELETE", "/api/admin/rules/"+made.Rule.ID, nil, nil); err != nil {
			return err
		}
	}
	t.recordLimit("W9", fmt.Sprintf("folder of %d: first page where a new rule judges names", t.entries), median(first),
		1500,
		milliseconds)
	t.recordLimit("W9", fmt.Sprintf("folder of %d: first page after that", t.entries), median(again), 100, milliseconds)
	return nil
}

// depth records the cost of a path lookup at depth 8: the CPU time of a HEAD beyond that of a
// request without a lookup.
func (t *largeTree) depth(ctx context.Context) error {
	content, err := picture()
	if err != nil {
		return err
	}
	const dir = "/home/" + homeUser + "/tree/below/4/4/4"
	var made struct{ Path, Filename string }
	err = newCaller(t.server).call(ctx, "POST", "/api/upload", content, &made, "Authorization", "Bearer "+t.token,
		"X-File-Name", "deep.jpg", "X-Path", "deep", "Content-Type", "image/jpeg")
	if err != nil {
		return err
	}
	if err := t.seeder.exec(`UPDATE entries SET parent_id = (
			SELECT d.id FROM entries b JOIN entries x ON x.parent_id = b.id AND x.name = '4' JOIN entries y ON y.parent_id = x.id AND y.name = '4'
			JOIN entries d ON d.parent_id = y.id AND d.name = '4' WHERE b.parent_id = $1)
		WHERE name = $2`, t.tree, made.Filename); err != nil {
		return err
	}
	head := request{method: "HEAD", path: (&url.URL{Path: dir + "/" + made.Filename}).EscapedPath(),
		headers: []string{t.cookie}}
	// collects the garbage of the listings before the measurement
	if _, err := run(ctx, t.server, smallConnections, t.reads, same(head)); err != nil {
		return err
	}
	var beyond []float64
	for range t.rounds {
		idle, err := run(ctx, t.server, smallConnections, min(t.reads, 6000/t.rounds),
			same(request{method: "HEAD", path: "/api/public/health/live"}))
		if err != nil {
			return err
		}
		found, err := run(ctx, t.server, smallConnections, t.reads, same(head))
		if err != nil {
			return err
		}
		beyond = append(beyond, float64(found.cpuPerRequest()-idle.cpuPerRequest())/1000)
	}
	t.recordLimit("W9", fmt.Sprintf("HEAD at depth 8 among %d: CPU beyond that of the liveness probe", 2*t.entries),
		median(beyond), 100, microseconds)
	return nil
}

// write runs the second half of W6: it moves and deletes both trees while another client uploads.
func (t *largeTree) write(ctx context.Context) error {
	quiet, err := t.longestUpload(ctx, t.server, t.token, func() error {
		select {
		case <-ctx.Done():
		case <-time.After(5 * time.Second):
		}
		return ctx.Err()
	})
	if err != nil {
		return err
	}
	t.record("W6", "longest wait of an upload in 5 s with nothing beside it", milliseconds(quiet))
	if err := t.caller.call(ctx, "POST", "/api/files/folder",
		map[string]string{"path": "/home/" + homeUser, "name": "deeper"}, nil); err != nil {
		return err
	}
	for _, f := range []struct{ name, id string }{{"folder", t.flat}, {"tree of 1,111 folders", t.tree}} {
		if err := t.moveAndDelete(ctx, fmt.Sprintf("%s of %d", f.name, t.entries), f.id); err != nil {
			return err
		}
	}
	return nil
}

// moveAndDelete moves the folder id down and up and deletes it, and records the times and the
// longest waits of another client's uploads under name.
func (t *largeTree) moveAndDelete(ctx context.Context, name, id string) error {
	var down, up []float64
	var deletion float64
	var collected float64
	moving, err := t.longestUpload(ctx, t.server, t.token, func() error {
		for range t.rounds {
			for _, way := range []struct {
				target string
				times  *[]float64
			}{{"/deeper", &down}, {"", &up}} {
				begin := time.Now()
				if err := t.caller.call(ctx, "POST", "/api/files/"+id+"/move",
					map[string]string{"targetPath": "/home/" + homeUser + way.target}, nil); err != nil {
					return err
				}
				*way.times = append(*way.times, inMilliseconds(time.Since(begin)))
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	deleting, err := t.longestUpload(ctx, t.server, t.token, func() error {
		begin := time.Now()
		if err := t.caller.call(ctx, "DELETE", "/api/files/"+id, nil, nil); err != nil {
			return err
		}
		deletion = inMilliseconds(time.Since(begin))
		return nil
	})
	if err != nil {
		return err
	}
	collecting, err := t.longestUpload(ctx, t.server, t.token, func() (err error) {
		collected, err = t.collectionRate(ctx)
		return err
	})
	if err != nil {
		return err
	}
	per := float64(t.entries) / 1e6
	t.recordLimit("W6", "MOVE of a "+name+", a level deeper", median(down), 10, milliseconds)
	t.recordLimit("W6", "MOVE of a "+name+", a level up", median(up), 10, milliseconds)
	t.recordLimit("W6", "longest wait of an upload beside that", moving, 1000*per, milliseconds)
	t.record("W6", "DELETE of a "+name, milliseconds(deletion))
	t.recordLimit("W6", "longest wait of an upload beside that", deleting, 1000*per, milliseconds)
	t.record("W6", "rows of it collected", fmt.Sprintf("%.0f/s", collected))
	t.recordLimit("W6", "longest wait of an upload beside that", collecting, 1000, milliseconds)
	return nil
}

// collectionRate waits until the deleted rows are collected, for at most a minute, and returns the
// rows deleted per second.
func (t *largeTree) collectionRate(ctx context.Context) (perSecond float64, err error) {
	var before, after int
	const rows = "SELECT COUNT(*) FROM entries"
	if err := t.seeder.queryOne(&before, rows); err != nil {
		return 0, err
	}
	begin := time.Now()
	for time.Since(begin) < collectTimeout && ctx.Err() == nil {
		if left, err := t.seeder.deletionPending(time.Now().Add(10 * time.Minute).UnixMilli()); err != nil || !left {
			if err != nil {
				return 0, err
			}
			break
		}
		time.Sleep(200 * time.Millisecond)
	}
	took := time.Since(begin)
	if err := t.seeder.queryOne(&after, rows); err != nil {
		return 0, err
	}
	return float64(before-after) / took.Seconds(), ctx.Err()
}
