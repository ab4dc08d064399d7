package e2e

import (
	"bytes"
	"image"
	"image/color"
	"image/jpeg"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

const (
	photoWidth  = 640
	photoHeight = 480
)

var encodePhoto = sync.OnceValues(func() ([]byte, error) {
	noise := rand.New(rand.NewPCG(640, 480))
	img := image.NewRGBA(image.Rect(0, 0, photoWidth, photoHeight))
	for y := range photoHeight {
		for x := range photoWidth {
			grain := noise.IntN(24)
			img.SetRGBA(x, y, color.RGBA{uint8(x*200/photoWidth + grain), uint8(y*200/photoHeight + grain),
				uint8((x+y)*200/(photoWidth+photoHeight) + grain), 255})
		}
	}
	var b bytes.Buffer
	err := jpeg.Encode(&b, img, &jpeg.Options{Quality: 85})
	return b.Bytes(), err
})

// realPhotograph returns a camera's photograph and its width: the one with which the Go
// distribution tests its decoder. When the distribution has no test data, it returns the generated
// one.
func realPhotograph(t testing.TB) (jpegData []byte, width int) {
	t.Helper()
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(root)), "src", "image", "testdata",
		"video-001.jpeg"))
	if err != nil {
		data = photograph(t)
	}
	config, err := jpeg.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return data, config.Width
}

// photograph returns a JPEG of 640 by 480 with the grain of a photograph.
func photograph(t testing.TB) []byte {
	t.Helper()
	b, err := encodePhoto()
	if err != nil {
		t.Fatal(err)
	}
	return b
}
