package synth

import (
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/mynah-tts/mynah/codec"
	"github.com/mynah-tts/mynah/internal/profile"
	"github.com/mynah-tts/mynah/predictor"
	"github.com/mynah-tts/mynah/talker"
)

// Bounds and defaults of Options.
const (
	defaultLive  = 8
	maxLive      = 64 // rows of the talker's scratch
	defaultQueue = 64
	maxQueue     = 100_000
	defaultAhead = 64 // frames, 5.1 s
	maxAhead     = 1 << 20
)

// Errors of Speak other than *RequestError.
var (
	ErrClosed   = errors.New("synth: the model is closed")
	ErrDraining = errors.New("synth: the model is draining and takes no more requests")
	ErrBusy     = errors.New("synth: the queue is full")
)

// engine computes all requests of a model on one goroutine. Live requests advance
// together: in each round one slice of one prompt, and one frame of every request that
// has its prompt, its text and room for the frame. The others wait in the order in
// which they came.
type engine struct {
	m            *Model
	live, queued int // most of each
	ahead        int // frames that a stream may be ahead of its reader
	prof         *profile.Recorder

	signal  chan struct{} // that something may have changed
	stopped chan struct{} // closed when the goroutine has ended

	mu       sync.Mutex
	closed   bool
	draining bool
	queue    []*Stream
	places   int    // taken by live requests
	made     uint64 // frames since the model was opened

	clips     int        // of Listen, that have a place
	hearings  []*hearing // of them, those whose encoders are ready
	forgotten []digest   // voices
	kept      int64      // bytes

	// The goroutine's own.
	utterances []*utterance // live, in the order in which they began
	pool       pool
	prefixes   prefixes
	voices     voices
	pace       pace
	skipped    int                      // rounds in which no clip was worked on, though there was one
	fault      func(u *utterance) error // of tests: an error instead of a frame
	batch
}

// batch is the memory of one step of several utterances.
type batch struct {
	ready  []*utterance
	hears  []*utterance // of ready, those that are not at their first frame
	states []*talker.State
	rows   []float32 // [live, hidden]
	ids    []int
	text   []float32 // [live, hidden]
	frames []predictor.Frame
	items  []codec.Item
}

func newEngine(m *Model, opts Options) *engine {
	e := &engine{
		m: m, live: opts.MaxLive, queued: max(0, opts.MaxQueue), ahead: opts.Ahead, prof: opts.Profile,
		signal: make(chan struct{}, 1), stopped: make(chan struct{}),
		prefixes: prefixes{most: prefixBytes}, voices: voices{most: voiceBytes},
	}
	h := m.cfg.Talker.Hidden
	e.batch = batch{
		ready: make([]*utterance, 0, e.live), hears: make([]*utterance, 0, e.live), states: make([]*talker.State, 0, e.live),
		rows: make([]float32, e.live*h), ids: make([]int, 0, e.live), text: make([]float32, e.live*h),
		frames: make([]predictor.Frame, 0, e.live), items: make([]codec.Item, 0, e.live),
	}
	go e.run()
	return e
}

// admit takes a stream into the queue.
func (e *engine) admit(s *Stream) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.closed:
		return ErrClosed
	case e.draining:
		return ErrDraining
	case e.places+len(e.queue) >= e.live+e.queued:
		return ErrBusy
	}
	e.queue = append(e.queue, s)
	e.wake()
	return nil
}

// leave takes a stream that nobody reads any more out of the queue, or lets the engine
// see that it is gone.
func (e *engine) leave(s *Stream) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if i := slices.Index(e.queue, s); i >= 0 {
		e.queue = slices.Delete(e.queue, i, i+1)
		return
	}
	e.wake()
}

// wake makes the engine look for work.
func (e *engine) wake() {
	select {
	case e.signal <- struct{}{}:
	default:
	}
}

// close ends the goroutine. Streams that are open fail.
func (e *engine) close() {
	e.mu.Lock()
	e.closed = true
	e.mu.Unlock()
	e.wake()
	<-e.stopped
}

// run is the engine's goroutine.
func (e *engine) run() {
	defer close(e.stopped)
	for e.next() {
		e.round()
	}
	e.mu.Lock()
	queue := e.queue
	e.queue = nil
	for _, h := range e.hearings {
		e.settle(h, ErrClosed)
	}
	e.hearings = nil
	e.mu.Unlock()
	for _, s := range queue {
		s.deliverError(ErrClosed)
	}
	for _, u := range e.utterances {
		u.s.deliverError(ErrClosed)
	}
}

// next waits until there is work; false means that the model was closed.
func (e *engine) next() bool {
	for {
		e.sweep()
		e.forgetSome()
		if e.begin() {
			return false
		}
		if e.anyReady() || e.firstHearing() != nil {
			return true
		}
		<-e.signal
	}
}

