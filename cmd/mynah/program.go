package main

import (
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/mynah-tts/mynah/internal/config"
	"github.com/mynah-tts/mynah/internal/cpu"
)

// commands is what the command line may hold.
type commands struct {
	Say      sayCommand      `cmd:"" help:"Speak a text into a file or a pipe."`
	Batch    batchCommand    `cmd:"" help:"Speak a file of texts, or a book, into a folder of audio."`
	Worker   workerCommand   `cmd:"" help:"Speak items of mynah batch --nats, on this machine or another."`
	Serve    serveCommand    `cmd:"" help:"Speak over HTTP, by the API that OpenAI's clients use."`
	Voices   voicesCommand   `cmd:"" help:"List, keep and remove voices."`
	Codec    codecCommand    `cmd:"" help:"Turn recordings into codes, and codes into recordings."`
	Doctor   doctorCommand   `cmd:"" help:"Say what this machine and a checkpoint can do, and what is wrong with them."`
	Profile  profileCommand  `cmd:"" help:"Say where the time of each frame goes."`
	Bench    benchCommand    `cmd:"" help:"Say how fast this machine is, and how close a model comes to it."`
	Quantize quantizeCommand `cmd:"" help:"Pack a checkpoint into one file that opens at once."`
	Pull     pullCommand     `cmd:"" help:"Fetch a model from a Hugging Face hub."`
	Models   modelsCommand   `cmd:"" help:"List and remove models that were fetched."`
	Version  versionCommand  `cmd:"" help:"Print the version."`
	Help     helpCommand     `cmd:"" help:"Explain a command and its settings."`
}

// otherVariables are MYNAH_… variables that are no flags: the instruction level, and
// what tests of this repository go by.
var otherVariables = []string{cpu.EnvLevel, "MYNAH_PARITY", "MYNAH_REQUIRE_CPU", "MYNAH_BENCH_MODEL", "MYNAH_BENCH_PRECISION", "MYNAH_NATS_SERVER"}

// program is one run of mynah.
type program struct {
	stdin, stdout, stderr *os.File

	parser *config.Parser
}

// run runs a command line and returns the exit code.
func (p *program) run(args, environ []string) (code int) {
	if os.Getenv("GOTRACEBACK") == "" {
		defer func() {
			if r := recover(); r != nil {
				code = p.report(fmt.Errorf("internal error, please report it: %v (GOTRACEBACK=all shows where)", r))
			}
		}()
	}
	// A reader that goes away shall end the command by an error, so that files are
	// cleaned up and the exit code is ours.
	signal.Ignore(syscall.SIGPIPE)
	if len(args) == 0 {
		fmt.Fprint(p.stderr, usage)
		return exitUsage
	}
	grammar := &commands{}
	var err error
	p.parser, err = config.New(grammar, otherVariables,
		kong.Name("mynah"), kong.Description(description), kong.Writers(p.stdout, p.stderr), helpOptions, helpGroups)
	if err != nil {
		return p.report(err)
	}
	ctx, err := p.parser.Parse(args, environ)
	if err != nil {
		return p.report(explain(err, args))
	}
	return p.report(ctx.Run(p))
}

// platform is the system that this program was built for.
const platform = runtime.GOOS + "/" + runtime.GOARCH
