package picture

import (
	"encoding/binary"
	"io"
)

const (
	orientationTag = 0x0112
	shortType      = 3
	maxSteps       = 4096 // segments, chunks or tags that are examined
)

// orientation returns the EXIF orientation that a picture states, from 1 to 8 if it is valid (EXIF
// 2.32, section 4.6.4); 1 when there is none. It says how a viewer rotates and mirrors the picture.
func orientation(in io.ReaderAt, is kind) int {
	at, found := int64(0), is == isTIFF // a TIFF file is itself the EXIF structure
	switch is {
	case isJPEG:
		at, found = exifOfJPEG(in)
	case isPNG:
		at, found = exifOfChunks(in, 8, pngChunk)
	case isWebP:
		at, found = exifOfChunks(in, 12, webpChunk)
	}
	if !found {
		return 1
	}
	return readOrientation(in, at)
}

const exifHeader = "Exif\x00\x00"

// exifOfJPEG looks for EXIF in the segments before the pixels of a JPEG, and returns the offset of
// its TIFF structure in bytes.
func exifOfJPEG(in io.ReaderAt) (at int64, found bool) {
	at = 2
	for range maxSteps {
		head := read(in, at, 10)
		if len(head) < 4 || head[0] != 0xff || head[1] == 0xda {
			return 0, false
		}
		if head[1] == 0xff { // padding
			at++
			continue
		}
		if head[1] == 0xe1 && string(head[4:]) == exifHeader {
			return at + 10, true
		}
		at += 2 + int64(binary.BigEndian.Uint16(head[2:]))
	}
	return 0, false
}

// chunkParser parses the head of a chunk and returns its name, the offset of its content and the
// offset of the next chunk.
type chunkParser func(head []byte, at int64) (name string, content, next int64)

// pngChunk is the chunkParser of PNG. head is the first 8 bytes of the chunk at offset at.
func pngChunk(head []byte, at int64) (name string, content, next int64) {
	content = at + 8
	return string(head[4:8]), content, content + int64(binary.BigEndian.Uint32(head)) + 4
}

// webpChunk is the chunkParser of WebP. head is the first 8 bytes of the chunk at offset at.
func webpChunk(head []byte, at int64) (name string, content, next int64) {
	length := int64(binary.LittleEndian.Uint32(head[4:]))
	content = at + 8
	return string(head[:4]), content, content + length + length%2
}

// exifOfChunks looks for EXIF in the chunks of a PNG or WebP, of which the first is at offset at,
// and returns the offset of its TIFF structure in bytes.
func exifOfChunks(in io.ReaderAt, at int64, parse chunkParser) (exif int64, found bool) {
	for range maxSteps {
		head := read(in, at, 8)
		if len(head) < 8 {
			return 0, false
		}
		name, content, next := parse(head, at)
		switch name {
		case "eXIf", "EXIF":
			if string(read(in, content, len(exifHeader))) == exifHeader {
				content += int64(len(exifHeader))
			}
			return content, true
		case "IDAT":
			return 0, false
		}
		at = next
	}
	return 0, false
}

// readOrientation reads the orientation from the first directory of the TIFF structure at offset
// at; 1 when there is none. The value is not checked.
func readOrientation(in io.ReaderAt, at int64) int {
	head := read(in, at, 8)
	if len(head) < 8 {
		return 1
	}
	var order binary.ByteOrder = binary.LittleEndian
	if string(head[:2]) == "MM" {
		order = binary.BigEndian
	}
	directory := at + int64(order.Uint32(head[4:]))
	count := read(in, directory, 2)
	if len(count) < 2 {
		return 1
	}
	for i := range min(int64(order.Uint16(count)), maxSteps) {
		tag := read(in, directory+2+12*i, 12)
		if len(tag) < 12 {
			return 1
		}
		if order.Uint16(tag) == orientationTag && order.Uint16(tag[2:]) == shortType {
			return int(order.Uint16(tag[8:]))
		}
	}
	return 1
}

// read reads up to n bytes at offset at; the result is shorter when they cannot be read.
func read(in io.ReaderAt, at int64, n int) []byte {
	b := make([]byte, n)
	got, _ := in.ReadAt(b, at) // an error means fewer bytes
	return b[:got]
}
