package audio

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

var le = binary.LittleEndian

var roomy = Limits{Bytes: 1 << 20, Seconds: 60}

// chunk is an id, a size and a body with a pad byte after an odd one.
func chunk(id string, body []byte) []byte {
	return sizedChunk(id, uint32(len(body)), append(slices.Clone(body), make([]byte, len(body)%2)...))
}

// sizedChunk says any size.
func sizedChunk(id string, size uint32, body []byte) []byte {
	return append(le.AppendUint32([]byte(id), size), body...)
}

// riff puts chunks into a file. Its size field is that of a stream.
func riff(chunks ...[]byte) []byte {
	return append([]byte("RIFF\xff\xff\xff\xffWAVE"), bytes.Join(chunks, nil)...)
}

// fmtBody is the first 16 bytes of a fmt chunk.
func fmtBody(tag, channels, rate, align, bits int) []byte {
	b := le.AppendUint16(nil, uint16(tag))
	b = le.AppendUint16(b, uint16(channels))
	b = le.AppendUint32(b, uint32(rate))
	b = le.AppendUint32(b, uint32(rate*align))
	b = le.AppendUint16(b, uint16(align))
	return le.AppendUint16(b, uint16(bits))
}

// format is a fmt chunk without lies.
func format(tag, channels, rate, bits int) []byte {
	return chunk("fmt ", fmtBody(tag, channels, rate, channels*bits/8, bits))
}

// extensible is the fmt chunk of WAVE_FORMAT_EXTENSIBLE.
func extensible(subFormat, channels, rate, bits, validBits int) []byte {
	b := fmtBody(formatExtensible, channels, rate, channels*bits/8, bits)
	b = le.AppendUint16(b, 22)
	b = le.AppendUint16(b, uint16(validBits))
	b = le.AppendUint32(b, 3) // speakers
	b = le.AppendUint16(b, uint16(subFormat))
	return chunk("fmt ", append(b, "\x00\x00\x00\x00\x10\x00\x80\x00\x00\xaa\x00\x38\x9b\x71"...))
}

