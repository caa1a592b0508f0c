package speaker

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/mynah-tts/mynah/internal/audio/mel"
)

// TestAnyWorkers wants the same bits in every stage whatever the number of workers, also where it changes on the way.
func TestAnyWorkers(t *testing.T) {
	e := random(t, oddConfig())
	for _, n := range []int{e.MinSamples(), 1500, 30000} {
		samples := noise(n, uint64(n))
		_, want := embed(t, e, work(t, 1), samples)
		for _, workers := range []int{2, 3, 7} {
			_, got := embed(t, e, work(t, workers), samples)
			for stage, x := range want {
				if !slices.EqualFunc(x, got[stage], func(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) }) {
					t.Errorf("%d samples, %d workers: stage %s differs", n, workers, stage)
				}
			}
		}
	}
}

// TestAnyStep wants the same vector however small the steps are, and steps that do not grow with the clip.
func TestAnyStep(t *testing.T) {
	e, wk := random(t, oddConfig()), work(t, 2)
	for _, n := range []int{e.MinSamples(), 30000} {
		samples := noise(n, 3)
		want, err := e.Embed(context.Background(), wk, samples)
		if err != nil {
			t.Fatal(err)
		}
		before := 1
		for _, macs := range []int{1 << 40, 1 << 18, 1} {
			r, err := e.Start(samples)
			if err != nil {
				t.Fatal(err)
			}
			r.stepped = macs
			steps := 0
			for done := false; !done; steps++ {
				if done, err = r.Step(wk); err != nil {
					t.Fatal(err)
				}
			}
			got, _ := r.Vector()
			if !slices.Equal(got, want) {
				t.Errorf("%d samples in steps of %d: another vector", n, macs)
			}
			if steps < before {
				t.Errorf("%d samples: %d steps of %d, %d larger ones", n, steps, macs, before)
			}
			before = steps
		}
		if before < 20 {
			t.Errorf("%d samples: %d of the smallest steps", n, before)
		}
	}
}

// TestPlain compares every stage with a plain computation in float64 that follows the formulas.
func TestPlain(t *testing.T) {
	c := oddConfig()
	e := random(t, c)
	list := shapes(c)
	fill(list, 1)
	w := openTensors(t, list)
	weights := map[string][]float32{}
	for _, tensor := range list {
		values, err := w.F32(tensor.Name, tensor.Shape...)
		if err != nil {
			t.Fatal(err)
		}
		weights[tensor.Name] = values
	}
	_, got := embed(t, e, work(t, 2), noise(20000, 4))
	want := plain{c, weights}.forward(got["mel"])
	for _, stage := range []string{"block_0", "block_1", "block_2", "mfa", "asp", "embedding"} {
		x, y := got[stage], want[stage]
		if len(x) != len(y) {
			t.Fatalf("%s: %d values, wanted %d", stage, len(x), len(y))
		}
		peak, worst := 0.0, 0.0
		for i := range y {
			peak, worst = max(peak, math.Abs(y[i])), max(worst, math.Abs(float64(x[i])-y[i]))
		}
		if !(worst <= 1e-5*peak) {
			t.Errorf("%s: off by %g at a peak of %g", stage, worst, peak)
		}
	}
}

// plain is the network as its formulas have it, on [time][channels].
type plain struct {
	c Config
	w map[string][]float32
}

func (p plain) conv(name string, x [][]float64, taps, dilation int, act func(float64) float64) [][]float64 {
	weight, bias := p.w["speaker_encoder."+name+".weight"], p.w["speaker_encoder."+name+".bias"]
	y := make([][]float64, len(x))
	for r := range x {
		y[r] = make([]float64, len(bias))
		for o := range bias {
			sum := float64(bias[o])
			for k := range taps {
				at := r + (k-(taps-1)/2)*dilation
				if at < 0 {
					at = -at
				} else if at >= len(x) {
					at = 2*(len(x)-1) - at
				}
				for i, v := range x[at] {
					sum += v * float64(weight[(o*len(x[at])+i)*taps+k])
				}
			}
			y[r][o] = act(sum)
		}
	}
	return y
}

