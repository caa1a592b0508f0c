//go:build !purego

package kernel

import "github.com/mynah-tts/mynah/internal/cpu"

// convInt8Args is what the tiles in assembly work on. Distances are in bytes.
type convInt8Args struct {
	dst     *float32
	x       *uint8
	rows    *ConvRow // of x; advanced, nil when the tiles are done
	w       *int8    // the panel
	ahead   *int8    // the panel that comes next, to be fetched
	wScale  *float32
	wSum    *int32
	sum     *int32 // wSum of the current tap; nil when the tiles are done
	bias    *float32
	ldd     int // between rows of dst
	ldx     int // between rows of x
	tapStep int // between taps of x
	rowStep int // between rows in rows
	tapRows int // between taps in rows
	taps    int
	fours   int // inputs of a tap, in fours
	tiles   int // down the rows; counted down

	panelStep    int    // between panels, on AVX-512
	sumStep      int    // between the sums of panels
	mask1, mask2 uint32 // of the outputs to store of the first and the second panel
}

//go:noescape
func convInt8x1AVX2(a *convInt8Args)

//go:noescape
func convInt8x2AVX2(a *convInt8Args)

//go:noescape
func convInt8x3AVX2(a *convInt8Args)

//go:noescape
func convInt8x4AVX2(a *convInt8Args)

//go:noescape
func convInt8x5AVX2(a *convInt8Args)

//go:noescape
func convInt8x6AVX2(a *convInt8Args)

func convInt8(dst []float32, ldd int, x *ConvCodes, step, taps, dilation int, w *ConvWeights, bias []float32, rows, outs int) {
	kp := Int8K(w.In)
	if level == cpu.Generic || kp == 0 {
		convInt8Generic(dst, ldd, x, step, taps, dilation, w, bias, rows, outs)
		return
	}
	a := convInt8Args{
		ldx: step * kp, tapStep: dilation * kp, rowStep: 8 * step, tapRows: 8 * dilation, taps: taps, fours: kp / 4,
		panelStep: PanelWidth * taps * kp, sumStep: 4 * PanelWidth * taps,
	}
	wide, by := level == cpu.AVX512, activeDots()
	var biases [2 * PanelWidth]float32
	var last [convRowsAVX2 * PanelWidth]float32 // sums of an incomplete panel on AVX2
	a.bias = &biases[0]
	for o, n := 0, 0; o < outs; o += n {
		panels := 1
		if wide && outs-o > PanelWidth {
			panels = 2
		}
		n = min(panels*PanelWidth, outs-o)
		a.mask(n)
		if bias != nil {
			copy(biases[:n], bias[o:])
		}
		weights := w.Codes[o*taps*kp:]
		a.w, a.ahead, a.wScale, a.wSum = &weights[0], &weights[0], &w.Scale[o], &w.Sum[o*taps]
		if size := panels * a.panelStep; len(weights) >= 2*size {
			a.ahead = &weights[size]
		}
		aside := !wide && n < PanelWidth
		for r, tile, tiles := 0, 0, 0; r < rows; r += tile * tiles {
			tile, tiles = convTile(rows, r)
			a.dst, a.ldd = &dst[r*ldd+o], 4*ldd
			if aside {
				a.dst, a.ldd, tiles = &last[0], 4*PanelWidth, 1
			}
			a.sum = a.wSum
			a.x, a.rows, a.tiles = &x.Codes[r*step*kp], &x.Rows[r*step], tiles
			switch {
			case wide:
				a.runAVX512(tile, panels)
			case by == dotsVNNI:
				a.runAVXVNNI(tile)
			default:
				a.runAVX2(tile)
			}
			for i := 0; aside && i < tile; i++ {
				copy(dst[(r+i)*ldd+o:(r+i)*ldd+outs], last[i*PanelWidth:])
			}
		}
	}
}

// mask selects the outputs that are stored.
func (a *convInt8Args) mask(outs int) {
	lanes := uint64(1)<<outs - 1
	a.mask1, a.mask2 = uint32(lanes)&0xffff, uint32(lanes>>PanelWidth)&0xffff
}

// convTile cuts rows into tiles of nearly equal height: it returns the height of the tile at row r, and how many of the same height
// there are from it on.
func convTile(rows, r int) (height, count int) {
	groups := (rows + convRowsAVX2 - 1) / convRowsAVX2
	low, high := rows/groups, rows%groups // high tiles of low+1 rows come first
	if end := high * (low + 1); r < end {
		return low + 1, (end - r) / (low + 1)
	}
	return low, (rows - r) / low
}

// runAVX2 does the tiles of a height.
func (a *convInt8Args) runAVX2(rows int) {
	switch rows {
	case 1:
		convInt8x1AVX2(a)
	case 2:
		convInt8x2AVX2(a)
	case 3:
		convInt8x3AVX2(a)
	case 4:
		convInt8x4AVX2(a)
	case 5:
		convInt8x5AVX2(a)
	default:
		convInt8x6AVX2(a)
	}
}
