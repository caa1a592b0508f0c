package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/mynah-tts/mynah/internal/config"
	"github.com/mynah-tts/mynah/internal/fleet"
	"github.com/mynah-tts/mynah/synth"
)

// workerCommand is `mynah worker`.
type workerCommand struct {
	NATS  string   `name:"nats" help:"NATS server with JetStream: nats:// or tls://, several with commas between. Users and passwords are better given in the variable, which others on this machine do not see." placeholder:"URL" unset:"none, it must be given" group:"nats"`
	Jobs  string   `help:"Items that are spoken at once, 1 to 64, or auto." placeholder:"N" unset:"auto"`
	Lease duration `help:"How long this worker may be silent until its items go to others, 1s to 10m. Of workers that take the same items, the longest of theirs holds for all." placeholder:"TIME" unset:"30s"`
	Idle  duration `help:"End after so long without an item." placeholder:"TIME" unset:"never"`
	Temp  string   `help:"Folder for what is not finished." placeholder:"DIR" type:"path" unset:"the system's for temporary files"`
	natsFlags
	modelFlags
	Quiet bool `short:"q" help:"Print errors only."`
	config.Common
}

// Help is what the help of worker adds.
func (c *workerCommand) Help() string {
	return `It takes items that mynah batch --nats puts on a queue, speaks them, and hands the finished files in. It only takes items of batches that have the same checkpoint, precision, instruction level and version of Mynah, so that each file is the one that the batch's own machine would make.

The first signal (SIGTERM, Ctrl-C) lets it finish what it has; the second gives that back to the queue.

Exit codes: 0 it was told to end, or was idle for as long as it may; 1 failed; 2 the command or a value in it is wrong.

` + config.Precedence
}

// Run works until a signal.
func (c *workerCommand) Run(p *program) error {
	if unknown := p.parser.UnknownVariables(); unknown != "" && !c.Quiet {
		p.note("warning: %s", unknown)
	}
	jobs, lease, err := c.check(p)
	if err != nil {
		return err
	}
	server, err := c.server(c.NATS)
	if err != nil {
		return err
	}
	if !c.Quiet {
		c.warn = p.warn
	}
	ctx, signals := catchInterrupts()
	model, err := openToWork(ctx, func() (*synth.Model, error) {
		return c.openWith(func(o *synth.Options) { o.MaxLive = cmp.Or(jobs, autoJobs) })
	})
	if model == nil {
		return err
	}
	defer model.Close()
	identity, err := c.identity(model)
	if err != nil {
		return err
	}
	log.SetOutput(io.Discard) // see batch
	dir, remove, err := newWorkerDir(cmp.Or(c.Temp, os.TempDir()))
	if err != nil {
		return err
	}
	defer remove()
	w := fleet.Worker{
		Name: workerName(), Model: c.modelName(), Engine: batchEngine{model}, Identity: identity, SourceRate: model.Info().SampleRate,
		Jobs: cmp.Or(jobs, chooseJobs(model.Info(), memoryThere())), Lease: lease, Idle: time.Duration(c.Idle), Dir: filepath.Join(dir, "work"),
	}
	return c.work(ctx, signals, p, &server, w)
}

// openToWork opens a model. There is none, and no error, if the worker is told to end
// meanwhile: that is its usual end.
func openToWork(ctx context.Context, open func() (*synth.Model, error)) (*synth.Model, error) {
	model, err := openUnless(ctx, open)
	if err != nil && ctx.Err() != nil {
		return nil, nil
	}
	return model, err
}

// check reads the flags that need no model.
func (c *workerCommand) check(p *program) (jobs int, lease time.Duration, err error) {
	if c.NATS == "" {
		return 0, 0, usageErrorf("no server to take items from: add --nats URL")
	}
	if c.NATS == embeddedNATS {
		return 0, 0, usageErrorf("--nats: embedded is for mynah batch; a worker connects to the address that it prints")
	}
	if jobs, err = readJobs(p, c.Jobs); err != nil {
		return 0, 0, err
	}
	lease = time.Duration(c.Lease)
	if lease == 0 {
		lease = fleet.DefaultLease
	}
	if lease < fleet.MinLease || lease > fleet.MaxLease {
		return 0, 0, usageErrorf("%s: %v, allowed are %v to %v", p.parser.Origin("lease"), lease, fleet.MinLease, fleet.MaxLease)
	}
	return jobs, lease, nil
}

// work connects and takes orders. What it tells goes to standard error.
func (c *workerCommand) work(ctx context.Context, signals *interrupts, p *program, server *fleet.Server, w fleet.Worker) error {
	if !c.Quiet {
		w.Done = func(f fleet.Finished) { p.note("%s", finishedLine(f)) }
		server.Note = func(line string) { p.note("%s", line) }
	}
	hurry, now := context.WithCancel(context.Background())
	defer now()
	signals.hurryOnSecond(now)
	link, err := server.Connect(ctx, "mynah worker "+w.Name)
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	defer link.Close()
	if !c.Quiet {
		p.note("worker %s takes items at %s, %d at once: %s, instruction level %s", w.Name, link.Where(), w.Jobs, w.Model, w.Identity.Level)
	}
	err = link.Work(ctx, hurry, w)
	if err != nil && (ctx.Err() == nil || !errors.Is(err, context.Canceled)) {
		return err
	}
	if !c.Quiet {
		p.note("worker %s ends", w.Name)
	}
	return nil
}

// finishedLine words what came of an order.
func finishedLine(f fleet.Finished) string {
	line := fmt.Sprintf("job %.8s, item %d: ", f.Job, f.Index)
	switch {
	case f.Again && f.Problem == "":
		return line + "given back"
	case f.Again:
		return line + "given back: " + f.Problem
	case f.Problem != "":
		return line + "failed: " + f.Problem
	}
	return line + fmt.Sprintf("%.2f s of audio in %.2f s", f.Duration, f.Took.Seconds())
}
