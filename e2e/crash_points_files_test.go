package e2e

import (
	"errors"
	"fmt"
	"net/url"
	"testing"
	"time"

	"larder/internal/blob/s3/s3test"
)

// The crash scenarios of files.

// loopFolder is the folder of a scenario's repeated requests; its content is not checked.
const loopFolder = "/uploads/loop"

func small(w *crashFixture) int { return 1 + w.random.IntN(200_000) }
func large(w *crashFixture) int { return 400_000 + w.random.IntN(3_000_000) }

func (f *crashFixture) content(size int) string {
	b := randomContent(f.random, size)
	return fmt.Sprintf("%d %x", f.serial, f.random.Uint64()) + string(b)
}

// fresh returns an unused name.
func (f *crashFixture) fresh() string {
	f.serial++
	return fmt.Sprintf("f%04d.bin", f.serial)
}

// upload sends a file in one request; the answer contains its path.
func (f *crashFixture) upload(name, content string) (reply, error) {
	return f.keyed.send("POST", "/api/upload", []byte(content), "X-File-Name", name, "Content-Type",
		"application/x-crash")
}

// put uploads a file to a running process and records it.
func (f *crashFixture) put(t *testing.T, name, content string) (path, id string) {
	t.Helper()
	r, err := f.upload(name, content)
	if err != nil {
		t.Fatal(err)
	}
	var u uploaded
	r.data(t, 200, &u)
	path = u.Path + "/" + u.Filename
	f.kept[path] = content
	return path, u.FileID
}

// begin creates an upload session.
func (f *crashFixture) begin(t *testing.T, name, conflict string, size int) string {
	t.Helper()
	return f.admin.announce(t, "/uploads", name, int64(size), object{"conflict": conflict}).SessionID
}

// raw sends the bytes of a session and returns their etag.
func (f *crashFixture) raw(t *testing.T, session, content string) string {
	t.Helper()
	var sent struct{ Etag string }
	f.admin.do(t, "PUT", "/api/files/upload/raw/"+session, []byte(content)).data(t, 200, &sent)
	return sent.Etag
}

func (f *crashFixture) complete(session, etag string) (reply, error) {
	return f.admin.send("POST", "/api/files/upload-complete", object{"sessionId": session, "etag": etag})
}

// putBeforeStored is an upload in one request before its commit: no file is created.
func putBeforeStored(size func(*crashFixture) int) func(*testing.T, *crashFixture) crashAttempt {
	return func(t *testing.T, w *crashFixture) crashAttempt {
		name, content := w.fresh(), w.content(size(w))
		return crashAttempt{
			run: func() (reply, error) { return w.upload(name, content) },
			may: map[string][]string{"/uploads/" + name: {""}},
			again: func(t *testing.T) {
				if path, _ := w.put(t, name, content); path != "/uploads/"+name {
					t.Errorf("the upload that came again lies at %s", path)
				}
			},
		}
	}
}

// published is an upload in one request after its commit: the file exists, although the answer is
// lost.
func published(size func(*crashFixture) int) func(*testing.T, *crashFixture) crashAttempt {
	return func(t *testing.T, w *crashFixture) crashAttempt {
		name, content := w.fresh(), w.content(size(w))
		return crashAttempt{
			run:   func() (reply, error) { return w.upload(name, content) },
			may:   map[string][]string{"/uploads/" + name: {content}},
			again: func(t *testing.T) { w.put(t, name, content) }, // under a name with a number
		}
	}
}

// rawStored loses the bytes of a session. The session stays.
func rawStored(t *testing.T, w *crashFixture) crashAttempt {
	name, content := w.fresh(), w.content(small(w))
	session := w.begin(t, name, "fail", len(content))
	return crashAttempt{
		run: func() (reply, error) { return w.admin.send("PUT", "/api/files/upload/raw/"+session, []byte(content)) },
		again: func(t *testing.T) {
			etag := w.raw(t, session, content)
			r, err := w.complete(session, etag)
			if err != nil {
				t.Fatal(err)
			}
			r.want(t, 200)
			w.kept["/uploads/"+name] = content
		},
	}
}

