package main

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mynah-tts/mynah/internal/config"
	"github.com/mynah-tts/mynah/server"
	"github.com/mynah-tts/mynah/synth"
)

// serving is a running `mynah serve`.
type serving struct {
	t       *testing.T
	command *exec.Cmd
	lines   chan string // of standard error
	url     string
	log     strings.Builder
}

var listening = regexp.MustCompile(`listening on (https?://[^ ",]+)`)

// serve starts the server and waits until it is ready.
func serve(t *testing.T, args ...string) *serving {
	t.Helper()
	s := start(t, args...)
	s.await("ready")
	return s
}

// start starts the server on a free port and waits until it listens. TestMain has put the
// program onto PATH.
func start(t *testing.T, args ...string) *serving {
	t.Helper()
	s := &serving{t: t, lines: make(chan string, 100)}
	s.command = exec.Command("mynah", append([]string{"serve", "--addr", "127.0.0.1:0", "--threads", "1"}, args...)...)
	s.command.Env = append(os.Environ(), config.Variable("cache")+"="+t.TempDir(), "XDG_CONFIG_HOME="+t.TempDir())
	stderr, err := s.command.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.command.Process.Kill(); _ = s.command.Wait() })
	go func() {
		defer close(s.lines)
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			s.lines <- lines.Text()
		}
	}()
	s.url = listening.FindStringSubmatch(s.await("listening on"))[1]
	return s
}

// await reads the log until a line has some words in it.
func (s *serving) await(words string) string {
	s.t.Helper()
	late := time.After(time.Minute)
	for {
		select {
		case line, ok := <-s.lines:
			s.log.WriteString(line + "\n")
			if strings.Contains(line, words) {
				return line
			}
			if !ok {
				s.t.Fatalf("it ended without %q:\n%s", words, s.log.String())
			}
		case <-late:
			s.t.Fatalf("no %q in:\n%s", words, s.log.String())
		}
	}
}

// end waits for the program and returns its exit code.
func (s *serving) end() int {
	s.t.Helper()
	for line := range s.lines {
		s.log.WriteString(line + "\n")
	}
	_ = s.command.Wait()
	return s.command.ProcessState.ExitCode()
}

func (s *serving) speak(body string) (*http.Response, []byte) {
	s.t.Helper()
	resp, err := http.Post(s.url+"/v1/audio/speech", "application/json", strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp, data
}

func TestServe(t *testing.T) {
	s := serve(t, "--response-format", "WAV", "--model-id", "mine", "--voice-map", "alloy=lark", "--log-level", "debug", "--max-input", "50")
	resp, data := s.speak(`{"model":"mine","input":"Hello there.","voice":"alloy","seed":1}`)
	if resp.StatusCode != 200 || !strings.HasPrefix(string(data), "RIFF") || (len(data)-headerBytes)%(2*frameSamples) != 0 || resp.Trailer.Get("X-Mynah-Finish-Reason") != "stop" {
		t.Errorf("status %d, %d bytes, trailer %v", resp.StatusCode, len(data), resp.Trailer)
	}
	if resp, _ := s.speak(`{"input":"` + strings.Repeat("a", 51) + `"}`); resp.StatusCode != 400 {
		t.Errorf("status %d for a text over --max-input", resp.StatusCode)
	}
	if resp, err := http.Get(s.url + "/ready"); err != nil || resp.StatusCode != 200 {
		t.Errorf("ready: %v, %v", resp, err)
	}
	if err := s.command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Skip("no signals here")
	}
	if code := s.end(); code != exitDone {
		t.Errorf("exit code %d:\n%s", code, s.log.String())
	}
	if log := s.log.String(); !strings.Contains(log, "mynah: ending: ") || strings.Contains(log, "Hello") {
		t.Errorf("log:\n%s", log)
	}
}

// A signal while somebody listens lets that end; requests that do not end in time are
// cut off, and the exit code tells.
func TestServeDrains(t *testing.T) {
	const long = `{"input":"We speak slowly and for a long time, so that there is time enough to press two keys, and to look whether anything was left behind.","response_format":"pcm"}`
	for _, tc := range []struct {
		name  string
		grace string
		codes []int
	}{
		{"in time", "1m", []int{exitDone}},
		{"cut off", "1ms", []int{exitPartly, exitDone}}, // a fast machine may be done
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := serve(t, "--drain-grace", tc.grace, "--log-format", "json")
			resp, err := http.Post(s.url+"/v1/audio/speech", "application/json", strings.NewReader(long))
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if err := s.command.Process.Signal(os.Interrupt); err != nil {
				t.Skip("no signals here")
			}
			_, err = io.Copy(io.Discard, resp.Body)
			code := s.end()
			ok := false
			for _, want := range tc.codes {
				ok = ok || code == want
			}
			if !ok || (err == nil) != (code == exitDone) {
				t.Errorf("exit code %d, body %v:\n%s", code, err, s.log.String())
			}
			for line := range strings.Lines(s.log.String()) {
				if strings.HasPrefix(line, "mynah: ") {
					continue // the last words of a program that ends with an error
				}
				if !json.Valid([]byte(line)) && strings.TrimSpace(line) != "" {
					t.Errorf("no JSON: %s", line)
				}
			}
		})
	}
}

