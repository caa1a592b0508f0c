package synth

import (
	"context"
	"io"
	"iter"
	"sync"
	"time"
)

// Stream is one utterance being spoken: the reader's side. The engine computes ahead of
// the reader, by Options.Ahead frames at most. One goroutine reads; Write, Flush, End
// and Close may be called by others.
type Stream struct {
	e       *engine
	ctx     context.Context
	detach  func() bool // stops listening to ctx
	started time.Time
	hop     int // samples in a frame
	rate    int // Hz
	plan    *plan
	open    bool      // text comes in pieces
	watch   stopwatch // of computing; the engine's goroutine alone uses it

	mu      sync.Mutex
	changed sync.Cond // queue, failed, closed, or the context
	queue   []item    // computed and not yet read
	waiting int       // frames in queue
	spare   []*buffer // for the frames to come
	last    *buffer   // of the event that was read last
	stalled bool      // the engine waits for room
	failed  error     // the engine's, behind the queue
	closed  bool
	err     error // what Next returns once the stream is over
	done    Done  // what was read so far
}

// item is an event that waits for its reader.
type item struct {
	event     Event
	audio     Audio         // in place of event if buf is set
	buf       *buffer       // the memory of audio
	computing time.Duration // for the utterance so far
}

// buffer is the memory of one frame on its way to the reader.
type buffer struct {
	pcm   []float32 // [frame size]
	codes []int32   // [groups]
}

func newStream(ctx context.Context, e *engine, p *plan) *Stream {
	s := &Stream{
		e: e, ctx: ctx, plan: p, started: time.Now(), hop: e.m.codec.Hop(), rate: e.m.codec.SampleRate(), done: Done{Seed: p.seed},
	}
	s.changed.L = &s.mu
	return s
}

// Events yields the stream's events until its end. An error is the last thing it
// yields; a cancelled stream ends with Done and FinishCancelled.
func (s *Stream) Events() iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for {
			event, err := s.Next()
			if err == io.EOF {
				return
			}
			if !yield(event, err) || err != nil {
				return
			}
		}
	}
}

// Next waits for the next event and returns it. After Done it returns io.EOF, after an
// error that error again. Once the context is cancelled no more audio is returned: what
// was computed ahead is dropped, and Done counts what was read.
func (s *Stream) Next() (Event, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.recycle()
	for {
		switch {
		case s.err != nil:
			return nil, s.err
		case s.closed:
			s.err = io.EOF
			return nil, s.err
		case s.failed == ErrClosed:
			return nil, s.fail(s.failed)
		case s.ctx.Err() != nil:
			s.drop()
			return s.finish(FinishCancelled), nil
		case len(s.queue) > 0:
			return s.pop(), nil
		case s.failed != nil:
			return nil, s.fail(s.failed)
		}
		s.changed.Wait()
	}
}

// recycle takes back the memory of the event that was read last.
func (s *Stream) recycle() {
	if s.last != nil {
		s.spare = append(s.spare, s.last)
		s.last = nil
	}
}

// pop takes the first event out of the queue.
func (s *Stream) pop() Event {
	it := s.queue[0]
	s.queue = append(s.queue[:0], s.queue[1:]...)
	s.done.Computing = it.computing
	if it.buf != nil {
		s.last = it.buf
		s.waiting--
		s.heard(it.audio)
		it.audio.Computing = it.computing
		return it.audio
	}
	switch e := it.event.(type) {
	case Start:
		s.done.Queued = e.Queued
	case Segment:
		s.done.Segments++
	case Done:
		return s.finish(e.FinishReason)
	}
	return it.event
}

// heard counts audio that was read, and tells the engine if it waits for room.
func (s *Stream) heard(a Audio) {
	if a.Codes != nil {
		s.done.Frames++
	}
	s.done.Samples += len(a.PCM)
	if s.stalled {
		s.stalled = false
		s.e.wake()
	}
}

// finish closes the books.
func (s *Stream) finish(reason FinishReason) Done {
	s.err = io.EOF
	s.release()
	d := &s.done
	d.FinishReason = reason
	_, d.TextTokens = s.plan.script.counts()
	d.Elapsed = time.Since(s.started)
	d.Audio = time.Duration(d.Samples) * time.Second / time.Duration(s.rate)
	return *d
}

