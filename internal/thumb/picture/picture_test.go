package picture_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/image/bmp"
	"golang.org/x/image/tiff"

	"larder/internal/thumb/picture"
	"larder/internal/thumb/thumbtest"
)

// child makes a thumbnail in a process like the server's. peak is the memory that it used, in
// bytes.
func child(t testing.TB, original []byte, edge int, more ...string) (thumbnail []byte, peak int64, err error) {
	t.Helper()
	return runChild(t, original, append([]string{strconv.Itoa(edge)}, more...)...)
}

// runChild runs a process like the server's on a picture, with arguments after the name of the
// command. peak is the memory that it used, in bytes.
func runChild(t testing.TB, original []byte, args ...string) (output []byte, peak int64, err error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "original")
	if err := os.WriteFile(path, original, 0o600); err != nil {
		t.Fatal(err)
	}
	in, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	var out, said bytes.Buffer
	// the child's own limits end computing, not waiting
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/proc/self/exe", append([]string{picture.Command}, args...)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Env = in, &out, &said, []string{}
	if err = cmd.Run(); err != nil {
		err = fmt.Errorf("%w: %.200s", err, said.String())
	}
	return out.Bytes(), cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10, err
}

// forgetPeak makes the test small, before children whose peak is measured. The kernel gives a child
// the peak of its parent as a start (Linux, exec_mmap).
func forgetPeak(t testing.TB) {
	t.Helper()
	debug.FreeOSMemory()
	// proc_pid_clear_refs(5): "5" resets the peak to what is used now
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// made is child for a picture that must have a thumbnail.
func made(t testing.TB, original []byte, edge int) (image.Image, string) {
	t.Helper()
	thumbnail, _, err := child(t, original, edge)
	if err != nil {
		t.Fatal(err)
	}
	decoded, format, err := thumbtest.Decode(thumbnail)
	if err != nil {
		t.Fatal(err)
	}
	return decoded, format
}

// corners compares the centres of the quarters with colours, within the precision of JPEG.
func corners(t testing.TB, got image.Image, topLeft, topRight, bottomLeft, bottomRight color.NRGBA) {
	t.Helper()
	b := got.Bounds()
	for at, want := range map[image.Point]color.NRGBA{
		{b.Dx() / 4, b.Dy() / 4}: topLeft, {b.Dx() * 3 / 4, b.Dy() / 4}: topRight,
		{b.Dx() / 4, b.Dy() * 3 / 4}: bottomLeft, {b.Dx() * 3 / 4, b.Dy() * 3 / 4}: bottomRight,
	} {
		if have := color.NRGBAModel.Convert(got.At(at.X, at.Y)).(color.NRGBA); !near(have, want, 24) {
			t.Errorf("at %v of %v: %v, want %v", at, b.Size(), have, want)
		}
	}
}

func near(a, b color.NRGBA, most int) bool {
	for _, pair := range [][2]uint8{{a.R, b.R}, {a.G, b.G}, {a.B, b.B}, {a.A, b.A}} {
		if d := int(pair[0]) - int(pair[1]); d > most || -d > most {
			return false
		}
	}
	return true
}

func bmpOf(t testing.TB, p image.Image) []byte {
	var b bytes.Buffer
	if err := bmp.Encode(&b, p); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func tiffOf(t testing.TB, p image.Image) []byte {
	var b bytes.Buffer
	if err := tiff.Encode(&b, p, nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// All formats that Go decodes; of a GIF the first frame.
func TestKinds(t *testing.T) {
	t.Parallel()
	quarters := thumbtest.Quarters(64, 48)
	for name, original := range map[string][]byte{
		"jpeg": thumbtest.JPEG(quarters), "png": thumbtest.PNG(quarters), "gif": thumbtest.GIF(quarters),
		"webp": thumbtest.WebP, "webp, lossy": thumbtest.Lossy, "bmp": bmpOf(t, quarters), "tiff": tiffOf(t, quarters),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, format := made(t, original, 160)
			if format != "jpeg" || got.Bounds().Size() != image.Pt(64, 48) {
				t.Errorf("%s of %v", format, got.Bounds().Size())
			}
			corners(t, got, thumbtest.TopLeft, thumbtest.TopRight, thumbtest.BottomLeft, thumbtest.BottomRight)
		})
	}
}

// The longest edge is at most the requested one, the other is in proportion, and nothing is
// enlarged.
func TestSizes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		width, height, edge int
		want                image.Point
	}{
		{1000, 500, 160, image.Pt(160, 80)}, {500, 1000, 160, image.Pt(80, 160)}, {3000, 2000, 640, image.Pt(640, 427)},
		{161, 161, 160, image.Pt(160, 160)},
		{160, 160, 160, image.Pt(160, 160)}, {100, 50, 160, image.Pt(100, 50)}, {1, 1, 160, image.Pt(1, 1)},
		{5000, 1, 160, image.Pt(160, 1)}, {2, 4001, 2048, image.Pt(1, 2048)},
		{2100, 1500, 2048, image.Pt(2048, 1463)}, {1281, 700, 1280, image.Pt(1280, 699)},
		{321, 2, 320, image.Pt(320, 2)},
	} {
		t.Run(fmt.Sprint(test.width, "x", test.height, " to ", test.edge), func(t *testing.T) {
			t.Parallel()
			got, _ := made(t, thumbtest.PNG(thumbtest.Quarters(test.width, test.height)), test.edge)
			if got.Bounds().Size() != test.want {
				t.Errorf("%v, want %v", got.Bounds().Size(), test.want)
			}
			if test.want.X > 3 && test.want.Y > 3 {
				corners(t, got, thumbtest.TopLeft, thumbtest.TopRight, thumbtest.BottomLeft, thumbtest.BottomRight)
			}
		})
	}
}

