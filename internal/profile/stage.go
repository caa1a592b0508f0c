package profile

// Stage is a part of the work on an utterance.
type Stage uint8

// The stages in their order. The first four come before the frames; those from
// Input to Codec, and a little between them, make up a Frame. Encode is the reader's.
const (
	Queue     Stage = iota // the request waits for a place among those that are computed
	Prompt                 // the prompt's rows are assembled, its text projected
	Prefill                // the prompt goes through the talker
	Reference              // the codec hears the codes of a reference
	Input                  // the talker's next row: the last frame's embeddings and the next text token
	Talker                 // the talker's step, logits included
	FirstPick              // the sampler chooses code 0
	Residual               // residual steps of the predictor; in the table all of a frame
	Picks                  // the sampler chooses the residual codes; in the table all of a frame
	Codec                  // codes to samples
	Frame                  // all of a frame, or of one for each of several streams
	Encode                 // samples to the bytes that leave, while the next frame is computed
	stages
)

var stageNames = [stages]string{
	"queue", "prompt", "prefill", "reference", "input", "talker", "sampler, code 0", "predictor", "sampler, residual", "codec", "frame", "encode",
}

func (s Stage) String() string { return stageNames[s] }

// inFrame tells whether a stage is a part of a frame.
func (s Stage) inFrame() bool { return s >= Input && s < Frame }
