package main

import "math"

// stars returns the light of the stars in a direction. The axis is that of the sky.
func stars(d vec, fine float64, many float64) vec {
	// The sky is a plane before the camera, which is exact enough for a picture.
	x, y := d.x/(d.z+0.3)*fine, d.y/(d.z+0.3)*fine
	distance, i, j := noise(301).near(x, y)
	brightness := noise(302).cell(i, j)
	if brightness < 1-many {
		return vec{}
	}
	bright := 0.12 + 2.6*math.Pow(noise(303).cell(i, j), 9)
	tint := vec{0.8, 0.9, 1.2}.mix(vec{1.2, 0.95, 0.7}, noise(304).cell(i, j))
	return tint.mul(bright * gauss(distance, 0.1+0.06*min(bright, 2)))
}

func aurora(c *canvas) {
	s := func(d vec) vec {
		elevation := math.Atan2(d.y, math.Hypot(d.x, d.z))
		azimuth := math.Atan2(d.x, d.z)
		colour := rgb(0x16283c).mix(rgb(0x060b1a), clamp(elevation*1.6)).add(stars(d, 130, 0.5).mul(0.7))
		for i := range 4 {
			seed := noise(310 + 10*i)
			along := azimuth*1.3 + float64(i)*0.7
			base := 0.1 + 0.1*float64(i) + 0.22*(seed.fbm(along*1.4, 1.5, 3)-0.4) + 0.03*seed.fbm(along*9, 4, 3)
			above := elevation - base
			if above < -0.05 {
				continue
			}
			rays := 0.35 + 1.1*(seed+1).fbm(along*26+above*2, 0.5, 3)*(seed+2).fbm(along*4, 2.5, 3)*2
			tall := 0.1 + 0.16*(seed+3).at(along*5, 0.5)
			light := step(-0.02, 0.02, above) * math.Exp(-above/tall) * rays
			light *= step(0.3, 0.6, (seed+4).fbm(along*1.8, 7, 3))
			hue := vec{0.1, 0.95, 0.42}.mix(vec{0.5, 0.2, 0.75}, clamp(above*2.6))
			colour = colour.add(hue.mul(0.75 * light))
		}
		return colour
	}
	air := func(vec) vec { return rgb(0x163a38) }
	height := func(x, z, size float64) float64 {
		return 1.7*noise(331).ridged(x/4, z/6, detail(4, size, 9))*step(4, 11, z) + 0.25*step(4, 6, z) - 0.2
	}
	(&land{sky: s, air: air, height: height, ground: alpine(3, 0.35, -1, rgb(0x222a22)), sun: toward(0.2, 0.8, -0.5),
		light: vec{0.06, 0.16, 0.12}, ambient: vec{0.05, 0.12, 0.11}, eye: vec{0, 0.06, 0}, far: 40, horizon: 0.68,
		zoom: 0.62, haze: 0.01, water: &water{colour: vec{0, 0.01, 0.015}, waves: 0.06, length: 0.03}}).draw(c)
	c.bloom(0.05, 0.2)
}

func milkyWay(c *canvas) {
	s := func(d vec) vec {
		x, y := d.x/(d.z+0.3), d.y/(d.z+0.3)
		across := (x-0.02)*0.86 - (y-0.4)*0.5 + 0.05*(noise(341).fbm(x*4, y*4, 4)-0.5)
		along := (x-0.02)*0.5 + (y-0.4)*0.86
		cloud := noise(342).fbm(x*5+3, y*5, 8)
		band := gauss(across, 0.13+0.07*gauss(along+0.15, 0.25)) * (0.35 + 0.9*cloud)
		band *= 0.55 + 0.9*gauss(along+0.2, 0.35)
		dust := step(0.47, 0.66, noise(343).fbm(across*9+2, along*4, 7)) * gauss(across+0.02, 0.1)
		band *= 1 - 0.88*dust
		warm := vec{1, 0.78, 0.62}.mix(vec{0.62, 0.66, 1}, clamp(math.Abs(across)*5+0.2*cloud))
		glow := rgb(0x2c4562).mix(rgb(0x0a1020), clamp(d.y*1.8)).add(vec{0.3, 0.16, 0.05}.mul(0.5 * gauss(d.y, 0.12)))
		faint := stars(vec{d.x + 0.3, d.y, d.z}, 330, 0.2+0.6*band).mul(0.16 + 0.5*band)
		points := stars(d, 120, 0.28).mul(0.6).add(faint)
		return glow.add(warm.mul(band * 0.6)).add(points)
	}
	air := func(vec) vec { return rgb(0x2c3448) }
	height := func(x, z, size float64) float64 {
		return 1.5*noise(351).ridged(x/4+1, z/6, detail(4, size, 9))*step(2, 9, z) - 0.1
	}
	ground := func(spot) vec { return rgb(0x20262a) }
	(&land{sky: s, air: air, height: height, ground: ground, sun: toward(0.2, 0.8, -0.5), light: vec{0.05, 0.05, 0.06},
		ambient: vec{0.03, 0.035, 0.05}, eye: vec{0, 0.3, 0}, far: 40, horizon: 0.86, zoom: 0.8, haze: 0.02}).draw(c)
	c.bloom(0.02, 0.12)
}

