package server

import "time"

// The defaults of Limits. Each has a flag of `mynah serve`.
const (
	// DefaultInputRunes is the most characters of one input: OpenAI's limit, which
	// clients count on. It also bounds instructions.
	DefaultInputRunes = 4096

	// DefaultBodyBytes is the largest request body, but for a recording in it. A batch of 32 inputs and as many
	// instructions of 4,096 characters, each escaped as a pair of surrogates, has
	// 3.1 MB.
	DefaultBodyBytes = 4 << 20

	// DefaultLive is the number of requests whose frames are computed together. With
	// more, frames of the full-size model come slower than they are heard on the
	// smallest machine that it is meant for.
	DefaultLive = 8

	// DefaultQueue is the number of requests that may wait for a place. Someone at its
	// end would wait for eight rounds of DefaultLive; later ones are better served
	// elsewhere.
	DefaultQueue = 64

	// DefaultAhead is the number of frames, 80 ms each, that a stream is computed ahead
	// of its client before it waits: as much as a page would buffer.
	DefaultAhead = 64

	// DefaultPendingBytes is the most output that waits in memory for one WebSocket:
	// 20 s of 16-bit samples at 24 kHz.
	DefaultPendingBytes = 1 << 20

	// DefaultBatchBytes is the most audio that all batches together hold in memory until
	// it leaves: 32 texts of 2 MiB, two minutes each as mp3.
	DefaultBatchBytes = 64 << 20

	// DefaultClipBytes is the largest recording that a voice is made of: half a minute of
	// WAV at 48 kHz, stereo, of 24 bits has 8.6 MB.
	DefaultClipBytes = 16 << 20

	// DefaultClipSeconds is the longest recording, the engine's own bound. Each request of
	// its voice is the slower for it.
	DefaultClipSeconds = 120

	// DefaultConnections is the number of open connections, and of requests with a body,
	// of which an HTTP/2 connection may have several. Each costs some ten kilobytes, and
	// its body while it arrives.
	DefaultConnections = 512

	// DefaultWebSockets is the number of those that may be WebSockets, which stay. As many
	// connections of the Wyoming protocol may be open beside them.
	DefaultWebSockets = 128

	// DefaultHeaderTimeout is how long a request's header may take to arrive.
	DefaultHeaderTimeout = 10 * time.Second

	// DefaultBodyTimeout is how long a request's body may take to arrive.
	DefaultBodyTimeout = 30 * time.Second

	// DefaultWriteTimeout is how long a client may take no bytes at all.
	DefaultWriteTimeout = 10 * time.Second

	// DefaultLagTimeout is how much longer than its audio lasts a client may keep us
	// waiting: one that reads slower than it hears holds a place of others. Real time
	// is never too slow.
	DefaultLagTimeout = 30 * time.Second

	// DefaultIdleTimeout is how long a connection may stay without a request, or a
	// WebSocket without a message.
	DefaultIdleTimeout = 3 * time.Minute

	// DefaultUtterances is the number of utterances of one WebSocket that are being
	// spoken or wait for it: a page that sends a long article by paragraphs has as many.
	DefaultUtterances = 64

	// DefaultPingInterval is how often a WebSocket's client is asked whether it is
	// there. Proxies close connections that are silent for 60 s.
	DefaultPingInterval = 20 * time.Second

	// DefaultSilenceTimeout is how long a WebSocket's client may neither send nor take
	// anything: three pings.
	DefaultSilenceTimeout = 60 * time.Second

	// DefaultTextTimeout is how long an utterance that is being spoken waits for more
	// text before its text counts as complete: it holds a place of others. Language
	// models that call a tool are seldom silent for longer.
	DefaultTextTimeout = 30 * time.Second

	// DefaultListenAhead is how much audio of an utterance may be ahead of what its
	// listener has heard, if the client tells. Networks seldom stall for longer, and what
	// is computed ahead of a listener who interrupts is for nothing.
	DefaultListenAhead = 5 * time.Second

	// DefaultDrainDelay is how long a server that is to end goes on answering as if
	// nothing were, but for /ready: as long as a load balancer needs to notice. None by
	// default, since most have none in front.
	DefaultDrainDelay = 0 * time.Second

	// DefaultDrainGrace is how long live requests may take to finish.
	DefaultDrainGrace = 30 * time.Second
)

