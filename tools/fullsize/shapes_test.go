package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/mynah-tts/mynah/internal/paritytest"
	"github.com/mynah-tts/mynah/internal/safetensors"
)

// TestParityShapes derives the tensors of every checkpoint of the parity set from its configs and compares with what
// the reference wrote: no name too many or too few, the same shapes and dtypes.
func TestParityShapes(t *testing.T) {
	for _, m := range paritytest.Models(t, "e2e") {
		t.Run(m.Name, func(t *testing.T) {
			model, codec := shapesOf(t, m.Dir)
			compareShapes(t, m.Dir, ".", model.tensors(), safetensors.BF16)
			compareShapes(t, m.Dir, codecDir, codec.tensors(), safetensors.F32)
		})
	}
}

// TestVoiceShapes does the same for the built-in voice, whose codec is in bfloat16 and has other numbers of layers
// and codebooks.
func TestVoiceShapes(t *testing.T) {
	dir := paritytest.VoiceDir(t)
	model, codec := shapesOf(t, dir)
	compareShapes(t, dir, ".", model.tensors(), safetensors.BF16)
	compareShapes(t, dir, codecDir, codec.tensors(), safetensors.BF16)
}

func shapesOf(t *testing.T, dir string) (modelShapes, codecShapes) {
	t.Helper()
	read := func(name string) []byte {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	model, err := parseModel(read("config.json"))
	if err != nil {
		t.Fatal(err)
	}
	codec, err := parseCodec(read(filepath.Join(codecDir, "config.json")))
	if err != nil {
		t.Fatal(err)
	}
	return model, codec
}

func compareShapes(t *testing.T, dir, sub string, list specs, dtype safetensors.DType) {
	t.Helper()
	set, err := safetensors.OpenModel(os.DirFS(dir), sub)
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	want := make(map[string][]int)
	for _, s := range list {
		if _, ok := want[s.name]; ok {
			t.Errorf("%s: tensor %s comes twice", sub, s.name)
		}
		want[s.name] = s.shape
	}
	for _, name := range set.Names() {
		info, _ := set.Info(name)
		shape, ok := want[name]
		delete(want, name)
		if !ok {
			t.Errorf("%s: tensor %s %v of the file has no rule", sub, name, info.Shape)
		} else if !slices.Equal(shape, info.Shape) || info.DType != dtype {
			t.Errorf("%s: tensor %s is %s %v by the rules and %s %v in the file", sub, name, dtype, shape, info.DType, info.Shape)
		}
	}
	for name, shape := range want {
		t.Errorf("%s: tensor %s %v is not in the file", sub, name, shape)
	}
}

// TestFullSizes checks the sums that the published sizes give: the linears of a talker layer, what a residual step
// reads, and the whole files.
func TestFullSizes(t *testing.T) {
	for _, c := range []struct {
		variant, kind  string
		tensors        int
		talkerLayer    int // values in the matrices of one talker layer
		predictorLayer int
		projection     bool
		values         int // of model.safetensors
	}{
		{"0.6b", "custom_voice", 28*11 + 5*11 + 2*15 + 9, 15728640, 15728640, false, 905788672},
		{"0.6b", "base", 28*11 + 5*11 + 2*15 + 9 + 76, 15728640, 15728640, false, 914643008},
		{"1.7b", "voice_design", 28*11 + 5*11 + 2*15 + 9 + 2, 50331648, 15728640, true, 1916676352},
	} {
		t.Run(c.variant+" "+c.kind, func(t *testing.T) {
			cfg, err := modelConfigOf(c.variant, c.kind)
			if err != nil {
				t.Fatal(err)
			}
			m, err := parseModel(encodeJSON(cfg))
			if err != nil {
				t.Fatal(err)
			}
			list := m.tensors()
			byName := make(map[string]int)
			total := 0
			for _, s := range list {
				byName[s.name] = product(s.shape)
				total += product(s.shape)
			}
			layer := func(prefix string) (n int) {
				for _, s := range []string{"self_attn.q", "self_attn.k", "self_attn.v", "self_attn.o", "mlp.gate", "mlp.up", "mlp.down"} {
					n += byName[fmt.Sprintf("%s.model.layers.4.%s_proj.weight", prefix, s)]
				}
				return n
			}
			if got := layer("talker"); got != c.talkerLayer {
				t.Errorf("talker layer of %d values, wanted %d", got, c.talkerLayer)
			}
			if got := layer("talker.code_predictor"); got != c.predictorLayer {
				t.Errorf("predictor layer of %d values, wanted %d", got, c.predictorLayer)
			}
			if _, ok := byName["talker.code_predictor.small_to_mtp_projection.weight"]; ok != c.projection {
				t.Errorf("projection %v, wanted %v", ok, c.projection)
			}
			if len(list) != c.tensors || total != c.values {
				t.Errorf("%d tensors with %d values, wanted %d with %d", len(list), total, c.tensors, c.values)
			}
		})
	}
	for _, c := range [][2]string{{"7b", "base"}, {"0.6b", "clone"}, {"", ""}} {
		if _, err := modelConfigOf(c[0], c[1]); err == nil {
			t.Errorf("variant %q and kind %q were accepted", c[0], c[1])
		}
	}
}
