package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/mynah-tts/mynah/internal/config"
)

// doctorCommand is `mynah doctor`.
type doctorCommand struct {
	modelFlags
	JSON bool `name:"json" help:"Print JSON."`
	config.Common
}

// Help is what the help of doctor adds.
func (c *doctorCommand) Help() string {
	return "MYNAH_CPU=generic, avx2 or avx512 caps the instruction level of every command, which decides the last bits of the audio: with one that all have, x86 machines of several kinds give the same bytes.\n\n" +
		"Exit codes: 0 no problem; 1 there are problems, each on a line of its own; 2 the command or a value in it is wrong.\n\n" + config.Precedence
}

// check is one thing that was looked at.
type check struct {
	Part   string `json:"part"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"` // what was found, or what is wrong
}

// diagnosis is all that doctor has to say.
type diagnosis struct {
	Machine  machine  `json:"machine"`
	Model    patient  `json:"model"`
	Problems []string `json:"problems"`
	Verdict  string   `json:"verdict"`
}

// Run examines.
func (c *doctorCommand) Run(p *program) error {
	if unknown := p.parser.UnknownVariables(); unknown != "" {
		p.note("warning: %s", unknown)
	}
	c.warn = p.warn
	d := diagnosis{Machine: examineMachine(c.Threads), Model: examineModel(&c.modelFlags), Problems: []string{}}
	for _, checks := range [][]check{d.Machine.Checks, d.Model.Checks} {
		for _, each := range checks {
			if !each.OK {
				d.Problems = append(d.Problems, each.Part+": "+each.Detail)
			}
		}
	}
	if most := d.Machine.memoryBound(); most > 0 && d.Model.Memory > most {
		d.Problems = append(d.Problems, fmt.Sprintf("memory: the model takes about %s, there are %s", size(d.Model.Memory), size(most)))
	}
	d.Verdict = d.verdict()
	var err error
	if c.JSON {
		err = printJSON(p.stdout, d)
	} else {
		_, err = io.WriteString(p.stdout, d.String())
	}
	if err == nil && len(d.Problems) > 0 {
		return &exitError{code: exitFailed}
	}
	return err
}

func (d *diagnosis) verdict() string {
	switch len(d.Problems) {
	case 0:
		return fmt.Sprintf("will run: about %s of memory, and %s more for each second that an utterance may last",
			size(d.Model.Memory), size(d.Model.MemoryPerSecond))
	case 1:
		return "will not run: 1 problem"
	}
	return fmt.Sprintf("will not run: %d problems", len(d.Problems))
}

// String is the diagnosis as lines of text.
func (d *diagnosis) String() string {
	var b strings.Builder
	table(&b, "machine", d.Machine.rows())
	table(&b, "model "+oneLine(d.Model.Name), d.Model.rows())
	for _, problem := range d.Problems {
		fmt.Fprintf(&b, "problem: %s\n", oneLine(problem))
	}
	fmt.Fprintln(&b, d.Verdict)
	return b.String()
}

// table writes rows of a name and a text below a title.
func table(b *strings.Builder, title string, rows [][2]string) {
	fmt.Fprintln(b, title)
	width := 0
	for _, r := range rows {
		width = max(width, len(r[0]))
	}
	for _, r := range rows {
		fmt.Fprintf(b, "  %-*s  %s\n", width, r[0], oneLine(r[1]))
	}
	fmt.Fprintln(b)
}

// size is a number of bytes for people.
func size(bytes int64) string {
	const unit = 1 << 10
	if bytes < unit {
		return fmt.Sprintf("%d bytes", bytes)
	}
	x, names := float64(bytes)/unit, []string{"KiB", "MiB", "GiB", "TiB"}
	for len(names) > 1 && x >= unit {
		x, names = x/unit, names[1:]
	}
	if x < 10 {
		return fmt.Sprintf("%.1f %s", x, names[0])
	}
	return fmt.Sprintf("%.0f %s", x, names[0])
}
