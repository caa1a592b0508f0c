package audio

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mynah-tts/mynah/internal/osfile"
)

// childName is the program that encodes what Mynah does not.
const childName = "ffmpeg"

// probeTimeout bounds how long a program may take to list its encoders. Tests wait less.
var probeTimeout = 10 * time.Second

// probed keeps the encoders of each program that was asked, by path.
var probed struct {
	sync.Mutex
	encoders map[string]map[string]bool
}

// available says why a format cannot be made here, if it cannot.
func (f *form) available() error {
	if f.encoder == "" {
		return nil
	}
	path, err := exec.LookPath(childName)
	if err != nil {
		return fmt.Errorf("needs the program %s on PATH, and there is none", childName)
	}
	encoders, err := encodersOf(path)
	switch {
	case err != nil:
		return fmt.Errorf("needs the program %s, and the one on PATH fails: %w", childName, osfile.Cause(err))
	case !encoders[f.encoder]:
		return fmt.Errorf("needs a program %s with the encoder %s, and this one has none", childName, f.encoder)
	}
	return nil
}

// encodersOf asks a program for the names of its encoders, once.
func encodersOf(path string) (map[string]bool, error) {
	probed.Lock()
	defer probed.Unlock()
	if known := probed.encoders[path]; known != nil {
		return known, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), probeTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "-hide_banner", "-loglevel", "error", "-encoders")
	ownGroup(cmd)
	cmd.Cancel = func() error { killGroup(cmd); return nil }
	cmd.WaitDelay = time.Second // if what it has started holds its output still
	list, err := cmd.Output()
	switch { // failures are not kept: it is asked again next time
	case ctx.Err() != nil:
		return nil, fmt.Errorf("no answer within %v", probeTimeout)
	case err != nil:
		return nil, err
	}
	known := make(map[string]bool)
	for line := range strings.Lines(string(list)) {
		// Flags, name, description: " A....D libopus  libopus Opus".
		if words := strings.Fields(line); len(words) > 1 && strings.HasPrefix(words[0], "A") {
			known[words[1]] = true
		}
	}
	if probed.encoders == nil {
		probed.encoders = make(map[string]map[string]bool)
	}
	probed.encoders[path] = known
	return known, nil
}

// child is the body of a format that another process encodes: samples go into its
// standard input, and a goroutine, which alone writes to the sink's writer, brings on
// what comes out. It ends by itself when its input ends, also if this process dies.
type child struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	stderr tail
	bytes  []byte        // scratch
	copied chan struct{} // closed when nothing more is written
	made   bool          // something came out; read after copied is closed
	failed error         // of the writer; read after copied is closed
	given  bool          // there were samples to go in
	ended  bool
	err    error // how it ended
}

// startChild starts the encoder of a format.
func startChild(w io.Writer, f *form, rate, bitrate int) (*child, error) {
	path, err := exec.LookPath(childName)
	if err != nil {
		return nil, err
	}
	if bitrate == 0 {
		bitrate = min(f.bitrate, 6*rate)
	}
	args := []string{
		// Bare samples need no look at what is in them, which would hold sound back.
		"-probesize", "32", "-analyzeduration", "0",
		"-hide_banner", "-nostdin", "-loglevel", "error", "-threads", "1",
		"-f", "s16le", "-ar", strconv.Itoa(rate), "-ac", "1", "-i", "pipe:0",
		"-c:a", f.encoder, "-b:a", strconv.Itoa(bitrate), "-map_metadata", "-1", "-fflags", "+bitexact", "-flags", "+bitexact", "-flush_packets", "1",
	}
	args = append(append(args, f.muxer...), "pipe:1")
	c := &child{cmd: exec.Command(path, args...), copied: make(chan struct{})}
	c.cmd.Stderr = &c.stderr
	ownGroup(c.cmd)
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w", childName, osfile.Cause(err))
	}
	go c.copy(w, out)
	return c, nil
}

// copy brings what comes out to w, until there is no more or w fails.
func (c *child) copy(w io.Writer, out io.Reader) {
	defer close(c.copied)
	buf := make([]byte, 32<<10)
	for {
		n, err := out.Read(buf)
		if n > 0 {
			c.made = true
			if _, c.failed = w.Write(buf[:n]); c.failed != nil {
				killGroup(c.cmd) // or it would fill its pipe and wait for ever
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func (c *child) write(samples []float32) (err error) {
	c.given = c.given || len(samples) > 0 // also if the child has ended before
	select {
	case <-c.copied:
		return c.early()
	default:
	}
	if c.bytes, err = AppendPCM16(c.bytes[:0], samples); err != nil {
		return err
	}
	if _, err := c.in.Write(c.bytes); err != nil {
		return c.early()
	}
	return nil
}

// early ends a child that takes no more samples, and says why.
func (c *child) early() error {
	if err := c.wait(); err != nil {
		return err
	}
	return fmt.Errorf("%s: ended before its input", childName)
}

func (c *child) end() error { return c.wait() }

// wait closes the input and waits for the rest of the output and the end.
func (c *child) wait() error {
	if c.ended {
		return c.err
	}
	c.ended = true
	_ = c.in.Close() // a child that is gone has closed it
	<-c.copied
	err := c.cmd.Wait()
	switch {
	case c.failed != nil:
		c.err = c.failed
	case err != nil:
		c.err = fmt.Errorf("%s: %w%s", childName, err, c.stderr.last())
	case c.given && !c.made:
		c.err = fmt.Errorf("%s: ended without output", childName)
	}
	return c.err
}

func (c *child) abort() {
	if !c.ended {
		killGroup(c.cmd)
		_ = c.wait() // that it was killed is known
	}
}

// tail keeps the end of what is written to it.
type tail struct{ buf []byte }

// tailBytes is how much a tail keeps.
const tailBytes = 1024

func (t *tail) Write(p []byte) (int, error) {
	t.buf = append(t.buf, p...)
	t.buf = t.buf[max(0, len(t.buf)-tailBytes):]
	return len(p), nil
}

// last is the last line, to be put behind an error, if there is one.
func (t *tail) last() string {
	text := bytes.TrimSpace(t.buf)
	if len(text) == 0 {
		return ""
	}
	return ": " + strings.ToValidUTF8(string(text[bytes.LastIndexByte(text, '\n')+1:]), "\uFFFD")
}
