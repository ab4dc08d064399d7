// Package picture makes and describes thumbnails in a process of its own, so that the server itself
// never decodes a picture of a user (abuse case C104).
//
// Main is the hidden command `larder thumb`. It reads a picture from a file and writes a smaller
// one without metadata, or the properties of the picture (describe.go), or its ThumbHash. First it
// sets limits on itself that cannot be removed: memory, processor time, length of the output, no
// core dump, no new privileges. Then it checks the format by the first bytes, and the number of
// pixels in the header. Only then the picture is decoded. When libvips is to decode it, the process
// executes vipsthumbnail under the same limits.
//
// Main fails with an error, or the process dies, for example of too little memory. In both cases
// the server answers that there is no thumbnail.
package picture

import (
	"bufio"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"os"
	"strconv"

	"golang.org/x/image/bmp"
	"golang.org/x/image/tiff"
	"golang.org/x/image/webp"
)

// Command is the name of Main on the command line.
const Command = "thumb"

const (
	maxPixels = 50_000_000
	quality   = 82 // of JPEG
	headBytes = 32 // bytes read to recognize the format
)

// MaxOutput is the largest thumbnail in bytes: the largest one without compression, and a reserve.
const MaxOutput = 20 << 20

// ErrUnconfined is the error of Main when it cannot confine the process. Main has read nothing
// then.
var ErrUnconfined = errors.New("thumb: the child cannot be confined")

// Unconfined is the exit code of a child whose Main returned ErrUnconfined. The cause is the
// machine and not the picture.
const Unconfined = 3

// Edges are the lengths of the longest edge of a thumbnail, in pixels. A smaller picture keeps its
// size.
var Edges = []int{160, 320, 640, 1280, 2048}

// Main makes a thumbnail of in, which must be seekable, and writes it to out, as JPEG, or as PNG
// when it has transparency. args are the longest edge in pixels and optionally the path of
// vipsthumbnail, which then writes the thumbnail as WebP; in that case Main returns only when it
// fails. If args are DescribeArg, Main writes the Description of in; if they are CameraArg, its
// Camera; and if they are HashArg, the ThumbHash of in, which is a thumbnail then. Error:
// ErrUnconfined, or one that means that the picture has no thumbnail.
func Main(args []string, in, out *os.File) error {
	if len(args) != 1 && len(args) != 2 {
		return errors.New("thumb: the longest edge is expected, and perhaps the path of vipsthumbnail")
	}
	if inspect := inspections[args[0]]; inspect != nil {
		return inspectConfined(inspect, in, out)
	}
	edge, err := strconv.Atoi(args[0])
	if err != nil || edge < 1 || edge > Edges[len(Edges)-1] {
		return fmt.Errorf("thumb: %q is no edge", args[0])
	}
	vips := ""
	if len(args) == 2 {
		vips = args[1]
	}
	listener, err := confine(vips)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnconfined, err)
	}
	kind, err := kindOf(in)
	if err != nil {
		return err
	}
	gray, err := checkHeader(in, kind)
	if err != nil {
		return err
	}
	if vips != "" {
		return execVips(vips, edge, kind, gray, in, listener)
	}
	return thumbnail(in, kind, edge, out)
}

// inspections are what Main does instead of a thumbnail, by its first argument.
var inspections = map[string]func(in io.ReaderAt, is kind, out io.Writer) error{
	DescribeArg: describe,
	HashArg:     hashThumbnail,
	CameraArg:   describeCamera,
}

// inspectConfined confines the process and then inspects a picture.
func inspectConfined(inspect func(in io.ReaderAt, is kind, out io.Writer) error, in, out *os.File) error {
	if _, err := confine(""); err != nil {
		return fmt.Errorf("%w: %w", ErrUnconfined, err)
	}
	is, err := kindOf(in)
	if err != nil {
		return err
	}
	return inspect(in, is, out)
}

// kind is the format of a picture, recognized by its first bytes.
type kind string

const (
	isJPEG kind = "jpeg"
	isPNG  kind = "png"
	isGIF  kind = "gif"
	isWebP kind = "webp"
	isTIFF kind = "tiff"
	isBMP  kind = "bmp"
	isHEIF kind = "heif" // HEIC and AVIF, which only libvips decodes
)

