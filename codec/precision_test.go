package codec

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/mynah-tts/mynah/internal/paritytest"
	"github.com/mynah-tts/mynah/internal/safetensors"
)

// snr is the signal-to-noise ratio of samples against those of float32, in dB.
func snr(got, want []float32) float64 {
	var signal, noise float64
	for i, v := range want {
		d := float64(got[i]) - float64(v)
		signal += float64(v) * float64(v)
		noise += d * d
	}
	return 10 * math.Log10(signal/noise)
}

// utterance is codes whose samples precisions are compared by.
type utterance struct {
	name  string
	codes []int32
}

// voiceUtterances are the reference's codes of the built-in voice.
func voiceUtterances(t *testing.T) []utterance {
	var spec struct {
		Cases []struct {
			Name string `json:"name"`
		} `json:"cases"`
	}
	path := paritytest.Voice(t, "english.json")
	paritytest.ReadJSON(t, path, &spec)
	golden := paritytest.Open(t, filepath.Dir(path), "english.safetensors")
	var all []utterance
	for _, c := range spec.Cases {
		all = append(all, utterance{c.Name, golden.I32(t, c.Name+"/codes")})
	}
	return all
}

// decodeAt decodes with the decoder of a folder, changed before it is packed.
func decodeAt(t *testing.T, dir string, p Precision, all []utterance, change func(*Decoder)) [][]float32 {
	t.Helper()
	d := open(t, dir)
	if change != nil {
		change(d)
	}
	quantize(t, d, p)
	wk, sc := work(t, 2), d.NewScratch(4)
	var out [][]float32
	for _, u := range all {
		out = append(out, decode(t, d, wk, sc, d.NewState(4), u.codes, 4))
	}
	return out
}

// jitter moves the weights of convolutions by up to half a bfloat16 step, for weights that are bfloat16 as they are.
func jitter(d *Decoder) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, c := range d.packable() {
		moved := make([]float32, c.source.in*c.source.out*c.source.k)
		for i := range moved {
			moved[i] = c.source.at(i) * float32(1+(rng.Float64()-0.5)/128)
		}
		c.source.matrix = matrix{f32: moved}
	}
}

// besidePlain prints the same ratio for float32 with minimal filtering against plain sums.
func besidePlain(t *testing.T, name, dir string, all []utterance, want []float32) {
	t.Helper()
	plain := slices.Concat(decodeAt(t, dir, F32, all, func(d *Decoder) { d.plain = true })...)
	ratio := snr(want, plain)
	t.Logf("%-16s f32: SNR %.1f dB beside plain sums", name, ratio)
	if !(ratio >= 60) {
		t.Errorf("%s, f32: %.1f dB beside plain sums, wanted at least 60", name, ratio)
	}
}

// TestCodecPrecision prints the signal-to-noise ratio of every precision against float32, over all samples of a checkpoint, and wants
// it above a bound. Random checkpoints have no redundancy and amplify every error; the built-in voice is trained.
func TestCodecPrecision(t *testing.T) {
	compare := func(name, dir string, all []utterance, bounds map[Precision]float64, change func(*Decoder)) {
		t.Helper()
		want := slices.Concat(decodeAt(t, dir, F32, all, change)...)
		if change == nil {
			besidePlain(t, name, dir, all, want)
		}
		for _, p := range precisions[1:] {
			bound, ok := bounds[Precision(p)]
			if !ok || slow(Precision(p)) && change != nil {
				continue
			}
			some := all
			if slow(Precision(p)) {
				some = all[:1]
			}
			got := slices.Concat(decodeAt(t, dir, Precision(p), some, change)...)
			ratio := snr(got, want[:len(got)])
			t.Logf("%-16s %s: %d utterances, %d samples, SNR %.1f dB", name, p, len(some), len(got), ratio)
			if !(ratio >= bound) {
				t.Errorf("%s, %s: %.1f dB, wanted at least %.0f", name, p, ratio, bound)
			}
		}
	}
	voice := filepath.Join(paritytest.VoiceDir(t), "speech_tokenizer")
	compare("voice", voice, voiceUtterances(t), map[Precision]float64{BF16: math.Inf(1), dotted: 45, Int8: 33}, nil)
	compare("voice, jittered", voice, voiceUtterances(t), map[Precision]float64{BF16: 45, dotted: 45, Int8: 33}, jitter)
	for _, m := range paritytest.Models(t, "codec_decode") {
		var spec struct {
			Cases []decodeCase `json:"cases"`
		}
		golden := m.Stage(t, "codec_decode", &spec)
		var all []utterance
		for _, c := range spec.Cases {
			all = append(all, utterance{fmt.Sprint(c.Frames), golden.I32(t, fmt.Sprintf("T%d/codes", c.Frames))})
		}
		compare(m.Name, filepath.Join(m.Dir, "speech_tokenizer"), all, map[Precision]float64{BF16: 18, dotted: 18, Int8: 10}, nil)
	}
}

