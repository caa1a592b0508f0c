package codec

import (
	"errors"
	"fmt"
)

// CodeError says that a code is not an index of its codebook. Nothing was decoded, and the stream may go on with other codes.
type CodeError struct {
	Frame int   // counted from the start of the stream
	Group int   // codebook
	Code  int32 // what was given
	Bound int   // codes are 0 to Bound-1
}

func (e *CodeError) Error() string {
	return fmt.Sprintf("codec: frame %d: group %d: code %d, allowed are 0 to %d", e.Frame, e.Group, e.Code, e.Bound-1)
}

// NonFiniteError says that a stage produced NaN or infinity, which points to damaged weights. The stream cannot go on: its State
// may hold such values too.
type NonFiniteError struct {
	Stage string // "quantizer", "pre_transformer", "upsample_N", "decoder_N" or "output"
	Frame int    // first frame concerned, counted from the start of the stream
}

func (e *NonFiniteError) Error() string {
	return fmt.Sprintf("codec: stage %s: NaN or infinity in frame %d", e.Stage, e.Frame)
}

// ErrBroken is returned for a State that was used after a NonFiniteError and before Reset.
var ErrBroken = errors.New("codec: the stream ended with an error before, it must be reset")