func (s *Stream) fail(err error) error {
	s.err = err
	s.drop()
	s.release()
	return err
}

// drop forgets what was computed ahead.
func (s *Stream) drop() { s.queue, s.waiting, s.spare = nil, 0, nil }

// release stops listening to the context.
func (s *Stream) release() {
	if s.detach != nil {
		s.detach()
	}
}

// Close ends the stream; it need not have come to its end. The engine leaves it within
// a frame.
func (s *Stream) Close() error {
	s.mu.Lock()
	again := s.closed
	s.closed = true
	s.drop()
	s.release()
	s.changed.Broadcast()
	s.mu.Unlock()
	if !again { // also of a stream that has failed: the engine may not know yet, and sleep
		s.e.leave(s)
	}
	return nil
}

// abandon is called when the context is cancelled.
func (s *Stream) abandon() {
	s.e.leave(s)
	s.mu.Lock()
	s.changed.Broadcast()
	s.mu.Unlock()
}

// Write adds text to a stream of SpeakPieces. Pieces may be cut anywhere, also within a
// character: how they are cut changes nothing of what is said. The text as a whole is
// checked like that of Speak; what is wrong with it is a *RequestError here.
func (s *Stream) Write(piece string) error {
	return s.tell(func(text *script) error { return text.write(piece) })
}

// Flush speaks what was written so far as if a sentence ended there. If most of it is in a
// script that the checkpoint does not know it is a *RequestError, which ends the stream.
func (s *Stream) Flush() error { return s.settle((*script).flush) }

// End says that the text of a stream of SpeakPieces is complete. Without anything to say,
// or mostly in a script that the checkpoint does not know, it is a *RequestError, which ends
// the stream.
func (s *Stream) End() error { return s.settle((*script).end) }

// settle makes a change after which there is something to be spoken, or an error for the
// reader as well.
func (s *Stream) settle(change func(*script) error) error {
	err := s.tell(change)
	if err != nil && s.open {
		s.deliverError(err)
		s.e.wake() // it gives the stream's place to another
	}
	return err
}

// tell changes the text of a stream of pieces and wakes the engine.
func (s *Stream) tell(change func(*script) error) error {
	if !s.open {
		return requestErrorf("input", "the text of this stream was complete from the start")
	}
	if err := change(s.plan.script); err != nil {
		return err
	}
	s.e.wake()
	return nil
}

// The rest is the engine's side.

// gone tells that nobody reads the stream any more.
func (s *Stream) gone() bool {
	if s.ctx.Err() != nil {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed || s.err != nil || s.failed != nil
}

// room tells whether there is room for another frame, and asks for a wake-up if not.
func (s *Stream) room(ahead int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stalled = s.waiting >= ahead
	return !s.stalled
}

// deliver hands an event to the reader.
func (s *Stream) deliver(e Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.push(item{event: e})
}

// deliverAudio hands a copy of samples and codes to the reader.
func (s *Stream) deliverAudio(frame int, pcm []float32, codes []int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.done.TTFA == 0 {
		s.done.TTFA = time.Since(s.started)
	}
	var b *buffer
	if n := len(s.spare); n > 0 {
		b = s.spare[n-1]
		s.spare = s.spare[:n-1]
	} else {
		b = &buffer{pcm: make([]float32, s.hop), codes: make([]int32, s.e.m.cfg.Talker.Groups)}
	}
	a := Audio{Frame: frame, PCM: b.pcm[:copy(b.pcm, pcm)]}
	if codes != nil {
		a.Codes = b.codes[:copy(b.codes, codes)]
	}
	s.waiting++
	s.push(item{audio: a, buf: b})
}

// deliverError ends the stream with an error, behind what was computed before.
func (s *Stream) deliverError(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed == nil {
		s.failed = err
	}
	s.changed.Broadcast()
}

func (s *Stream) push(it item) {
	if s.closed || s.err != nil || s.failed != nil {
		return
	}
	it.computing = s.watch.read()
	s.queue = append(s.queue, it)
	s.changed.Signal()
}
