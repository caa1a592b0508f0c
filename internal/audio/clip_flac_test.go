package audio

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"github.com/mewkiz/flac"
	"github.com/mewkiz/flac/frame"
	"github.com/mewkiz/flac/meta"
)

// flacFile is samples as our encoder writes them.
func flacFile(t testing.TB, rate int, x []float32) []byte {
	t.Helper()
	var b bytes.Buffer
	s, err := NewStream(&b, FLAC, rate)
	if err == nil {
		err = s.Write(x)
	}
	if err == nil {
		err = s.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// stereoFLAC is n samples of two tones, the right one half as loud, in frames of mid and side.
func stereoFLAC(t testing.TB, rate, bits, n int) []byte {
	t.Helper()
	const size = 500
	var b bytes.Buffer
	e, err := flac.NewEncoder(&b, &meta.StreamInfo{
		BlockSizeMin: size, BlockSizeMax: size, SampleRate: uint32(rate), NChannels: 2, BitsPerSample: uint8(bits), NSamples: uint64(n),
	})
	if err != nil {
		t.Fatal(err)
	}
	x := waver(n, rate, 0.5)
	for at := 0; at < n; at += size {
		block := x[at:min(at+size, n)]
		left, right := make([]int32, len(block)), make([]int32, len(block))
		for i, v := range block {
			left[i] = int32(math.Round(float64(v) * float64(int64(1)<<(bits-1))))
			right[i] = left[i] / 2
		}
		sub := func(samples []int32) *frame.Subframe {
			return &frame.Subframe{SubHeader: frame.SubHeader{Pred: frame.PredVerbatim}, Samples: samples, NSamples: len(samples)}
		}
		err := e.WriteFrame(&frame.Frame{
			Header: frame.Header{HasFixedBlockSize: true, BlockSize: uint16(len(block)), SampleRate: uint32(rate),
				Channels: frame.ChannelsMidSide, BitsPerSample: uint8(bits)},
			Subframes: []*frame.Subframe{sub(left), sub(right)},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

// TestClipFLAC reads mono and stereo, 16 and 24 bits, at rates of every kind.
func TestClipFLAC(t *testing.T) {
	for _, rate := range []int{8000, 11025, 16000, 22050, 24000, 44100, 48000, 96000, 176400, 192000} {
		n := rate/4 + 3
		want := waver((n*ClipRate+rate-1)/rate, ClipRate, 0.5)
		got, info, err := ReadClip(bytes.NewReader(flacFile(t, rate, waver(n, rate, 0.5))), clipRoom)
		if err != nil || info.Format != "flac" || info.Rate != rate || info.Channels != 1 || info.Truncated {
			t.Errorf("%d Hz: %+v, %v", rate, info, err)
		}
		if db := fidelity(got, want); len(got) != len(want) || db < 60 {
			t.Errorf("%d Hz: %d samples at %.1f dB, wanted %d at 60", rate, len(got), db, len(want))
		}
		for i, v := range want {
			want[i] = v * 0.75
		}
		for _, bits := range []int{16, 24} {
			got, info, err := ReadClip(bytes.NewReader(stereoFLAC(t, rate, bits, n)), clipRoom)
			if db := fidelity(got, want); err != nil || info.Channels != 2 || len(got) != len(want) || db < 60 {
				t.Errorf("%d Hz, stereo of %d bits: %d samples at %.1f dB, %+v, %v", rate, bits, len(got), db, info, err)
			}
		}
	}
}

// TestClipFLACDamage cuts and changes a file.
func TestClipFLACDamage(t *testing.T) {
	const rate = 24000
	x := waver(rate, rate, 0.5)
	file := stereoFLAC(t, rate, 16, rate)
	const head = 42 // signature and the beginning of the file
	claims := func(samples uint64) []byte {
		c := bytes.Clone(file)
		at := 4 + 4 + 10 // rate, channels, bits and samples share 8 bytes
		v := binary.BigEndian.Uint64(c[at:])
		binary.BigEndian.PutUint64(c[at:], v&^(1<<36-1)|samples)
		return c
	}
	of32 := bytes.Clone(file)
	of32[4+4+10+2] |= 1 // of the five bits of bits - 1, the highest is the last of its byte
	of32[4+4+10+3] |= 0xf0
	broken := bytes.Clone(file)
	broken[len(broken)/2] ^= 0x10
	whole, _, err := ReadClip(bytes.NewReader(file), clipRoom)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name      string
		file      []byte
		samples   int
		truncated bool
		reason    ClipReason
		text      string
	}{
		{"whole", file, len(x), false, "", ""},
		{"cut in the middle of a frame", file[:len(file)/2], 0, true, "", ""},
		{"claims nothing", claims(0), len(x), false, "", ""},
		{"claims 800 hours", claims(1<<36 - 1), len(x), true, "", ""},
		{"a bit changed", broken, 0, false, ClipDamaged, "flac: damaged"},
		{"no frames", file[:head], 0, false, ClipDamaged, "audio: clip: flac: no samples"},
		{"half a header", file[:20], 0, false, ClipDamaged, "audio: clip: flac: the file is cut off before its first sample"},
		{"half a frame", file[:head+40], 0, false, ClipDamaged, "cut off before its first sample"},
		{"before an ID3 tag", slices.Concat(file, []byte("TAG"), make([]byte, 125)), len(x), false, "", ""},
		{"before a stray byte", slices.Concat(file, []byte{0xff}), len(x), false, "", ""},
		{"32 bits", of32, 0, false, ClipUnsupported, "flac: samples of 32 bits, allowed is 4 to 24"},
		{"behind an ID3 tag", slices.Concat([]byte("ID3\x04\x00\x00\x00\x00\x00\x05hello"), file), len(x), false, "", ""},
	} {
		got, info, err := ReadClip(bytes.NewReader(c.file), clipRoom)
		checkClip(t, c.name, got, err, c.reason, c.text)
		if err == nil && (info.Truncated != c.truncated || c.samples > 0 && !slices.Equal(got, whole)) {
			t.Errorf("%s: %d samples, %+v", c.name, len(got), info)
		}
	}
	if _, _, err := ReadClip(bytes.NewReader(file), Limits{Bytes: 1 << 20, Seconds: 0.5}); err == nil {
		t.Error("a second passed as half of one")
	} else {
		checkClip(t, "too long", nil, err, ClipTooLong, "allowed is at most 0.5")
	}
}
