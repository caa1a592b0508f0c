package synth

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/mynah-tts/mynah/codec"
	"github.com/mynah-tts/mynah/internal/cpu"
	"github.com/mynah-tts/mynah/internal/nn"
	"github.com/mynah-tts/mynah/predictor"
)

// Precision says how the models hold and multiply their matrices. The zero value is
// the default for the checkpoint's size.
type Precision struct {
	Talker    string // f32, bf16, int4-a16 or int4-a8
	Predictor string // f32, int8 or int4
	Codec     string // f32, bf16 or int8
}

// Precisions that go by one name. The default is Float32Precision for checkpoints
// that are small enough to be quick as they are.
var (
	Float32Precision = Precision{Talker: "f32", Predictor: "f32", Codec: "f32"}
	DefaultPrecision = Precision{Talker: "int4-a8", Predictor: "int8", Codec: "f32"}
	FastPrecision    = Precision{Talker: "int4-a8", Predictor: "int4", Codec: "int8"}
)

// smallWeights is the size up to which a checkpoint's own precision is the default:
// it fits the caches of a processor and would gain nothing.
const smallWeights = 128 << 20 // bytes

// Names of precisions for each model, as flags and files have them.
var (
	TalkerPrecisions    = []string{"f32", "bf16", "int4-a16", "int4-a8"}
	PredictorPrecisions = []string{"f32", "int8", "int4"}
	CodecPrecisions     = codec.Precisions
)

// NamedPrecision returns the precision that f32, default or fast stands for; the
// default for the empty name is left to the checkpoint.
func NamedPrecision(name string) (Precision, error) {
	switch name {
	case "":
		return Precision{}, nil
	case "f32":
		return Float32Precision, nil
	case "default":
		return DefaultPrecision, nil
	case "fast":
		return FastPrecision, nil
	}
	return Precision{}, fmt.Errorf("precision is %q, allowed are f32, default and fast", name)
}

// fill completes a precision for weights of a size and checks its names.
func (p Precision) fill(weights int64) (Precision, error) {
	otherwise := DefaultPrecision
	if weights <= smallWeights {
		otherwise = Float32Precision
	}
	for _, f := range []struct {
		model   string
		to      *string
		value   string
		allowed []string
	}{
		{"talker", &p.Talker, otherwise.Talker, TalkerPrecisions},
		{"predictor", &p.Predictor, otherwise.Predictor, PredictorPrecisions},
		{"codec", &p.Codec, otherwise.Codec, CodecPrecisions},
	} {
		if *f.to == "" {
			*f.to = f.value
		}
		if !slices.Contains(f.allowed, *f.to) {
			return p, fmt.Errorf("%s precision is %q, allowed are %s", f.model, *f.to, strings.Join(f.allowed, ", "))
		}
	}
	return p, nil
}

// quantize packs the models' matrices as a precision says, unless they are packed.
func (m *Model) quantize(p Precision) error {
	if err := m.codec.Quantize(codec.Precision(p.Codec)); err != nil {
		return err
	}
	for _, models := range []struct {
		form string
		maps []*nn.Linear
	}{{nn.Precision(p.Talker).Form(), m.talker.Linears()}, {p.predictor().Form(), m.pred.Linears()}} {
		if models.form == "int4" && !models.maps[0].Packed() {
			threads, _ := cpu.Threads()
			return m.quantizeHearing(p, threads)
		}
	}
	if err := m.quantizeTalker(p, nil); err != nil {
		return err
	}
	return m.quantizePredictor(p, nil, nil)
}

func (m *Model) quantizeTalker(p Precision, c *nn.Calibration) error {
	if err := m.talker.Quantize(nn.Precision(p.Talker), c); err != nil {
		return fmt.Errorf("talker: %w", err)
	}
	return nil
}

func (m *Model) quantizePredictor(p Precision, wk *nn.Work, heard []predictor.Frame) error {
	if err := m.pred.Quantize(p.predictor(), wk, heard); err != nil {
		return fmt.Errorf("predictor: %w", err)
	}
	return nil
}

// predictor is the predictor's precision in nn's terms.
func (p Precision) predictor() nn.Precision {
	if p.Predictor == "int4" {
		return nn.Int4A8
	}
	return nn.Precision(p.Predictor)
}

// form is what the models are packed as, in a word for a file's name; "" if all are
// float32.
func (p Precision) form() string {
	talker, predictor := nn.Precision(p.Talker).Form(), p.predictor().Form()
	if talker == "" && predictor == "" && codec.Precision(p.Codec) == codec.F32 {
		return ""
	}
	return cmp.Or(talker, "float") + "-" + cmp.Or(predictor, "float") + "-" + p.Codec
}

// precision completes what was asked for by what the source is: by its size, or by what
// a packed file holds, which cannot be changed.
func (src *source) precision(p Precision) (Precision, error) {
	if src.packed == nil {
		return p.fill(src.main.Bytes() + src.speech.Bytes())
	}
	h := src.packed.Header
	held := Precision{Talker: h.Talker, Predictor: h.Predictor, Codec: h.Codec}
	p, err := Precision{cmp.Or(p.Talker, held.Talker), cmp.Or(p.Predictor, held.Predictor), cmp.Or(p.Codec, held.Codec)}.fill(0)
	switch {
	case err != nil:
		return p, err
	case nn.Precision(p.Talker).Form() != nn.Precision(held.Talker).Form():
		return p, fmt.Errorf("talker precision %s was asked for, the file holds %s", p.Talker, held.Talker)
	case p.predictor().Form() != held.predictor().Form():
		return p, fmt.Errorf("predictor precision %s was asked for, the file holds %s", p.Predictor, held.Predictor)
	case p.Codec != held.Codec:
		return p, fmt.Errorf("codec precision %s was asked for, the file holds %s", p.Codec, held.Codec)
	}
	return p, nil
}
