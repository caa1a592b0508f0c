package audio

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	goaudio "github.com/go-audio/audio"
	"github.com/go-audio/wav"
)

// Clip is sound that was read.
type Clip struct {
	Rate     int       // samples a second
	Channels int       // at least 1
	Samples  []float32 // [frames, channels]; integer formats give -1..1, float ones may go beyond
}

// Frames returns the number of samples of one channel.
func (c *Clip) Frames() int { return len(c.Samples) / c.Channels }

// Seconds returns the length.
func (c *Clip) Seconds() float64 { return float64(c.Frames()) / float64(c.Rate) }

// LimitError says that a file is larger than the caller allows.
type LimitError struct {
	Unit    string // "bytes" or "seconds"
	Found   float64
	Allowed float64
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("audio: wav: %.10g %s or more, allowed is at most %.10g", e.Found, e.Unit, e.Allowed)
}

// ReadWAV reads a WAV file: 8, 16, 24 or 32-bit PCM or 32 or 64-bit float, plain or
// extensible, of any rate, with its chunks in any order. Where the header lies about
// the length of the samples, the bytes that are there count; memory is taken for
// those alone. A part of a frame at the end is dropped.
//
// Errors are a *FormatError (not a file that can be read, or one without samples), a
// *LimitError, a *SampleError (NaN or infinite; the index counts the samples of all
// channels), or wrap an error of r.
func ReadWAV(r io.Reader, limits Limits) (*Clip, error) {
	// go-audio counts the bytes of a file in 32 bits.
	most := min(limits.Bytes, maxWAVData)
	file, err := io.ReadAll(io.LimitReader(r, max(0, most)+1))
	if err != nil {
		return nil, fmt.Errorf("audio: wav: %w", err)
	}
	if int64(len(file)) > most {
		return nil, &LimitError{"bytes", float64(len(file)), float64(most)}
	}
	header, data, _, err := findChunks(file)
	if err != nil {
		return nil, err
	}
	format, err := parseFormat(header)
	if err != nil {
		return nil, err
	}
	frame := format.channels * format.bits / 8
	data = data[:len(data)/frame*frame]
	if len(data) == 0 {
		return nil, badWAV("no samples")
	}
	if s := float64(len(data)/frame) / float64(format.rate); !(s <= limits.Seconds) {
		return nil, &LimitError{"seconds", s, limits.Seconds}
	}
	clip := &Clip{Rate: format.rate, Channels: format.channels, Samples: make([]float32, len(data)/(format.bits/8))}
	if err := decode(clip.Samples, format, data); err != nil {
		return nil, err
	}
	if i := firstNonFinite(clip.Samples); i >= 0 {
		return nil, &SampleError{int64(i), clip.Samples[i]}
	}
	return clip, nil
}

// decode converts the bytes of whole frames. go-audio/wav does it for every format
// that it knows, but not from the file itself. Its reader allocates what the size of
// the fmt chunk says (up to 4 GiB), knows no sub-format and takes it for PCM, reads
// 8-bit data with an odd size one sample too far, and has no answer to sizes that are
// unknown or lie. So it is given a file that has none of this: a plain header before
// the same bytes. It takes the bits of a float for an integer, which loses nothing;
// 64-bit floats it does not know at all.
func decode(dst []float32, format wavFormat, data []byte) error {
	if format.bits == 64 {
		for i := range dst {
			dst[i] = float32(math.Float64frombits(binary.LittleEndian.Uint64(data[8*i:])))
		}
		return nil
	}
	decoder := wav.NewDecoder(plainWAV(format, data))
	block := goaudio.IntBuffer{Data: make([]int, min(len(dst), 1<<13))}
	for len(dst) > 0 {
		block.Data = block.Data[:min(len(dst), cap(block.Data))]
		n, err := decoder.PCMBuffer(&block)
		if err != nil {
			return fmt.Errorf("audio: wav: %w", err)
		}
		if n == 0 {
			return fmt.Errorf("audio: wav: %d samples before the end: %w", len(dst), io.ErrUnexpectedEOF)
		}
		convert(dst[:n], block.Data, format)
		dst = dst[n:]
	}
	return nil
}

// convert scales integers to -1..1, the most negative one to -1.
func convert(dst []float32, src []int, format wavFormat) {
	if format.float {
		for i := range dst {
			dst[i] = math.Float32frombits(uint32(src[i]))
		}
		return
	}
	zero := 0
	if format.bits == 8 {
		zero = 128 // 8-bit samples have no sign
	}
	scale := 1 / float64(int64(1)<<(format.bits-1))
	for i := range dst {
		dst[i] = float32(float64(src[i]-zero) * scale)
	}
}

// plainWAV is a PCM file of the same samples with the shortest header.
func plainWAV(format wavFormat, data []byte) io.ReadSeeker {
	h := wavHeader(format.rate)
	le := binary.LittleEndian
	frame := format.channels * format.bits / 8
	le.PutUint16(h[22:], uint16(format.channels))
	le.PutUint32(h[28:], uint32(format.rate*frame))
	le.PutUint16(h[32:], uint16(frame))
	le.PutUint16(h[34:], uint16(format.bits))
	le.PutUint32(h[40:], uint32(len(data)))
	return forward{io.MultiReader(bytes.NewReader(h), bytes.NewReader(data))}
}

// forward is a reader that go-audio/wav accepts. It seeks only in files whose chunks
// are out of order.
type forward struct{ io.Reader }

func (forward) Seek(int64, int) (int64, error) { return 0, errors.ErrUnsupported }
