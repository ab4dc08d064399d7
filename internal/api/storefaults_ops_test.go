package api_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"larder/internal/apptest"
	"larder/internal/blob/s3/s3test"
)

// sick is the content of the files that faults befall: long enough to be torn.
var sick = strings.Repeat("all of it or nothing ", 4000)

// operations are the seven kinds of calls that a store gets, by what somebody does who causes them; some by more than one way.
var operations = []operation{
	{"put by a compatible upload", s3test.Put, "worker", putOnce},
	{"put of a session", s3test.Put, "worker", putSession},
	{"part", s3test.Part, "worker", putOnePart},
	{"complete", s3test.Complete, "worker", completeSick},
	{"get by path", s3test.Get, "worker", getPath},
	{"get by gateway", s3test.Get, "worker", getGateway},
	{"head on completion", s3test.Head, "worker", headCompletes},
	{"copy of a direct upload", s3test.Copy, "auto", direct},
	{"copy by a move", s3test.Copy, "worker", moveBetween},
	{"delete", s3test.Delete, "worker", deleteSwept},
}

// putOnce is an upload in one request.
func putOnce(_ *testing.T, w *ward) attempt {
	upload := func() *apptest.Reply {
		return w.key.Post("/api/upload", sick, "X-File-Name", "a.txt", "X-Path", w.dir)
	}
	return attempt{run: upload, success: `"fileId"`, after: map[string]string{"a.txt": sick}, again: func(_ *testing.T, done bool) *apptest.Reply {
		if done {
			return nil
		}
		return upload()
	}}
}

// putSession is the bytes of a session in one piece; they may be sent again whatever came of them.
func putSession(t *testing.T, w *ward) attempt {
	id := session(w.key, w.dir, "a.txt", len(sick))
	send := func() *apptest.Reply { return putRaw(w.key, id, sick) }
	return attempt{run: send, success: `"etag"`, after: map[string]string{"a.txt": sick}, again: func(t *testing.T, _ bool) *apptest.Reply {
		r := send()
		if r.Status != 200 {
			return r
		}
		return complete(w.key, id, r.Text("etag"))
	}}
}

// parted begins an upload of one short part.
func parted(w *ward) (id string) {
	return session(w.key, w.dir, "a.txt", len(sick), m{"partCount": 2})
}

func sendPart(w *ward, id string) *apptest.Reply {
	return w.key.Put("/api/files/upload/multipart/"+id+"/part/1", sick)
}

func finishParts(w *ward, id string) *apptest.Reply {
	return w.key.Post("/api/files/upload-complete", m{"sessionId": id})
}

func putOnePart(_ *testing.T, w *ward) attempt {
	id := parted(w)
	return attempt{
		run: func() *apptest.Reply { return sendPart(w, id) }, success: `"etag"`, after: map[string]string{"a.txt": sick},
		again: func(_ *testing.T, done bool) *apptest.Reply {
			if !done {
				if r := sendPart(w, id); r.Status != 200 {
					return r
				}
			}
			return finishParts(w, id)
		},
	}
}

func completeSick(_ *testing.T, w *ward) attempt {
	id := parted(w)
	sendPart(w, id).OK(200)
	finish := func() *apptest.Reply { return finishParts(w, id) }
	return attempt{
		run: finish, success: `"file"`, after: map[string]string{"a.txt": sick}, refusal: 422,
		again: func(t *testing.T, done bool) *apptest.Reply {
			r := finish()
			if done && r.Status == 200 {
				equal(t, "alreadyCompleted", r.Value("alreadyCompleted"), true)
			}
			return r
		},
	}
}

// stored is a file that was uploaded while all was well.
func stored(w *ward) (id string) { return w.key.Upload(w.dir, "a.txt", []byte(sick)) }

func getPath(_ *testing.T, w *ward) attempt {
	stored(w)
	get := func() *apptest.Reply { return w.key.Get(w.dir + "/a.txt") }
	return attempt{run: get, bytes: sick, after: map[string]string{"a.txt": sick}, again: func(*testing.T, bool) *apptest.Reply { return get() }}
}

