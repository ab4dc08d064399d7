package api

import (
	"bytes"
	"fmt"
	"io"
	"mime/multipart"
	"os"

	"larder/internal/fault"
	"larder/internal/upload"
)

const (
	spoolMemory    = 1 << 20  // bytes of a waiting file that stay in memory
	spoolCheckStep = 16 << 20 // bytes between two checks of the free disk space
)

// spooledFile is the file of a form that waits until the rest of the form is read.
type spooledFile struct {
	in          incomingFile
	isFileField bool // the field is called `file`
	file        *os.File
}

// discard frees the memory and the disk space of a file of a form that waited, and the quota and
// the upload slot reserved for it; nil for none.
func (c *call) discard(s *spooledFile) {
	if s == nil {
		return
	}
	if s.file != nil {
		_ = s.file.Close() // the file is unlinked already: closing it frees its space
	}
	s.in.buffered.End(c.ctx())
}

// spoolPart reads a file of a form completely, because it must wait for the rest of the form, such
// as a field `path` behind it. isFileField tells that the field is called `file`. The caller calls
// discard. Faults: those of BeginBuffered and of reading.
func (c *call) spoolPart(part *multipart.Part, name string, isFileField bool) (*spooledFile, error) {
	buffered, err := c.a.Uploads.BeginBuffered(c.ctx(), c.actor)
	if err != nil {
		return nil, err
	}
	s := &spooledFile{in: incomingFile{name: name, mimeType: part.Header.Get("Content-Type"), buffered: buffered},
		isFileField: isFileField}
	if err := c.readPart(s, part); err != nil {
		c.discard(s)
		return nil, err
	}
	return s, nil
}

// readPart reads a file of a form into memory if it has at most spoolMemory bytes, otherwise into a
// spool file, and sets the body and size in s.
func (c *call) readPart(s *spooledFile, part *multipart.Part) error {
	head, err := io.ReadAll(io.LimitReader(part, spoolMemory+1))
	if err != nil {
		return bodyError(err)
	}
	if len(head) <= spoolMemory {
		s.in.body, s.in.size = bytes.NewReader(head), int64(len(head))
		return nil
	}
	body, err := s.in.buffered.Body(c.ctx(), io.MultiReader(bytes.NewReader(head), formBody{part}))
	if err != nil {
		return err
	}
	if s.file, err = c.a.OpenSpoolFile(); err != nil {
		return fmt.Errorf("spool a form: %w", err)
	}
	s.in.body = s.file
	s.in.size, err = c.fillSpool(s.file, body)
	return err
}

// fillSpool copies a body to a file, rewinds the file and returns the number of bytes. The body
// reserves the quota as it is read. The copy stops when the disk gets full. Faults: those of the
// body, TooLarge, Unavailable.
func (c *call) fillSpool(file *os.File, body io.Reader) (size int64, err error) {
	for {
		if err := c.a.CheckSpoolSpace(); err != nil {
			return 0, err
		}
		n, err := io.CopyN(file, body, spoolCheckStep)
		size += n
		switch {
		case size > upload.MaxFileSize:
			return 0, fault.New(fault.TooLarge, "A file has at most 20 GiB.")
		case err == io.EOF:
			_, err = file.Seek(0, io.SeekStart)
			return size, err
		case err != nil:
			return 0, err
		}
	}
}
