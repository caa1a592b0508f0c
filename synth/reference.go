package synth

import (
	"fmt"
	"io"
	"math"
	"os"

	"github.com/mynah-tts/mynah/internal/plainjson"
	"github.com/mynah-tts/mynah/internal/text"
)

// Reference is a voice to imitate, for Base checkpoints. With codes and transcript
// the reference's own speech stands in the prompt (in-context cloning); the vector
// alone gives the timbre only.
type Reference struct {
	XVector []float32 `json:"x_vector"`        // [talker width], from the speaker encoder
	Codes   [][]int32 `json:"codes,omitempty"` // [frames][groups], from the codec encoder
	Text    string    `json:"text,omitempty"`  // what the codes say
}

const (
	// maxReferenceBytes bounds a reference file: two minutes of codes as JSON.
	maxReferenceBytes = 1 << 20
	// maxReferenceFrames bounds the codes: two minutes. Longer references make
	// every request slow and speak no better.
	maxReferenceFrames = 1500
	// referenceFrames is how many frames the codec takes in one pass of a reference.
	referenceFrames = 8
	// hearFrames is how many of a reference it hears before the engine looks around.
	hearFrames = 24
)

// ReadReference reads a reference from a JSON file: x_vector, and codes with text.
func ReadReference(path string) (*Reference, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reference %s: %w", path, cause(err))
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxReferenceBytes+1))
	if err != nil {
		return nil, fmt.Errorf("reference %s: %w", path, cause(err))
	}
	if len(data) > maxReferenceBytes {
		return nil, fmt.Errorf("reference %s: over %d bytes", path, maxReferenceBytes)
	}
	var r Reference
	if err := plainjson.Decode(data, &r); err != nil {
		return nil, fmt.Errorf("reference %s: %w", path, err)
	}
	return &r, nil
}

// CheckReference tells whether the checkpoint takes a reference, as requests are told. The
// error is a *RequestError.
func (m *Model) CheckReference(r *Reference) error {
	_, err := m.flatten(r)
	return err
}

// flatten checks a reference against the model and returns its codes as one slice,
// nil when it has none.
func (m *Model) flatten(r *Reference) ([]int32, error) {
	const param = "reference"
	if len(r.XVector) != m.cfg.Talker.Hidden {
		return nil, requestErrorf(param, "x_vector has %d values, this checkpoint's have %d", len(r.XVector), m.cfg.Talker.Hidden)
	}
	for i, x := range r.XVector {
		if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
			return nil, requestErrorf(param, "x_vector[%d] is %g", i, x)
		}
	}
	switch {
	case len(r.Codes) == 0 && r.Text == "":
		return nil, nil
	case len(r.Codes) == 0:
		return nil, requestErrorf(param, "a transcript needs the codes that it belongs to")
	case !text.Speakable(r.Text):
		return nil, requestErrorf(param, "%d frames of codes need their transcript, %q says nothing", len(r.Codes), abridged(r.Text))
	case len(r.Codes) > maxReferenceFrames:
		return nil, requestErrorf(param, "%d frames of codes, allowed are %d", len(r.Codes), maxReferenceFrames)
	}
	groups := m.cfg.Talker.Groups
	codes := make([]int32, 0, len(r.Codes)*groups)
	for f, frame := range r.Codes {
		if len(frame) != groups {
			return nil, requestErrorf(param, "frame %d has %d codes, wanted %d", f, len(frame), groups)
		}
		for g, code := range frame {
			if limit := m.codes(g); code < 0 || int(code) >= limit {
				return nil, requestErrorf(param, "frame %d: code %d is %d, allowed are 0 to %d", f, g, code, limit-1)
			}
		}
		codes = append(codes, frame...)
	}
	return codes, nil
}

// codes returns how many codes a group has.
func (m *Model) codes(group int) int {
	if group == 0 {
		return m.cfg.Talker.Codes()
	}
	return m.cfg.Talker.Predictor.Vocab
}
