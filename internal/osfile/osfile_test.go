package osfile

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"testing"
)

// A lock is held by one at a time, in this process or another, and by a new file when the
// holder has removed it.
func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	if holder := os.Getenv("MYNAH_TEST_LOCK"); holder != "" {
		path = holder
	}
	f, err := Lock(path, 0o600)
	if os.Getenv("MYNAH_TEST_LOCK") != "" {
		if !errors.Is(err, ErrLocked) {
			t.Fatalf("error %v", err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Lock(path, 0o600); !errors.Is(err, ErrLocked) {
		t.Errorf("a second lock: error %v", err)
	}
	other := exec.Command(os.Args[0], "-test.run", "^TestLock$")
	other.Env = append(os.Environ(), "MYNAH_TEST_LOCK="+path)
	if out, err := other.CombinedOutput(); err != nil {
		t.Errorf("another process: %v\n%s", err, out)
	}
	f.Close()
	if f, err = Lock(path, 0o600); err != nil {
		t.Fatal(err)
	}
	f.Close()
	if _, err := Lock(filepath.Join(path, "x"), 0o600); err == nil || errors.Is(err, ErrLocked) {
		t.Errorf("a lock below a file: error %v", err)
	}
}

// Holders that remove the file leave no moment in which two hold it.
func TestLockRemoved(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	var mu sync.Mutex
	held := false
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for done := 0; done < 50; {
				f, err := Lock(path, 0o600)
				if errors.Is(err, ErrLocked) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				if held {
					t.Error("two hold it")
				}
				held = true
				mu.Unlock()
				mu.Lock()
				held = false
				mu.Unlock()
				_ = os.Remove(path)
				f.Close()
				done++
			}
		})
	}
	all.Wait()
}

func TestFull(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has numbers of its own")
	}
	for err, want := range map[error]bool{
		syscall.ENOSPC: true, fmt.Errorf("write: %w", &os.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}): true,
		syscall.EACCES: false, errors.New("no space left on device"): false,
	} {
		if IsFull(err) != want {
			t.Errorf("%v: %v", err, !want)
		}
	}
	if free := Free(t.TempDir()); free == 0 || free < -1 {
		t.Errorf("%d bytes free", free)
	}
	if free := Free(filepath.Join(t.TempDir(), "none")); free != -1 {
		t.Errorf("%d bytes free where nothing is", free)
	}
}