// anyReady tells whether an utterance can go on. It looks at all of them, for the time of
// those that cannot does not count as computing.
func (e *engine) anyReady() bool {
	found := false
	for _, u := range e.utterances {
		found = u.ready() || found
	}
	return found
}

// sweep ends utterances that nobody reads any more.
func (e *engine) sweep() {
	for _, u := range slices.Clone(e.utterances) {
		if u.s.gone() {
			e.end(u)
		}
	}
}

// begin makes as many queued streams live as there are places.
func (e *engine) begin() (closed bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for !e.closed && len(e.queue) > 0 && e.places < e.live {
		s := e.queue[0]
		e.queue = slices.Delete(e.queue, 0, 1)
		e.places++
		u := &utterance{e: e, m: e.m, s: s, plan: s.plan, script: s.plan.script, number: e.prof.Stream(), queued: time.Since(s.started)}
		e.prof.Add(profile.Queue, u.number, u.queued)
		s.watch.run(true)
		e.utterances = append(e.utterances, u)
	}
	return e.closed
}

// end takes an utterance out.
func (e *engine) end(u *utterance) {
	i := slices.Index(e.utterances, u)
	if i < 0 {
		return
	}
	e.utterances = slices.Delete(e.utterances, i, i+1)
	if u.place != nil {
		e.pool.give(u.place)
		u.place = nil
	}
	e.mu.Lock()
	e.places--
	e.mu.Unlock()
}

// round computes slices of prompts, a frame of every utterance that can have one, and a
// piece of a clip if nobody waits for it.
// A panic is a fault of ours: it fails the streams that are open, with the place in the
// error, and not the process.
func (e *engine) round() {
	defer func() {
		if p := recover(); p != nil {
			err := fmt.Errorf("synth: internal error: %v\n%s", p, debug.Stack())
			for _, u := range slices.Clone(e.utterances) {
				u.place = nil // in an unknown state
				e.fail(u, err)
			}
		}
	}()
	e.prepareSome()
	e.ready = e.ready[:0]
	for _, u := range e.utterances {
		if u.phase >= phaseFrames && u.ready() {
			e.ready = append(e.ready, u)
		}
	}
	e.step(e.ready)
	e.hearSome()
}

// prepareSome brings utterances to their first frame, those that wait longest first, for as
// long as the others can do without frames: at least one slice, and so much time that
// listeners keep half of the audio that they have, or that rounds take half as long again.
func (e *engine) prepareSome() {
	began, budget, worked := time.Now(), e.budget(), false
	for _, u := range slices.Clone(e.utterances) {
		for u.phase < phaseFrames && u.ready() {
			left := budget - time.Since(began)
			if worked && left <= 0 {
				return
			}
			if u.s.gone() {
				e.end(u)
				break
			}
			worked = true
			e.prepare(u, left)
		}
	}
}

// budget is how long a round may prepare.
func (e *engine) budget() time.Duration {
	lead, listening := e.lead()
	if !listening {
		return time.Duration(e.m.codec.Hop()) * time.Second / time.Duration(e.m.codec.SampleRate())
	}
	return max(lead, e.pace.round) / 2
}

// prepare does the next thing before the frames of a segment, in about so much time.
func (e *engine) prepare(u *utterance, left time.Duration) {
	if err := u.prepare(left); err != nil {
		e.fail(u, err)
	}
	if u.phase == phaseOver {
		e.end(u)
	}
}

// fail ends an utterance with an error.
func (e *engine) fail(u *utterance, err error) {
	u.s.deliverError(err)
	u.phase = phaseOver
	e.end(u)
}

// lead is how much audio every listener has at least, if each began to listen with its
// first frame; ok is false if nobody listens. One that waits for text does not count.
func (e *engine) lead() (least time.Duration, ok bool) {
	for _, u := range e.utterances {
		if !u.begun.IsZero() && u.phase == phaseFrames && u.waitsFor() != forText {
			lead := u.audio() - time.Since(u.begun)
			if !ok || lead < least {
				least, ok = lead, true
			}
		}
	}
	return least, ok
}

// Load is how busy a model is.
type Load struct {
	Live, Queued      int
	MaxLive, MaxQueue int
	Frames            uint64 // computed since the model was opened
	Listening         int    // clips with the engine
	Kept              int64  // bytes of what is kept to speak sooner in voices that were used
	Draining          bool
}

func (e *engine) load() Load {
	e.mu.Lock()
	defer e.mu.Unlock()
	return Load{
		Live: e.places, Queued: len(e.queue), MaxLive: e.live, MaxQueue: e.queued, Frames: e.made,
		Listening: e.clips, Kept: e.kept, Draining: e.draining,
	}
}

func (e *engine) drain() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.draining = true
}
