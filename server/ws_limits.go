package server

import "time"

// Limits of WebSockets that are no flags.
const (
	// maxUtterances is the number of utterances of one connection that are being spoken
	// or wait for it: a page that sends a long article by paragraphs has as many.
	maxUtterances = 64

	// maxMistakes is how many messages may be refused, without an utterance that
	// succeeds in between, before the connection is closed: a client that repeats
	// itself will not get better.
	maxMistakes = 20

	// eventBytes is how much more than PendingBytes of output may wait so that events
	// find room when audio does not: some hundred of them.
	eventBytes = 64 << 10

	// socketBuffer is the kernel's buffer for output, 1.3 s of audio at 24 kHz: what is
	// in there cannot be taken back by a cancellation.
	socketBuffer = 64 << 10
)

// socketTiming are the times of WebSockets that are no flags.
type socketTiming struct {
	// ping is how often the client is asked whether it is there. Proxies close
	// connections that are silent for 60 s.
	ping time.Duration

	// silence is how long a client may neither send nor take anything: three pings.
	silence time.Duration

	// text is how long an utterance that is being spoken waits for more text before
	// its text counts as complete: it holds a place of others. Language models that
	// call a tool are seldom silent for longer.
	text time.Duration

	// ahead is how much audio of an utterance may be ahead of what its listener has
	// heard, if the client tells. Networks seldom stall for longer, and what is computed
	// ahead of a listener who interrupts is for nothing.
	ahead time.Duration

	// answer is how long the client has to answer the close message that ends a session
	// in order: as long as it takes to hear what waits in the network.
	answer time.Duration

	// closing is how long it has if it is given up, and all that is written to it then.
	closing time.Duration
}

var defaultTiming = socketTiming{
	ping: 20 * time.Second, silence: 60 * time.Second, text: 30 * time.Second, ahead: 5 * time.Second,
	answer: 10 * time.Second, closing: time.Second,
}
