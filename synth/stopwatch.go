package synth

import "time"

// stopwatch adds up the time in which it runs. The zero stopwatch stands at 0.
type stopwatch struct {
	spent time.Duration // before since
	since time.Time     // when it was set running; zero while it stands
}

// run sets the watch running, or stops it.
func (w *stopwatch) run(on bool) {
	switch {
	case on && w.since.IsZero():
		w.since = time.Now()
	case !on && !w.since.IsZero():
		w.spent += time.Since(w.since)
		w.since = time.Time{}
	}
}

// read returns the time so far.
func (w *stopwatch) read() time.Duration {
	if w.since.IsZero() {
		return w.spent
	}
	return w.spent + time.Since(w.since)
}
