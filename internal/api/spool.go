package api

import (
	"bytes"
	"fmt"
	"io"
	"mime/multipart"
	"os"

	"larder/internal/fault"
	"larder/internal/quota"
	"larder/internal/upload"
)

const (
	spoolMemory = 1 << 20  // bytes of a waiting file that stay in memory
	spoolStep   = 16 << 20 // bytes between two looks at the room on the disk
)

// spool is a file of a form that waits for the rest of the form.
type spool struct {
	in    incoming
	named bool // the field is called `file`
	file  *os.File
}

func (s *spool) discard() {
	if s != nil && s.file != nil {
		_ = s.file.Close() // it has no name any more: closing it frees it
	}
}

func (c *call) spool(part *multipart.Part, name string, named bool) (*spool, error) {
	s := &spool{in: incoming{name: name, mimeType: part.Header.Get("Content-Type")}, named: named}
	head, err := io.ReadAll(io.LimitReader(part, spoolMemory+1))
	if err != nil {
		return nil, bodyError(err)
	}
	if len(head) <= spoolMemory {
		s.in.body, s.in.size = bytes.NewReader(head), int64(len(head))
		return s, nil
	}
	if s.file, err = c.a.Spool(); err != nil {
		return nil, fmt.Errorf("spool a form: %w", err)
	}
	if s.in.size, err = c.fillSpool(s.file, io.MultiReader(bytes.NewReader(head), formBody{part})); err != nil {
		s.discard()
		return nil, err
	}
	s.in.body = s.file
	return s, nil
}

// fillSpool copies a body to a file, which it leaves at its beginning, and stops where the quota ends or the disk gets full: what waits is not
// charged to anybody yet. Faults: QuotaExceeded, TooLarge, Unavailable.
func (c *call) fillSpool(file *os.File, body io.Reader) (size int64, err error) {
	left, count, err := quota.Left(c.a.DB.Read(c.ctx()), c.user.ID)
	if err != nil {
		return 0, err
	}
	if left = min(left, upload.MaxFileSize); count < 1 {
		left = 0
	}
	for {
		if err := c.a.SpoolRoom(); err != nil {
			return 0, err
		}
		n, err := io.CopyN(file, body, min(spoolStep, left-size+1))
		size += n
		switch {
		case size > upload.MaxFileSize:
			return 0, fault.New(fault.TooLarge, "A file has at most 20 GiB.")
		case size > left:
			return 0, fault.New(fault.QuotaExceeded, "There is not enough room left in your quota.")
		case err == io.EOF:
			_, err = file.Seek(0, io.SeekStart)
			return size, err
		case err != nil:
			return 0, err
		}
	}
}