// TestExport writes packed weights and the checkpoint's other tensors, and loads them again: the same samples, and no other precision.
func TestExport(t *testing.T) {
	for _, name := range precisions {
		p := Precision(name)
		list := shapes(oddConfig(), 9)
		fill(list, 1)
		d := oddDecoderAt(t, p)
		tensors, instead := d.Export()
		kept := slices.DeleteFunc(slices.Clone(list), func(t safetensors.Tensor) bool { return slices.Contains(instead, t.Name) })
		packed, err := LoadDecoder(openTensors(t, append(slices.Clone(kept), tensors...)), oddConfig())
		if err != nil {
			t.Fatal(err)
		}
		if other := map[Precision]Precision{F32: BF16, BF16: Int8, dotted: Int8, Int8: F32}[p]; packed.Quantize(other) == nil {
			t.Errorf("%s: a file of it was taken for %s", p, other)
		}
		quantize(t, packed, p)
		if packed.FrameCost() != d.FrameCost() {
			t.Errorf("%s: cost %v from the file, %v before", p, packed.FrameCost(), d.FrameCost())
		}
		codes := randomCodes(d, 6, 1)
		want := decode(t, d, work(t, 2), d.NewScratch(3), d.NewState(3), codes, 3)
		if got := decode(t, packed, work(t, 2), packed.NewScratch(3), packed.NewState(3), codes, 3); !slices.Equal(got, want) {
			t.Errorf("%s: other samples from the file", p)
		}
		for i := range tensors {
			wrong := slices.Clone(tensors)
			wrong[i].Shape = append(slices.Clone(wrong[i].Shape[:len(wrong[i].Shape)-1]), wrong[i].Shape[len(wrong[i].Shape)-1]+1)
			fill(wrong[i:i+1], 1)
			if wrong[i].DType != safetensors.F32 {
				wrong[i].DType = safetensors.I64
				wrong[i].Shape = []int{1}
				wrong[i].Data = safetensors.Values([]int64{1})
			}
			_, err := LoadDecoder(openTensors(t, append(slices.Clone(kept), wrong...)), oddConfig())
			if err == nil {
				t.Errorf("%s: no error for a wrong %s", p, wrong[i].Name)
			}
		}
	}
}

// TestQuantizeRefuses wants one line about what cannot be.
func TestQuantizeRefuses(t *testing.T) {
	d := oddDecoder(t)
	if err := d.Quantize("int4"); err == nil || err.Error() != `codec: precision is "int4", allowed are f32, bf16, int8` {
		t.Error(err)
	}
	if err := d.Quantize(BF16); err != nil {
		t.Fatal(err)
	}
	if err := d.Quantize(Int8); err == nil || err.Error() != "codec: packed as bf16, precision int8 was asked for" {
		t.Error(err)
	}
	list := shapes(oddConfig(), 9)
	fill(list, 1)
	constant(t, list, "decoder.decoder.2.block.3.conv1.conv.weight", float32(math.NaN()))
	d, err := LoadDecoder(openTensors(t, list), oddConfig())
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Quantize(Int8); err == nil || err.Error() != "codec: decoder.decoder.2.block.3.conv1.conv: weights with NaN or infinity" {
		t.Error(err)
	}
}

// TestEncodePairs checks the bound on neighbouring codes and the error of the codes, for weights of many sizes.
func TestEncodePairs(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range 300 {
		w, codes := make([]float32, 64), make([]int8, 64)
		size := math.Ldexp(1, i-160)
		for i := range w {
			w[i] = float32(size * rng.NormFloat64() * (1 + float64(rng.IntN(2)*9)))
		}
		scale := encodePairs(codes, w)
		if scale == 0 && size > 0x1p-118 {
			t.Errorf("size %g: scale 0", size)
		}
		for i := range codes {
			if pair := abs(codes[i]) + abs(codes[i^1]); pair > 128 {
				t.Errorf("size %g: neighbours %d and %d", size, codes[i], codes[i^1])
			}
			if diff := math.Abs(float64(w[i]) - float64(scale)*float64(codes[i])); scale > 0 && diff > 0.5001*float64(scale) {
				t.Errorf("size %g: %g became %d times %g", size, w[i], codes[i], scale)
			}
		}
	}
}

func abs(code int8) int { return max(int(code), -int(code)) }
