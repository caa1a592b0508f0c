//go:build !purego

package kernel

import (
	"unsafe"

	"github.com/mynah-tts/mynah/internal/cpu"
)

// matMulArgs is what the tiles in assembly work on. Distances are in bytes.
type matMulArgs struct {
	dst   *float32
	x     *float32
	w     unsafe.Pointer
	ldd   int // between rows of dst
	ldx   int // between rows of x
	ldw   int // between outputs of w
	k     int // inputs; at least 8 for bfloat16 on AVX2
	tiles int // at least 1
}

//go:noescape
func matMulF32x1AVX2(a *matMulArgs)

//go:noescape
func matMulF32x2AVX2(a *matMulArgs)

//go:noescape
func matMulF32x3AVX2(a *matMulArgs)

//go:noescape
func matMulF32x4AVX2(a *matMulArgs)

//go:noescape
func matMulF32x5AVX2(a *matMulArgs)

//go:noescape
func matMulF32x6AVX2(a *matMulArgs)

//go:noescape
func matMulBF16x1AVX2(a *matMulArgs)

//go:noescape
func matMulBF16x2AVX2(a *matMulArgs)

//go:noescape
func matMulBF16x3AVX2(a *matMulArgs)

//go:noescape
func matMulBF16x4AVX2(a *matMulArgs)

//go:noescape
func matMulBF16x5AVX2(a *matMulArgs)

//go:noescape
func matMulBF16x6AVX2(a *matMulArgs)

//go:noescape
func matMulF32x1AVX512(a *matMulArgs)

//go:noescape
func matMulF32x2AVX512(a *matMulArgs)

//go:noescape
func matMulF32x3AVX512(a *matMulArgs)

//go:noescape
func matMulF32x4AVX512(a *matMulArgs)

//go:noescape
func matMulF32x5AVX512(a *matMulArgs)

//go:noescape
func matMulF32x6AVX512(a *matMulArgs)

//go:noescape
func matMulBF16x1AVX512(a *matMulArgs)

//go:noescape
func matMulBF16x2AVX512(a *matMulArgs)

//go:noescape
func matMulBF16x3AVX512(a *matMulArgs)

//go:noescape
func matMulBF16x4AVX512(a *matMulArgs)

//go:noescape
func matMulBF16x5AVX512(a *matMulArgs)

//go:noescape
func matMulBF16x6AVX512(a *matMulArgs)

const (
	matMulRows       = 6 // most rows of a tile
	matMulOuts       = 4 // outputs of a tile of several rows, or of two of them
	matMulSingleOuts = 8 // outputs of a tile of one row
)

// matMulBlock is how many bytes of weights are multiplied by all rows before the next ones: half of the smallest level 2 cache
// in use, so that weights come from memory once whatever the number of rows.
const matMulBlock = 256 << 10

func matMulF32(dst []float32, ldd int, x []float32, ldx int, w []float32, rows, k, outs int) {
	switch level {
	case cpu.Generic:
		matMulF32Generic(dst, ldd, x, ldx, w, rows, k, outs)
	default:
		done := matMulTiles(dst, ldd, x, ldx, unsafe.Pointer(unsafe.SliceData(w)), 4, rows, k, outs)
		for o := done; o < outs; o++ {
			for r := range rows {
				dst[r*ldd+o] = dotF32(x[r*ldx:][:k], w[o*k:][:k])
			}
		}
	}
}

func matMulBF16(dst []float32, ldd int, x []float32, ldx int, w []uint16, rows, k, outs int) {
	switch level {
	case cpu.Generic:
		matMulBF16Generic(dst, ldd, x, ldx, w, rows, k, outs)
	default:
		done := 0
		if k >= 8 || level == cpu.AVX512 {
			done = matMulTiles(dst, ldd, x, ldx, unsafe.Pointer(unsafe.SliceData(w)), 2, rows, k, outs)
		}
		for o := done; o < outs; o++ {
			for r := range rows {
				dst[r*ldd+o] = dotBF16(x[r*ldx:][:k], w[o*k:][:k])
			}
		}
	}
}

