package main

import "math"

// spruce draws a tree. Numbers are pixels; the branches are lit by snow if snow is set.
func spruce(c *canvas, seed noise, x, top, tall float64, colour, fog vec, snow float64) {
	whorls := 21 + 10*seed.cell(0, 1)
	slim := 0.15 + 0.05*seed.cell(0, 2)
	for j := max(0, int(top)); j < min(c.h, int(top+tall)); j++ {
		down := (float64(j) - top) / tall
		reach := slim * math.Pow(down, 0.85) * tall
		for i := max(0, int(x-reach*1.3)); i <= min(c.w-1, int(x+reach*1.3)); i++ {
			across := (float64(i) - x) / (reach + 1)
			side := 0
			if across < 0 {
				side = 50
			}
			// The branches hang: those of a whorl are lower at their ends.
			place := (math.Pow(down, 0.8)-0.03*math.Abs(across))*whorls + 0.8*seed.at(float64(side), down*whorls*0.6)
			in := place - math.Floor(place)
			long := 0.45 + 0.6*in*(0.55+0.6*seed.cell(int(place), side))
			needles := seed.fbm(across*9+float64(side), down*60, 4)
			if math.Abs(across) > long*(0.65+0.7*needles) && math.Abs(across*reach) > 0.006*tall {
				continue
			}
			light := 0.55 + 0.9*(needles-0.3) + 0.35*in - 0.25*across
			shown := colour.mul(max(0.2, light))
			if snow > 0 {
				cover := step(0.3, 0.55, in*0.6+needles*0.55-0.12) * snow
				shown = shown.mix(vec{0.8, 0.85, 0.95}.mul(0.55+0.5*clamp(0.6-0.6*across)), cover)
			}
			*c.at(i, j) = shown.mix(fog, 0.75*step(0.45, 1.05, down)*(1-snow*0.6))
		}
	}
}

func pineFog(c *canvas) {
	fog := func(y float64) vec { return rgb(0xb9c4c9).mix(rgb(0x8d9ca4), clamp(0.4-0.6*y)) }
	c.paint(func(x, y float64) vec { return fog(y).mul(0.9 + 0.25*noise(701).fbm(x*0.8, y*2, 5)) })
	const rows = 7
	for row := range rows {
		near := float64(row) / (rows - 1)
		colour := fog(0).mix(rgb(0x142420), 0.1+0.85*math.Pow(near, 1.25))
		tall := float64(c.h) * (0.17 + 0.5*near*near)
		count := int(58 - 40*near)
		for k := range count {
			seed := noise(710 + 100*row + k)
			x := (float64(k) + seed.cell(1, 1) - 0.3) / float64(count-1) * float64(c.w)
			slope := 0.13 * (noise(702).fbm(x/float64(c.w)*2+float64(row), 1, 3) - 0.5)
			size := tall * (0.6 + 0.6*seed.cell(1, 2))
			foot := float64(c.h) * (0.46 + 0.72*near*near + slope)
			spruce(c, seed, x, foot-size, size, colour, fog(0).mix(colour, 0.2+0.5*near*near), 0)
		}
		// Drifts of fog lie between the rows.
		for j := range c.h {
			for i := range c.w {
				u, v := float64(i)/float64(c.h), float64(j)/float64(c.h)
				drift := step(0.45, 0.75, noise(703+row).fbm(u*1.2, v*3.2, 5)) * step(0.2, 0.6, v) * 0.45 * (1 - near)
				*c.at(i, j) = c.at(i, j).mix(fog(0.4), drift)
			}
		}
	}
}

