package main

import (
	"os"
	"path/filepath"
	"testing"
)

// A worker's folder is its own for as long as it lives; what the dead left goes when the
// next one starts.
func TestWorkerDir(t *testing.T) {
	temp := t.TempDir()
	left, stranger := filepath.Join(temp, "mynah-worker-1"), filepath.Join(temp, "mynah-worker-2")
	for _, dir := range []string{filepath.Join(left, "work"), stranger} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(left, workerLock), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	there := func(dir string) bool { _, err := os.Stat(dir); return err == nil }
	first, removeFirst, err := newWorkerDir(temp)
	if err != nil {
		t.Fatal(err)
	}
	if !locked(filepath.Join(first, workerLock)) {
		t.Skip("no locks here")
	}
	if there(left) {
		t.Error("what a dead worker left is still there")
	}
	if !there(stranger) {
		t.Error("a folder without a worker's lock was removed")
	}
	second, removeSecond, err := newWorkerDir(temp)
	if err != nil {
		t.Fatal(err)
	}
	if !there(first) || first == second {
		t.Errorf("a living worker's folder %s was taken for %s", first, second)
	}
	removeFirst()
	removeSecond()
	if there(first) || there(second) {
		t.Error("a folder stayed behind after its worker")
	}
}
