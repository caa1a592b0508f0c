package nn

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"testing/fstest"

	"github.com/mynah-tts/mynah/internal/safetensors"
	"github.com/mynah-tts/mynah/internal/team"
)

// testConfig has odd sizes on purpose: nothing is a multiple of a register.
var testConfig = StackConfig{
	Layers: 2, Hidden: 36, Heads: 6, KVHeads: 3, HeadDim: 10, FFN: 52, Eps: 1e-6, Theta: 1e4, QKNorm: true, LayerScale: true,
}

// testStack writes a random stack as a checkpoint and loads it.
func testStack(t testing.TB, cfg StackConfig) *Stack {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, uint64(cfg.Window)))
	var tensors []safetensors.Tensor
	add := func(name string, base, spread float64, shape ...int) {
		n := 1
		for _, d := range shape {
			n *= d
		}
		values := make([]float32, n)
		for i := range values {
			values[i] = float32(base + spread*rng.NormFloat64())
		}
		tensors = append(tensors, safetensors.Tensor{Name: name, DType: safetensors.F32, Shape: shape, Data: safetensors.Values(values)})
	}
	q, kv := cfg.Heads*cfg.HeadDim, cfg.KVHeads*cfg.HeadDim
	for i := range cfg.Layers {
		p := fmt.Sprintf("layers.%d.", i)
		add(p+"self_attn.q_proj.weight", 0, 0.2, q, cfg.Hidden)
		add(p+"self_attn.k_proj.weight", 0, 0.2, kv, cfg.Hidden)
		add(p+"self_attn.v_proj.weight", 0, 0.2, kv, cfg.Hidden)
		add(p+"self_attn.o_proj.weight", 0, 0.2, cfg.Hidden, q)
		add(p+"mlp.gate_proj.weight", 0, 0.2, cfg.FFN, cfg.Hidden)
		add(p+"mlp.up_proj.weight", 0, 0.2, cfg.FFN, cfg.Hidden)
		add(p+"mlp.down_proj.weight", 0, 0.2, cfg.Hidden, cfg.FFN)
		add(p+"input_layernorm.weight", 1, 0.1, cfg.Hidden)
		add(p+"post_attention_layernorm.weight", 1, 0.1, cfg.Hidden)
		add(p+"self_attn.q_norm.weight", 1, 0.1, cfg.HeadDim)
		add(p+"self_attn.k_norm.weight", 1, 0.1, cfg.HeadDim)
		add(p+"self_attn_layer_scale.scale", 0.5, 0.1, cfg.Hidden)
		add(p+"mlp_layer_scale.scale", 0.5, 0.1, cfg.Hidden)
	}
	add("norm.weight", 1, 0.1, cfg.Hidden)
	var file bytes.Buffer
	if err := safetensors.Write(&file, tensors, nil); err != nil {
		t.Fatal(err)
	}
	set, err := safetensors.Open(fstest.MapFS{"s.safetensors": {Data: file.Bytes()}}, "s.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	s, err := LoadStack(set, "", cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// inputs returns rows of random activations.
func inputs(n, width int) []float32 {
	rng := rand.New(rand.NewPCG(9, 9))
	x := make([]float32, n*width)
	for i := range x {
		x[i] = float32(rng.NormFloat64())
	}
	return x
}

// forward appends rows to a cache in slices of the given sizes and returns their outputs.
func forward(s *Stack, wk *Work, cache *Cache, x []float32, sizes func() int) []float32 {
	out := append([]float32(nil), x...)
	for from := 0; from < len(x)/s.Hidden; {
		n := min(sizes(), len(x)/s.Hidden-from)
		rows := make([]Row, n)
		for i := range rows {
			rows[i].Cache = cache
		}
		s.Forward(wk, s.NewScratch(n), out[from*s.Hidden:(from+n)*s.Hidden], rows, nil)
		from += n
	}
	return out
}

func sameBits(t *testing.T, what string, got, want []float32) {
	t.Helper()
	for i := range want {
		if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
			t.Fatalf("%s: [%d] is %g, wanted %g", what, i, got[i], want[i])
		}
	}
}

