package main

import "math"

// noise is a smooth random function of the plane. The number is its seed: equal seeds give equal
// functions.
type noise uint32

// cell returns a random number from 0 to 1 for a point of the grid.
func (n noise) cell(x, y int) float64 {
	h := uint32(x)*0x9e3779b1 ^ uint32(y)*0x85ebca77 ^ uint32(n)*0xc2b2ae3d
	h = (h ^ h>>15) * 0x2c1b3c6d
	h = (h ^ h>>12) * 0x297a2d39
	return float64(h^h>>15) * (1.0 / math.MaxUint32)
}

// slope returns the value of the function, from 0 to 1, and its two derivatives.
func (n noise) slope(x, y float64) (value, dx, dy float64) {
	fx, fy := math.Floor(x), math.Floor(y)
	u, v := x-fx, y-fy
	i, j := int(fx), int(fy)
	a, b, c, d := n.cell(i, j), n.cell(i+1, j), n.cell(i, j+1), n.cell(i+1, j+1)
	su, sv := u*u*u*(u*(u*6-15)+10), v*v*v*(v*(v*6-15)+10)
	du, dv := 30*u*u*(u-1)*(u-1), 30*v*v*(v-1)*(v-1)
	k := a - b - c + d
	return a + (b-a)*su + (c-a)*sv + k*su*sv, du * (b - a + k*sv), dv * (c - a + k*su)
}

// at returns the value of the function, from 0 to 1.
func (n noise) at(x, y float64) float64 {
	fx, fy := math.Floor(x), math.Floor(y)
	u, v := x-fx, y-fy
	i, j := int(fx), int(fy)
	u, v = u*u*u*(u*(u*6-15)+10), v*v*v*(v*(v*6-15)+10)
	a, c := n.cell(i, j), n.cell(i, j+1)
	above := a + (n.cell(i+1, j)-a)*u
	return above + (c+(n.cell(i+1, j+1)-c)*u-above)*v
}

// turn rotates a point and doubles its distance, from one octave of a sum to the next. The rotation
// hides the grid.
func turn(x, y float64) (float64, float64) { return 1.6*x - 1.2*y, 1.2*x + 1.6*y }

// octave returns the part of an octave that a sum with a fractional number of octaves has.
func octave(octaves float64, nth int) float64 {
	if part := octaves - float64(nth); part < 1 {
		return part
	}
	return 1
}

// fbm returns the sum of octaves, each with half the amplitude of the one before. It is between 0
// and 1, and mostly near 0.5.
func (n noise) fbm(x, y, octaves float64) float64 {
	sum, amplitude := 0.0, 0.5
	for i := 0; float64(i) < octaves; i++ {
		sum += amplitude * octave(octaves, i) * (n.at(x, y) - 0.5)
		amplitude /= 2
		x, y = turn(x, y)
	}
	return 0.5 + sum
}

// ridged returns a sum of octaves with sharp crests, about between 0 and 1.
func (n noise) ridged(x, y, octaves float64) float64 {
	sum, amplitude, before := 0.0, 0.5, 1.0
	for i := 0; float64(i) < octaves; i++ {
		crest := 1 - math.Abs(2*n.at(x, y)-1)
		crest *= crest
		sum += amplitude * octave(octaves, i) * crest * before
		before = clamp(crest * 1.6)
		amplitude *= 0.5
		x, y = turn(x, y)
	}
	return sum
}

// eroded returns a sum of octaves that is smooth on slopes, as if water had carried the detail
// away, about between 0 and 1.
func (n noise) eroded(x, y, octaves float64) float64 {
	sum, amplitude, sx, sy := 0.0, 0.5, 0.0, 0.0
	for i := 0; float64(i) < octaves; i++ {
		value, dx, dy := n.slope(x, y)
		sx += dx
		sy += dy
		sum += amplitude * octave(octaves, i) * value / (1 + sx*sx + sy*sy)
		amplitude /= 2
		x, y = turn(x, y)
	}
	return sum
}

// near returns the distance to the nearest of points that are scattered over the plane, one in each
// unit square, and the square that has it.
func (n noise) near(x, y float64) (distance float64, i, j int) {
	distance = 9
	cx, cy := int(math.Floor(x)), int(math.Floor(y))
	for b := cy - 1; b <= cy+1; b++ {
		for a := cx - 1; a <= cx+1; a++ {
			px, py := n.point(a, b)
			if d := math.Hypot(px-x, py-y); d < distance {
				distance, i, j = d, a, b
			}
		}
	}
	return distance, i, j
}

// point returns the scattered point of a square.
func (n noise) point(i, j int) (x, y float64) {
	return float64(i) + 0.1 + 0.8*n.cell(i, j), float64(j) + 0.1 + 0.8*(n+1).cell(i, j)
}

func clamp(x float64) float64 { return min(max(x, 0), 1) }

// step rises smoothly from 0 at a to 1 at b.
func step(a, b, x float64) float64 {
	t := clamp((x - a) / (b - a))
	return t * t * (3 - 2*t)
}
