package profile

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// Text writes the report as a table.
func (p *Report) Text(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", p.headline())
	fmt.Fprintf(&b, "%-18s %6s %9s %9s %9s %9s %9s %7s %6s %7s\n", "stage, ms", "count", "p50", "p95", "p99", "mean", "max", "share", "GB/s", "GMAC/s")
	for _, row := range p.Stages {
		row.text(&b, row.Stage)
		if row.stage == Residual {
			for _, step := range p.Steps {
				step.text(&b, fmt.Sprintf("  step %d", step.Step))
			}
		}
	}
	fmt.Fprintf(&b, "\n%s\n", p.summary())
	_, err := io.WriteString(w, b.String())
	return err
}

func (row *Row) text(b *strings.Builder, name string) {
	fmt.Fprintf(b, "%-18s %6d %9.3f %9.3f %9.3f %9.3f %9.3f %7s %6s %7s\n", name, row.Count, row.P50, row.P95, row.P99, row.Mean, row.Max,
		some("%.1f %%", 100*row.Share), some("%.1f", row.GBs), some("%.1f", row.GMACs))
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
	return fmt.Sprintf("%s, %s; %s, kernels %s; %s, %s", p.Model, p.Precision, p.Processor, p.Level, count(p.Threads, "thread"), count(p.Streams, "stream"))
}

// summary says how it went.
func (p *Report) summary() string {
	frame := p.Row(Frame)
	s := fmt.Sprintf("%s: RTF %.3f (%.1f ms of compute for a frame of %.0f ms)", count(int(frame.Count), "frame"), p.RTF, frame.Mean, p.Budget)
	if p.Streams > 1 {
		s += fmt.Sprintf(", %.3f for each of %d streams that take turns", p.RTF*float64(p.Streams), p.Streams)
	}
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
