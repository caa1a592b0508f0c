package main

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/mynah-tts/mynah/internal/config"
	"github.com/mynah-tts/mynah/internal/cpu"
	"github.com/mynah-tts/mynah/internal/hub/hubtest"
	"github.com/mynah-tts/mynah/internal/voice"
)

// The scripts of pull and models run beside a hub of their own, which has the built-in voice
// as org/english. Besides the commands of the other scripts they use
//
//	hub [TOKEN]     start it; with a token, nobody else is let in. $SIZE has all bytes of
//	                org/english, $SIZE_model those of model.safetensors, $SIZE_config of config.json
//	fault N STATUS  the next N requests get this status
//	change          put another vocabulary's commit at main
//	lose FILE [DIR] remove a file from the snapshots of org/english, or of a folder of the cache
//	down            end it
func TestHubScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/hub", RequireExplicitExec: true, RequireUniqueNames: true,
		Setup: func(e *testscript.Env) error {
			if level, ok := os.LookupEnv(cpu.EnvLevel); ok {
				e.Setenv(cpu.EnvLevel, level)
			}
			e.Setenv(config.Variable("cache"), "off")
			e.Setenv("HF_HOME", filepath.Join(e.WorkDir, "hf"))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"code": cmdCode, "wav": cmdWAV, "nothing": cmdNothing, "checkpoint": cmdCheckpoint,
			"hub": cmdHub, "fault": cmdFault, "change": cmdChange, "lose": cmdLose, "down": cmdDown,
		},
	})
}

// hubs are those of the scripts that run, by their folder.
var hubs sync.Map

func hubOf(ts *testscript.TestScript) *hubtest.Server {
	s, ok := hubs.Load(ts.MkAbs("."))
	if !ok {
		ts.Fatalf("there is no hub yet")
	}
	return s.(*hubtest.Server)
}

func cmdHub(ts *testscript.TestScript, _ bool, args []string) {
	s := hubtest.New()
	ts.Defer(s.Close)
	_, err := s.PutFS("org/english", "main", voice.FS())
	ts.Check(err)
	for _, revision := range []string{"main", "dev"} {
		_, err = s.PutFS("lark", revision, voice.FS())
		ts.Check(err)
	}
	s.Put("org/other", "main", map[string][]byte{"config.json": []byte(`{"model_type": "llama"}`), "model.safetensors": make([]byte, 5000), "x.py": nil})
	if len(args) > 0 {
		s.SetToken(args[0])
	}
	hubs.Store(ts.MkAbs("."), s)
	ts.Setenv("HF_ENDPOINT", s.Hub.URL)
	ts.Setenv("HUB", s.Hub.Listener.Addr().String())
	size := 0
	for name, data := range voiceFiles(ts) {
		size += len(data)
		if base, _, _ := strings.Cut(name, "."); !strings.Contains(name, "/") {
			ts.Setenv("SIZE_"+base, strconv.Itoa(len(data)))
		}
	}
	ts.Setenv("SIZE", strconv.Itoa(size))
}

func cmdFault(ts *testscript.TestScript, _ bool, args []string) {
	left := make(chan struct{}, number(ts, args[0]))
	for range cap(left) {
		left <- struct{}{}
	}
	status := number(ts, args[1])
	hubOf(ts).SetFault(func(w http.ResponseWriter, r *http.Request) bool {
		select {
		case <-left:
			w.WriteHeader(status)
			return true
		default:
			return false
		}
	})
}

func cmdChange(ts *testscript.TestScript, _ bool, _ []string) {
	files := voiceFiles(ts)
	files["generation_config.json"] = append(files["generation_config.json"], '\n')
	hubOf(ts).Put("org/english", "main", files)
}

func cmdLose(ts *testscript.TestScript, _ bool, args []string) {
	repo := "models--org--english"
	if len(args) > 1 {
		repo = args[1]
	}
	found, err := filepath.Glob(filepath.Join(ts.MkAbs("hf"), "hub", repo, "snapshots", "*", filepath.FromSlash(args[0])))
	if err != nil || len(found) == 0 {
		ts.Fatalf("nothing to lose: %v", err)
	}
	for _, path := range found {
		ts.Check(os.Remove(path))
	}
}

func cmdDown(ts *testscript.TestScript, _ bool, _ []string) { hubOf(ts).Close() }

// voiceFiles are the files of the built-in voice.
func voiceFiles(ts *testscript.TestScript) map[string][]byte {
	files := map[string][]byte{}
	ts.Check(fs.WalkDir(voice.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files[name], err = fs.ReadFile(voice.FS(), name)
		return err
	}))
	return files
}

