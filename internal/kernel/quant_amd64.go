//go:build !purego

package kernel

import (
	"unsafe"

	"github.com/mynah-tts/mynah/internal/cpu"
)

//go:noescape
func int8Panel1AVX2(dst *float32, x *uint8, w *int8, steps int, scale *float32, zero *int32, wScale *float32, wSum *int32)

//go:noescape
func int8Panel2AVX2(dst *float32, ldd int, x *uint8, ldx int, w *int8, steps int, scale *float32, zero *int32, wScale *float32, wSum *int32, ahead, stride int)

//go:noescape
func int8Panel1VNNI(dst *float32, x *uint8, w *int8, steps int, scale *float32, zero *int32, wScale *float32, wSum *int32)

//go:noescape
func int8Panel4VNNI(dst *float32, ldd int, x *uint8, ldx int, w *int8, steps int, scale *float32, zero *int32, wScale *float32, wSum *int32, ahead, stride int)

//go:noescape
func int4A16Panel1AVX2(dst *float32, x unsafe.Pointer, scale *float32, sum *int32, codes *uint32, wScale *float32, wZero *uint8, blocks, groups int)

//go:noescape
func int4A16Half4AVX2(dst *float32, ldd int, x unsafe.Pointer, ldx int, scale *float32, sum *int32, codes *uint32, wScale *float32, wZero *uint8, blocks, groups int)

//go:noescape
func int4A16Panel1VNNI(dst *float32, x unsafe.Pointer, scale *float32, sum *int32, codes *uint32, wScale *float32, wZero *uint8, blocks, groups int)

//go:noescape
func int4A16Panel4VNNI(dst *float32, ldd int, x unsafe.Pointer, ldx int, scale *float32, sum *int32, codes *uint32, wScale *float32, wZero *uint8, blocks, groups, ahead, stride int)

//go:noescape
func int4A8Panel1AVX2(dst *float32, x unsafe.Pointer, scale *float32, sum *int32, codes *uint32, wScale *float32, wZero *uint8, blocks, groups int)

//go:noescape
func int4A8Panel2AVX2(dst *float32, ldd int, x unsafe.Pointer, ldx int, scale *float32, sum *int32, codes *uint32, wScale *float32, wZero *uint8, blocks, groups, ahead, stride int)

//go:noescape
func int4A8Panel1VNNI(dst *float32, x unsafe.Pointer, scale *float32, sum *int32, codes *uint32, wScale *float32, wZero *uint8, blocks, groups int)

//go:noescape
func int4A8Panel4VNNI(dst *float32, ldd int, x unsafe.Pointer, ldx int, scale *float32, sum *int32, codes *uint32, wScale *float32, wZero *uint8, blocks, groups, ahead, stride int)

//go:noescape
func int8Panel1AVXVNNI(dst *float32, x *uint8, w *int8, steps int, scale *float32, zero *int32, wScale *float32, wSum *int32)

//go:noescape
func int4A16Panel1AVXVNNI(dst *float32, x unsafe.Pointer, scale *float32, sum *int32, codes *uint32, wScale *float32, wZero *uint8, blocks, groups int)

//go:noescape
func int4A16Panel4AVXVNNI(dst *float32, ldd int, x unsafe.Pointer, ldx int, scale *float32, sum *int32, codes *uint32, wScale *float32, wZero *uint8, blocks, groups, ahead, stride int)

//go:noescape
func int4A8Panel1AVXVNNI(dst *float32, x unsafe.Pointer, scale *float32, sum *int32, codes *uint32, wScale *float32, wZero *uint8, blocks, groups int)

//go:noescape
func int4A8Panel4AVXVNNI(dst *float32, ldd int, x unsafe.Pointer, ldx int, scale *float32, sum *int32, codes *uint32, wScale *float32, wZero *uint8, blocks, groups, ahead, stride int)

//go:noescape
func int8Panel4AVXVNNI(dst *float32, ldd int, x *uint8, ldx int, w *int8, steps int, scale *float32, zero *int32, wScale *float32, wSum *int32, ahead, stride int)

const (
	quantRows    = 4 // most rows of activations that share the unpacking of the weights
	int8RowsAVX2 = 2 // the same for int8 on AVX2, which has too few registers for more
	int4RowsAVX2 = 2 // the same for int4 over 8 bits on AVX2: more rows would load activations for eight outputs only
	halfPanel    = PanelWidth / 2
)

// dots is the instruction set of the dot products, apart from the level: on AVX2 and AVX-512 some CPUs have one for them. All give
// the same bits.
type dots int

const (
	dotsAVX2    dots = iota // multiplications and sums of AVX2
	dotsVNNI                // AVX-VNNI, half the width of the next
	dotsVNNI512             // AVX-512 VNNI
)

var haveVNNI512, haveVNNI = cpu.Detect().AVX512VNNI, cpu.Detect().AVXVNNI

