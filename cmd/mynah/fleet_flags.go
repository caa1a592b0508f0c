package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/mynah-tts/mynah/internal/fleet"
)

// natsFlags say how a NATS server is reached.
type natsFlags struct {
	NATSCreds string   `name:"nats-creds" help:"File of credentials for the NATS server." placeholder:"FILE" type:"path" unset:"none" group:"nats"`
	NATSToken string   `name:"nats-token" help:"File of the token that the NATS server wants, or that --nats embedded shall want." placeholder:"FILE" type:"path" unset:"none" group:"nats"`
	NATSCA    string   `name:"nats-ca" help:"Certificates that a server of tls:// is checked with (PEM)." placeholder:"FILE" type:"path" unset:"the system's" group:"nats"`
	NATSWait  duration `name:"nats-wait" help:"How long a server that has gone, or a worker that is not there, is waited for." placeholder:"TIME" unset:"5m" group:"nats"`
}

const (
	defaultNATSWait = 5 * time.Minute

	// maxToken bounds a file of a token.
	maxToken = 4 << 10
)

// server puts the flags and a URL into the fleet's terms.
func (f *natsFlags) server(url string) (fleet.Server, error) {
	s := fleet.Server{URL: url, Creds: f.NATSCreds, CA: f.NATSCA, Patience: time.Duration(f.NATSWait)}
	if s.Patience == 0 {
		s.Patience = defaultNATSWait
	}
	if url != "" {
		if err := fleet.CheckURL(url); err != nil {
			return s, usageErrorf("--nats: %v", err)
		}
	}
	if f.NATSCreds != "" && f.NATSToken != "" {
		return s, usageErrorf("--nats-creds and --nats-token: give one of them")
	}
	for _, each := range []struct{ flag, file string }{{"--nats-creds", f.NATSCreds}, {"--nats-ca", f.NATSCA}} {
		if each.file == "" {
			continue
		}
		file, err := os.Open(each.file)
		if err != nil {
			return s, usageErrorf("%s: %s: %v", each.flag, each.file, cause(err))
		}
		file.Close()
	}
	if f.NATSToken == "" {
		return s, nil
	}
	file, err := os.Open(f.NATSToken)
	if err != nil {
		return s, usageErrorf("--nats-token: %s: %v", f.NATSToken, cause(err))
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxToken+1))
	if err != nil {
		return s, usageErrorf("--nats-token: %s: %v", f.NATSToken, cause(err))
	}
	token := bytes.TrimSpace(data)
	if len(token) == 0 || len(data) > maxToken || bytes.ContainsAny(token, " \t\r\n") {
		return s, usageErrorf("--nats-token: %s: wanted is one word of at most %d bytes", f.NATSToken, maxToken)
	}
	s.Token = string(token)
	return s, nil
}

// workerName tells a worker from others.
func workerName() string {
	host, err := os.Hostname()
	if err != nil || host == "" {
		host = "worker"
	}
	return fmt.Sprintf("%s.%d", host, os.Getpid())
}

// modelName tells a user which checkpoint it is.
func (f *modelFlags) modelName() string {
	if f.Model == "" {
		return "the built-in voice"
	}
	return f.Model
}
