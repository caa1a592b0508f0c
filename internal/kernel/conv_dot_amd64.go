//go:build !purego

package kernel

import "github.com/mynah-tts/mynah/internal/cpu"

// convDotArgs is what the tiles in assembly work on. Distances are in bytes.
type convDotArgs struct {
	dst          *float32
	x            *uint16
	w            *uint16  // the panel
	bias         *float32 // of all outputs of the tile, filled up to whole panels
	ldd          int      // between rows of dst
	ldx          int      // between rows of x
	tapStep      int      // between taps of x
	panelStep    int      // between panels
	taps         int
	pairs, last  int    // inputs of a tap: pairs, and one more or none
	tiles        int    // down the rows; counted down
	mask1, mask2 uint32 // of the outputs to store of the first and the second panel
}

//go:noescape
func narrowBF16AVX512(dst *uint16, x *float32, n int)

//go:noescape
func convDot1x1AVX512(a *convDotArgs)

//go:noescape
func convDot2x1AVX512(a *convDotArgs)

//go:noescape
func convDot3x1AVX512(a *convDotArgs)

//go:noescape
func convDot4x1AVX512(a *convDotArgs)

//go:noescape
func convDot5x1AVX512(a *convDotArgs)

//go:noescape
func convDot6x1AVX512(a *convDotArgs)

//go:noescape
func convDot1x2AVX512(a *convDotArgs)

//go:noescape
func convDot2x2AVX512(a *convDotArgs)

//go:noescape
func convDot3x2AVX512(a *convDotArgs)

//go:noescape
func convDot4x2AVX512(a *convDotArgs)

//go:noescape
func convDot5x2AVX512(a *convDotArgs)

//go:noescape
func convDot6x2AVX512(a *convDotArgs)

// pairOrder takes 16 weights of an input and 16 of the next one to the pairs of outputs.
//
//lint:ignore U1000 read by the assembly
var pairOrder = [32]uint16{0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31}

var haveBF16 = cpu.Detect().AVX512BF16

func dotsBF16() bool { return level == cpu.AVX512 && haveBF16 }

func narrowBF16(dst []uint16, x []float32) {
	if !dotsBF16() || len(x) == 0 {
		narrowBF16Generic(dst, x)
		return
	}
	narrowBF16AVX512(&dst[0], &x[0], len(x))
}

func convDotBF16(dst []float32, ldd int, x []uint16, step, taps, dilation, in int, panels []uint16, bias []float32, rows, outs int) {
	if !dotsBF16() || in == 0 {
		convDotBF16Generic(dst, ldd, x, step, taps, dilation, in, panels, bias, rows, outs)
		return
	}
	k, width := DotK(in), PanelWidth*taps*in
	a := convDotArgs{
		ldd: 4 * ldd, ldx: 2 * step * k, tapStep: 2 * dilation * k, panelStep: 2 * width,
		taps: taps, pairs: in / 2, last: in % 2,
	}
	var biases [2 * PanelWidth]float32
	a.bias = &biases[0]
	for o, n := 0, 0; o < outs; o += n {
		n = min(2*PanelWidth, outs-o)
		lanes := uint64(1)<<n - 1
		a.mask1, a.mask2 = uint32(lanes)&0xffff, uint32(lanes>>PanelWidth)
		copy(biases[:n], bias[min(o, len(bias)):])
		a.w = &panels[o/PanelWidth*width]
		for r, tile, tiles := 0, 0, 0; r < rows; r += tile * tiles {
			tile, tiles = convTile(rows, r)
			a.dst, a.x, a.tiles = &dst[r*ldd+o], &x[r*step*k], tiles
			a.run(tile, n > PanelWidth)
		}
	}
}

// run does the tiles of a height, by one panel or two.
func (a *convDotArgs) run(rows int, two bool) {
	if two {
		a.runTwo(rows)
		return
	}
	switch rows {
	case 1:
		convDot1x1AVX512(a)
	case 2:
		convDot2x1AVX512(a)
	case 3:
		convDot3x1AVX512(a)
	case 4:
		convDot4x1AVX512(a)
	case 5:
		convDot5x1AVX512(a)
	default:
		convDot6x1AVX512(a)
	}
}

func (a *convDotArgs) runTwo(rows int) {
	switch rows {
	case 1:
		convDot1x2AVX512(a)
	case 2:
		convDot2x2AVX512(a)
	case 3:
		convDot3x2AVX512(a)
	case 4:
		convDot4x2AVX512(a)
	case 5:
		convDot5x2AVX512(a)
	default:
		convDot6x2AVX512(a)
	}
}
