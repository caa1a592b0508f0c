package main

import (
	"bytes"
	"context"
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// folderOf reads a folder's files; of the manifest the times are left out.
func folderOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		if name == "manifest.jsonl" {
			var plain []string
			for line := range strings.Lines(string(data)) {
				var fields map[string]any
				if err := json.Unmarshal([]byte(line), &fields); err != nil {
					return err
				}
				delete(fields, "rtf")
				sorted, err := json.Marshal(fields)
				if err != nil {
					return err
				}
				plain = append(plain, string(sorted))
			}
			data = []byte(strings.Join(plain, "\n"))
		}
		all[name] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// A batch is killed again and again at random moments. When it is let go on at last, the
// folder is the one of a run that was never disturbed.
func TestBatchSurvivesKills(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	lines := "Hello there.\nSecond line.\nThe third is a little longer than the others.\nNine.\nOne. Two. Three.\nThe end of it.\n"
	input := filepath.Join(dir, "book.md")
	book := "# One\n\n" + strings.ReplaceAll(lines, "\n", "\n\n# Next\n\n") + "\n"
	if err := os.WriteFile(input, []byte(book), 0o666); err != nil {
		t.Fatal(err)
	}
	run := func(out string, patience time.Duration) (killed bool) {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		cmd := exec.CommandContext(ctx, exe, "batch", "--book", input, "-o", filepath.Join(dir, out), "--captions", "srt", "--jobs", "3", "--format", "flac")
		cmd.Args[0] = "mynah" // which TestMain goes by
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		if err := cmd.Run(); err != nil && ctx.Err() == nil {
			t.Fatalf("%v: %s", err, stderr.String())
		}
		return ctx.Err() != nil
	}
	undisturbed := func(out string) {
		if run(out, 5*time.Minute) {
			t.Fatalf("%s was not finished in five minutes", out)
		}
	}
	begun := time.Now()
	undisturbed("whole")
	whole := time.Since(begun)
	rounds := 4
	if testing.Short() {
		rounds = 2
	}
	r := rand.New(rand.NewPCG(1, 2))
	for round := range rounds {
		out, kills := filepath.Base(t.TempDir())+string(rune('a'+round)), 0
		for range 30 {
			// A run that is always killed early would never end: each may take longer.
			if !run(out, time.Duration((0.1+float64(kills)*0.1+r.Float64()/2)*float64(whole))) {
				break
			}
			kills++
		}
		t.Logf("round %d: %d kills", round, kills)
		undisturbed(out)
		got, want := folderOf(t, filepath.Join(dir, out)), folderOf(t, filepath.Join(dir, "whole"))
		for name := range want {
			if got[name] != want[name] {
				t.Errorf("round %d, %d kills: %s differs:\n%.1500s\nwant\n%.1500s", round, kills, name, got[name], want[name])
			}
		}
		if len(got) != len(want) {
			t.Errorf("round %d, %d kills: %d files, want %d", round, kills, len(got), len(want))
		}
	}
}