func (p plain) forward(frames []float32) map[string][]float64 {
	same, positive := func(v float64) float64 { return v }, func(v float64) float64 { return max(v, 0) }
	x := make([][]float64, len(frames)/mel.Bands)
	for r := range x {
		for _, v := range frames[r*mel.Bands : (r+1)*mel.Bands] {
			x[r] = append(x[r], float64(v))
		}
	}
	stages := map[string][]float64{}
	keep := func(name string, x [][]float64) [][]float64 {
		stages[name] = slices.Concat(x...)
		return x
	}
	x = keep("block_0", p.conv("blocks.0.conv", x, p.c.Kernels[0], p.c.Dilations[0], positive))
	wide := make([][]float64, len(x))
	for i := 1; i < len(p.c.Channels)-1; i++ {
		b := fmt.Sprintf("blocks.%d.", i)
		y := p.conv(b+"tdnn1.conv", x, 1, 1, positive)
		n := p.c.Channels[i] / p.c.Scale
		for part := 1; part < p.c.Scale; part++ {
			in := make([][]float64, len(y))
			for r := range y {
				in[r] = slices.Clone(y[r][part*n : (part+1)*n])
				for k := range in[r] {
					if part > 1 {
						in[r][k] += y[r][(part-1)*n+k]
					}
				}
			}
			for r, row := range p.conv(fmt.Sprintf("%sres2net_block.blocks.%d.conv", b, part-1), in, p.c.Kernels[i], p.c.Dilations[i], positive) {
				copy(y[r][part*n:], row)
			}
		}
		y = p.conv(b+"tdnn2.conv", y, 1, 1, positive)
		mean, _ := moments(y, nil)
		s := p.conv(b+"se_block.conv1", [][]float64{mean}, 1, 1, positive)
		s = p.conv(b+"se_block.conv2", s, 1, 1, func(v float64) float64 { return 1 / (1 + math.Exp(-v)) })
		for r := range x {
			x[r] = slices.Clone(x[r])
			for k := range x[r] {
				x[r][k] += y[r][k] * s[0][k]
			}
			wide[r] = append(wide[r], x[r]...)
		}
		keep(fmt.Sprintf("block_%d", i), x)
	}
	last := len(p.c.Channels) - 1
	x = keep("mfa", p.conv("mfa.conv", wide, p.c.Kernels[last], p.c.Dilations[last], positive))
	mean, dev := moments(x, nil)
	in := make([][]float64, len(x))
	for r := range x {
		in[r] = slices.Concat(x[r], mean, dev)
	}
	a := p.conv("asp.tdnn.conv", in, 1, 1, func(v float64) float64 { return math.Tanh(max(v, 0)) })
	a = p.conv("asp.conv", a, 1, 1, same)
	for k := range a[0] {
		total := 0.0
		for r := range a {
			a[r][k] = math.Exp(a[r][k])
			total += a[r][k]
		}
		for r := range a {
			a[r][k] /= total
		}
	}
	mean, dev = moments(x, a)
	pooled := keep("asp", [][]float64{slices.Concat(mean, dev)})
	keep("embedding", p.conv("fc", pooled, 1, 1, same))
	return stages
}

// moments returns mean and deviation over time under weights, or equal ones.
func moments(x, weights [][]float64) (mean, dev []float64) {
	n := len(x[0])
	mean, dev = make([]float64, n), make([]float64, n)
	weight := func(r, k int) float64 {
		if weights == nil {
			return 1 / float64(len(x))
		}
		return weights[r][k]
	}
	for k := range n {
		for r := range x {
			mean[k] += weight(r, k) * x[r][k]
		}
		for r := range x {
			dev[k] += weight(r, k) * (x[r][k] - mean[k]) * (x[r][k] - mean[k])
		}
		dev[k] = math.Sqrt(max(dev[k], 1e-12))
	}
	return mean, dev
}

