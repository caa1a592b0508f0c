package osfile

import (
	"errors"
	"fmt"
	"net"
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

// What a system says of a port is known by POSIX's names, and by no other than the right one.
func TestIs(t *testing.T) {
	taken, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := taken.Addr().String()
	defer taken.Close()
	_, used := net.Listen("tcp4", address)
	_, foreign := net.Listen("tcp4", "203.0.113.1:0")
	free, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	free.Close()
	_, refused := net.Dial("tcp4", free.Addr().String())
	faults := map[syscall.Errno]error{syscall.EADDRINUSE: used, syscall.EADDRNOTAVAIL: foreign, syscall.ECONNREFUSED: refused}
	for name := range faults {
		for other, err := range faults {
			if err == nil || Is(err, name) != (name == other) {
				t.Errorf("%v as %v: %v", err, name, name != other)
			}
		}
	}
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