// Limits that are no flags.
const (
	// BatchItems is the most inputs of one batch.
	BatchItems = 32

	// batchWorkers is the number of a batch's items that are spoken at once: half of
	// DefaultLive, so that a listener finds a place beside it.
	batchWorkers = 4

	// headerBytes bounds a request's header, as far as net/http can be told to.
	headerBytes = 16 << 10

	// connectionStreams is how many requests an HTTP/2 connection may have open: four times
	// as many as are spoken at once. Clients wait for a place, or open another connection.
	connectionStreams = 32

	// retryAfter is the wait that a refused client is told: about as long as a short
	// utterance takes.
	retryAfter = 2 * time.Second

	// abortGrace is how long handlers have to end once their requests were cancelled.
	abortGrace = 2 * time.Second

	// maxIDBytes bounds a request id that a client brings.
	maxIDBytes = 64
)

// Limits bound what clients can make the server hold or wait for. A zero takes the
// default, so a zero Limits is all defaults.
type Limits struct {
	InputRunes   int   // characters of an input and of instructions
	BodyBytes    int64 // of a request
	Live         int   // requests that are computed together; for the engine
	Queue        int   // requests that wait; -1 for none; for the engine
	Ahead        int   // frames that a stream is computed ahead; for the engine
	PendingBytes int64 // output that waits for one WebSocket
	BatchBytes   int64 // audio that all batches hold
	ClipBytes    int64 // of a recording, and of all those that the utterances of one WebSocket wait with
	ClipSeconds  int   // of it
	Connections  int
	WebSockets   int
	Utterances   int // of one WebSocket, spoken or waiting

	HeaderTimeout  time.Duration // for a header to arrive
	BodyTimeout    time.Duration // for a body to arrive
	WriteTimeout   time.Duration // without a byte taken
	LagTimeout     time.Duration // waited for a client beyond real time
	IdleTimeout    time.Duration // without a request or a message
	PingInterval   time.Duration // between pings of a WebSocket
	SilenceTimeout time.Duration // without a sign of a WebSocket's client
	TextTimeout    time.Duration // without text for an utterance that has begun
	ListenAhead    time.Duration // of audio beyond what a client says that it has heard
	DrainDelay     time.Duration // between saying so and refusing
	DrainGrace     time.Duration // for live requests to finish
}

// withDefaults fills in zeros and refuses what is below.
func (l Limits) withDefaults() (Limits, error) {
	for _, n := range []struct {
		name     string
		to       *int
		initial  int
		smallest int
	}{
		{"input characters", &l.InputRunes, DefaultInputRunes, 1},
		{"live requests", &l.Live, DefaultLive, 1},
		{"queued requests", &l.Queue, DefaultQueue, -1},
		{"frames ahead", &l.Ahead, DefaultAhead, 1},
		{"connections", &l.Connections, DefaultConnections, 1},
		{"WebSockets", &l.WebSockets, DefaultWebSockets, 1},
		{"utterances", &l.Utterances, DefaultUtterances, 1},
		{"clip seconds", &l.ClipSeconds, DefaultClipSeconds, 1},
	} {
		if err := fill(n.name, n.to, n.initial, n.smallest); err != nil {
			return l, err
		}
	}
	for _, n := range []struct {
		name    string
		to      *int64
		initial int64
	}{
		{"body bytes", &l.BodyBytes, DefaultBodyBytes},
		{"pending bytes", &l.PendingBytes, DefaultPendingBytes},
		{"batch bytes", &l.BatchBytes, DefaultBatchBytes},
		{"clip bytes", &l.ClipBytes, DefaultClipBytes},
	} {
		if err := fill(n.name, n.to, n.initial, 1); err != nil {
			return l, err
		}
	}
	for _, n := range []struct {
		name    string
		to      *time.Duration
		initial time.Duration
	}{
		{"header timeout", &l.HeaderTimeout, DefaultHeaderTimeout},
		{"body timeout", &l.BodyTimeout, DefaultBodyTimeout},
		{"write timeout", &l.WriteTimeout, DefaultWriteTimeout},
		{"lag timeout", &l.LagTimeout, DefaultLagTimeout},
		{"idle timeout", &l.IdleTimeout, DefaultIdleTimeout},
		{"ping interval", &l.PingInterval, DefaultPingInterval},
		{"silence timeout", &l.SilenceTimeout, DefaultSilenceTimeout},
		{"text timeout", &l.TextTimeout, DefaultTextTimeout},
		{"listen ahead", &l.ListenAhead, DefaultListenAhead},
		{"drain delay", &l.DrainDelay, DefaultDrainDelay},
		{"drain grace", &l.DrainGrace, DefaultDrainGrace},
	} {
		if err := fill(n.name, n.to, n.initial, 0); err != nil {
			return l, err
		}
	}
	return l, nil
}

func fill[T int | int64 | time.Duration](name string, to *T, initial, smallest T) error {
	if *to == 0 {
		*to = initial
	}
	if *to < smallest {
		return optionErrorf("%s is %v, allowed are %v and up, or 0 for %v", name, *to, smallest, initial)
	}
	return nil
}
