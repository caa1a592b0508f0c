package profile

import (
	"encoding/json"
	"fmt"
	"io"
)

// traceEvent is an event of the Chrome trace format. Times are in microseconds.
type traceEvent struct {
	Name  string         `json:"name"`
	Cat   string         `json:"cat,omitempty"`
	Phase string         `json:"ph"`
	Time  float64        `json:"ts"`
	Dur   float64        `json:"dur"`
	PID   int            `json:"pid"`
	TID   int            `json:"tid"`
	Args  map[string]any `json:"args,omitempty"`
}

// Trace writes the spans that are kept as a Chrome trace, which Perfetto and
// chrome://tracing open. Each stream is a track; the stages of a frame lie below it.
func (r *Recorder) Trace(w io.Writer) error {
	var trace struct {
		Events []traceEvent `json:"traceEvents"`
		Unit   string       `json:"displayTimeUnit"`
	}
	trace.Unit = "ms"
	trace.Events = []traceEvent{}
	named := map[int32]bool{}
	r.Spans(func(s Span) {
		tid := int(s.Stream) + 1
		if !named[s.Stream] {
			named[s.Stream] = true
			trace.Events = append(trace.Events, traceEvent{
				Name: "thread_name", Phase: "M", PID: 1, TID: tid, Args: map[string]any{"name": fmt.Sprintf("stream %d", tid)},
			})
		}
		e := traceEvent{Name: s.Stage.String(), Cat: "stage", Phase: "X", Time: microseconds(s.Start), Dur: microseconds(s.Length), PID: 1, TID: tid}
		switch {
		case s.Step > 0 && s.Stage == Residual:
			e.Name = fmt.Sprintf("residual step %d", s.Step)
		case s.Step > 0:
			e.Name = fmt.Sprintf("pick code %d", s.Step)
		}
		if s.Stage >= Input {
			e.Args = map[string]any{"frame": s.Frame}
		}
		trace.Events = append(trace.Events, e)
	})
	return json.NewEncoder(w).Encode(trace)
}

func microseconds(ns int64) float64 { return float64(ns) / 1e3 }
