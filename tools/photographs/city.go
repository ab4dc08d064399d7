package main

import "math"

func skyline(c *canvas) {
	const shore = -0.42
	dusk := func(x, y float64) vec {
		up := clamp((y - shore) / 1.4)
		sky := rgb(0xe8946a).mix(rgb(0x7a5d8a), step(0, 0.35, up)).mix(rgb(0x1d2b57), step(0.2, 0.9, up))
		cloud := step(0.5, 0.75, noise(401).fbm(x*0.7, y*3.2, 6))
		return sky.mul(0.75).mix(rgb(0x8a5f78).mul(0.7), 0.5*cloud)
	}
	c.paint(dusk)
	unit := float64(c.h) / 2
	base := c.h - int((1+shore)*unit)
	// The rows of houses, from the farthest one.
	for row := range 5 {
		seed := noise(410 + 10*row)
		near := float64(row) / 4
		for k := range 60 {
			centre := (seed.cell(k, 0)*2 - 1) * 1.9
			tall := 0.1 + 0.2*seed.cell(k, 1) + 0.75*math.Pow(seed.cell(k, 2), 4)
			tall *= 0.5 + 0.8*gauss(centre-0.15, 0.8)
			tall *= 1.05 - 0.45*near
			house(c, seed, k, (centre*unit + float64(c.w)/2), (0.03+0.055*seed.cell(k, 3))*unit, tall*unit, base, near)
		}
	}
	// The river reflects the town, drawn out by its waves.
	dry := &canvas{c.w, c.h, append([]vec{}, c.pixels...)}
	parallel(c.h-base, func(k int) {
		j := base + k
		depth := float64(k) / unit
		for i := range c.w {
			sum := vec{}
			for n := range 8 {
				wave := noise(470).fbm(float64(i)/unit*5/(0.1+depth), 5/(0.02+depth)+float64(n)*0.01, 4) - 0.5
				spread := (noise(471).cell(i*8+n, j) - 0.5) * 0.25
				up := float64(k) * (1 + 1.1*wave + spread*2)
				sum = sum.add(dry.sample(float64(i)+wave*8, float64(base)-1-math.Abs(up)))
			}
			*c.at(i, j) = sum.mul(0.6 / 8).add(vec{0.006, 0.01, 0.02})
		}
	})
	c.bloom(0.03, 0.3)
}

// house draws a house with lit windows. Numbers are pixels; near is 0 for the farthest row and 1
// for the nearest one.
func house(c *canvas, seed noise, k int, centre, half, tall float64, base int, near float64) {
	wall := rgb(0x74627f).mul(0.6).mix(rgb(0x141622), 0.25+0.75*near)
	floor := float64(c.h) / (150 - 30*near)
	lit := 0.12 + 0.5*seed.cell(k, 5)*near + 0.2*seed.cell(k, 6)
	crown := seed.cell(k, 7)
	for j := base - int(tall); j < base; j++ {
		up := float64(base-j) / tall
		width := half
		if crown > 0.6 && up > 0.86 {
			width *= 0.7
		}
		if crown > 0.85 && up > 0.93 {
			width *= 0.3
		}
		for i := int(centre - width); i < int(centre+width); i++ {
			if i < 0 || i >= c.w || j < 0 {
				continue
			}
			u, v := (float64(i)-centre)/floor*1.25, float64(base-j)/floor
			side := 1 + 0.35*step(0.2, 0.3, u*floor/half)
			colour := wall.mul(side * (0.8 + 0.4*up))
			fu, fv := u-math.Floor(u), v-math.Floor(v)
			block := (seed+2).at(u*0.3+float64(k)*7, v*0.22) * 2
			if fu > 0.2 && fu < 0.8 && fv > 0.25 && fv < 0.78 {
				if chance := (seed + 1).cell(int(math.Floor(u))+k*97, int(math.Floor(v))); chance < lit*block {
					cold := step(0.7, 0.9, (seed+3).cell(int(u), int(v)+k))
					warm := vec{1.5, 0.95, 0.48}.mix(vec{1.1, 1.15, 1.2}, cold)
					colour = warm.mul(0.25 + 1.1*(seed+4).cell(int(math.Floor(u))+k, int(math.Floor(v))))
					colour = colour.mix(wall, 0.5*(1-near))
				}
			}
			*c.at(i, j) = colour
		}
	}
}

