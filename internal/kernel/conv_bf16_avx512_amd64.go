//go:build !purego

package kernel

// The tiles of few rows of convolution over bfloat16 weights on AVX-512: rows by panels.

//go:noescape
func convBF16x1x1AVX512(a *convArgs)

//go:noescape
func convBF16x2x1AVX512(a *convArgs)

//go:noescape
func convBF16x3x1AVX512(a *convArgs)

//go:noescape
func convBF16x4x1AVX512(a *convArgs)

//go:noescape
func convBF16x5x1AVX512(a *convArgs)

//go:noescape
func convBF16x6x1AVX512(a *convArgs)

//go:noescape
func convBF16x1x2AVX512(a *convArgs)

//go:noescape
func convBF16x2x2AVX512(a *convArgs)

//go:noescape
func convBF16x3x2AVX512(a *convArgs)

//go:noescape
func convBF16x4x2AVX512(a *convArgs)

//go:noescape
func convBF16x5x2AVX512(a *convArgs)

//go:noescape
func convBF16x6x2AVX512(a *convArgs)

func convFewBF16x1(a *convArgs, rows int) {
	switch rows {
	case 1:
		convBF16x1x1AVX512(a)
	case 2:
		convBF16x2x1AVX512(a)
	case 3:
		convBF16x3x1AVX512(a)
	case 4:
		convBF16x4x1AVX512(a)
	case 5:
		convBF16x5x1AVX512(a)
	default:
		convBF16x6x1AVX512(a)
	}
}

func convFewBF16x2(a *convArgs, rows int) {
	switch rows {
	case 1:
		convBF16x1x2AVX512(a)
	case 2:
		convBF16x2x2AVX512(a)
	case 3:
		convBF16x3x2AVX512(a)
	case 4:
		convBF16x4x2AVX512(a)
	case 5:
		convBF16x5x2AVX512(a)
	default:
		convBF16x6x2AVX512(a)
	}
}
