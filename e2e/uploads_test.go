package e2e

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
)

// contentOf returns bytes that depend on the seed.
func contentOf(seed string, size int) []byte {
	return []byte(strings.Repeat(seed+" ", size/(len(seed)+1)+1)[:size])
}

// oddName is a file name with characters that addresses, headers and signatures must escape.
const oddName = "ä ?#%2F&+='\"~.txt"

// Uploads in every way with every set-up, and into a bucket also with every upload mode of its
// provider. The content can be read back, and the quota equals the sum.
func TestUploadsEverywhere(t *testing.T) {
	t.Parallel()
	eachSetup(t, func(t *testing.T, s *setup) {
		modes := []string{"worker"}
		if s.store == onBucket {
			modes = []string{"auto", "worker"}
		}
		for _, mode := range modes {
			if s.store == onBucket {
				s.admin.do(t, "PUT", "/api/admin/storage/providers/"+s.root, object{"uploadMode": mode}).want(t, 200)
			}
			folder := "/uploads/" + mode
			s.admin.mkdir(t, "/uploads", mode)
			u := &uploads{setup: s, folder: folder, sent: map[string][]byte{}}
			u.inOnePiece(t)
			u.inParts(t)
			u.compatible(t)
			u.abortUploads(t)
			u.check(t)
		}
	})
}

// uploads is a folder with the content uploaded into it.
type uploads struct {
	*setup
	folder string
	sent   map[string][]byte // by name
}

func (u *uploads) inOnePiece(t *testing.T) {
	for name, content := range map[string][]byte{"plain.txt": contentOf("one piece", 70_001), "empty.bin": nil,
		oddName: contentOf("odd", 300)} {
		if file := u.admin.upload(t, u.folder, name, content, nil); file.Name != name {
			t.Errorf("%q became %q", name, file.Name)
		}
		u.sent[name] = content
	}
	// an existing name: a number is added, or the content is replaced under the same id
	again := contentOf("again", 500)
	if file := u.admin.upload(t, u.folder, "plain.txt", again, nil); file.Name != "plain (1).txt" {
		t.Errorf("a second file of one name is called %q", file.Name)
	}
	u.sent["plain (1).txt"] = again
	first := u.admin.upload(t, u.folder, "replaced.txt", contentOf("before", 4000), nil)
	after := contentOf("after", 90)
	if second := u.admin.upload(t, u.folder, "replaced.txt", after,
		object{"conflict": "replace"}); second.ID != first.ID {
		t.Errorf("a replacement has id %s, want %s", second.ID, first.ID)
	}
	u.sent["replaced.txt"] = after
	// bodies of another length than announced
	session := u.admin.announce(t, u.folder, "short.txt", 1000, nil)
	if _, err := u.admin.put(session, 0, bytes.NewReader(contentOf("x", 999)), 999); err == nil {
		t.Error("999 bytes of 1,000 were taken")
	}
	u.admin.do(t, "POST", "/api/files/upload-complete", object{"sessionId": session.SessionID, "etag": "none"}).
		fails(t, 422, "OPERATION_FAILED")
	u.admin.do(t, "DELETE", "/api/files/upload/multipart/"+session.SessionID, nil).want(t, 200)
}

// progress is the answer about the received parts.
type progress struct {
	CompletedCount int
	MissingParts   []int
	PresignedParts []partURL
	UploadMode     string
}