// brands are the brands of ISO media files that are pictures.
var brands = map[string]bool{"heic": true, "heix": true, "mif1": true, "avif": true}

// kindOf recognizes the format of a picture by its first bytes. Unknown formats are an error.
func kindOf(in io.ReaderAt) (kind, error) {
	head := make([]byte, headBytes)
	n, err := in.ReadAt(head, 0)
	if err != nil && err != io.EOF {
		return "", fmt.Errorf("thumb: %w", err)
	}
	head = head[:n]
	begins := func(with string) bool { return len(head) >= len(with) && string(head[:len(with)]) == with }
	switch {
	case begins("\xff\xd8\xff"):
		return isJPEG, nil
	case begins("\x89PNG\r\n\x1a\n"):
		return isPNG, nil
	case begins("GIF87a"), begins("GIF89a"):
		return isGIF, nil
	case begins("II*\x00"), begins("MM\x00*"):
		return isTIFF, nil
	case begins("RIFF") && n >= 12 && string(head[8:12]) == "WEBP":
		return isWebP, nil
	case begins("BM"):
		return isBMP, nil
	case n >= 12 && string(head[4:8]) == "ftyp" && brands[string(head[8:12])]:
		return isHEIF, nil
	}
	return "", errors.New("thumb: unknown picture type")
}

// decoders are Go's decoders by format.
var decoders = map[kind]struct {
	config func(io.Reader) (image.Config, error)
	decode func(io.Reader) (image.Image, error)
}{
	isJPEG: {jpeg.DecodeConfig, jpeg.Decode},
	isPNG:  {png.DecodeConfig, png.Decode},
	isGIF:  {gif.DecodeConfig, gif.Decode}, // the first frame
	isWebP: {webp.DecodeConfig, decodeWebP},
	isTIFF: {tiff.DecodeConfig, tiff.Decode},
	isBMP:  {bmp.DecodeConfig, bmp.Decode},
}

// checkHeader refuses a picture whose header announces no pixels or more than maxPixels, and
// reports whether the picture is known to be gray. libvips reads the header of HEIF files itself,
// under the limits of this process.
func checkHeader(in io.ReaderAt, is kind) (gray bool, err error) {
	decoder, known := decoders[is]
	if !known {
		return false, nil
	}
	config, err := decoder.config(readerOf(in))
	if err != nil {
		return false, fmt.Errorf("thumb: read the header: %w", err)
	}
	if pixels := int64(config.Width) * int64(config.Height); pixels < 1 || pixels > maxPixels {
		return false, fmt.Errorf("thumb: %d by %d pixels", config.Width, config.Height)
	}
	return config.ColorModel == color.GrayModel || config.ColorModel == color.Gray16Model, nil
}

// pictureReader reads a picture from its beginning. The decoder of TIFF also uses ReadAt.
type pictureReader struct {
	*bufio.Reader
	io.ReaderAt
}

// readerOf returns a reader of a picture from its beginning.
func readerOf(in io.ReaderAt) pictureReader {
	const end = 1 << 62
	return pictureReader{bufio.NewReaderSize(io.NewSectionReader(in, 0, end), 64<<10), in}
}

// thumbnail makes the thumbnail with Go's decoders and writes it to out as JPEG, or PNG when it has
// transparency. edge is its longest edge in pixels.
func thumbnail(in io.ReaderAt, is kind, edge int, out io.Writer) error {
	decoder, known := decoders[is]
	if !known {
		return fmt.Errorf("thumb: no decoder for %s", is)
	}
	full, err := decoder.decode(readerOf(in))
	if err != nil {
		return fmt.Errorf("thumb: decode: %w", err)
	}
	small := orient(shrink(full, edge), orientation(in, is))
	if small.Opaque() {
		err = jpeg.Encode(out, small, &jpeg.Options{Quality: quality})
	} else {
		straight := image.NewNRGBA(small.Bounds())
		draw.Draw(straight, straight.Bounds(), small, image.Point{}, draw.Src)
		err = png.Encode(out, straight)
	}
	if err != nil {
		return fmt.Errorf("thumb: encode: %w", err)
	}
	return nil
}
