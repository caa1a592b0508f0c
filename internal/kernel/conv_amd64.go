//go:build !purego

package kernel

import (
	"github.com/mynah-tts/mynah/internal/cpu"
)

// convArgs is what the tiles in assembly work on. Distances are in bytes.
type convArgs struct {
	dst       *float32
	x         *float32
	panels    *float32
	bias      *float32 // of all outputs of the tile, filled up to whole panels; nil continues the sums in dst
	ldd       int      // between rows of dst
	ldx       int      // between rows of x
	tapStep   int      // between taps of x
	panelStep int      // between panels
	taps, in  int
	outs      int // outputs to store; the last panel may be partial (on AVX2 only if it is the only one)
	tiles     int // down the rows; counted down

	mask1, mask2 uint32 // of the outputs to store of the first and the second panel, on AVX-512

	biases *float32 // what bias is for the first inputs; for the Go side alone
}

//go:noescape
func conv1x1AVX2(a *convArgs)

//go:noescape
func conv2x1AVX2(a *convArgs)

//go:noescape
func conv3x1AVX2(a *convArgs)

//go:noescape
func conv4x1AVX2(a *convArgs)

//go:noescape
func conv5x1AVX2(a *convArgs)

//go:noescape
func conv6x1AVX2(a *convArgs)

//go:noescape
func conv1x4AVX2(a *convArgs)

//go:noescape
func conv2x2AVX2(a *convArgs)

//go:noescape
func conv3x2AVX2(a *convArgs)

const (
	convRowsAVX2  = 6 // most rows of a tile
	convPanelsMax = 4 // most panels of a tile
)

func convF32(dst []float32, ldd int, x []float32, ldx int, taps, tapStride, in int, panels, bias []float32, rows, outs int) {
	if level == cpu.Generic || in == 0 {
		convF32Generic(dst, ldd, x, ldx, taps, tapStride, in, panels, bias, rows, outs)
		return
	}
	if tapStride == in {
		taps, in = 1, taps*in // neighbouring taps are one longer row
	}
	width := PanelWidth * taps * in
	a := convArgs{ldd: 4 * ldd, ldx: 4 * ldx, tapStep: 4 * tapStride, panelStep: 4 * width}
	var biases [convPanelsMax * PanelWidth]float32
	for o := 0; o < outs; {
		n := convPanels(rows, outs-o)
		a.outs = min(n*PanelWidth, outs-o)
		lanes := uint64(1)<<a.outs - 1 // 64 outputs: the shift gives 0, all lanes are set
		a.mask1, a.mask2 = uint32(lanes)&0xffff, uint32(lanes>>PanelWidth)&0xffff
		if bias != nil {
			clear(biases[copy(biases[:a.outs], bias[o:]):])
		}
		panel := panels[o/PanelWidth*width:]
		block := convInputs(rows, taps*in, n, a.outs)
		for t := 0; t < taps; {
			// As many whole taps as fit the block, or one tap in pieces.
			a.taps = min(max(1, block/in), taps-t)
			for c := 0; c < in; c += a.in {
				a.in = min(in, max(1, block), in-c)
				i := t*in + c
				a.panels = &panel[i*PanelWidth]
				a.bias = &biases[0]
				if i > 0 {
					a.bias = nil
				}
				convRows(&a, dst[o:], ldd, x[t*tapStride+c:], ldx, rows, n)
			}
			t += a.taps
		}
		o += a.outs
	}
}

// Weights that all rows are multiplied by before the next ones come, in inputs of a panel and in bytes: with a group of rows they
// stay in the level 1 cache, and while they are worked on the tiles fetch the weights that lie so much further on. Between
// blocks the sums wait in dst, as the float32 numbers that they are anyway.
const (
	convBlock = 192
	convAhead = convBlock * PanelWidth * 4
)

// convInputs returns how many of k inputs to take at once.
func convInputs(rows, k, panels, outs int) int {
	if rows <= convRowsAVX2 || level == cpu.AVX2 && outs < panels*PanelWidth {
		return k // few rows meet each weight once; and on AVX2 sums continue in whole panels only
	}
	return convBlock
}

func convPanels(rows, outs int) int {
	if level == cpu.AVX512 {
		return convPanelsAVX512(rows, outs)
	}
	return convPanelsAVX2(rows, outs)
}

// convPanelsAVX2 returns how many panels to take at once.
func convPanelsAVX2(rows, outs int) int {
	switch {
	case rows == 1 && outs >= 4*PanelWidth:
		return 4
	case (rows == 2 || rows == 3) && outs >= 2*PanelWidth:
		return 2
	}
	return 1
}

// convRows does all rows of n panels, in tiles of nearly equal height.
func convRows(a *convArgs, dst []float32, ldd int, x []float32, ldx, rows, n int) {
	most := convRowsAVX2
	switch {
	case level == cpu.AVX512 && n == 1:
		most = convRowsAVX512Panel
	case level == cpu.AVX512:
		most = convRowsAVX512
	}
	groups := (rows + most - 1) / most
	low, high := rows/groups, rows%groups // high tiles of low+1 rows come first
	if high > 0 {
		a.dst, a.x, a.tiles = &dst[0], &x[0], high
		convTiles(a, low+1, n)
	}
	r := high * (low + 1)
	a.dst, a.x, a.tiles = &dst[r*ldd], &x[r*ldx], groups-high
	convTiles(a, low, n)
}

func convTiles(a *convArgs, rows, panels int) {
	if level == cpu.AVX512 {
		convTilesAVX512(a, rows, panels)
		return
	}
	convTilesAVX2(a, rows, panels)
}

func convTilesAVX2(a *convArgs, rows, panels int) {
	switch {
	case panels == 4:
		conv1x4AVX2(a)
	case panels == 2 && rows == 2:
		conv2x2AVX2(a)
	case panels == 2:
		conv3x2AVX2(a)
	case rows == 1:
		conv1x1AVX2(a)
	case rows == 2:
		conv2x1AVX2(a)
	case rows == 3:
		conv3x1AVX2(a)
	case rows == 4:
		conv4x1AVX2(a)
	case rows == 5:
		conv5x1AVX2(a)
	default:
		conv6x1AVX2(a)
	}
}