// A pull is killed again and again, each time when more of the largest file is there. The
// last one fetches only what is missing, and all is as at the hub.
func TestPullSurvivesKills(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := hubtest.New()
	defer s.Close()
	if _, err := s.PutFS("org/english", "main", voice.FS()); err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	run := func() (*exec.Cmd, *bytes.Buffer) {
		cmd, stderr := exec.Command(exe, "pull", "org/english"), &bytes.Buffer{}
		cmd.Args[0] = "mynah" // which TestMain goes by
		cmd.Env = append(os.Environ(), "HF_HOME="+home, "HF_ENDPOINT="+s.Hub.URL, "HF_TOKEN=")
		cmd.Stderr = stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd, stderr
	}
	const each = 4 << 20 // bytes that a run gets of a file before it is killed
	before := int64(0)   // bytes that were there after the run before
	for range 3 {
		full := make(chan struct{}, 100)
		s.SetFault(func(w http.ResponseWriter, r *http.Request) bool {
			if r.Host != s.Contents.Listener.Addr().String() {
				return false
			}
			s.Serve(&dam{ResponseWriter: w, left: each, full: full, ends: r.Context().Done()}, r)
			return true
		})
		cmd, stderr := run()
		ended, late := make(chan error, 1), time.After(patience)
		go func() { ended <- cmd.Wait() }()
		// The journal grows as the bytes arrive: wait for it, not for a time.
		for filled, size := false, int64(0); !filled || size <= before+each/2; {
			select {
			case <-full:
				filled = true
			case <-time.After(5 * time.Millisecond):
			case err := <-ended:
				t.Fatalf("the pull ended by itself: %v\n%s", err, stderr)
			case <-late:
				_ = cmd.Process.Kill() // before the server is closed, which waits for it
				<-ended
				t.Fatalf("%d MiB were not sent or not kept, %d bytes are there\n%s", each>>20, size, stderr)
			}
			size = arrived(filepath.Join(home, "hub", "models--org--english", "blobs"))
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		<-ended
		before = arrived(filepath.Join(home, "hub", "models--org--english", "blobs"))
	}
	list := exec.Command(exe, "models", "list")
	list.Args[0], list.Env = "mynah", append(os.Environ(), "HF_HOME="+home)
	const unfinished = " MiB of unfinished files, which mynah pull goes on with and mynah models remove removes\n"
	if out, err := list.CombinedOutput(); err != nil || !strings.Contains(string(out), ", model.safetensors is missing ") || !strings.Contains(string(out), unfinished) {
		t.Errorf("the list of an unfinished model: %v\n%s", err, out)
	}
	s.SetFault(nil)
	s.Sent.Store(0)
	cmd, stderr := run()
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v: %s", err, stderr)
	}
	const all, listing = 24_746_610, 8 << 10
	if sent := s.Sent.Load(); sent > all-before+listing {
		t.Errorf("%d of %d bytes were sent again", sent, all)
	}
	found, _ := filepath.Glob(filepath.Join(home, "hub", "models--org--english", "snapshots", "*", "model.safetensors"))
	if len(found) != 1 {
		t.Fatalf("%q", found)
	}
	want, err := voice.FS().Open("model.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	defer want.Close()
	var b bytes.Buffer
	if _, err := b.ReadFrom(want); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(found[0]); err != nil || !bytes.Equal(got, b.Bytes()) {
		t.Errorf("model.safetensors differs: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(home, "hub", "*", "blobs", "*incomplete*")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

// arrived is how many bytes of a repository are there: whole blobs, and what journals say.
func arrived(blobs string) (n int64) {
	entries, _ := os.ReadDir(blobs)
	for _, e := range entries {
		info, err := e.Info()
		switch {
		case err != nil:
		case filepath.Ext(e.Name()) == "":
			n += info.Size()
		case strings.HasSuffix(e.Name(), ".mynah-journal.incomplete"):
			digest, _, _ := strings.Cut(e.Name(), ".")
			if _, err := os.Stat(filepath.Join(blobs, digest)); err == nil {
				continue // the process was about to remove the journal
			}
			data, _ := os.ReadFile(filepath.Join(blobs, e.Name()))
			for line := range strings.Lines(string(data)) {
				var start, end int64
				if k, _ := fmt.Sscanf(line, "%d %d", &start, &end); k == 2 {
					n += end - start
				}
			}
		}
	}
	return n
}

// dam lets so many bytes through and then holds them until the reader is gone.
type dam struct {
	http.ResponseWriter
	left int
	full chan struct{}
	ends <-chan struct{}
}

func (d *dam) Write(p []byte) (int, error) {
	n := min(len(p), d.left)
	d.left -= n
	d.ResponseWriter.Write(p[:n])
	if d.left == 0 {
		http.NewResponseController(d.ResponseWriter).Flush()
		d.full <- struct{}{}
		<-d.ends
		return n, http.ErrAbortHandler
	}
	return n, nil
}

// A server that was given a name has the model's name in its API, not the commit of its folder.
func TestServeByName(t *testing.T) {
	h := hubtest.New()
	defer h.Close()
	if _, err := h.PutFS("org/english", "main", voice.FS()); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HF_HOME", t.TempDir())
	t.Setenv("HF_ENDPOINT", h.Hub.URL)
	if out, err := exec.Command("mynah", "pull", "org/english").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	s := serve(t, "--model", "org/english")
	resp, err := http.Get(s.url + "/v1/models")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if data, err := io.ReadAll(resp.Body); err != nil || !strings.Contains(string(data), `"id":"english"`) {
		t.Errorf("%s, %v", data, err)
	}
}
