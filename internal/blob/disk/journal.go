package disk

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"strconv"
	"strings"

	"larder/internal/blob"
)

// A journal records which parts of an upload are stored. It is a text file: a header line that
// identifies the upload, then one line for every part at a fixed offset, so that the file never
// grows, and only the holder of the part's lock writes its line. Every line ends with a checksum. A
// line that a crash left half written has a wrong checksum, and its part counts as missing.
const (
	headerLength = 640 // bytes of the header: a key, two numbers and a checksum, padded with spaces
	lineLength   = 85  // bytes: `0000000007 <64 hex> <8 hex>` and a newline
)

// withChecksum pads text with spaces and appends its CRC-32 and a newline, so that the line has
// length bytes in all.
func withChecksum(text string, length int) []byte {
	text = fmt.Sprintf("%-*s", length-len(" 01234567\n"), text)
	return fmt.Appendf(nil, "%s %08x\n", text, crc32.ChecksumIEEE([]byte(text)))
}

// headerLine returns the first line of the journal of u: the format version, key, size and part
// size. checkHeader compares it to see that a journal belongs to u.
func headerLine(u blob.Upload) []byte {
	return withChecksum(fmt.Sprintf("larder parts 1 %s %d %d", u.Key, u.Size, u.PartSize), headerLength)
}

// partLine returns the journal line of a part with that SHA-256 in hexadecimal. An empty sum
// records that the part is missing.
func partLine(number int, sum string) []byte {
	return withChecksum(fmt.Sprintf("%010d %s", number, sum), lineLength)
}

// lineOffset returns the offset in the journal, in bytes, of the line of a part; number begins at
// 1.
func lineOffset(number int) int64 { return headerLength + int64(number-1)*lineLength }

// parseLine returns the hexadecimal SHA-256 that line records for part number, "" when the part is
// missing: no sum is recorded, the checksum is wrong, or the line is another part's.
func parseLine(line []byte, number int) string {
	if len(line) != lineLength {
		return ""
	}
	sum := strings.TrimSpace(string(line[len("0000000007 ") : len("0000000007 ")+64]))
	if sum == "" || !bytes.Equal(line, partLine(number, sum)) {
		return ""
	}
	return sum
}

// checkHeader returns blob.ErrNotFound unless the journal's header names the key and the sizes of
// u: the upload that the caller knows does not exist then. Other error: blob.ErrUnavailable.
func checkHeader(journal io.ReaderAt, u blob.Upload) error {
	head := make([]byte, headerLength)
	if _, err := journal.ReadAt(head, 0); err != nil && err != io.EOF {
		return storeError("read journal of upload", err)
	}
	if !bytes.Equal(head, headerLine(u)) {
		return fmt.Errorf("read journal of upload: %w", blob.ErrNotFound)
	}
	return nil
}

// readParts returns the parts of u by number that the journal records as stored. The ETag is the
// SHA-256 in hexadecimal. Error: blob.ErrUnavailable.
func readParts(journal io.ReaderAt, u blob.Upload) (parts []blob.Part, err error) {
	lines, err := io.ReadAll(io.NewSectionReader(journal, headerLength, int64(u.Parts())*lineLength))
	if err != nil {
		return nil, storeError("read journal of upload", err)
	}
	for number := 1; len(lines) >= lineLength; number++ {
		if sum := parseLine(lines[:lineLength], number); sum != "" {
			parts = append(parts, blob.Part{Number: number, Size: u.PartLength(number), ETag: sum})
		}
		lines = lines[lineLength:]
	}
	return parts, nil
}

// isUnwritten reports whether no line was ever written for a part: its line contains only zero
// bytes or lies beyond the end of the journal. Error: blob.ErrUnavailable.
func isUnwritten(journal *os.File, number int) (bool, error) {
	line := make([]byte, lineLength)
	n, err := journal.ReadAt(line, lineOffset(number))
	if err != nil && err != io.EOF {
		return false, storeError("read journal of upload", err)
	}
	return len(bytes.Trim(line[:n], "\x00")) == 0, nil
}

// writeLine writes a line at that offset of the journal and syncs the file. Error:
// blob.ErrUnavailable or blob.ErrNoSpace.
func writeLine(journal *os.File, line []byte, offset int64) error {
	if _, err := journal.WriteAt(line, offset); err != nil {
		return storeError("write line "+strconv.FormatInt(offset, 10)+" of journal of upload", err)
	}
	if err := journal.Sync(); err != nil {
		return storeError("sync journal of upload", err)
	}
	return nil
}
