package picture

import (
	"image"
	"math"
)

const (
	// hashEdge is the longest edge, in pixels, of a picture that thumbHash takes.
	hashEdge = 100
	// MaxHash is the maximal length of a ThumbHash in bytes.
	MaxHash = 25
)

// thumbHash returns the ThumbHash of a picture with at most hashEdge pixels along its longest edge:
// a blurred preview with its proportions in up to MaxHash bytes. It is the format of
// https://evanw.github.io/thumbhash/: the coefficients of a discrete cosine transform of lightness,
// of two differences of colours, and of transparency where there is any.
func thumbHash(from *image.RGBA) []byte {
	w, h := from.Rect.Dx(), from.Rect.Dy()
	light, yellow, red, alpha, transparent := hashChannels(from)
	most := 7.0
	if transparent {
		most = 5
	}
	longest := float64(max(w, h))
	nx := max(1, int(math.Round(most*float64(w)/longest)))
	ny := max(1, int(math.Round(most*float64(h)/longest)))
	l := transform(light, w, h, max(3, nx), max(3, ny))
	p := transform(yellow, w, h, 3, 3)
	q := transform(red, w, h, 3, 3)

	head := quantize(l.mean, 63) | quantize(0.5+0.5*p.mean, 63)<<6 | quantize(0.5+0.5*q.mean, 63)<<12 |
		quantize(l.scale, 31)<<18
	if transparent {
		head |= 1 << 23
	}
	tail := quantize(p.scale, 63)<<3 | quantize(q.scale, 63)<<9
	if w > h {
		tail |= uint32(ny) | 1<<15
	} else {
		tail |= uint32(nx)
	}
	hash := []byte{byte(head), byte(head >> 8), byte(head >> 16), byte(tail), byte(tail >> 8)}
	waves := append(append(l.waves, p.waves...), q.waves...)
	if transparent {
		a := transform(alpha, w, h, 5, 5)
		hash = append(hash, byte(quantize(a.mean, 15)|quantize(a.scale, 15)<<4))
		waves = append(waves, a.waves...)
	}
	for i, wave := range waves {
		if i%2 == 0 {
			hash = append(hash, 0)
		}
		hash[len(hash)-1] |= byte(quantize(wave, 15) << (i % 2 * 4))
	}
	return hash
}

// quantize scales a number from 0 to 1 to a whole number from 0 to most.
func quantize(x float64, most uint32) uint32 {
	return uint32(math.Round(min(max(x, 0), 1) * float64(most)))
}

// hashChannels splits a picture into lightness, yellow against blue, red against green, and
// opacity, row by row, from 0 to 1 or -1 to 1. Transparent pixels get the mean colour.
func hashChannels(from *image.RGBA) (light, yellow, red, alpha []float64, transparent bool) {
	const unit = 1.0 / 255
	w, h := from.Rect.Dx(), from.Rect.Dy()
	var mean [3]float64
	var opacity float64
	for y := range h {
		for x := range w {
			pixel := from.Pix[from.PixOffset(x, y):][:4] // premultiplied
			for i := range mean {
				mean[i] += float64(pixel[i]) * unit
			}
			opacity += float64(pixel[3]) / 255
		}
	}
	if opacity > 0 {
		for i := range mean {
			mean[i] /= opacity
		}
	}
	for y := range h {
		for x := range w {
			pixel := from.Pix[from.PixOffset(x, y):][:4]
			a := float64(pixel[3]) / 255
			var c [3]float64
			for i := range c {
				c[i] = mean[i]*(1-a) + float64(pixel[i])*unit
			}
			light = append(light, (c[0]+c[1]+c[2])/3)
			yellow = append(yellow, (c[0]+c[1])/2-c[2])
			red = append(red, c[0]-c[1])
			alpha = append(alpha, a)
		}
	}
	return light, yellow, red, alpha, opacity < float64(w*h)
}

// channel is the transform of a channel.
type channel struct {
	mean  float64
	scale float64   // the largest amount of a wave
	waves []float64 // from 0 to 1, where 0.5 is none
}

// transform returns the lowest frequencies of the discrete cosine transform of a channel: a
// triangle of nx across and ny down.
func transform(values []float64, w, h, nx, ny int) (c channel) {
	across := make([]float64, w)
	for cy := range ny {
		for cx := 0; cx*ny < nx*(ny-cy); cx++ {
			for x := range across {
				across[x] = math.Cos(math.Pi / float64(w) * float64(cx) * (float64(x) + 0.5))
			}
			var sum float64
			for y := range h {
				down := math.Cos(math.Pi / float64(h) * float64(cy) * (float64(y) + 0.5))
				for x := range w {
					sum += values[x+y*w] * across[x] * down
				}
			}
			sum /= float64(w * h)
			if cx == 0 && cy == 0 {
				c.mean = sum
				continue
			}
			c.waves = append(c.waves, sum)
			c.scale = max(c.scale, math.Abs(sum))
		}
	}
	if c.scale > 0 {
		for i := range c.waves {
			c.waves[i] = 0.5 + 0.5/c.scale*c.waves[i]
		}
	}
	return c
}