// vnni reports whether the kernels with the dot products of AVX-512 run.
func vnni() bool { return level == cpu.AVX512 && haveVNNI512 }

// activeDots is what runs at the level, which is no less than AVX2.
func activeDots() dots {
	switch {
	case vnni():
		return dotsVNNI512
	case haveVNNI:
		return dotsVNNI
	}
	return dotsAVX2
}

// lastPanel is where kernels write a panel that has fewer outputs: they write whole ones.
type lastPanel [quantRows * PanelWidth]float32

// target is where a tile of rows at dst goes, n outputs of a panel: there, or to the buffer.
func (b *lastPanel) target(dst []float32, ldd, n int) ([]float32, int) {
	if n == PanelWidth {
		return dst, ldd
	}
	return b[:], PanelWidth
}

// keep moves an incomplete panel to where it belongs.
func (b *lastPanel) keep(dst []float32, ldd, rows, n int) {
	if n == PanelWidth {
		return
	}
	for r := range rows {
		copy(dst[r*ldd:r*ldd+n], b[r*PanelWidth:])
	}
}

func matMulInt8(dst []float32, ldd int, x []uint8, scale []float32, zero []int32, w []int8, wScale []float32, wSum []int32, rows, kp, outs int) {
	if level == cpu.Generic || kp == 0 {
		matMulInt8Generic(dst, ldd, x, scale, zero, w, wScale, wSum, rows, kp, outs)
		return
	}
	most, by := quantRows, activeDots()
	if by == dotsAVX2 {
		most = int8RowsAVX2
	}
	next := newNextPanel(kp*PanelWidth, rows/most)
	var last lastPanel
	for o := 0; o < outs; o += PanelWidth {
		n := min(PanelWidth, outs-o)
		ahead, stride := next.size, next.stride
		for r, tile := 0, 0; r < rows; r += tile {
			if tile = most; rows-r < most {
				tile = 1
			}
			to, step := last.target(dst[r*ldd+o:], ldd, n)
			switch {
			case by == dotsVNNI512 && tile == 1:
				int8Panel1VNNI(&to[0], &x[r*kp], &w[o*kp], kp/4, &scale[r], &zero[r], &wScale[o], &wSum[o])
			case by == dotsVNNI512:
				int8Panel4VNNI(&to[0], step, &x[r*kp], kp, &w[o*kp], kp/4, &scale[r], &zero[r], &wScale[o], &wSum[o], ahead, stride)
			case by == dotsVNNI && tile == 1:
				int8Panel1AVXVNNI(&to[0], &x[r*kp], &w[o*kp], kp/4, &scale[r], &zero[r], &wScale[o], &wSum[o])
			case by == dotsVNNI:
				int8Panel4AVXVNNI(&to[0], step, &x[r*kp], kp, &w[o*kp], kp/4, &scale[r], &zero[r], &wScale[o], &wSum[o], ahead, stride)
			case tile == 1:
				int8Panel1AVX2(&to[0], &x[r*kp], &w[o*kp], kp/4, &scale[r], &zero[r], &wScale[o], &wSum[o])
			default:
				int8Panel2AVX2(&to[0], step, &x[r*kp], kp, &w[o*kp], kp/4, &scale[r], &zero[r], &wScale[o], &wSum[o], ahead, stride)
			}
			last.keep(dst[r*ldd+o:], ldd, tile, n)
			ahead += next.part
		}
	}
}

func matMulInt4A16(dst []float32, ldd int, x []int16, scale []float32, sum []int32, w *Int4, rows, outs int) {
	if level == cpu.Generic || w.K == 0 {
		matMulInt4A16Generic(dst, ldd, x, scale, sum, w, rows, outs)
		return
	}
	matMulInt4(dst, ldd, unsafe.Pointer(&x[0]), 2, scale, sum, w, rows, outs)
}

func matMulInt4A8(dst []float32, ldd int, x []int8, scale []float32, sum []int32, w *Int4, rows, outs int) {
	if level == cpu.Generic || w.K == 0 {
		matMulInt4A8Generic(dst, ldd, x, scale, sum, w, rows, outs)
		return
	}
	matMulInt4(dst, ldd, unsafe.Pointer(&x[0]), 1, scale, sum, w, rows, outs)
}

// int4Panel is one panel of a matrix. Sizes are computed once for all panels: divisions would show beside the short work on each.
type int4Panel struct {
	codes                  []uint32
	scale                  []float32
	zero                   []uint8
	groups, blocks, perRow int // of the matrix: groups, blocks in a group, bytes of a row of x
	size                   int // bytes of an activation
	ahead, stride          int // what the tile at hand fetches of the next panel
	by                     dots
}

