package server

import "time"

// Limits of WebSockets that are no flags.
const (
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

// Times of WebSockets that are no flags.
const (
	// answerTimeout is how long the client has to answer the close message that ends a
	// session in order: as long as it takes to hear what waits in the network.
	answerTimeout = 10 * time.Second

	// closingTimeout is how long it has if it is given up, and all that is written to it then.
	closingTimeout = time.Second
)
