package picture

import (
	"image"
	"image/draw"
	"math"
)

// shrink scales a picture so that its longest edge has at most edge pixels; a smaller picture keeps
// its size. It first averages squares of whole pixels, then filters with a Catmull-Rom spline.
// Besides the picture and the result it holds only a few rows.
func shrink(full image.Image, edge int) *image.RGBA {
	bounds := full.Bounds()
	longest := max(bounds.Dx(), bounds.Dy())
	scale := max(1, float64(longest)/float64(edge)) // source pixels per pixel of the result
	to := image.Rect(0, 0, scaledLength(bounds.Dx(), scale), scaledLength(bounds.Dy(), scale))
	small := image.NewRGBA(to)
	if scale == 1 {
		draw.Draw(small, to, full, bounds.Min, draw.Src)
		return small
	}
	rows := newBoxAverager(full, int(scale))
	across := newFilter(to.Dx(), float64(bounds.Dx())/float64(rows.side), rows.width)
	down := newFilter(to.Dy(), float64(bounds.Dy())/float64(rows.side), rows.height)
	held, sums := newRowRing(down, to.Dx()), make([]float32, 4*to.Dx())
	for y, column := range down {
		for held.next < column.first+len(column.weights) {
			across.row(rows.row(held.next), held.row(held.next))
			held.next++
		}
		clear(sums)
		for i, weight := range column.weights {
			for at, value := range held.row(column.first + i) {
				sums[at] += weight * value
			}
		}
		line := small.Pix[y*small.Stride:]
		for at, sum := range sums {
			line[at] = uint8(min(max(sum+0.5, 0), 255))
		}
		clampToAlpha(line[:len(sums)])
	}
	return small
}

// scaledLength returns length pixels divided by scale, rounded, at least 1.
func scaledLength(length int, scale float64) int {
	return max(1, int(math.Round(float64(length)/scale)))
}

// clampToAlpha limits the colours of a row of RGBA pixels, which are premultiplied, to their alpha:
// the spline exceeds it at edges.
func clampToAlpha(line []uint8) {
	for i := 0; i < len(line); i += 4 {
		alpha := line[i+3]
		line[i], line[i+1], line[i+2] = min(line[i], alpha), min(line[i+1], alpha), min(line[i+2], alpha)
	}
}

// boxAverager averages squares of a picture, row by row.
type boxAverager struct {
	full          image.Image
	side          int // edge of a square in pixels
	width, height int // in squares; the last ones may be incomplete
	strip         *image.RGBA
	sums          []uint32
	out           []float32
}

// newBoxAverager returns a boxAverager for squares of side pixels.
func newBoxAverager(full image.Image, side int) *boxAverager {
	bounds := full.Bounds()
	width := (bounds.Dx() + side - 1) / side
	return &boxAverager{
		full: full, side: side, width: width, height: (bounds.Dy() + side - 1) / side,
		strip: image.NewRGBA(image.Rect(0, 0, bounds.Dx(), side)), sums: make([]uint32, 4*width),
		out: make([]float32, 4*width),
	}
}

// row returns row y of the averages, counted in squares: four numbers for each square, from 0 to
// 255, colours premultiplied by alpha. The next call overwrites it.
func (b *boxAverager) row(y int) []float32 {
	bounds := b.full.Bounds()
	rows := min(b.side, bounds.Dy()-y*b.side)
	draw.Draw(b.strip, image.Rect(0, 0, bounds.Dx(), rows), b.full, bounds.Min.Add(image.Pt(0, y*b.side)), draw.Src)
	clear(b.sums)
	for line := range rows {
		pix := b.strip.Pix[line*b.strip.Stride:][:4*bounds.Dx()]
		for x := range b.width {
			square := pix[4*x*b.side : min(4*(x+1)*b.side, len(pix))]
			sum := (*[4]uint32)(b.sums[4*x:])
			for i := 0; i+3 < len(square); i += 4 {
				sum[0] += uint32(square[i])
				sum[1] += uint32(square[i+1])
				sum[2] += uint32(square[i+2])
				sum[3] += uint32(square[i+3])
			}
		}
	}
	for i, sum := range b.sums {
		columns := min(b.side, bounds.Dx()-i/4*b.side)
		b.out[i] = float32(sum) / float32(columns*rows)
	}
	return b.out
}

