package main

import (
	"image"
	"math"
	"runtime"
	"sync"
)

// vec is a point, a direction, or a colour in linear light.
type vec struct{ x, y, z float64 }

func (a vec) add(b vec) vec                { return vec{a.x + b.x, a.y + b.y, a.z + b.z} }
func (a vec) sub(b vec) vec                { return vec{a.x - b.x, a.y - b.y, a.z - b.z} }
func (a vec) mul(f float64) vec            { return vec{a.x * f, a.y * f, a.z * f} }
func (a vec) times(b vec) vec              { return vec{a.x * b.x, a.y * b.y, a.z * b.z} }
func (a vec) dot(b vec) float64            { return a.x*b.x + a.y*b.y + a.z*b.z }
func (a vec) unit() vec                    { return a.mul(1 / math.Sqrt(a.dot(a))) }
func (a vec) mix(b vec, f float64) vec     { return a.add(b.sub(a).mul(f)) }
func (a vec) light() float64               { return 0.3*a.x + 0.6*a.y + 0.1*a.z }
func (a vec) saturate(f float64) vec       { l := a.light(); return vec{l, l, l}.mix(a, f) }
func grey(light float64) vec               { return vec{light, light, light} }
func rgb(hex uint32) vec                   { return vec{linear(hex >> 16), linear(hex >> 8), linear(hex)} }
func linear(value uint32) float64          { return math.Pow(float64(value&255)/255, 2.2) }
func toward(x, y, z float64) vec           { return vec{x, y, z}.unit() }
func mirror(d, normal vec) vec             { return d.sub(normal.mul(2 * d.dot(normal))) }
func gauss(x, width float64) float64       { return math.Exp(-x * x / (width * width)) }
func power(base, exponent float64) float64 { return math.Pow(max(base, 0), exponent) }

// canvas is a picture in linear light.
type canvas struct {
	w, h   int
	pixels []vec
}

func newCanvas(w, h int) *canvas { return &canvas{w, h, make([]vec, w*h)} }

func (c *canvas) at(x, y int) *vec {
	return &c.pixels[min(max(y, 0), c.h-1)*c.w+min(max(x, 0), c.w-1)]
}

// sample returns the colour between pixels.
func (c *canvas) sample(x, y float64) vec {
	fx, fy := math.Floor(x), math.Floor(y)
	i, j := int(fx), int(fy)
	above := c.at(i, j).mix(*c.at(i+1, j), x-fx)
	return above.mix(c.at(i, j+1).mix(*c.at(i+1, j+1), x-fx), y-fy)
}

// parallel calls a function with the numbers below n, on all processors.
func parallel(n int, do func(i int)) {
	var all sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	for first := range workers {
		all.Go(func() {
			for i := first; i < n; i += workers {
				do(i)
			}
		})
	}
	all.Wait()
}

// paint sets each pixel to the colour at a place: x goes from -1 to 1 for a square around the
// centre of the picture, y likewise, upward. Both are in units of half the shorter side.
func (c *canvas) paint(colour func(x, y float64) vec) {
	unit := float64(min(c.w, c.h)) / 2
	parallel(c.h, func(j int) {
		for i := range c.w {
			*c.at(i, j) = colour((float64(i)+0.5-float64(c.w)/2)/unit, (float64(c.h)/2-float64(j)-0.5)/unit)
		}
	})
}

// blur returns the picture out of focus; the radius is in parts of the shorter side.
func (c *canvas) blur(radius float64) *canvas {
	r := max(1, int(radius*float64(min(c.w, c.h))/2))
	from := c
	for range 3 {
		from = from.smear(r, 1, 0).smear(r, 0, 1)
	}
	return from
}

// smear averages each pixel with r pixels on both sides in a direction.
func (c *canvas) smear(r, dx, dy int) *canvas {
	to := newCanvas(c.w, c.h)
	length, lines := c.w, c.h
	if dy == 1 {
		length, lines = c.h, c.w
	}
	parallel(lines, func(line int) {
		at := func(i int) *vec { return c.at(i*dx+line*dy, i*dy+line*dx) }
		sum := vec{}
		for i := -r; i <= r; i++ {
			sum = sum.add(*at(i))
		}
		for i := range length {
			*to.at(i*dx+line*dy, i*dy+line*dx) = sum.mul(1 / float64(2*r+1))
			sum = sum.add(*at(i + r + 1)).sub(*at(i - r))
		}
	})
	return to
}

// bloom adds the light that bright pixels scatter in a lens.
func (c *canvas) bloom(radius, amount float64) {
	bright := newCanvas(c.w, c.h)
	for i, p := range c.pixels {
		bright.pixels[i] = p.mul(step(0.6, 1.5, p.light()))
	}
	near, far := bright.blur(radius/4), bright.blur(radius)
	for i := range c.pixels {
		c.pixels[i] = c.pixels[i].add(near.pixels[i].add(far.pixels[i]).mul(amount))
	}
}

// halve returns the picture in half the width and height.
func (c *canvas) halve() *canvas {
	to := newCanvas(c.w/2, c.h/2)
	parallel(to.h, func(j int) {
		for i := range to.w {
			sum := c.at(2*i, 2*j).add(*c.at(2*i+1, 2*j)).add(*c.at(2*i, 2*j+1)).add(*c.at(2*i+1, 2*j+1))
			*to.at(i, j) = sum.mul(0.25)
		}
	})
	return to
}

// soften blurs the picture a little, as a lens does.
func (c *canvas) soften() *canvas {
	to := newCanvas(c.w, c.h)
	parallel(c.h, func(j int) {
		for i := range c.w {
			around := c.at(i-1, j).add(*c.at(i+1, j)).add(*c.at(i, j-1)).add(*c.at(i, j+1))
			*to.at(i, j) = c.at(i, j).mul(0.52).add(around.mul(0.12))
		}
	})
	return to
}

// develop returns the picture as a camera stores it: with darker corners, a soft limit of the
// brightness, contrast, and grain.
func (c *canvas) develop(exposure, grain float64) image.Image {
	to := image.NewRGBA(image.Rect(0, 0, c.w, c.h))
	random := noise(7)
	tone := func(light float64) float64 {
		value := math.Pow(1-math.Exp(-max(light, 0)*exposure), 1/2.2)
		return value + 0.35*(value*value*(3-2*value)-value)
	}
	parallel(c.h, func(j int) {
		for i := range c.w {
			x, y := float64(2*i-c.w)/float64(c.w), float64(2*j-c.h)/float64(c.h)
			p := c.at(i, j).mul(1 - 0.14*(x*x+y*y))
			g := grain * (random.cell(i, j) + random.cell(i+4096, j) - 1)
			channels := to.Pix[to.PixOffset(i, j):]
			for k, light := range []float64{p.x, p.y, p.z} {
				channels[k] = uint8(255*clamp(tone(light)+g) + 0.5)
			}
			channels[3] = 255
		}
	})
	return to
}