// TestRefusals gives clips that cannot be used.
func TestRefusals(t *testing.T) {
	e, wk := random(t, oddConfig()), work(t, 1)
	ctx := context.Background()
	if e.MinSamples() != 5*256 || e.MaxSamples() != 7200000 {
		t.Fatalf("%d to %d samples", e.MinSamples(), e.MaxSamples())
	}
	bad := noise(2000, 1)
	bad[1017] = float32(math.NaN())
	for _, c := range []struct {
		name    string
		samples []float32
		want    string
	}{
		{"none", nil, "codec/speaker: clip of 0 samples, allowed are 1280 to 7200000"},
		{"too few", make([]float32, 1279), "codec/speaker: clip of 1279 samples, allowed are 1280 to 7200000"},
		{"too many", make([]float32, 7200001), "codec/speaker: clip of 7200001 samples, allowed are 1280 to 7200000"},
		{"no number", bad, "codec/speaker: sample 1017 is NaN, allowed are finite numbers"},
	} {
		if _, err := e.Embed(ctx, wk, c.samples); err == nil || err.Error() != c.want {
			t.Errorf("%s: %v, wanted %q", c.name, err, c.want)
		}
	}
	// Silence has no variance at all, and extreme samples no limit.
	loud := make([]float32, 3000)
	for i := range loud {
		loud[i] = math.MaxFloat32 * float32(1-2*(i%2))
	}
	for name, samples := range map[string][]float32{"silence": make([]float32, 1280), "loud": loud} {
		if _, err := e.Embed(ctx, wk, samples); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := e.Embed(ended, wk, bad[:1300-284]); err == nil {
		t.Error("a short clip passed")
	}
	if _, err := e.Embed(ended, wk, loud); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	r, err := e.Start(loud)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Vector(); !errors.Is(err, ErrRunning) {
		t.Errorf("vector before the end: %v", err)
	}
}

// TestOverflow wants NaN and infinity inside to be an error that stays, never a vector.
func TestOverflow(t *testing.T) {
	for _, c := range []struct {
		tensor, stage string
		value         float32
	}{
		{"speaker_encoder.blocks.0.conv.weight", "block_0", -math.MaxFloat32}, // mel is negative
		{"speaker_encoder.blocks.2.tdnn2.conv.weight", "block_2", math.MaxFloat32},
		{"speaker_encoder.mfa.conv.weight", "mfa", math.MaxFloat32},
		{"speaker_encoder.fc.weight", "embedding", math.MaxFloat32},
	} {
		list := shapes(oddConfig())
		fill(list, 1)
		constant(t, list, c.tensor, c.value)
		e, err := LoadEncoder(openTensors(t, list), oddConfig())
		if err != nil {
			t.Fatal(err)
		}
		wk := work(t, 2)
		r, err := e.Start(noise(2000, 1))
		for done := false; err == nil && !done; {
			done, err = r.Step(wk)
		}
		var bad *NonFiniteError
		if !errors.As(err, &bad) || bad.Stage != c.stage {
			t.Fatalf("%s: %v, wanted stage %s", c.tensor, err, c.stage)
		}
		if _, again := r.Step(wk); again != err {
			t.Errorf("the next step: %v", again)
		}
		if _, again := r.Vector(); again != err {
			t.Errorf("the vector: %v", again)
		}
	}
}

// BenchmarkEmbed measures an encoder of the published sizes: milliseconds for five seconds of sound.
func BenchmarkEmbed(b *testing.B) {
	c := Config{}
	if err := c.validate(); err != nil {
		b.Fatal(err)
	}
	e := random(b, c)
	samples := noise(5*e.SampleRate(), 1)
	for _, workers := range []int{1, 2} {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			wk := work(b, workers)
			for b.Loop() {
				if _, err := e.Embed(context.Background(), wk, samples); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms/clip")
		})
	}
}
