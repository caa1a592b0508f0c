package codec

import (
	"github.com/mynah-tts/mynah/internal/kernel"
	"github.com/mynah-tts/mynah/internal/team"
)

// Convolutions of seven taps that have many rows a frame are done by minimal filtering (kernel.WinogradInput), which multiplies 10/28
// as often. A tile is four output rows one dilation apart; tiles begin with the frame, and rows at its end that make no whole tile
// are summed plainly. So a row's bits depend on its place in the frame alone, not on what else is computed with it.

// tiledRows is the number of rows of a frame from which on tiles are made: with fewer, the time goes into reading weights, and the
// values at the points are 10/7 as many.
const tiledRows = exactRows

// tileGroup is the number of tiles that go through the matrix products together.
const tileGroup = 48

// frameTiles is how many tiles a frame has, and the rows that they cover.
func (c *conv) frameTiles() (tiles, rows int) {
	blocks := c.rate / (kernel.WinogradRows * c.dilation)
	return blocks * c.dilation, blocks * c.dilation * kernel.WinogradRows
}

// tileable reports whether minimal filtering can do the convolution and pays.
func (c *conv) tileable() bool {
	tiles, _ := c.frameTiles()
	return c.f32 != nil && c.dot == nil && c.taps == kernel.WinogradTaps && c.stride == 1 && c.rate >= tiledRows && tiles > 0 && c.in%8 == 0 && c.outs%8 == 0
}

// evaluate makes points of f32.
func (c *conv) evaluate() {
	const width = kernel.PanelWidth
	panels, size := (c.outs+width-1)/width, width*c.in
	c.points = make([]float32, kernel.WinogradPoints*panels*size)
	eachPanel(panels, func(p int) {
		var u [kernel.WinogradPoints]float32
		var w [kernel.WinogradTaps]float32
		from := c.f32[p*c.taps*size:]
		for i := range size {
			for t := range w {
				w[t] = from[t*size+i]
			}
			kernel.WinogradWeights(u[:], w[:])
			for k, v := range u {
				c.points[(k*panels+p)*size+i] = v
			}
		}
	})
}

// tiled does a worker's share of a convolution by minimal filtering: tiles, or outputs where tiles are few, and plain rows.
func (j *convJob) tiled(worker, workers int) {
	c := j.conv
	perFrame, covered := c.frameTiles()
	frames := j.rows / c.rate
	if n := perFrame * frames; n >= fewTiles*workers {
		lo, hi := team.Split(n, 1, worker, workers)
		j.tiles(j.room[worker], lo, hi, 0, c.outs)
	} else {
		lo, hi := team.Split(c.outs, kernel.PanelWidth, worker, workers)
		j.tiles(j.room[worker], 0, n, lo, hi)
	}
	lo, hi := team.Split(c.rate-covered, 1, worker, workers)
	for i, s := range j.spans {
		for f := s.first; f < s.first+s.frames && lo < hi; f++ {
			r := f*c.rate + covered
			j.some(i, r+lo, r+hi, 0, c.outs)
			j.follow(i, r+lo, r+hi, 0, c.outs)
		}
	}
}

// fewTiles is the number of tiles of a worker below which the weights are shared out instead.
const fewTiles = 12

// tiles computes outputs o0 to o1-1 of tiles t0 to t1-1, which are numbered through all frames.
func (j *convJob) tiles(room []float32, t0, t1, o0, o1 int) {
	if o0 >= o1 {
		return
	}
	c, width := j.conv, o1-o0
	v := room[:kernel.WinogradPoints*tileGroup*c.in]
	m := room[len(v):][:kernel.WinogradPoints*tileGroup*width]
	size := len(c.points) / kernel.WinogradPoints
	for g := t0; g < t1; g += tileGroup {
		n := min(tileGroup, t1-g)
		for t := range n {
			i, row := j.place(g + t)
			kernel.WinogradInput(v[t*c.in:], tileGroup*c.in, j.x.data[(row+i*c.left)*c.in:], c.dilation*c.in, c.in)
		}
		for p := range kernel.WinogradPoints {
			kernel.ConvF32(m[p*tileGroup*width:], width, v[p*tileGroup*c.in:], c.in, 1, c.in, c.in, c.points[p*size+o0*c.in:], nil, n, width)
		}
		for t := range n {
			i, row := j.place(g + t)
			at := j.dst.at(i, c.outs, row)
			kernel.WinogradOutput(j.dst.data[at+o0:], c.dilation*c.outs, m[t*width:], tileGroup*width, c.bias[o0:o1], width)
			for r := range kernel.WinogradRows {
				j.follow(i, row+r*c.dilation, row+r*c.dilation+1, o0, o1)
			}
		}
	}
}

// place is the span of a tile and its first row.
func (j *convJob) place(tile int) (span, row int) {
	c := j.conv
	perFrame, _ := c.frameTiles()
	frame, tile := tile/perFrame, tile%perFrame
	for frame >= j.spans[span].first+j.spans[span].frames {
		span++
	}
	return span, frame*c.rate + tile/c.dilation*c.dilation*kernel.WinogradRows + tile%c.dilation
}

// reserveTiles makes room for the tiles of each worker, if the convolution has any and there was none before.
func (sc *Scratch) reserveTiles(workers int) {
	for len(sc.room) < workers {
		most := 0
		for _, c := range sc.d.packable() {
			if c.points != nil {
				most = max(most, c.in+c.outs)
			}
		}
		sc.room = append(sc.room, make([]float32, kernel.WinogradPoints*tileGroup*most))
	}
}
