package packed

import (
	"fmt"
	"strconv"
	"strings"
)

// FormatVersion is that of this package: names of tensors and metadata.
const FormatVersion = 2

// Kinds of files.
const (
	WholeModel   = "model"
	MatricesOnly = "matrices"
)

// Header is what a packed file says of itself.
type Header struct {
	Holds   string // WholeModel or MatricesOnly
	Source  string // digest of the checkpoint that was packed
	Packing int    // version of the packing itself
	Group   int    // inputs that share a scale, in 4-bit matrices

	Talker, Predictor, Codec string // precisions

	TalkerError, PredictorError Error

	Parity Parity
}

// Error is what packing changed: the squared error of the packed matrices relative to
// the squared weights, and what it would be on grids from minimum to maximum. Both are
// 0 where nothing is packed or nothing was measured.
type Error struct{ Stored, Plain float64 }

// Parity is how far what a packed model answers is from float32 on the same inputs, in a
// short run. All is 0 if Frames is: nothing was measured.
type Parity struct {
	Frames                  int
	Code0Top1, ResidualTop1 float64 // share of choices with the same likeliest code
	Code0KL, ResidualKL     float64 // nats; the residual codes' behind the same hidden state
	CodecSNR                float64 // dB; infinite if all samples are equal
}

// Keys of the metadata.
const (
	keyFormat   = "mynah.packed"
	keyChecksum = "mynah.checksum"
	keyRest     = "mynah.checksum_rest"
)

// field is one entry of the metadata.
type field struct {
	key  string
	text *string
	int  *int
	real *float64
}

func (h *Header) fields() []field {
	return []field{
		{key: "mynah.holds", text: &h.Holds}, {key: "mynah.source", text: &h.Source},
		{key: "mynah.packing", int: &h.Packing}, {key: "mynah.group", int: &h.Group},
		{key: "mynah.talker", text: &h.Talker}, {key: "mynah.predictor", text: &h.Predictor}, {key: "mynah.codec", text: &h.Codec},
		{key: "mynah.talker_error", real: &h.TalkerError.Stored}, {key: "mynah.talker_error_plain", real: &h.TalkerError.Plain},
		{key: "mynah.parity_frames", int: &h.Parity.Frames},
		{key: "mynah.parity_code0_top1", real: &h.Parity.Code0Top1}, {key: "mynah.parity_code0_kl", real: &h.Parity.Code0KL},
		{key: "mynah.parity_residual_top1", real: &h.Parity.ResidualTop1}, {key: "mynah.parity_residual_kl", real: &h.Parity.ResidualKL},
		{key: "mynah.parity_codec_snr_db", real: &h.Parity.CodecSNR},
		{key: "mynah.predictor_error", real: &h.PredictorError.Stored}, {key: "mynah.predictor_error_plain", real: &h.PredictorError.Plain},
	}
}

// metadata returns the header as a file holds it, without the checksum.
func (h Header) metadata() map[string]string {
	meta := map[string]string{keyFormat: strconv.Itoa(FormatVersion)}
	for _, f := range h.fields() {
		switch {
		case f.text != nil:
			meta[f.key] = *f.text
		case f.int != nil:
			meta[f.key] = strconv.Itoa(*f.int)
		default:
			meta[f.key] = strconv.FormatFloat(*f.real, 'g', 6, 64)
		}
	}
	return meta
}

// parse reads a header from metadata that has its format version.
func (h *Header) parse(meta map[string]string) error {
	for _, f := range h.fields() {
		value, ok := meta[f.key]
		if !ok {
			return fmt.Errorf("%s is missing in its metadata", f.key)
		}
		var err error
		switch {
		case f.text != nil:
			*f.text = value
		case f.int != nil:
			*f.int, err = strconv.Atoi(value)
		default:
			*f.real, err = strconv.ParseFloat(value, 64)
		}
		if err != nil {
			return fmt.Errorf("%s is %q in its metadata, wanted a number", f.key, value)
		}
	}
	if h.Holds != WholeModel && h.Holds != MatricesOnly {
		return fmt.Errorf("mynah.holds is %q in its metadata, wanted %s", h.Holds, strings.Join([]string{WholeModel, MatricesOnly}, " or "))
	}
	return nil
}
