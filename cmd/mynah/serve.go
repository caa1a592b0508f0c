package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"github.com/mynah-tts/mynah/internal/config"
	"github.com/mynah-tts/mynah/internal/hub"
	"github.com/mynah-tts/mynah/internal/osfile"
	"github.com/mynah-tts/mynah/server"
	"github.com/mynah-tts/mynah/synth"
)

// serveCommand is `mynah serve`.
type serveCommand struct {
	Addr      string `help:"Address and port to listen on. Other machines reach the server at an address of their network, or at 0.0.0.0; give it keys then." placeholder:"HOST:PORT" unset:"127.0.0.1:8080"`
	DebugAddr string `help:"Address and port for profiles of the program itself (/debug/pprof/), of this machine alone." placeholder:"HOST:PORT" unset:"none"`
	Wyoming   string `help:"Address and port for clients of the Wyoming protocol, such as Home Assistant; 127.0.0.1:10200 is usual. The protocol has no keys." placeholder:"HOST:PORT" unset:"none"`
	modelFlags
	ModelID        string `name:"model-id" help:"Name of the model in the API." placeholder:"NAME" unset:"that of its folder"`
	Voice          string `help:"Voice of requests that name none: a preset or, with a Base checkpoint, one that is kept." placeholder:"NAME" unset:"the checkpoint's first"`
	Voices         string `help:"Folder of the voices that are kept, for Base checkpoints; clients may add and remove some. off is none." placeholder:"DIR" type:"path" unset:"mynah/voices in the user's data folder"`
	VoiceMap       string `help:"Further names for voices: alloy=ryan,nova=vivian. openai=ryan is for all of OpenAI's names." placeholder:"NAME=VOICE,…" unset:"none"`
	Reference      string `help:"Voice to imitate, for Base checkpoints: a JSON file with x_vector, or with codes and text as well." placeholder:"FILE" type:"path" unset:"none"`
	ResponseFormat string `help:"Format of requests that name none." allowed:"mp3,opus,aac,flac,wav,pcm" placeholder:"NAME" unset:"mp3"`
	limitFlags
	accessFlags
	logFlags
	config.Common
}

// Help is what the help of serve adds.
func (c *serveCommand) Help() string {
	return `Speaks over HTTP, by OpenAI's speech API:

  curl localhost:8080/v1/audio/speech -H 'Content-Type: application/json' -d '{"model": "tts-1", "input": "Hello there."}' -o hello.mp3

/openapi.json describes the API. The server listens at once and is ready when the model is loaded, which /ready tells. The first SIGINT or SIGTERM lets live requests finish, the second ends them.

Exit codes: 0 ended by a signal; 1 failed; 2 the command or a value in it is wrong; 3 ended by a signal, but requests had to be cut off.

` + config.Precedence
}

const defaultAddr = "127.0.0.1:8080"

// Run serves until a signal.
func (c *serveCommand) Run(p *program) error {
	s := &service{command: c, program: p, log: c.logger(p)}
	if unknown := p.parser.UnknownVariables(); unknown != "" {
		s.warn(unknown)
	}
	c.warn = s.warn
	if c.Addr == "" {
		c.Addr = defaultAddr
	}
	if err := checkLevel(); err != nil {
		return err
	}
	if err := c.locate(); err != nil {
		return err
	}
	if _, ok := hub.RepoOf(c.Model); ok && c.ModelID == "" {
		c.ModelID = modelName(c.Model) // its folder is named after a commit
	}
	opts, err := c.options(p, s.log)
	if err != nil {
		return err
	}
	listener, err := listen(p.parser.Origin("addr"), c.Addr)
	if err != nil {
		return err
	}
	defer listener.Close()
	opts.CheckHost = server.IsLoopback(listener.Addr()) || len(opts.Hosts) > 0
	if s.server, err = server.New(opts); err != nil {
		return optionError(err)
	}
	if err := s.debug(); err != nil {
		return err
	}
	if err := s.wyoming(); err != nil {
		return err
	}
	return s.run(listener)
}

