package hub

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/mynah-tts/mynah/internal/osfile"
)

// fileLock is a file that one process holds at a time, as long as it lives.
type fileLock struct{ file *os.File }

// repoLock is the name of the lock of a whole pull, beside huggingface_hub's locks of blobs.
const repoLock = "mynah-pull.lock"

// takeLock takes a lock, or gives osfile.ErrLocked.
func takeLock(path string) (*fileLock, error) {
	f, err := osfile.Lock(path, 0o664)
	if errors.Is(err, osfile.ErrLocked) {
		return nil, err
	}
	if err != nil {
		return nil, onDisk(err)
	}
	return &fileLock{f}, nil
}

// sign writes who holds a lock into it. The first byte is what is locked on Windows, and
// cannot be read there.
func (l *fileLock) sign() {
	text := "pid " + strconv.Itoa(os.Getpid()) + "\n"
	_ = l.file.Truncate(0)
	_, _ = l.file.WriteAt([]byte(text), 0) // a lock without a signature is one all the same
}

// release gives the lock up. The file stays, as huggingface_hub leaves its own: one that
// waits for it holds it open.
func (l *fileLock) release() { l.file.Close() }

// holder says who holds a lock: " (pid N)", or nothing if that is not known.
func holder(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	b := make([]byte, 32)
	n, _ := f.ReadAt(b, 1)
	text, ok := strings.CutPrefix(string(bytes.TrimSpace(b[:n])), "id ")
	if _, err := strconv.Atoi(text); !ok || err != nil {
		return ""
	}
	return " (pid " + text + ")"
}

// wait takes a lock as soon as it is free. busy, if not nil, is called once if it is not.
func (c *client) wait(ctx context.Context, path string, busy func() error) (*fileLock, error) {
	for first := true; ; first = false {
		l, err := takeLock(path)
		if !errors.Is(err, osfile.ErrLocked) {
			return l, err
		}
		if first && busy != nil {
			if err := busy(); err != nil {
				return nil, err
			}
		}
		if err := sleep(ctx, lockPoll); err != nil {
			return nil, err
		}
	}
}

// lockRepo takes the lock of all pulls of a repository.
func (c *client) lockRepo(ctx context.Context, s *store, repo string, patient bool) (*fileLock, error) {
	path := filepath.Join(s.locks, repoLock)
	if !patient {
		// One who asks whether a pull is running has the lock for a moment.
		if l, err := takeLock(path); err == nil {
			l.release()
		} else if err := sleep(ctx, lockPoll); err != nil {
			return nil, err
		}
	}
	l, err := c.wait(ctx, path, func() error {
		line := fmt.Sprintf("another pull of %s is running%s", repo, holder(path))
		if !patient {
			return errors.New(line)
		}
		c.note(line + ", waiting for its end")
		return nil
	})
	if err == nil {
		l.sign()
	}
	return l, err
}

// lockBlob takes huggingface_hub's lock of a blob.
func (c *client) lockBlob(ctx context.Context, s *store, f File) (*fileLock, error) {
	path := filepath.Join(s.locks, f.Digest+".lock")
	return c.wait(ctx, path, func() error {
		c.note(f.Path + ": another program is fetching it, waiting for its end")
		return nil
	})
}
