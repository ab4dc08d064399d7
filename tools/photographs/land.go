package main

import "math"

// land is a view over a landscape. Lengths are in kilometres or metres, as the scene likes.
type land struct {
	sky     func(d vec) vec                  // the light from a direction
	air     func(d vec) vec                  // the same without stars and clouds
	height  func(x, z, size float64) float64 // of the ground; size is that of the smallest visible detail
	ground  func(p spot) vec                 // the share of the light that the ground reflects
	sun     vec                              // the direction to the sun or the moon
	light   vec                              // of the sun
	ambient vec                              // the light of the sky
	eye     vec                              // the place of the camera, above 0
	far     float64                          // the distance at which the ground ends
	horizon float64                          // its place in the picture: 0 at the top, 1 at the bottom
	zoom    float64                          // the focal length in widths of the picture
	haze    float64                          // the share of light that is lost in a unit of length
	settle  float64                          // the height in which the haze halves, or 0
	water   *water
}

// spot is a point of the ground.
type spot struct {
	vec    // its place
	normal vec
	size   float64 // of the smallest visible detail
	from   float64 // the distance from the camera
}

// water is a surface with small waves.
type water struct {
	level  float64
	colour vec     // of the light from below
	waves  float64 // the slope of the waves
	length float64 // of the waves
	open   bool    // a sea without a coast behind it: only the sky is reflected
}

// draw draws the view.
func (l *land) draw(c *canvas) {
	focal, middle := l.zoom*float64(c.w), l.horizon*float64(c.h)
	wet := make([]float64, c.w*c.h) // the distance of each pixel of water
	parallel(c.w, func(i int) {
		sx := (float64(i) + 0.5 - float64(c.w)/2) / focal
		next := c.h - 1 // the pixel of the column that is drawn next, from the bottom
		before, rowBefore := 0.0, float64(c.h)*2
		for t := l.eye.y * 0.2; t < l.far && next >= 0; t *= 1 + 1.2/float64(c.h) {
			ground := l.surface(l.eye.x+sx*t, l.eye.z+t, t/focal)
			row := middle - (ground-l.eye.y)/t*focal
			for ; next >= 0 && float64(next) >= row; next-- {
				part := clamp((rowBefore - float64(next)) / (rowBefore - row + 1e-9))
				d := before + (t-before)*part
				p := vec{l.eye.x + sx*d, l.eye.y + (middle-float64(next))/focal*d, l.eye.z + d}
				if l.water != nil && l.height(p.x, p.z, d/focal) <= l.water.level {
					wet[next*c.w+i] = d
					continue
				}
				*c.at(i, next) = l.shade(p, d, d/focal)
			}
			before, rowBefore = t, row
		}
		for ; next >= 0; next-- {
			*c.at(i, next) = l.sky(toward(sx, (middle-float64(next))/focal, 1))
		}
	})
	if l.water != nil {
		l.reflect(c, wet, focal, middle)
	}
}

func (l *land) surface(x, z, size float64) float64 {
	ground := l.height(x, z, size)
	if l.water != nil {
		return max(ground, l.water.level)
	}
	return ground
}

// shade returns the light from a point of the ground.
func (l *land) shade(p vec, t, size float64) vec {
	e := size * 1.2
	normal := vec{l.height(p.x-e, p.z, size) - l.height(p.x+e, p.z, size), 2 * e,
		l.height(p.x, p.z-e, size) - l.height(p.x, p.z+e, size)}.unit()
	at := spot{p, normal, size, t}
	direct := max(0, normal.dot(l.sun))
	if direct > 0 {
		direct *= l.shadow(p, size)
	}
	bounce := 0.12 * max(0, normal.dot(toward(-l.sun.x, 0.3, -l.sun.z)))
	light := l.light.mul(direct + bounce).add(l.ambient.mul(0.55 + 0.45*normal.y))
	return l.dim(l.ground(at).times(light), p, t)
}

// dim mixes the light from a point with the haze before it.
func (l *land) dim(colour, p vec, t float64) vec {
	density := l.haze
	if l.settle > 0 {
		low, high := min(p.y, l.eye.y), max(p.y, l.eye.y)
		density *= (math.Exp2(-low/l.settle) + math.Exp2(-high/l.settle)) / 2
	}
	d := p.sub(l.eye)
	haze := l.air(toward(d.x, 0.03*math.Hypot(d.x, d.z)+max(d.y, 0)*0.5, d.z))
	return haze.mix(colour, math.Exp(-t*density))
}