func floats32(x ...float32) (b []byte) {
	for _, v := range x {
		b = le.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

func floats64(x ...float64) (b []byte) {
	for _, v := range x {
		b = le.AppendUint64(b, math.Float64bits(v))
	}
	return b
}

// Three 16-bit samples, used by every dialect of which the samples are not the point.
var (
	data16 = []byte{0, 0x40, 0, 0x80, 0xff, 0x7f}
	want16 = []float32{0.5, -1, 32767.0 / 32768}
)

type dialect struct {
	name     string
	file     []byte
	rate     int
	channels int
	want     []float32
}

func dialects() []dialect {
	mono16 := format(1, 1, 24000, 16)
	data := chunk("data", data16)
	oversize := append(fmtBody(1, 1, 24000, 2, 16), make([]byte, 200)...)
	ds64 := func(size uint64) []byte {
		b := le.AppendUint64(make([]byte, 8), size)
		return chunk("ds64", append(b, make([]byte, 12)...))
	}
	rf64 := func(id string, chunks ...[]byte) []byte {
		f := riff(chunks...)
		copy(f, id)
		return f
	}
	return []dialect{
		{"plain", riff(mono16, data), 24000, 1, want16},
		{"8 bits", riff(format(1, 1, 8000, 8), chunk("data", []byte{0, 128, 255, 192})), 8000, 1, []float32{-1, 0, 127.0 / 128, 0.5}},
		{"8 bits, odd number, something after", riff(format(1, 1, 8000, 8), chunk("data", []byte{0, 128, 255}), chunk("LIST", []byte("abcd"))), 8000, 1, []float32{-1, 0, 127.0 / 128}},
		{"24 bits", riff(format(1, 1, 44100, 24), chunk("data", []byte{0, 0, 0x40, 0, 0, 0x80, 0xff, 0xff, 0xff})), 44100, 1, []float32{0.5, -1, -1.0 / (1 << 23)}},
		{"32 bits", riff(format(1, 1, 96000, 32), chunk("data", []byte{0, 0, 0, 0x40, 0, 0, 0, 0x80, 0xff, 0xff, 0xff, 0xff})), 96000, 1, []float32{0.5, -1, -1.0 / (1 << 31)}},
		{"32-bit float", riff(format(3, 1, 16000, 32), chunk("data", floats32(0.1, -3, 1e-20))), 16000, 1, []float32{0.1, -3, 1e-20}},
		{"64-bit float", riff(format(3, 1, 16000, 64), chunk("data", floats64(0.1, -3, 1e-20))), 16000, 1, []float32{0.1, -3, 1e-20}},
		{"stereo", riff(format(1, 2, 48000, 16), chunk("data", append(slices.Clone(data16), 0, 0))), 48000, 2, append(slices.Clone(want16), 0)},
		{"six channels", riff(format(1, 6, 48000, 8), chunk("data", []byte{0, 64, 128, 192, 255, 128})), 48000, 6, []float32{-1, -0.5, 0, 0.5, 127.0 / 128, 0}},
		{"extensible 16 bits", riff(extensible(1, 1, 24000, 16, 16), data), 24000, 1, want16},
		{"extensible 20 bits in 24", riff(extensible(1, 1, 24000, 24, 20), chunk("data", []byte{0, 0, 0x40})), 24000, 1, []float32{0.5}},
		{"extensible 32-bit float", riff(extensible(3, 2, 24000, 32, 32), chunk("data", floats32(0.25, -0.5))), 24000, 2, []float32{0.25, -0.5}},
		{"fmt of 18 bytes", riff(chunk("fmt ", append(fmtBody(1, 1, 24000, 2, 16), 0, 0)), data), 24000, 1, want16},
		{"fmt of 40 bytes with a plain tag", riff(chunk("fmt ", append(fmtBody(1, 1, 24000, 2, 16), make([]byte, 24)...)), data), 24000, 1, want16},
		{"oversize fmt", riff(chunk("fmt ", oversize), data), 24000, 1, want16},
		{"JUNK and bext first", riff(chunk("JUNK", make([]byte, 28)), chunk("bext", make([]byte, 602)), mono16, data), 24000, 1, want16},
		{"LIST between", riff(mono16, chunk("LIST", []byte("INFOISFT\x04\x00\x00\x00Lav\x00")), data), 24000, 1, want16},
		{"odd LIST, padded", riff(mono16, chunk("LIST", []byte("INFO.")), data), 24000, 1, want16},
		{"odd LIST, not padded", riff(mono16, sizedChunk("LIST", 5, []byte("INFO.")), data), 24000, 1, want16},
		{"odd LIST before fmt, not padded", riff(sizedChunk("LIST", 5, []byte("INFO.")), mono16, data), 24000, 1, want16},
		{"empty LIST", riff(mono16, chunk("LIST", nil), data), 24000, 1, want16},
		{"data beyond the first 4 kB", riff(mono16, chunk("JUNK", make([]byte, 5000)), data), 24000, 1, want16},
		{"data before fmt", riff(data, mono16), 24000, 1, want16},
		{"second fmt and data", riff(mono16, data, format(1, 2, 8000, 8), chunk("data", make([]byte, 10))), 24000, 1, want16},
		{"second fmt before data", riff(mono16, format(1, 2, 8000, 8), data), 24000, 1, want16},
		{"second data before fmt", riff(data, chunk("data", make([]byte, 10)), mono16), 24000, 1, want16},
		{"id3 after", riff(mono16, data, chunk("id3 ", make([]byte, 99))), 24000, 1, want16},
		{"data size 0", riff(mono16, sizedChunk("data", 0, data16)), 24000, 1, want16},
		{"data size 0xFFFFFFFF", riff(mono16, sizedChunk("data", 0xffffffff, data16)), 24000, 1, want16},
		{"data size past the end", riff(mono16, sizedChunk("data", 0x7fffffff, data16)), 24000, 1, want16},
		{"data size 2000000000", riff(mono16, sizedChunk("data", 2000000000, data16)), 24000, 1, want16},
		{"half a sample at the end", riff(mono16, sizedChunk("data", 0xffffffff, append(slices.Clone(data16), 1))), 24000, 1, want16},
		{"half a frame at the end", riff(format(1, 2, 24000, 16), sizedChunk("data", 0xffffffff, data16)), 24000, 2, want16[:2]},
		{"RF64", rf64("RF64", ds64(6), mono16, sizedChunk("data", 0xffffffff, data16), chunk("LIST", []byte("abcd"))), 24000, 1, want16},
		{"BW64 that lies", rf64("BW64", ds64(math.MaxUint64), mono16, sizedChunk("data", 0xffffffff, data16)), 24000, 1, want16},
		{"RF64 without ds64", rf64("RF64", mono16, sizedChunk("data", 0xffffffff, data16)), 24000, 1, want16},
	}
}

func TestReadWAVDialects(t *testing.T) {
	for _, d := range dialects() {
		t.Run(d.name, func(t *testing.T) {
			clip, err := ReadWAV(iotest.OneByteReader(bytes.NewReader(d.file)), roomy)
			if err != nil {
				t.Fatal(err)
			}
			if clip.Rate != d.rate || clip.Channels != d.channels || !slices.Equal(clip.Samples, d.want) {
				t.Errorf("read %d Hz, %d channels, %v; wanted %d, %d, %v", clip.Rate, clip.Channels, clip.Samples, d.rate, d.channels, d.want)
			}
			if clip.Frames() != len(d.want)/d.channels || clip.Seconds() != float64(clip.Frames())/float64(d.rate) {
				t.Errorf("%d frames, %v s", clip.Frames(), clip.Seconds())
			}
		})
	}
}

func TestReadWAVRefuses(t *testing.T) {
	data := chunk("data", data16)
	lying := func(tag, channels, rate, align, bits int) []byte {
		return riff(chunk("fmt ", fmtBody(tag, channels, rate, align, bits)), data)
	}
	guid := extensible(1, 1, 24000, 16, 16)
	guid[len(guid)-1] = 0
	mono16 := format(1, 1, 24000, 16)
	tests := []struct {
		name string
		file []byte
		says string
	}{
		{"empty", nil, "not a RIFF/WAVE file"},
		{"short", []byte("RIFF"), "not a RIFF/WAVE file"},
		{"text", []byte("Hello, this is a text."), `begins with "Hello, this "`},
		{"ogg", []byte("OggS\x00\x02\x00\x00\x00\x00\x00\x00"), "OggS"},
		{"big-endian", []byte("RIFX\x00\x00\x00\x24WAVEfmt "), "RIFX"},
		{"AVI", []byte("RIFF\x24\x00\x00\x00AVI LIST"), "AVI"},
		{"no chunks", riff(), "no fmt chunk"},
		{"no fmt", riff(data), "no fmt chunk"},
		{"no data", riff(mono16), "no data chunk"},
		{"chunk that overflows", riff(mono16, sizedChunk("LIST", 0xfffffffe, data)), `"LIST" at byte 36 claims 4294967294 bytes, 14 follow`},
		{"fmt that overflows", riff(sizedChunk("fmt ", 0xffffffff, fmtBody(1, 1, 24000, 2, 16))), "claims 4294967295 bytes, 16 follow"},
		{"fmt of 14 bytes", riff(chunk("fmt ", fmtBody(1, 1, 24000, 2, 16)[:14]), data), "fmt chunk of 14 bytes"},
		{"empty fmt", riff(chunk("fmt ", nil), data), "fmt chunk of 0 bytes"},
		{"no samples", riff(mono16, chunk("data", nil)), "no samples"},
		{"less than a frame", riff(format(1, 4, 24000, 16), data), "no samples"},
		{"channels 0", lying(1, 0, 24000, 2, 16), "0 channels"},
		{"channels 65535", lying(1, 65535, 24000, 2, 16), "65535 channels"},
		{"rate 0", lying(1, 1, 0, 2, 16), "sample rate 0 Hz"},
		{"rate 1", lying(1, 1, 1, 2, 16), "sample rate 1 Hz"},
		{"rate 2 GHz", lying(1, 1, 2000000000, 2, 16), "sample rate 2000000000 Hz"},
		{"block align 0", lying(1, 1, 24000, 0, 16), "block align 0, wanted 2"},
		{"block align 65535", lying(1, 2, 24000, 65535, 16), "block align 65535, wanted 4"},
		{"bits 0", lying(1, 1, 24000, 2, 0), "PCM samples of 0 bits"},
		{"bits 13", lying(1, 1, 24000, 2, 13), "PCM samples of 13 bits"},
		{"bits 64 of PCM", lying(1, 1, 24000, 8, 64), "PCM samples of 64 bits"},
		{"bits 16 of float", lying(3, 1, 24000, 2, 16), "float samples of 16 bits"},
		{"MP3 in WAV", lying(0x55, 1, 24000, 1, 0), "format 0x0055 (MP3)"},
		{"ADPCM", lying(2, 1, 24000, 1, 4), "format 0x0002 (ADPCM)"},
		{"mu-law", lying(7, 1, 8000, 1, 8), "format 0x0007 (mu-law)"},
		{"tag 0", lying(0, 1, 24000, 2, 16), "format 0x0000 (unknown)"},
		{"short extensible", lying(formatExtensible, 1, 24000, 2, 16), "extensible fmt chunk of 16 bytes"},
		{"other sub-format", riff(guid, data), "sub-format 0100000000001000800000aa00389b00"},
		{"mu-law sub-format", riff(extensible(7, 1, 8000, 8, 8), data), "format 0x0007 (mu-law)"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			clip, err := ReadWAV(bytes.NewReader(test.file), roomy)
			var bad *FormatError
			if !errors.As(err, &bad) {
				t.Fatalf("read %v, error %v, wanted a FormatError", clip, err)
			}
			if text := err.Error(); !strings.Contains(text, test.says) || strings.Contains(text, "\n") {
				t.Errorf("error %q, wanted one line with %q", text, test.says)
			}
		})
	}
}

func TestReadWAVRefusesNaN(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(-1)
	for name, file := range map[string][]byte{
		"NaN, 32 bits":       riff(format(3, 2, 24000, 32), chunk("data", floats32(0, 1, 0, float32(nan)))),
		"infinite, 32 bits":  riff(format(3, 2, 24000, 32), chunk("data", floats32(0, 1, 0, float32(inf)))),
		"NaN, 64 bits":       riff(format(3, 2, 24000, 64), chunk("data", floats64(0, 1, 0, nan))),
		"too large, 64 bits": riff(format(3, 2, 24000, 64), chunk("data", floats64(0, 1, 0, 1e300))),
	} {
		var bad *SampleError
		if _, err := ReadWAV(bytes.NewReader(file), roomy); !errors.As(err, &bad) || bad.Index != 3 {
			t.Errorf("%s: error %v, wanted a SampleError at 3", name, err)
		}
	}
}

func TestReadWAVLimits(t *testing.T) {
	file := riff(format(1, 2, 8000, 8), chunk("data", make([]byte, 2*8000)))
	if _, err := ReadWAV(bytes.NewReader(file), Limits{int64(len(file)), 1}); err != nil {
		t.Errorf("a file as large as allowed: %v", err)
	}
	for name, test := range map[string]struct {
		limits Limits
		says   string
	}{
		"bytes":       {Limits{int64(len(file)) - 1, 1}, "16044 bytes or more, allowed is at most 16043"},
		"seconds":     {Limits{1 << 20, 0.9999}, "1 seconds or more, allowed is at most 0.9999"},
		"nothing":     {Limits{}, "allowed is at most 0"},
		"below 0":     {Limits{math.MinInt64, 1}, "allowed is at most"},
		"NaN seconds": {Limits{1 << 20, math.NaN()}, "NaN"},
	} {
		var bad *LimitError
		if _, err := ReadWAV(bytes.NewReader(file), test.limits); !errors.As(err, &bad) || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: error %v, wanted a LimitError with %q", name, err, test.says)
		}
	}
	// A stream without an end is left as soon as it passes the limit.
	taken := &counter{r: zeroReader{}}
	var bad *LimitError
	if _, err := ReadWAV(taken, Limits{1000, 1}); !errors.As(err, &bad) || taken.n > 1001 {
		t.Errorf("an endless reader: error %v after %d bytes, wanted a LimitError after 1001", err, taken.n)
	}
	if _, err := ReadWAV(iotest.ErrReader(os.ErrDeadlineExceeded), roomy); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("error %v, wanted that of the reader", err)
	}
}

