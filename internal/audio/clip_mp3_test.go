package audio

import (
	"bytes"
	"slices"
	"testing"

	"github.com/mynah-tts/mynah/internal/audio/mp3"
)

// mp3File is samples as MP3 at a bit rate, or the usual one.
func mp3File(t testing.TB, rate, bitrate int, x []float32) []byte {
	t.Helper()
	var b bytes.Buffer
	e, err := mp3.NewEncoder(&b, mp3.Options{SampleRate: rate, Bitrate: bitrate})
	if err == nil {
		err = e.Write(x)
	}
	if err == nil {
		err = e.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// heard is the mono samples of a file at its own rate.
func heard(t *testing.T, file []byte) (*mixer, bool) {
	t.Helper()
	m := &mixer{format: "mp3", seconds: 60, only: average}
	info, err := m.run(decodeClipMP3, file)
	if err != nil {
		t.Fatal(err)
	}
	return m, info.Truncated
}

// TestClipMP3Rates decodes what our encoder makes of two tones at every rate and bit rate that can be decoded. 22,050 Hz has padded
// frames, 11,025 and 12,000 are MPEG-2.5.
func TestClipMP3Rates(t *testing.T) {
	for _, rate := range []int{11025, 12000, 16000, 22050, 24000, 32000, 44100, 48000} {
		for _, bitrate := range mp3.Bitrates(rate) {
			if bitrate < 24000 {
				continue // too few bits for a figure that proves something
			}
			x := waver(rate/2, rate, 0.5)
			m, _ := heard(t, mp3File(t, rate, bitrate, x))
			if db := fidelity(m.mono[mp3.Delay:], x); m.rate != rate || db < 25 {
				t.Errorf("%d Hz, %d bit/s: read as %d Hz, %.1f dB, wanted 25", rate, bitrate, m.rate, db)
			}
		}
	}
}

// mp3Frames cuts a file into its frames.
func mp3Frames(t testing.TB, file []byte) [][]byte {
	t.Helper()
	var frames [][]byte
	for at := 0; at < len(file); {
		h, ok := headerAt(file, at)
		if !ok {
			t.Fatalf("no frame at byte %d", at)
		}
		frames = append(frames, file[at:at+h.size()])
		at += h.size()
	}
	return frames
}

// xing is a frame of the size of another that only describes the file.
func xing(first []byte) []byte {
	frame := append([]byte{}, first...)
	h, _ := headerAt(frame, 0)
	clear(frame[4:])
	copy(frame[h.mainData():], "Xing\x00\x00\x00\x0f")
	return frame
}

// TestClipMP3Dialects reads files with what stands around and between frames.
func TestClipMP3Dialects(t *testing.T) {
	const rate = 44100
	x := waver(rate, rate, 0.5)
	file := mp3File(t, rate, 128000, x)
	frames := mp3Frames(t, file)
	plain, _ := heard(t, file)
	tag := append([]byte("ID3\x04\x00\x00\x00\x09\x30\x00"), bytes.Repeat([]byte{0xff, 0xfb, 0x90, 0x64}, (9<<14|0x30<<7)/4)...)
	id3v1 := append([]byte("TAG"), make([]byte, 125)...)
	ape := append([]byte("APETAGEX\xd0\x07\x00\x00"), bytes.Repeat([]byte{0xff, 0xfb, 0x92, 0x60, 0, 1}, 40)...)
	for _, c := range []struct {
		name      string
		file      []byte
		truncated bool
	}{
		{"ID3v2 of 150 kB full of sync words", slices.Concat(tag, file), false},
		{"two ID3v2 tags", slices.Concat(tag, tag, file), false},
		{"ID3v2 that claims 256 MB", slices.Concat([]byte("ID3\x03\x00\x00\x7f\x7f\x7f\x7f"), file), false},
		{"ID3v1", slices.Concat(file, id3v1), false},
		{"APE and ID3v1", slices.Concat(file, ape, id3v1), false},
		{"Xing", slices.Concat(xing(frames[0]), file), false},
		{"zeros before", slices.Concat(make([]byte, 1000), file), false},
		{"zeros behind", slices.Concat(file, make([]byte, 5000)), false},
		{"in a WAV file", riff(format(formatMP3, 1, rate, 16), chunk("data", file)), false},
		{"cut in the middle of a frame", slices.Concat(file, frames[3][:100]), true},
	} {
		got, info, err := ReadClip(bytes.NewReader(c.file), clipRoom)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		want, err := Resample(plain.mono, rate, ClipRate)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) || info.Truncated != c.truncated || info.Damaged || info.Channels != 1 || info.Rate != rate {
			t.Errorf("%s: %d samples, wanted the %d of the plain file; %+v", c.name, len(got), len(want), info)
		}
	}
}

// TestClipMP3Damage tells of what was passed over in the middle.
func TestClipMP3Damage(t *testing.T) {
	const rate = 24000
	file := mp3File(t, rate, 64000, waver(rate, rate, 0.5))
	frames := mp3Frames(t, file)
	middle := 0
	for _, f := range frames[:len(frames)/2] {
		middle += len(f)
	}
	zeroed := slices.Clone(file)
	clear(zeroed[middle : middle+1000])
	for name, c := range map[string][]byte{
		"zeros in the middle": zeroed, "half a frame is missing": slices.Concat(file[:middle], file[middle+len(frames[0])/2:]),
		"other bytes between": slices.Concat(file[:middle], []byte("something else"), file[middle:]),
	} {
		_, info, err := ReadClip(bytes.NewReader(c), clipRoom)
		if err != nil || !info.Damaged || info.Truncated {
			t.Errorf("%s: %+v, error %v", name, info, err)
		}
	}
}

// TestClipMP3Cut takes frames away: what does not depend on them stays as it was.
func TestClipMP3Cut(t *testing.T) {
	for _, rate := range []int{22050, 24000, 44100} {
		x := waver(2*rate, rate, 0.5)
		frames := mp3Frames(t, mp3File(t, rate, 64000, x))
		whole, _ := heard(t, slices.Concat(frames...))
		h, _ := headerAt(frames[0], 0)
		n := h.samples()
		for _, c := range []struct {
			name   string
			frames [][]byte
			lost   int // samples that are missing before those that are compared
		}{
			{"without the beginning", frames[10:], 10 * n},
			{"with a gap", slices.Concat(frames[:10], frames[20:]), 10 * n},
			{"with noise in a gap", slices.Concat(frames[:10], [][]byte{bytes.Repeat([]byte{0x55, 0xff}, 300)}, frames[20:]), 10 * n},
		} {
			m, _ := heard(t, slices.Concat(c.frames...))
			from := 24 * n // by then every reservoir is full again
			got, want := m.mono[from-c.lost:], whole.mono[from:]
			if !slices.Equal(got, want) {
				t.Errorf("%d Hz, %s: %.1f dB away from the whole", rate, c.name, fidelity(got, want))
			}
		}
	}
}

// TestClipMP3Corrupt damages the side information of a frame: only its surroundings suffer.
func TestClipMP3Corrupt(t *testing.T) {
	for _, rate := range []int{22050, 24000, 44100} {
		x := waver(2*rate, rate, 0.5)
		frames := mp3Frames(t, mp3File(t, rate, 64000, x))
		whole, _ := heard(t, slices.Concat(frames...))
		h, _ := headerAt(frames[0], 0)
		n := h.samples()
		for _, fill := range []byte{0xff, 0xaa, 0x55, 0x0f} {
			bad := slices.Clone(frames)
			bad[9] = slices.Clone(frames[9])
			for i := range h.sideInfo() {
				bad[9][4+i] = fill
			}
			m, _ := heard(t, slices.Concat(bad...))
			from := 24 * n
			if len(m.mono) != len(whole.mono) || !slices.Equal(m.mono[from:], whole.mono[from:]) || !slices.Equal(m.mono[:8*n], whole.mono[:8*n]) {
				t.Errorf("%d Hz, side information of %#x: frames far from it changed", rate, fill)
			}
		}
	}
}

// TestClipMP3Refusals gives what is not decoded, and what is too long.
func TestClipMP3Refusals(t *testing.T) {
	second := waver(44100, 44100, 0.5)
	free := bytes.Clone(mp3File(t, 44100, 128000, second))
	for _, f := range mp3Frames(t, free) {
		f[2] &= 0x0f
	}
	for _, c := range []struct {
		name   string
		file   []byte
		reason ClipReason
		text   string
	}{
		{"8000 Hz", mp3File(t, 8000, 0, waver(8000, 8000, 0.5)), ClipUnsupported, "audio: clip: the file is MP3 of 8000 Hz (MPEG 2.5), the only rate of MP3 that is not read, allowed is wav, mp3 or flac"},
		{"free bit rate", free, ClipUnsupported, "MP3 of free bit rate"},
		{"silence", mp3File(t, 44100, 0, make([]float32, 44100)), ClipSilent, "digital silence"},
		{"too long", mp3File(t, 44100, 0, slices.Repeat(second, 5)), ClipTooLong, "allowed is at most 4"},
		{"a single header", []byte{0xff, 0xfb, 0x90, 0x64}, ClipUnsupported, "of no known kind"},
	} {
		got, _, err := ReadClip(bytes.NewReader(c.file), Limits{Bytes: 1 << 20, Seconds: 4})
		checkClip(t, c.name, got, err, c.reason, c.text)
	}
}
