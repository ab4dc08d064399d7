package main

import "math"

// daySky returns a blue sky with white clouds.
func daySky(sun vec, clouds float64, seed noise) *sky {
	return &sky{zenith: rgb(0x2f5f9e), low: rgb(0xa9c4dd), sun: sun, glow: vec{0.5, 0.45, 0.35}, wide: 12,
		clouds: clouds, lit: vec{1.15, 1.13, 1.1}, shaded: rgb(0x9aa8ba), scale: 0.5, seed: seed}
}

// peaks returns the height of a mountain range that begins some kilometres before the camera.
func peaks(seed noise, top, begin float64) func(x, z, size float64) float64 {
	return func(x, z, size float64) float64 {
		octaves := detail(6, size, 12)
		u, v := x/6, z/6
		u += 0.25 * seed.at(u*1.7+5, v*1.7)
		mass := seed.ridged(u+7.3, v+2.1, octaves)*0.75 + (seed+1).eroded(u*1.3, v*1.3, octaves)*0.55
		return top * mass * mass * 1.5 * (0.12 + 0.88*step(begin, begin*3.5, z))
	}
}

// alpine returns the ground of high mountains: snow where it is flat and high, rock, and grass or
// wood below.
func alpine(seed noise, snowline, woodline float64, low vec) func(p spot) vec {
	return func(p spot) vec {
		octaves := detail(0.4, p.size, 6)
		rough := seed.fbm(p.x*3, p.z*3, octaves) - 0.5
		strata := seed.fbm(p.x*1.5+p.z, p.y*26, 5)
		rock := rgb(0x5d564f).mix(rgb(0x8b8175), strata).mul(0.75 + 0.6*rough)
		wood := low.mul(0.7 + 1.3*(seed+4).fbm(p.x*14, p.z*14, detail(0.07, p.size, 6)))
		wood = wood.mix(rgb(0x22301c), step(0.45, 0.55, (seed+6).fbm(p.x*2.5, p.z*2.5, 5)))
		c := rock.mix(wood, step(woodline+0.25, woodline-0.25, p.y+rough*1.2)*step(0.55, 0.75, p.normal.y))
		white := step(snowline-0.35, snowline+0.25, p.y+rough*1.4) * step(0.42, 0.62, p.normal.y+rough*0.3)
		return c.mix(vec{0.86, 0.89, 0.94}, white)
	}
}

func alps(c *canvas) {
	sun := toward(-0.75, 0.5, 0.12)
	s := daySky(sun, 0.42, 11)
	(&land{sky: s.at, air: s.clear, height: peaks(21, 3.3, 2.6), ground: alpine(3, 0.6, 0.2, rgb(0x37452a)), sun: sun,
		light: vec{1.75, 1.62, 1.4}, ambient: vec{0.26, 0.34, 0.48}, eye: vec{3, 1.5, 0}, far: 60, horizon: 0.44,
		zoom: 1.1, haze: 0.022, settle: 1.6}).draw(c)
}

func firstLight(c *canvas) {
	sun := toward(-0.9, 0.16, -0.12)
	s := &sky{zenith: rgb(0x3d5d94), low: rgb(0xd9b7bd), sun: sun, glow: vec{0.4, 0.2, 0.1}, wide: 6, clouds: 0.3,
		lit: vec{1, 0.7, 0.6}, shaded: rgb(0x8d8aa5), scale: 0.5, seed: 5}
	(&land{sky: s.at, air: s.clear, height: peaks(47, 3.4, 3), ground: alpine(3, 0.3, -1, rgb(0x3c4a2a)), sun: sun,
		light: vec{2.3, 1.15, 0.7}, ambient: vec{0.2, 0.25, 0.42}, eye: vec{8, 1.1, 0}, far: 60, horizon: 0.66,
		zoom: 2.2, haze: 0.02, settle: 1.5}).draw(c)
}

func valley(c *canvas) {
	sun := toward(-0.7, 0.55, -0.2)
	s := daySky(sun, 0.5, 29)
	height := func(x, z, size float64) float64 {
		octaves := detail(5, size, 11)
		sides := step(0.5, 4.5, math.Abs(x+0.6*math.Sin(z*0.5)))
		mass := noise(61).eroded(x/3+4, z/3, octaves)*1.4 + noise(62).ridged(x/4, z/4+3, octaves)*0.6
		meadow := 0.15*noise(63).fbm(x, z, octaves) + 0.012*noise(64).fbm(x*30, z*30, detail(0.03, size, 4))
		return meadow + mass*(0.06+0.85*sides+0.9*step(9, 22, z))*1.75
	}
	(&land{sky: s.at, air: s.clear, height: height, ground: alpine(9, 1.7, 1.25, rgb(0x5a6138)), sun: sun,
		light: vec{1.7, 1.58, 1.3}, ambient: vec{0.24, 0.31, 0.42}, eye: vec{0.2, 0.75, 0}, far: 50, horizon: 0.42,
		zoom: 0.85, haze: 0.035, settle: 1.5}).draw(c)
}