// A second signal cuts off whoever still listens, and says so. Nobody does, or one.
func TestServeSecondSignal(t *testing.T) {
	t.Run("a listener", func(t *testing.T) {
		s := serve(t, "--drain-delay", "1h", "--max-ahead", "1")
		resp, err := http.Post(s.url+"/v1/audio/speech", "application/json", strings.NewReader(`{"input":"`+strings.Repeat("This takes long. ", 200)+`","response_format":"pcm"}`))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close() // unread: the server waits for it
		if err := s.command.Process.Signal(os.Interrupt); err != nil {
			t.Skip("no signals here")
		}
		s.await("ending")
		_ = s.command.Process.Signal(os.Interrupt)
		if code := s.end(); code != exitPartly {
			t.Errorf("exit code %d", code)
		}
		log := s.log.String()
		if !strings.Contains(log, "1 live request cancelled") || !strings.Contains(log, "path=/v1/audio/speech status=503") {
			t.Errorf("the log does not tell of it:\n%s", log)
		}
	})
	s := serve(t, "--drain-delay", "1h")
	if err := s.command.Process.Signal(os.Interrupt); err != nil {
		t.Skip("no signals here")
	}
	s.await("ending")
	_ = s.command.Process.Signal(os.Interrupt)
	if code := s.end(); code != exitDone {
		t.Errorf("exit code %d", code)
	}
}

// A signal while the model is opened, or warms up, is no failure either.
func TestServeEndsWhileLoading(t *testing.T) {
	for range 3 {
		s := start(t)
		if err := s.command.Process.Signal(syscall.SIGTERM); err != nil {
			t.Skip("no signals here")
		}
		if code := s.end(); code != exitDone || !strings.Contains(s.log.String(), "mynah: ending") {
			t.Errorf("exit code %d:\n%s", code, s.log.String())
		}
	}
	for _, failure := range []error{nil, errors.New("the port is gone")} {
		s := &service{command: &serveCommand{}, log: slog.New(slog.DiscardHandler)}
		var err error
		if s.server, err = server.New(server.Options{}); err != nil {
			t.Fatal(err)
		}
		ctx, signal := context.WithCancel(context.Background())
		signal()
		served := make(chan error, 1)
		if failure != nil {
			served <- failure
		}
		model, err := s.load(ctx, served)
		if model != nil {
			model.Close()
		}
		if err != failure {
			t.Errorf("error %v, want %v", err, failure)
		}
	}
}

