package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/mynah-tts/mynah/internal/plainjson"
)

// codesFile is a file of codes, as JSON. A reference file has codes under the same name, so
// that it can be decoded as well.
type codesFile struct {
	SampleRate int       `json:"sample_rate"` // Hz
	FrameRate  float64   `json:"frame_rate"`  // frames a second
	Samples    *int      `json:"samples"`     // of the sound; the last frame may go beyond it
	Codes      [][]int32 `json:"codes"`       // [frames][groups]
}

// maxCodesBytes bounds a file of codes: over an hour.
const maxCodesBytes = 64 << 20

// bytes is the file, with a line for each frame.
func (f *codesFile) bytes() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "{\"sample_rate\": %d, \"frame_rate\": %g, \"samples\": %d, \"codes\": [", f.SampleRate, f.FrameRate, *f.Samples)
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

// readCodes reads a file of codes. groups, rate and hop are the codec's.
func readCodes(name string, r io.Reader, groups, rate, hop int) (*codesFile, error) {
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
	case f.SampleRate != 0 && f.SampleRate != rate:
		return nil, usageErrorf("%s: sample_rate is %d, this codec's is %d", name, f.SampleRate, rate)
	case f.FrameRate != 0 && f.FrameRate != float64(rate)/float64(hop):
		return nil, usageErrorf("%s: frame_rate is %g, this codec's is %g", name, f.FrameRate, float64(rate)/float64(hop))
	}
	for i, frame := range f.Codes {
		if len(frame) != groups {
			return nil, usageErrorf("%s: frame %d has %d codes, this codec's have %d", name, i, len(frame), groups)
		}
	}
	most := len(f.Codes) * hop
	if f.Samples == nil {
		f.Samples = &most
	}
	if n := *f.Samples; n <= most-hop || n > most {
		return nil, usageErrorf("%s: samples is %d, %d frames have %d to %d", name, n, len(f.Codes), most-hop+1, most)
	}
	return f, nil
}
