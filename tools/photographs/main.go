// Command photographs draws the photographs of scripts/pictures: landscapes, skies, flowers and
// cities that no camera has taken, so that the pictures of the documents need no foreign work. They
// are JPEG files with a time and a camera in their EXIF, in folders below a directory. Each run
// draws the same ones.
//
//	go -C tools run ./photographs -to DIRECTORY [-width PIXELS] [NAME...]
//
// The width is that of the longer side, 1200 by default. Names choose photographs by the beginnings
// of their file names.
package main

import (
	"bytes"
	"encoding/binary"
	"flag"
	"fmt"
	"image/jpeg"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// photograph is a picture to draw.
type photograph struct {
	path       string // with the folder
	wide, high int    // the proportions
	taken      string // in the form of EXIF
	exposure   float64
	land       bool // it shows a landscape
	draw       func(c *canvas)
}

func main() {
	log.SetFlags(0)
	width := flag.Int("width", 1200, "pixels of the longer side")
	to := flag.String("to", "", "the directory for the photographs")
	flag.Parse()
	if *to == "" {
		flag.Usage()
		os.Exit(2)
	}
	for _, p := range photographs {
		name := filepath.Base(p.path)
		chosen := func(beginning string) bool { return strings.HasPrefix(name, beginning) }
		if flag.NArg() > 0 && !slices.ContainsFunc(flag.Args(), chosen) {
			continue
		}
		if err := p.write(*to, *width); err != nil {
			log.Fatal(fmt.Errorf("draw %s: %w", p.path, err))
		}
	}
}

// write draws the photograph and stores it. Photographs without a landscape, which are quicker to
// draw, are drawn in twice their size, so that their edges are smooth.
func (p photograph) write(directory string, longer int) error {
	w, h := longer, longer*p.high/p.wide
	if p.high > p.wide {
		w, h = longer*p.wide/p.high, longer
	}
	drawn := newCanvas(w, h)
	if p.land {
		p.draw(drawn)
		drawn = drawn.soften()
	} else {
		twice := newCanvas(2*w, 2*h)
		p.draw(twice)
		drawn = twice.halve()
	}
	var file bytes.Buffer
	if err := jpeg.Encode(&file, drawn.develop(p.exposure, 0.008), &jpeg.Options{Quality: 88}); err != nil {
		return err
	}
	path := filepath.Join(directory, filepath.FromSlash(p.path))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, withEXIF(file.Bytes(), p.taken), 0o644)
}

// withEXIF inserts EXIF with the camera and the time into a JPEG, as its first segment.
func withEXIF(jpeg []byte, taken string) []byte {
	const (
		ascii, long                           = 2, 4
		tagMaker, tagModel, tagMore, tagTaken = 0x010f, 0x0110, 0x8769, 0x9003
	)
	maker, model, taken := "Larder\x00", "Synthetic\x00", taken+"\x00"
	// The first directory has three fields at 8, the second one has one field; the texts follow.
	second := 8 + 2 + 3*12 + 4
	texts := second + 2 + 12 + 4
	field := func(b []byte, tag, kind uint16, count, value int) []byte {
		b = binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(b, tag), kind)
		return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(b, uint32(count)), uint32(value))
	}
	b := []byte("Exif\x00\x00MM\x00\x2a\x00\x00\x00\x08\x00\x03")
	b = field(b, tagMaker, ascii, len(maker), texts)
	b = field(b, tagModel, ascii, len(model), texts+len(maker))
	b = field(b, tagMore, long, 1, second)
	b = append(b, 0, 0, 0, 0, 0, 1)
	b = field(b, tagTaken, ascii, len(taken), texts+len(maker)+len(model))
	b = append(b, 0, 0, 0, 0)
	b = append(append(append(b, maker...), model...), taken...)
	segment := binary.BigEndian.AppendUint16([]byte{0xff, 0xe1}, uint16(2+len(b)))
	return slices.Concat(jpeg[:2], segment, b, jpeg[2:])
}