func replaceCommitted(t *testing.T, w *crashFixture) crashAttempt {
	before, after := w.content(small(w)), w.content(small(w))
	path, id := w.put(t, w.fresh(), before)
	session := w.begin(t, path[len("/uploads/"):], "replace", len(after))
	etag := w.raw(t, session, after)
	return crashAttempt{
		run: func() (reply, error) { return w.complete(session, etag) },
		may: map[string][]string{path: {after}},
		again: func(t *testing.T) {
			r, err := w.complete(session, etag)
			if err != nil {
				t.Fatal(err)
			}
			var done struct {
				AlreadyCompleted bool
				File             entry
			}
			r.data(t, 200, &done)
			if !done.AlreadyCompleted || done.File.ID != id {
				t.Errorf("completed again: %s", r.body)
			}
		},
	}
}

// partSize is the length of a part in bytes, except for the last one.
const partSize = 8 << 20

// inParts returns a file of two parts.
func (f *crashFixture) inParts() (name, content string) {
	return f.fresh(), f.content(partSize + small(f))
}

func announced(name, content string) object {
	return object{"path": "/uploads", "fileName": name, "fileSize": len(content), "partCount": 2, "conflict": "fail"}
}

func (f *crashFixture) beginParts(t *testing.T, name, content string) (session string) {
	t.Helper()
	made := f.admin.announce(t, "/uploads", name, int64(len(content)), announced(name, content))
	if made.TotalParts == nil || *made.TotalParts != 2 {
		t.Fatalf("%d bytes are to come as %+v, want 2 parts", len(content), made)
	}
	return made.SessionID
}

func (f *crashFixture) part(session string, number int, content string) (reply, error) {
	body := content[(number-1)*partSize : min(len(content), number*partSize)]
	return f.admin.send("PUT", fmt.Sprintf("/api/files/upload/multipart/%s/part/%d", session, number), []byte(body))
}

func (f *crashFixture) mustPart(t *testing.T, session string, number int, content string) {
	t.Helper()
	r, err := f.part(session, number, content)
	if err != nil {
		t.Fatal(err)
	}
	r.want(t, 200)
}

func (f *crashFixture) completeParts(session string) (reply, error) {
	return f.admin.send("POST", "/api/files/upload-complete", object{"sessionId": session})
}

func (f *crashFixture) mustCompleteParts(t *testing.T, session, name, content string) {
	t.Helper()
	r, err := f.completeParts(session)
	if err != nil {
		t.Fatal(err)
	}
	r.want(t, 200)
	f.kept["/uploads/"+name] = content
}

// partsBegun loses the answer to the creation of a session.
func partsBegun(t *testing.T, w *crashFixture) crashAttempt {
	name, content := w.inParts()
	return crashAttempt{
		run: func() (reply, error) {
			return w.admin.send("POST", "/api/files/upload-session", announced(name, content))
		},
		again: func(t *testing.T) {
			session := w.beginParts(t, name, content)
			w.mustPart(t, session, 2, content)
			w.mustPart(t, session, 1, content)
			w.mustCompleteParts(t, session, name, content)
		},
	}
}

// partsStored loses the answer to a part. The part stays and need not be sent again.
func partsStored(t *testing.T, w *crashFixture) crashAttempt {
	name, content := w.inParts()
	session := w.beginParts(t, name, content)
	return crashAttempt{
		run: func() (reply, error) { return w.part(session, 1, content) },
		again: func(t *testing.T) {
			w.mustPart(t, session, 1, content)
			w.mustPart(t, session, 2, content)
			w.mustCompleteParts(t, session, name, content)
		},
	}
}

// partsAcknowledged loses the answer to a part after its record is committed. The part counts.
func partsAcknowledged(t *testing.T, w *crashFixture) crashAttempt {
	name, content := w.inParts()
	session := w.beginParts(t, name, content)
	return crashAttempt{
		run: func() (reply, error) { return w.part(session, 1, content) },
		again: func(t *testing.T) {
			w.mustPart(t, session, 2, content)
			w.mustCompleteParts(t, session, name, content)
		},
	}
}