// getGateway uses a download address up only when bytes have gone out.
func getGateway(t *testing.T, w *ward) attempt {
	door := w.key.Get("/api/files/" + stored(w) + "/download").OK(200).Text("url")
	opened := false
	return attempt{
		run: func() *apptest.Reply {
			r := w.l.Client(t).Get(door)
			opened = r.Status/100 == 2
			return r
		},
		bytes: sick, after: map[string]string{"a.txt": sick},
		again: func(t *testing.T, _ bool) *apptest.Reply {
			r := w.l.Client(t).Get(door)
			if opened {
				r.Fails(401, "INVALID_TOKEN")
				return nil
			}
			if r.Status == 200 {
				opened = true // who comes again is late
				bodyIs(t, r, sick)
			}
			return r
		},
	}
}

// headCompletes completes a session whose bytes are there, which the service asks the store about.
func headCompletes(_ *testing.T, w *ward) attempt {
	id := session(w.key, w.dir, "a.txt", len(sick))
	etag := putRaw(w.key, id, sick).OK(200).Text("etag")
	finish := func() *apptest.Reply { return complete(w.key, id, etag) }
	return attempt{
		run: finish, success: `"file"`, after: map[string]string{"a.txt": sick}, refusal: 422,
		again: func(*testing.T, bool) *apptest.Reply { return finish() },
	}
}

// deleteSwept deletes a file, of which the store hears from the collector only.
func deleteSwept(t *testing.T, w *ward) attempt {
	w.key.Delete("/api/files/" + stored(w)).OK(200)
	return attempt{run: func() *apptest.Reply {
		w.l.Clock.Advance(61 * time.Minute)
		w.l.Sweep()
		return w.key.Get("/api/files?path=" + w.dir)
	}, success: `"items":[]`}
}

// moveBetween moves a file between two prefixes of the bucket, which the server itself can copy. The job goes on trying; where it gives up, the file
// is where it was and can be moved again.
func moveBetween(t *testing.T, w *ward) attempt {
	id, job := stored(w), ""
	order := func() *apptest.Reply {
		r := w.key.Post("/api/files/"+id+"/move", m{"targetPath": "/other"})
		if r.Status == 200 {
			job = r.Text("jobId")
		}
		return r
	}
	already := w.proxy.Spoilt()
	return attempt{
		run: func() *apptest.Reply {
			r := order()
			for r.Status == 200 && w.proxy.Spoilt() == already {
				if at := w.jobIs(job); at == "completed" || at == "failed" {
					break
				}
			}
			return r
		},
		again: func(t *testing.T, _ bool) *apptest.Reply {
			switch w.jobIs(job) {
			case "completed":
				bodyIs(t, w.key.Get("/other/a.txt"), sick)
				w.key.Get(w.dir+"/a.txt").Fails(404, "NOT_FOUND")
				return nil
			case "failed":
				bodyIs(t, w.key.Get(w.dir+"/a.txt"), sick)
				order().OK(200)
			case "pending":
				w.l.Clock.Advance(11 * time.Minute) // the longest pause between two attempts
			}
			return &apptest.Reply{Status: http.StatusServiceUnavailable} // not yet
		},
		after: map[string]string{},
	}
}

func (w *ward) jobIs(id string) (status string) {
	return w.key.Get("/api/files/jobs/" + id).OK(200).Text("job.status")
}

// direct sends bytes straight to the store where a session says so.
func direct(t *testing.T, w *ward) attempt {
	r := begin(w.key, w.dir, "a.txt", len(sick)).OK(200)
	id, etag := r.Text("sessionId"), ""
	if r.Text("uploadMode") == "presigned" {
		etag = toStore(t, r.Text("uploadUrl"))
	} else {
		etag = putRaw(w.key, id, sick).OK(200).Text("etag")
	}
	finish := func() *apptest.Reply { return complete(w.key, id, etag) }
	return attempt{
		run: finish, success: `"file"`, after: map[string]string{"a.txt": sick}, refusal: 422,
		again: func(*testing.T, bool) *apptest.Reply { return finish() },
	}
}

func toStore(t *testing.T, address string) (etag string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "PUT", address, bytes.NewReader([]byte(sick)))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	if resp.StatusCode != 200 {
		t.Fatal(fmt.Errorf("PUT to the store: %d %s", resp.StatusCode, text))
	}
	return resp.Header.Get("ETag")
}
