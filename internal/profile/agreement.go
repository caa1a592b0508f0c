package profile

import (
	"fmt"
	"html"
	"strings"
)

// agreementTitles are the columns of a table of parity, behind the name.
var agreementTitles = []string{"choices", "top-1", "top-5", "KL, nats", "largest difference"}

// name says what an agreement is about.
func (a *Agreement) name() string {
	switch a.Group {
	case AllGroups:
		return "residual codes"
	case 0:
		return "code 0"
	}
	return fmt.Sprintf("code %d", a.Group)
}

// cells are the figures under agreementTitles.
func (a *Agreement) cells() []string {
	return []string{
		fmt.Sprint(a.Choices), fmt.Sprintf("%.1f %%", 100*a.Top1), fmt.Sprintf("%.1f %%", 100*a.Top5),
		fmt.Sprintf("%.6f", a.KL), fmt.Sprintf("%.4f", a.Worst),
	}
}

// title says what is compared.
func (q *Parity) title() string {
	return fmt.Sprintf("parity with float32 over %s of the same inputs", count(int(q.Frames), "frame"))
}

// endToEnd says how the rows of EndToEnd differ.
const endToEnd = "end to end"

// String is the figure in words.
func (s Sound) String() string {
	switch {
	case s.Exact:
		return fmt.Sprintf("the samples of %s are equal", count(int(s.Frames), "frame"))
	case s.SNR == nil:
		return fmt.Sprintf("no signal to compare with in %s", count(int(s.Frames), "frame"))
	}
	return fmt.Sprintf("SNR %.1f dB, largest difference of a sample %.6f", *s.SNR, s.Worst)
}

func (q *Parity) text(b *strings.Builder) {
	row := func(name string, cells []string) {
		fmt.Fprintf(b, "%-30s %8s %8s %8s %9s %19s\n", name, cells[0], cells[1], cells[2], cells[3], cells[4])
	}
	fmt.Fprintf(b, "\n%s\n", q.title())
	row("", agreementTitles)
	row(q.Talker.name(), q.Talker.cells())
	row(q.Residual.name(), q.Residual.cells())
	for i := range q.Groups {
		row("  "+q.Groups[i].name(), q.Groups[i].cells())
	}
	row(q.EndToEnd.name()+", "+endToEnd, q.EndToEnd.cells())
	fmt.Fprintf(b, "codec: %s\n", q.Codec)
}

// html writes the section of a page.
func (q *Parity) html(b *strings.Builder) {
	fmt.Fprintf(b, "<h2>Parity with float32</h2>\n<p>%s. Bars are the KL divergence of each code's choices, in nats; the pale ones are %s.</p>\n",
		html.EscapeString(q.title()), endToEnd)
	q.plot(b)
	b.WriteString("<div><table>\n<tr><th></th>")
	for _, title := range agreementTitles {
		fmt.Fprintf(b, "<th>%s</th>", title)
	}
	b.WriteString("</tr>\n")
	row := func(class, name string, a *Agreement) {
		fmt.Fprintf(b, `<tr class="%s"><td>%s</td>`, class, name)
		for _, c := range a.cells() {
			fmt.Fprintf(b, "<td>%s</td>", c)
		}
		b.WriteString("</tr>\n")
	}
	row("stage", q.Talker.name(), &q.Talker)
	row("stage", q.Residual.name(), &q.Residual)
	for i := range q.Groups {
		row("step", q.Groups[i].name(), &q.Groups[i])
	}
	row("stage", q.EndToEnd.name()+", "+endToEnd, &q.EndToEnd)
	for i := range q.EndToEndGroups {
		row("step", q.EndToEndGroups[i].name(), &q.EndToEndGroups[i])
	}
	fmt.Fprintf(b, "</table></div>\n<p>Codec: %s.</p>\n", html.EscapeString(q.Codec.String()))
}

// plot draws the divergence of each group.
func (q *Parity) plot(b *strings.Builder) {
	type bars struct {
		name      string
		kl, whole float64
	}
	rows, most := []bars{{q.Talker.name(), q.Talker.KL, 0}}, q.Talker.KL
	for i := range q.Groups {
		rows = append(rows, bars{q.Groups[i].name(), q.Groups[i].KL, q.EndToEndGroups[i].KL})
		most = max(most, q.Groups[i].KL, q.EndToEndGroups[i].KL)
	}
	if most == 0 {
		most = 1
	}
	fmt.Fprintf(b, `<svg viewBox="0 0 %d %d" role="img" aria-label="KL divergence from float32">`+"\n", plotWidth, 8+barPitch*len(rows))
	for i, r := range rows {
		y, width := 4+i*barPitch, float64(plotRight-plotLeft)
		fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="end">%s</text>`, plotLeft-8, y+12, r.name)
		fmt.Fprintf(b, `<rect x="%d" y="%d" width="%.2f" height="%d" fill="var(--c0)" opacity="0.35"/>`, plotLeft, y, r.whole/most*width, barHeight)
		fmt.Fprintf(b, `<rect x="%d" y="%d" width="%.2f" height="%d" fill="var(--c0)"/>`, plotLeft, y, r.kl/most*width, barHeight/2)
		fmt.Fprintf(b, `<text class="soft" x="%.1f" y="%d">%.5f</text>`+"\n", plotLeft+max(r.kl, r.whole)/most*width+6, y+12, r.kl)
	}
	b.WriteString("</svg>\n")
}