// ready returns a session with all parts.
func (f *crashFixture) ready(t *testing.T) (session, name, content string) {
	t.Helper()
	name, content = f.inParts()
	session = f.beginParts(t, name, content)
	f.mustPart(t, session, 1, content)
	f.mustPart(t, session, 2, content)
	return session, name, content
}

func completeFinished(t *testing.T, w *crashFixture) crashAttempt {
	session, name, content := w.ready(t)
	return crashAttempt{
		run:   func() (reply, error) { return w.completeParts(session) },
		may:   map[string][]string{"/uploads/" + name: {""}},
		again: func(t *testing.T) { w.mustCompleteParts(t, session, name, content) },
	}
}

func completeCommitted(t *testing.T, w *crashFixture) crashAttempt {
	session, name, content := w.ready(t)
	return crashAttempt{
		run:   func() (reply, error) { return w.completeParts(session) },
		may:   map[string][]string{"/uploads/" + name: {content}},
		again: func(t *testing.T) { w.mustCompleteParts(t, session, name, content) },
	}
}

func deleteCommitted(t *testing.T, w *crashFixture) crashAttempt {
	path, id := w.put(t, w.fresh(), w.content(small(w)))
	return crashAttempt{
		run:   func() (reply, error) { return w.admin.send("DELETE", "/api/files/"+id, nil) },
		may:   map[string][]string{path: {""}},
		again: func(t *testing.T) { w.admin.do(t, "DELETE", "/api/files/"+id, nil).fails(t, 404, "NOT_FOUND") },
	}
}

func moveCommitted(t *testing.T, w *crashFixture) crashAttempt {
	name, content := w.fresh(), w.content(small(w))
	path, id := w.put(t, name, content)
	folder := w.fresh()
	w.admin.mkdir(t, "/uploads", folder)
	move := object{"targetPath": "/uploads/" + folder}
	return crashAttempt{
		run: func() (reply, error) { return w.admin.send("POST", "/api/files/"+id+"/move", move) },
		may: map[string][]string{path: {""}, "/uploads/" + folder + "/" + name: {content}},
		again: func(t *testing.T) { // the file exists already
			w.admin.do(t, "POST", "/api/files/"+id+"/move", move).fails(t, 409, "OPERATION_FAILED")
			move["targetPath"] = "/uploads"
			w.admin.do(t, "POST", "/api/files/"+id+"/move", move).want(t, 200)
			delete(w.kept, "/uploads/"+folder+"/"+name)
			w.kept[path] = content
		},
	}
}

// collecting leaves garbage for the first sweep of the process, and makes more until the process
// dies in the sweep.
func collecting(t *testing.T, w *crashFixture) crashAttempt {
	litter := func() error {
		folder := w.fresh()
		var made struct{ File entry }
		if r, err := w.admin.send("POST", "/api/files/folder",
			object{"path": "/uploads/loop", "name": folder}); err != nil {
			return err
		} else if err := r.decode(&made); err != nil {
			return err
		}
		for range 3 {
			content := w.content(small(w))
			r, err := w.keyed.send("POST", "/api/upload", []byte(content), "X-File-Name", w.fresh(), "X-Path",
				url.PathEscape(loopFolder+"/"+folder))
			if err != nil || r.status != 200 {
				return errors.Join(err, fmt.Errorf("upload: %d %s", r.status, r.body))
			}
		}
		r, err := w.admin.send("DELETE", "/api/files/"+made.File.ID, nil)
		if err == nil && r.status != 200 {
			err = fmt.Errorf("delete: %d %s", r.status, r.body)
		}
		return err
	}
	// it exists after the first time
	w.admin.send("POST", "/api/files/folder", object{"path": "/uploads", "name": "loop"})
	w.put(t, w.fresh(), w.content(small(w)))
	for range 2 {
		if err := litter(); err != nil {
			t.Fatal(err)
		}
	}
	return crashAttempt{run: func() (reply, error) {
		for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
			if err := litter(); err != nil {
				return reply{}, err
			}
		}
		return reply{}, nil
	}}
}