// A single colour stays the same, and a fine pattern becomes its average, up to the edges.
func TestShades(t *testing.T) {
	t.Parallel()
	for name, shade := range map[string]func(x, y int) uint8{
		"flat": func(int, int) uint8 { return 100 }, "checks": func(x, y int) uint8 { return uint8((x+y)%2) * 200 },
		"stripes": func(x, _ int) uint8 { return uint8(x%2) * 200 },
	} {
		for _, edge := range []int{160, 320, 640} {
			t.Run(fmt.Sprint(name, edge), func(t *testing.T) {
				t.Parallel()
				original := image.NewGray(image.Rect(0, 0, 1280, 960))
				for i := range original.Pix {
					original.Pix[i] = shade(i%1280, i/1280)
				}
				got, _ := made(t, thumbtest.PNG(original), edge)
				for y := range got.Bounds().Dy() {
					for x := range got.Bounds().Dx() {
						have := color.NRGBAModel.Convert(got.At(x, y)).(color.NRGBA)
						if !near(have, color.NRGBA{100, 100, 100, 255}, 4) {
							t.Fatalf("at %d, %d: %v", x, y, have)
						}
					}
				}
			})
		}
	}
}

// Transparency is kept, and the thumbnail is a PNG then.
func TestTransparency(t *testing.T) {
	t.Parallel()
	for _, edge := range []int{160, 1280} {
		got, format := made(t, thumbtest.PNG(thumbtest.HalfTransparent(800, 600)), edge)
		if format != "png" {
			t.Errorf("%d: %s", edge, format)
		}
		corners(t, got, color.NRGBA{}, color.NRGBA{}, thumbtest.BottomLeft, thumbtest.BottomRight)
	}
}