// options puts the flags into the server's terms.
func (c *serveCommand) options(p *program, log *slog.Logger) (server.Options, error) {
	o := server.Options{
		Limits: c.limits(), Hosts: splitList(c.AllowHost), Origins: splitList(c.AllowOrigin), ModelID: c.ModelID, Voice: c.Voice,
		Voices: map[string]string{}, Format: c.ResponseFormat, Log: log, LogText: c.LogText, Version: readVersion().Version,
	}
	if (c.TLSCert == "") != (c.TLSKey == "") {
		return o, usageErrorf("--tls-cert and --tls-key go together")
	}
	var err error
	if o.Keys, err = c.keys(p); err != nil {
		return o, err
	}
	for _, pair := range splitList(c.VoiceMap) {
		from, to, ok := strings.Cut(pair, "=")
		if !ok || from == "" || to == "" {
			return o, usageErrorf("%s: %q, wanted pairs such as alloy=ryan", p.parser.Origin("voice-map"), pair)
		}
		if other, twice := o.Voices[from]; twice && other != to {
			return o, usageErrorf("%s: %s is both %s and %s, wanted one voice for each name", p.parser.Origin("voice-map"), from, other, to)
		}
		o.Voices[from] = to
	}
	o.Kept = (&voicesFlags{c.Voices}).store(c.MaxVoices)
	if c.Reference != "" {
		if o.Reference, err = readReference(c.Reference); err != nil {
			return o, err
		}
	}
	return o, nil
}

// listen opens a port and says plainly why it cannot.
func listen(flag, addr string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, usageErrorf("%s: %q, wanted HOST:PORT such as %s", flag, addr, defaultAddr)
	}
	network := "tcp"
	if ip := net.ParseIP(host); ip != nil && ip.To4() != nil {
		network = "tcp4" // or 0.0.0.0 would be every IPv6 address as well
	}
	l, err := net.Listen(network, addr)
	var dns *net.DNSError
	switch {
	case err == nil:
		return l, nil
	case osfile.Is(err, syscall.EADDRINUSE):
		return nil, &exitError{exitFailed, fmt.Sprintf("%s: %s is in use by another program", flag, addr)}
	case osfile.Is(err, syscall.EACCES):
		return nil, &exitError{exitFailed, fmt.Sprintf("%s: %s: this user may not listen there", flag, addr)}
	case osfile.Is(err, syscall.EADDRNOTAVAIL):
		return nil, usageErrorf("%s: %s is no address of this machine", flag, addr)
	case errors.As(err, &dns):
		return nil, usageErrorf("%s: %s: the name is not known", flag, addr)
	}
	var op *net.OpError
	if errors.As(err, &op) {
		err = op.Err
	}
	return nil, usageErrorf("%s: %s: %v", flag, addr, err)
}

// open opens the model with the server's limits.
func (c *serveCommand) open() (*synth.Model, error) {
	return c.openWith(func(o *synth.Options) { o.MaxLive, o.MaxQueue, o.Ahead = c.MaxLive, c.MaxQueue, c.MaxAhead })
}

// service is a server that runs.
type service struct {
	command *serveCommand
	program *program
	log     *slog.Logger
	server  *server.Server
}

// say tells whoever started the server how it stands, in the log's form.
func (s *service) say(message string, attrs ...any) {
	if s.command.LogFormat == "json" {
		s.log.Info(message, attrs...)
		return
	}
	for i := 0; i+1 < len(attrs); i += 2 {
		message += fmt.Sprintf(", %v %v", attrs[i], attrs[i+1])
	}
	s.program.note("%s", message)
}

func (s *service) warn(message string) {
	if s.command.LogFormat == "json" {
		s.log.Warn(message)
		return
	}
	s.program.warn(message)
}

