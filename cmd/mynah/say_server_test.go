package main

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/mynah-tts/mynah/internal/config"
	"github.com/mynah-tts/mynah/internal/wyoming"
)

// say runs `mynah say` in a directory.
func say(t *testing.T, dir string, args ...string) (stdout []byte, stderr string, code int) {
	t.Helper()
	cmd := exec.Command("mynah", append([]string{"say"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), config.Variable("cache")+"="+t.TempDir(), "XDG_CONFIG_HOME="+dir)
	var problems bytes.Buffer
	cmd.Stderr = &problems
	stdout, err := cmd.Output()
	if _, exited := err.(*exec.ExitError); err != nil && !exited {
		t.Fatal(err)
	}
	return stdout, problems.String(), cmd.ProcessState.ExitCode()
}

// What a server speaks is written as if this program had spoken.
func TestSayServer(t *testing.T) {
	s := serve(t, "--api-keys", "sk-test")
	dir := t.TempDir()
	asked := []string{"--server", s.url, "--api-key", "sk-test"}
	for _, name := range []string{"a.wav", "a.flac", "a.pcm"} {
		var written [2][]byte
		for i, more := range [][]string{nil, asked} {
			if _, problems, code := say(t, dir, append([]string{"Hello there.", "--seed", "5", "-o", name}, more...)...); code != exitDone || !strings.Contains(problems, "finish stop") {
				t.Fatalf("%s: exit code %d: %s", name, code, problems)
			}
			data, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			written[i] = data
		}
		if !bytes.Equal(written[0], written[1]) {
			t.Errorf("%s: %d bytes here, %d by the server", name, len(written[0]), len(written[1]))
		}
	}
	local, _, _ := say(t, dir, "Hello there.", "--seed", "5", "-q")
	remote, problems, code := say(t, dir, append(asked, "Hello there.", "--seed", "5", "-q")...)
	if !bytes.Equal(local, remote) || len(remote) == 0 || problems != "" || code != exitDone {
		t.Errorf("%d bytes here, %d by the server, exit code %d: %s", len(local), len(remote), code, problems)
	}
	for _, tc := range []struct {
		name  string
		args  []string
		code  int
		words string
	}{
		{"voice", []string{"--voice", "bob"}, exitUsage, `--voice: "bob", allowed are eva`},
		{"sampling", []string{"--top-p", "2"}, exitUsage, "--top-p: 2, allowed is "},
		{"key", []string{"--api-key", "sk-bad"}, exitUsage, "--api-key: the API key is not one of this server's"},
		{"cut", []string{"--max-frames", "3"}, exitPartly, "warning: cut after 3 frames"},
		{"model", []string{"--model", "x"}, exitUsage, "--model is about a model of this program"},
		{"reference", []string{"--reference", "x"}, exitUsage, "--reference is about a model of this program"},
		{"nobody", []string{"--server", "http://127.0.0.1:1"}, exitFailed, "--server: 127.0.0.1:1: "},
		{"no address", []string{"--server", "localhost"}, exitUsage, "--server: this is no address of a server"},
	} {
		out := filepath.Join(dir, tc.name+".wav")
		_, problems, code := say(t, dir, append(append([]string{"Hello there.", "-o", out}, asked...), tc.args...)...)
		if code != tc.code || !strings.Contains(problems, tc.words) {
			t.Errorf("%s: exit code %d: %s", tc.name, code, problems)
		}
		if _, err := os.Stat(out); (err == nil) != (tc.code == exitPartly) {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
}

var listeningWyoming = regexp.MustCompile(`Wyoming listener on tcp://([^ \n]+)`)

// serve --wyoming answers clients of that protocol until it ends.
func TestServeWyoming(t *testing.T) {
	s := serve(t, "--wyoming", "127.0.0.1:0")
	where := listeningWyoming.FindStringSubmatch(s.log.String())
	if where == nil {
		t.Fatalf("log: %s", s.log.String())
	}
	conn, err := net.Dial("tcp", where[1])
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	if _, err := conn.Write(wyoming.Append(nil, wyoming.TypeDescribe, nil, nil)); err != nil {
		t.Fatal(err)
	}
	e, err := wyoming.NewReader(conn, 1<<20).Read()
	if err != nil || e.Type != wyoming.TypeInfo || !strings.Contains(string(e.Data["tts"]), `"name":"eva"`) {
		t.Fatalf("%+v, %v", e, err)
	}
	for _, addr := range []string{"nowhere", where[1]} {
		out, err := exec.Command("mynah", "serve", "--addr", "127.0.0.1:0", "--wyoming", addr).CombinedOutput()
		if err == nil || !strings.Contains(string(out), "--wyoming: ") {
			t.Errorf("%s: %v, %s", addr, err, out)
		}
	}
}