// kernel holds the weights of the input numbers for one output number, from input first on. Their
// sum is 1.
type kernel struct {
	first   int
	weights []float32
}

// filter scales a row: one kernel for each output number.
type filter []kernel

// newFilter returns the filter that scales a row to count numbers. length is the length of the
// input row, not whole when its last square is incomplete; have is the number of input numbers that
// exist.
func newFilter(count int, length float64, have int) filter {
	f := make(filter, count)
	step := length / float64(count)
	wide := max(step, 1)
	for i := range f {
		centre := (float64(i) + 0.5) * step
		first := max(0, int(math.Floor(centre-2*wide)))
		end := min(have, int(math.Ceil(centre+2*wide)))
		weights := make([]float32, end-first)
		var sum float32
		for j := range weights {
			weights[j] = float32(spline((float64(first+j) + 0.5 - centre) / wide))
			sum += weights[j]
		}
		for j := range weights {
			weights[j] /= sum
		}
		f[i] = kernel{first, weights}
	}
	return f
}

// spline is the Catmull-Rom spline: the weight of an input number at distance t from the centre.
func spline(t float64) float64 {
	t = math.Abs(t)
	switch {
	case t < 1:
		return (1.5*t-2.5)*t*t + 1
	case t < 2:
		return ((-0.5*t+2.5)*t-4)*t + 2
	}
	return 0
}

// row scales one row of pixels to len(f) pixels. A pixel is four numbers in from and in to. The
// results may lie outside of 0 to 255, since the spline overshoots.
func (f filter) row(from, to []float32) {
	for i, t := range f {
		var sum [4]float32
		pixels := from[4*t.first:]
		for j, weight := range t.weights {
			pixel := (*[4]float32)(pixels[4*j:])
			sum[0] += weight * pixel[0]
			sum[1] += weight * pixel[1]
			sum[2] += weight * pixel[2]
			sum[3] += weight * pixel[3]
		}
		copy(to[4*i:], sum[:])
	}
}

// rowRing holds the filtered rows from which one row of the result is computed.
type rowRing struct {
	rows [][]float32
	next int // the first row that is not filtered yet
}

// newRowRing returns a ring for rows of width pixels, with as many rows as a kernel of down needs.
func newRowRing(down filter, width int) *rowRing {
	most := 0
	for _, t := range down {
		most = max(most, len(t.weights))
	}
	r := &rowRing{rows: make([][]float32, most)}
	for i := range r.rows {
		r.rows[i] = make([]float32, 4*width)
	}
	return r
}

// row returns the memory of row y, which it shares with rows that are no longer needed.
func (r *rowRing) row(y int) []float32 { return r.rows[y%len(r.rows)] }

// orient rotates and mirrors a picture by its EXIF orientation, from 1 to 8, as a viewer would show
// it; 1 and unknown values mean unchanged.
func orient(from *image.RGBA, orientation int) *image.RGBA {
	w, h := from.Bounds().Dx(), from.Bounds().Dy()
	var source func(x, y int) (int, int)
	switch orientation {
	case 2:
		source = func(x, y int) (int, int) { return w - 1 - x, y }
	case 3:
		source = func(x, y int) (int, int) { return w - 1 - x, h - 1 - y }
	case 4:
		source = func(x, y int) (int, int) { return x, h - 1 - y }
	case 5:
		source = func(x, y int) (int, int) { return y, x }
	case 6:
		source = func(x, y int) (int, int) { return y, h - 1 - x }
	case 7:
		source = func(x, y int) (int, int) { return w - 1 - y, h - 1 - x }
	case 8:
		source = func(x, y int) (int, int) { return w - 1 - y, x }
	default:
		return from
	}
	if orientation >= 5 {
		w, h = h, w
	}
	to := image.NewRGBA(image.Rect(0, 0, w, h))
	w, h = from.Bounds().Dx(), from.Bounds().Dy()
	for y := range to.Bounds().Dy() {
		for x := range to.Bounds().Dx() {
			sx, sy := source(x, y)
			copy(to.Pix[to.PixOffset(x, y):][:4], from.Pix[from.PixOffset(sx, sy):][:4])
		}
	}
	return to
}
