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
	Streams   int    `json:"streams"` // taking turns

	// FrameAudio is the audio in a frame: its budget.
	FrameAudio time.Duration `json:"-"`
	// TTFA is the time to first audio of each stream.
	TTFA []time.Duration `json:"-"`
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
	Share float64 `json:"share"` // of the time of all frames; 0 outside of frames

	Bytes int64   `json:"weight_bytes,omitempty"`
	GBs   float64 `json:"gb_per_s,omitempty"` // weight bytes in the median time
	GMACs float64 `json:"gmac_per_s,omitempty"`
	stage Stage
}

// FramePoint is one frame in the order of time.
type FramePoint struct {
	Stream int     `json:"stream"`
	Frame  int     `json:"frame"`
	Time   float64 `json:"ms"`
}

// Report is a recorded run in figures.
type Report struct {
	Run
	Budget float64      `json:"budget_ms"` // audio in a frame
	RTF    float64      `json:"rtf"`       // time of all frames over their audio
	TTFA   []float64    `json:"ttfa_ms"`   // of each stream
	Stages []Row        `json:"stages"`    // those that occurred; a frame's stages summed over the frame
	Steps  []Row        `json:"residual_steps"`
	Frames []FramePoint `json:"frames"` // those whose spans are kept
	Lost   int          `json:"lost_spans,omitempty"`
}

// Report returns the figures of everything recorded so far.
func (r *Recorder) Report(run Run) *Report {
	p := &Report{Run: run, Budget: milliseconds(int64(run.FrameAudio)), TTFA: []float64{}, Steps: []Row{}, Frames: []FramePoint{}, Lost: r.Lost()}
	for _, t := range run.TTFA {
		p.TTFA = append(p.TTFA, milliseconds(int64(t)))
	}
	all := r.stages[Frame].sum
	for s := range stages {
		if h := &r.stages[s]; h.n > 0 {
			p.Stages = append(p.Stages, h.row(s, 0, all, run.Load[s]))
		}
	}
	for g := range r.steps {
		if h := &r.steps[g]; h.n > 0 {
			var load Load
			if g >= 1 && g <= len(run.Steps) {
				load = run.Steps[g-1]
			}
			p.Steps = append(p.Steps, h.row(Residual, g, all, load))
		}
	}
	if audio := r.stages[Frame].n * int64(run.FrameAudio); audio > 0 {
		p.RTF = float64(all) / float64(audio)
	}
	r.Spans(func(s Span) {
		if s.Stage == Frame {
			p.Frames = append(p.Frames, FramePoint{int(s.Stream), int(s.Frame), milliseconds(s.Length)})
		}
	})
	return p
}

// row puts a histogram into figures; all is the time of all frames.
func (h *Histogram) row(stage Stage, step int, all int64, load Load) Row {
	row := Row{
		Stage: stage.String(), Step: step, Count: h.n,
		P50: milliseconds(h.Quantile(0.5)), P95: milliseconds(h.Quantile(0.95)), P99: milliseconds(h.Quantile(0.99)),
		Mean: h.Mean() / 1e6, Min: milliseconds(h.min), Max: milliseconds(h.max),
		Bytes: load.Bytes, stage: stage,
	}
	if all > 0 && stage >= Input {
		row.Share = float64(h.sum) / float64(all)
	}
	if row.P50 > 0 {
		row.GBs = float64(load.Bytes) / (row.P50 * 1e6)
		row.GMACs = float64(load.MACs) / (row.P50 * 1e6)
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
