package hub

import "time"

// DefaultEndpoint is the protocol's default: the hub that is asked unless HF_ENDPOINT names
// another.
const DefaultEndpoint = "https://huggingface.co"

// What a server may name. A checkpoint stays far below.
const (
	maxPage     = 8 << 20 // bytes of one JSON answer
	maxPages    = 500     // of one listing
	maxFiles    = 50_000  // of one repository
	maxChosen   = 2_000   // of these, that are fetched
	maxFileSize = 1 << 40 // bytes
	maxPath     = 512     // bytes of a file's path
	maxDepth    = 8       // folders deep
	maxSegment  = 200     // bytes of one name in a path: file systems end at 255, and a suffix follows
	maxHops     = 8       // redirects of one request
)

// What is read from the cache.
const (
	maxConfig   = 1 << 20  // bytes of a config.json
	maxIndex    = 16 << 20 // bytes of an index of shards
	maxToken    = 4 << 10  // bytes of a token
	maxRef      = 1 << 10  // bytes of a ref
	maxManifest = 8 << 20  // bytes of a manifest; a line is under 1 KiB
	maxJournal  = 16 << 20 // bytes of a journal; a line is under 50, and stands for journalGrain
)

// How a file is fetched.
const (
	// Connections is how many requests run at once unless Options says otherwise: enough to
	// fill a line where one connection does not, few enough for a hub's limits.
	Connections = 4

	// MaxConnections bounds Options.Connections.
	MaxConnections = 16

	partSize     = 32 << 20  // bytes that one request asks for: a cut costs nothing, but a redirect is resolved for each
	journalGrain = 1 << 20   // bytes between two lines of the journal, which is what a kill costs
	bufferSize   = 256 << 10 // bytes of one read
)

// How faults are met.
const (
	// Stall is how long nothing may arrive before a request is given up and tried again.
	Stall = 30 * time.Second

	maxAttempts   = 8                      // in a row without a byte
	firstBackoff  = 500 * time.Millisecond // doubled each time, with jitter of a half to the whole
	longestWait   = 30 * time.Second
	maxRetryAfter = 5 * time.Minute // longer ones are the user's to wait for
	lockPoll      = 200 * time.Millisecond
)