// precisions are all ways to hold a stack.
var precisions = []Precision{F32, BF16, Int8, Int4A16, Int4A8}

// TestSlicesAreExact appends a sequence row by row, in random slices and at once, with and without a window, at every precision
// and with several workers: all bits are equal. The sequence is long enough for a cache to grow and for a window to slide.
func TestSlicesAreExact(t *testing.T) {
	for _, window := range []int{0, 1, 7, 72} {
		for _, p := range precisions {
			t.Run(fmt.Sprintf("window %d/%s", window, p), func(t *testing.T) {
				cfg := testConfig
				cfg.Window = window
				s := testStack(t, cfg)
				if err := s.Quantize(p, nil); err != nil {
					t.Fatal(err)
				}
				n := 300
				if window == 0 && p == F32 {
					n = firstPositions + 40
				}
				x := inputs(n, cfg.Hidden)
				want := forward(s, NewWork(nil), s.NewCache(n), x, func() int { return n })
				one := forward(s, NewWork(nil), s.NewCache(n), x, func() int { return 1 })
				sameBits(t, "row by row", one, want)
				tm := team.New(3)
				defer tm.Close()
				rng := rand.New(rand.NewPCG(5, 5))
				cache := s.NewCache(n)
				if window > 0 {
					cache = s.NewCache(13) // rows at once, not positions: the buffer must slide
				}
				slices := forward(s, NewWork(tm), cache, x, func() int { return 1 + rng.IntN(13) })
				sameBits(t, "random slices", slices, want)
				two := forward(s, NewWork(tm).Limit(2), s.NewCache(n), x, func() int { return n })
				sameBits(t, "two workers of three", two, want)
			})
		}
	}
}

// TestWindowIsLocal checks that a row sees window positions and no more: far beyond the window, a sequence with another
// beginning gives the same bits.
func TestWindowIsLocal(t *testing.T) {
	cfg := testConfig
	cfg.Layers, cfg.Window = 1, 7
	s := testStack(t, cfg)
	const n = 40
	x := inputs(n, cfg.Hidden)
	changed := append([]float32(nil), x...)
	changed[0] += 1
	want := forward(s, NewWork(nil), s.NewCache(n), x, func() int { return n })
	got := forward(s, NewWork(nil), s.NewCache(n), changed, func() int { return n })
	sameBits(t, "beyond the window", got[cfg.Window*cfg.Hidden:], want[cfg.Window*cfg.Hidden:])
	at := (cfg.Window - 1) * cfg.Hidden
	if got[at] == want[at] && got[at+1] == want[at+1] {
		t.Error("the last row of the window does not see its first")
	}
}

// TestPrefixTakesWhatItSays: what keeps prefixes asks for their size before it has them copied,
// and counts no more than is there.
func TestPrefixTakesWhatItSays(t *testing.T) {
	s := testStack(t, testConfig)
	c := s.NewCache(40)
	forward(s, NewWork(nil), c, inputs(17, testConfig.Hidden), func() int { return 17 })
	p := c.Prefix()
	if want := int64(cap(p.k)+cap(p.v)) * 4; c.PrefixBytes() != want || p.Bytes() != want {
		t.Errorf("%d bytes of a prefix were told before, %d after, %d are taken", c.PrefixBytes(), p.Bytes(), want)
	}
}

// TestPrecisionError states how far each precision is from float32 on random weights: the relative rms difference of a
// layer stack's outputs. Random weights of this size are a hard case: trained ones lie closer.
func TestPrecisionError(t *testing.T) {
	cfg := testConfig
	cfg.Hidden, cfg.HeadDim, cfg.FFN = 128, 32, 256
	x := inputs(20, cfg.Hidden)
	run := func(p Precision) []float32 {
		s := testStack(t, cfg)
		if err := s.Quantize(p, nil); err != nil {
			t.Fatal(err)
		}
		return forward(s, NewWork(nil), s.NewCache(20), x, func() int { return 20 })
	}
	want := run(F32)
	for p, bound := range map[Precision]float64{BF16: 0.01, Int8: 0.05, Int4A16: 0.4, Int4A8: 0.4} {
		var diff, total float64
		for i, y := range run(p) {
			diff += float64(y-want[i]) * float64(y-want[i])
			total += float64(want[i]) * float64(want[i])
		}
		e := math.Sqrt(diff / total)
		t.Logf("%s: relative rms difference %.4f", p, e)
		if !(e > 0 && e < bound) {
			t.Errorf("%s: relative rms difference %.4f, allowed above 0 and below %g", p, e, bound)
		}
	}
}

