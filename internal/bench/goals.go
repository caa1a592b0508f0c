package bench

import (
	"fmt"
	"strings"

	"github.com/mynah-tts/mynah/internal/kernel"
	"github.com/mynah-tts/mynah/internal/nn"
)

// Goal is a figure that the project wants to reach on two cores with AVX-512, with
// what was reached beside the bound that follows from this machine's own speed of
// reading and multiplying.
type Goal struct {
	Name    string  `json:"name"`
	Unit    string  `json:"unit"`
	Must    float64 `json:"must"`
	Aim     float64 `json:"aim"`
	Higher  bool    `json:"higher_is_better"`
	Reached float64 `json:"reached,omitempty"` // 0 if it was not measured
	Bound   float64 `json:"bound,omitempty"`   // 0 if none is known
	Verdict string  `json:"verdict"`           // "aim", "must", "missed", or "" if not measured
}

// Figures are what was measured of a model at one precision, 0 for what was not.
type Figures struct {
	Talker, Predictor, Codec  Stage
	TalkerForm, PredictorForm nn.Precision
	CodecForm                 string
	RTF                       float64
	Prefill                   float64 // positions a second
	TTFAWhole, TTFAStreaming  float64 // ms
	PeakMemory                int64   // bytes
}

// shareUnit is that of the kernels' goals.
const shareUnit = "% of read"

// Goals judges figures. Goals of other precisions than the measured one are left out;
// those of a model are not judged for one of another size.
func Goals(f Figures, machine Machine, kernels []Kernel) []Goal {
	bound := f.bounds(machine)
	goals := []Goal{}
	add := func(g Goal, applies bool) {
		if applies {
			goals = append(goals, g.judge(f.FullSize()))
		}
	}
	int4 := f.TalkerForm == nn.Int4A8 || f.TalkerForm == nn.Int4A16
	predictor4 := f.PredictorForm == nn.Int4A8
	add(Goal{Name: "talker step, int4", Unit: "ms", Must: 8, Aim: 6.5, Reached: f.Talker.Time, Bound: bound.Talker.Time}, int4)
	add(Goal{Name: "predictor, 15 steps, int8", Unit: "ms", Must: 28, Aim: 22, Reached: f.Predictor.Time, Bound: bound.Predictor.Time}, f.PredictorForm == nn.Int8)
	add(Goal{Name: "predictor, 15 steps, int4", Unit: "ms", Must: 14, Aim: 9, Reached: f.Predictor.Time, Bound: bound.Predictor.Time}, predictor4)
	add(Goal{Name: "codec, a frame, float32", Unit: "ms", Must: 14, Aim: 10.5, Reached: f.Codec.Time, Bound: bound.Codec.Time}, f.CodecForm == "f32")
	add(Goal{Name: "codec, a frame, fastest", Unit: "ms", Must: 9, Aim: 5, Reached: f.Codec.Time, Bound: bound.Codec.Time}, f.CodecForm != "f32")
	add(Goal{Name: "sum: RTF, default precision", Must: 0.63, Aim: 0.49, Reached: f.RTF, Bound: bound.RTF}, int4 && f.PredictorForm == nn.Int8 && f.CodecForm == "f32")
	add(Goal{Name: "sum: RTF, fastest precision", Must: 0.40, Aim: 0.26, Reached: f.RTF, Bound: bound.RTF}, int4 && predictor4 && f.CodecForm == "int8")
	prefill := Goal{Name: "prefill, 512 positions", Unit: "1/s", Must: 700, Aim: 1500, Higher: true, Reached: f.Prefill, Bound: bound.Prefill}
	if f.TalkerForm == nn.Int4A16 {
		prefill.Aim = 900
	}
	add(prefill, int4)
	add(Goal{Name: "TTFA warm, streaming layout", Unit: "ms", Must: 120, Aim: 60, Reached: f.TTFAStreaming}, true)
	add(Goal{Name: "TTFA warm, default layout", Unit: "ms", Must: 160, Aim: 90, Reached: f.TTFAWhole}, true)
	for _, k := range kernels {
		add(Goal{Name: k.Name + " row product", Unit: shareUnit, Must: 80, Aim: 90, Higher: true, Reached: 100 * k.Share, Bound: 100}, true)
	}
	add(Goal{Name: "resident memory, at most", Unit: "GB", Must: 1.4, Aim: 1.1, Reached: float64(f.PeakMemory) / 1e9}, int4)
	return goals
}

// bounds are the figures that the machine would allow if a stage took no longer than
// reading its weights or multiplying by them, whichever takes longer. Prefill of int4-a16
// is measured by the multiply-adds of float32, which its kernel may exceed.
func (f *Figures) bounds(machine Machine) Figures {
	b := Figures{}
	codec := machine.Peak
	if f.CodecForm == "int8" || f.CodecForm == "bf16" && kernel.DotsBF16() {
		codec = 0
	}
	for _, s := range []struct {
		from, to *Stage
		peak     float64 // 0 where multiply-adds are of narrower numbers
	}{{&f.Talker, &b.Talker, 0}, {&f.Predictor, &b.Predictor, 0}, {&f.Codec, &b.Codec, codec}} {
		if speed := machine.Read(s.from.Size); speed > 0 {
			s.to.Time = float64(s.from.Reads) / speed / 1e6
		}
		if s.peak > 0 {
			s.to.Time = max(s.to.Time, float64(s.from.MACs)/s.peak/1e6)
		}
	}
	if f.Talker.MACs > 0 {
		peak := machine.Peak
		if f.TalkerForm == nn.Int4A8 {
			peak = machine.PeakInt4
		}
		b.Prefill = peak * 1e9 / float64(f.Talker.MACs)
	}
	const frame = 80 // ms
	b.RTF = (b.Talker.Time + b.Predictor.Time + b.Codec.Time) / frame
	return b
}

// FullSize tells whether a model has the sizes that the goals are for, the published
// 0.6B's, by the multiply-adds of its talker's step.
func (f *Figures) FullSize() bool {
	const want = talkerLayers*width*(queries+2*keys+queries+3*ffn) + width*talkerVocab
	return f.Talker.MACs == want
}

// judge fills in the verdict.
func (g Goal) judge(fullSize bool) Goal {
	reaches := func(limit float64) bool {
		if g.Higher {
			return g.Reached >= limit
		}
		return g.Reached <= limit
	}
	switch {
	case g.Reached == 0 || !fullSize && g.Unit != shareUnit:
	case reaches(g.Aim):
		g.Verdict = "aim"
	case reaches(g.Must):
		g.Verdict = "must"
	default:
		g.Verdict = "missed"
	}
	return g
}

// Table is the goals as lines of text.
func Table(goals []Goal) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-30s %-10s %9s %9s %9s %9s  %s\n", "figure", "unit", "must", "aim", "bound", "reached", "verdict")
	for _, g := range goals {
		sign := "<= "
		if g.Higher {
			sign = ">= "
		}
		reached, bound := "-", "-"
		if g.Reached > 0 {
			reached = fmt.Sprintf("%.4g", g.Reached)
		}
		if g.Bound > 0 {
			bound = fmt.Sprintf("%.3g", g.Bound)
		}
		fmt.Fprintf(&b, "%-30s %-10s %9s %9s %9s %9s  %s\n", g.Name, g.Unit, sign+fmt.Sprintf("%g", g.Must), sign+fmt.Sprintf("%g", g.Aim), bound, reached, g.Verdict)
	}
	return b.String()
}
