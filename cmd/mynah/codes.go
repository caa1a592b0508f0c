package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/mynah-tts/mynah/internal/plainjson"
	"github.com/mynah-tts/mynah/synth"
)

// codesFile is a file of codes, as JSON. A reference file has codes under the same name, so
// that it can be decoded as well.
type codesFile struct {
	SampleRate int       `json:"sample_rate"`   // Hz
	FrameRate  float64   `json:"frame_rate"`    // frames a second
	Codebook   int       `json:"codebook_size"` // codes are below it
	Samples    *int      `json:"samples"`       // of the sound; the last frame may go beyond it
	Codes      [][]int32 `json:"codes"`         // [frames][groups]
}

// codecForm is what a file of codes has of its codec. Codes of one form are noise in another.
type codecForm struct {
	groups, codebook int
	rate, hop        int // Hz, samples a frame
}

func formOf(c *synth.Codec) codecForm {
	return codecForm{groups: c.Groups(), codebook: c.Codes(), rate: c.SampleRate(), hop: c.FrameSize()}
}

func (c codecForm) frameRate() float64 { return float64(c.rate) / float64(c.hop) }

// maxCodesBytes bounds a file of codes: over an hour.
const maxCodesBytes = 64 << 20

// bytes is the file, with a line for each frame.
func (f *codesFile) bytes() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "{\"sample_rate\": %d, \"frame_rate\": %g, \"codebook_size\": %d, \"samples\": %d, \"codes\": [", f.SampleRate, f.FrameRate, f.Codebook, *f.Samples)
	for i, frame := range f.Codes {
		line, err := json.Marshal(frame)
		if err != nil {
			panic(err) // numbers are no error
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteByte('\n')
		b.Write(line)
	}
	b.WriteString("\n]}\n")
	return b.Bytes()
}

// isCodesFile reports whether a file has codes and nothing else, so that it may be written
// over: a reference file has more.
func isCodesFile(path string) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxCodesBytes+1))
	if err != nil || len(data) > maxCodesBytes {
		return false
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(data, &fields) != nil || fields["codes"] == nil {
		return false
	}
	for name := range fields {
		if !slices.Contains([]string{"sample_rate", "frame_rate", "codebook_size", "samples", "codes"}, name) {
			return false
		}
	}
	return true
}

// readCodes reads a file of codes for a codec.
func readCodes(name string, r io.Reader, c codecForm) (*codesFile, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxCodesBytes+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", name, cause(err))
	case len(data) > maxCodesBytes:
		return nil, usageErrorf("%s: over %d bytes, that is too much at once", name, maxCodesBytes)
	}
	f := &codesFile{}
	if err := plainjson.Decode(data, f); err != nil {
		return nil, usageErrorf("%s: %v", name, err)
	}
	switch {
	case len(f.Codes) == 0:
		return nil, usageErrorf("%s: has no codes; wanted {\"codes\": [[…], …]}", name)
	case f.SampleRate != 0 && f.SampleRate != c.rate:
		return nil, usageErrorf("%s: sample_rate is %d, this codec's is %d", name, f.SampleRate, c.rate)
	case f.FrameRate != 0 && f.FrameRate != c.frameRate():
		return nil, usageErrorf("%s: frame_rate is %g, this codec's is %g", name, f.FrameRate, c.frameRate())
	case f.Codebook != 0 && f.Codebook != c.codebook:
		return nil, usageErrorf("%s: codebook_size is %d, this codec's is %d: --model names the codec that made the codes", name, f.Codebook, c.codebook)
	}
	for i, frame := range f.Codes {
		if len(frame) != c.groups {
			return nil, usageErrorf("%s: frame %d has %d codes, this codec's have %d: --model names the codec that made the codes", name, i, len(frame), c.groups)
		}
	}
	most := len(f.Codes) * c.hop
	if f.Samples == nil {
		f.Samples = &most
	}
	if n := *f.Samples; n <= most-c.hop || n > most {
		return nil, usageErrorf("%s: samples is %d, %d frames have %d to %d", name, n, len(f.Codes), most-c.hop+1, most)
	}
	return f, nil
}