// matMulTiles does the outputs that fill tiles, and returns how many those are.
func matMulTiles(dst []float32, ldd int, x []float32, ldx int, w unsafe.Pointer, size, rows, k, outs int) (done int) {
	if rows == 1 {
		return matMulRow(dst, x, w, size, k, outs)
	}
	outs -= outs % matMulOuts
	if outs == 0 || k == 0 {
		return 0
	}
	a := matMulArgs{ldd: 4 * ldd, ldx: 4 * ldx, ldw: size * k, k: k}
	block := max(matMulOuts, matMulBlock/(size*k)/matMulOuts*matMulOuts)
	groups := (rows + matMulRows - 1) / matMulRows
	for o := 0; o < outs; o += block {
		a.w = unsafe.Add(w, o*size*k)
		tiles := min(block, outs-o) / matMulOuts
		for g := range groups {
			// Groups of nearly equal size: a group of one would wait for the weights alone.
			r, end := rows*g/groups, rows*(g+1)/groups
			a.dst, a.x, a.tiles = &dst[r*ldd+o], &x[r*ldx], tiles
			matMulGroup(&a, size, end-r)
		}
	}
	return outs
}

// matMulRow is matMulTiles for one row.
func matMulRow(dst, x []float32, w unsafe.Pointer, size, k, outs int) (done int) {
	a := matMulArgs{ldw: size * k, k: k, w: w, tiles: outs / matMulSingleOuts}
	if a.tiles == 0 || k == 0 {
		return 0
	}
	a.dst, a.x = &dst[0], &x[0]
	matMulGroup(&a, size, 1)
	return a.tiles * matMulSingleOuts
}

func matMulGroup(a *matMulArgs, size, rows int) {
	switch {
	case level == cpu.AVX512 && size == 4:
		matMulF32AVX512(a, rows)
	case level == cpu.AVX512:
		matMulBF16AVX512(a, rows)
	case size == 4:
		matMulF32AVX2(a, rows)
	default:
		matMulBF16AVX2(a, rows)
	}
}

// narrow doubles the number of tiles where they have half the outputs, on AVX2.
func (a *matMulArgs) narrow(rows int) {
	if rows > 3 {
		a.tiles *= 2
	}
}

func matMulF32AVX2(a *matMulArgs, rows int) {
	a.narrow(rows)
	switch rows {
	case 1:
		matMulF32x1AVX2(a)
	case 2:
		matMulF32x2AVX2(a)
	case 3:
		matMulF32x3AVX2(a)
	case 4:
		matMulF32x4AVX2(a)
	case 5:
		matMulF32x5AVX2(a)
	default:
		matMulF32x6AVX2(a)
	}
}

func matMulBF16AVX2(a *matMulArgs, rows int) {
	a.narrow(rows)
	switch rows {
	case 1:
		matMulBF16x1AVX2(a)
	case 2:
		matMulBF16x2AVX2(a)
	case 3:
		matMulBF16x3AVX2(a)
	case 4:
		matMulBF16x4AVX2(a)
	case 5:
		matMulBF16x5AVX2(a)
	default:
		matMulBF16x6AVX2(a)
	}
}

func matMulF32AVX512(a *matMulArgs, rows int) {
	switch rows {
	case 1:
		matMulF32x1AVX512(a)
	case 2:
		matMulF32x2AVX512(a)
	case 3:
		matMulF32x3AVX512(a)
	case 4:
		matMulF32x4AVX512(a)
	case 5:
		matMulF32x5AVX512(a)
	default:
		matMulF32x6AVX512(a)
	}
}

func matMulBF16AVX512(a *matMulArgs, rows int) {
	switch rows {
	case 1:
		matMulBF16x1AVX512(a)
	case 2:
		matMulBF16x2AVX512(a)
	case 3:
		matMulBF16x3AVX512(a)
	case 4:
		matMulBF16x4AVX512(a)
	case 5:
		matMulBF16x5AVX512(a)
	default:
		matMulBF16x6AVX512(a)
	}
}
