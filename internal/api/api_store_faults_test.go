package api_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"larder/internal/apptest"
	"larder/internal/blob/s3/s3test"
	"larder/internal/config"
	"larder/internal/db/dbtest"
)

// recoveryTime is the time in which everything must work again after a store has recovered.
const recoveryTime = 30 * time.Second

// faultFixture is a service with two mounts in one bucket, /ward and /other, behind a proxy that
// injects faults, and a client with a key.
type faultFixture struct {
	l      *apptest.Larder
	key    *apptest.Client
	bucket s3test.Bucket // without the proxy
	proxy  *s3test.Proxy
	dir    string // folder of the current cell
}

func newFaultFixture(t *testing.T, engine, uploadMode string) *faultFixture {
	t.Helper()
	f := &faultFixture{l: apptest.Start(t, engine, apptest.ReachLoopback, shortGracePeriod), bucket: s3test.New(t)}
	f.proxy = s3test.NewProxy(t, f.bucket)
	f.proxy.HoldTime = -1 // until the proxy is healed
	admin := f.l.Admin(t)
	for _, name := range []string{"ward", "other"} {
		id := addBucketProvider(admin, f.proxy.Bucket(), M{"name": name, "pathPrefix": name, "uploadMode": uploadMode})
		addMount(admin, id, "/"+name)
	}
	f.key = admin.Key(M{"uploadPath": "/"})
	return f
}

// shortGracePeriod is a config change for apptest.Start: garbage is due after a minute.
func shortGracePeriod(cfg *config.Config) { cfg.GarbageGrace = time.Minute }

// forSubtest returns a copy for a subtest.
func (f *faultFixture) forSubtest(t *testing.T, dir string) *faultFixture {
	inner := *f
	inner.key, inner.dir = f.key.In(t), dir
	return &inner
}

// attempt is one request in which a fault is injected. It is prepared while the store works.
type attempt struct {
	run      func() *apptest.Reply // the request
	wantText string                // text in the body of a success, "" for any
	wantBody string                // body of a success, for a file
	// status below 500 that is right where the service cannot tell the fault from an invalid
	// upload, 0 for none
	refusal   int
	retry     func(t *testing.T, done bool) *apptest.Reply
	wantFiles map[string]string // contents of the folder at the end, by name
}

// operation is a request that causes one kind of call to the store.
type operation struct {
	name    string
	call    s3test.Operation
	mode    string // upload mode
	prepare func(t *testing.T, f *faultFixture) attempt
}

// Abuse case C125: each fault in each call to a store, once and for the duration of the request.
// The client gets the right answer, byte for byte, or a 5xx, and never a 404. The rows of files and
// quota do not depend on the store's answer. Once the store works, the same request succeeds
// immediately, nothing is charged twice, and no byte is left when the file is deleted.
func TestStoreFaults(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines {
		for _, op := range operations {
			t.Run(engine+"/"+op.name, func(t *testing.T) {
				t.Parallel()
				f := newFaultFixture(t, engine, op.mode)
				for _, fault := range s3test.Faults {
					for _, times := range []int{1, s3test.Always} {
						if times == 1 && (fault == s3test.Slow || fault == s3test.TimedOut) {
							continue // it lasts until the proxy is healed in any case
						}
						name := fmt.Sprintf("%s/%d", fault, times)
						t.Run(name, func(t *testing.T) {
							f.forSubtest(t, "/ward/"+strings.NewReplacer(" ", "-", "/", "-").Replace(name)).
								runCell(t, op, fault, times)
						})
					}
				}
			})
		}
	}
}

// runCell tests one cell.
func (f *faultFixture) runCell(t *testing.T, op operation, fault s3test.Fault, times int) {
	f.key.Post("/api/files/folder", M{"path": "/ward", "name": strings.TrimPrefix(f.dir, "/ward/")}).OK(201)
	a := op.prepare(t, f)
	before, booked := f.listFolder(), f.accounts(t)

	r := f.runWithFault(t, op, fault, times, a.run)
	done := f.checkReply(t, fault, r, a)
	f.checkAccounting(t)
	if !done {
		wantJSON(t, "the listing after a failure", f.listFolder(), before)
		wantJSON(t, "the books after a failure", f.accounts(t), booked)
	}
	if a.retry != nil {
		f.waitForSuccess(t, func() *apptest.Reply { return a.retry(t, done) })
	}
	f.checkFolder(t, a.wantFiles)
	f.checkNothingLeft(t)
}

// runWithFault runs a request while a fault is injected into its calls. A fault that would last
// forever is healed as soon as it has begun.
func (f *faultFixture) runWithFault(t *testing.T, op operation, fault s3test.Fault, times int,
	run func() *apptest.Reply) *apptest.Reply {
	t.Helper()
	already, calls := f.proxy.Injected(), len(f.proxy.Calls())
	f.proxy.InjectFault(fault, op.call, times)
	answered := make(chan *apptest.Reply, 1)
	go func() { answered <- run() }()
	var r *apptest.Reply
	for tick := time.NewTicker(time.Millisecond); r == nil; {
		select {
		case r = <-answered:
			tick.Stop()
		case <-tick.C:
			if (fault == s3test.Slow || fault == s3test.TimedOut) && f.proxy.Injected() > already {
				f.proxy.Restore()
			}
		}
	}
	f.proxy.Restore()
	if made := f.proxy.Calls()[calls:]; f.proxy.Injected() == already {
		t.Errorf("no fault was injected; calls: %v", made)
	}
	return r
}