// EXIF 2.32, section 4.6.4: the positions of the first row and the first column.
func TestOrientation(t *testing.T) {
	t.Parallel()
	r, g, b, w := thumbtest.TopLeft, thumbtest.TopRight, thumbtest.BottomLeft, thumbtest.BottomRight
	seen := map[uint16][4]color.NRGBA{ // top left, top right, bottom left, bottom right
		1: {r, g, b, w}, 2: {g, r, w, b}, 3: {w, b, g, r}, 4: {b, w, r, g}, 5: {r, b, g, w}, 6: {b, r, w, g},
		7: {w, g, b, r}, 8: {g, w, r, b}, 0: {r, g, b, w}, 9: {r, g, b, w}, 6000: {r, g, b, w},
	}
	quarters := thumbtest.Quarters(640, 480)
	for orientation, want := range seen {
		little, big := thumbtest.EXIF(binary.LittleEndian, orientation), thumbtest.EXIF(binary.BigEndian, orientation)
		for name, original := range map[string][]byte{
			"jpeg, little": thumbtest.InJPEG(thumbtest.JPEG(quarters), little),
			"jpeg, big":    thumbtest.InJPEG(thumbtest.JPEG(quarters), big),
			"png":          thumbtest.InPNG(thumbtest.PNG(quarters), big),
			"webp":         thumbtest.InWebP(thumbtest.WebP, little, 64, 48),
		} {
			t.Run(fmt.Sprint(orientation, " in ", name), func(t *testing.T) {
				t.Parallel()
				got, _ := made(t, original, 160)
				long := image.Pt(160, 120)
				if name == "webp" {
					long = image.Pt(64, 48)
				}
				if orientation >= 5 && orientation <= 8 {
					long.X, long.Y = long.Y, long.X
				}
				if got.Bounds().Size() != long {
					t.Errorf("%v, want %v", got.Bounds().Size(), long)
				}
				corners(t, got, want[0], want[1], want[2], want[3])
			})
		}
	}
}

// Invalid EXIF, or EXIF with offsets beyond the file, has no effect.
func TestBrokenEXIF(t *testing.T) {
	t.Parallel()
	whole := thumbtest.EXIF(binary.BigEndian, 6)
	far, many := bytes.Clone(whole), bytes.Clone(whole)
	binary.BigEndian.PutUint32(far[4:], 0xfffffff0)
	binary.BigEndian.PutUint16(many[8:], 0xffff)
	long := bytes.Clone(whole)
	binary.BigEndian.PutUint16(long[12:], 4) // a type that an orientation cannot have
	for name, exif := range map[string][]byte{"far": far, "another type": long, "cut off": whole[:14], "nothing": nil,
		"noise": []byte("\xff\xd9\xff\xff\xff\xff")} {
		got, _ := made(t, thumbtest.InJPEG(thumbtest.JPEG(thumbtest.Quarters(64, 48)), exif), 160)
		if got.Bounds().Size() != image.Pt(64, 48) {
			t.Errorf("%s: %v", name, got.Bounds().Size())
		}
	}
	made(t, thumbtest.InJPEG(thumbtest.JPEG(thumbtest.Quarters(64, 48)), many), 160)
}

// A thumbnail contains pixels and no metadata such as the coordinates of the photograph.
func TestMetadataDoesNotSurvive(t *testing.T) {
	t.Parallel()
	exif := thumbtest.EXIF(binary.BigEndian, 1)
	for name, original := range map[string][]byte{
		"jpeg": thumbtest.InJPEG(thumbtest.JPEG(thumbtest.Quarters(64, 48)), exif),
		"png":  thumbtest.InPNG(thumbtest.PNG(thumbtest.HalfTransparent(64, 48)), exif),
		"webp": thumbtest.InWebP(thumbtest.WebP, exif, 64, 48),
	} {
		if !bytes.Contains(original, []byte(thumbtest.CameraCoordinates)) {
			t.Fatalf("%s: the test has no data that could be lost", name)
		}
		got, _, err := child(t, original, 160)
		if err != nil {
			t.Fatal(err)
		}
		for _, mark := range []string{thumbtest.CameraCoordinates, "Exif", "eXIf", "ICC_PROFILE", "http://ns.adobe.com",
			"tEXt"} {
			if bytes.Contains(got, []byte(mark)) {
				t.Errorf("%s: the thumbnail holds %q", name, mark)
			}
		}
	}
}