func ridges(c *canvas) {
	sun := toward(0.25, 0.085, 1)
	s := &sky{zenith: rgb(0x5a78ad), low: rgb(0xf0ad7c), sun: sun, glow: vec{1.1, 0.55, 0.22}, wide: 9,
		disc: 5, size: 0.018}
	height := func(x, z, size float64) float64 {
		return 3.1 * math.Pow(noise(77).ridged(x/7+0.4*math.Sin(z/5), z/4.5, detail(7, size, 9)), 1.2) * step(-1, 9, z)
	}
	ground := func(p spot) vec {
		return rgb(0x1d2a22).mul(0.6 + noise(5).fbm(p.x*12, p.z*12, detail(0.08, p.size, 5)))
	}
	(&land{sky: s.at, air: s.clear, height: height, ground: ground, sun: sun, light: vec{1.2, 0.7, 0.4},
		ambient: vec{0.2, 0.26, 0.36}, eye: vec{3, 2.0, 0}, far: 90, horizon: 0.4, zoom: 1.3, haze: 0.065,
		settle: 1.3}).draw(c)
}

func lake(c *canvas) {
	sun := toward(-0.8, 0.42, -0.3)
	s := daySky(sun, 0.38, 17)
	crests := peaks(35, 3, 4)
	height := func(x, z, size float64) float64 {
		shore := 0.35*math.Sin(x*0.9)*math.Cos(x*0.31) + 0.9*step(0.7, 3.2, math.Abs(x-0.3))*step(9, 1, z)
		return crests(x, z, size) + 0.25*shore + 0.5*step(5.2, 8, z) - 0.33 - 0.25*step(8, 3, z)
	}
	(&land{sky: s.at, air: s.clear, height: height, ground: alpine(3, 1.05, 0.55, rgb(0x3a4529)), sun: sun,
		light: vec{1.7, 1.5, 1.2}, ambient: vec{0.24, 0.31, 0.44}, eye: vec{0, 0.05, 0}, far: 50, horizon: 0.52,
		zoom: 0.95, haze: 0.016, settle: 1.5,
		water: &water{level: 0, colour: vec{0.01, 0.05, 0.06}, waves: 0.035, length: 0.02}}).draw(c)
}

func snowfield(c *canvas) {
	sun := toward(-0.5, 0.14, 1)
	s := &sky{zenith: rgb(0x3f68a8), low: rgb(0xf4c9a4), sun: sun, glow: vec{0.9, 0.5, 0.25}, wide: 10, clouds: 0.2,
		lit: vec{1, 0.8, 0.7}, shaded: rgb(0xa9a0b5), scale: 0.6, seed: 3}
	rock := peaks(83, 3.3, 3)
	snow := func(x, z, size float64) float64 {
		octaves := detail(3, size, 9)
		return 1.05 + 0.9*(noise(13).fbm(x/2.2, z/3, octaves)-0.5) + 0.3*(0.6-noise(14).ridged(x/0.8, z/1, octaves))
	}
	height := func(x, z, size float64) float64 { return max(rock(x, z, size), snow(x, z, size)) }
	stone := alpine(3, 1.5, -1, rgb(0x3c4a2a))
	ground := func(p spot) vec {
		return vec{0.92, 0.92, 0.95}.mix(stone(p), step(0, 0.1, p.y-snow(p.x, p.z, p.size)))
	}
	(&land{sky: s.at, air: s.clear, height: height, ground: ground, sun: sun, light: vec{1.7, 1.05, 0.65},
		ambient: vec{0.3, 0.36, 0.52}, eye: vec{0, 1.75, 0}, far: 70, horizon: 0.42, zoom: 0.9, haze: 0.022}).draw(c)
}

func islands(c *canvas) {
	sun := toward(0.6, 0.07, 1)
	s := &sky{zenith: rgb(0x2c4a80), low: rgb(0xc79a96), sun: sun, glow: vec{1.2, 0.5, 0.15}, wide: 9, clouds: 0.45,
		lit: vec{1, 0.55, 0.42}, shaded: rgb(0x6d6a8c), scale: 0.35, seed: 8}
	height := func(x, z, size float64) float64 {
		return 2.3*noise(43).fbm(x/1.7+5.6, z/2.3+1.3, detail(2, size, 9)) - 1.25 - 0.5*step(5, 2, z)
	}
	ground := func(p spot) vec {
		wood := rgb(0x26331f).mul(0.6 + noise(5).fbm(p.x*20, p.z*20, detail(0.05, p.size, 5)))
		return rgb(0x6b6255).mix(wood, step(0.02, 0.06, p.y))
	}
	(&land{sky: s.at, air: s.clear, height: height, ground: ground, sun: sun, light: vec{1.1, 0.6, 0.35},
		ambient: vec{0.24, 0.26, 0.38}, eye: vec{0, 0.9, 0}, far: 60, horizon: 0.36, zoom: 0.9, haze: 0.02, settle: 1,
		water: &water{level: 0, colour: vec{0.01, 0.04, 0.07}, waves: 0.12, length: 0.05}}).draw(c)
}
