//go:build !purego

package kernel

import (
	"testing"

	"github.com/mynah-tts/mynah/internal/cpu"
)

// TestConvInt8LeavesNoPointerBehind: the tiles advance two pointers in the memory of their
// caller, in the end to behind what they point into. The garbage collector must not see that.
func TestConvInt8LeavesNoPointerBehind(t *testing.T) {
	if level == cpu.Generic {
		t.Skip("no assembly at this level")
	}
	const rows, taps, panels = 3, 2, 2
	kp := Int8K(8)
	var (
		dst     = make([]float32, rows*panels*PanelWidth)
		x       = make([]uint8, (rows+taps)*kp)
		of      = make([]ConvRow, rows+taps)
		weights = make([]int8, panels*PanelWidth*taps*kp)
		scale   = make([]float32, panels*PanelWidth)
		sum     = make([]int32, panels*PanelWidth*taps)
	)
	for name, run := range map[string]func(*convInt8Args){
		"avx2":    func(a *convInt8Args) { a.runAVX2(rows) },
		"avxvnni": func(a *convInt8Args) { a.runAVXVNNI(rows) },
		"avx512":  func(a *convInt8Args) { a.runAVX512(rows, panels) },
	} {
		if name == "avxvnni" && !haveVNNI || name == "avx512" && level != cpu.AVX512 {
			continue
		}
		a := convInt8Args{
			dst: &dst[0], x: &x[0], rows: &of[0], w: &weights[0], ahead: &weights[0], wScale: &scale[0], wSum: &sum[0], sum: &sum[0], bias: &scale[0],
			ldd: 4 * panels * PanelWidth, ldx: kp, tapStep: kp, rowStep: 8, tapRows: 8, taps: taps, fours: kp / 4, tiles: 1,
			panelStep: PanelWidth * taps * kp, sumStep: 4 * PanelWidth * taps,
		}
		a.mask(panels * PanelWidth)
		if run(&a); a.sum != nil || a.rows != nil {
			t.Errorf("%s: left %p and %p, the end of the sums is %p", name, a.sum, a.rows, &sum[len(sum)-1])
		}
	}
}