// gray encodes a picture of one colour, which is small for any size.
func gray(t testing.TB, width, height int) []byte {
	var b bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestSpeed}).
		Encode(&b, image.NewGray(image.Rect(0, 0, width, height))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// At most 50 megapixels are decoded, whatever the length of the file.
func TestPixels(t *testing.T) {
	allowed, _, err := child(t, gray(t, 7000, 7100), 160)
	if err != nil {
		t.Fatal(err)
	}
	if size, err := jpeg.DecodeConfig(bytes.NewReader(allowed)); err != nil || size.Width != 158 || size.Height != 160 {
		t.Errorf("%v, %v", size, err)
	}
	for name, original := range map[string][]byte{
		"51 megapixels": gray(t, 7100, 7100), "png": thumbtest.HugePNG(60000, 60000),
		"png, overflow": thumbtest.HugePNG(1<<31-1, 1<<31-1), "gif": thumbtest.HugeGIF(60000, 60000),
		"long": thumbtest.HugePNG(50_000_001, 1),
	} {
		forgetPeak(t)
		got, peak, err := child(t, original, 160)
		if err == nil || !strings.Contains(err.Error(), "pixels") && !strings.Contains(err.Error(), "header") ||
			len(got) != 0 {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
		if peak > 64<<20 {
			t.Errorf("%s: took %d MiB to be refused", name, peak>>20)
		}
	}
}

// Abuse case C104: decoding a picture uses at most 256 MiB. A camera's picture of 24 megapixels
// needs far less.
func TestMemory(t *testing.T) {
	camera := func() []byte {
		frame := image.NewYCbCr(image.Rect(0, 0, 6000, 4000), image.YCbCrSubsampleRatio420)
		for i := range frame.Y {
			frame.Y[i] = uint8(i / 3000)
		}
		var b bytes.Buffer
		if err := jpeg.Encode(&b, frame, &jpeg.Options{Quality: 90}); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}()
	for _, edge := range []int{640, 2048} {
		forgetPeak(t)
		_, peak, err := child(t, camera, edge)
		t.Logf("24 megapixels to %d: %d MiB", edge, peak>>20)
		if err != nil || peak > 128<<20 {
			t.Errorf("24 megapixels to %d: %d MiB, %v", edge, peak>>20, err)
		}
	}
	got, _, err := child(t, thumbtest.PNG(deep{}), 160)
	if err == nil || !strings.Contains(err.Error(), "memory") || len(got) != 0 {
		t.Errorf("36 megapixels of 8 bytes each: %d bytes, %v", len(got), err)
	}
}

// deep is a picture that needs 288 MB when decoded and nothing before.
type deep struct{}

func (deep) ColorModel() color.Model { return color.NRGBA64Model }
func (deep) Bounds() image.Rectangle { return image.Rect(0, 0, 6000, 6000) }
func (deep) At(int, int) color.Color { return color.NRGBA64{} }
func (deep) Opaque() bool            { return false }

// Unknown formats are not decoded: neither drawings nor files that only have the first bytes of a
// picture.
func TestNoPicture(t *testing.T) {
	t.Parallel()
	whole := thumbtest.JPEG(thumbtest.Quarters(640, 480))
	for name, original := range map[string][]byte{
		"nothing": nil, "a word": []byte("word"), "text": []byte(strings.Repeat("words and words ", 100)),
		"svg": []byte(
			`<svg xmlns="http://www.w3.org/2000/svg" width="10" height="10"><rect width="10" height="10"/></svg>`),
		"pdf": []byte("%PDF-1.7\n"), "postscript": []byte("%!PS\n"),
		"magick": []byte("push graphic-context\nviewbox 0 0 10 10\n"), "pnm": []byte("P3 1 1 255 0 0 0\n"),
		"half a jpeg": whole[:len(whole)/2], "jpeg and noise": append([]byte("\xff\xd8\xff\xe0"),
			bytes.Repeat([]byte("noise"), 500)...), "png's mark": []byte("\x89PNG\r\n\x1a\n"),
		"gif's mark": []byte("GIF89a"), "webp's mark": []byte("RIFF\x04\x00\x00\x00WEBP"),
		"tiff's mark": []byte("II*\x00\xff\xff\xff\xff"), "bmp's mark": []byte("BM"),
		"heic without libvips": thumbtest.HEIC, "avif without libvips": thumbtest.AVIF,
		"video": []byte("\x00\x00\x00\x20ftypisom\x00\x00\x02\x00"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, _, err := child(t, original, 160); err == nil || len(got) != 0 {
				t.Errorf("a thumbnail of %d bytes", len(got))
			}
		})
	}
}
