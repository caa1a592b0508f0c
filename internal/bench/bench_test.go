package bench

import (
	"math"
	"strings"
	"testing"

	"github.com/mynah-tts/mynah/internal/nn"
	"github.com/mynah-tts/mynah/internal/team"
)

// TestSizes compares the synthetic weights with what the 0.6B is known to have.
func TestSizes(t *testing.T) {
	bytes, macs := total(layers(nn.Int8, predictorLayers))
	if want := int64(predictorLayers) * (1024*(2048+2*1024) + 2048*1024 + 3*1024*3072); macs != want || bytes < want || bytes > want+want/100 {
		t.Errorf("predictor: %d bytes, %d multiply-adds, want %d", bytes, macs, want)
	}
	four, _ := total(layers(nn.Int4A8, 1))
	if bits := 8 * float64(four) / float64(macs/predictorLayers); math.Abs(bits-4.625) > 1e-9 {
		t.Errorf("int4 takes %g bits a weight", bits)
	}
	codec := int64(0)
	for _, c := range convolutions() {
		codec += c.macs()
	}
	if codec < 2.4e9 || codec > 2.5e9 {
		t.Errorf("codec: %d multiply-adds a frame, want 2.48 billion less the last convolution", codec)
	}
}

// TestMatrixForms checks that every form multiplies: all outputs are written by
// whatever number of workers, and alike.
func TestMatrixForms(t *testing.T) {
	tm := team.New(3)
	defer tm.Close()
	for _, form := range []nn.Precision{nn.Int4A8, nn.Int4A16, nn.Int8, nn.BF16, nn.F32} {
		const k, outs = 128, 80
		m := newMatrix(form, k, outs)
		if m.bytes() < k*outs/2 {
			t.Errorf("%s: %d bytes", form, m.bytes())
		}
		one, three := newRowScratch(k, outs), newRowScratch(k, outs)
		one.run(nil, m)
		three.run(tm, m)
		other := 0
		for i := range one.y {
			if one.y[i] != three.y[i] {
				t.Errorf("%s: output %d is %g by one worker, %g by three", form, i, one.y[i], three.y[i])
			}
			if one.y[i] != 0 {
				other++
			}
		}
		if other < outs/2 {
			t.Errorf("%s: %d of %d outputs are not zero", form, other, outs)
		}
	}
}

// TestConvolutionParts checks that rows or outputs shared out are as from one worker.
func TestConvolutionParts(t *testing.T) {
	tm := team.New(3)
	defer tm.Close()
	all := convolutions()
	for _, c := range []*convolution{all[0], all[1], all[len(all)-1]} {
		c.prepare()
		tm.Run(c)
		got := append([]float32{}, c.dst...)
		c.Part(0, 1)
		for i, x := range c.dst {
			if got[i] != x {
				t.Fatalf("%d rows, %d to %d: value %d is %g, want %g", c.rows, c.in, c.outs, i, got[i], x)
			}
		}
	}
}

// TestSynthetic measures a frame's weights in earnest.
func TestSynthetic(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds and 500 MB")
	}
	for i, s := range Synthetic(2, nn.Int4A8, nn.Int8) {
		want := []Stage{
			{Name: "talker", Size: 260e6, Reads: 260e6, MACs: 443_547_648},
			{Name: "predictor", Size: 81.2e6, Reads: 1218e6, MACs: 15 * (5*15_728_640 + 1024*2048)},
			{Name: "codec", Size: 421e6, Reads: 421e6, MACs: 2_475_000_000},
		}[i]
		near := func(a, b int64) bool { return math.Abs(float64(a-b)) < 0.01*float64(b) }
		if s.Name != want.Name || !near(s.Size, want.Size) || !near(s.Reads, want.Reads) || !near(s.MACs, want.MACs) || !(s.Time > 0) {
			t.Errorf("%+v, want about %+v", s, want)
		}
	}
}

