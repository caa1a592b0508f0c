package encoder

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/mynah-tts/mynah/internal/kernel"
	"github.com/mynah-tts/mynah/internal/nn"
)

// record is everything that a run computes.
type record struct {
	stages map[string][]float32
	codes  []int32
}

func run(t *testing.T, e *Encoder, wk *nn.Work, samples []float32, chunk, slice, frames int) record {
	t.Helper()
	r, err := e.Start(samples)
	if err != nil {
		t.Fatal(err)
	}
	r.chunk, r.slice, r.frames = chunk, slice, frames
	rec := record{stages: map[string][]float32{}}
	r.tap = func(stage string, rows, channels int, x []float32) {
		rec.stages[stage] = append(rec.stages[stage], x...)
	}
	for done := false; !done; {
		if done, err = r.Step(wk); err != nil {
			t.Fatal(err)
		}
	}
	if rec.codes, err = r.Codes(); err != nil {
		t.Fatal(err)
	}
	return rec
}

// TestAnyCut wants the same bits in every stage however the clip is cut into steps, and however many workers there are.
func TestAnyCut(t *testing.T) {
	e := oddEncoder(t)
	for _, n := range []int{1, 29, 30, 60, 61, 1000, 4321} {
		samples := noise(n, uint64(n))
		want := run(t, e, work(t, 1), samples, 1000, sliceRows, sliceFrames)
		if len(want.codes) != e.Frames(n)*e.Groups() {
			t.Fatalf("%d samples: %d codes, wanted %d frames of %d", n, len(want.codes), e.Frames(n), e.Groups())
		}
		for _, cut := range []struct{ workers, chunk, slice, frames int }{
			{2, chunkRows, sliceRows, sliceFrames}, {1, 1, 1, 1}, {3, 7, 13, 5}, {5, 50, 96, 11},
		} {
			got := run(t, e, work(t, cut.workers), samples, cut.chunk, cut.slice, cut.frames)
			for stage, x := range want.stages {
				y := got.stages[stage]
				if !slices.EqualFunc(x, y, func(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) }) {
					t.Errorf("%d samples, cut %+v: stage %s differs", n, cut, stage)
				}
			}
			if !slices.Equal(got.codes, want.codes) {
				t.Errorf("%d samples, cut %+v: codes differ", n, cut)
			}
		}
	}
}

// TestCausal wants whole frames to have the same codes whatever follows them.
func TestCausal(t *testing.T) {
	e, wk := oddEncoder(t), work(t, 2)
	samples := noise(50*e.Hop(), 3)
	whole, err := e.Encode(context.Background(), wk, samples)
	if err != nil {
		t.Fatal(err)
	}
	for _, frames := range []int{1, 2, 17, 49} {
		part, err := e.Encode(context.Background(), wk, samples[:frames*e.Hop()])
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(part, whole[:frames*e.Groups()]) {
			t.Errorf("the first %d frames alone have other codes", frames)
		}
	}
	if distinct(whole) < 5 {
		t.Errorf("only %d different codes: the test shows nothing", distinct(whole))
	}
}

func distinct(codes []int32) int {
	seen := map[int32]bool{}
	for _, c := range codes {
		seen[c] = true
	}
	return len(seen)
}

// TestNearest compares the search with a plain one in float64, on entries most of which are closer to each other than the
// rounding of their products.
func TestNearest(t *testing.T) {
	const bins, dim = 300, 24
	rng := noise(bins*dim+dim, 5)
	b := codebook{entries: rng[:bins*dim], half: make([]float32, bins)}
	x := rng[bins*dim:]
	for i := range bins {
		e := b.entries[i*dim : (i+1)*dim]
		square := 0.0
		for d := range e {
			if i > 20 { // a cloud around x, with a far point as its origin
				e[d] = x[d] + 30 + e[d]*1e-4
			} else {
				e[d] += 60
			}
			square += float64(e[d]) * float64(e[d])
		}
		b.half[i] = float32(square / 2)
		b.longest = max(b.longest, math.Sqrt(square))
	}
	copy(b.entries[200*dim:201*dim], b.entries[100*dim:]) // equals: the first one counts
	b.half[200] = b.half[100]
	for try := range 200 {
		query := noise(dim, uint64(100+try))
		for d := range query {
			query[d] = x[d] + 30 + query[d]*1e-4
		}
		want, least := 0, math.Inf(1)
		for i := range bins {
			distance := 0.0
			for d := range query {
				diff := float64(query[d]) - float64(b.entries[i*dim+d])
				distance += diff * diff
			}
			if distance < least {
				want, least = i, distance
			}
		}
		products := make([]float32, bins)
		kernel.MatMulF32(products, bins, query, dim, b.entries, 1, dim, bins)
		if got := b.nearest(query, products); got != want {
			t.Fatalf("query %d: entry %d, wanted %d", try, got, want)
		}
	}
	query := slices.Clone(b.entries[200*dim : 201*dim])
	products := make([]float32, bins)
	kernel.MatMulF32(products, bins, query, dim, b.entries, 1, dim, bins)
	if got := b.nearest(query, products); got != 100 {
		t.Errorf("of two equal entries %d was chosen, wanted the first, 100", got)
	}
}