func snowWood(c *canvas) {
	c.paint(func(x, y float64) vec {
		sky := rgb(0xdde3ee).mix(rgb(0x5f93d0), step(-0.6, 1.6, y))
		ground := rgb(0xc9d6ea).mul(0.75 + 0.5*noise(731).fbm(x*2, y*7, 6))
		return sky.mix(ground, step(-0.98, -1.06, y+0.1*math.Sin(x*2.3)))
	})
	const rows = 4
	for row := range rows {
		near := float64(row) / (rows - 1)
		colour := rgb(0x8fa6bf).mix(rgb(0x1b2c2a), math.Pow(near, 0.7))
		count := []int{26, 15, 8, 3}[row]
		for k := range count {
			seed := noise(740 + 50*row + k)
			x := (float64(k) + 0.2 + 0.6*seed.cell(1, 1)) / float64(count) * float64(c.w)
			size := float64(c.h) * (0.16 + 0.52*near*near + 0.12*seed.cell(1, 2))
			foot := float64(c.h) * (0.8 + 0.16*near)
			spruce(c, seed, x, foot-size, size, colour, rgb(0xb9c9e0), 0.3+0.35*near)
		}
	}
}

// canopy draws a wood from above, with a road. road returns the distance from its middle.
func canopy(c *canvas, seed noise, road func(x, y float64) float64, colours []vec) {
	const crowns = 13 // in half the shorter side
	// crown returns the height of the trees at a place, and the number of the tree.
	crown := func(x, y float64) (height float64, tree int) {
		height = -0.6
		cx, cy := int(math.Floor(x*crowns)), int(math.Floor(y*crowns))
		for b := cy - 1; b <= cy+1; b++ {
			for a := cx - 1; a <= cx+1; a++ {
				px, py := seed.point(a, b)
				if math.Abs(road(px/crowns, py/crowns)) < 0.085 {
					continue
				}
				wide := 0.55 + 0.5*seed.cell(a, b+1000)
				edge := 0.3 * (noise(751).fbm(x*crowns*2.2+float64(a)*5, y*crowns*2.2, 3) - 0.5)
				d := math.Hypot(px-x*crowns, py-y*crowns)/wide + edge
				if top := wide*(1-d*d)*0.9 + 0.5*seed.cell(a, b+2000) - 0.3; d < 1 && top > height {
					height, tree = top, a*1000+b
				}
			}
		}
		if height == -0.6 && math.Abs(road(x, y)) < 0.05 {
			return height, 0
		}
		return height + 0.4*noise(752).fbm(x*crowns*3.5, y*crowns*3.5, 5), tree
	}
	sun := toward(-0.55, 0.45, 0.7)
	c.paint(func(x, y float64) vec {
		const e = 0.003
		height, tree := crown(x, y)
		hx, _ := crown(x+e, y)
		hy, _ := crown(x, y+e)
		normal := vec{(height - hx) / e / crowns, (height - hy) / e / crowns, 1.2}.unit()
		lit := max(0, normal.dot(sun))
		for k := range 7 {
			t := 0.18 + 0.22*float64(k)
			over, _ := crown(x+sun.x*t/crowns, y+sun.y*t/crowns)
			lit *= 1 - 0.75*step(0, 0.35, over-height-sun.z*t)
		}
		kind := seed.cell(tree, 1)*0.6 + 1.5*(noise(753).fbm(x*1.1, y*1.1, 3)-0.5) + 0.2
		albedo := colours[int(clamp(kind)*(float64(len(colours))-0.01))]
		albedo = albedo.saturate(0.8).mul(0.6 + 0.6*noise(754).fbm(x*70, y*70, 4))
		if height < -0.2 {
			albedo = rgb(0x4a4028).mul(0.6 + 0.8*noise(755).fbm(x*30, y*30, 5))
		}
		if r := math.Abs(road(x, y)); r < 0.05 && height < 0 {
			albedo = rgb(0x6f7072).mul(0.85 + 0.3*noise(756).fbm(x*60, y*60, 4))
			along := y*9 - math.Floor(y*9)
			if r < 0.003 && along < 0.6 || r > 0.044 && r < 0.047 {
				albedo = grey(0.75)
			}
		}
		return albedo.times(vec{1.75, 1.5, 1.15}.mul(lit).add(vec{0.2, 0.25, 0.33}.mul(0.5 + 0.5*clamp(height+0.5))))
	})
}

