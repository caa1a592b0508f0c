package codec

import (
	"errors"

	"github.com/mynah-tts/mynah/internal/nn"
)

// The pieces in which the reference implementation decodes offline.
const (
	referenceChunk   = 300 // frames
	referenceContext = 25  // frames decoded again before each chunk but the first
)

// DecodeChunked decodes codes [n, Groups] to samples [n*Hop] as the reference implementation does offline: in chunks of 300 frames,
// each decoded afresh together with the 25 frames before it, whose samples are dropped. Since 25 frames are less than the
// transformer sees, there is an audible seam every 24 seconds. It exists to prove parity; Decode has no seams, and equals this
// for the first 300 frames. No frames are an error.
func (d *Decoder) DecodeChunked(wk *nn.Work, sc *Scratch, codes []int32) ([]float32, error) {
	groups, hop := d.Groups(), d.Hop()
	n := len(codes) / groups
	if n == 0 {
		return nil, errors.New("codec: no frames to decode")
	}
	s := d.NewState(sc.frames)
	samples := make([]float32, n*hop)
	dropped := make([]float32, referenceContext*hop)
	for from := 0; from < n; from += referenceChunk {
		to := min(from+referenceChunk, n)
		context := min(from, referenceContext)
		s.Reset()
		if err := d.Decode(wk, sc, s, dropped[:context*hop], codes[(from-context)*groups:from*groups]); err != nil {
			return nil, err
		}
		if err := d.Decode(wk, sc, s, samples[from*hop:to*hop], codes[from*groups:to*groups]); err != nil {
			return nil, err
		}
	}
	return samples, nil
}
