package e2e

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
)

// uploadSession is the answer to an upload announcement.
type uploadSession struct {
	SessionID, UploadURL, UploadMode string
	UploadID                         *string
	TotalParts                       *int
	Parts                            []partURL
	AlreadyCompleted                 bool
	File                             entry
}

type partURL struct {
	PartNumber int
	URL        string
}

// body returns length bytes of a content from an offset on.
type body func(from, length int64) io.Reader

func bytesOf(content []byte) body {
	return func(from, length int64) io.Reader { return bytes.NewReader(content[from : from+length]) }
}

// announce begins an upload session; more holds additional fields.
func (c *client) announce(t testing.TB, dir, name string, size int64, more object) uploadSession {
	t.Helper()
	wish := object{"path": dir, "fileName": name, "fileSize": size}
	for field, value := range more {
		wish[field] = value
	}
	var session uploadSession
	c.do(t, "POST", "/api/files/upload-session", wish).data(t, 200, &session)
	switch {
	case session.UploadMode != "worker" && session.UploadMode != "presigned":
		t.Fatalf("uploadMode %q", session.UploadMode)
	case session.UploadMode == "worker" && (len(session.Parts) > 0 || session.UploadID != nil):
		t.Fatalf("a session through the service has parts of its own: %+v", session)
	case session.UploadMode == "presigned" && session.TotalParts != nil && len(session.Parts) != *session.TotalParts:
		t.Fatalf("%d addresses for %d parts", len(session.Parts), *session.TotalParts)
	}
	return session
}

// directClient is a client of the store, without cookies and tokens of the service.
var directClient = newClient()

// tag returns an ETag with or without quotes: both must be accepted.
func tag(etag string, quoted bool) string {
	if etag = strings.Trim(etag, `"`); quoted {
		return `"` + etag + `"`
	}
	return etag
}

// put sends a piece of the content to the service or directly to the store. It returns the ETag
// unchanged.
func (c *client) put(session uploadSession, number int, content io.Reader, length int64) (etag string, err error) {
	path, address := "/api/files/upload/raw/"+session.SessionID, session.UploadURL
	if number > 0 {
		path = fmt.Sprintf("/api/files/upload/multipart/%s/part/%d", session.SessionID, number)
		address += fmt.Sprint(number)
	}
	if session.UploadMode == "worker" {
		if !strings.HasSuffix(address, path) {
			return "", fmt.Errorf("uploadUrl %s does not lead to %s", session.UploadURL, path)
		}
		r, err := c.send("PUT", path, sizedBody(content, length))
		var sent struct{ ETag string }
		if err == nil && r.status == 200 {
			err = r.decode(&sent)
		} else if err == nil {
			err = fmt.Errorf("PUT %s: %d %s", path, r.status, r.body)
		}
		return sent.ETag, err
	}
	if number > 0 {
		address = ""
		for _, part := range session.Parts {
			if part.PartNumber == number {
				address = part.URL
			}
		}
	}
	r, err := directClient.send("PUT", address, sizedBody(content, length))
	if err == nil && r.status != 200 {
		err = fmt.Errorf("PUT of part %d to the store: %d %s", number, r.status, r.body)
	}
	return r.header.Get("ETag"), err
}

func sizedBody(content io.Reader, length int64) any {
	if length == 0 {
		return []byte(nil)
	}
	return &sized{content, length}
}

// deliver sends the whole content as the session requires, with atOnce parts in parallel, and
// returns the completion request. The ETags have quotes in turn.
func (c *client) deliver(t testing.TB, session uploadSession, size int64, content body,
	atOnce int) (completion object) {
	t.Helper()
	if session.TotalParts == nil {
		etag, err := c.put(session, 0, content(0, size), size)
		if err != nil {
			t.Fatal(err)
		}
		return object{"sessionId": session.SessionID, "etag": tag(etag, size%2 == 0)}
	}
	var numbers []int
	for number := *session.TotalParts; number > 0; number-- { // the last one first, since the client chooses the order
		numbers = append(numbers, number)
	}
	parts := c.parts(t, session, size, content, atOnce, numbers)
	slices.Reverse(parts) // a completion lists them in order
	return object{"sessionId": session.SessionID, "parts": parts}
}

// parts sends some parts and returns them in the form of a completion.
func (c *client) parts(t testing.TB, session uploadSession, size int64, content body, atOnce int,
	numbers []int) []object {
	t.Helper()
	todo, done := make(chan int, len(numbers)), make([]object, len(numbers))
	for i := range numbers {
		todo <- i
	}
	close(todo)
	var workers sync.WaitGroup
	for range atOnce {
		workers.Go(func() {
			for i := range todo {
				from := int64(numbers[i]-1) * partSize
				length := min(partSize, size-from)
				etag, err := c.put(session, numbers[i], content(from, length), length)
				if err != nil {
					t.Error(err)
					return
				}
				done[i] = object{"partNumber": numbers[i], "etag": tag(etag, i%2 == 0)}
			}
		})
	}
	workers.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return done
}

// complete completes an upload. It returns the file and whether it had been completed before.
func (c *client) complete(t testing.TB, completion object) (file entry, already bool) {
	t.Helper()
	var done struct {
		File             entry
		AlreadyCompleted bool
	}
	c.do(t, "POST", "/api/files/upload-complete", completion).data(t, 200, &done)
	return done.File, done.AlreadyCompleted
}

// upload executes all three steps for a small file.
func (c *client) upload(t testing.TB, dir, name string, content []byte, more object) entry {
	t.Helper()
	session := c.announce(t, dir, name, int64(len(content)), more)
	file, _ := c.complete(t, c.deliver(t, session, int64(len(content)), bytesOf(content), 2))
	if file.Size != int64(len(content)) {
		t.Fatalf("%d bytes became %+v", len(content), file)
	}
	return file
}

// reads checks the content at a path.
func (c *client) reads(t testing.TB, path string, content []byte) {
	t.Helper()
	if r := c.do(t, "GET", path, nil); r.status != http.StatusOK || !bytes.Equal(r.body, content) {
		t.Errorf("%s: %d with %d bytes, want the %d that were sent", path, r.status, len(r.body), len(content))
	}
}
