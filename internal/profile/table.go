package profile

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// Text writes the report as tables.
func (p *Report) Text(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", p.headline())
	fmt.Fprintf(&b, "%-18s %6s %9s %9s %9s %9s %9s %7s %6s %7s\n", p.unit(), "count", "p50", "p95", "p99", "mean", "max", "share", "GB/s", "GMAC/s")
	for _, row := range p.Stages {
		row.text(&b, row.Stage)
		if row.stage == Residual {
			for _, step := range p.Steps {
				step.text(&b, fmt.Sprintf("  step %d", step.Step))
			}
		}
	}
	p.textListeners(&b)
	if p.Parity != nil {
		p.Parity.text(&b)
	}
	fmt.Fprintf(&b, "\n%s\n", p.summary())
	_, err := io.WriteString(w, b.String())
	return err
}

// unit is the title of the stages.
func (p *Report) unit() string {
	if p.Streams > 1 {
		return "stage, ms a round"
	}
	return "stage, ms"
}

func (row *Row) text(b *strings.Builder, name string) {
	fmt.Fprintf(b, "%-18s %6d %9.3f %9.3f %9.3f %9.3f %9.3f %7s %6s %7s\n", name, row.Count, row.P50, row.P95, row.P99, row.Mean, row.Max,
		some("%.1f %%", 100*row.Share), some("%.1f", row.GBs), some("%.1f", row.GMACs))
}

// listenerTitles are the columns behind the stream's number.
var listenerTitles = []string{"frames", "TTFA", "RTF", "gap p50", "p95", "p99", "max", "lag"}

// cells are a listener's figures under listenerTitles.
func (h *Hearing) cells() []string {
	cells := []string{fmt.Sprint(h.Frames), fmt.Sprintf("%.1f", h.TTFA), some("%.3f", h.RTF)}
	for _, ms := range []float64{h.GapP50, h.GapP95, h.GapP99, h.GapMax, h.Lag} {
		cells = append(cells, fmt.Sprintf("%.1f", ms))
	}
	return cells
}

// gapCells is the row of all streams, if there are several.
func (p *Report) gapCells() []string {
	cells := []string{fmt.Sprint(p.Made), "", some("%.3f", p.RTF)}
	for _, ms := range []float64{p.Gap.P50, p.Gap.P95, p.Gap.P99, p.Gap.Max} {
		cells = append(cells, fmt.Sprintf("%.1f", ms))
	}
	return append(cells, "")
}

func (p *Report) textListeners(b *strings.Builder) {
	if len(p.Listeners) == 0 {
		return
	}
	line := func(name string, cells []string) {
		text := fmt.Sprintf("%-18s", name)
		for _, c := range cells {
			text += fmt.Sprintf(" %8s", c)
		}
		fmt.Fprintln(b, strings.TrimRight(text, " "))
	}
	fmt.Fprintln(b)
	line("listener, ms", listenerTitles)
	for i := range p.Listeners {
		line(fmt.Sprintf("stream %d", i+1), p.Listeners[i].cells())
	}
	if len(p.Listeners) > 1 {
		line("all", p.gapCells())
	}
}

// some formats a figure, "" if there is none.
func some(format string, x float64) string {
	if x == 0 {
		return ""
	}
	return fmt.Sprintf(format, x)
}

// headline says what was run.
func (p *Report) headline() string {
	s := fmt.Sprintf("%s, %s; %s, kernels %s; %s, %s", p.Model, p.Precision, p.Processor, p.Level, count(p.Threads, "thread"), count(p.Streams, "stream"))
	if p.Format != "" {
		s += " as " + p.Format
	}
	return s
}

// summary says how it went.
func (p *Report) summary() string {
	frame := p.Row(Frame)
	s := fmt.Sprintf("%s: RTF %.3f (%.1f ms of compute for a frame of %.0f ms)", count(int(p.Made), "frame"), p.RTF, frame.Mean, p.Budget)
	if p.Streams > 1 {
		s = fmt.Sprintf("%s in %s: RTF %.3f (%.1f ms of compute for a round, a frame is %.0f ms)",
			count(int(p.Made), "frame"), count(int(p.Rounds), "round"), p.RTF, frame.Mean, p.Budget)
	}
	s += fmt.Sprintf(", %.1f frames a second", p.FPS)
	if len(p.TTFA) > 0 {
		s += fmt.Sprintf("; TTFA %.1f ms", slices.Min(p.TTFA))
		if len(p.TTFA) > 1 {
			s += fmt.Sprintf(" to %.1f ms", slices.Max(p.TTFA))
		}
	}
	if p.PeakMemory > 0 {
		s += fmt.Sprintf("; peak memory %d MiB", p.PeakMemory>>20)
	}
	return s
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