// shadow returns the part of the sun that a point sees.
func (l *land) shadow(p vec, size float64) float64 {
	lit, t := 1.0, size*3
	for range 36 {
		q := p.add(l.sun.mul(t))
		over := q.y - l.height(q.x, q.z, max(size*2, t*0.04))
		lit = min(lit, 0.5+14*over/t)
		if lit <= 0 {
			return 0
		}
		t *= 1.25
		if t > l.far/2 {
			break
		}
	}
	return clamp(lit)
}

// reflect draws the water: each pixel shows what the picture has in the reflected direction, or the
// sky if the picture does not have it.
func (l *land) reflect(c *canvas, wet []float64, focal, middle float64) {
	dry := &canvas{c.w, c.h, append([]vec{}, c.pixels...)}
	waves := noise(91)
	parallel(c.h, func(j int) {
		for i := range c.w {
			t := wet[j*c.w+i]
			if t == 0 {
				continue
			}
			ray := vec{(float64(i) + 0.5 - float64(c.w)/2) / focal, (middle - float64(j)) / focal, 1}
			p := l.eye.add(ray.mul(t))
			// The waves that are smaller than a pixel blur the reflection.
			octaves := min(6, max(1, math.Log2(l.water.length/(t/focal*t/l.eye.y+1e-9))+2))
			sum := vec{}
			const rays = 6
			for k := range rays {
				x, z := p.x/l.water.length, p.z/l.water.length*1.7
				a, b := waves.fbm(x, z, octaves)-0.5, (waves+3).fbm(x+40, z, octaves)-0.5
				b += 0.18 * ((waves+9).cell(i*rays+k, j) - 0.5)
				a += 0.12 * ((waves+8).cell(i*rays+k, j) - 0.5)
				r := mirror(ray, vec{a * l.water.waves, 1, b * l.water.waves * 1.5}.unit())
				r.y = math.Abs(r.y)
				x, y := float64(c.w)/2+r.x/r.z*focal, middle-r.y/r.z*focal
				if l.water.open || y < 0 || x < 0 || x >= float64(c.w) {
					sum = sum.add(l.sky(r.unit()))
				} else {
					sum = sum.add(dry.sample(x, min(y, middle-1)))
				}
			}
			flat := power(1-math.Abs(ray.unit().y), 5)
			seen := l.water.colour.mix(sum.mul(1.0/rays), 0.08+0.85*flat)
			*c.at(i, j) = l.dim(seen, p, t)
		}
	})
}

// detail returns the number of octaves of a noise that are larger than a size, at most max.
func detail(length, size, most float64) float64 {
	return min(most, max(1, math.Log2(length/size)))
}

// sky is the sky of a day.
type sky struct {
	zenith, low vec     // the colours at the top and at the horizon
	sun         vec     // the direction to the sun
	glow        vec     // the colour around the sun
	wide        float64 // the size of the glow: larger is smaller
	disc        float64 // the brightness of the sun, or 0
	size        float64 // of the disc, as an angle
	clouds      float64 // the part of the sky with clouds
	lit, shaded vec     // the colours of the clouds
	scale       float64 // of the clouds
	seed        noise
}

// clear returns the light of the sky without the sun and the clouds.
func (s *sky) clear(d vec) vec {
	near := max(0, d.dot(s.sun))
	glow := s.glow.mul(0.5*power(near, s.wide) + 0.35*power(near, s.wide*6))
	return s.low.mix(s.zenith, 1-math.Exp(-max(d.y, 0)*3.2)).add(glow)
}

func (s *sky) at(d vec) vec {
	c := s.clear(d)
	near := max(0, d.dot(s.sun))
	if s.disc > 0 {
		angle := math.Acos(min(near, 1))
		bright := step(s.size*1.15, s.size*0.85, angle) + 0.12*gauss(angle, s.size*3)
		c = c.add(s.glow.mix(grey(1), 0.5).mul(s.disc * bright))
	}
	if s.clouds <= 0 || d.y < 0.015 {
		return c
	}
	x, z := d.x/(d.y+0.08)*s.scale, d.z/(d.y+0.08)*s.scale
	x += 0.6 * s.seed.fbm(x*0.7+9, z*0.7, 3)
	density := func(x, z float64) float64 {
		return step(1-s.clouds, 1-s.clouds+0.3, s.seed.fbm(x, z, 7)*1.5-0.25)
	}
	here := density(x, z)
	if here <= 0 {
		return c
	}
	toSun := 0.25 / (0.3 + math.Hypot(s.sun.x, s.sun.z))
	shade := clamp(0.75 - 0.9*(density(x+s.sun.x*toSun, z+s.sun.z*toSun)-here) - 0.35*here)
	cloud := s.shaded.mix(s.lit, shade).add(s.glow.mul(0.6 * power(near, 8)))
	return c.mix(cloud, here*step(0.015, 0.12, d.y)*0.95)
}
