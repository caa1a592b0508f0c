package main

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
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
	for _, more := range [][]string{
		{"-o", "b.wav", "--speed", "1.3"}, {"-o", "b.flac", "--sample-rate", "16000"}, {"-o", "b.pcm", "--speed", "0.7", "--sample-rate", "44100"}, {"-o", "b.mp3", "--speed", "2"},
	} {
		name := more[1]
		_, before, _ := say(t, dir, append([]string{"Hello there.", "--seed", "5"}, more...)...)
		want, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		_, after, code := say(t, dir, append(append([]string{"Hello there.", "--seed", "5"}, more...), asked...)...)
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || code != exitDone {
			t.Fatalf("exit code %d, %v: %s", code, err, after)
		}
		if filepath.Ext(name) != ".mp3" && !bytes.Equal(got, want) {
			t.Errorf("%v: %d bytes here, %d by the server", more, len(want), len(got))
		}
		if length := lengthOf.FindString(before); length == "" || length != lengthOf.FindString(after) {
			t.Errorf("%v: here %s, by the server %s", more, before, after)
		}
	}
	if _, problems, code := say(t, dir, append(asked, "Hello there.", "--seed", "5", "-o", "c.wav", "--sample-rate", "96000")...); code != exitDone {
		t.Errorf("96 kHz: exit code %d: %s", code, problems)
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
		{"voice", []string{"--voice", "bob"}, exitUsage, `--voice: "bob", allowed are lark, martin`},
		{"sampling", []string{"--top-p", "2"}, exitUsage, "--top-p: 2, allowed is "},
		{"key", []string{"--api-key", "sk-bad"}, exitUsage, "--api-key: the API key is not one of this server's"},
		{"cut", []string{"--max-frames", "3"}, exitPartly, "warning: cut after 3 frames"},
		{"model", []string{"--model", "x"}, exitUsage, "--model is about a model of this program"},
		{"voices", []string{"--voices", "mine"}, exitUsage, "--voices is about a model of this program"},
		{"reference", []string{"--reference", "x"}, exitUsage, "--reference is about a model of this program"},
		{"nobody", []string{"--server", "http://127.0.0.1:1"}, exitFailed, "--server: 127.0.0.1:1: "},
		{"host and port", []string{"--server", strings.TrimPrefix(s.url, "http://"), "--max-frames", "3"}, exitPartly, "warning: cut after 3 frames"},
		{"no address", []string{"--server", "ws://localhost"}, exitUsage, "--server: this is no address of a server"},
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

// lengthOf is what a summary tells of the length of the audio.
var lengthOf = regexp.MustCompile(`: [0-9.]+ s of audio|[0-9]+ frames`)

// A busy server is asked again, which is told, but not to those who want no notes.
func TestSayServerBusy(t *testing.T) {
	busy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "0")
		w.WriteHeader(http.StatusTooManyRequests)
		fmt.Fprint(w, `{"error":{"message":"the queue is full"}}`)
	}))
	defer busy.Close()
	const note = "mynah: the server is busy, asking again in 0s: the queue is full\n"
	for _, quiet := range []bool{false, true} {
		args, want := []string{"Hello.", "-o", "a.wav", "--server", busy.URL}, strings.Repeat(note, 3)
		if quiet {
			args, want = append(args, "-q"), ""
		}
		want += "mynah: --server: the queue is full\n"
		if _, problems, code := say(t, t.TempDir(), args...); code != exitFailed || problems != want {
			t.Errorf("quiet %t: exit code %d: %s", quiet, code, problems)
		}
	}
}

// A recording may be as large as the server takes, beyond --max-body; one that is larger is
// the fault of --clone.
func TestSayServerClone(t *testing.T) {
	base, err := filepath.Abs("../../testdata/parity/models/tiny-base")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if _, problems, code := say(t, dir, strings.Repeat("The boats came back to the harbour before the rain. ", 3), "-o", "clip.wav", "--seed", "1", "--sample-rate", "192000"); code != exitDone {
		t.Fatal(problems)
	}
	clip, err := os.ReadFile(filepath.Join(dir, "clip.wav"))
	if err != nil {
		t.Fatal(err)
	}
	const mib = 1 << 20
	if len(clip) < 2*mib {
		t.Fatalf("%d bytes are no large recording", len(clip))
	}
	s := serve(t, "--model", base, "--voices", filepath.Join(dir, "kept"), "--max-body", "1")
	ask := func(stdin []byte, args ...string) (stderr string, code int) {
		cmd := exec.Command("mynah", append([]string{"say", "Hello.", "--seed", "2", "--max-frames", "4", "-o", "a.wav"}, args...)...)
		cmd.Dir, cmd.Stdin = dir, bytes.NewReader(stdin)
		cmd.Env = append(os.Environ(), config.Variable("cache")+"="+t.TempDir(), "XDG_CONFIG_HOME="+dir)
		out, _ := cmd.CombinedOutput()
		return string(out), cmd.ProcessState.ExitCode()
	}
	read := func() []byte {
		data, err := os.ReadFile(filepath.Join(dir, "a.wav"))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	if problems, code := ask(nil, "--clone", "clip.wav", "--model", base); code != exitPartly {
		t.Fatalf("exit code %d: %s", code, problems)
	}
	want := read()
	for _, from := range []string{"clip.wav", "-"} {
		if problems, code := ask(clip, "--clone", from, "--server", s.url); code != exitPartly || !bytes.Equal(read(), want) {
			t.Errorf("--clone %s: exit code %d: %s", from, code, problems)
		}
	}
	// The voice of the config file is for other runs.
	settings := filepath.Join(dir, "mynah", "config.toml")
	if err := os.Mkdir(filepath.Dir(settings), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(settings, []byte("voice = \"ryan\"\nreference = \"none.json\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if problems, code := ask(nil, "--clone", "clip.wav", "--server", s.url, "--config", settings); code != exitPartly || !bytes.Equal(read(), want) {
		t.Errorf("beside a voice in the config file: exit code %d: %s", code, problems)
	}
	if err := os.Remove(settings); err != nil {
		t.Fatal(err)
	}
	small := serve(t, "--model", base, "--voices", "off", "--max-body", "1", "--max-clip", "1")
	if problems, code := ask(nil, "--clone", "clip.wav", "--server", small.url); code != exitUsage || !strings.HasPrefix(problems, "mynah: --clone: the recording is too large for the server: ") {
		t.Errorf("exit code %d: %s", code, problems)
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
	if err != nil || e.Type != wyoming.TypeInfo || !strings.Contains(string(e.Data["tts"]), `"name":"lark"`) {
		t.Fatalf("%+v, %v", e, err)
	}
	for _, addr := range []string{"nowhere", where[1]} {
		out, err := exec.Command("mynah", "serve", "--addr", "127.0.0.1:0", "--wyoming", addr).CombinedOutput()
		if err == nil || !strings.Contains(string(out), "--wyoming: ") {
			t.Errorf("%s: %v, %s", addr, err, out)
		}
	}
}
