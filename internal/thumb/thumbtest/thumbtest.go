// Package thumbtest makes pictures for tests of thumbnails, valid and hostile ones. It also lets a
// test program act as the child process that makes thumbnails.
package thumbtest

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"os"

	"larder/internal/thumb/picture"
)

// The service makes thumbnails by starting its own program again, which in a test is the test
// program: when it was started so, it makes the thumbnail and ends.
func init() {
	if len(os.Args) < 2 || os.Args[1] != picture.Command {
		return
	}
	if err := picture.Main(os.Args[2:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		if errors.Is(err, picture.ErrUnconfined) {
			os.Exit(picture.Unconfined)
		}
		os.Exit(1)
	}
	os.Exit(0)
}

// The colours of Quarters, by corner.
var (
	TopLeft     = color.NRGBA{R: 255, A: 255}
	TopRight    = color.NRGBA{G: 255, A: 255}
	BottomLeft  = color.NRGBA{B: 255, A: 255}
	BottomRight = color.NRGBA{R: 255, G: 255, B: 255, A: 255}
)

// Quarters returns a picture with a different colour in each quarter, so that a test sees a
// rotation. width and height are in pixels.
func Quarters(width, height int) *image.NRGBA {
	picture := image.NewNRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			c := TopLeft
			switch right, bottom := x >= width/2, y >= height/2; {
			case right && bottom:
				c = BottomRight
			case right:
				c = TopRight
			case bottom:
				c = BottomLeft
			}
			picture.SetNRGBA(x, y, c)
		}
	}
	return picture
}

// HalfTransparent is Quarters with a fully transparent upper half.
func HalfTransparent(width, height int) *image.NRGBA {
	picture := Quarters(width, height)
	clear(picture.Pix[:height/2*picture.Stride])
	return picture
}

