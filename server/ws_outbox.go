package server

import (
	"encoding/json"
	"slices"
	"sync"

	"github.com/gorilla/websocket"
)

// outbox is what waits to be sent to one client: filled by the goroutines that read
// its messages and speak its utterances, emptied by the one that writes. It is bounded
// in bytes, and it knows what the client was shown of an utterance, so that the rest
// of that can be taken back.
type outbox struct {
	limit int64
	ready chan struct{} // a token: there is something to send
	room  chan struct{} // a token: something was sent

	mu     sync.Mutex
	items  []outgoing
	bytes  int64    // of items, and of what is being sent
	spare  [][]byte // for audio
	pong   []byte   // the answer to the last ping, nil for none
	closed bool     // takes nothing any more
	shown  shown
}

// outgoing is one message.
type outgoing struct {
	kind     int    // of the WebSocket
	data     []byte // owned
	turn     *turn  // the utterance that it belongs to, nil if to none
	mark     mark
	sentence int // of a mark
	audio    bool
	frames   int // in data
}

// mark tells what a message means for the utterance.
type mark int

const (
	markNone  mark = iota
	markStart      // audio.start
	markDone       // audio.done
	markEnd        // session.done
)

// shown is what was sent of the utterance that was sent last.
type shown struct {
	turn     *turn
	open     bool // an audio.start without its audio.done
	sentence int  // of the last audio.start
	starts   int  // audio.start of this utterance
	bytes    int64
	frames   int
}

func newOutbox(limit int64) *outbox {
	return &outbox{limit: limit, ready: make(chan struct{}, 1), room: make(chan struct{}, 1)}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// event takes an event. It never waits: false means that far too much waits already.
func (o *outbox) event(t *turn, m mark, sentence int, v any) bool {
	data := encode(v)
	o.mu.Lock()
	defer o.mu.Unlock()
	if !t.isWithdrawn() {
		o.push(outgoing{kind: websocket.TextMessage, data: data, turn: t, mark: m, sentence: sentence})
	}
	return o.closed || o.bytes <= o.limit+eventBytes
}

// encode makes JSON of an event.
func encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil { // of our own types, without functions and infinities
		panic(err)
	}
	return data
}

// audio takes a copy of audio if there is room for it. An empty box takes anything.
func (o *outbox) audio(t *turn, kind int, p []byte, frames int) (taken bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if t.isWithdrawn() {
		return true
	}
	if o.bytes > 0 && o.bytes+int64(len(p)) > o.limit {
		return false
	}
	var data []byte
	if n := len(o.spare); n > 0 {
		data = o.spare[n-1]
		o.spare = o.spare[:n-1]
	}
	o.push(outgoing{kind: kind, data: append(data, p...), turn: t, audio: true, frames: frames})
	return true
}

func (o *outbox) push(m outgoing) {
	if o.closed {
		return
	}
	o.items = append(o.items, m)
	o.bytes += int64(len(m.data))
	signal(o.ready)
}

// ponged remembers that a ping is to be answered; only the last one is.
func (o *outbox) ponged(data string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.pong = []byte(data)
	signal(o.ready)
}

// take takes the next message out, to be sent now.
func (o *outbox) take() (m outgoing, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.pong != nil {
		m, o.pong = outgoing{kind: websocket.PongMessage, data: o.pong}, nil
		return m, true
	}
	if len(o.items) == 0 {
		return m, false
	}
	m = o.items[0]
	o.items = append(o.items[:0], o.items[1:]...)
	if m.turn != nil {
		o.show(m)
	}
	return m, true
}

func (o *outbox) show(m outgoing) {
	if o.shown.turn != m.turn {
		o.shown = shown{turn: m.turn}
	}
	switch s := &o.shown; {
	case m.mark == markStart:
		s.open, s.sentence, s.bytes, s.frames = true, m.sentence, 0, 0
		s.starts++
	case m.mark == markDone:
		s.open = false
	case m.audio:
		s.bytes += int64(len(m.data))
		s.frames += m.frames
	}
}

// sent takes a message's memory back.
func (o *outbox) sent(m outgoing) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if m.kind == websocket.PongMessage {
		return
	}
	o.bytes -= int64(len(m.data))
	if m.audio {
		o.spare = append(o.spare, m.data[:0])
	}
	signal(o.room)
}

// withdraw takes back what was not sent of an utterance and puts the events in its
// place that end makes of what was.
func (o *outbox) withdraw(t *turn, end func(shown) []outgoing) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.replace(t, end)
}

// withdrawAll takes back all that was not sent of any utterance. Those that are live,
// of which nothing more is taken once they are marked as withdrawn, have their end put
// in its place later, the others now: in order, for nothing of any is left before it.
// It reports whether there were others.
func (o *outbox) withdrawAll(live []*turn, end func(*turn, shown) []outgoing) (others bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	unsent := o.unsent()
	for _, t := range unsent {
		o.remove(func(m outgoing) bool { return m.turn == t })
	}
	for _, t := range unsent {
		if !slices.Contains(live, t) {
			o.replace(t, func(s shown) []outgoing { return end(t, s) })
			others = true
		}
	}
	return others
}

func (o *outbox) replace(t *turn, end func(shown) []outgoing) {
	o.remove(func(m outgoing) bool { return m.turn == t })
	s := o.shown
	if s.turn != t {
		s = shown{turn: t}
	}
	for _, m := range end(s) {
		o.push(m)
	}
}

// remove throws messages away.
func (o *outbox) remove(which func(outgoing) bool) {
	kept := o.items[:0]
	for _, m := range o.items {
		if which(m) {
			o.bytes -= int64(len(m.data))
		} else {
			kept = append(kept, m)
		}
	}
	clear(o.items[len(kept):])
	o.items = kept
	signal(o.room)
}

// retract is withdraw for an utterance that has ended, if something of it was not sent.
func (o *outbox) retract(t *turn, end func(shown) []outgoing) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if slices.Contains(o.unsent(), t) {
		o.replace(t, end)
	}
}

// waiting is unsent for those who do not hold mu.
func (o *outbox) waiting() []*turn {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.unsent()
}

// unsent are the utterances of which something waits to be sent.
func (o *outbox) unsent() []*turn {
	var all []*turn
	for _, m := range o.items {
		if m.turn != nil && (len(all) == 0 || all[len(all)-1] != m.turn) {
			all = append(all, m.turn)
		}
	}
	return all
}

// close takes nothing from now on. With drop all that waits is thrown away but events
// that belong to no utterance.
func (o *outbox) close(drop bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	if drop {
		o.remove(func(m outgoing) bool { return m.turn != nil })
	}
	signal(o.ready)
}