// otherMount is a folder with another provider, bucketMount one with a bucket, and besideMount one
// in the same bucket below a prefix.
const (
	otherMount  = "/uploads/other"
	bucketMount = "/uploads/bucket"
	besideMount = "/uploads/beside"
)

// mount creates a provider with a mount, unless it exists.
func (f *crashFixture) mount(t *testing.T, path string, provider func() object) {
	t.Helper()
	if r := f.admin.do(t, "GET", "/api/files?path="+path, nil); r.status != 404 {
		return
	}
	f.admin.mount(t, path, f.admin.createProvider(t, provider()))
}

// mountAll creates all mounts.
func (f *crashFixture) mountAll(t *testing.T) {
	t.Helper()
	inBucket := func(more object) func() object {
		return func() object {
			if f.bucket.Name == "" {
				f.bucket = s3test.New(t)
			}
			fields := bucketProvider(f.bucket, more)
			fields["uploadMode"] = "worker"
			return fields
		}
	}
	f.mount(t, otherMount, func() object { return object{"name": "other", "type": "store_a", "bucket": "other"} })
	f.mount(t, bucketMount, inBucket(nil))
	f.mount(t, besideMount, inBucket(object{"pathPrefix": "be/side"}))
}

// moving kills the service during a move of a folder to another provider. Each file is then at the
// old or at the new path, and the job is resumed and completed.
func moving(t *testing.T, w *crashFixture) crashAttempt { return w.moving(t, "/uploads", otherMount) }

// movingToBucket streams the bytes to the server; in movingInBucket the server copies them.
func movingToBucket(t *testing.T, w *crashFixture) crashAttempt {
	return w.moving(t, "/uploads", bucketMount)
}
func movingInBucket(t *testing.T, w *crashFixture) crashAttempt {
	return w.moving(t, bucketMount, besideMount)
}

func (f *crashFixture) moving(t *testing.T, from, to string) crashAttempt {
	t.Helper()
	f.mountAll(t)
	folder := f.fresh()
	id := f.admin.mkdir(t, from, folder)
	may, moved := map[string][]string{}, contents{}
	for range 3 {
		name, content := f.fresh(), f.content(small(f))
		f.keyed.mustRaw(t, name, from+"/"+folder, "application/x-crash", []byte(content))
		name = "/" + folder + "/" + name
		may[from+name], may[to+name], moved[name] = []string{""}, []string{content}, content
	}
	run := func() (reply, error) { // until the job has reached the crash point
		return f.untilDead(
			f.admin.send("POST", "/api/files/"+id+"/move", object{"targetPath": to}))
	}
	first := func(t *testing.T) {
		for name, content := range moved {
			r := f.admin.do(t, "GET", from+name, nil)
			if r.status == 404 { // in this order, since the job may end in between
				r = f.admin.do(t, "GET", to+name, nil)
			}
			if r.status != 200 || string(r.body) != content {
				t.Errorf("%s lies neither at its old nor at its new path: %d and %d bytes of %d", name, r.status,
					len(r.body), len(content))
			}
		}
	}
	return crashAttempt{may: may, run: run, first: first}
}

// finishJobs waits for the jobs that were interrupted by a crash; they are resumed within 10
// seconds.
func (f *crashFixture) finishJobs(t *testing.T, p *process) {
	t.Helper()
	p.await(t, "done with all jobs", func() bool {
		var list struct{ Jobs []struct{ Status string } }
		f.admin.do(t, "GET", "/api/files/jobs", nil).data(t, 200, &list)
		for _, j := range list.Jobs {
			if j.Status == "failed" {
				t.Fatal("a job failed")
			}
			if j.Status != "completed" {
				return false
			}
		}
		return true
	})
}
