package speaker

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/mynah-tts/mynah/internal/safetensors"
)

// TestLoadErrors takes each tensor away, gives it another shape and another type: the error names it.
func TestLoadErrors(t *testing.T) {
	list := shapes(oddConfig())
	fill(list, 1)
	for i := range list {
		name := list[i].Name
		check := func(what, problem string, list []safetensors.Tensor) {
			t.Helper()
			_, err := LoadEncoder(openTensors(t, list), oddConfig())
			var bad *safetensors.TensorError
			if !errors.As(err, &bad) {
				t.Fatalf("%s: %s: %v, wanted a TensorError", name, what, err)
			}
			if bad.Tensor != name || bad.Problem != problem || bad.File == "" || bad.Wanted == "" || !strings.HasPrefix(err.Error(), "codec/speaker: ") {
				t.Errorf("%s: %s: %v", name, what, err)
			}
		}
		check("absent", "missing", slices.Delete(slices.Clone(list), i, i+1))

		wider := slices.Clone(list)
		wider[i].Shape = slices.Clone(wider[i].Shape)
		wider[i].Shape[len(wider[i].Shape)-1]++
		fill(wider[i:i+1], 1)
		check("wider", "shape", wider)

		integers := slices.Clone(list)
		integers[i].DType = safetensors.I32
		check("of integers", "dtype", integers)
	}
}

// TestParseConfig changes one value at a time.
func TestParseConfig(t *testing.T) {
	data, err := json.Marshal(map[string]any{"tts_model_type": "base", "speaker_encoder_config": oddConfig()})
	if err != nil {
		t.Fatal(err)
	}
	good := string(data)
	if c, err := ParseConfig(data); err != nil || !reflect.DeepEqual(c, oddConfig()) {
		t.Fatalf("%+v, %v", c, err)
	}
	for _, c := range []struct{ old, new, want string }{
		{`"sample_rate":24000`, `"sample_rate":16000`, "codec/speaker: config: speaker_encoder_config.sample_rate is 16000, only 24000 is known"},
		{`"mel_dim":128`, `"mel_dim":80`, "mel_dim is 80, only 128 is known"},
		{`"enc_dim":13`, `"enc_dim":-1`, "enc_dim is -1, allowed are 1 to 65536"},
		{`"enc_res2net_scale":3`, `"enc_res2net_scale":1`, "enc_res2net_scale is 1, allowed are 2 to 65536"},
		{`"enc_res2net_scale":3`, `"enc_res2net_scale":4`, "enc_channels is [15 15 15 21], must be multiples of enc_res2net_scale (4)"},
		{`"enc_channels":[15,15,15,21]`, `"enc_channels":[15,15]`, "length of enc_channels is 2, allowed are 3 to 16"},
		{`"enc_channels":[15,15,15,21]`, `"enc_channels":[15,15,18,21]`, "enc_channels is [15 15 18 21], all but the last must be equal"},
		{`"enc_channels":[15,15,15,21]`, `"enc_channels":[15,15,15,0]`, "enc_channels is 0, allowed are 1 to 65536"},
		{`"enc_kernel_sizes":[5,3,5,3]`, `"enc_kernel_sizes":[5,3,3]`, "length of enc_kernel_sizes is 3, only 4 is known"},
		{`"enc_kernel_sizes":[5,3,5,3]`, `"enc_kernel_sizes":[4,3,5,3]`, "block 0 cannot reach equally far to both sides"},
		{`"enc_dilations":[1,4,2,2]`, `"enc_dilations":[1,4,2,0]`, "enc_dilations is 0, allowed are 1 to 1024"},
		{`"enc_dim":13`, `"enc_dim":"x"`, "codec/speaker: config: speaker_encoder_config.enc_dim is of type string"},
	} {
		if strings.Count(good, c.old) != 1 {
			t.Fatalf("%s is not in the config once", c.old)
		}
		_, err := ParseConfig([]byte(strings.Replace(good, c.old, c.new, 1)))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, wanted %q", c.new, err, c.want)
		}
	}
	for _, none := range []string{`{}`, `{"speaker_encoder_config":null}`} {
		if _, err := ParseConfig([]byte(none)); !errors.Is(err, ErrNone) {
			t.Errorf("%s: %v", none, err)
		}
	}
	// An empty object means the values of the reference.
	c, err := ParseConfig([]byte(`{"speaker_encoder_config":{}}`))
	want := Config{SampleRate: 24000, Bands: 128, Dim: 1024, Channels: []int{512, 512, 512, 512, 1536}, Kernels: []int{5, 3, 3, 3, 1},
		Dilations: []int{1, 2, 3, 4, 1}, Scale: 8, Squeeze: 128, Attention: 128}
	if err != nil || !reflect.DeepEqual(c, want) {
		t.Errorf("%+v, %v", c, err)
	}
}