// TestRefusals gives clips that cannot be encoded.
func TestRefusals(t *testing.T) {
	e, wk := oddEncoder(t), work(t, 1)
	ctx := context.Background()
	most := e.MaxSamples()
	if want := 400 * 30; most != want {
		t.Fatalf("MaxSamples is %d, wanted %d", most, want)
	}
	bad := noise(100, 1)
	bad[17] = float32(math.Inf(-1))
	for _, c := range []struct {
		name    string
		samples []float32
		want    string
	}{
		{"none", nil, "codec/encoder: clip of 0 samples, allowed are 1 to 12000"},
		{"too many", make([]float32, most+1), "codec/encoder: clip of 12001 samples, allowed are 1 to 12000"},
		{"infinite", bad, "codec/encoder: sample 17 is -Inf, allowed are finite numbers"},
	} {
		if _, err := e.Encode(ctx, wk, c.samples); err == nil || err.Error() != c.want {
			t.Errorf("%s: %v, wanted %q", c.name, err, c.want)
		}
	}
	if _, err := e.Encode(ctx, wk, make([]float32, most)); err != nil {
		t.Errorf("the longest clip: %v", err)
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := e.Encode(ended, wk, bad[:10]); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	r, err := e.Start(bad[:10])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Codes(); !errors.Is(err, ErrRunning) {
		t.Errorf("codes before the end: %v", err)
	}
}

// TestOverflow wants NaN and infinity inside to be an error that stays, never codes.
func TestOverflow(t *testing.T) {
	e, wk := oddEncoder(t), work(t, 2)
	samples := noise(2000, 1)
	samples[1234] = math.MaxFloat32
	r, err := e.Start(samples)
	for done := false; err == nil && !done; {
		done, err = r.Step(wk)
	}
	var bad *NonFiniteError
	if !errors.As(err, &bad) || bad.Stage != "seanet" || math.Abs(bad.At-1234.0/24000) > 0.003 {
		t.Fatalf("%v, wanted a NonFiniteError near %.3f s", err, 1234.0/24000)
	}
	if _, again := r.Step(wk); again != err {
		t.Errorf("the next step: %v", again)
	}
	if _, again := r.Codes(); again != err {
		t.Errorf("the codes: %v", again)
	}
	for _, c := range []struct{ tensor, stage string }{
		{"encoder.encoder_transformer.layers.1.mlp.fc2.weight", "transformer"},
		{"encoder.downsample.conv.weight", "downsample"},
		{"encoder.quantizer.acoustic_residual_vector_quantizer.input_proj.weight", "downsample"},
	} {
		list := shapes(oddConfig())
		fill(list, 1)
		constant(t, list, c.tensor, math.MaxFloat32)
		e, err := LoadEncoder(openTensors(t, list), oddConfig())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.Encode(context.Background(), wk, noise(100, 1)); !errors.As(err, &bad) || bad.Stage != c.stage {
			t.Errorf("%s: %v, wanted stage %s", c.tensor, err, c.stage)
		}
	}
}

// TestStepAllocations wants nothing to be allocated while the convolutions and layers go on.
func TestStepAllocations(t *testing.T) {
	e, wk := oddEncoder(t), work(t, 2)
	r, err := e.Start(noise(e.MaxSamples(), 1))
	if err != nil {
		t.Fatal(err)
	}
	r.chunk, r.slice, r.frames = 3, 7, 5
	for _, s := range []stage{convolving, transforming, quantizing} {
		for r.stage != s {
			if _, err := r.Step(wk); err != nil {
				t.Fatal(err)
			}
		}
		step := func() {
			if _, err := r.Step(wk); err != nil {
				t.Fatal(err)
			}
		}
		step()
		if n := testing.AllocsPerRun(20, step); n != 0 || r.stage != s {
			t.Errorf("stage %d: %v allocations a step, now at stage %d", s, n, r.stage)
		}
	}
}

func ExampleEncoder_Frames() {
	e := &Encoder{cfg: Config{Hop: 1920}}
	fmt.Println(e.Frames(1), e.Frames(1920), e.Frames(1921))
	// Output: 1 1 2
}
