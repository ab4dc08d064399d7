package main

import "math"

func dunes(c *canvas) {
	sun := toward(-0.85, 0.27, 0.3)
	s := &sky{zenith: rgb(0x4f7fbe), low: rgb(0xe6cfb4), sun: sun, glow: vec{0.5, 0.35, 0.2}, wide: 6, clouds: 0.18,
		lit: vec{1, 0.95, 0.9}, shaded: rgb(0xb4b0b0), scale: 0.3, seed: 4}
	// A dune rises slowly and falls steeply behind a winding crest.
	height := func(x, z, size float64) float64 {
		sum, reach := 0.0, 150.0
		for i := range 3 {
			seed := noise(30 + i)
			u := x/reach + 1.6*(seed.fbm(x/reach/2.5, z/reach/2.5, 3)-0.5)*2 + z/reach*0.35
			f := u - math.Floor(u)
			rise := f / 0.72
			if f > 0.72 {
				rise = (1 - f) / 0.28
			}
			sum += math.Pow(rise, 1.3) * reach * 0.15 * (0.4 + seed.at(x/reach/2, z/reach/2))
			reach *= 0.45
		}
		ripple := math.Sin((x*0.75+z*0.4)*2.6 + 9*noise(39).fbm(x/14, z/14, 3))
		return sum + 0.1*ripple*clamp(0.7/size-0.5)*noise(38).at(x/30, z/30)
	}
	ground := func(p spot) vec {
		return rgb(0xd29a5c).mul(0.86 + 0.28*noise(5).fbm(p.x/3, p.z/3, detail(3, p.size, 6)))
	}
	(&land{sky: s.at, air: s.clear, height: height, ground: ground, sun: sun, light: vec{1.75, 1.35, 0.95},
		ambient: vec{0.2, 0.22, 0.3}, eye: vec{70, 44, 0}, far: 6000, horizon: 0.3, zoom: 1, haze: 0.0004}).draw(c)
}

func mesas(c *canvas) {
	sun := toward(-0.8, 0.35, -0.35)
	s := daySky(sun, 0.4, 23)
	height := func(x, z, size float64) float64 {
		octaves := detail(3, size, 10)
		mass := noise(51).fbm(x/3.2, z/3.2, octaves)
		tower := step(0.575, 0.615, mass)*0.8 + step(0.66, 0.69, mass)*0.25 + step(0.48, 0.58, mass)*0.22
		return (tower*0.75 + 0.1*noise(52).eroded(x*2, z*2, octaves)) * step(1, 2.6, z)
	}
	ground := func(p spot) vec {
		strata := noise(53).fbm(p.y*30+0.3*noise(54).at(p.x*3, p.z*3), 0.5, 4)
		rock := rgb(0x97523a).mix(rgb(0xc08a66), step(0.35, 0.65, strata))
		shrubs := step(0.52, 0.6, noise(55).fbm(p.x*22, p.z*22, detail(0.05, p.size, 6)))
		sand := rgb(0xb5734a).mix(rgb(0x6f6a3e), 0.8*shrubs)
		return rock.mix(sand, step(0.75, 0.95, p.normal.y)).mul(0.8 + 0.4*noise(5).fbm(p.x*20, p.z*20+p.y*40, 5))
	}
	(&land{sky: s.at, air: s.clear, height: height, ground: ground, sun: sun, light: vec{1.8, 1.45, 1.05},
		ambient: vec{0.24, 0.28, 0.38}, eye: vec{1.2, 0.33, 0}, far: 40, horizon: 0.55, zoom: 1.1, haze: 0.018,
		settle: 2}).draw(c)
}

func sunset(c *canvas) {
	sun := toward(0.12, 0.055, 1)
	s := &sky{zenith: rgb(0x31497c), low: rgb(0xf0925a), sun: sun, glow: vec{1.2, 0.55, 0.18}, wide: 9, disc: 9,
		size: 0.026, clouds: 0.55, lit: vec{1.1, 0.5, 0.34}, shaded: rgb(0x6b5570), scale: 0.28, seed: 31}
	flat := func(_, _, _ float64) float64 { return -1 }
	(&land{sky: s.at, air: s.clear, height: flat, ground: func(spot) vec { return vec{} }, sun: sun,
		eye: vec{0, 5, 0}, far: 9000, horizon: 0.56, zoom: 1, haze: 0.00006,
		water: &water{level: 0, colour: vec{0.02, 0.05, 0.08}, waves: 0.5, length: 9, open: true}}).draw(c)
	c.bloom(0.06, 0.15)
}

