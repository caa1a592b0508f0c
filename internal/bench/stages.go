package bench

import (
	"github.com/mynah-tts/mynah/internal/kernel"
	"github.com/mynah-tts/mynah/internal/nn"
	"github.com/mynah-tts/mynah/internal/team"
)

// Sizes of the published 0.6B.
const (
	width, queries, keys, ffn = 1024, 2048, 1024, 3072 // of talker and predictor
	talkerLayers, talkerVocab = 28, 3072
	predictorLayers           = 5
	residualSteps, codes      = 15, 2048
)

// Stage is the work of a stage in a frame and how long it takes.
type Stage struct {
	Name  string  `json:"name"`
	Size  int64   `json:"weight_bytes"` // weights of a step, once each
	Reads int64   `json:"read_bytes"`   // weights of all steps
	MACs  int64   `json:"macs"`
	Time  float64 `json:"ms"` // the median
	GBs   float64 `json:"gb_per_s"`
	GMACs float64 `json:"gmac_per_s"`
}

// NewStage returns a stage whose time, in milliseconds, is known.
func NewStage(name string, size, reads, macs int64, ms float64) Stage {
	s := Stage{Name: name, Size: size, Reads: reads, MACs: macs, Time: ms}
	if ms > 0 {
		s.GBs, s.GMACs = float64(reads)/ms/1e6, float64(macs)/ms/1e6
	}
	return s
}

func (t Time) milliseconds() float64 { return float64(t.Median) / 1e6 }

// layers makes the matrices of decoder layers. Those with the same input are one, as
// they are one round of the team in a model.
func layers(form nn.Precision, n int) (all []*matrix) {
	for range n {
		all = append(all, newMatrix(form, width, queries+2*keys), newMatrix(form, queries, width),
			newMatrix(form, width, 2*ffn), newMatrix(form, ffn, width))
	}
	return all
}

func total(all []*matrix) (bytes, macs int64) {
	for _, m := range all {
		bytes += m.bytes()
		macs += int64(m.k) * int64(m.outs)
	}
	return bytes, macs
}

// measureTalker measures the matrices of one decode step.
func measureTalker(tm *team.Team, form nn.Precision) Stage {
	all := append(layers(form, talkerLayers), newMatrix(nn.BF16, width, talkerVocab))
	s := newRowScratch(ffn, 2*ffn)
	took := measure(func() {
		for _, m := range all {
			s.run(tm, m)
		}
	})
	bytes, macs := total(all)
	return NewStage("talker", bytes, bytes, macs, took.milliseconds())
}

// measurePredictor measures the matrices of all residual steps of a frame. Heads are int8
// where the layers are int4.
func measurePredictor(tm *team.Team, form nn.Precision) Stage {
	stack, heads := layers(form, predictorLayers), []*matrix{}
	if form == nn.Int4A8 || form == nn.Int4A16 {
		form = nn.Int8
	}
	for range residualSteps {
		heads = append(heads, newMatrix(form, width, codes))
	}
	s := newRowScratch(ffn, 2*ffn)
	took := measure(func() {
		for _, head := range heads {
			for _, m := range stack {
				s.run(tm, m)
			}
			s.run(tm, head)
		}
	})
	bytes, macs := total(stack)
	headBytes, headMACs := total(heads)
	reads := residualSteps*bytes + headBytes
	return NewStage("predictor", reads/residualSteps, reads, residualSteps*macs+headMACs, took.milliseconds())
}

// convolution is one of the codec's, over so many rows of a frame.
type convolution struct {
	rows, in, taps, dilation, outs int
	x                              []float32 // [rows + (taps-1)*dilation, in]
	panels                         []float32 // see kernel.PackPanels
	dst                            []float32 // [rows, outs]
}

// prepare makes weights and rows.
func (c *convolution) prepare() {
	w := make([]float32, c.outs*c.taps*c.in)
	fill(w)
	c.panels = kernel.PackPanels(w, c.outs, c.taps*c.in)
	c.x, c.dst = make([]float32, (c.rows+(c.taps-1)*c.dilation)*c.in), make([]float32, c.rows*c.outs)
	fill(c.x)
}

func (c *convolution) macs() int64 {
	return int64(c.rows) * int64(c.taps) * int64(c.in) * int64(c.outs)
}

// convolutions are those of the codec decoder without the last, which has a single
// output, and its matrices as convolutions of one tap.
func convolutions() (all []*convolution) {
	add := func(rows, in, taps, dilation, outs int) {
		all = append(all, &convolution{rows: rows, in: in, taps: taps, dilation: dilation, outs: outs})
	}
	const latent, hidden, inner, attention, first = 1024, 512, 1024, 1024, 1536
	add(1, 512, 3, 1, latent)
	add(1, latent, 1, 1, hidden)
	for range 8 {
		add(1, hidden, 1, 1, 3*attention)
		add(1, attention, 1, 1, hidden)
		add(1, hidden, 1, 1, 2*inner)
		add(1, inner, 1, 1, hidden)
	}
	add(1, hidden, 1, 1, latent)
	rows := 1
	for range 2 {
		add(rows, latent, 1, 1, 2*latent)
		rows *= 2
		add(rows, latent, 1, 1, 4*latent)
		add(rows, 4*latent, 1, 1, latent)
	}
	add(rows, latent, 7, 1, first)
	for i, stride := range []int{8, 5, 4, 3} {
		in, out := first>>i, first>>(i+1)
		add(rows, in, 2, 1, stride*out)
		rows *= stride
		for _, dilation := range []int{1, 3, 9} {
			add(rows, out, 7, dilation, out)
			add(rows, out, 1, 1, out)
		}
	}
	return all
}

// Part shares out rows where there are many, otherwise outputs.
func (c *convolution) Part(worker, workers int) {
	const grain, many = 24, 256
	if c.rows >= many {
		lo, hi := team.Split(c.rows, grain, worker, workers)
		kernel.ConvF32(c.dst[lo*c.outs:], c.outs, c.x[lo*c.in:], c.in, c.taps, c.dilation*c.in, c.in, c.panels, nil, hi-lo, c.outs)
		return
	}
	lo, hi := team.Split(c.outs, kernel.PanelWidth, worker, workers)
	kernel.ConvF32(c.dst[lo:], c.outs, c.x, c.in, c.taps, c.dilation*c.in, c.in, c.panels[lo*c.taps*c.in:], nil, c.rows, hi-lo)
}

// measureCodec measures the float32 convolutions and matrices of a frame by itself.
func measureCodec(tm *team.Team) Stage {
	all := convolutions()
	for _, c := range all {
		c.prepare()
	}
	took := measure(func() {
		for _, c := range all {
			tm.Run(c)
		}
	})
	var bytes, macs int64
	for _, c := range all {
		bytes += int64(len(c.panels)) * 4
		macs += c.macs()
	}
	return NewStage("codec", bytes, bytes, macs, took.milliseconds())
}