// matMulInt4 goes through the panels of a matrix and in each through the rows of x, whose activations have size bytes.
func matMulInt4(dst []float32, ldd int, x unsafe.Pointer, size int, scale []float32, sum []int32, w *Int4, rows, outs int) {
	groups, blocks := Int4K(w.K, w.Group)/w.Group, w.Group/Int4Block
	p := int4Panel{
		codes: w.Codes, scale: w.Scale, zero: w.Zero,
		groups: groups, blocks: blocks, perRow: size * groups * w.Group, size: size, by: activeDots(),
	}
	most := quantRows
	if p.by == dotsAVX2 && size == 1 {
		most = int4RowsAVX2
	}
	next := newNextPanel(4*groups*blocks*PanelWidth, rows/most)
	p.stride = next.stride
	var last lastPanel
	for o := 0; o < outs; o += PanelWidth {
		n := min(PanelWidth, outs-o)
		p.ahead = next.size
		for r, tile := 0, 0; r < rows; r += tile {
			if tile = most; rows-r < most {
				tile = 1
			}
			to, step := last.target(dst[r*ldd+o:], ldd, n)
			p.tile(to, step, unsafe.Add(x, r*p.perRow), scale[r*groups:], sum[r*groups:], tile)
			last.keep(dst[r*ldd+o:], ldd, tile, n)
			p.ahead += next.part
		}
		p.codes = p.codes[groups*blocks*PanelWidth:]
		p.scale, p.zero = p.scale[groups*PanelWidth:], p.zero[groups*PanelWidth:]
	}
}

// tile multiplies one row by the panel, or as many as the kernel takes.
func (p *int4Panel) tile(dst []float32, ldd int, x unsafe.Pointer, scale []float32, sum []int32, rows int) {
	groups, blocks, ldx, wide := p.groups, p.blocks, p.perRow, p.size == 2
	to, s, z, codes, ws, wz := &dst[0], &scale[0], &sum[0], &p.codes[0], &p.scale[0], &p.zero[0]
	switch {
	case p.by == dotsVNNI512 && rows == 1 && wide:
		int4A16Panel1VNNI(to, x, s, z, codes, ws, wz, blocks, groups)
	case p.by == dotsVNNI512 && rows == 1:
		int4A8Panel1VNNI(to, x, s, z, codes, ws, wz, blocks, groups)
	case p.by == dotsVNNI512 && wide:
		int4A16Panel4VNNI(to, ldd, x, ldx, s, z, codes, ws, wz, blocks, groups, p.ahead, p.stride)
	case p.by == dotsVNNI512:
		int4A8Panel4VNNI(to, ldd, x, ldx, s, z, codes, ws, wz, blocks, groups, p.ahead, p.stride)
	case p.by == dotsVNNI && rows == 1 && wide:
		int4A16Panel1AVXVNNI(to, x, s, z, codes, ws, wz, blocks, groups)
	case p.by == dotsVNNI && rows == 1:
		int4A8Panel1AVXVNNI(to, x, s, z, codes, ws, wz, blocks, groups)
	case p.by == dotsVNNI && wide:
		clearTile(dst, ldd, rows)
		int4A16Panel4AVXVNNI(to, ldd, x, ldx, s, z, codes, ws, wz, blocks, groups, p.ahead, p.stride)
	case p.by == dotsVNNI:
		clearTile(dst, ldd, rows)
		int4A8Panel4AVXVNNI(to, ldd, x, ldx, s, z, codes, ws, wz, blocks, groups, p.ahead, p.stride)
	case rows == 1 && wide:
		int4A16Panel1AVX2(to, x, s, z, codes, ws, wz, blocks, groups)
	case rows == 1:
		int4A8Panel1AVX2(to, x, s, z, codes, ws, wz, blocks, groups)
	case wide:
		clearTile(dst, ldd, rows)
		int4A16Half4AVX2(to, ldd, x, ldx, s, z, codes, ws, wz, blocks, groups)
		to, codes, ws, wz = &dst[halfPanel], &p.codes[halfPanel], &p.scale[halfPanel], &p.zero[halfPanel]
		int4A16Half4AVX2(to, ldd, x, ldx, s, z, codes, ws, wz, blocks, groups)
	default:
		clearTile(dst, ldd, rows)
		int4A8Panel2AVX2(to, ldd, x, ldx, s, z, codes, ws, wz, blocks, groups, p.ahead, p.stride)
	}
}

// nextPanel tells tiles of several rows which part of the next panel to fetch while they multiply, so that memory is read all the time
// and not by the first tile alone: from size bytes behind the start of the present panel on, a part each.
type nextPanel struct {
	size, part, stride int // bytes of a panel, of a tile's part of it, and of the part for each line of the tile's own
}

func newNextPanel(size, tiles int) nextPanel {
	const line = 64
	tiles = max(tiles, 1)
	return nextPanel{size: size, part: size / tiles, stride: line / tiles}
}

// clearTile zeroes the totals that these kernels add to.
func clearTile(dst []float32, ldd, rows int) {
	for r := range rows {
		clear(dst[r*ldd : r*ldd+PanelWidth])
	}
}
