//go:build !purego

package kernel

import "github.com/mynah-tts/mynah/internal/cpu"

//go:noescape
func int8Panel1AVX2(dst *float32, x *uint8, w *int8, steps int, scale *float32, zero *int32, wScale *float32, wSum *int32)

//go:noescape
func int8Panel2AVX2(dst *float32, ldd int, x *uint8, ldx int, w *int8, steps int, scale *float32, zero *int32, wScale *float32, wSum *int32)

//go:noescape
func int8Panel1VNNI(dst *float32, x *uint8, w *int8, steps int, scale *float32, zero *int32, wScale *float32, wSum *int32)

//go:noescape
func int8Panel4VNNI(dst *float32, ldd int, x *uint8, ldx int, w *int8, steps int, scale *float32, zero *int32, wScale *float32, wSum *int32)

//go:noescape
func int4A16Panel1AVX2(dst *float32, x *int16, scale *float32, sum *int32, codes *uint32, wScale *float32, wZero *uint8, blocks, groups int)

//go:noescape
func int4A16Half4AVX2(dst *float32, ldd int, x *int16, ldx int, scale *float32, sum *int32, codes *uint32, wScale *float32, wZero *uint8, blocks int, groups int)

//go:noescape
func int4A16Panel1VNNI(dst *float32, x *int16, scale *float32, sum *int32, codes *uint32, wScale *float32, wZero *uint8, blocks, groups int)

//go:noescape
func int4A16Panel4VNNI(dst *float32, ldd int, x *int16, ldx int, scale *float32, sum *int32, codes *uint32, wScale *float32, wZero *uint8, blocks, groups int)

//go:noescape
func int4A8Panel1AVX2(dst *float32, x *int8, scale *float32, sum *int32, codes *uint32, wScale *float32, wZero *uint8, blocks, groups int)

//go:noescape
func int4A8Half4AVX2(dst *float32, ldd int, x *int8, ldx int, scale *float32, sum *int32, codes *uint32, wScale *float32, wZero *uint8, blocks int, groups int)

//go:noescape
func int4A8Panel1VNNI(dst *float32, x *int8, scale *float32, sum *int32, codes *uint32, wScale *float32, wZero *uint8, blocks, groups int)

//go:noescape
func int4A8Panel4VNNI(dst *float32, ldd int, x *int8, ldx int, scale *float32, sum *int32, codes *uint32, wScale *float32, wZero *uint8, blocks, groups int)

const (
	quantRows    = 4 // most rows of activations that share the unpacking of the weights
	int8RowsAVX2 = 2 // the same for int8 on AVX2, which has too few registers for more
	halfPanel    = PanelWidth / 2
)

var haveVNNI = cpu.Detect().AVX512VNNI

// vnni reports whether the kernels with VPDPBUSD and VPDPWSSD run. AVX-512 without them takes the AVX2 kernels.
func vnni() bool { return level == cpu.AVX512 && haveVNNI }

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
	most, fast := int8RowsAVX2, vnni()
	if fast {
		most = quantRows
	}
	var last lastPanel
	for o := 0; o < outs; o += PanelWidth {
		n := min(PanelWidth, outs-o)
		for r, tile := 0, 0; r < rows; r += tile {
			if tile = most; rows-r < most {
				tile = 1
			}
			to, step := last.target(dst[r*ldd+o:], ldd, n)
			switch {
			case fast && tile == 1:
				int8Panel1VNNI(&to[0], &x[r*kp], &w[o*kp], kp/4, &scale[r], &zero[r], &wScale[o], &wSum[o])
			case fast:
				int8Panel4VNNI(&to[0], step, &x[r*kp], kp, &w[o*kp], kp/4, &scale[r], &zero[r], &wScale[o], &wSum[o])
			case tile == 1:
				int8Panel1AVX2(&to[0], &x[r*kp], &w[o*kp], kp/4, &scale[r], &zero[r], &wScale[o], &wSum[o])
			default:
				int8Panel2AVX2(&to[0], step, &x[r*kp], kp, &w[o*kp], kp/4, &scale[r], &zero[r], &wScale[o], &wSum[o])
			}
			last.keep(dst[r*ldd+o:], ldd, tile, n)
		}
	}
}

