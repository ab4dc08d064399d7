package api

import (
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
)

// stored is an open object of a store on the disk.
type stored struct {
	io.ReadSeekCloser
	file *os.File
}

func (o stored) Size() int64    { return 10 }
func (o stored) File() *os.File { return o.file }

// fakeConn is a connection that accepts files in ReadFrom.
type fakeConn struct {
	*httptest.ResponseRecorder
	from io.Reader
}

func (c *fakeConn) ReadFrom(r io.Reader) (int64, error) {
	if part, ok := r.(*io.LimitedReader); ok {
		c.from = part.R
	}
	return io.Copy(c.ResponseRecorder, r)
}

// A file of the local store reaches the connection as an *os.File, at the right offset.
func TestLocalFileReachesConnectionAsFile(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "object")
	if err := os.WriteFile(name, []byte("0123456789"), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	to := &fakeConn{ResponseRecorder: httptest.NewRecorder()}
	gate := &contentWriter{recorder: &recorder{ResponseWriter: to}, content: servedContent{size: 10},
		object: stored{file, file}}
	defer gate.close()
	if _, err := gate.Seek(4, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	if n, err := io.CopyN(gate, gate, 3); n != 3 || err != nil || to.Body.String() != "456" ||
		to.from != io.Reader(file) {
		t.Errorf("%d bytes, %v: %q from a %T", n, err, to.Body, to.from)
	}
	gate.closed = true
	if n, err := io.CopyN(gate, gate, 3); n != 0 || err == nil {
		t.Errorf("%d bytes after the refusal, %v", n, err)
	}
}