// TestExpandedWeights checks that int4 over 16-bit activations is float32 over the dequantized weights, but for the rounding
// of activations.
func TestExpandedWeights(t *testing.T) {
	cfg := testConfig
	packed, expanded := testStack(t, cfg), testStack(t, cfg)
	if err := packed.Quantize(Int4A16, nil); err != nil {
		t.Fatal(err)
	}
	for i := range packed.layers {
		p, e := &packed.layers[i], &expanded.layers[i]
		for _, m := range [][2]*Linear{{&p.Q, &e.Q}, {&p.K, &e.K}, {&p.V, &e.V}, {&p.O, &e.O}, {&p.Gate, &e.Gate}, {&p.Up, &e.Up}, {&p.Down, &e.Down}} {
			weights := make([]float32, m[0].Out*m[0].In)
			for o := range m[0].Out {
				m[0].Row(weights[o*m[0].In:(o+1)*m[0].In], o)
			}
			*m[1] = NewLinear(weights, nil, m[0].In, m[0].Out)
		}
	}
	x := inputs(30, cfg.Hidden)
	got := forward(packed, NewWork(nil), packed.NewCache(30), x, func() int { return 30 })
	want := forward(expanded, NewWork(nil), expanded.NewCache(30), x, func() int { return 30 })
	for i := range want {
		if math.Abs(float64(got[i]-want[i])) > 2e-3*(1+math.Abs(float64(want[i]))) {
			t.Fatalf("[%d] is %g packed, %g expanded", i, got[i], want[i])
		}
	}
}

// TestForwardAllocatesNothing guards a step at every precision.
func TestForwardAllocatesNothing(t *testing.T) {
	tm := team.New(2)
	defer tm.Close()
	for _, p := range precisions {
		s := testStack(t, testConfig)
		if err := s.Quantize(p, nil); err != nil {
			t.Fatal(err)
		}
		wk, sc := NewWork(tm), s.NewScratch(2)
		rows := []Row{{s.NewCache(400)}, {s.NewCache(400)}}
		x := inputs(2, s.Hidden)
		s.Forward(wk, sc, x, rows, nil)
		if n := testing.AllocsPerRun(50, func() { s.Forward(wk, sc, x, rows, nil) }); n != 0 {
			t.Errorf("%s: a step allocates %v times", p, n)
		}
	}
}

// TestUnknownPrecision checks the refusal.
func TestUnknownPrecision(t *testing.T) {
	if err := testStack(t, testConfig).Quantize("int3", nil); err == nil {
		t.Error("precision int3 was accepted")
	}
}

// TestLimit checks how many workers jobs have.
func TestLimit(t *testing.T) {
	tm := team.New(4)
	defer tm.Close()
	for limit, want := range map[int]int{0: 4, 1: 1, 2: 2, 4: 4, 9: 4, -1: 4} {
		wk := NewWork(tm).Limit(limit)
		got := counter{}
		wk.Run(&got, inlineMACs)
		if wk.Workers() != want || got.workers != want {
			t.Errorf("limit %d: %d workers, jobs cut in %d, want %d", limit, wk.Workers(), got.workers, want)
		}
	}
	if n := NewWork(nil).Limit(3).Workers(); n != 1 {
		t.Errorf("%d workers without a team", n)
	}
}

type counter struct{ workers int }

func (c *counter) Part(worker, workers int) {
	if worker == 0 {
		c.workers = workers
	}
}