func matMulInt4A16(dst []float32, ldd int, x []int16, scale []float32, sum []int32, w *Int4, rows, outs int) {
	if level == cpu.Generic || w.K == 0 {
		matMulInt4A16Generic(dst, ldd, x, scale, sum, w, rows, outs)
		return
	}
	kp, fast := Int4K(w.K, w.Group), vnni()
	groups, blocks := kp/w.Group, w.Group/Int4Block
	var last lastPanel
	for o := 0; o < outs; o += PanelWidth {
		p := w.Panel(o)
		n := min(PanelWidth, outs-o)
		for r, tile := 0, 0; r < rows; r += tile {
			if tile = quantRows; rows-r < quantRows {
				tile = 1
			}
			to, step := last.target(dst[r*ldd+o:], ldd, n)
			xr, sr, zr := &x[r*kp], &scale[r*groups], &sum[r*groups]
			switch {
			case fast && tile == 1:
				int4A16Panel1VNNI(&to[0], xr, sr, zr, &p.Codes[0], &p.Scale[0], &p.Zero[0], blocks, groups)
			case fast:
				int4A16Panel4VNNI(&to[0], step, xr, 2*kp, sr, zr, &p.Codes[0], &p.Scale[0], &p.Zero[0], blocks, groups)
			case tile == 1:
				int4A16Panel1AVX2(&to[0], xr, sr, zr, &p.Codes[0], &p.Scale[0], &p.Zero[0], blocks, groups)
			default:
				clearTile(to, step)
				for at := range 2 * groups {
					half, g := at/groups*halfPanel, at%groups
					int4A16Half4AVX2(&to[half], step, &x[r*kp+g*w.Group], 2*kp, &scale[r*groups+g], &sum[r*groups+g],
						&p.Codes[g*blocks*PanelWidth+half], &p.Scale[g*PanelWidth+half], &p.Zero[g*PanelWidth+half], blocks, groups)
				}
			}
			last.keep(dst[r*ldd+o:], ldd, tile, n)
		}
	}
}

func matMulInt4A8(dst []float32, ldd int, x []int8, scale []float32, sum []int32, w *Int4, rows, outs int) {
	if level == cpu.Generic || w.K == 0 {
		matMulInt4A8Generic(dst, ldd, x, scale, sum, w, rows, outs)
		return
	}
	kp, fast := Int4K(w.K, w.Group), vnni()
	groups, blocks := kp/w.Group, w.Group/Int4Block
	var last lastPanel
	for o := 0; o < outs; o += PanelWidth {
		p := w.Panel(o)
		n := min(PanelWidth, outs-o)
		for r, tile := 0, 0; r < rows; r += tile {
			if tile = quantRows; rows-r < quantRows {
				tile = 1
			}
			to, step := last.target(dst[r*ldd+o:], ldd, n)
			xr, sr, zr := &x[r*kp], &scale[r*groups], &sum[r*groups]
			switch {
			case fast && tile == 1:
				int4A8Panel1VNNI(&to[0], xr, sr, zr, &p.Codes[0], &p.Scale[0], &p.Zero[0], blocks, groups)
			case fast:
				int4A8Panel4VNNI(&to[0], step, xr, kp, sr, zr, &p.Codes[0], &p.Scale[0], &p.Zero[0], blocks, groups)
			case tile == 1:
				int4A8Panel1AVX2(&to[0], xr, sr, zr, &p.Codes[0], &p.Scale[0], &p.Zero[0], blocks, groups)
			default:
				clearTile(to, step)
				for at := range 2 * groups {
					half, g := at/groups*halfPanel, at%groups
					int4A8Half4AVX2(&to[half], step, &x[r*kp+g*w.Group], kp, &scale[r*groups+g], &sum[r*groups+g],
						&p.Codes[g*blocks*PanelWidth+half], &p.Scale[g*PanelWidth+half], &p.Zero[g*PanelWidth+half], blocks, groups)
				}
			}
			last.keep(dst[r*ldd+o:], ldd, tile, n)
		}
	}
}

// clearTile zeroes the totals that the four-row kernels of AVX2 add to.
func clearTile(dst []float32, ldd int) {
	for r := range quantRows {
		clear(dst[r*ldd : r*ldd+PanelWidth])
	}
}
