package batch

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/mynah-tts/mynah/synth"
)

// Identity is what of the program and the machine decides samples.
type Identity struct {
	Model     string // digest of the checkpoint
	Precision synth.Precision
	Level     string // instruction level
	Version   string // of the program
}

// recipe is all that decides the bytes of an item's file.
type recipe struct {
	Identity  Identity
	Text      string
	Voice     string
	Language  string
	Instruct  string
	Layout    synth.Layout
	Reference *synth.Reference
	Seed      int64
	MaxFrames int
	Segment   int
	Gap       int64 // ns
	Sampling  synth.Sampling
	RetryCut  int
	Speed     float64
	Trim      string // the rule, "" for none
	Loudness  string // the goal and the rule, "" for none
	Format    string
	Rate      int // Hz
}

// Rules of finishing; they change with what the code does.
const (
	trimRule     = "trim 1"
	loudnessRule = "bs1770 limiter 1"
)

// joinedRecipe is all that decides the bytes of a joined file.
type joinedRecipe struct {
	Chapters []string // digests
	Gap      int64    // ns
	Format   string
	Rate     int
}

func hash(v any) (string, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("batch: digest: %w", err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), nil
}
