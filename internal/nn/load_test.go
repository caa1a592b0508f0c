package nn

import (
	"bytes"
	"errors"
	"runtime"
	"testing"
	"testing/fstest"

	"github.com/mynah-tts/mynah/internal/safetensors"
)

// weights is a checkpoint of these tensors.
func weights(t *testing.T, tensors ...safetensors.Tensor) *safetensors.Set {
	t.Helper()
	var b bytes.Buffer
	if err := safetensors.Write(&b, tensors, nil); err != nil {
		t.Fatal(err)
	}
	w, err := safetensors.Open(fstest.MapFS{"m.safetensors": {Data: b.Bytes()}}, "m.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

// TestLinearOfNothing refuses a matrix without inputs or outputs, in every form, by the name of its tensor.
func TestLinearOfNothing(t *testing.T) {
	tensor := func(name string, dtype safetensors.DType, shape ...int) safetensors.Tensor {
		return safetensors.Tensor{Name: name, DType: dtype, Shape: shape}
	}
	for name, c := range map[string]struct {
		in, out int
		tensors []safetensors.Tensor
	}{
		"no outputs":           {6, 0, []safetensors.Tensor{tensor("m.weight", safetensors.F32, 0, 6)}},
		"no inputs":            {0, 6, []safetensors.Tensor{tensor("m.weight", safetensors.F32, 6, 0)}},
		"bfloat16, no outputs": {6, 0, []safetensors.Tensor{tensor("m.weight", safetensors.BF16, 0, 6)}},
		"int8, no outputs": {6, 0, []safetensors.Tensor{
			tensor("m.int8.codes", safetensors.I8, 0, 16, 16, 4), tensor("m.int8.scale", safetensors.F32, 0, 16), tensor("m.int8.sum", safetensors.I32, 0, 16),
		}},
		"int4, no outputs": {6, 0, []safetensors.Tensor{
			tensor("m.int4.codes", safetensors.U32, 0, 8, 16), tensor("m.int4.scale", safetensors.F32, 0, 1, 16), tensor("m.int4.zero", safetensors.U8, 0, 1, 16),
		}},
	} {
		_, err := LoadLinear(weights(t, c.tensors...), "m", c.in, c.out, false)
		var bad *safetensors.TensorError
		if !errors.As(err, &bad) || bad.Tensor != c.tensors[0].Name || bad.Problem != "shape" || bad.File == "" || bad.Found == "" {
			t.Errorf("%s: %v, wanted an error about the shape of %s", name, err, c.tensors[0].Name)
		}
	}
	_, err := LoadLinear(weights(t), "m", 6, 0, false)
	var bad *safetensors.TensorError
	if !errors.As(err, &bad) || bad.Problem != "missing" {
		t.Errorf("no tensor at all: %v", err)
	}
}

// TestLayersTakeNoMemory claims a million layers of which the checkpoint has none.
func TestLayersTakeNoMemory(t *testing.T) {
	cfg := StackConfig{Layers: maxSize, Hidden: 8, Heads: 1, KVHeads: 1, HeadDim: 8, FFN: 8, Eps: 1e-6, Theta: 1e4}
	w := weights(t)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := LoadStack(w, "", cfg)
	runtime.ReadMemStats(&after)
	var bad *safetensors.TensorError
	if !errors.As(err, &bad) || bad.Tensor != "layers.0.self_attn.q_proj.weight" {
		t.Errorf("%v, wanted an error about the first tensor", err)
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > 1<<20 {
		t.Errorf("%d bytes were allocated for layers that are not there", took)
	}
}
