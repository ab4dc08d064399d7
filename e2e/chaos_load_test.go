package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"
)

// uploader is a client that uploads, renames, moves and deletes files below its own folder, with
// one request at a time, and its record of what was acknowledged.
type uploader struct {
	*chaos
	root    string
	client  *client // of the API
	drive   *client // of WebDAV
	random  *rand.Rand
	serial  int
	files   []kept
	deleted []string        // ids
	sent    map[string]bool // hashes of all contents
	unsure  int             // uploads that may have been carried out more often than acknowledged
	direct  int             // pieces that the store has received from the client
}

// kept is an acknowledged file.
type kept struct {
	id, path, hash string
	size           int64
}

// step makes one change.
func (u *uploader) step() error {
	u.serial++
	dice := u.random.IntN(100)
	if len(u.files) < 4 || dice < 50 {
		return u.upload()
	}
	i := u.random.IntN(len(u.files))
	switch {
	case dice < 65:
		return u.relocate(i, path.Join(path.Dir(u.files[i].path), fmt.Sprintf("r%05d.bin", u.serial)))
	case dice < 80:
		folder := map[string]string{"a": "b", "b": "a"}[path.Base(path.Dir(u.files[i].path))]
		return u.relocate(i, path.Join(u.root, folder, path.Base(u.files[i].path)))
	case dice < 90:
		return u.remove(i)
	}
	f := u.files[i]
	r, _, err := u.ask(u.client, "GET", escaped(f.path), nil)
	if err == nil && (r.status != 200 || hash(r.body) != f.hash) {
		err = fmt.Errorf("reading %s gave %d with %d bytes, want %d bytes", f.path, r.status, len(r.body), f.size)
	}
	return err
}

// upload uploads a new file in one of the ways.
func (u *uploader) upload() error {
	size := 1 + u.random.IntN(60_000)
	folder, name := u.root+"/"+[]string{"a", "b"}[u.random.IntN(2)], fmt.Sprintf("f%05d.bin", u.serial)
	dice := u.random.IntN(20)
	if dice == 0 {
		size = partSize + size
	}
	content := randomContent(u.random, size)
	f := kept{path: folder + "/" + name, hash: hash(content), size: int64(size)}
	u.sent[f.hash] = true
	if dice < 8 {
		id, err := u.inSession(folder, name, content, dice == 0)
		if err != nil {
			return err
		}
		f.id = id
		u.files = append(u.files, f)
		return nil
	}
	var r reply
	var attempts int
	var err error
	if dice < 11 { // by WebDAV, whose repetition replaces the file
		r, _, err = u.ask(u.drive, "PUT", dav(f.path), content)
		if err != nil || r.status != 201 && r.status != 204 {
			return errors.Join(err, unexpected("PUT of "+f.path, r, err))
		}
		f.id, err = u.idOf(f.path)
		u.files = append(u.files, f)
		return err
	}
	body, headers := content, []string{"X-File-Name", name, "X-Path", folder, "Content-Type", "application/x-chaos"}
	if dice < 15 {
		var kind string
		body, kind = form(u.t, field("path", folder), file("file", name, "application/x-chaos", string(content)))
		headers = []string{"Content-Type", kind}
	}
	r, attempts, err = u.ask(u.client, "POST", "/api/upload", body, headers...)
	u.unsure += attempts - 1
	if err != nil || r.status != 200 {
		return errors.Join(err, unexpected("upload of "+f.path, r, err))
	}
	var made uploaded
	if err := r.decode(&made); err != nil || made.FileID == "" || made.Size != f.size {
		return fmt.Errorf("upload of %s answered %s", f.path, r.body)
	}
	f.id, f.path = made.FileID, folder+"/"+made.Filename // another name when an earlier attempt took the first
	u.files = append(u.files, f)
	return nil
}

// unexpected describes an answer, unless there was none.
func unexpected(what string, r reply, err error) error {
	if err != nil {
		return nil
	}
	return fmt.Errorf("%s answered %d: %s", what, r.status, tail(string(r.body), 300))
}