func (u *uploads) inParts(t *testing.T) {
	content := contentOf("in parts", partSize+77)
	size := int64(len(content))
	wish := object{"partCount": 2, "idempotencyKey": "of " + u.folder}
	session := u.admin.announce(t, u.folder, "parts.bin", size, wish)
	sent := u.admin.parts(t, session, size, bytesOf(content), 1, []int{2})
	u.admin.do(t, "POST", "/api/files/upload-complete", object{"sessionId": session.SessionID, "parts": sent}).
		fails(t, 422, "OPERATION_FAILED")

	// the client returns and continues
	resumed := u.admin.announce(t, u.folder, "parts.bin", size, wish)
	if resumed.SessionID != session.SessionID || resumed.UploadMode != session.UploadMode {
		t.Errorf("resumed as %+v", resumed)
	}
	var now progress
	u.admin.do(t, "GET", "/api/files/upload/multipart/"+session.SessionID+"/parts", nil).data(t, 200, &now)
	if now.UploadMode != session.UploadMode || now.CompletedCount != 1 || fmt.Sprint(now.MissingParts) != "[1]" {
		t.Errorf("after one part of two: %+v", now)
	}
	if now.UploadMode == "presigned" {
		if len(now.PresignedParts) != 1 || now.PresignedParts[0].PartNumber != 1 {
			t.Fatalf("new addresses for %+v, want one for part 1", now.PresignedParts)
		}
		resumed.Parts = now.PresignedParts
	}
	sent = append(u.admin.parts(t, resumed, size, bytesOf(content), 1, []int{1}), sent...)
	completion := object{"sessionId": session.SessionID, "parts": sent}
	file, _ := u.admin.complete(t, completion)
	repeated, already := u.admin.complete(t, completion)
	if !already || repeated.ID != file.ID || file.Size != size {
		t.Errorf("completed as %+v, and again as %+v (already completed: %v)", file, repeated, already)
	}
	u.sent["parts.bin"] = content
}

func (u *uploads) compatible(t *testing.T) {
	raw, formed := contentOf("raw", 300_000), contentOf("form", 9000)
	if made := u.keyed.mustRaw(t, "raw.dat", u.folder, "application/x-raw", raw); made.Path != u.folder {
		t.Errorf("it lies in %s", made.Path)
	}
	body, kind := form(t, field("path", u.folder), file("file", "formed.dat", "application/x-form", string(formed)))
	u.keyed.do(t, "POST", "/api/upload", body, "Content-Type", kind).want(t, 200)
	r := u.keyed.do(t, "POST", "/api/upload", io.MultiReader(bytes.NewReader(raw), bytes.NewReader(raw)), "X-File-Name",
		"chunked.dat", "X-Path", u.folder)
	r.want(t, 200) // without a Content-Length
	u.sent["raw.dat"], u.sent["formed.dat"], u.sent["chunked.dat"] = raw, formed, append(raw[:len(raw):len(raw)],
		raw...)
}

// abortUploads aborts an upload of each kind: its reservation is released, and no file is created.
func (u *uploads) abortUploads(t *testing.T) {
	content := contentOf("given up", partSize+1)
	for name, more := range map[string]object{"given-up.txt": nil, "given-up.bin": {"partCount": 2}} {
		piece := content[:1000]
		if more != nil {
			piece = content
		}
		session := u.admin.announce(t, u.folder, name, int64(len(piece)), more)
		completion := u.admin.deliver(t, session, int64(len(piece)), bytesOf(piece), 1)
		u.admin.do(t, "DELETE", "/api/files/upload/multipart/"+session.SessionID, nil).want(t, 200)
		u.admin.do(t, "POST", "/api/files/upload-complete", completion).fails(t, 409, "OPERATION_FAILED")
	}
}

// check compares the listing, the content and the quota with everything uploaded so far.
func (u *uploads) check(t *testing.T) {
	t.Helper()
	listed := u.admin.list(t, u.folder)
	if len(listed) != len(u.sent) {
		t.Errorf("%d files are listed, %d were sent", len(listed), len(u.sent))
	}
	for _, file := range listed {
		content, known := u.sent[file.Name]
		if !known || file.Size != int64(len(content)) {
			t.Errorf("%s is listed with %d bytes, %d were sent (%v)", file.Name, file.Size, len(content), known)
		}
		u.admin.reads(t, escaped(file.full()), content)
	}
	var size, files int64
	for _, file := range u.admin.walk(t, "/uploads") {
		size, files = size+file.Size, files+1
	}
	if used, n := u.admin.usage(t); used != size || n != files {
		t.Errorf("the quota says %d bytes in %d files, the listings %d in %d", used, n, size, files)
	}
}
