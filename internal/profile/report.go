package profile

import (
	"encoding/json"
	"io"
	"time"
)

// Run is what a recorder cannot know about the run that it recorded.
type Run struct {
	Model     string `json:"model"`
	Precision string `json:"precision"`
	Processor string `json:"processor"`
	Level     string `json:"level"` // of the kernels
	Threads   int    `json:"threads"`
	Streams   int    `json:"streams"` // computed together
	Format    string `json:"format"`  // what frames were encoded as

	// FrameAudio is the audio in a frame: its budget.
	FrameAudio time.Duration `json:"-"`
	// PeakMemory is the process's largest resident size in bytes, 0 if not known.
	PeakMemory int64 `json:"peak_memory_bytes,omitempty"`
	// Load is the work of a stage in a frame, as far as it can be told.
	Load map[Stage]Load `json:"-"`
	// Steps is the work of each residual step; the first element is that of step 1.
	Steps []Load `json:"-"`
}

// Load is work by its size: bytes of weights that are read once, and multiply-adds
// by weights.
type Load struct{ Bytes, MACs int64 }

// Row is what there is to say about one stage or step. Times are in milliseconds.
type Row struct {
	Stage string  `json:"stage"`
	Step  int     `json:"step,omitempty"` // residual step, from 1
	Count int64   `json:"count"`
	P50   float64 `json:"p50_ms"`
	P95   float64 `json:"p95_ms"`
	P99   float64 `json:"p99_ms"`
	Mean  float64 `json:"mean_ms"`
	Min   float64 `json:"min_ms"`
	Max   float64 `json:"max_ms"`
	Share float64 `json:"share"` // of the time of all rounds; 0 outside of them

	Bytes int64   `json:"weight_bytes,omitempty"`
	GBs   float64 `json:"gb_per_s,omitempty"` // weight bytes, read once for all streams, in the median time
	GMACs float64 `json:"gmac_per_s,omitempty"`
	stage Stage
}

// FramePoint is one round in the order of time.
type FramePoint struct {
	Stream int     `json:"stream"` // counts utterances; Together for a round of several
	Frame  int     `json:"frame"`  // of the utterance that has gone longest
	Frames int     `json:"frames"` // made in the round
	Time   float64 `json:"ms"`
}

// Report is a recorded run in figures. A round makes a frame of each stream that is
// ready for one; its stages are summed over the round.
type Report struct {
	Run
	Budget float64 `json:"budget_ms"` // audio in a frame
	RTF    float64 `json:"rtf"`       // time of all rounds over the audio of all frames
	FPS    float64 `json:"frames_per_s"`
	Made   int64   `json:"frames_made"`
	Rounds int64   `json:"rounds"`

	TTFA      []float64 `json:"ttfa_ms"` // of each stream
	Gap       Row       `json:"gap"`     // from one frame to the next, of all streams
	Listeners []Hearing `json:"listeners"`

	Stages []Row        `json:"stages"` // those that occurred
	Steps  []Row        `json:"residual_steps"`
	Frames []FramePoint `json:"rounds_in_time"` // those whose spans are kept
	Lost   int          `json:"lost_spans,omitempty"`

	Parity *Parity `json:"parity,omitempty"` // if it was asked for
}

// Report returns the figures of everything recorded so far.
func (r *Recorder) Report(run Run) *Report {
	all := r.stages[Frame].sum
	p := &Report{
		Run: run, Budget: milliseconds(int64(run.FrameAudio)), Lost: r.Lost(), Made: r.frames, Rounds: r.stages[Frame].n,
		TTFA: []float64{}, Listeners: []Hearing{}, Steps: []Row{}, Frames: []FramePoint{},
	}
	if all > 0 {
		p.FPS = float64(r.frames) * 1e9 / float64(all)
	}
	if audio := r.frames * int64(run.FrameAudio); audio > 0 {
		p.RTF = float64(all) / float64(audio)
	}
	p.hear(r.listeners, &r.stages[Encode])
	p.rows(r, all)
	r.Spans(func(s Span) {
		if s.Stage == Frame {
			p.Frames = append(p.Frames, FramePoint{int(s.Stream), int(s.Frame), int(s.Step), milliseconds(s.Length)})
		}
	})
	return p
}

// hear puts what listeners met with into figures, and all of their encoding into one
// histogram.
func (p *Report) hear(listeners []*Listener, encode *Histogram) {
	var gaps Histogram
	*encode = Histogram{}
	for i, l := range listeners {
		p.Listeners = append(p.Listeners, l.hearing(i+1))
		p.TTFA = append(p.TTFA, milliseconds(l.ttfa))
		gaps.join(&l.gaps)
		encode.join(&l.encode)
	}
	p.Gap = gaps.row("gap", Load{}, 1)
}

// rows makes the rows of stages and residual steps; all is the time of all rounds.
func (p *Report) rows(r *Recorder, all int64) {
	together := 1.0 // frames in a round
	if p.Rounds > 0 {
		together = float64(p.Made) / float64(p.Rounds)
	}
	row := func(h *Histogram, stage Stage, load Load) Row {
		frames := 1.0
		if stage.inFrame() {
			frames = together
		}
		row := h.row(stage.String(), load, frames)
		row.stage = stage
		if all > 0 && (stage.inFrame() || stage == Frame) {
			row.Share = float64(h.sum) / float64(all)
		}
		return row
	}
	for s := range stages {
		if h := &r.stages[s]; h.n > 0 {
			p.Stages = append(p.Stages, row(h, s, p.Load[s]))
		}
	}
	for g := range r.steps {
		if h := &r.steps[g]; h.n > 0 {
			var load Load
			if g >= 1 && g <= len(p.Run.Steps) {
				load = p.Run.Steps[g-1]
			}
			step := row(h, Residual, load)
			step.Step = g
			p.Steps = append(p.Steps, step)
		}
	}
}

// row puts a histogram into figures. load is the work of one frame, of which there were
// so many at a time.
func (h *Histogram) row(name string, load Load, frames float64) Row {
	row := Row{
		Stage: name, Count: h.n,
		P50: milliseconds(h.Quantile(0.5)), P95: milliseconds(h.Quantile(0.95)), P99: milliseconds(h.Quantile(0.99)),
		Mean: h.Mean() / 1e6, Min: milliseconds(h.min), Max: milliseconds(h.max),
		Bytes: load.Bytes,
	}
	if row.P50 > 0 {
		row.GBs = float64(load.Bytes) / (row.P50 * 1e6)
		row.GMACs = float64(load.MACs) * frames / (row.P50 * 1e6)
	}
	return row
}

func milliseconds(ns int64) float64 { return float64(ns) / 1e6 }

// Row returns the row of a stage, without a count if the stage did not occur.
func (p *Report) Row(stage Stage) Row {
	for _, row := range p.Stages {
		if row.stage == stage {
			return row
		}
	}
	return Row{Stage: stage.String(), stage: stage}
}

// JSON writes the report as JSON.
func (p *Report) JSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(p)
}
