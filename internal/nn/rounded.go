package nn

import (
	"github.com/mynah-tts/mynah/internal/kernel"
	"github.com/mynah-tts/mynah/internal/safetensors"
)

// Round holds float32 weights as bfloat16 from now on, rounded to nearest: half the
// bytes to read. Activations stay float32. Weights in any other form stay as they are.
func (l *Linear) Round() {
	if l.f32 != nil {
		l.bf16, l.f32 = kernel.PackBF16(l.f32), nil
	}
}

// Rounded returns weights that are bfloat16 as a tensor that LoadLinear takes; false
// for those of another form.
func (l *Linear) Rounded() (safetensors.Tensor, bool) {
	if l.bf16 == nil {
		return safetensors.Tensor{}, false
	}
	return safetensors.Tensor{
		Name: l.name + ".weight", DType: safetensors.BF16, Shape: []int{l.Out, l.In}, Data: safetensors.Values(l.bf16),
	}, true
}
