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

// faultContent is the content of the files in these tests, long enough to be cut.
var faultContent = strings.Repeat("all of it or nothing ", 4000)

// operations are the seven kinds of calls to a store, by the requests that cause them; some have
// more than one.
var operations = []operation{
	{"put by a compatible upload", s3test.Put, "worker", putOneRequest},
	{"put of a session", s3test.Put, "worker", putSessionBytes},
	{"part", s3test.Part, "worker", putOnePart},
	{"complete", s3test.Complete, "worker", completeFaulty},
	{"get by path", s3test.Get, "worker", getPath},
	{"get by gateway", s3test.Get, "worker", getGateway},
	{"head on completion", s3test.Head, "worker", headCompletes},
	{"copy of a direct upload", s3test.Copy, "auto", directUpload},
	{"copy by a move", s3test.Copy, "worker", moveBetween},
	{"delete", s3test.Delete, "worker", deleteSwept},
}

// putOneRequest is an upload in one request.
func putOneRequest(_ *testing.T, f *faultFixture) attempt {
	upload := func() *apptest.Reply {
		return f.key.Post("/api/upload", faultContent, "X-File-Name", "a.txt", "X-Path", f.dir)
	}
	return attempt{run: upload, wantText: `"fileId"`, wantFiles: map[string]string{"a.txt": faultContent},
		retry: func(_ *testing.T, done bool) *apptest.Reply {
			if done {
				return nil
			}
			return upload()
		}}
}

// putSessionBytes sends the bytes of a session in one piece. They may be sent again after any
// result.
func putSessionBytes(t *testing.T, f *faultFixture) attempt {
	id := newUploadSession(f.key, f.dir, "a.txt", len(faultContent))
	send := func() *apptest.Reply { return putRaw(f.key, id, faultContent) }
	return attempt{run: send, wantText: `"etag"`, wantFiles: map[string]string{"a.txt": faultContent},
		retry: func(t *testing.T, _ bool) *apptest.Reply {
			r := send()
			if r.Status != 200 {
				return r
			}
			return completeUpload(f.key, id, r.Text("etag"))
		}}
}

// newPartSession begins an upload session of one short part.
func newPartSession(f *faultFixture) (id string) {
	return newUploadSession(f.key, f.dir, "a.txt", len(faultContent), M{"partCount": 2})
}

func sendPart(f *faultFixture, id string) *apptest.Reply {
	return f.key.Put("/api/files/upload/multipart/"+id+"/part/1", faultContent)
}

func finishParts(f *faultFixture, id string) *apptest.Reply {
	return f.key.Post("/api/files/upload-complete", M{"sessionId": id})
}

func putOnePart(_ *testing.T, f *faultFixture) attempt {
	id := newPartSession(f)
	return attempt{
		run: func() *apptest.Reply { return sendPart(f, id) }, wantText: `"etag"`,
		wantFiles: map[string]string{"a.txt": faultContent},
		retry: func(_ *testing.T, done bool) *apptest.Reply {
			if !done {
				if r := sendPart(f, id); r.Status != 200 {
					return r
				}
			}
			return finishParts(f, id)
		},
	}
}

func completeFaulty(_ *testing.T, f *faultFixture) attempt {
	id := newPartSession(f)
	sendPart(f, id).OK(200)
	finish := func() *apptest.Reply { return finishParts(f, id) }
	return attempt{
		run: finish, wantText: `"file"`, wantFiles: map[string]string{"a.txt": faultContent}, refusal: 422,
		retry: func(t *testing.T, done bool) *apptest.Reply {
			r := finish()
			if done && r.Status == 200 {
				wantJSON(t, "alreadyCompleted", r.Value("alreadyCompleted"), true)
			}
			return r
		},
	}
}

// uploadHealthy uploads a file while the store works.
func uploadHealthy(f *faultFixture) (id string) {
	return f.key.Upload(f.dir, "a.txt", []byte(faultContent))
}

func getPath(_ *testing.T, f *faultFixture) attempt {
	uploadHealthy(f)
	get := func() *apptest.Reply { return f.key.Get(f.dir + "/a.txt") }
	return attempt{run: get, wantBody: faultContent, wantFiles: map[string]string{"a.txt": faultContent},
		retry: func(*testing.T, bool) *apptest.Reply { return get() }}
}

