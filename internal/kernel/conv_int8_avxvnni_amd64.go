//go:build !purego

package kernel

// The tiles of 8-bit convolution on AVX2 with AVX-VNNI: rows by a panel.

//go:noescape
func convInt8x1AVXVNNI(a *convInt8Args)

//go:noescape
func convInt8x2AVXVNNI(a *convInt8Args)

//go:noescape
func convInt8x3AVXVNNI(a *convInt8Args)

//go:noescape
func convInt8x4AVXVNNI(a *convInt8Args)

//go:noescape
func convInt8x5AVXVNNI(a *convInt8Args)

//go:noescape
func convInt8x6AVXVNNI(a *convInt8Args)

// runAVXVNNI does the tiles of a height.
func (a *convInt8Args) runAVXVNNI(rows int) {
	switch rows {
	case 1:
		convInt8x1AVXVNNI(a)
	case 2:
		convInt8x2AVXVNNI(a)
	case 3:
		convInt8x3AVXVNNI(a)
	case 4:
		convInt8x4AVXVNNI(a)
	case 5:
		convInt8x5AVXVNNI(a)
	default:
		convInt8x6AVXVNNI(a)
	}
}
