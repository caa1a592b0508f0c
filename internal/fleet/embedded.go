package fleet

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/mynah-tts/mynah/internal/osfile"
)

// Embedded is a NATS server in this process.
type Embedded struct {
	server *server.Server
	token  string
}

// startTime is how long an embedded server may take to be ready.
const startTime = 20 * time.Second

// maxPayload is the largest message that an embedded server takes: longer texts and
// references than fit into a usual server's 1 MiB, packed, do not occur.
const maxPayload = 8 << 20

// StartServer starts a server that listens on an address, "" for a free port of the
// loopback interface, and keeps its streams in a folder. Everywhere but on the loopback
// interface it needs a token, without which nobody connects.
func StartServer(listen, dir, token string) (*Embedded, error) {
	host, port := "127.0.0.1", server.RANDOM_PORT
	if listen != "" {
		h, p, err := CheckListen(listen, token)
		if err != nil {
			return nil, err
		}
		host = h
		if p != 0 {
			port = p
			if !free(listen) { // it would be waited for
				return nil, fmt.Errorf("embedded NATS server: the address %s is in use", listen)
			}
		}
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("%s: %w", dir, osfile.Cause(err))
	}
	s, err := server.NewServer(&server.Options{
		ServerName: "mynah", Host: host, Port: port, JetStream: true, StoreDir: dir, Authorization: token,
		NoSigs: true, NoLog: true, MaxPayload: maxPayload, DisableShortFirstPing: true,
	})
	if err != nil {
		return nil, fmt.Errorf("embedded NATS server: %w", err)
	}
	s.Start()
	if !s.ReadyForConnections(startTime) || !s.JetStreamEnabled() {
		s.Shutdown()
		s.WaitForShutdown()
		if listen != "" && !free(listen) {
			return nil, fmt.Errorf("embedded NATS server: the address %s is in use", listen)
		}
		return nil, fmt.Errorf("embedded NATS server: it was not ready after %v; its folder is %s", startTime, dir)
	}
	return &Embedded{s, token}, nil
}

// CheckListen splits an address to listen on, and refuses one that others can reach if
// there is no token.
func CheckListen(listen, token string) (host string, port int, err error) {
	host, p, err := net.SplitHostPort(listen)
	if err != nil {
		return "", 0, fmt.Errorf("%q, wanted HOST:PORT", listen)
	}
	if port, err = strconv.Atoi(p); err != nil || port < 0 || port > 65535 {
		return "", 0, fmt.Errorf("%q, allowed are ports 0 to 65535", listen)
	}
	ip := net.ParseIP(host)
	if local := host == "localhost" || ip != nil && ip.IsLoopback(); !local && token == "" {
		return "", 0, errors.New("an address that other machines reach needs --nats-token")
	}
	if host == "" {
		host = "0.0.0.0"
	}
	return host, port, nil
}

// free reports whether an address can be listened on.
func free(listen string) bool {
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return false
	}
	l.Close()
	return true
}

// Addr is the server's URL, without the token. If it listens on all interfaces, it goes by
// the name that the machine gives itself.
func (e *Embedded) Addr() string {
	address := e.server.Addr().String()
	if a, ok := e.server.Addr().(*net.TCPAddr); ok && a.IP.IsUnspecified() {
		if name, err := os.Hostname(); err == nil {
			address = net.JoinHostPort(name, strconv.Itoa(a.Port))
		}
	}
	return "nats://" + address
}

// Stop stops the server.
func (e *Embedded) Stop() {
	e.server.Shutdown()
	e.server.WaitForShutdown()
}