// disc is the light of a lamp out of focus.
type disc struct {
	x, y, radius float64
	colour       vec
}

// lamps returns lights at random places of a picture with a width and a height in half sides.
func lamps(seed noise, count int, width, height, radius float64) []disc {
	colours := []vec{{1.6, 0.85, 0.3}, {1.7, 0.6, 0.18}, {1.5, 0.2, 0.12}, {1.4, 1.2, 0.8}, {0.35, 0.8, 1.3},
		{0.3, 1.1, 0.6}}
	var all []disc
	for i := range count {
		all = append(all, disc{(seed.cell(i, 0)*2 - 1) * width, (seed.cell(i, 1)*2-1)*height*0.7 - 0.1,
			radius * (0.55 + 0.7*seed.cell(i, 2)),
			colours[int(seed.cell(i, 3)*seed.cell(i, 4)*5.99)].mul(0.08 + 0.5*math.Pow(seed.cell(i, 5), 2))})
	}
	return all
}

// light returns the sum of the lamps at a place.
func light(all []disc, x, y, soft float64) vec {
	sum := vec{}
	for _, l := range all {
		d := math.Hypot(x-l.x, y-l.y) / l.radius
		if d < 1.2 {
			sum = sum.add(l.colour.mul(step(1+soft, 1-soft, d) * (0.8 + 0.35*step(0.7, 0.97, d))))
		}
	}
	return sum
}

func cityLights(c *canvas) {
	far, close := lamps(501, 90, 1.6, 0.75, 0.09), lamps(502, 26, 1.6, 0.9, 0.17)
	c.paint(func(x, y float64) vec {
		street := rgb(0x2a2238).mul(0.5).mix(rgb(0x0a0b14), clamp(math.Abs(y+0.15)*1.1))
		glow := vec{0.3, 0.14, 0.06}.mul(0.35 * gauss(y+0.2, 0.5))
		return street.add(glow).add(light(far, x, y, 0.05)).add(light(close, x, y*1.02, 0.04).mul(0.55))
	})
	c.bloom(0.08, 0.12)
}

func rain(c *canvas) {
	far := lamps(511, 80, 1.1, 1.4, 0.16)
	behind := newCanvas(c.w, c.h)
	behind.paint(func(x, y float64) vec {
		sky := rgb(0x1a2638).mix(rgb(0x35415a), clamp(y*0.5+0.5))
		return sky.mul(0.7).add(light(far, x, y, 0.2).mul(0.9)).add(vec{0.25, 0.12, 0.05}.mul(0.4 * gauss(y+0.5, 0.5)))
	})
	behind = behind.blur(0.05)
	unit := float64(min(c.w, c.h)) / 2
	look := func(x, y float64) vec { return behind.sample(x*unit+float64(c.w)/2, float64(c.h)/2-y*unit) }
	c.paint(func(x, y float64) vec {
		colour := look(x, y).mul(0.95)
		for _, grain := range []float64{26, 11, 5.5} {
			wobble := 0.25 * (noise(521).fbm(x*grain*1.3, y*grain*1.3, 2) - 0.5)
			d, i, j := noise(522).near(x*grain+wobble, y*grain*0.9+wobble)
			radius := (0.1 + 0.3*noise(523).cell(i, j)) * step(0.3, 0.34, noise(524).cell(i, j)+0.1)
			if d > radius {
				continue
			}
			px, py := noise(522).point(i, j)
			// A drop is a lens that shows the street upside down.
			u, v := (x*grain-px)/radius, (y*grain*0.9-py)/radius
			dome := math.Sqrt(max(0, 1-u*u-v*v))
			bent := look(x-u*0.55*(1.2-dome), y-v*0.7*(1.2-dome))
			drop := bent.mul(0.5 + 0.8*dome).mul(0.7 + 0.55*clamp(0.5-v*0.6))
			drop = drop.add(grey(0.9 * gauss(math.Hypot(u+0.35, v-0.45), 0.16)))
			colour = colour.mix(drop, step(1, 0.86, d/radius))
		}
		return colour
	})
	c.bloom(0.04, 0.1)
}
