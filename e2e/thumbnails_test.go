package e2e

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"larder/internal/thumb/thumbtest"
)

// decodedSize returns the size of the thumbnail in a reply, "" for none.
func decodedSize(t testing.TB, r reply) string {
	t.Helper()
	if r.status == 404 {
		return ""
	}
	decoded, format, err := thumbtest.Decode(r.want(t, 200).body)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(format, " ", decoded.Bounds().Dx(), "x", decoded.Bounds().Dy())
}

// Thumbnails of the real program, with libvips and without. The program makes them even after an
// upgrade has replaced its file.
func TestThumbnails(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][4]string{
		"with libvips":    {"webp 160x120", "webp 64x48", "webp 64x48", "webp 158x160"},
		"without libvips": {"jpeg 160x120", "", "", "jpeg 158x160"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			s.program = filepath.Join(t.TempDir(), "larder")
			program, err := os.ReadFile(binary)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(s.program, program, 0o700); err != nil {
				t.Fatal(err)
			}
			if want[1] == "" {
				s.env["PATH"] = "/nowhere"
			}
			p := s.start(t)
			admin, key := p.admin(t), withKey(s.key(t, "admin"), p.url)
			if err := os.Remove(s.program); err != nil {
				t.Fatal(err)
			}
			get := func(name string, content []byte) reply {
				t.Helper()
				return admin.do(t, "GET", "/api/files/"+key.mustRaw(t, name, "", "application/octet-stream",
					content).FileID+"/thumbnail?size=160", nil)
			}
			for i, content := range [][]byte{photograph(t), thumbtest.HEIC, thumbtest.AVIF,
				thumbtest.PNG(uniformImage{7000, 7100})} {
				r := get(fmt.Sprint("picture-", i), content)
				if got := decodedSize(t, r); got != want[i] {
					t.Errorf("%d: %q, want %q", i, got, want[i])
				}
			}
			for what, content := range map[string][]byte{
				"51 megapixels": thumbtest.PNG(uniformImage{7100, 7100}), "huge.png": thumbtest.HugePNG(60000, 60000),
				"huge.gif": thumbtest.HugeGIF(60000, 60000), "half.jpg": photograph(t)[:9000],
				"drawing.svg": []byte(`<svg xmlns="http://www.w3.org/2000/svg" width="10" height="10"/>`),
				"words.png":   []byte("words"), "half.heic": thumbtest.HEIC[:400],
			} {
				get(what, content).fails(t, 404, "NOT_FOUND")
			}
		})
	}
}

// uniformImage is a large picture of one colour that needs no memory here.
type uniformImage struct{ width, height int }

func (uniformImage) ColorModel() color.Model   { return color.GrayModel }
func (u uniformImage) Bounds() image.Rectangle { return image.Rect(0, 0, u.width, u.height) }
func (uniformImage) At(int, int) color.Color   { return color.Gray{128} }

// transparentImage is a uniformImage with four bytes per pixel.
type transparentImage struct{ uniformImage }

func (transparentImage) ColorModel() color.Model { return color.NRGBAModel }
func (transparentImage) Opaque() bool            { return false }

// Abuse case C104: decoding uses at most 256 MiB of a separate process. The server's own memory
// hardly grows.
func TestThumbnailMemory(t *testing.T) {
	t.Parallel()
	largest := filepath.Join(t.TempDir(), "largest.png")
	if err := os.WriteFile(largest, thumbtest.PNG(transparentImage{uniformImage{7000, 7100}}), 0o600); err != nil {
		t.Fatal(err)
	}
	in, err := os.Open(largest)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	var out bytes.Buffer
	cmd := exec.Command(binary, "thumb", "640")
	cmd.Stdin, cmd.Stdout, cmd.Env = in, &out, []string{}
	if err := cmd.Run(); err != nil {
		t.Fatalf("the largest picture that is allowed: %v", err)
	}
	peak := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10
	t.Logf("50 megapixels of 4 bytes: %d MiB", peak>>20)
	if peak > 256<<20 {
		t.Errorf("a child took %d MiB", peak>>20)
	}

	p := newSite(t).start(t)
	admin, key := p.admin(t), withKey(p.site.key(t, "admin"), p.url)
	pixels := thumbtest.PNG(uniformImage{6000, 4000})
	var addresses []string
	for i := range 8 {
		addresses = append(addresses, "/api/files/"+key.mustRaw(t, fmt.Sprint(i), "", "image/png", pixels).FileID+
			"/thumbnail?size=2048")
	}
	before := p.procStatus(t, "VmHWM")
	var group sync.WaitGroup
	for _, address := range addresses {
		group.Go(func() {
			if r, err := admin.send("GET", address, nil); err != nil || r.status != 200 {
				t.Errorf("%d, %v", r.status, err)
			}
		})
	}
	group.Wait()
	grown := p.procStatus(t, "VmHWM") - before
	t.Logf("eight of 24 megapixels: the server's own memory grew by %d MiB", grown>>20)
	if grown > 48<<20 {
		t.Errorf("the server's own memory grew by %d MiB", grown>>20)
	}
	if help := p.site.mustRun(t, "help"); strings.Contains(help, "larder thumb") {
		t.Error("the help lists the command of the child process")
	}
}
