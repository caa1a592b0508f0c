package main

import (
	"github.com/mynah-tts/mynah/internal/batch"
	"github.com/mynah-tts/mynah/internal/fleet"
)

// embeddedNATS is the value of --nats for a server in this process.
const embeddedNATS = "embedded"

// batchFleetFlags say that others speak the items.
type batchFleetFlags struct {
	NATS       string `name:"nats" help:"Have the items spoken by mynah worker, over a NATS server with JetStream: nats:// or tls://, several with commas between. embedded starts one in this process. Users and passwords are better given in the variable, which others on this machine do not see." placeholder:"URL" unset:"none, this process speaks" group:"nats"`
	NATSListen string `name:"nats-listen" help:"Address of the server of --nats embedded. One that other machines reach needs --nats-token." placeholder:"HOST:PORT" unset:"a free port of 127.0.0.1" group:"nats"`
	NATSWork   string `name:"nats-work" help:"Whether this process speaks items as well." allowed:"yes,no" placeholder:"NAME" unset:"yes with --nats embedded, otherwise no" group:"nats"`
	NATSTries  int    `name:"nats-tries" help:"How often an item is given to a worker before it is given up." placeholder:"N" range:"1,100" unset:"5" group:"nats"`
	NATSLevel  string `name:"nats-level" help:"Instruction level that workers must have. Part of what decides the samples." allowed:"generic,avx2,avx512" placeholder:"NAME" unset:"this machine's" group:"nats"`
	natsFlags
}

// check refuses what does not go together, before a model is opened.
func (f *batchFleetFlags) check(p *program) error {
	if f.NATS == "" {
		for _, each := range []struct {
			flag  string
			given bool
		}{{"nats-listen", f.NATSListen != ""}, {"nats-work", f.NATSWork != ""}, {"nats-tries", f.NATSTries != 0}, {"nats-level", f.NATSLevel != ""}} {
			if each.given {
				return usageErrorf("%s: it needs --nats", p.parser.Origin(each.flag))
			}
		}
		// How a server is reached may stand in a file or a variable for other runs.
		for _, each := range []struct {
			flag  string
			given bool
		}{{"nats-creds", f.NATSCreds != ""}, {"nats-token", f.NATSToken != ""}, {"nats-ca", f.NATSCA != ""}, {"nats-wait", f.NATSWait != 0}} {
			if each.given && p.parser.Origin(each.flag) == "--"+each.flag {
				return usageErrorf("--%s: it needs --nats", each.flag)
			}
		}
		return nil
	}
	if f.NATS != embeddedNATS && f.NATSListen != "" {
		return usageErrorf("%s: it is for --nats embedded", p.parser.Origin("nats-listen"))
	}
	url := f.NATS
	if url == embeddedNATS {
		url = ""
	}
	server, err := f.server(url)
	if err != nil {
		return err
	}
	if f.NATSListen != "" {
		if _, _, err := fleet.CheckListen(f.NATSListen, server.Token); err != nil {
			return usageErrorf("%s: %v", p.parser.Origin("nats-listen"), err)
		}
	}
	return nil
}

// works reports whether this process speaks items as well.
func (f *batchFleetFlags) works() bool {
	return f.NATSWork == "yes" || f.NATSWork == "" && f.NATS == embeddedNATS
}

// queue makes what has the items spoken elsewhere.
func (b *batchRun) queue(o batch.Options) (batch.Maker, error) {
	c := b.command
	url := c.NATS
	if url == embeddedNATS {
		url = ""
	}
	server, err := c.server(url)
	if err != nil {
		return nil, err
	}
	server.Note = func(line string) {
		if !c.Quiet {
			b.program.note("%s", line)
		}
	}
	opts := fleet.Options{
		Server: server, Identity: o.Identity, Tries: c.NATSTries, Embed: c.NATS == embeddedNATS, Listen: c.NATSListen, Note: server.Note,
	}
	if c.works() {
		opts.Own = &fleet.Worker{
			Name: workerName(), Model: c.modelName(), Engine: b.engine, Identity: o.Identity, SourceRate: o.SourceRate,
			Jobs: o.Jobs,
		}
	}
	return fleet.NewQueue(opts), nil
}

// wanted is the identity that an item's file shall be made with.
func (f *batchFleetFlags) wanted(p *program, own batch.Identity) (batch.Identity, error) {
	if f.NATSLevel == "" || f.NATSLevel == own.Level {
		return own, nil
	}
	if f.works() {
		return own, usageErrorf("%s: %s, but this process has %s and shall speak as well; add --nats-work no", p.parser.Origin("nats-level"), f.NATSLevel, own.Level)
	}
	own.Level = f.NATSLevel
	return own, nil
}
