//go:build !purego

package kernel

// The tiles of 8-bit convolution on AVX-512: rows by panels, with VNNI and without.

//go:noescape
func convInt8x1x1VNNI(a *convInt8Args)

//go:noescape
func convInt8x2x1VNNI(a *convInt8Args)

//go:noescape
func convInt8x3x1VNNI(a *convInt8Args)

//go:noescape
func convInt8x4x1VNNI(a *convInt8Args)

//go:noescape
func convInt8x5x1VNNI(a *convInt8Args)

//go:noescape
func convInt8x6x1VNNI(a *convInt8Args)

//go:noescape
func convInt8x1x2VNNI(a *convInt8Args)

//go:noescape
func convInt8x2x2VNNI(a *convInt8Args)

//go:noescape
func convInt8x3x2VNNI(a *convInt8Args)

//go:noescape
func convInt8x4x2VNNI(a *convInt8Args)

//go:noescape
func convInt8x5x2VNNI(a *convInt8Args)

//go:noescape
func convInt8x6x2VNNI(a *convInt8Args)

//go:noescape
func convInt8x1x1BW(a *convInt8Args)

//go:noescape
func convInt8x2x1BW(a *convInt8Args)

//go:noescape
func convInt8x3x1BW(a *convInt8Args)

//go:noescape
func convInt8x4x1BW(a *convInt8Args)

//go:noescape
func convInt8x5x1BW(a *convInt8Args)

//go:noescape
func convInt8x6x1BW(a *convInt8Args)

//go:noescape
func convInt8x1x2BW(a *convInt8Args)

//go:noescape
func convInt8x2x2BW(a *convInt8Args)

//go:noescape
func convInt8x3x2BW(a *convInt8Args)

//go:noescape
func convInt8x4x2BW(a *convInt8Args)

//go:noescape
func convInt8x5x2BW(a *convInt8Args)

//go:noescape
func convInt8x6x2BW(a *convInt8Args)

// runAVX512 does the tiles of a height, by one panel or two.
func (a *convInt8Args) runAVX512(rows, panels int) {
	switch {
	case vnni() && panels == 2:
		a.runTwoVNNI(rows)
	case vnni():
		a.runOneVNNI(rows)
	case panels == 2:
		a.runTwoBW(rows)
	default:
		a.runOneBW(rows)
	}
}

func (a *convInt8Args) runOneVNNI(rows int) {
	switch rows {
	case 1:
		convInt8x1x1VNNI(a)
	case 2:
		convInt8x2x1VNNI(a)
	case 3:
		convInt8x3x1VNNI(a)
	case 4:
		convInt8x4x1VNNI(a)
	case 5:
		convInt8x5x1VNNI(a)
	default:
		convInt8x6x1VNNI(a)
	}
}

func (a *convInt8Args) runTwoVNNI(rows int) {
	switch rows {
	case 1:
		convInt8x1x2VNNI(a)
	case 2:
		convInt8x2x2VNNI(a)
	case 3:
		convInt8x3x2VNNI(a)
	case 4:
		convInt8x4x2VNNI(a)
	case 5:
		convInt8x5x2VNNI(a)
	default:
		convInt8x6x2VNNI(a)
	}
}

func (a *convInt8Args) runOneBW(rows int) {
	switch rows {
	case 1:
		convInt8x1x1BW(a)
	case 2:
		convInt8x2x1BW(a)
	case 3:
		convInt8x3x1BW(a)
	case 4:
		convInt8x4x1BW(a)
	case 5:
		convInt8x5x1BW(a)
	default:
		convInt8x6x1BW(a)
	}
}

func (a *convInt8Args) runTwoBW(rows int) {
	switch rows {
	case 1:
		convInt8x1x2BW(a)
	case 2:
		convInt8x2x2BW(a)
	case 3:
		convInt8x3x2BW(a)
	case 4:
		convInt8x4x2BW(a)
	case 5:
		convInt8x5x2BW(a)
	default:
		convInt8x6x2BW(a)
	}
}