type zeroReader struct{}

func (zeroReader) Read(p []byte) (int, error) { clear(p); return len(p), nil }

type counter struct {
	r io.Reader
	n int
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += n
	return n, err
}

// Memory follows the bytes that are there, whatever the header claims.
func TestReadWAVAllocatesForRealBytes(t *testing.T) {
	file := riff(chunk("fmt ", fmtBody(1, 1, 24000, 2, 16)), sizedChunk("data", 0x7fffffff, make([]byte, 50000)))
	result := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := ReadWAV(bytes.NewReader(file), Limits{1 << 32, 1e9}); err != nil {
				b.Fatal(err)
			}
		}
	})
	if n := result.AllocedBytesPerOp(); n > 1<<20 {
		t.Errorf("%d bytes allocated for a file of %d", n, len(file))
	}
}

// What the sinks write is read again to the bit, from a file and from a stream.
func TestWriteThenRead(t *testing.T) {
	samples := make([]float32, 5000)
	want := make([]float32, len(samples))
	for i := range samples {
		samples[i] = float32(1.1 * math.Sin(float64(i*i)))
		want[i] = float32(toPCM16(samples[i])) / 32768
	}
	path := filepath.Join(t.TempDir(), "a.wav")
	var buf bytes.Buffer
	for name, make := range map[string]func() (Sink, error){
		"file":   func() (Sink, error) { return Create(path, WAV, 24000) },
		"stream": func() (Sink, error) { return NewStream(&buf, WAV, 24000) },
	} {
		s, err := make()
		if err != nil {
			t.Fatal(err)
		}
		for piece := range slices.Chunk(samples, 1920) {
			if err := s.Write(piece); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		file := buf.Bytes()
		if name == "file" {
			if file, err = os.ReadFile(path); err != nil {
				t.Fatal(err)
			}
		}
		if len(file) != wavHeaderBytes+2*len(samples) {
			t.Errorf("%s: %d bytes, wanted %d", name, len(file), wavHeaderBytes+2*len(samples))
		}
		clip, err := ReadWAV(bytes.NewReader(file), roomy)
		if err != nil {
			t.Fatal(err)
		}
		if clip.Rate != 24000 || clip.Channels != 1 || !slices.Equal(clip.Samples, want) {
			t.Errorf("%s: other samples came back", name)
		}
	}
}

func FuzzReadWAV(f *testing.F) {
	for _, d := range dialects() {
		f.Add(d.file)
	}
	f.Add(riff(sizedChunk("fmt ", 0xffffffff, nil)))
	f.Add(riff(sizedChunk("LIST", 0xfffffffe, nil)))
	f.Fuzz(func(t *testing.T, file []byte) {
		clip, err := ReadWAV(bytes.NewReader(file), roomy)
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("error of more than one line: %q", err)
			}
			return
		}
		if len(clip.Samples) == 0 || len(clip.Samples) > len(file) || len(clip.Samples)%clip.Channels != 0 || clip.Seconds() > roomy.Seconds {
			t.Errorf("%d samples of %d channels, %v s, from %d bytes", len(clip.Samples), clip.Channels, clip.Seconds(), len(file))
		}
		if i := firstNonFinite(clip.Samples); i >= 0 {
			t.Errorf("sample %d is %v", i, clip.Samples[i])
		}
	})
}