// PNG encodes a picture.
func PNG(picture image.Image) []byte {
	var b bytes.Buffer
	must((&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(&b, picture))
	return b.Bytes()
}

// JPEG encodes a picture.
func JPEG(picture image.Image) []byte {
	var b bytes.Buffer
	must(jpeg.Encode(&b, picture, &jpeg.Options{Quality: 95}))
	return b.Bytes()
}

// GIF encodes an animation: the picture, followed by a black frame.
func GIF(picture image.Image) []byte {
	palette := color.Palette{TopLeft, TopRight, BottomLeft, BottomRight, color.Black}
	frames := &gif.GIF{Delay: []int{10, 10}}
	for number := range 2 {
		frame := image.NewPaletted(picture.Bounds(), palette)
		for i := range frame.Pix {
			frame.Pix[i] = 4
			if number == 0 {
				frame.Pix[i] = uint8(palette.Index(picture.At(i%frame.Stride, i/frame.Stride)))
			}
		}
		frames.Image = append(frames.Image, frame)
	}
	var b bytes.Buffer
	must(gif.EncodeAll(&b, frames))
	return b.Bytes()
}

// CameraCoordinates is the text in the EXIF of EXIF that stands for the coordinates of a
// photograph.
const CameraCoordinates = "48 deg 51 min 30 N"

// EXIF returns the content of an EXIF block with an orientation and CameraCoordinates.
func EXIF(order binary.AppendByteOrder, orientation uint16) []byte {
	mark := "II"
	if order.AppendUint16(nil, 1)[0] == 0 {
		mark = "MM"
	}
	b := order.AppendUint32(order.AppendUint16([]byte(mark), 42), 8)
	b = order.AppendUint16(b, 2)
	b = order.AppendUint32(order.AppendUint16(order.AppendUint16(b, 0x0112), 3), 1)
	b = order.AppendUint16(order.AppendUint16(b, orientation), 0)
	// UserComment
	b = order.AppendUint32(order.AppendUint16(order.AppendUint16(b, 0x9286), 2), uint32(len(CameraCoordinates)))
	b = order.AppendUint32(b, uint32(len(b)+8))
	return append(order.AppendUint32(b, 0), CameraCoordinates...)
}

// CameraEXIF returns the content of an EXIF block with an orientation, and in its own directory the
// time at which a camera took the picture, with the offset of that time, "" for none.
func CameraEXIF(order binary.AppendByteOrder, orientation uint16, taken, offset string) []byte {
	const head, first, fields = 8, 2 + 2*12 + 4, 2
	mark := "II"
	if order.AppendUint16(nil, 1)[0] == 0 {
		mark = "MM"
	}
	field := func(b []byte, tag, kind uint16, count, value uint32) []byte {
		b = order.AppendUint16(order.AppendUint16(b, tag), kind)
		return order.AppendUint32(order.AppendUint32(b, count), value)
	}
	b := order.AppendUint32(order.AppendUint16([]byte(mark), 42), head)
	b = order.AppendUint16(b, 2)
	b = order.AppendUint32(order.AppendUint16(order.AppendUint16(b, 0x0112), 3), 1)
	b = order.AppendUint16(order.AppendUint16(b, orientation), 0)
	b = field(b, 0x8769, 4, 1, head+first)
	b = order.AppendUint32(b, 0)
	texts := uint32(head + first + 2 + fields*12 + 4)
	b = order.AppendUint16(b, fields)
	b = field(b, 0x9003, 2, uint32(len(taken)+1), texts)
	at := texts + uint32(len(taken)+1)
	if offset == "" {
		at = 0 // a value of up to four bytes, in place of its offset
	}
	b = field(b, 0x9011, 2, uint32(len(offset)+1), at)
	b = order.AppendUint32(b, 0)
	return append(b, taken+"\x00"+offset+"\x00"...)
}

// Photograph returns Quarters as a JPEG with CameraEXIF.
func Photograph(width, height int, orientation uint16, taken, offset string) []byte {
	return InJPEG(JPEG(Quarters(width, height)), CameraEXIF(binary.LittleEndian, orientation, taken, offset))
}

// HEIFHead returns a HEIF file without pixels: an image of that size, of which a viewer turns a
// quarter if turned is set, a larger tile, and EXIF, nil for none.
func HEIFHead(width, height uint32, turned bool, exif []byte) []byte {
	u32 := func(n ...uint32) (b []byte) {
		for _, n := range n {
			b = binary.BigEndian.AppendUint32(b, n)
		}
		return b
	}
	box := func(name string, content ...[]byte) []byte {
		b := bytes.Join(content, nil)
		return append(append(u32(uint32(8+len(b))), name...), b...)
	}
	turn := box("free")
	if turned {
		turn = box("irot", []byte{3})
	}
	properties := box("iprp",
		box("ipco", box("ispe", u32(0, width, height)), turn, box("ispe", u32(0, 8192, 8192))),
		box("ipma", u32(0, 2), []byte{0, 1, 1, 3}, []byte{0, 2, 2, 0x81, 0x82}))
	items := box("iinf", u32(0), []byte{0, 1}, box("infe", u32(2<<24), []byte{0, 7, 0, 0}, []byte("Exif"), []byte{0}))
	file := box("ftyp", []byte("heic"), u32(0))
	locations := func(at uint32) []byte {
		return box("iloc", u32(0), []byte{0x44, 0}, []byte{0, 1}, []byte{0, 7, 0, 0, 0, 1}, u32(at, uint32(4+len(exif))))
	}
	meta := func(at uint32) []byte {
		return box("meta", u32(0), box("pitm", u32(0), []byte{0, 2}), properties, items, locations(at))
	}
	file = append(file, meta(uint32(len(file)+len(meta(0))+8))...)
	if exif == nil {
		return file
	}
	return append(file, box("mdat", u32(0), exif)...)
}

// InJPEG inserts EXIF into a JPEG as its first segment.
func InJPEG(jpeg, exif []byte) []byte {
	b := append([]byte{}, jpeg[:2]...)
	b = binary.BigEndian.AppendUint16(append(b, 0xff, 0xe1), uint16(2+6+len(exif)))
	return append(append(append(b, "Exif\x00\x00"...), exif...), jpeg[2:]...)
}

// InPNG inserts EXIF into a PNG after its header.
func InPNG(png, exif []byte) []byte {
	const header = 8 + 12 + 13
	return append(append(append([]byte{}, png[:header]...), pngChunk("eXIf", exif)...), png[header:]...)
}

// InWebP inserts EXIF into a WebP of one chunk as its last chunk. width and height are those of the
// picture in pixels, which the longer form of the file states.
func InWebP(webp, exif []byte, width, height int) []byte {
	extended := []byte{8, 0, 0, 0, byte(width - 1), byte((width - 1) >> 8), 0, byte(height - 1),
		byte((height - 1) >> 8), 0}
	body := append([]byte("WEBP"), riffChunk("VP8X", extended)...)
	body = append(append(body, webp[12:]...), riffChunk("EXIF", exif)...)
	return append(binary.LittleEndian.AppendUint32([]byte("RIFF"), uint32(len(body))), body...)
}

// riffChunk returns a chunk of a WebP file, padded to an even length.
func riffChunk(name string, content []byte) []byte {
	b := append(binary.LittleEndian.AppendUint32([]byte(name), uint32(len(content))), content...)
	return append(b, make([]byte, len(content)%2)...)
}

// pngChunk returns a chunk of a PNG file with its length and checksum.
func pngChunk(name string, content []byte) []byte {
	b := append(binary.BigEndian.AppendUint32(nil, uint32(len(content))), name...)
	b = append(b, content...)
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b[4:]))
}

