package picture_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"larder/internal/thumb"
	"larder/internal/thumb/picture"
	"larder/internal/thumb/thumbtest"
)

// findVips runs vipsthumbnail once for all tests.
var findVips = sync.OnceValue(func() string {
	path, _ := thumb.FindVips(context.Background()) // no error without a time limit
	return path
})

// vips returns the path of vipsthumbnail, which scripts/install-test-tools installs.
func vips(t testing.TB) string {
	t.Helper()
	path := findVips()
	if path == "" {
		t.Fatal("there is no vipsthumbnail here; scripts/install-test-tools installs it")
	}
	return path
}

// madeByVips is made with libvips.
func madeByVips(t testing.TB, original []byte, edge int) image.Image {
	t.Helper()
	thumbnail, _, err := child(t, original, edge, vips(t))
	if err != nil {
		t.Fatal(err)
	}
	decoded, format, err := thumbtest.Decode(thumbnail)
	if err != nil || format != "webp" {
		t.Fatalf("%s, %v", format, err)
	}
	return decoded
}

// libvips makes WebP thumbnails of all formats of Go's decoders, and of HEIC and AVIF.
func TestVipsKinds(t *testing.T) {
	t.Parallel()
	quarters := thumbtest.Quarters(64, 48)
	for name, original := range map[string][]byte{
		"jpeg": thumbtest.JPEG(quarters), "png": thumbtest.PNG(quarters), "gif": thumbtest.GIF(quarters),
		"webp": thumbtest.WebP, "tiff": tiffOf(t, quarters),
		"heic": thumbtest.HEIC, "webp, lossy": thumbtest.Lossy, "avif": thumbtest.AVIF,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := madeByVips(t, original, 160)
			if got.Bounds().Size() != image.Pt(64, 48) {
				t.Errorf("%v", got.Bounds().Size())
			}
			corners(t, got, thumbtest.TopLeft, thumbtest.TopRight, thumbtest.BottomLeft, thumbtest.BottomRight)
		})
	}
}

// libvips keeps sizes, orientation and transparency like Go's decoders, and writes no metadata.
func TestVipsAgrees(t *testing.T) {
	t.Parallel()
	exif := thumbtest.EXIF(binary.LittleEndian, 6)
	got := madeByVips(t, thumbtest.InJPEG(thumbtest.JPEG(thumbtest.Quarters(640, 480)), exif), 160)
	if got.Bounds().Size() != image.Pt(120, 160) {
		t.Errorf("turned: %v", got.Bounds().Size())
	}
	corners(t, got, thumbtest.BottomLeft, thumbtest.TopLeft, thumbtest.BottomRight, thumbtest.TopRight)
	if got := madeByVips(t, thumbtest.PNG(thumbtest.Quarters(100, 50)), 160); got.Bounds().Size() != image.Pt(100, 50) {
		t.Errorf("enlarged to %v", got.Bounds().Size())
	}
	corners(t, madeByVips(t, thumbtest.PNG(thumbtest.HalfTransparent(800, 600)), 160), color.NRGBA{}, color.NRGBA{},
		thumbtest.BottomLeft, thumbtest.BottomRight)
	raw, _, err := child(t, thumbtest.InJPEG(thumbtest.JPEG(thumbtest.Quarters(64, 48)), exif), 160, vips(t))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(raw, []byte(thumbtest.CameraCoordinates)) {
		t.Error("the thumbnail says where it was taken")
	}
}

// Gray pictures work as well.
func TestVipsGray(t *testing.T) {
	t.Parallel()
	shade := color.NRGBA{R: 100, G: 100, B: 100, A: 255}
	plain := image.NewGray(image.Rect(0, 0, 640, 480))
	for i := range plain.Pix {
		plain.Pix[i] = shade.R
	}
	for _, original := range [][]byte{thumbtest.PNG(plain), thumbtest.JPEG(plain)} {
		corners(t, madeByVips(t, original, 160), shade, shade, shade, shade)
	}
}

// The child executes vipsthumbnail even when each of its threads waits long for a processor.
func TestVipsManyAtOnce(t *testing.T) {
	t.Parallel()
	original := thumbtest.PNG(thumbtest.Quarters(64, 48))
	for i := range 96 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			if _, _, err := child(t, original, 160, vips(t)); err != nil {
				t.Error(err)
			}
		})
	}
}

