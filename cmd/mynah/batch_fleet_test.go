package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/mynah-tts/mynah/internal/fleet"
)

// mynah is a command of this program, run by the test's own binary.
func mynah(t *testing.T, args ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, args...)
	cmd.Args[0] = "mynah" // which TestMain goes by
	stderr := &bytes.Buffer{}
	cmd.Stderr = stderr
	return cmd, stderr
}

// Three workers, of which two are killed at random moments, make the files of a local run;
// the third ends well when it is told to.
func TestFleetSurvivesKills(t *testing.T) {
	dir := t.TempDir()
	server, err := fleet.StartServer("", filepath.Join(dir, "server"), "")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Stop()
	const items = 60
	var lines strings.Builder
	for i := range items {
		fmt.Fprintf(&lines, "Item %d.\n", i)
	}
	input, out := filepath.Join(dir, "lines.txt"), filepath.Join(dir, "out")
	if err := os.WriteFile(input, []byte(lines.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	settings := []string{"--max-frames", "4", "--format", "flac", "--trim", "--captions", "srt", "--cache", "off"}
	local, stderr := mynah(t, append([]string{"batch", input, "-o", filepath.Join(dir, "local")}, settings...)...)
	if err := local.Run(); err != nil && local.ProcessState.ExitCode() != exitPartly { // some are cut
		t.Fatalf("%v: %s", err, stderr)
	}

	type process struct {
		*exec.Cmd
		stderr *bytes.Buffer
	}
	var workers []process
	for range 3 {
		cmd, stderr := mynah(t, "worker", "--nats", server.Addr(), "--lease", "1s", "--jobs", "4", "--cache", "off")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill() })
		workers = append(workers, process{cmd, stderr})
	}
	batch, stderr := mynah(t, append([]string{"batch", input, "-o", out, "--nats", server.Addr(), "--progress", "json"}, settings...)...)
	stdout, err := batch.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := batch.Start(); err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(uint64(os.Getpid()), 7))
	kills := []int{1 + r.IntN(items/3), items/3 + r.IntN(items/3)}
	t.Logf("kills after %v items", kills)
	made := 0
	for events := bufio.NewScanner(stdout); events.Scan(); {
		var e struct{ Event string }
		if err := json.Unmarshal(events.Bytes(), &e); err != nil {
			t.Fatal(err)
		}
		if e.Event != "item" {
			continue
		}
		if made++; len(kills) > 0 && made == kills[0] {
			kills = kills[1:]
			_ = workers[0].Process.Kill()
			_ = workers[0].Wait()
			workers = workers[1:]
		}
	}
	if err := batch.Wait(); err != nil && batch.ProcessState.ExitCode() != local.ProcessState.ExitCode() {
		t.Fatalf("%v: %s", err, stderr)
	}
	if made != items {
		t.Errorf("%d items were made, want %d", made, items)
	}
	got, want := folderOf(t, out), folderOf(t, filepath.Join(dir, "local"))
	for name := range want {
		if got[name] != want[name] {
			t.Errorf("%s differs:\n%.1000s\nwant\n%.1000s", name, got[name], want[name])
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d files, want %d", len(got), len(want))
	}
	last := workers[0]
	if err := last.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := last.Wait(); err != nil || !strings.Contains(last.stderr.String(), "takes items at nats://127.0.0.1:") {
		t.Errorf("the worker that was told to end: %v: %s", err, last.stderr)
	}
}
