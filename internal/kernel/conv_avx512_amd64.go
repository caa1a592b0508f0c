//go:build !purego

package kernel

// The tiles of convolution on AVX-512: rows by panels.

//go:noescape
func conv1x1AVX512(a *convArgs)

//go:noescape
func conv2x1AVX512(a *convArgs)

//go:noescape
func conv3x1AVX512(a *convArgs)

//go:noescape
func conv4x1AVX512(a *convArgs)

//go:noescape
func conv5x1AVX512(a *convArgs)

//go:noescape
func conv6x1AVX512(a *convArgs)

//go:noescape
func conv7x1AVX512(a *convArgs)

//go:noescape
func conv8x1AVX512(a *convArgs)

//go:noescape
func conv1x2AVX512(a *convArgs)

//go:noescape
func conv2x2AVX512(a *convArgs)

//go:noescape
func conv3x2AVX512(a *convArgs)

//go:noescape
func conv4x2AVX512(a *convArgs)

//go:noescape
func conv5x2AVX512(a *convArgs)

//go:noescape
func conv6x2AVX512(a *convArgs)

//go:noescape
func conv7x2AVX512(a *convArgs)

//go:noescape
func conv8x2AVX512(a *convArgs)

//go:noescape
func conv9x2AVX512(a *convArgs)

//go:noescape
func conv10x2AVX512(a *convArgs)

//go:noescape
func conv11x2AVX512(a *convArgs)

//go:noescape
func conv12x2AVX512(a *convArgs)

//go:noescape
func conv13x2AVX512(a *convArgs)

//go:noescape
func conv14x2AVX512(a *convArgs)

//go:noescape
func conv1x4AVX512(a *convArgs)

//go:noescape
func conv2x4AVX512(a *convArgs)

//go:noescape
func conv3x4AVX512(a *convArgs)

// The most rows of a tile of several panels, and of one panel.
const (
	convRowsAVX512      = 14
	convRowsAVX512Panel = 8
)

// convPanelsAVX512 returns how many panels to take at once.
func convPanelsAVX512(rows, outs int) int {
	switch {
	case rows <= 3 && outs >= 4*PanelWidth:
		return 4
	case outs > PanelWidth:
		return 2
	}
	return 1
}

func convTilesAVX512(a *convArgs, rows, panels int) {
	switch panels {
	case 4:
		conv4PanelsAVX512(a, rows)
	case 2:
		conv2PanelsAVX512(a, rows)
	default:
		conv1PanelAVX512(a, rows)
	}
}

func conv1PanelAVX512(a *convArgs, rows int) {
	switch rows {
	case 1:
		conv1x1AVX512(a)
	case 2:
		conv2x1AVX512(a)
	case 3:
		conv3x1AVX512(a)
	case 4:
		conv4x1AVX512(a)
	case 5:
		conv5x1AVX512(a)
	case 6:
		conv6x1AVX512(a)
	case 7:
		conv7x1AVX512(a)
	default:
		conv8x1AVX512(a)
	}
}

func conv2PanelsAVX512(a *convArgs, rows int) {
	switch rows {
	case 1:
		conv1x2AVX512(a)
	case 2:
		conv2x2AVX512(a)
	case 3:
		conv3x2AVX512(a)
	case 4:
		conv4x2AVX512(a)
	case 5:
		conv5x2AVX512(a)
	case 6:
		conv6x2AVX512(a)
	case 7:
		conv7x2AVX512(a)
	case 8:
		conv8x2AVX512(a)
	case 9:
		conv9x2AVX512(a)
	case 10:
		conv10x2AVX512(a)
	case 11:
		conv11x2AVX512(a)
	case 12:
		conv12x2AVX512(a)
	case 13:
		conv13x2AVX512(a)
	default:
		conv14x2AVX512(a)
	}
}

func conv4PanelsAVX512(a *convArgs, rows int) {
	switch rows {
	case 1:
		conv1x4AVX512(a)
	case 2:
		conv2x4AVX512(a)
	default:
		conv3x4AVX512(a)
	}
}
