package picture

import (
	"bytes"
	"encoding/binary"
	"io"
	"iter"
	"time"
)

// Tags and types of fields (EXIF 2.32, sections 4.6.2 to 4.6.5).
const (
	orientationTag     = 0x0112
	exifDirectoryTag   = 0x8769
	originalTag        = 0x9003
	digitizedTag       = 0x9004
	originalOffsetTag  = 0x9011
	digitizedOffsetTag = 0x9012
	asciiType          = 2
	shortType          = 3
	longType           = 4
)

const (
	maxSteps = 4096 // segments, chunks or fields that are examined
	maxText  = 64   // bytes of a text that is read
)

// orientation returns the EXIF orientation that a picture states, from 1 to 8 if it is valid (EXIF
// 2.32, section 4.6.4); 1 when there is none. It says how a viewer rotates and mirrors the picture.
func orientation(in io.ReaderAt, is kind) int {
	x, found := exifOf(in, is)
	if !found {
		return 1
	}
	for tag, f := range x.fields(x.first) {
		if tag == orientationTag && f.kind == shortType {
			return int(x.order.Uint16(f.value[:]))
		}
	}
	return 1
}

// exifOf looks for the EXIF of a picture.
func exifOf(in io.ReaderAt, is kind) (x exif, found bool) {
	at := int64(0)
	switch is {
	case isTIFF: // is itself the EXIF structure
		found = true
	case isJPEG:
		at, found = exifOfJPEG(in)
	case isPNG:
		at, found = exifOfChunks(in, 8, pngChunk)
	case isWebP:
		at, found = exifOfChunks(in, 12, webpChunk)
	case isHEIF:
		at, found = exifOfHEIF(in)
	}
	if !found {
		return exif{}, false
	}
	return openExif(in, at)
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

// exif is a TIFF structure with directories of fields (EXIF 2.32, section 4.5).
type exif struct {
	in    io.ReaderAt
	at    int64 // where the structure begins in in; offsets inside of it count from there
	order binary.ByteOrder
	first int64 // offset of the first directory
}

// field is a field of a directory. value contains the value, if that has at most four bytes, or
// else its offset.
type field struct {
	kind  uint16
	count uint32
	value [4]byte
}

// openExif reads the head of the TIFF structure at offset at.
func openExif(in io.ReaderAt, at int64) (x exif, ok bool) {
	head := read(in, at, 8)
	if len(head) < 8 {
		return exif{}, false
	}
	x = exif{in: in, at: at, order: binary.LittleEndian}
	if string(head[:2]) == "MM" {
		x.order = binary.BigEndian
	}
	x.first = int64(x.order.Uint32(head[4:]))
	return x, true
}

// fields returns the fields of the directory at an offset, by tag, as far as they can be read.
func (x exif) fields(directory int64) iter.Seq2[uint16, field] {
	return func(yield func(uint16, field) bool) {
		count := read(x.in, x.at+directory, 2)
		if len(count) < 2 {
			return
		}
		for i := range min(int64(x.order.Uint16(count)), maxSteps) {
			b := read(x.in, x.at+directory+2+12*i, 12)
			if len(b) < 12 {
				return
			}
			f := field{kind: x.order.Uint16(b[2:]), count: x.order.Uint32(b[4:]), value: [4]byte(b[8:])}
			if !yield(x.order.Uint16(b), f) {
				return
			}
		}
	}
}

// text returns the value of a field of text, up to its first zero byte; "" for another type, and
// for a text that is longer than maxText.
func (x exif) text(f field) string {
	if f.kind != asciiType || f.count > maxText {
		return ""
	}
	text := f.value[:min(f.count, 4)]
	if f.count > 4 {
		text = read(x.in, x.at+int64(x.order.Uint32(f.value[:])), int(f.count))
	}
	before, _, _ := bytes.Cut(text, []byte{0})
	return string(before)
}

// takenAt returns when the picture was taken, in milliseconds: DateTimeOriginal, or else
// DateTimeDigitized, which a scanner states (EXIF 2.32, section 4.6.5). A time without an offset
// counts as UTC. It returns 0 when the picture states no valid time after 1899.
func (x exif) takenAt() int64 {
	texts := map[uint16]string{}
	for tag, f := range x.fields(x.first) {
		if tag == exifDirectoryTag && f.kind == longType {
			for tag, f := range x.fields(int64(x.order.Uint32(f.value[:]))) {
				texts[tag] = x.text(f)
			}
			break // a second one is not valid
		}
	}
	for _, tags := range [][2]uint16{{originalTag, originalOffsetTag}, {digitizedTag, digitizedOffsetTag}} {
		const layout = "2006:01:02 15:04:05"
		when, err := time.Parse(layout, texts[tags[0]])
		if err != nil {
			continue
		}
		if zoned, err := time.Parse(layout+"-07:00", texts[tags[0]]+texts[tags[1]]); err == nil {
			when = zoned
		}
		if ms := when.UnixMilli(); ms >= earliest && ms <= latest {
			return ms
		}
	}
	return 0
}

// read reads up to n bytes at offset at; the result is shorter when they cannot be read.
func read(in io.ReaderAt, at int64, n int) []byte {
	b := make([]byte, n)
	got, _ := in.ReadAt(b, at) // an error means fewer bytes
	return b[:got]
}
