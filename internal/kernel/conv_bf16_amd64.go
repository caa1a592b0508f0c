//go:build !purego

package kernel

import (
	"unsafe"

	"github.com/mynah-tts/mynah/internal/cpu"
)

//go:noescape
func convBF16x1AVX2(a *convArgs)

//go:noescape
func convBF16x2AVX2(a *convArgs)

//go:noescape
func convBF16x3AVX2(a *convArgs)

//go:noescape
func convBF16x4AVX2(a *convArgs)

//go:noescape
func convBF16x5AVX2(a *convArgs)

//go:noescape
func convBF16x6AVX2(a *convArgs)

// lineValues is the number of values in a line of the cache.
const lineValues = 16

// convBF16 widens as many inputs of a panel as stay in the level 1 cache, and has the tiles of ConvF32 multiply all rows by them.
// Few rows, and incomplete panels on AVX2, have tiles of their own.
func convBF16(dst []float32, ldd int, x []float32, ldx int, taps, tapStride, in int, panels []uint16, bias []float32, rows, outs int) {
	if level == cpu.Generic || in == 0 {
		convBF16Generic(dst, ldd, x, ldx, taps, tapStride, in, panels, bias, rows, outs)
		return
	}
	if tapStride == in {
		taps, in = 1, taps*in
	}
	width := PanelWidth * taps * in
	a := convArgs{ldx: 4 * ldx, tapStep: 4 * tapStride}
	var biases [convPanelsMax * PanelWidth]float32
	var room convRoom
	wide := room.lines()
	a.biases = &biases[0]
	for o := 0; o < outs; o += a.outs {
		n := convPanels(rows, outs-o)
		few := rows <= convRowsAVX2
		switch {
		case level == cpu.AVX2 && (few || n*PanelWidth > outs-o):
			n = 1
		case few:
			n = min(n, 2)
		}
		a.outs = min(n*PanelWidth, outs-o)
		a.mask()
		if bias != nil {
			clear(biases[copy(biases[:a.outs], bias[o:]):])
		}
		weights := panels[o/PanelWidth*width:][:(a.outs+PanelWidth-1)/PanelWidth*width]
		if few || level == cpu.AVX2 && a.outs < PanelWidth {
			a.taps, a.in, a.bias, a.panelStep = taps, in, a.biases, 2*width
			convTilesBF16(&a, weights, dst[o:], ldd, x, ldx, rows, n)
			continue
		}
		a.panels, a.ldd = &wide[0], 4*ldd
		convWideBF16(&a, wide, weights, dst[o:], ldd, x, ldx, convShape{taps, in, tapStride}, rows, n)
	}
}

// convTilesBF16 does rows in tiles that take the weights as they are. An incomplete panel goes aside first on AVX2.
func convTilesBF16(args *convArgs, weights []uint16, dst []float32, ldd int, x []float32, ldx, rows, panels int) {
	a := *args // so that what it points to need not outlive this call
	var last [convRowsAVX2 * PanelWidth]float32
	aside := level == cpu.AVX2 && a.outs < PanelWidth
	// Only the pointer's type says float32.
	a.panels = (*float32)(unsafe.Pointer(&weights[0]))
	for r, tile := 0, 0; r < rows; r += tile {
		tile, _ = convTile(rows, r)
		a.x, a.dst, a.ldd = &x[r*ldx], &dst[r*ldd], 4*ldd
		if aside {
			a.dst, a.ldd = &last[0], 4*PanelWidth
		}
		convFewBF16(&a, tile, panels)
		for i := 0; aside && i < tile; i++ {
			copy(dst[(r+i)*ldd:(r+i)*ldd+a.outs], last[i*PanelWidth:])
		}
	}
}

// convShape is the inputs of a convolution.
type convShape struct{ taps, in, tapStride int }

// convWideBF16 does all rows of n panels, whose weights it widens to wide.
func convWideBF16(a *convArgs, wide []float32, weights []uint16, dst []float32, ldd int, x []float32, ldx int, s convShape, rows, n int) {
	block := convBlock / n
	a.panelStep = 4 * block * PanelWidth
	width := s.taps * s.in * PanelWidth
	for t := 0; t < s.taps; {
		// As many whole taps as fit the block, or one tap in pieces.
		a.taps = min(max(1, block/s.in), s.taps-t)
		for c := 0; c < s.in; c += a.in {
			a.in = min(s.in, block, s.in-c)
			from, size := (t*s.in+c)*PanelWidth, a.taps*a.in*PanelWidth
			for p := 0; p*width < len(weights); p++ {
				WidenBF16(wide[p*block*PanelWidth:][:size], weights[p*width+from:][:size])
			}
			a.bias = a.biases
			if from > 0 {
				a.bias = nil
			}
			convRows(a, dst, ldd, x[t*s.tapStride+c:], ldx, rows, n)
		}
		t += a.taps
	}
}

// mask selects the outputs that are stored of the first two panels.
func (a *convArgs) mask() {
	lanes := uint64(1)<<a.outs - 1
	a.mask1, a.mask2 = uint32(lanes)&0xffff, uint32(lanes>>PanelWidth)&0xffff
}

// convFewBF16 does one tile of few rows by one panel, which is whole on AVX2, or on AVX-512 by two.
func convFewBF16(a *convArgs, rows, panels int) {
	switch {
	case level == cpu.AVX512 && panels == 2:
		convFewBF16x2(a, rows)
		return
	case level == cpu.AVX512:
		convFewBF16x1(a, rows)
		return
	}
	switch rows {
	case 1:
		convBF16x1AVX2(a)
	case 2:
		convBF16x2AVX2(a)
	case 3:
		convBF16x3AVX2(a)
	case 4:
		convBF16x4AVX2(a)
	case 5:
		convBF16x5AVX2(a)
	default:
		convBF16x6AVX2(a)
	}
}

// convRoom is where weights are widened to.
type convRoom [convBlock*PanelWidth + lineValues]float32

// lines is the part of the room that begins with a line of the cache: stores and loads across lines would take twice the time.
func (r *convRoom) lines() []float32 {
	past := uintptr(unsafe.Pointer(r)) / 4 % lineValues
	return r[(lineValues-past)%lineValues:][:convBlock*PanelWidth]
}
