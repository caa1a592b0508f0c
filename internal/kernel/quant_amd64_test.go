//go:build !purego

package kernel

import (
	"testing"

	"github.com/mynah-tts/mynah/internal/cpu"
)

// TestWithoutVNNI runs the products of AVX2 that a CPU with AVX-VNNI would not choose.
func TestWithoutVNNI(t *testing.T) {
	if Level() == cpu.Generic || !haveVNNI {
		t.Skip("other tests run them")
	}
	defer func(have bool) { haveVNNI = have }(haveVNNI)
	haveVNNI = false
	TestMatMulQuantized(t)
}