// Originals that are refused without libvips are refused with it. Formats that libvips would draw
// never reach it.
func TestVipsRefusals(t *testing.T) {
	t.Parallel()
	whole := thumbtest.JPEG(thumbtest.Quarters(640, 480))
	for name, original := range map[string][]byte{
		"huge png": thumbtest.HugePNG(60000, 60000), "huge gif": thumbtest.HugeGIF(60000, 60000),
		"half a jpeg": whole[:len(whole)/2], "svg": []byte(
			`<svg xmlns="http://www.w3.org/2000/svg" width="10" height="10"/>`),
		"pdf": []byte("%PDF-1.7\n"), "magick": []byte("push graphic-context\nviewbox 0 0 10 10\n"),
		"pnm": []byte("P3 1 1 255 0 0 0\n"), "text": []byte("words"), "half a heic": thumbtest.HEIC[:400],
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, _, err := child(t, original, 160, vips(t))
			if err == nil || len(got) != 0 {
				t.Errorf("a thumbnail of %d bytes", len(got))
			}
			if drawn := name == "svg" || name == "pdf" || name == "magick" || name == "pnm"; drawn &&
				!strings.Contains(fmt.Sprint(err), "unknown picture type") {
				t.Errorf("libvips was asked: %v", err)
			}
		})
	}
}

// The kernel has the limits that the child sets, for it and for the program it executes. The child
// sees nothing of its environment.
func TestConfined(t *testing.T) {
	t.Parallel()
	noise := image.NewNRGBA(image.Rect(0, 0, 1000, 1000))
	source := rand.New(rand.NewPCG(1, 2))
	for i := range noise.Pix {
		noise.Pix[i] = uint8(source.Uint32())
	}
	path := filepath.Join(t.TempDir(), "original")
	if err := os.WriteFile(path, thumbtest.PNG(noise), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, more := range map[string][]string{"by itself": nil, "vipsthumbnail": {vips(t)}} {
		in, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		unread, out, err := os.Pipe() // a thumbnail of noise does not fit into the pipe, so the child waits
		if err != nil {
			t.Fatal(err)
		}
		defer unread.Close()
		cmd := exec.Command("/proc/self/exe", append([]string{picture.Command, "1280"}, more...)...)
		cmd.Stdin, cmd.Stdout, cmd.Env = in, out, []string{}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		out.Close()
		of := func(file string) string {
			text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/%s", cmd.Process.Pid, file))
			return string(text)
		}
		began := []byte{0}
		if _, err := unread.Read(began); err != nil { // it has begun to write, after limiting itself
			t.Fatal(err)
		}
		limits := map[string]string{}
		for line := range strings.Lines(of("limits")) {
			for _, limit := range []string{"Max data size", "Max cpu time", "Max file size", "Max core file size"} {
				if rest, found := strings.CutPrefix(line, limit); found {
					limits[limit] = strings.Join(strings.Fields(rest)[:2], " ")
				}
			}
		}
		memory := "285212672 285212672" // 272 MiB
		if name == "by itself" {
			var itself int
			// a Go program has from 32 to 128 MiB mapped
			if _, err := fmt.Sscan(limits["Max data size"], &itself); err != nil || itself < 288<<20 ||
				itself > 384<<20 {
				t.Errorf("data of at most %d bytes, %v", itself, err)
			}
			memory = fmt.Sprintf("%d %[1]d", itself)
		}
		want := map[string]string{"Max data size": memory, "Max cpu time": "10 10",
			"Max file size": "20971520 20971520", "Max core file size": "0 0"}
		for limit, value := range want {
			if limits[limit] != value {
				t.Errorf("%s: %s is %q, want %q", name, limit, limits[limit], value)
			}
		}
		if name == "vipsthumbnail" && (!strings.Contains(of("status"), "NoNewPrivs:\t1") ||
			!strings.Contains(of("environ"), "VIPS_BLOCK_UNTRUSTED=1") ||
			!strings.Contains(of("comm"), "vipsthumbnail")) {
			t.Errorf("%s: %s %s", of("comm"), of("environ"), of("status"))
		}
		threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", cmd.Process.Pid))
		if err != nil || len(threads) < 2 {
			t.Errorf("%s: %d threads, %v", name, len(threads), err)
		}
		for _, thread := range threads {
			status, err := os.ReadFile(thread)
			if err == nil && (!strings.Contains(string(status), "NoNewPrivs:\t1\n") ||
				!strings.Contains(string(status), "Seccomp:\t2\n")) {
				t.Errorf("%s: a thread is not confined: %s", name, status)
			}
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // it was killed
	}
}

// The command is there for the server, which asks for nothing else.
func TestArguments(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{}, {"0"}, {"-1"}, {"2049"}, {"x"}, {"160", "/usr/bin/true", "more"}} {
		cmd := exec.Command("/proc/self/exe", append([]string{picture.Command}, args...)...)
		if err := cmd.Run(); err == nil {
			t.Errorf("%v is taken", args)
		}
	}
}
