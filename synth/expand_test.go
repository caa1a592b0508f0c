package synth

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mynah-tts/mynah/internal/nn"
	"github.com/mynah-tts/mynah/internal/paritytest"
	"github.com/mynah-tts/mynah/internal/safetensors"
)

// expand writes a checkpoint as a directory whose packed matrices are dequantized into
// bfloat16.
func expand(t *testing.T, dir string, m *Model) string {
	t.Helper()
	to := t.TempDir()
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	set, err := safetensors.OpenModel(os.DirFS(dir), ".")
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	dequantized := map[string]*nn.Linear{}
	for _, l := range m.packable() {
		if l.Packed() {
			dequantized[l.Name()+".weight"] = l
		}
	}
	if len(dequantized) == 0 {
		t.Fatal("nothing is packed")
	}
	var tensors []safetensors.Tensor
	for _, name := range set.Names() {
		info, _ := set.Info(name)
		tensor := safetensors.Tensor{Name: name, DType: info.DType, Shape: info.Shape, Data: safetensors.Bytes(set.Raw(name))}
		if l := dequantized[name]; l != nil {
			tensor.DType, tensor.Data = safetensors.BF16, safetensors.Values(bfloat16(l))
		}
		tensors = append(tensors, tensor)
	}
	var b bytes.Buffer
	if err := safetensors.Write(&b, tensors, nil); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(to, "model.safetensors"), b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return to
}

// bfloat16 returns a map's weights, rounded to the nearest.
func bfloat16(l *nn.Linear) []uint16 {
	w, row := make([]uint16, 0, l.In*l.Out), make([]float32, l.In)
	for o := range l.Out {
		l.Row(row, o)
		for _, v := range row {
			bits := math.Float32bits(v)
			w = append(w, uint16((bits+0x7fff+bits>>16&1)>>16))
		}
	}
	return w
}

// farthest is the largest difference in log-probability over the 20 likeliest codes of
// want in each frame.
func farthest(got, want [][]float32) (most float64) {
	for f := range want {
		w, g := logProbabilities(want[f]), logProbabilities(got[f])
		for _, id := range likeliest(want[f], 20) {
			most = max(most, math.Abs(w[id]-g[id]))
		}
	}
	return most
}

// longGreedy returns a greedy request that the model speaks for 20 frames at least, and
// the codes.
func longGreedy(t *testing.T, m *Model) (Request, []int32) {
	t.Helper()
	for n := range 20 {
		r := words(m)
		r.Text, r.MaxFrames = strings.Repeat("many words ", n+1), 24
		r.Sampling.Temperature = new(float64(0))
		if codes, _, done := say(t, m, r); done.Frames >= 20 {
			return r, codes
		}
	}
	t.Fatal("no text of the 20 tried is spoken for 20 frames")
	return Request{}, nil
}

// TestExpandedRunsAlike expands a checkpoint that is packed as W4A16 into bfloat16 and
// runs it over float32 activations. Either the greedy codes of 20 frames and more are
// equal, or, where the rounding of the weights flipped a near tie, the log-probabilities
// of the 20 likeliest codes under teacher forcing are within 0.05.
func TestExpandedRunsAlike(t *testing.T) {
	const bound = 0.05
	for _, name := range []string{"tiny-custom", "tiny-base"} {
		t.Run(name, func(t *testing.T) {
			dir := paritytest.Own(t, name).Dir
			packed := must(t, dir, Options{Precision: Precision{Talker: "int4-a16", Predictor: "f32"}})
			expanded := expand(t, dir, packed)
			r, codes := longGreedy(t, packed)
			m := must(t, expanded, Options{Precision: Float32Precision})
			got, _, _ := say(t, m, r)
			most := farthest(code0Forced(t, m, r, codes), code0Forced(t, packed, r, codes))
			t.Logf("greedy codes equal: %v, over %d frames; log-probabilities within %.4f", equalCodes(got, codes), len(codes)/m.cfg.Talker.Groups, most)
			if !equalCodes(got, codes) && !(most <= bound) {
				t.Errorf("greedy codes differ, and log-probabilities by %.3f, wanted %.2f", most, bound)
			}
		})
	}
}
