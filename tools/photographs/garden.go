package main

import "math"

// flower is a round flower with narrow petals, seen from above.
type flower struct {
	seed         noise
	x, y, radius float64
	petals       int
	layers       int
	broad        float64 // the half width of a petal, in radii
	heart        float64 // the radius of the centre, in radii
	petal, base  vec     // the colours of a petal at its tip and at the centre
	disc, middle vec     // the colours of the centre at its edge and in its middle
}

// at returns the colour of the flower at a place, and false beside it.
func (f *flower) at(x, y float64) (vec, bool) {
	x, y = (x-f.x)/f.radius, (y-f.y)/f.radius
	r, angle := math.Hypot(x, y), math.Atan2(y, x)
	if r > 1.1 {
		return vec{}, false
	}
	if r < f.heart {
		return f.centre(x/f.heart, y/f.heart), true
	}
	for layer := range f.layers {
		best, found := -1.0, vec{}
		for i := range f.petals {
			seed := f.seed + noise(layer)
			turn := (float64(i)+0.5*float64(layer)+0.5*(seed.cell(i, 1)-0.5))*2*math.Pi/float64(f.petals) - angle
			along, across := r*math.Cos(turn), r*math.Sin(turn)
			long := 0.86 + 0.14*seed.cell(i, 2) - 0.02*float64(layer)
			across += 0.06 * (seed.cell(i, 4) - 0.5) * along * along
			s := (along - f.heart*0.6) / (long - f.heart*0.6)
			if s <= 0 || s >= 1 {
				continue
			}
			half := f.broad * math.Pow(s, 0.45) * math.Pow(1-math.Pow(s, 5), 0.6)
			if math.Abs(across) > half || seed.cell(i, 3) < best {
				continue
			}
			best = seed.cell(i, 3)
			v := across / half
			rib := 0.94 + 0.05*math.Cos(v*9+seed.cell(i, 5)) + 0.12*(seed.fbm(v*5+float64(i)*9, s*1.5, 4)-0.5)
			lit := 0.62 + 0.22*best + 0.24*v*math.Sin(turn+angle+0.7) - 0.16*float64(layer) -
				0.2*math.Pow(math.Abs(v), 4)
			shade := step(f.heart*0.9, f.heart*1.45, r)
			found = f.base.mix(f.petal, step(0.05, 0.55, s)).mul(1.35 * rib * lit * (0.5 + 0.5*shade))
		}
		if best >= 0 {
			return found, true
		}
	}
	return vec{}, false
}

// centre returns the colour of the centre, whose florets are in spirals. x and y are in radii.
func (f *flower) centre(x, y float64) vec {
	const florets = 420
	nearest, second, at := 9.0, 9.0, 0
	for i := range florets {
		r, a := math.Sqrt((float64(i)+0.5)/florets), float64(i)*2.39996
		if d := math.Hypot(x-r*math.Cos(a), y-r*math.Sin(a)); d < nearest {
			nearest, second, at = d, nearest, i
		} else if d < second {
			second = d
		}
	}
	r := math.Hypot(x, y)
	colour := f.middle.mix(f.disc, step(0.25, 0.85, r+0.1*(f.seed.cell(at, 9)-0.5)))
	bead := 0.35 + 0.8*clamp((second-nearest)*22)
	dome := 0.75 + 0.35*clamp(0.5+0.5*(y-x*0.6)) - 0.35*math.Pow(r, 6)
	return colour.mul(bead * dome * (0.8 + 0.4*f.seed.cell(at, 8)))
}

// meadow returns a blurred background of leaves and grass with light between them.
func meadow(c *canvas, seed noise, dark, bright vec, far []flower) *canvas {
	back := newCanvas(c.w, c.h)
	spots := lamps(seed, 40, 1.6, 1.3, 0.16)
	for i := range spots {
		spots[i].colour = bright.mul(0.2 + 0.5*seed.cell(i, 20))
	}
	back.paint(func(x, y float64) vec {
		colour := dark.mix(bright, 0.75*seed.fbm(x*1.6, y*0.9, 4)+0.2*y).add(light(spots, x, y, 0.1).mul(0.5))
		stalk := gauss(math.Abs(seed.fbm(x*5+y*0.8, y*0.5, 2)-0.5), 0.02)
		colour = colour.mix(bright, 0.6*stalk)
		for i := range far {
			if flower, ok := far[i].at(x, y); ok {
				colour = flower
			}
		}
		return colour
	})
	return back.blur(0.075)
}

// inFocus draws flowers before a background. Their outer petals are a little out of focus.
func inFocus(c, back *canvas, flowers []flower, stalk vec) {
	sharp := newCanvas(c.w, c.h)
	sharp.paint(func(x, y float64) vec {
		colour := back.sample(x*float64(min(c.w, c.h))/2+float64(c.w)/2, float64(c.h)/2-y*float64(min(c.w, c.h))/2)
		for i := range flowers {
			f := &flowers[i]
			if off := x - f.x - 0.06*math.Sin(3*(f.y-y)); y < f.y && math.Abs(off) < 0.032 {
				colour = stalk.mul(0.65 + 14*off)
			}
			if flower, ok := f.at(x, y); ok {
				colour = flower
			}
		}
		return colour
	})
	soft, unit := sharp.blur(0.008), float64(min(c.w, c.h))/2
	for j := range c.h {
		for i := range c.w {
			x, y := (float64(i)-float64(c.w)/2)/unit, (float64(c.h)/2-float64(j))/unit
			far := 1.0
			for _, f := range flowers {
				far = min(far, step(0.55, 1, math.Hypot(x-f.x, y-f.y)/f.radius))
			}
			*c.at(i, j) = sharp.at(i, j).mix(*soft.at(i, j), far)
		}
	}
}

func daisies(c *canvas) {
	daisy := func(seed noise, x, y, radius float64) flower {
		return flower{seed, x, y, radius, 21, 2, 0.105, 0.27, vec{0.95, 0.95, 0.97}, vec{0.82, 0.86, 0.74},
			vec{1.05, 0.62, 0.04}, vec{0.8, 0.55, 0.05}}
	}
	far := []flower{daisy(11, 0.85, 0.42, 0.42), daisy(12, -1.25, -0.35, 0.38), daisy(13, 1.35, -0.5, 0.34),
		daisy(14, -0.75, 0.85, 0.22), daisy(15, 0.2, 0.95, 0.16)}
	back := meadow(c, 601, rgb(0x1f3a12), rgb(0x7fa23c), far)
	inFocus(c, back, []flower{daisy(16, -0.32, 0.02, 0.68)}, rgb(0x5f8a2e))
}

func sunflower(c *canvas) {
	golden := func(seed noise, x, y, radius float64) flower {
		return flower{seed, x, y, radius, 24, 3, 0.115, 0.45, vec{1.05, 0.66, 0.03}, vec{0.85, 0.36, 0.01},
			rgb(0x5a3413), rgb(0x3a3a14)}
	}
	far := []flower{golden(21, 0.85, 0.7, 0.3), golden(22, -0.9, -0.75, 0.35)}
	back := meadow(c, 611, rgb(0x2b4a1c), rgb(0x8fb3c9), far)
	inFocus(c, back, []flower{golden(23, 0.04, 0.03, 0.82)}, rgb(0x4f7a2a))
}
