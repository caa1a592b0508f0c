package main

import (
	"bufio"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/mynah-tts/mynah/server"
)

// limitFlags bound what clients may make the server hold or wait for.
type limitFlags struct {
	MaxInput    int `help:"Characters of an input, and of instructions." placeholder:"N" range:"1,100000" unset:"4096" group:"limits"`
	MaxBody     int `help:"Size of a request in MiB; a recording that it brings may add to it." placeholder:"MIB" range:"1,1024" unset:"4" group:"limits"`
	MaxLive     int `help:"Requests whose frames are computed together." placeholder:"N" range:"1,64" unset:"8" group:"limits"`
	MaxQueue    int `help:"Requests that wait for a place; later ones get 429. -1 is none." placeholder:"N" range:"-1,100000" unset:"64" group:"limits"`
	MaxAhead    int `help:"Frames of 80 ms that are computed ahead of a client before it is waited for." placeholder:"N" range:"1,10000" unset:"64" group:"limits"`
	MaxPending  int `help:"MiB of output that may wait for one WebSocket." placeholder:"MIB" range:"1,1024" unset:"1" group:"limits"`
	MaxBatch    int `help:"MiB of audio that all batches together hold until their answers leave." placeholder:"MIB" range:"1,65536" unset:"64" group:"limits"`
	MaxClip     int `help:"Size of a recording that a voice is made of, in MiB." placeholder:"MIB" range:"1,1024" unset:"16" group:"limits"`
	MaxClipTime int `name:"max-clip-seconds" help:"Seconds of it." placeholder:"N" range:"1,120" unset:"120" group:"limits"`
	keepFlags
	MaxConnections int `help:"Open connections, and requests with a body at a time." placeholder:"N" range:"1,1000000" unset:"512" group:"limits"`
	MaxWebsockets  int `help:"WebSockets among them." placeholder:"N" range:"1,1000000" unset:"128" group:"limits"`
	MaxUtterances  int `help:"Utterances of one WebSocket that are spoken or wait." placeholder:"N" range:"1,100000" unset:"64" group:"limits"`

	HeaderTimeout  duration `help:"Time for a request's header to arrive." placeholder:"TIME" unset:"10s" group:"limits"`
	BodyTimeout    duration `help:"Time for a request's body to arrive." placeholder:"TIME" unset:"30s" group:"limits"`
	WriteTimeout   duration `help:"Time that a client may take no bytes at all." placeholder:"TIME" unset:"10s" group:"limits"`
	LagTimeout     duration `help:"Time that a client may keep the server waiting beyond what it hears in it." placeholder:"TIME" unset:"30s" group:"limits"`
	IdleTimeout    duration `help:"Time that a connection may stay without a request, or a WebSocket without a message." placeholder:"TIME" unset:"3m" group:"limits"`
	PingInterval   duration `help:"Time between pings of a WebSocket." placeholder:"TIME" unset:"20s" group:"limits"`
	SilenceTimeout duration `help:"Time that a WebSocket's client may neither send nor take anything, answers to pings included." placeholder:"TIME" unset:"60s" group:"limits"`
	TextTimeout    duration `help:"Time that an utterance whose speech has begun waits for more of its text." placeholder:"TIME" unset:"30s" group:"limits"`
	ListenAhead    duration `help:"Audio that is computed ahead of what a WebSocket's client says that it has heard." placeholder:"TIME" unset:"5s" group:"limits"`
	DrainDelay     duration `help:"Time from the signal to end, which /ready tells at once, to refusing requests." placeholder:"TIME" unset:"0s" group:"limits"`
	DrainGrace     duration `help:"Time for live requests to finish after that." placeholder:"TIME" unset:"30s" group:"limits"`
}

// limits puts the flags into the server's terms.
func (f *limitFlags) limits() server.Limits {
	const mib = 1 << 20
	return server.Limits{
		InputRunes: f.MaxInput, BodyBytes: mib * int64(f.MaxBody), Live: f.MaxLive, Queue: f.MaxQueue, Ahead: f.MaxAhead,
		PendingBytes: mib * int64(f.MaxPending), BatchBytes: mib * int64(f.MaxBatch),
		ClipBytes: mib * int64(f.MaxClip), ClipSeconds: f.MaxClipTime,
		Connections: f.MaxConnections, WebSockets: f.MaxWebsockets, Utterances: f.MaxUtterances,
		PingInterval: time.Duration(f.PingInterval), SilenceTimeout: time.Duration(f.SilenceTimeout), TextTimeout: time.Duration(f.TextTimeout), ListenAhead: time.Duration(f.ListenAhead),
		HeaderTimeout: time.Duration(f.HeaderTimeout), BodyTimeout: time.Duration(f.BodyTimeout), WriteTimeout: time.Duration(f.WriteTimeout),
		LagTimeout: time.Duration(f.LagTimeout), IdleTimeout: time.Duration(f.IdleTimeout),
		DrainDelay: time.Duration(f.DrainDelay), DrainGrace: time.Duration(f.DrainGrace),
	}
}

