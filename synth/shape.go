package synth

import (
	"fmt"
	"math"
	"time"
)

// shape is what a checkpoint asks to be done to the codec's samples, with keys of ours in
// its generation_config.json: gain_db, for a codec that is quieter or louder than speech is
// expected to be, and fade_in_ms, for one that begins with a click, since before its first
// frame it has heard nothing, and not silence. The zero shape changes nothing.
type shape struct {
	gain   float32 // a factor; 0 is 1
	fadeIn time.Duration
}

// Bounds of the keys.
const (
	maxGainDB   = 24
	maxFadeInMS = 80 // a frame
)

func readShape(gainDB, fadeInMS float64) (shape, error) {
	if !(math.Abs(gainDB) <= maxGainDB) {
		return shape{}, fmt.Errorf("generation_config.json: gain_db is %g, allowed are %d to %d", gainDB, -maxGainDB, maxGainDB)
	}
	if !(fadeInMS >= 0 && fadeInMS <= maxFadeInMS) {
		return shape{}, fmt.Errorf("generation_config.json: fade_in_ms is %g, allowed are 0 to %d", fadeInMS, maxFadeInMS)
	}
	s := shape{fadeIn: time.Duration(fadeInMS * float64(time.Millisecond))}
	if gainDB != 0 {
		s.gain = float32(math.Pow(10, gainDB/20))
	}
	return s, nil
}

// apply shapes a frame's samples in place, at so many a second: they stay from -1 to 1. A
// segment's first frame is faded in.
func (s shape) apply(pcm []float32, rate int, first bool) {
	if s.gain != 0 {
		for i := range pcm {
			pcm[i] = min(max(pcm[i]*s.gain, -1), 1)
		}
	}
	if !first {
		return
	}
	n := min(int(math.Round(s.fadeIn.Seconds()*float64(rate))), len(pcm))
	for i := range n {
		pcm[i] *= float32(i) / float32(n)
	}
}
