package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/mynah-tts/mynah/internal/config"
	"github.com/mynah-tts/mynah/internal/hub"
)

// pullCommand is `mynah pull`.
type pullCommand struct {
	Name string `arg:"" name:"repo" help:"Model to fetch: ORG/NAME, or NAME alone if the hub has it without an organisation; with @REVISION a branch, a tag or a commit of it."`

	Include     string `help:"Files to fetch instead of those that a checkpoint is made of, by patterns such as *.json; * stands for slashes as well. Code and pickles are never fetched." placeholder:"GLOB,…" unset:"the checkpoint's"`
	Exclude     string `help:"Files not to fetch, by patterns." placeholder:"GLOB,…" unset:"none"`
	DryRun      bool   `help:"Only print which files would be fetched, and their sizes."`
	Verify      bool   `help:"Read files that are there already, and fetch those anew whose digest is not the hub's."`
	Offline     bool   `help:"Fetch nothing: only say where the model is in the cache. HF_HUB_OFFLINE=1 is the same."`
	NoWait      bool   `help:"Fail if another pull of the model is running, rather than wait for its end."`
	Connections int    `help:"Requests at once." placeholder:"N" range:"1,16" default:"4"`
	Progress    string `help:"How progress is told: a line on a terminal, plain lines otherwise; json are objects on standard output." allowed:"auto,plain,json" placeholder:"NAME" unset:"auto"`
	Quiet       bool   `short:"q" help:"Print errors only, and where the model is."`
	config.Common
}

// Help is what the help of pull adds.
func (c *pullCommand) Help() string {
	return `The model goes into the cache that Python's huggingface_hub uses, and what is there already is not fetched again. Then --model ORG/NAME opens it. The last line, on standard output, is its folder.

It can be stopped at any moment; the same command goes on from there. Sizes and digests are compared with the hub's before a file gets its name.

HF_ENDPOINT is the hub's address, HF_TOKEN or the file of HF_TOKEN_PATH the token for private and gated models, HF_HOME or HF_HUB_CACHE the place of the cache. HTTPS_PROXY and NO_PROXY are honoured.

Exit codes: 0 the model is there; 1 failed or interrupted; 2 the command or a value in it is wrong.

` + config.Precedence
}

// Run fetches.
func (c *pullCommand) Run(p *program) error {
	if unknown := p.parser.UnknownVariables(); unknown != "" && !c.Quiet {
		p.note("warning: %s", unknown)
	}
	name, err := hub.Parse(c.Name)
	if err != nil {
		return usageErrorf("%v", err)
	}
	settings, err := hub.FromEnvironment(os.Getenv)
	if err != nil {
		return usageErrorf("%v", err)
	}
	selection := hub.Selection{Include: splitList(c.Include), Exclude: splitList(c.Exclude)}
	if err := selection.Check(); err != nil {
		return usageErrorf("%v", err)
	}
	r := newPullReport(p, c.Quiet, c.Progress, name)
	if c.Offline || settings.Offline != "" {
		return r.fail(c.offline(r, settings, name))
	}
	h, err := hub.New(settings, hub.Options{
		Selection: selection, Connections: c.Connections,
		NoWait: c.NoWait, Verify: c.Verify, Agent: "mynah/" + readVersion().Version, Note: r.tell,
	})
	if err != nil {
		return usageErrorf("%v", err)
	}
	defer h.Close()
	if settings.OpenToken() {
		r.tell("warning: the token goes to " + settings.Endpoint.Host + " over http, which others on the way can read")
	}
	ctx, _ := catchInterrupts()
	plan, err := h.Plan(ctx, name)
	if err != nil {
		return r.fail(interrupted(ctx, err, "nothing was fetched"))
	}
	if c.DryRun {
		return c.dryRun(r, plan)
	}
	return c.run(ctx, r, h.Start(plan), plan)
}

// interrupted words an end by a signal.
func interrupted(ctx context.Context, err error, how string) error {
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return &exitError{exitFailed, "interrupted: " + how}
	}
	return err
}

// offline looks for the model in the cache.
func (c *pullCommand) offline(r *pullReport, settings hub.Settings, name hub.Name) error {
	dir, err := settings.Find(name)
	if err != nil {
		var without []string
		if c.Offline {
			without = append(without, "--offline")
		}
		if settings.Offline != "" {
			without = append(without, settings.Offline)
		}
		return &exitError{exitFailed, fmt.Sprintf("%v, without %s", err, strings.Join(without, " and "))}
	}
	if r.json() {
		r.emit(r.found(dir))
		return nil
	}
	_, err = fmt.Fprintln(r.program.stdout, dir)
	return err
}

// dryRun prints what would be fetched.
func (c *pullCommand) dryRun(r *pullReport, plan *hub.Plan) error {
	r.plan = plan
	for _, f := range plan.Files {
		if err := r.file(f); err != nil {
			return err
		}
	}
	if r.json() {
		if err := r.print(r.planned()); err != nil {
			return err
		}
	}
	if !c.Quiet {
		r.note("%s at %s: %s, %s, of which %s are there; nothing was fetched", plan.Name, plan.Commit, fileCount(len(plan.Files)), size(plan.Size), size(plan.Have))
	}
	return nil
}

func fileCount(n int) string {
	if n == 1 {
		return "1 file"
	}
	return fmt.Sprintf("%d files", n)
}

// run carries a plan out and tells how it goes.
func (c *pullCommand) run(ctx context.Context, r *pullReport, pull *hub.Pull, plan *hub.Plan) error {
	r.pull, r.plan, r.begun = pull, plan, time.Now()
	r.start()
	err := pull.Run(ctx)
	r.stop()
	g := pull.Progress()
	if err != nil {
		return r.fail(interrupted(ctx, err, fmt.Sprintf("%s of %s are there; the same command goes on from there", size(g.Have), size(g.Size))))
	}
	if r.json() {
		r.emit(r.newEvent("end", g, true))
	}
	if !c.Quiet {
		line := fmt.Sprintf("%s at %.12s: %s, %s", plan.Name, plan.Commit, fileCount(g.Files), size(g.Size))
		if g.Received == 0 {
			line += ", all were there"
		} else {
			line += fmt.Sprintf("; %s fetched in %v (%s/s)", size(g.Received), r.elapsed().Round(100*time.Millisecond), size(r.speed(g)))
		}
		r.program.note("%s", line)
	}
	if r.json() {
		return nil
	}
	_, err = fmt.Fprintln(r.program.stdout, plan.Path)
	return err
}
