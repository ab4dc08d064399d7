package picture

import (
	"image"
	"io"

	"golang.org/x/image/webp"
)

// decodeWebP is webp.Decode with corrected colours. Lossy WebP uses the range of video, luma from
// 16 to 235 and chroma from 16 to 240 (RFC 6386, section 9.2). The decoder returns them unchanged
// in a type whose range is 0 to 255.
func decodeWebP(r io.Reader) (image.Image, error) {
	decoded, err := webp.Decode(r)
	if err != nil {
		return nil, err
	}
	switch lossy := decoded.(type) {
	case *image.YCbCr:
		expandRange(lossy)
	case *image.NYCbCrA:
		expandRange(&lossy.YCbCr)
	}
	return decoded, nil
}

// expandRange spreads luma and chroma from the range of video to 0 to 255, in place.
func expandRange(planes *image.YCbCr) {
	var luma, chroma [256]uint8
	for i := range 256 {
		luma[i] = uint8(min(max(((i-16)*255+109)/219, 0), 255))
		chroma[i] = uint8(min(max(128+(i-128)*255/224, 0), 255))
	}
	for i, v := range planes.Y {
		planes.Y[i] = luma[v]
	}
	for i := range planes.Cb {
		planes.Cb[i], planes.Cr[i] = chroma[planes.Cb[i]], chroma[planes.Cr[i]]
	}
}