// HugePNG returns a PNG whose header announces that many pixels, without the pixels.
func HugePNG(width, height uint32) []byte {
	header := append(binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, width), height), 8, 6, 0, 0, 0)
	return append([]byte("\x89PNG\r\n\x1a\n"),
		append(pngChunk("IHDR", header), pngChunk("IDAT", []byte("x\x9c\x03\x00\x00\x00\x00\x01"))...)...)
}

// HugeGIF returns a GIF whose header announces that many pixels, with one pixel.
func HugeGIF(width, height uint16) []byte {
	b := binary.LittleEndian.AppendUint16(binary.LittleEndian.AppendUint16([]byte("GIF89a"), width), height)
	return append(b, "\x80\x00\x00\x00\x00\x00\xff\xff\xff,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;"...)
}

// Quarters of 64 by 48 pixels in formats without an encoder here.
var (
	WebP = decoded("UklGRjoAAABXRUJQVlA4TC0AAAAvP8ALAB8gEEjeHzqN+RcQFPwf3fxHZA+ASIDEk570pIlOjOj/BAyLvgWPvgEA")
	// also WebP
	Lossy = decoded(
		"UklGRo4AAABXRUJQVlA4IIIAAABwBgCdASpAADAAPmkokEWkIqGZVABABoSgDEXex+AfgBtRXAPwr/YDjAu1+Z+A8T3vxMy4q7yyh79ploAA/vDDqVi+P5o4ijU4+sfwvRgfpMy3jFDi6PcahcNGkPj2zrm7rw9ydDL78An/CxrVYa6bg7ILxMmL97odqNDAPfBCJNgA")
	HEIC = decoded(
		"AAAAHGZ0eXBoZWljAAAAAG1pZjFoZWljbWlhZgAAAa1tZXRhAAAAAAAAACFoZGxyAAAAAAAAAABwaWN0AAAAAAAAAAAAAAAAAAAAAA5waXRtAAAAAAACAAAAEGlkYXQAAAAAAEAAMAAAADhpbG9jAQAAAERAAAIAAQAAAAAAAAHRAAEAAAAAAAAAqQACAAEAAAAAAAAAAQAAAAAAAAAIAAAAOGlpbmYAAAAAAAIAAAAVaW5mZQIAAAEAAQAAaHZjMQAAAAAVaW5mZQIAAAAAAgAAZ3JpZAAAAADYaXBycAAAALZpcGNvAAAAdmh2Y0MBA3AAAAAAAAAAAAAe8AD8/fj4AAAPAyAAAQAYQAEMAf//A3AAAAMAkAAAAwAAAwAeugJAIQABACpCAQEDcAAAAwCQAAADAAADAB6gIIEFlurkprm4EBAwIAAAAwAgAAADACEiAAEABkQBwXPAiQAAABRpc3BlAAAAAAAAAEAAAABAAAAAFGlzcGUAAAAAAAAAQAAAADAAAAAQcGl4aQAAAAADCAgIAAAAGmlwbWEAAAAAAAAAAgABAoECAAICA4QAAAAaaXJlZgAAAAAAAAAOZGltZwACAAEAAQAAALFtZGF0AAAApSgBrxOA5TH3/8ONP+mfT/XcmZOoMQv/M+PvDqr/CXLEG46eJ+UhP99tP9ediCjQmef/mzt3cwjgok9RBQ3nS9rPiKnw5sH3k/OxNoH3dnoW29wP/F7oACa+LTs1hOMClBxzrwODACoWTT8QA7Y+lcS+jVF+GC/fttYXDKBvhloAF0f415YAnGBQOjYGu0/FxsNxcEBz/Mt6GtaWkag5AOW/PlV/VA==")
	AVIF = decoded(
		"AAAAHGZ0eXBhdmlmAAAAAGF2aWZtaWYxbWlhZgAAAOptZXRhAAAAAAAAACFoZGxyAAAAAAAAAABwaWN0AAAAAAAAAAAAAAAAAAAAAA5waXRtAAAAAAABAAAAImlsb2MAAAAAREAAAQABAAAAAAEOAAEAAAAAAAAAMQAAACNpaW5mAAAAAAABAAAAFWluZmUCAAAAAAEAAGF2MDEAAAAAamlwcnAAAABLaXBjbwAAABNjb2xybmNseAACAAIABoAAAAAMYXYxQ4EADAAAAAAUaXNwZQAAAAAAAABAAAAAMAAAABBwaXhpAAAAAAMICAgAAAAXaXBtYQAAAAAAAAABAAEEgYIDhAAAADltZGF0EgAKCRgVf72CBAQNCDIiRgACiiihALhm8bO1NdQRC2J7P2Ps7SxjHmhlz1Tm0mV5mw==")
)

