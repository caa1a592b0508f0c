package profile

import (
	"fmt"
	"html"
	"math"
	"strings"
)

// Sizes of plots, in SVG units.
const (
	plotWidth  = 860
	plotLeft   = 120 // room for labels
	plotRight  = plotWidth - 70
	frameTop   = 10
	frameFoot  = 230 // where the frames' axis lies
	barHeight  = 16
	barPitch   = 24
	colours    = 8
	mostFrames = 4000 // more would make the page heavy; the last are shown
)

func colour(i int) string { return fmt.Sprintf("var(--c%d)", i%colours) }

// plotFrames draws the time of each round, and the budget: a stream gets a frame a round.
func (p *Report) plotFrames(b *strings.Builder) {
	frames := p.Frames[max(0, len(p.Frames)-mostFrames):]
	top := p.Budget
	for _, f := range frames {
		top = max(top, f.Time)
	}
	step := tick(top)
	top = math.Ceil(top*1.02/step) * step
	y := func(ms float64) float64 { return frameFoot - ms/top*(frameFoot-frameTop) }
	fmt.Fprintf(b, `<svg viewBox="0 0 %d %d" role="img" aria-label="time of each round">`+"\n", plotWidth, frameFoot+40)
	for ms := 0.0; ms <= top; ms += step {
		fmt.Fprintf(b, `<line class="grid" x1="%d" x2="%d" y1="%.1f" y2="%.1f"/><text class="soft" x="%d" y="%.1f" text-anchor="end">%g ms</text>`+"\n",
			plotLeft, plotRight, y(ms), y(ms), plotLeft-8, y(ms)+4, ms)
	}
	x := func(i int) float64 {
		return plotLeft + (float64(i)+0.5)/float64(max(1, len(frames)))*(plotRight-plotLeft)
	}
	var points strings.Builder
	for i, f := range frames {
		fmt.Fprintf(&points, "%.1f,%.1f ", x(i), y(f.Time))
	}
	if len(frames) > 0 {
		fmt.Fprintf(b, `<polyline fill="none" stroke="%s" stroke-width="1.5" stroke-linejoin="round" points="%s"/>`+"\n",
			colour(0), strings.TrimSpace(points.String()))
	}
	fmt.Fprintf(b, `<line class="limit" x1="%d" x2="%d" y1="%.1f" y2="%.1f"/><text x="%d" y="%.1f">%g ms</text>`+"\n",
		plotLeft, plotRight, y(p.Budget), y(p.Budget), plotRight+6, y(p.Budget)+4, p.Budget)
	fmt.Fprintf(b, `<text class="soft" x="%d" y="%d">%s in the order of time</text>`+"\n</svg>\n", plotLeft, frameFoot+26, count(len(frames), "round"))
}

// tick is a round distance of about five lines up to top.
func tick(top float64) float64 {
	if !(top > 0) {
		return 1
	}
	base := math.Pow(10, math.Floor(math.Log10(top/5)))
	for _, m := range []float64{1, 2, 5} {
		if base*m >= top/5 {
			return base * m
		}
	}
	return base * 10
}

// plotShares draws one bar of a round's stages with a legend below.
func (p *Report) plotShares(b *strings.Builder) {
	parts, rest := []Row{}, 1.0
	for _, row := range p.Stages {
		if row.stage.inFrame() {
			parts = append(parts, row)
			rest -= row.Share
		}
	}
	parts = append(parts, Row{Stage: "between", Share: max(0, rest)})
	fmt.Fprintf(b, `<svg viewBox="0 0 %d %d" role="img" aria-label="shares of the rounds">`+"\n", plotWidth, 50+barPitch*((len(parts)+2)/3))
	at := 0.0
	for i, row := range parts {
		width := row.Share * plotWidth
		fmt.Fprintf(b, `<rect x="%.2f" y="4" width="%.2f" height="28" fill="%s"><title>%s</title></rect>`+"\n", at, width, colour(i), html.EscapeString(row.Stage))
		at += width
		x, y := 10+i%3*(plotWidth/3), 50+i/3*barPitch
		fmt.Fprintf(b, `<rect x="%d" y="%d" width="12" height="12" fill="%s"/><text x="%d" y="%d">%s %.1f %%</text>`+"\n",
			x, y, colour(i), x+18, y+11, html.EscapeString(row.Stage), 100*row.Share)
	}
	b.WriteString("</svg>\n")
}

// plotPercentiles draws a bar for each row that ends at p50, p95 and p99, all to one
// scale.
func (p *Report) plotPercentiles(b *strings.Builder, rows []Row) {
	top := 0.0
	for _, row := range rows {
		top = max(top, row.P99)
	}
	if top == 0 {
		top = 1
	}
	fmt.Fprintf(b, `<svg viewBox="0 0 %d %d" role="img" aria-label="percentiles">`+"\n", plotWidth, 8+barPitch*len(rows))
	for i, row := range rows {
		y := 4 + i*barPitch
		fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="end">%s</text>`, plotLeft-8, y+12, html.EscapeString(row.label()))
		for _, each := range []struct{ ms, opacity float64 }{{row.P99, 0.25}, {row.P95, 0.5}, {row.P50, 1}} {
			fmt.Fprintf(b, `<rect x="%d" y="%d" width="%.2f" height="%d" fill="var(--c0)" opacity="%g"/>`,
				plotLeft, y, each.ms/top*(plotRight-plotLeft), barHeight, each.opacity)
		}
		fmt.Fprintf(b, `<text class="soft" x="%.1f" y="%d">%.2f</text>`+"\n", plotLeft+row.P99/top*(plotRight-plotLeft)+6, y+12, row.P50)
	}
	b.WriteString("</svg>\n")
}
