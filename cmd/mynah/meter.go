package main

import (
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/term"
)

// plainInterval is how often progress is a plain line.
const plainInterval = 10 * time.Second

// meter tells how work is coming along: as a line on a terminal, as plain lines now
// and then, or as JSON objects on standard output.
type meter struct {
	program *program
	quiet   bool
	form    string        // "", auto, plain or json
	words   func() string // how far the work is, in one line
	event   func() any    // the same as an object

	mu   sync.Mutex // of what is written
	line bool       // there is a line on the terminal
	ends chan struct{}
	over sync.WaitGroup
}

// start begins to tell.
func (m *meter) start() {
	m.ends = make(chan struct{})
	interval := plainInterval
	switch {
	case m.json():
		interval = time.Second
	case m.quiet:
		return
	case m.drawn():
		interval = progressInterval
	}
	m.over.Go(func() {
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for {
			select {
			case <-m.ends:
				return
			case <-tick.C:
				m.tick()
			}
		}
	})
}

// json reports whether progress is told as objects.
func (m *meter) json() bool { return m.form == "json" }

// drawn reports whether progress is a line on a terminal.
func (m *meter) drawn() bool {
	return (m.form == "" || m.form == "auto") && term.IsTerminal(int(m.program.stderr.Fd())) && os.Getenv("TERM") != "dumb"
}

// stop ends it.
func (m *meter) stop() {
	close(m.ends)
	m.over.Wait()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.erase()
}

// tick tells how far the work is.
func (m *meter) tick() {
	if m.json() {
		m.emit(m.event())
		return
	}
	line := m.words()
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.drawn() {
		m.program.note("%s", line)
		return
	}
	if width, _, err := term.GetSize(int(m.program.stderr.Fd())); err == nil && width > 0 && len(line) >= width {
		line = line[:width-1]
	}
	fmt.Fprintf(m.program.stderr, "\r%s\x1b[K", line)
	m.line = true
}

// erase takes the line off the terminal. mu is held.
func (m *meter) erase() {
	if m.line {
		fmt.Fprint(m.program.stderr, "\r\x1b[K")
		m.line = false
	}
}

// note prints a line of its own, above that of the progress.
func (m *meter) note(format string, args ...any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.erase()
	m.program.note(format, args...)
}

// emit writes an object. A reader that went away loses the progress, not the work.
func (m *meter) emit(v any) { _ = m.print(v) }

// print writes an object that is the answer asked for, and not news of one.
func (m *meter) print(v any) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	encoder := json.NewEncoder(m.program.stdout)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(v)
}