// debug listens for those who profile the program.
func (s *service) debug() error {
	if s.command.DebugAddr == "" {
		return nil
	}
	flag := s.program.parser.Origin("debug-addr")
	l, err := listen(flag, s.command.DebugAddr)
	if err != nil {
		return err
	}
	if !server.IsLoopback(l.Addr()) {
		l.Close()
		return usageErrorf("%s: %s is no loopback address, allowed are those such as 127.0.0.1:6060", flag, s.command.DebugAddr)
	}
	go func() {
		h := &http.Server{Handler: server.DebugHandler(), ReadHeaderTimeout: server.DefaultHeaderTimeout}
		s.warn(fmt.Sprintf("the debug listener ended: %v", h.Serve(l)))
	}()
	s.say("debug listener on http://" + l.Addr().String() + "/debug/pprof/")
	return nil
}

// wyoming listens for clients of the Wyoming protocol.
func (s *service) wyoming() error {
	if s.command.Wyoming == "" {
		return nil
	}
	l, err := listen(s.program.parser.Origin("wyoming"), s.command.Wyoming)
	if err != nil {
		return err
	}
	go func() {
		if err := s.server.ServeWyoming(l); err != nil {
			s.warn(fmt.Sprintf("the Wyoming listener ended: %v", err))
		}
	}()
	s.say("Wyoming listener on tcp://" + l.Addr().String())
	if !server.IsLoopback(l.Addr()) {
		s.warn("everyone who reaches " + l.Addr().String() + " may use the server: the Wyoming protocol has no keys")
	}
	return nil
}

// run listens, loads, serves, and drains when a signal asks for it.
func (s *service) run(listener net.Listener) error {
	ctx, signals := catchInterrupts()
	served := make(chan error, 1)
	scheme, serve := "http", func() error { return s.server.Serve(listener) }
	if c := s.command; c.TLSCert != "" {
		scheme, serve = "https", func() error { return s.server.ServeTLS(listener, c.TLSCert, c.TLSKey) }
	}
	go func() { served <- serve() }()
	s.say("listening on " + scheme + "://" + listener.Addr().String() + ", loading the model")
	if !server.IsLoopback(listener.Addr()) && s.command.APIKeys == "" && s.command.APIKeysFile == "" {
		s.warn("everyone who reaches this address may use the server: --api-keys-file has keys")
	}
	model, err := s.load(ctx, served)
	if model != nil {
		defer model.Close()
	}
	if err == nil {
		select {
		case err = <-served:
		case <-ctx.Done():
		}
	}
	hurried, hurry := context.WithCancel(context.Background())
	defer hurry()
	signals.hurryOnSecond(hurry)
	return s.end(hurried, err)
}

// optionError makes a mistake on the command line of what the server says of an option.
func optionError(err error) error {
	var option *server.OptionError
	if errors.As(err, &option) {
		return usageErrorf("%s", option.Message)
	}
	return err
}

// load opens the model and makes the server ready. A listener that fails ends it with its
// error, a signal without one.
func (s *service) load(ctx context.Context, served chan error) (*synth.Model, error) {
	began := time.Now()
	loading, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { // a listener that fails ends the loading
		select {
		case err := <-served:
			served <- err // for who looks next
			cancel()
		case <-loading.Done():
		}
	}()
	model, err := openUnless(loading, s.command.open)
	if err == nil {
		err = s.server.Use(loading, server.FromModel(model))
	}
	select {
	case err := <-served:
		return model, err
	default:
	}
	if ctx.Err() != nil { // a signal: the end that was asked for, and no failure
		return model, nil
	}
	if err != nil {
		return model, optionError(err)
	}
	info := model.Info()
	s.say("ready", "model", modelName(info.Name), "task", info.Kind, "after", time.Since(began).Round(time.Millisecond))
	return model, nil
}

// end drains the server, without patience once hurried is over. A failure before goes
// before.
func (s *service) end(hurried context.Context, failure error) error {
	limits := s.command.limits()
	if failure == nil {
		grace := limits.DrainGrace
		if grace == 0 {
			grace = server.DefaultDrainGrace
		}
		s.say(fmt.Sprintf("ending: live requests may finish within %v, a second signal ends them", limits.DrainDelay+grace))
	}
	err := s.server.Shutdown(hurried)
	if failure != nil {
		return failure
	}
	if err != nil {
		return &exitError{exitPartly, strings.TrimPrefix(err.Error(), "server: ")}
	}
	return nil
}
