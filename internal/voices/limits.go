package voices

import "time"

// DefaultMax is the most voices that are kept unless told otherwise, as vLLM-omni does:
// they have some 20 KB each.
const DefaultMax = 1000

// Bounds of a profile. They are those of what synth takes, and guard its reading.
const (
	maxFileBytes   = 1 << 20 // two minutes of codes as JSON, as synth.ReadReference takes
	maxNameRunes   = 64
	maxTextRunes   = 4096 // the transcript; an input of the API
	maxNoteRunes   = 1000 // description and consent
	maxWordRunes   = 64   // a language
	maxModelRunes  = 255  // a model's name, of which a path has no more
	maxVector      = 1 << 14
	maxFrames      = 1500 // two minutes
	maxGroups      = 64
	maxCode        = 1 << 16
	maxSeconds     = 3600
	digestHexChars = 64
)

const (
	// maxLoaded is how many references stay in memory. A request holds its own.
	maxLoaded = 64

	// lockWait is how long one process waits for another that changes the folder, and
	// lockPoll how often it looks. A change takes as long as the disk takes to sync.
	lockWait = 10 * time.Second
	lockPoll = 10 * time.Millisecond
)
