//go:build !purego

package kernel

import (
	"testing"

	"github.com/mynah-tts/mynah/internal/cpu"
)

// TestWithoutVNNI runs the products and convolutions that a CPU with dot products would not choose.
func TestWithoutVNNI(t *testing.T) {
	if Level() == cpu.Generic || !haveVNNI && !haveVNNI512 {
		t.Skip("other tests run them")
	}
	defer func(half, whole bool) { haveVNNI, haveVNNI512 = half, whole }(haveVNNI, haveVNNI512)
	haveVNNI, haveVNNI512 = false, false
	t.Run("MatMulQuantized", TestMatMulQuantized)
	t.Run("Int4Extremes", TestInt4Extremes)
	t.Run("ConvInt8", TestConvInt8)
	t.Run("ConvInt8Extremes", TestConvInt8Extremes)
}