func hills(c *canvas) {
	sun := toward(-0.9, 0.2, 0.35)
	s := &sky{zenith: rgb(0x3f72b5), low: rgb(0xdcc8ac), sun: sun, glow: vec{0.6, 0.4, 0.2}, wide: 5, clouds: 0.5,
		lit: vec{1.15, 0.98, 0.8}, shaded: rgb(0xa79fae), scale: 0.4, seed: 6}
	height := func(x, z, size float64) float64 {
		base := 110*noise(71).fbm(x/420, z/420+3, min(5, detail(420, size, 5))) + 30*step(300, 2500, z)
		return base + trees(x, z, size, 71)
	}
	ground := func(p spot) vec {
		if trees(p.x, p.z, p.size, 71) > 0.6 {
			return rgb(0x35431f).mul(0.7 + 0.6*noise(8).at(p.x, p.z))
		}
		// Fields are cells with a colour each, and rows in some of them.
		_, i, j := noise(73).near(p.x/130+0.2*noise(7).at(p.x/60, p.z/60), p.z/130)
		kind := noise(74).cell(i, j)
		field := rgb(0x7f8f3a).mix(rgb(0xc9ad62), step(0.35, 0.75, kind))
		rows := math.Sin((p.x*math.Cos(kind*6)+p.z*math.Sin(kind*6))*1.3) * clamp(1/p.size-0.3)
		return field.mul(0.75 + 0.12*rows + 0.5*noise(75).fbm(p.x/9, p.z/9, detail(9, p.size, 6)))
	}
	(&land{sky: s.at, air: s.clear, height: height, ground: ground, sun: sun, light: vec{1.9, 1.35, 0.8},
		ambient: vec{0.26, 0.3, 0.38}, eye: vec{180, 105, 0}, far: 9000, horizon: 0.34, zoom: 1.25, haze: 0.00028,
		settle: 120}).draw(c)
}

// trees returns the height of round trees in groups, above the ground.
func trees(x, z, size float64, seed noise) float64 {
	if size > 14 || z < 260 || (seed+5).fbm(x/90, z/90, 3) < 0.56 {
		return 0
	}
	d, i, j := (seed + 6).near(x/9, z/9)
	tall := 5 + 6*seed.cell(i, j)
	return tall * math.Sqrt(max(0, 1-d*d*3.4)) * (0.85 + 0.3*noise(3).at(x*1.4, z*1.4))
}

func lavender(c *canvas) {
	sun := toward(0.25, 0.13, 1)
	s := &sky{zenith: rgb(0x56679f), low: rgb(0xf5b98c), sun: sun, glow: vec{1, 0.55, 0.25}, wide: 10, disc: 6,
		size: 0.03, clouds: 0.42, lit: vec{1.1, 0.7, 0.55}, shaded: rgb(0x8a7792), scale: 0.4, seed: 15}
	rows := func(x, z float64) float64 { return 0.5 + 0.5*math.Cos((x+0.25*noise(2).at(x/4, z/4))*2*math.Pi/1.9) }
	height := func(x, z, size float64) float64 {
		tuft := noise(81).fbm(x*3.4, z*3.4, detail(0.4, size, 5))
		hedge := 9 * step(150, 165, z) * noise(82).fbm(x/9, z/9, detail(9, size, 7))
		far := 70 * step(250, 1500, z) * noise(83).fbm(x/400, z/400, 6)
		return step(0.25, 0.85, rows(x, z))*(0.5+0.5*tuft)*step(160, 145, z) + hedge + far
	}
	ground := func(p spot) vec {
		if p.z > 152 {
			return rgb(0x2c3620)
		}
		bloom := noise(84).fbm(p.x*14, p.z*14, detail(0.1, p.size, 4))
		bush := rgb(0x3f4a34).mix(rgb(0x7a66a0), step(0.2, 0.62, p.y+0.5*(bloom-0.5))).mul(0.6 + 0.9*bloom)
		return rgb(0x6a4d38).mix(bush, step(0.3, 0.55, rows(p.x, p.z)))
	}
	(&land{sky: s.at, air: s.clear, height: height, ground: ground, sun: sun, light: vec{1.9, 1.15, 0.7},
		ambient: vec{0.42, 0.4, 0.5}, eye: vec{0, 2.3, 0}, far: 4000, horizon: 0.4, zoom: 1.1, haze: 0.0009}).draw(c)
	c.bloom(0.05, 0.1)
}
