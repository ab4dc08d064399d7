package picture

import (
	"errors"
	"fmt"
	"io"
)

// Arguments of Main that ask for properties of a picture instead of a thumbnail.
const (
	DescribeArg = "describe"
	HashArg     = "hash"
)

// maxLength is the maximal width and height, in pixels, that a Description contains.
const maxLength = 1 << 20

// Description is what the header and the metadata of a picture state.
type Description struct {
	Width, Height int   // pixels, as a viewer shows the picture: after the orientation
	Orientation   int   // EXIF 2.32, section 4.6.4: 1 to 8
	TakenAt       int64 // ms, see exif.takenAt; 0 when unknown
}

// ParseDescription parses the output of Main for DescribeArg. It does not trust the process, which
// has read the picture of a user.
func ParseDescription(text string) (d Description, err error) {
	if _, err := fmt.Sscanf(text, descriptionFormat, &d.Width, &d.Height, &d.Orientation, &d.TakenAt); err != nil {
		return Description{}, fmt.Errorf("thumb: the description of a picture: %w", err)
	}
	if d.Width < 1 || d.Width > maxLength || d.Height < 1 || d.Height > maxLength || d.Orientation < 1 ||
		d.Orientation > 8 || d.TakenAt < earliest || d.TakenAt > latest {
		return Description{}, errors.New("thumb: the description of a picture is not valid")
	}
	return d, nil
}

const (
	descriptionFormat = "%d %d %d %d\n"
	// earliest and latest are the bounds of a time: the years from 1900 to 9999, in ms.
	earliest = -2_208_988_800_000
	latest   = 253_402_300_799_999
)

// describe writes the Description of a picture to out. It decodes no pixels, so the number of
// pixels has no bound other than maxLength.
func describe(in io.ReaderAt, is kind, out io.Writer) error {
	d := Description{Orientation: 1}
	var err error
	if is == isHEIF {
		d.Width, d.Height, err = sizeOfHEIF(in)
	} else {
		d.Width, d.Height, err = sizeOf(in, is)
		if o := orientation(in, is); o >= 1 && o <= 8 {
			d.Orientation = o
		}
	}
	if err != nil {
		return err
	}
	if d.Orientation >= 5 { // rotated by a quarter
		d.Width, d.Height = d.Height, d.Width
	}
	if x, found := exifOf(in, is); found {
		d.TakenAt = x.takenAt()
	}
	_, err = fmt.Fprintf(out, descriptionFormat, d.Width, d.Height, d.Orientation, d.TakenAt)
	return err
}

// sizeOf returns the width and height of a picture in pixels as they are stored. Only Go's decoders
// of headers run.
func sizeOf(in io.ReaderAt, is kind) (width, height int, err error) {
	config, err := decoders[is].config(readerOf(in))
	if err != nil {
		return 0, 0, fmt.Errorf("thumb: read the header: %w", err)
	}
	return config.Width, config.Height, nil
}

// hashThumbnail writes the ThumbHash of a thumbnail to out.
func hashThumbnail(in io.ReaderAt, is kind, out io.Writer) error {
	if _, err := checkHeader(in, is); err != nil {
		return err
	}
	decoder, known := decoders[is]
	if !known {
		return fmt.Errorf("thumb: no decoder for %s", is)
	}
	full, err := decoder.decode(readerOf(in))
	if err != nil {
		return fmt.Errorf("thumb: decode: %w", err)
	}
	_, err = out.Write(thumbHash(shrink(full, hashEdge)))
	return err
}
