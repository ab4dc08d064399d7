package zipstream

import (
	"bytes"
	"fmt"
	"io"
	"os"
)

// spoolMemory is how many bytes of a directory stay in memory, enough for some thousand entries.
const spoolMemory = 1 << 20

// directorySpool keeps the directory of the archive until Finish writes it.
type directorySpool struct {
	openFile func() (*os.File, error)
	memory   bytes.Buffer // the part that follows the content of file
	file     *os.File
}

// append adds a part of the directory. Beyond spoolMemory it moves what is in memory to the file,
// which it opens at the first time.
func (s *directorySpool) append(p []byte) error {
	s.memory.Write(p)
	if s.memory.Len() <= spoolMemory {
		return nil
	}
	if s.file == nil {
		var err error
		if s.file, err = s.openFile(); err != nil {
			return fmt.Errorf("spool the directory of an archive: %w", err)
		}
	}
	if _, err := s.memory.WriteTo(s.file); err != nil {
		return fmt.Errorf("spool the directory of an archive: %w", err)
	}
	return nil
}

// writeTo writes the whole directory to out, first the part in the file.
func (s *directorySpool) writeTo(out io.Writer) error {
	if s.file != nil {
		if _, err := s.file.Seek(0, io.SeekStart); err != nil {
			return fmt.Errorf("read the directory of an archive: %w", err)
		}
		if _, err := io.Copy(out, s.file); err != nil {
			return fmt.Errorf("copy the directory of an archive: %w", err)
		}
	}
	_, err := s.memory.WriteTo(out)
	return err
}

// close closes the file, if there is one, which frees its disk space.
func (s *directorySpool) close() {
	if s.file != nil {
		_ = s.file.Close() // the file is unlinked: closing it frees its space
		s.file = nil
	}
}