// The engine takes what the flags do, to the ends of their ranges.
func TestServeRanges(t *testing.T) {
	field := func(of reflect.Type, name string, end int) int {
		f, ok := of.FieldByName(name)
		if !ok {
			t.Fatalf("no flag %s", name)
		}
		n, err := strconv.Atoi(strings.Split(f.Tag.Get("range"), ",")[end])
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	limits := reflect.TypeFor[limitFlags]()
	for end := range 2 {
		o := synth.Options{
			Threads: field(reflect.TypeFor[modelFlags](), "Threads", end), PredictorThreads: field(reflect.TypeFor[modelFlags](), "PredictorThreads", end),
			MaxLive: field(limits, "MaxLive", end), MaxQueue: field(limits, "MaxQueue", end), Ahead: field(limits, "MaxAhead", end),
		}
		model, err := synth.OpenBuiltin(o)
		if err != nil {
			t.Errorf("%+v: %v", o, err)
			continue
		}
		model.Close()
	}
}

// Whatever is wrong with the command is told in one line, before a model is loaded.
func TestServeRefuses(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	empty := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(empty, []byte("# none\n\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--addr", taken.Addr().String()}, exitFailed, "--addr: " + taken.Addr().String() + " is in use by another program"},
		{[]string{"--addr", "8080"}, exitUsage, `--addr: "8080", wanted HOST:PORT such as 127.0.0.1:8080`},
		{[]string{"--addr", "203.0.113.1:0"}, exitUsage, "--addr: 203.0.113.1:0 is no address of this machine"},
		{[]string{"--debug-addr", "0.0.0.0:0"}, exitUsage, "--debug-addr: 0.0.0.0:0 is no loopback address, allowed are those such as 127.0.0.1:6060"},
		{[]string{"--tls-cert", "x"}, exitUsage, "--tls-cert and --tls-key go together"},
		{[]string{"--voice", "bob"}, exitUsage, `voice "bob", this checkpoint (CustomVoice) has lark, martin`},
		{[]string{"--voice-map", "alloy"}, exitUsage, `--voice-map: "alloy", wanted pairs such as alloy=ryan`},
		{[]string{"--api-keys-file", empty}, exitUsage, "--api-keys-file: " + empty + " has no key"},
		{[]string{"--allow-origin", "example.org"}, exitUsage, `origin "example.org", wanted a scheme and a host such as https://example.org, or *`},
		{[]string{"--write-timeout", "soon"}, exitUsage, `--write-timeout: "soon", wanted a time such as 500ms, 10s or 3m`},
		{[]string{"--write-timeout=-1s"}, exitUsage, `--write-timeout: -1s, allowed are 1ms to 24h, or 0 for the default`},
		{[]string{"--max-live", "0"}, exitUsage, "--max-live: 0, allowed are 1 to 64"},
		{[]string{"--max-live", "65"}, exitUsage, "--max-live: 65, allowed are 1 to 64"},
		{[]string{"--model", "/no/such/folder"}, exitFailed, "model directory /no/such/folder: no such file or directory"},
	} {
		t.Run(strings.Join(tc.args, " "), func(t *testing.T) {
			command := exec.Command("mynah", append([]string{"serve", "--addr", "127.0.0.1:0"}, tc.args...)...)
			command.Env = append(os.Environ(), "XDG_CONFIG_HOME="+t.TempDir(), config.Variable("cache")+"="+t.TempDir())
			out, _ := command.CombinedOutput()
			lines := strings.Split(strings.TrimSpace(string(out)), "\n")
			if last := lines[len(lines)-1]; command.ProcessState.ExitCode() != tc.code || last != "mynah: "+tc.want {
				t.Errorf("exit code %d, %q, want %d, %q", command.ProcessState.ExitCode(), last, tc.code, tc.want)
			}
		})
	}
}

// A value that is wrong is named by where it stands.
func TestServeRefusesVariables(t *testing.T) {
	for _, tc := range []struct{ variable, value, want string }{
		{"addr", "8080", `MYNAH_ADDR: "8080", wanted HOST:PORT such as 127.0.0.1:8080`},
		{"debug-addr", "0.0.0.0:0", "MYNAH_DEBUG_ADDR: 0.0.0.0:0 is no loopback address, allowed are those such as 127.0.0.1:6060"},
		{"wyoming", "x", `MYNAH_WYOMING: "x", wanted HOST:PORT such as 127.0.0.1:8080`},
		{"voice-map", "alloy", `MYNAH_VOICE_MAP: "alloy", wanted pairs such as alloy=ryan`},
		{"api-keys", ",", `MYNAH_API_KEYS: "," has no key`},
		{"api-keys-file", "/no/such/file", "MYNAH_API_KEYS_FILE: open /no/such/file: no such file or directory"},
	} {
		command := exec.Command("mynah", "serve")
		command.Env = append(os.Environ(), "XDG_CONFIG_HOME="+t.TempDir(), "MYNAH_ADDR=127.0.0.1:0", config.Variable(tc.variable)+"="+tc.value)
		out, _ := command.CombinedOutput()
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		if last := lines[len(lines)-1]; command.ProcessState.ExitCode() != exitUsage || last != "mynah: "+tc.want {
			t.Errorf("%s: exit code %d, %q, want %q", tc.variable, command.ProcessState.ExitCode(), last, tc.want)
		}
	}
}

// certificate writes a certificate for 127.0.0.1 and its key.
func certificate(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	for name, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(name, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

func TestServeTLS(t *testing.T) {
	cert, key := certificate(t)
	s := serve(t, "--tls-cert", cert, "--tls-key", key)
	data, err := os.ReadFile(cert)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(data)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	defer client.CloseIdleConnections()
	resp, err := client.Get(s.url + "/ready")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != 200 || !strings.HasPrefix(s.url, "https://") {
		t.Errorf("status %d of %s", resp.StatusCode, s.url)
	}
}

func TestServeKeys(t *testing.T) {
	name := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(name, []byte("# ours\nsk-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := serve(t, "--api-keys-file", name, "--api-keys", "sk-flag", "--debug-addr", "127.0.0.1:0", "--log-level", "debug")
	for key, want := range map[string]int{"": 401, "sk-file": 200, "sk-flag": 200, "sk": 401} {
		req, err := http.NewRequest("GET", s.url+"/v1/models", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", fmt.Sprint("Bearer ", key))
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("key %q: status %d", key, resp.StatusCode)
		}
	}
	if log := s.log.String(); !strings.Contains(log, "debug listener on http://127.0.0.1:") || strings.Contains(log, "sk-") {
		t.Errorf("log:\n%s", log)
	}
}
