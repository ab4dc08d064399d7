package thumb

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
)

// pixelChunks are the chunks of a WebP that make the picture.
var pixelChunks = map[string]bool{"VP8X": true, "VP8 ": true, "VP8L": true, "ALPH": true}

const (
	riffHead  = 12
	chunkHead = 8
	alphaFlag = 0x10 // in the flags of VP8X: it has transparency. The others announce chunks that are taken out.
)

// stripMetadata takes everything out of a WebP but the pixels. libvips is told to leave the rest
// away, and still writes EXIF of its own, as versions of it differ; where a picture was taken must
// not hang on that.
func stripMetadata(file *os.File) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	head := make([]byte, riffHead)
	if _, err := file.ReadAt(head, 0); err != nil || string(head[:4]) != "RIFF" || string(head[8:]) != "WEBP" {
		return fmt.Errorf("this is no WebP: %w", errors.Join(err, errNoPicture))
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

// errNoPicture is what a child has written that is no picture.
var errNoPicture = errors.New("the child wrote no picture")