// Decode decodes a thumbnail and returns its format by the name of Go's decoder. It corrects the
// colours of lossy WebP: the decoder interprets them like those of JPEG, from 0 to 255; in WebP
// they range from 16 to 235, or 240 (RFC 6386, section 9.2; ITU-R BT.601).
func Decode(thumbnail []byte) (decoded image.Image, format string, err error) {
	decoded, format, err = image.Decode(bytes.NewReader(thumbnail))
	if err != nil || format != "webp" {
		return decoded, format, err
	}
	right := image.NewNRGBA(decoded.Bounds())
	for y := range right.Bounds().Dy() {
		for x := range right.Bounds().Dx() {
			alpha := uint8(255)
			var c color.YCbCr
			switch from := decoded.(type) {
			case *image.YCbCr:
				c = from.YCbCrAt(x, y)
			case *image.NYCbCrA:
				c, alpha = from.YCbCrAt(x, y), from.NYCbCrAAt(x, y).A
			default: // lossless
				return decoded, format, nil
			}
			luma, blue, red := 1.164*(float64(c.Y)-16), float64(c.Cb)-128, float64(c.Cr)-128
			right.SetNRGBA(x, y, color.NRGBA{clampByte(luma + 1.596*red), clampByte(luma - 0.392*blue - 0.813*red),
				clampByte(luma + 2.017*blue), alpha})
		}
	}
	return right, format, nil
}

// clampByte converts v to a byte, 0 below and 255 above its range.
func clampByte(v float64) uint8 { return uint8(min(max(v, 0), 255)) }

// decoded decodes base64; it panics for other text.
func decoded(text string) []byte {
	b, err := base64.StdEncoding.DecodeString(text)
	must(err)
	return b
}

// must panics with an error that is not nil.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