// duration is a flag such as 10s or 3m.
type duration time.Duration

// Decode reads a duration. Nothing waits for less than a millisecond; 0 is the default.
func (d *duration) Decode(ctx *kong.DecodeContext) error {
	var s string
	if err := ctx.Scan.PopValueInto("time", &s); err != nil {
		return err
	}
	t, err := time.ParseDuration(s)
	if err != nil {
		return fmt.Errorf("%q, wanted a time such as 500ms, 10s or 3m", s)
	}
	if t != 0 && (t < time.Millisecond || t > 24*time.Hour) {
		return fmt.Errorf("%s, allowed are 1ms to 24h, or 0 for the default", s)
	}
	*d = duration(t)
	return nil
}

// accessFlags say who may use the server.
type accessFlags struct {
	APIKeys     string `name:"api-keys" help:"Keys of clients, with commas between; without any, everyone may use the server. On the command line others on this machine see them." placeholder:"KEY,KEY" unset:"none" group:"access"`
	APIKeysFile string `name:"api-keys-file" help:"File of keys, one a line; # begins a comment." placeholder:"FILE" type:"path" unset:"none" group:"access"`
	AllowHost   string `help:"Names that requests may use for this server besides localhost, with commas between." placeholder:"NAME,NAME" unset:"none on a loopback address, all on others" group:"access"`
	AllowOrigin string `help:"Pages that may use the server besides its own: origins such as https://example.org with commas between, or * for all." placeholder:"ORIGIN,ORIGIN" unset:"none" group:"access"`
	TLSCert     string `name:"tls-cert" help:"Certificate chain for HTTPS (PEM)." placeholder:"FILE" type:"path" unset:"none, plain HTTP" group:"access"`
	TLSKey      string `name:"tls-key" help:"Private key of --tls-cert (PEM)." placeholder:"FILE" type:"path" unset:"none" group:"access"`
}

// keys are those of flag and file.
func (f *accessFlags) keys(p *program) ([]string, error) {
	keys := splitList(f.APIKeys)
	if f.APIKeys != "" && len(keys) == 0 { // a list of nothing must not open the server to everyone
		return nil, usageErrorf("%s: %q has no key", p.parser.Origin("api-keys"), f.APIKeys)
	}
	if f.APIKeysFile == "" {
		return keys, nil
	}
	where := p.parser.Origin("api-keys-file")
	file, err := os.Open(f.APIKeysFile)
	if err != nil {
		return nil, usageErrorf("%s: %v", where, err)
	}
	defer file.Close()
	found := false
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		if line := strings.TrimSpace(lines.Text()); line != "" && line[0] != '#' {
			keys, found = append(keys, line), true
		}
	}
	if err := lines.Err(); err != nil {
		return nil, usageErrorf("%s: %s: %v", where, f.APIKeysFile, err)
	}
	if !found { // an empty file must not open the server to everyone
		return nil, usageErrorf("%s: %s has no key", where, f.APIKeysFile)
	}
	return keys, nil
}

// splitList takes a list with commas apart.
func splitList(s string) []string {
	var all []string
	for item := range strings.SplitSeq(s, ",") {
		if item = strings.TrimSpace(item); item != "" {
			all = append(all, item)
		}
	}
	return all
}

// logFlags say what is logged.
type logFlags struct {
	LogLevel  string `help:"Least important lines that are logged. debug also has probes and scrapes." allowed:"debug,info,warn,error" placeholder:"NAME" unset:"info" group:"log"`
	LogFormat string `help:"Form of the log." allowed:"text,json" placeholder:"NAME" unset:"text" group:"log"`
	LogText   bool   `help:"Log the texts that are spoken." group:"log"`
}

// logger writes to standard error.
func (f *logFlags) logger(p *program) *slog.Logger {
	opts := &slog.HandlerOptions{}
	levels := map[string]slog.Level{"debug": slog.LevelDebug, "warn": slog.LevelWarn, "error": slog.LevelError}
	opts.Level = levels[f.LogLevel] // info otherwise
	if f.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(p.stderr, opts))
	}
	return slog.New(slog.NewTextHandler(p.stderr, opts))
}