// inSession uploads by an upload session. After a failure it begins again with the same key, which
// resumes the session, or with another key when the session has ended.
func (u *uploader) inSession(folder, name string, content []byte, parts bool) (id string, err error) {
	size := int64(len(content))
	wish := object{"path": folder, "fileName": name, "fileSize": size}
	if parts {
		wish["partCount"] = 2
	}
	for round := 0; ; round++ {
		wish["idempotencyKey"] = fmt.Sprintf("%s/%s/%d", folder, name, round)
		ended := false
		for again := 0; again < 20 && !ended; again++ {
			r, _, err := u.ask(u.client, "POST", "/api/files/upload-session", wish)
			if err != nil || r.status != 200 {
				return "", errors.Join(err, unexpected("an upload session for "+name, r, err))
			}
			var session uploadSession
			if err := r.decode(&session); err != nil {
				return "", err
			}
			if session.AlreadyCompleted {
				return session.File.ID, nil
			}
			completion := object{"sessionId": session.SessionID}
			var tags []object
			numbers := []int{0}
			if parts {
				numbers = []int{1, 2}
			}
			for _, number := range numbers {
				from, length := int64(0), size
				if number > 0 {
					from = int64(number-1) * partSize
					length = min(partSize, size-from)
				}
				var etag string
				etag, err = u.client.put(session, number, bytes.NewReader(content[from:from+length]), length)
				if err != nil {
					break
				}
				if session.UploadMode == "presigned" {
					u.direct++
				}
				completion["etag"] = etag
				tags = append(tags, object{"partNumber": number, "etag": etag})
			}
			if err != nil {
				u.refusals.Add(1)
				ended = strings.Contains(err.Error(), ": 404") || strings.Contains(err.Error(), ": 410")
				continue
			}
			if parts {
				delete(completion, "etag")
				completion["parts"] = tags
			}
			r, _, err = u.ask(u.client, "POST", "/api/files/upload-complete", completion)
			if err != nil {
				return "", err
			}
			if r.status == 200 {
				var done struct{ File entry }
				if err := r.decode(&done); err != nil || done.File.Size != size {
					return "", fmt.Errorf("the completion of %s answered %s", name, r.body)
				}
				return done.File.ID, nil
			}
			// the session has ended, or bytes did not arrive
			ended = r.status == 404 || r.status == 410 || r.status == 409
			if !ended && r.status != 422 {
				return "", unexpected("the completion of "+name, r, nil)
			}
		}
		u.unsure++
		if round == 50 {
			return "", fmt.Errorf("%s was not uploaded in %d sessions", name, round)
		}
	}
}

// idOf returns the id of a file.
func (u *uploader) idOf(name string) (string, error) {
	r, _, err := u.ask(u.client, "GET", "/api/files?limit=1000&path="+path.Dir(name), nil)
	var listing struct{ Items []entry }
	if err == nil {
		err = r.decode(&listing)
	}
	for _, file := range listing.Items {
		if file.full() == name {
			return file.ID, err
		}
	}
	return "", errors.Join(err, fmt.Errorf("%s is not in its folder: %d %s", name, r.status, tail(string(r.body), 300)))
}

// relocate renames or moves a file, by the API or by WebDAV.
func (u *uploader) relocate(i int, to string) error {
	f := &u.files[i]
	var r reply
	var attempts int
	var err error
	want := 200
	switch {
	case u.random.IntN(2) == 0:
		want = 201
		r, attempts, err = u.ask(u.drive, "MOVE", dav(f.path), nil, "Destination", dav(to), "Overwrite", "F")
	case path.Dir(to) == path.Dir(f.path):
		r, attempts, err = u.ask(u.client, "PUT", "/api/files/"+f.id, object{"name": path.Base(to)})
	default:
		r, attempts, err = u.ask(u.client, "POST", "/api/files/"+f.id+"/move", object{"targetPath": path.Dir(to)})
	}
	if err != nil {
		return err
	}
	if r.status == want {
		f.path = to
		return nil
	}
	// the first attempt may have been carried out, and then the second one finds nothing to do
	if id, err := u.idOf(to); attempts == 1 || err != nil || id != f.id {
		return errors.Join(unexpected(fmt.Sprintf("move %d of %s to %s", attempts, f.path, to), r, nil), err)
	}
	f.path = to
	return nil
}

func (u *uploader) remove(i int) error {
	f := u.files[i]
	by, address := u.client, "/api/files/"+f.id
	if u.random.IntN(2) == 0 {
		by, address = u.drive, dav(f.path)
	}
	r, attempts, err := u.ask(by, "DELETE", address, nil)
	if err != nil {
		return err
	}
	if r.status != 200 && r.status != 204 && (attempts == 1 || r.status != 404) {
		return unexpected("the deletion of "+f.path, r, nil)
	}
	u.files = slices.Delete(u.files, i, i+1)
	u.deleted = append(u.deleted, f.id)
	return nil
}

// check compares the folder with the record. Other files in it are uploads whose answer was lost.
func (u *uploader) check(t *testing.T, admin *client) {
	t.Helper()
	listed := map[string]entry{}
	for _, file := range admin.walk(t, u.root) {
		listed[file.ID] = file
		body := admin.do(t, "GET", escaped(file.full()), nil).want(t, 200).body
		if int64(len(body)) != file.Size || !u.sent[hash(body)] {
			t.Errorf("%s has %d bytes that were never sent, %d are listed", file.full(), len(body), file.Size)
		}
		if i := slices.IndexFunc(u.files, func(f kept) bool { return f.id == file.ID }); i >= 0 {
			if f := u.files[i]; f.path != file.full() || f.hash != hash(body) || f.size != file.Size {
				t.Errorf("%s with %d bytes, hash %.8s, was acknowledged as %+v", file.full(), file.Size, hash(body), f)
			}
		}
	}
	for _, f := range u.files {
		if _, there := listed[f.id]; !there {
			t.Errorf("%s was acknowledged, and is lost", f.path)
		}
	}
	if more := len(listed) - len(u.files); more > u.unsure {
		t.Errorf("%d files in %s were not acknowledged, and only %d attempts had no answer", more, u.root, u.unsure)
	}
	for _, id := range u.deleted {
		if _, there := listed[id]; there {
			t.Errorf("%s is deleted, and listed in %s", id, u.root)
		}
	}
}