func autumnRoad(c *canvas) {
	road := func(x, y float64) float64 { return (x - 0.28*math.Sin(y*2.1+0.4) - 0.08*math.Sin(y*4.3)) * 0.85 }
	canopy(c, 771, road, []vec{rgb(0x1f3a2a), rgb(0x27442c), rgb(0x35502c), rgb(0x5f6f2c),
		rgb(0xc08a2a), rgb(0xb9602a)})
}

func beach(c *canvas) {
	// Across is the distance from the edge of the water, which is positive on the sand.
	across := func(x, y float64) float64 {
		return x*0.8 + y*0.36 + 0.12*math.Sin(y*2.2+0.6) + 0.12*(noise(781).fbm(x*1.3, y*1.3, 4)-0.5)
	}
	parasols := [][3]float64{{0.62, 0.5, 0}, {0.86, 0.1, 1}, {0.8, -0.42, 2}, {1.12, 0.62, 3}, {1.18, -0.2, 0},
		{0.98, -0.75, 1}}
	fabrics := []vec{rgb(0xd8452f), rgb(0x2f7fb8), rgb(0xf0c23c), rgb(0xf4f1ea)}
	c.paint(func(x, y float64) vec {
		d := across(x, y)
		sand := rgb(0xe2c79c).mul(0.86 + 0.3*noise(782).fbm(x*7, y*7, 7))
		sand = sand.mix(rgb(0xb08f66), 0.75*step(0.2, 0.02, d+0.05*noise(783).fbm(x*4, y*4, 3)))
		depth := -d + 0.1*(noise(784).fbm(x*3, y*3, 5)-0.5)
		sea := rgb(0x9fd6cf).mix(rgb(0x2fa6b4), step(0, 0.32, depth)).mix(rgb(0x0f6791), step(0.25, 1.1, depth))
		ripple := noise(785).ridged(x*16, y*16, 4)
		sea = sea.mul(0.86 + 0.35*ripple*gauss(depth-0.1, 0.5))
		sea = sea.mix(rgb(0x1d5f6a), 0.5*step(0.55, 0.68, noise(786).fbm(x*3.2, y*3.2, 6))*step(0.2, 0.5, depth))
		colour := sand.mix(sea, step(0.025, -0.02, d))
		foam := 0.0
		for k, at := range []float64{0, -0.11, -0.27, -0.5} {
			line := d - at + 0.1*(noise(787+noise(k)).fbm(x*2.2, y*2.2, 4)-0.5)
			lace := step(0.42, 0.62, noise(790+noise(k)).ridged(x*19, y*19, 5)+0.5*gauss(line, 0.013))
			wide := 0.05 - 0.008*float64(k)
			strong := 0.9 - 0.2*float64(k)
			lace *= step(-wide, -0.01, -math.Abs(line-0.02)) * step(wide, 0, line)
			foam = max(foam, strong*max(gauss(line, 0.011), lace))
		}
		colour = colour.mix(vec{0.95, 0.97, 0.98}, clamp(foam))
		for _, p := range parasols {
			const radius = 0.066
			if s := math.Hypot(x-p[0]-0.06, y-p[1]+0.045); s < radius {
				colour = colour.mul(0.42)
			}
			if tx, ty := x-p[0]-0.1, y-p[1]-0.05; math.Abs(tx) < 0.026 && math.Abs(ty) < 0.055 {
				colour = fabrics[int(p[2]+1)%4].mul(0.8 + 0.2*step(0.3, 0.5, math.Sin(ty*180)))
			}
			if s := math.Hypot(x-p[0], y-p[1]); s < radius {
				segment := math.Sin(math.Atan2(y-p[1], x-p[0])*4 + p[2])
				lit := 0.85 + 0.25*((y-p[1])-(x-p[0]))/radius
				colour = fabrics[int(p[2])].mix(vec{0.95, 0.94, 0.9}, step(-0.06, 0.06, segment)).mul(lit)
			}
		}
		return colour
	})
}
