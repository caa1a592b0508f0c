package server

import (
	"bytes"
	lists "container/list"
	"context"
	"crypto/sha256"
	"fmt"
	"sync"
	"time"

	"github.com/mynah-tts/mynah/internal/audio"
	"github.com/mynah-tts/mynah/synth"
)

// Bounds of the references that are kept of clips that requests brought along.
const (
	// clipEntries is how many there are: as many speakers as talk to a server within
	// minutes, each sending the same clip with each sentence.
	clipEntries = 64

	// clipMemory is how many bytes they may take: all of them of a minute and more.
	clipMemory = 16 << 20

	// clipDecoders is how many clips are decoded at once: one, as decoding takes time from
	// the engine's threads. A minute of MP3 takes a second of a core and some megabytes.
	clipDecoders = 1

	// uploadPlaces is how many uploads are in memory at once, each of some twice the
	// largest recording; as many requests whose recordings make them larger than
	// --max-body may be beside them.
	uploadPlaces = 4
)

// clipKey identifies a clip with its transcript.
type clipKey [sha256.Size]byte

func keyOfClip(data []byte, text string) clipKey {
	sound := sha256.Sum256(data)
	return sha256.Sum256(append(sound[:], text...))
}

// heardClip is what came of a clip.
type heardClip struct {
	ref      *synth.Reference
	warnings []string
	seconds  float64 // of the clip
}

// bytes is about what it takes.
func (h *heardClip) bytes() int64 {
	const header, values = 24, 4 // of a slice, of a value
	n := int64(len(h.ref.Text)) + values*int64(len(h.ref.XVector))
	for _, frame := range h.ref.Codes {
		n += header + values*int64(len(frame))
	}
	return n
}

// clips hears clips: each once, however many requests bring it at the same time or one
// after the other.
type clips struct {
	metrics *metrics
	seconds float64         // of a clip, at most
	stop    context.Context // ends all hearing
	decode  chan struct{}   // places of decoders
	uploads chan struct{}   // places of uploads
	large   chan struct{}   // places of large requests

	mu       sync.Mutex
	listener Listener // nil until there is one
	flights  map[clipKey]*flight
	entries  map[clipKey]*lists.Element // of *clipEntry
	order    *lists.List                // the last used in front
	bytes    int64
}

type clipEntry struct {
	key clipKey
	heardClip
}

// flight is a clip that is being heard. Whoever leaves ends it for itself alone; the
// last that leaves ends it.
type flight struct {
	waiting int
	cancel  context.CancelFunc
	done    chan struct{}

	result heardClip // once done is closed
	err    error
}

func newClips(s *Server) *clips {
	return &clips{
		metrics: s.metrics, seconds: float64(s.opts.Limits.ClipSeconds), stop: s.stop, decode: make(chan struct{}, clipDecoders), uploads: make(chan struct{}, uploadPlaces), large: make(chan struct{}, uploadPlaces),
		flights: map[clipKey]*flight{}, entries: map[clipKey]*lists.Element{}, order: lists.New(),
	}
}

// use gives the clips to a listener.
func (c *clips) use(l Listener) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.listener = l
}

// listening is the listener, nil if there is none.
func (c *clips) listening() Listener {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.listener
}

// hear makes a reference of the bytes of a file. An error is the clip's, or tells why
// ctx has ended.
func (c *clips) hear(ctx context.Context, data []byte, text string) (heardClip, error) {
	key := keyOfClip(data, text)
	c.mu.Lock()
	if e := c.entries[key]; e != nil {
		c.order.MoveToFront(e)
		defer c.mu.Unlock()
		c.metrics.clipHits.Inc()
		return e.Value.(*clipEntry).heardClip, nil
	}
	f := c.flights[key]
	if f == nil {
		f = c.begin(key, data, text)
	} else {
		c.metrics.clipHits.Inc()
	}
	f.waiting++
	c.mu.Unlock()
	select {
	case <-f.done:
		if f.err != nil {
			return heardClip{}, f.err
		}
		return f.result, nil
	case <-ctx.Done():
		c.leave(key, f)
		return heardClip{}, why(ctx, ctx.Err())
	}
}

// begin has a clip heard. mu is held.
func (c *clips) begin(key clipKey, data []byte, text string) *flight {
	ctx, cancel := context.WithCancel(c.stop)
	f := &flight{cancel: cancel, done: make(chan struct{})}
	c.flights[key] = f
	listener := c.listener
	go func() {
		defer cancel()
		f.result, f.err = c.listen(ctx, listener, data, text)
		c.land(key, f)
	}()
	return f
}

// leave is for those who wait no longer.
func (c *clips) leave(key clipKey, f *flight) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f.waiting--; f.waiting > 0 {
		return
	}
	f.cancel()
	if c.flights[key] == f { // nobody is to join what was cancelled
		delete(c.flights, key)
	}
}

// land keeps what came of a clip, if something did, and tells all who wait.
func (c *clips) land(key clipKey, f *flight) {
	c.mu.Lock()
	var dropped []*synth.Reference
	if c.flights[key] == f {
		delete(c.flights, key)
		if f.err == nil {
			dropped = c.keep(key, f.result)
		}
	}
	listener := c.listener
	c.mu.Unlock()
	close(f.done)
	for _, ref := range dropped {
		listener.Forget(ref)
	}
}

// keep puts a reference in front, and takes those off the end for which there is no room.
// mu is held.
func (c *clips) keep(key clipKey, h heardClip) (dropped []*synth.Reference) {
	c.entries[key] = c.order.PushFront(&clipEntry{key, h})
	c.bytes += h.bytes()
	for len(c.entries) > clipEntries || c.bytes > clipMemory && len(c.entries) > 1 {
		last := c.order.Remove(c.order.Back()).(*clipEntry)
		delete(c.entries, last.key)
		c.bytes -= last.bytes()
		dropped = append(dropped, last.ref)
	}
	return dropped
}

// listen decodes a clip and has it heard.
func (c *clips) listen(ctx context.Context, l Listener, data []byte, text string) (h heardClip, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic while a clip was heard: %v", p)
		}
	}()
	samples, info, err := c.read(ctx, data)
	if err != nil {
		return h, err
	}
	began := time.Now()
	h.seconds = info.Seconds
	h.ref, h.warnings, err = l.Listen(ctx, synth.Clip{Samples: samples, Rate: audio.ClipRate, Text: text})
	if err != nil {
		return h, why(ctx, err)
	}
	if info.Damaged {
		h.warnings = append(h.warnings, fmt.Sprintf("the file is damaged: parts of it are missing, %.1f s were heard", info.Seconds))
	}
	if info.Truncated {
		h.warnings = append(h.warnings, fmt.Sprintf("the file ends in the middle: %.1f s of it were heard", info.Seconds))
	}
	c.metrics.clipsHeard.Inc()
	c.metrics.clipSeconds.Observe(time.Since(began).Seconds())
	return h, nil
}

// read decodes a clip, in its turn.
func (c *clips) read(ctx context.Context, data []byte) (samples []float32, info audio.ClipInfo, err error) {
	select {
	case c.decode <- struct{}{}:
		defer func() { <-c.decode }()
	case <-ctx.Done():
		return nil, info, why(ctx, ctx.Err())
	}
	samples, info, err = audio.ReadClip(bytes.NewReader(data), audio.Limits{Bytes: int64(len(data)), Seconds: c.seconds})
	if err != nil {
		return nil, info, clipError(err)
	}
	return samples, info, nil
}
