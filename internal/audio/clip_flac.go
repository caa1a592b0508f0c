package audio

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log"
	"strings"
	"sync"

	"github.com/mewkiz/flac"
	"github.com/mewkiz/flac/frame"
)

// maxFLACBits bounds the bits of a sample: the library knows no frames of 32 bits.
const maxFLACBits = 24

// decodeClipFLAC decodes a FLAC file, frame after frame. What its header says of the length takes no memory.
func decodeClipFLAC(m *mixer, file []byte) (flaws, error) {
	quiet()
	stream, err := flac.New(bytes.NewReader(file))
	if err != nil {
		return flaws{}, cutOff(err)
	}
	info := stream.Info
	bits := int(info.BitsPerSample)
	if bits < 4 || bits > maxFLACBits {
		return flaws{}, badClip(ClipUnsupported, m.format, "flac: samples of %d bits, allowed is 4 to %d", bits, maxFLACBits)
	}
	if err := m.begin(int(info.SampleRate), int(info.NChannels)); err != nil {
		return flaws{}, err
	}
	scale := 1 / float64(int64(1)<<(bits-1))
	var block []float32
	for {
		f, err := nextFrame(stream, bits)
		switch {
		case err != nil && info.NSamples > 0 && uint64(len(m.mono)) >= info.NSamples:
			return flaws{}, nil // all is there: what follows is no sound, such as a tag
		case errors.Is(err, io.EOF):
			return flaws{truncated: info.NSamples > uint64(len(m.mono))}, nil
		case errors.Is(err, io.ErrUnexpectedEOF) && len(m.mono) > 0:
			return flaws{truncated: true}, nil
		case err != nil:
			return flaws{}, cutOff(err)
		}
		if block, err = interleave(block, f, m, bits, scale); err != nil {
			return flaws{}, err
		}
		if err := m.add(block); err != nil {
			return flaws{}, err
		}
	}
}

// nextFrame reads a frame. One that refers to the beginning of the file for its bits is read with those, which the library leaves
// out.
func nextFrame(stream *flac.Stream, bits int) (*frame.Frame, error) {
	f, err := stream.Next()
	if err != nil {
		return nil, err
	}
	if f.BitsPerSample == 0 {
		f.BitsPerSample = uint8(bits)
	}
	// Behind the header there is no good end any more.
	if err := f.Parse(); errors.Is(err, io.EOF) {
		return nil, io.ErrUnexpectedEOF
	} else if err != nil {
		return nil, err
	}
	return f, nil
}

// interleave returns the samples of a frame as [samples, channels].
func interleave(block []float32, f *frame.Frame, m *mixer, bits int, scale float64) ([]float32, error) {
	rate := int(f.SampleRate)
	if len(f.Subframes) != m.channels || int(f.BitsPerSample) != bits || rate != 0 && rate != m.rate {
		return nil, badClip(ClipDamaged, m.format, "flac: a frame of %d channels, %d bits and %d Hz among others of %d channels, %d bits and %d Hz",
			len(f.Subframes), f.BitsPerSample, rate, m.channels, bits, m.rate)
	}
	n := len(f.Subframes[0].Samples)
	for _, sub := range f.Subframes {
		if len(sub.Samples) != n {
			return nil, badClip(ClipDamaged, m.format, "flac: channels of %d and %d samples in a frame", n, len(sub.Samples))
		}
	}
	block = append(block[:0], make([]float32, n*m.channels)...)
	for c, sub := range f.Subframes {
		for i, v := range sub.Samples {
			block[i*m.channels+c] = float32(float64(v) * scale)
		}
	}
	return block, nil
}

// cutOff words the end of a file that comes too early.
func cutOff(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return badClip(ClipDamaged, "flac", "flac: the file is cut off before its first sample")
	}
	return fmt.Errorf("%s", strings.TrimPrefix(err.Error(), "frame.Frame."))
}

// quiet keeps the FLAC library's requests for test files, one a frame at some rates, ours among them, out of the program's log. It
// offers no other way than the logger that the whole process shares, so all other lines pass.
func quiet() {
	quieting.Lock()
	defer quieting.Unlock()
	if _, ok := log.Writer().(flacFilter); !ok {
		log.SetOutput(flacFilter{log.Writer()})
	}
}

var quieting sync.Mutex

type flacFilter struct{ io.Writer }

func (f flacFilter) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte("frame.Frame.parseHeader: The flac library test cases")) {
		return len(line), nil
	}
	return f.Writer.Write(line)
}
