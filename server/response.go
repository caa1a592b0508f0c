package server

import (
	"bufio"
	"net"
	"net/http"
	"time"
)

// response is the ResponseWriter of every handler. It gives each write a deadline of
// its own, instead of one for the whole answer, which a long utterance would outlast;
// and it remembers what the log wants to know.
type response struct {
	http.ResponseWriter
	rc      *http.ResponseController
	timeout time.Duration // for one write

	status   int // 0 until the header is written
	bytes    int64
	blocked  time.Duration // spent in writes
	err      error         // of the first write that failed
	hijacked bool
}

func newResponse(w http.ResponseWriter, timeout time.Duration) *response {
	return &response{ResponseWriter: w, rc: http.NewResponseController(w), timeout: timeout}
}

// Unwrap lets http.ResponseController reach the connection.
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *response) WriteHeader(status int) {
	if w.status == 0 && status >= http.StatusOK {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// pieceBytes is the most that one deadline is for: a slow client gets longer for more.
const pieceBytes = 64 << 10

// Write writes within the deadline.
func (w *response) Write(p []byte) (n int, err error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	for {
		piece := p[n:min(n+pieceBytes, len(p))]
		wrote := 0
		err = w.timed(func() (err error) {
			wrote, err = w.ResponseWriter.Write(piece)
			return err
		})
		n += wrote
		w.bytes += int64(wrote)
		if err != nil || n == len(p) {
			return n, err
		}
	}
}

// Flush sends what was written, within the deadline.
func (w *response) Flush() { _ = w.FlushError() }

// FlushError is Flush with its error.
func (w *response) FlushError() error { return w.timed(w.rc.Flush) }

// Hijack hands the connection over.
func (w *response) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := w.rc.Hijack()
	if err == nil {
		w.hijacked = true
		w.status = http.StatusSwitchingProtocols
	}
	return conn, rw, err
}

// timed runs a write under a deadline. The deadline is taken off again: HTTP/2 would
// end a stream that waits for its turn when it passes.
func (w *response) timed(write func() error) error {
	if w.err != nil {
		return w.err
	}
	began := time.Now()
	w.deadline(began.Add(w.timeout))
	if err := write(); err != nil {
		w.err = &connectionError{err}
	}
	w.deadline(time.Time{})
	w.blocked += time.Since(began)
	return w.err
}

// deadline sets the deadline of writes. Recorders of tests have none.
func (w *response) deadline(t time.Time) { _ = w.rc.SetWriteDeadline(t) }

// reset ends the connection with a reset. In HTTP/1.0 a body has no end but that of its
// connection, so that a plain close would make a broken answer look complete.
func (w *response) reset() {
	conn, _, err := w.rc.Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	if c, ok := below[interface{ SetLinger(int) error }](conn); ok {
		_ = c.SetLinger(0)
	}
}

// finish sets the deadline of what net/http itself still writes: the end of a chunked
// body with its trailers.
func (w *response) finish() {
	if !w.hijacked {
		w.deadline(time.Now().Add(w.timeout))
	}
}
