package profile

import (
	"fmt"
	"html"
	"io"
	"strings"
)

// pageHead begins the page: it fetches nothing, and its colours follow the reader's
// choice of light or dark.
const pageHead = `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<title>mynah profile</title>
<style>
:root { color-scheme: light dark; --fg: #1c1f24; --soft: #666e7a; --bg: #ffffff; --line: #d9dde3; --limit: #c22f2f;
  --c0: #2f6fb7; --c1: #d07a1f; --c2: #3d8f4e; --c3: #8a55b5; --c4: #b8475c; --c5: #2a8f94; --c6: #8d7420; --c7: #6b7280; }
@media (prefers-color-scheme: dark) { :root { --fg: #e4e7ec; --soft: #9aa3b0; --bg: #14171b; --line: #343a43; --limit: #ff7b72;
  --c0: #6ea8ea; --c1: #f0a95a; --c2: #74c486; --c3: #bb91e0; --c4: #ea8496; --c5: #63c5ca; --c6: #cdb35c; --c7: #a3abb8; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--fg); background: var(--bg); max-width: 900px; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; } p { color: var(--soft); }
svg { width: 100%; height: auto; display: block; } svg text { fill: var(--fg); font: 12px system-ui, sans-serif; }
svg .soft { fill: var(--soft); } svg .grid { stroke: var(--line); stroke-width: 1; } svg .limit { stroke: var(--limit); stroke-dasharray: 5 4; }
div { overflow-x: auto; } table { border-collapse: collapse; font-variant-numeric: tabular-nums; white-space: nowrap; }
th, td { padding: .15rem .6rem; text-align: right; border-bottom: 1px solid var(--line); } th:first-child, td:first-child { text-align: left; }
tr.step td { color: var(--soft); } tr.step td:first-child { padding-left: 1.6rem; }
</style>
</head>
<body>
`

// HTML writes the report as one page that stands by itself: plots as inline SVG, and
// the table.
func (p *Report) HTML(w io.Writer) error {
	var b strings.Builder
	b.WriteString(pageHead)
	fmt.Fprintf(&b, "<h1>mynah profile</h1>\n<p>%s</p>\n<p>%s</p>\n", html.EscapeString(p.headline()), html.EscapeString(p.summary()))
	b.WriteString("<h2>Time of each round</h2>\n<p>A round makes a frame of each stream.</p>\n")
	p.plotFrames(&b)
	b.WriteString("<h2>Shares of the rounds</h2>\n")
	p.plotShares(&b)
	b.WriteString("<h2>Percentiles of the stages</h2>\n<p>Bars end at p50, p95 and p99.</p>\n")
	p.plotPercentiles(&b, p.Stages)
	if len(p.Steps) > 0 {
		b.WriteString("<h2>Percentiles of the residual steps</h2>\n")
		p.plotPercentiles(&b, p.Steps)
	}
	if p.Gap.Count > 0 {
		b.WriteString("<h2>Gap between frames</h2>\n<p>What a listener feels: from one frame of a stream to the next.</p>\n")
		p.plotPercentiles(&b, p.gapRows())
	}
	b.WriteString("<h2>Figures</h2>\n")
	p.htmlTable(&b)
	p.htmlListeners(&b)
	if p.Parity != nil {
		p.Parity.html(&b)
	}
	b.WriteString("</body>\n</html>\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func (p *Report) htmlTable(b *strings.Builder) {
	b.WriteString("<div><table>\n<tr>")
	for _, title := range []string{p.unit(), "count", "p50", "p95", "p99", "mean", "max", "share", "GB/s", "GMAC/s"} {
		fmt.Fprintf(b, "<th>%s</th>", title)
	}
	b.WriteString("</tr>\n")
	for _, row := range p.Stages {
		row.html(b, "stage")
		if row.stage == Residual {
			for _, step := range p.Steps {
				step.html(b, "step")
			}
		}
	}
	b.WriteString("</table></div>\n")
}

// gapRows are the gaps of each stream as rows of a plot.
func (p *Report) gapRows() []Row {
	var rows []Row
	for i := range p.Listeners {
		h := &p.Listeners[i]
		rows = append(rows, Row{Stage: fmt.Sprintf("stream %d", h.Stream), P50: h.GapP50, P95: h.GapP95, P99: h.GapP99})
	}
	if len(rows) > 1 {
		all := p.Gap
		all.Stage = "all"
		rows = append(rows, all)
	}
	return rows
}

func (p *Report) htmlListeners(b *strings.Builder) {
	if len(p.Listeners) == 0 {
		return
	}
	line := func(tag, name string, cells []string) {
		fmt.Fprintf(b, "<tr><%s>%s</%s>", tag, name, tag)
		for _, c := range cells {
			fmt.Fprintf(b, "<%s>%s</%s>", tag, c, tag)
		}
		b.WriteString("</tr>\n")
	}
	b.WriteString("<div><table>\n")
	line("th", "listener, ms", listenerTitles)
	for i := range p.Listeners {
		line("td", fmt.Sprintf("stream %d", i+1), p.Listeners[i].cells())
	}
	if len(p.Listeners) > 1 {
		line("td", "all", p.gapCells())
	}
	b.WriteString("</table></div>\n")
}

func (row *Row) html(b *strings.Builder, class string) {
	fmt.Fprintf(b, `<tr class="%s"><td>%s</td><td>%d</td>`, class, html.EscapeString(row.label()), row.Count)
	for _, x := range []float64{row.P50, row.P95, row.P99, row.Mean, row.Max} {
		fmt.Fprintf(b, "<td>%.3f</td>", x)
	}
	fmt.Fprintf(b, "<td>%s</td><td>%s</td><td>%s</td></tr>\n", some("%.1f %%", 100*row.Share), some("%.1f", row.GBs), some("%.1f", row.GMACs))
}

// label is the name of a row that stands by itself.
func (row *Row) label() string {
	if row.Step > 0 {
		return fmt.Sprintf("step %d", row.Step)
	}
	return row.Stage
}
