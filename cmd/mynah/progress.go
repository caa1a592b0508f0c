package main

import (
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/term"
)

// progressInterval is how often the line on the terminal is drawn.
const progressInterval = 100 * time.Millisecond

// progress is a line on a terminal that tells how an utterance is coming along. On
// anything else, and when it should be quiet, it does nothing.
type progress struct {
	w    *os.File
	ends chan struct{} // nil if there is no line
	done chan struct{}

	mu      sync.Mutex
	started time.Time     // of the utterance; zero while the model is opened
	first   time.Duration // until the first audio; zero before
	frames  int
	audio   time.Duration
	spent   time.Duration // computing, 0 if a server does not say
}

// startProgress begins to draw, if w is a terminal that can.
func startProgress(w *os.File, quiet bool) *progress {
	p := &progress{w: w}
	if quiet || !term.IsTerminal(int(w.Fd())) || os.Getenv("TERM") == "dumb" {
		return p
	}
	p.ends, p.done = make(chan struct{}), make(chan struct{})
	go p.draw()
	return p
}

// draw redraws the line until stop, which erases it.
func (p *progress) draw() {
	defer close(p.done)
	tick := time.NewTicker(progressInterval)
	defer tick.Stop()
	for {
		select {
		case <-p.ends:
			fmt.Fprint(p.w, "\r\x1b[K")
			return
		case <-tick.C:
			fmt.Fprintf(p.w, "\r%s\x1b[K", p.line())
		}
	}
}

// line is what is shown, cut to the terminal's width so that it stays one line.
func (p *progress) line() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	line := "opening the model"
	if !p.started.IsZero() {
		elapsed := time.Since(p.started)
		line = fmt.Sprintf("%.1f s, waiting for the first audio", elapsed.Seconds())
		if p.first > 0 {
			line = fmt.Sprintf("%.1f s, %.2f s of audio in %d frames, first audio after %.2f s", elapsed.Seconds(), p.audio.Seconds(), p.frames, p.first.Seconds())
			if p.spent > 0 {
				line += fmt.Sprintf(", RTF %.2f", p.spent.Seconds()/p.audio.Seconds())
			}
		}
	}
	if width, _, err := term.GetSize(int(p.w.Fd())); err == nil && width > 0 && len(line) >= width {
		line = line[:width-1]
	}
	return line
}

// start says that the utterance begins.
func (p *progress) start() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.started = time.Now()
}

// frame counts a frame of samples, and the time that was computed so far.
func (p *progress) frame(samples, rate int, spent time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.first == 0 {
		p.first = time.Since(p.started)
	}
	p.frames++
	p.spent = spent
	p.audio += time.Duration(samples) * time.Second / time.Duration(rate)
}

// stop erases the line. It may be called again.
func (p *progress) stop() {
	if p.ends == nil {
		return
	}
	close(p.ends)
	<-p.done
	p.ends = nil
}
