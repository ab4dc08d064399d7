package zipstream_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"larder/internal/zipstream"
)

var noon = time.Date(2026, 5, 4, 12, 0, 1, 0, time.UTC) // an odd second, which the old two-second field cannot hold

// spoolFiles returns a function that opens spool files, and the number of files it has opened.
func spoolFiles(t *testing.T) (open func() (*os.File, error), opened *int) {
	opened = new(int)
	dir := t.TempDir()
	return func() (*os.File, error) {
		*opened++
		return os.Create(filepath.Join(dir, fmt.Sprint(*opened)))
	}, opened
}

func write(t *testing.T, w *zipstream.Writer, name, content string) {
	t.Helper()
	body, err := w.File(name, noon)
	if err == nil {
		_, err = io.WriteString(body, content)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Every entry can be read, also around the boundaries of segments.
func TestEntryCounts(t *testing.T) {
	t.Parallel()
	for _, count := range []int{0, 1, 2, 511, 512, 513, 1024, 1025, 65534, 65535, 65536} {
		t.Run(fmt.Sprint(count), func(t *testing.T) {
			t.Parallel()
			open, opened := spoolFiles(t)
			var out bytes.Buffer
			w := zipstream.New(&out, open)
			defer w.Close()
			for i := range count {
				if i%10 == 3 {
					if err := w.Folder(fmt.Sprintf("目录 %d", i), noon); err != nil {
						t.Fatal(err)
					}
					continue
				}
				write(t, w, fmt.Sprintf("sub/🦀 %d.txt", i), strings.Repeat("x", i%7))
			}
			if err := w.Finish(); err != nil {
				t.Fatal(err)
			}
			zip64 := bytes.Contains(out.Bytes()[max(0, out.Len()-98):], []byte("PK\x06\x06"))
			if zip64 != (count >= 65535) || (*opened == 1) != (count > 20000) {
				t.Errorf("Zip64 end: %v, %d files opened", zip64, *opened)
			}
			r, err := zip.NewReader(bytes.NewReader(out.Bytes()), int64(out.Len()))
			if err != nil || len(r.File) != count {
				t.Fatalf("%d entries, %v", len(r.File), err)
			}
			for i, f := range r.File {
				want, size := fmt.Sprintf("sub/🦀 %d.txt", i), i%7
				if i%10 == 3 {
					want, size = fmt.Sprintf("目录 %d/", i), 0
				}
				if f.Name != want || f.UncompressedSize64 != uint64(size) || f.NonUTF8 || f.Flags&0x800 == 0 ||
					f.Method != zip.Store || !f.Modified.Equal(noon) {
					t.Fatalf("entry %d: %+v", i, f.FileHeader)
				}
				if i > 600 && i%997 != 0 {
					continue
				}
				body, err := f.Open()
				if err != nil {
					t.Fatal(err)
				}
				// checks the CRC
				if content, err := io.ReadAll(body); err != nil || string(content) != strings.Repeat("x", size) {
					t.Errorf("%s: %q, %v", f.Name, content, err)
				}
			}
		})
	}
}

// sparseBuffer keeps written bytes, but of long runs of zeros only their position and length.
type sparseBuffer struct {
	pieces []piece
	size   int64
}

type piece struct {
	at   int64
	data []byte
}

var zeros = make([]byte, 1<<20)

func (s *sparseBuffer) Write(p []byte) (int, error) {
	if len(p) > len(zeros) || !bytes.Equal(p, zeros[:len(p)]) || len(p) < 1024 {
		s.pieces = append(s.pieces, piece{s.size, bytes.Clone(p)})
	}
	s.size += int64(len(p))
	return len(p), nil
}

func (s *sparseBuffer) ReadAt(p []byte, off int64) (int, error) {
	n := int(min(int64(len(p)), s.size-off))
	clear(p[:n])
	for _, piece := range s.pieces {
		if from, to := max(piece.at, off), min(piece.at+int64(len(piece.data)), off+int64(n)); from < to {
			copy(p[from-off:to-off], piece.data[from-piece.at:])
		}
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// A file of more than 4 GiB, and files that begin beyond 4 GiB, can be read.
func TestArchivesOfMoreThan4GiB(t *testing.T) {
	t.Parallel()
	open, _ := spoolFiles(t)
	var out sparseBuffer
	w := zipstream.New(&out, open)
	defer w.Close()
	const size = 1<<32 + 5
	body, err := w.File("big", noon)
	for left := int64(size); left > 0 && err == nil; {
		var n int
		n, err = body.Write(zeros[:min(left, int64(len(zeros)))])
		left -= int64(n)
	}
	if err != nil {
		t.Fatal(err)
	}
	for i := range 600 { // into a second segment
		write(t, w, fmt.Sprint("beyond ", i), "content")
	}
	if err := w.Finish(); err != nil {
		t.Fatal(err)
	}
	r, err := zip.NewReader(&out, out.size)
	if err != nil || len(r.File) != 601 || r.File[0].UncompressedSize64 != size {
		t.Fatalf("%v", err)
	}
	for _, f := range []*zip.File{r.File[1], r.File[600]} {
		body, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		if content, err := io.ReadAll(body); err != nil || string(content) != "content" {
			t.Errorf("%s: %q, %v", f.Name, content, err)
		}
	}
}

// Memory does not grow with the number of entries: archive/zip alone would keep some hundred bytes
// for each.
func TestMemoryDoesNotGrowWithEntries(t *testing.T) {
	open, _ := spoolFiles(t)
	w := zipstream.New(io.Discard, open)
	defer w.Close()
	const count = 200_000
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before, most := heap(), uint64(0)
	for i := range count {
		write(t, w, fmt.Sprintf("a folder/with a name of usual length %d.jpg", i), "")
		if i%50_000 == 49_999 {
			most = max(most, heap())
		}
	}
	if most > before+8<<20 {
		t.Errorf("%d bytes more after %d entries", most-before, count)
	}
	if err := w.Finish(); err != nil {
		t.Fatal(err)
	}
}

// Readers refuse an archive that was not finished.
func TestUnfinishedArchiveIsInvalid(t *testing.T) {
	t.Parallel()
	open, _ := spoolFiles(t)
	var out bytes.Buffer
	w := zipstream.New(&out, open)
	for i := range 1500 {
		write(t, w, fmt.Sprint(i), "content")
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	if _, err := zip.NewReader(bytes.NewReader(out.Bytes()), int64(out.Len())); err == nil {
		t.Error("an unfinished archive can be read")
	}
}

// Errors of the output, and of the disk that holds the directory, are returned.
func TestWriteErrorsAreReturned(t *testing.T) {
	t.Parallel()
	full := errors.New("full")
	w := zipstream.New(failingWriter{full}, nil)
	body, err := w.File("a", noon)
	if err == nil {
		_, err = body.Write(make([]byte, 1<<20))
	}
	if !errors.Is(err, full) {
		t.Errorf("writing: %v", err)
	}
	w = zipstream.New(io.Discard, func() (*os.File, error) { return nil, full })
	err = nil
	for i := 0; i < 50_000 && err == nil; i++ {
		_, err = w.File(fmt.Sprint(i), noon)
	}
	if !errors.Is(err, full) {
		t.Errorf("spooling: %v", err)
	}
	w.Close()
}

type failingWriter struct{ err error }

func (f failingWriter) Write([]byte) (int, error) { return 0, f.err }