// getGateway uses up a download address only when bytes were sent.
func getGateway(t *testing.T, f *faultFixture) attempt {
	address := downloadURL(f.key, uploadHealthy(f))
	opened := false
	return attempt{
		run: func() *apptest.Reply {
			r := f.l.Client(t).Get(address)
			opened = r.Status/100 == 2
			return r
		},
		wantBody: faultContent, wantFiles: map[string]string{"a.txt": faultContent},
		retry: func(t *testing.T, _ bool) *apptest.Reply {
			r := f.l.Client(t).Get(address)
			if opened {
				r.Fails(401, "INVALID_TOKEN")
				return nil
			}
			if r.Status == 200 {
				opened = true // a second request comes too late
				wantBody(t, r, faultContent)
			}
			return r
		},
	}
}

// headCompletes completes a session whose bytes the store has; the service asks the store about
// them.
func headCompletes(_ *testing.T, f *faultFixture) attempt {
	id := newUploadSession(f.key, f.dir, "a.txt", len(faultContent))
	etag := putRaw(f.key, id, faultContent).OK(200).Text("etag")
	finish := func() *apptest.Reply { return completeUpload(f.key, id, etag) }
	return attempt{
		run: finish, wantText: `"file"`, wantFiles: map[string]string{"a.txt": faultContent}, refusal: 422,
		retry: func(*testing.T, bool) *apptest.Reply { return finish() },
	}
}

// deleteSwept deletes a file. Only the collector calls the store.
func deleteSwept(t *testing.T, f *faultFixture) attempt {
	f.key.Delete("/api/files/" + uploadHealthy(f)).OK(200)
	return attempt{run: func() *apptest.Reply {
		f.l.Clock.Advance(61 * time.Minute)
		f.l.Sweep()
		return f.key.Get("/api/files?path=" + f.dir)
	}, wantText: `"items":[]`}
}

// moveBetween moves a file between two prefixes of the bucket, which the server can copy. The job
// retries; if it gives up, the file is at its old path and can be moved again.
func moveBetween(t *testing.T, f *faultFixture) attempt {
	id, job := uploadHealthy(f), ""
	order := func() *apptest.Reply {
		r := f.key.Post("/api/files/"+id+"/move", M{"targetPath": "/other"})
		if r.Status == 200 {
			job = r.Text("jobId")
		}
		return r
	}
	already := f.proxy.Injected()
	return attempt{
		run: func() *apptest.Reply {
			r := order()
			for r.Status == 200 && f.proxy.Injected() == already {
				if at := f.jobStatus(job); at == "completed" || at == "failed" {
					break
				}
			}
			return r
		},
		retry: func(t *testing.T, _ bool) *apptest.Reply {
			switch f.jobStatus(job) {
			case "completed":
				wantBody(t, f.key.Get("/other/a.txt"), faultContent)
				f.key.Get(f.dir+"/a.txt").Fails(404, "NOT_FOUND")
				return nil
			case "failed":
				wantBody(t, f.key.Get(f.dir+"/a.txt"), faultContent)
				order().OK(200)
			case "pending":
				f.l.Clock.Advance(11 * time.Minute) // the longest pause between two attempts
			}
			return &apptest.Reply{Status: http.StatusServiceUnavailable} // not yet
		},
		wantFiles: map[string]string{},
	}
}

func (f *faultFixture) jobStatus(id string) (status string) {
	return f.key.Get("/api/files/jobs/" + id).OK(200).Text("job.status")
}

// directUpload sends bytes directly to the store if the session says so.
func directUpload(t *testing.T, f *faultFixture) attempt {
	r := postUploadSession(f.key, f.dir, "a.txt", len(faultContent)).OK(200)
	id, etag := r.Text("sessionId"), ""
	if r.Text("uploadMode") == "presigned" {
		etag = putToStore(t, r.Text("uploadUrl"))
	} else {
		etag = putRaw(f.key, id, faultContent).OK(200).Text("etag")
	}
	finish := func() *apptest.Reply { return completeUpload(f.key, id, etag) }
	return attempt{
		run: finish, wantText: `"file"`, wantFiles: map[string]string{"a.txt": faultContent}, refusal: 422,
		retry: func(*testing.T, bool) *apptest.Reply { return finish() },
	}
}

func putToStore(t *testing.T, address string) (etag string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "PUT", address, bytes.NewReader([]byte(faultContent)))
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