func TestMachineRead(t *testing.T) {
	m := Machine{Reads: []Read{{250e6, 10}, {80e6, 20}, {40e6, 30}}}
	for bytes, want := range map[int64]float64{0: 30, 1e6: 30, 44e6: 30, 45e6: 20, 81e6: 20, 100e6: 10, 251e6: 10, 1e9: 10} {
		if got := m.Read(bytes); got != want {
			t.Errorf("%d bytes: %g GB/s, want %g", bytes, got, want)
		}
	}
	if (&Machine{}).Read(1) != 0 {
		t.Error("an unmeasured machine reads")
	}
}

func TestGoals(t *testing.T) {
	machine := Machine{Reads: []Read{{250e6, 40}, {80e6, 60}, {40e6, 60}}, Peak: 250, PeakInt4: 600}
	f := Figures{
		Talker: NewStage("talker", 240e6, 240e6, 440e6, 6.4), Predictor: NewStage("predictor", 80e6, 1200e6, 1200e6, 25),
		Codec: NewStage("codec", 300e6, 300e6, 2.5e9, 15), RTF: 0.58, Prefill: 800, PeakMemory: 1.2e9,
		TalkerForm: nn.Int4A8, PredictorForm: nn.Int8, CodecForm: "f32",
	}
	if f.Predictor.GBs != 48 || f.Codec.GMACs != 2.5e9/15e6 {
		t.Errorf("speeds of %+v and %+v", f.Predictor, f.Codec)
	}
	if f.FullSize() {
		t.Error("440,000,000 multiply-adds are taken for the 0.6B")
	}
	if f.Talker.MACs = 443_547_648; !f.FullSize() {
		t.Error("the 0.6B is not known")
	}
	verdicts, bounds := map[string]string{}, map[string]float64{}
	goals := Goals(f, machine, []Kernel{{Name: "int8", Share: 0.95}})
	for _, g := range goals {
		verdicts[g.Name], bounds[g.Name] = g.Verdict, g.Bound
	}
	for name, want := range map[string]string{
		"talker step, int4": "aim", "predictor, 15 steps, int8": "must", "codec, a frame, float32": "missed",
		"sum: RTF, default precision": "must", "prefill, 512 positions": "must", "TTFA warm, default layout": "",
		"int8 row product": "aim", "resident memory, at most": "must",
	} {
		if got, ok := verdicts[name]; got != want || !ok {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if _, ok := verdicts["predictor, 15 steps, int4"]; ok {
		t.Error("a goal of another precision is there")
	}
	for name, want := range map[string]float64{
		"talker step, int4": 6, "predictor, 15 steps, int8": 20, "codec, a frame, float32": 10, "sum: RTF, default precision": 0.45,
		"prefill, 512 positions": 600e9 / 443_547_648,
	} {
		if got := bounds[name]; math.Abs(got-want) > 1e-9*want {
			t.Errorf("%s: bound %g, want %g", name, got, want)
		}
	}
	f.Talker.MACs = 1e6
	for _, g := range Goals(f, machine, []Kernel{{Name: "int8", Share: 0.95}}) {
		if judged := g.Verdict != ""; judged != (g.Name == "int8 row product") {
			t.Errorf("another size: %+v", g)
		}
	}
	f.PredictorForm, f.CodecForm = nn.Int4A8, "int8"
	if table := Table(Goals(f, machine, nil)); !strings.Contains(table, "fastest precision") || strings.Contains(table, "row product") || strings.Count(table, "\n") < 8 {
		t.Errorf("table:\n%s", table)
	}
	f.CodecForm = "f32" // neither the default nor the fastest precision
	if table := Table(Goals(f, machine, nil)); strings.Contains(table, "RTF") {
		t.Errorf("a mixture of precisions is judged:\n%s", table)
	}
}

// TestMeasure measures the machine in earnest: whatever it is, it reads and multiplies.
func TestMeasure(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	m, kernels := Measure(2)
	if len(m.Reads) != len(readSizes) || !(m.Peak > 0) || !(m.PeakInt4 > 0) {
		t.Fatalf("%+v", m)
	}
	for _, k := range kernels {
		if !(k.GBs > 0) || !(k.Share > 0) {
			t.Errorf("%+v", k)
		}
	}
	for _, r := range m.Reads {
		if !(r.GBs > 0) {
			t.Errorf("%+v", r)
		}
	}
}