// checkReply reports whether the request succeeded. It fails the test for an answer that is neither
// a success nor a valid failure.
func (f *faultFixture) checkReply(t *testing.T, fault s3test.Fault, r *apptest.Reply, a attempt) (done bool) {
	t.Helper()
	switch {
	case r == nil:
		t.Fatal("no answer")
	case r.Err != nil && a.wantBody != "" && r.Status/100 == 2 && len(r.Body) < len(a.wantBody) &&
		strings.HasPrefix(a.wantBody, string(r.Body)):
		return false // the connection broke, which the client notices
	case r.Err != nil:
		t.Errorf("the answer broke off: %v", r.Err)
	case r.Status/100 == 2 && a.wantBody != "" && string(r.Body) != a.wantBody:
		t.Errorf("status %d with %d bytes that differ from the file: %.80q", r.Status, len(r.Body), r.Body)
	case r.Status/100 == 2 && !strings.Contains(string(r.Body), a.wantText):
		t.Errorf("a success without %s: %.300s", a.wantText, r.Body)
	case r.Status/100 == 2:
		return true
	case r.Status >= 500:
		if len(r.Body) > 0 && !strings.Contains(string(r.Body), `"code":"INTERNAL_ERROR"`) {
			t.Errorf("%d without the code INTERNAL_ERROR: %.300s", r.Status, r.Body)
		}
	case r.Status == a.refusal && fault == s3test.WrongTag:
	default:
		t.Errorf("status %d: %.300s", r.Status, r.Body)
	}
	return false
}

// waitForSuccess repeats a request until it succeeds: immediately or soon after the store has
// recovered.
func (f *faultFixture) waitForSuccess(t *testing.T, request func() *apptest.Reply) {
	t.Helper()
	deadline := time.Now().Add(recoveryTime)
	for {
		r := request()
		if r == nil || r.Err == nil && r.Status/100 == 2 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("still %d after %v: %.300s (%v)", r.Status, recoveryTime, r.Body, r.Err)
		}
	}
}

// listFolder returns everything that the service lists in the folder, without the fields that
// change by themselves.
func (f *faultFixture) listFolder() []string {
	var list struct {
		Data struct{ Items []json.RawMessage }
	}
	_ = json.Unmarshal(f.key.Get("/api/files?path="+f.dir).OK(200).Body, &list)
	var items []string
	for _, item := range list.Data.Items {
		items = append(items, string(item))
	}
	return items
}

// usageTotals are the sums of charges and of stored data.
type usageTotals struct{ Used, Files, Rows, Size, Objects int }

func (f *faultFixture) accounts(t *testing.T) usageTotals {
	t.Helper()
	return usageTotals{
		Used:    queryInt(t, f.l, "SELECT SUM(used_storage) FROM quotas"),
		Files:   queryInt(t, f.l, "SELECT SUM(used_files) FROM quotas"),
		Rows:    queryInt(t, f.l, "SELECT COUNT(*) FROM entries WHERE kind = 1"),
		Size:    queryInt(t, f.l, "SELECT COALESCE(SUM(size), 0) FROM entries WHERE kind = 1"),
		Objects: queryInt(t, f.l, "SELECT COUNT(*) FROM objects"),
	}
}

// checkAccounting checks that the charges match the files and that each reservation belongs to an
// upload under way (abuse case C93).
func (f *faultFixture) checkAccounting(t *testing.T) {
	t.Helper()
	b := f.accounts(t)
	wantJSON(t, "the bytes charged", b.Used, b.Size)
	wantJSON(t, "the files charged", b.Files, b.Rows)
	wantJSON(t, "the bytes reserved", queryInt(t, f.l, "SELECT SUM(reserved_storage) FROM quotas"),
		queryInt(t, f.l, "SELECT COALESCE(SUM(reserved_storage), 0) FROM upload_sessions WHERE status = 'pending'"))
}

// checkFolder compares the folder with its wanted contents.
func (f *faultFixture) checkFolder(t *testing.T, want map[string]string) {
	t.Helper()
	items := f.listFolder()
	if len(items) != len(want) {
		t.Errorf("%d files in the end, want %d: %s", len(items), len(want), items)
	}
	for name, content := range want {
		wantBody(t, f.key.Get(f.dir+"/"+name), content)
	}
	f.checkAccounting(t)
}

// checkNothingLeft deletes everything and waits until the bucket is empty.
func (f *faultFixture) checkNothingLeft(t *testing.T) {
	t.Helper()
	for _, root := range []string{"/ward", "/other"} {
		var list struct {
			Data struct{ Items []struct{ ID string } }
		}
		_ = json.Unmarshal(f.key.Get("/api/files?path="+root).OK(200).Body, &list)
		for _, item := range list.Data.Items {
			f.key.Delete("/api/files/" + item.ID).OK(200)
		}
	}
	for deadline := time.Now().Add(recoveryTime); ; {
		f.l.Clock.Advance(61 * time.Minute)
		f.l.Sweep()
		keys, uploads := bucketContents(t, f.bucket)
		if len(keys) == 0 && uploads == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d objects and %d uploads stay in the bucket", len(keys), uploads)
		}
	}
	wantJSON(t, "charges without files", f.accounts(t), usageTotals{})
}
