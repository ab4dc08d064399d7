package thumb

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
)

// pixelChunks are the chunks of a WebP file that hold the pixels.
var pixelChunks = map[string]bool{"VP8X": true, "VP8 ": true, "VP8L": true, "ALPH": true}

const (
	riffHead  = 12
	chunkHead = 8
	// in the flags of VP8X: the picture has transparency; the other flags announce
	// chunks that are removed
	alphaFlag = 0x10
)

// stripMetadata removes everything but the pixels from a WebP file, in place. vipsthumbnail is told
// to write no metadata and still writes EXIF, depending on its version. Whether the coordinates of
// a photograph is removed must not depend on that. Error: errNoPicture for any other file.
func stripMetadata(file *os.File) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	head := make([]byte, riffHead)
	if _, err := file.ReadAt(head, 0); err != nil || string(head[:4]) != "RIFF" || string(head[8:]) != "WEBP" {
		return fmt.Errorf("this is not a WebP: %w", errors.Join(err, errNoPicture))
	}
	to := int64(riffHead)
	for at := to; at < info.Size(); {
		chunk := make([]byte, chunkHead+1)
		if _, err := file.ReadAt(chunk, at); err != nil {
			return fmt.Errorf("read a chunk: %w", errors.Join(err, errNoPicture))
		}
		length := int64(binary.LittleEndian.Uint32(chunk[4:]))
		length += chunkHead + length%2
		if at+length > info.Size() {
			return fmt.Errorf("a chunk ends beyond the file: %w", errNoPicture)
		}
		name := string(chunk[:4])
		if pixelChunks[name] {
			if _, err := io.Copy(io.NewOffsetWriter(file, to), io.NewSectionReader(file, at, length)); err != nil {
				return err
			}
			if name == "VP8X" {
				if _, err := file.WriteAt([]byte{chunk[chunkHead] & alphaFlag}, to+chunkHead); err != nil {
					return err
				}
			}
			to += length
		}
		at += length
	}
	binary.LittleEndian.PutUint32(head[4:], uint32(to-8))
	if _, err := file.WriteAt(head, 0); err != nil {
		return err
	}
	return file.Truncate(to)
}

// errNoPicture: the child's output is not a picture.
var errNoPicture = errors.New("the child wrote no picture")
