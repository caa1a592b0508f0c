//go:build !purego

package kernel

import "github.com/mynah-tts/mynah/internal/cpu"

//go:noescape
func winogradInputAVX2(dst *float32, ldd int, x *float32, ldx, n int)

//go:noescape
func winogradOutputAVX2(dst *float32, ldd int, m *float32, ldm int, bias *float32, n int)

// winogradInTable has the coefficients of the pairs and those of all squares, each for eight lanes, in the order in which the assembly
// reads them.
//
//lint:ignore U1000 read by the assembly
var winogradInTable [4*4 + 4][8]float32

func init() {
	for i, p := range winogradPairs {
		for j, v := range [...]float32{p.c2, p.c1, p.c0, p.a} {
			winogradInTable[4*i+j] = lanes(v)
		}
	}
	for j, v := range [...]float32{winogradAll3, winogradAll2, winogradAll1, winogradAll0} {
		winogradInTable[16+j] = lanes(v)
	}
}

// lanes is a value in each of eight lanes.
func lanes(v float32) (all [8]float32) {
	for i := range all {
		all[i] = v
	}
	return all
}

func winogradInput(dst []float32, ldd int, x []float32, ldx, n int) {
	if level == cpu.Generic {
		winogradInputGeneric(dst, ldd, x, ldx, n)
		return
	}
	winogradInputAVX2(&dst[0], ldd, &x[0], ldx, n)
}

func winogradOutput(dst []float32, ldd int, m []float32, ldm int, bias []float32, n int) {
	if level == cpu.Generic {
		winogradOutputGeneric(dst, ldd, m, ldm, bias, n)
		return
	}
	winogradOutputAVX2(&dst[0], ldd, &m[0], ldm, &bias[0], n)
}