func starTrails(c *canvas) {
	s := func(d vec) vec {
		x, y := d.x/(d.z+0.2)-0.08, d.y/(d.z+0.2)-0.42
		radius, angle := math.Hypot(x, y), math.Atan2(y, x)
		colour := rgb(0x2b3f66).mix(rgb(0x0b1328), clamp(d.y*1.5))
		// Each ring of the sky has one trail or two, which begin at a random angle.
		const rings = 330
		for k := range 2 {
			ring := math.Floor(radius * rings)
			in := radius*rings - ring
			seed := noise(361 + 10*k)
			begin := seed.cell(int(ring), 1) * 2 * math.Pi
			turned := math.Mod(angle-begin+4*math.Pi, 2*math.Pi)
			if turned > 1.1 || seed.cell(int(ring), 2) < 0.35 {
				continue
			}
			tint := vec{0.75, 0.87, 1.2}.mix(vec{1.25, 0.9, 0.62}, seed.cell(int(ring), 3))
			bright := 0.1 + 0.9*math.Pow(seed.cell(int(ring), 4), 3)
			colour = colour.add(tint.mul(bright * gauss(in-0.5, 0.3) * step(0, 0.03, turned) * step(1.1, 1.07, turned)))
		}
		return colour.add(vec{0.35, 0.16, 0.05}.mul(0.7 * gauss(d.y, 0.1)))
	}
	air := func(vec) vec { return rgb(0x2b3048) }
	height := func(x, z, size float64) float64 {
		hill := 60*noise(371).fbm(x/160, z/200, detail(160, size, 5)) - 26
		return hill + spruces(x, z, size)
	}
	ground := func(spot) vec { return rgb(0x10160f) }
	(&land{sky: s, air: air, height: height, ground: ground, sun: toward(-0.5, 0.5, -0.5), light: vec{0.06, 0.06, 0.07},
		ambient: vec{0.03, 0.04, 0.05}, eye: vec{0, 12, 0}, far: 1500, horizon: 0.84, zoom: 0.7, haze: 0.0006}).draw(c)
}

// spruces returns the height of a wood of pointed trees above the ground, in metres.
func spruces(x, z, size float64) float64 {
	if z < 60 {
		return 0
	}
	d, i, j := noise(381).near(x/6, z/6)
	tall := 9 + 11*noise(382).cell(i, j)
	rough := 0.75 + 0.5*noise(383).fbm(x*2, z*2, detail(0.5, size, 3))
	return max(0, tall*(1-d*2.1*rough))
}

func moon(c *canvas) {
	type crater struct {
		at    vec
		width float64
	}
	var craters []crater
	for i := range 420 {
		at := vec{noise(1).cell(i, 0) - 0.5, noise(1).cell(i, 1) - 0.5, noise(1).cell(i, 2) - 0.5}.unit()
		craters = append(craters, crater{at, 0.012 + 0.08*math.Pow(noise(1).cell(i, 3), 6)})
	}
	seas := func(p vec) float64 {
		return step(0.44, 0.62, noise(391).fbm(p.x*1.5+p.z+4, p.y*1.5+2, 6))
	}
	relief := func(p vec) float64 {
		h := 0.012*noise(392).fbm(p.x*9+p.z*4, p.y*9, 7) - 0.004*seas(p)
		for _, k := range craters {
			d := math.Sqrt(max(0, 2-2*p.dot(k.at))) / k.width
			if d < 1.6 {
				h += k.width * (0.03*gauss(d-1, 0.3) - 0.07*step(1, 0.4, d)) * (1 - 0.6*seas(p))
			}
		}
		return h
	}
	sun := toward(-0.6, 0.15, 0.8)
	c.paint(func(x, y float64) vec {
		x, y = x/0.72, y/0.72
		r := x*x + y*y
		if r >= 1 {
			return vec{0.0015, 0.0018, 0.003}
		}
		p := vec{x, y, math.Sqrt(1 - r)}
		const e = 0.003
		h := relief(p)
		hx, hy := relief(vec{x + e, y, p.z}.unit()), relief(vec{x, y + e, p.z}.unit())
		normal := vec{p.x - (hx-h)/e*1.3, p.y - (hy-h)/e*1.3, p.z}.unit()
		light := clamp(normal.dot(sun)*1.4) * step(-0.03, 0.15, p.dot(sun))
		albedo := vec{0.62, 0.6, 0.56}.mix(vec{0.25, 0.25, 0.26}, seas(p))
		rays := 0.2 * gauss(math.Sqrt(2-2*p.dot(toward(0.1, -0.75, 0.6))), 0.35) * noise(393).fbm(x*8, y*8, 5)
		edge := step(1, 0.985, math.Sqrt(r))
		return albedo.add(grey(rays)).mul((light*0.95 + 0.002) * edge * (0.85 + 0.3*noise(394).fbm(x*14, y*14, 5)))
	})
}
