package audio

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

var clipRoom = Limits{Bytes: 8 << 20, Seconds: 30}

// waver is n samples of two tones below 3 kHz at a rate, which every rate holds.
func waver(n, rate int, gain float64) []float32 {
	x := make([]float32, n)
	for i := range x {
		t := float64(i) / float64(rate)
		x[i] = float32(gain * (0.6*math.Sin(2*math.Pi*440*t) + 0.4*math.Sin(2*math.Pi*2500*t+1)))
	}
	return x
}

// pcm16 is samples as 16-bit PCM, each repeated on so many channels times a gain.
func pcm16(x []float32, gains ...float64) []byte {
	var b []byte
	for _, v := range x {
		for _, g := range gains {
			b = le.AppendUint16(b, uint16(toPCM16(float32(float64(v)*g))))
		}
	}
	return b
}

// wav16 is a 16-bit WAV file.
func wav16(rate int, x []float32, gains ...float64) []byte {
	return riff(format(formatPCM, len(gains), rate, 16), chunk("data", pcm16(x, gains...)))
}

// fidelity is the level of want beside that of the difference, away from the ends.
func fidelity(got, want []float32) float64 {
	const edge = 600
	var signal, noise float64
	for i := edge; i < min(len(got), len(want))-edge; i++ {
		d := float64(got[i]) - float64(want[i])
		signal += float64(want[i]) * float64(want[i])
		noise += d * d
	}
	return 10 * math.Log10(signal/(noise+1e-20))
}

// TestClipRates reads all rates and channel counts: the sound is the same, and as long.
func TestClipRates(t *testing.T) {
	for _, rate := range []int{8000, 11025, 12000, 16000, 22050, 24000, 32000, 44100, 48000, 88200, 96000, 176400, 192000} {
		for _, channels := range []int{1, 2, 6} {
			n := rate/2 + 7
			gains := slices.Repeat([]float64{1}, channels)
			got, info, err := ReadClip(bytes.NewReader(wav16(rate, waver(n, rate, 0.5), gains...)), clipRoom)
			if err != nil {
				t.Errorf("%d Hz, %d channels: %v", rate, channels, err)
				continue
			}
			if info.Format != "wav" || info.Rate != rate || info.Channels != channels || math.Abs(info.Seconds-float64(n)/float64(rate)) > 1e-9 || info.Antiphase || info.Truncated {
				t.Errorf("%d Hz, %d channels: %+v", rate, channels, info)
			}
			want := waver((n*ClipRate+rate-1)/rate, ClipRate, 0.5)
			if db := fidelity(got, want); len(got) != len(want) || db < 60 {
				t.Errorf("%d Hz, %d channels: %d samples at %.1f dB, wanted %d at 60", rate, channels, len(got), db, len(want))
			}
		}
	}
}

// TestClipChannels mixes channels that differ.
func TestClipChannels(t *testing.T) {
	x := waver(12000, ClipRate, 0.5)
	for _, c := range []struct {
		name      string
		gains     []float64
		gain      float64
		antiphase bool
	}{
		{"average", []float64{1, 0.5}, 0.75, false},
		{"left only", []float64{1, 0}, 0.5, false},
		{"one of six", []float64{0, 0, 0, 1, 0, 0}, 1.0 / 6, false},
		{"antiphase", []float64{-1, 1}, -1, true},
		{"nearly antiphase", []float64{1, -0.99}, 1, true},
		{"antiphase, right louder", []float64{0.995, -1}, -1, true},
		{"partly antiphase", []float64{1, -0.5}, 0.25, false},
	} {
		got, info, err := ReadClip(bytes.NewReader(wav16(ClipRate, x, c.gains...)), clipRoom)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		want := make([]float32, len(x))
		for i, v := range x {
			want[i] = float32(float64(v) * c.gain)
		}
		if db := fidelity(got, want); info.Antiphase != c.antiphase || len(got) != len(x) || db < 60 {
			t.Errorf("%s: antiphase %v, %d samples at %.1f dB", c.name, info.Antiphase, len(got), db)
		}
	}
}

// TestClipLevels wants every level but silence, and no sample that is no number.
func TestClipLevels(t *testing.T) {
	x := waver(6000, ClipRate, 1)
	plus := func(gain, dc float32) []byte {
		y := make([]float32, len(x))
		for i, v := range x {
			y[i] = gain*v + dc
		}
		return riff(format(formatFloat, 1, ClipRate, 32), chunk("data", floats32(y...)))
	}
	square := make([]float32, 6000)
	for i := range square {
		square[i] = float32(1 - 2*(i/50%2))
	}
	lsb := make([]byte, 12000)
	for i := 0; i < len(lsb); i += 14 {
		lsb[i] = 1
	}
	with := func(v float32) []byte {
		y := slices.Clone(x)
		y[1234] = v
		return riff(format(formatFloat, 2, ClipRate, 32), chunk("data", floats32(y...)))
	}
	for _, c := range []struct {
		name   string
		file   []byte
		peak   float64
		reason ClipReason
		text   string
	}{
		{"-60 dB", plus(0.001, 0), 0.001, "", ""},
		{"offset of 0.5", plus(0.3, 0.5), 0.8, "", ""},
		{"peaks of 3", plus(3, 0), 3, "", ""},
		{"clipped square", wav16(ClipRate, square, 1), 1, "", ""},
		{"noise of one bit", riff(format(formatPCM, 1, ClipRate, 16), chunk("data", lsb)), 1.0 / 32768, "", ""},
		{"zeros", wav16(ClipRate, make([]float32, 12000), 1, 1), 0, ClipSilent, "audio: clip: wav: 0.50 s of digital silence"},
		{"8-bit silence, a step off", riff(format(formatPCM, 1, 8000, 8), chunk("data", bytes.Repeat([]byte{127}, 8000))), 0, ClipSilent, "1.00 s of digital silence"},
		{"NaN", with(float32(math.NaN())), 0, ClipNotFinite, "audio: clip: wav: sample 1234, at 0.03 s, is NaN"},
		{"infinity", with(float32(math.Inf(-1))), 0, ClipNotFinite, "sample 1234, at 0.03 s, is -Inf"},
		{"beyond float32", riff(format(formatFloat, 1, ClipRate, 64), chunk("data", floats64(1, 1e300))), 0, ClipNotFinite, "sample 1, at 0.00 s, is +Inf"},
		{"beyond resampling", riff(format(formatFloat, 1, 16000, 32), chunk("data", floats32(slices.Repeat([]float32{3e38, 3e38, -3e38}, 100)...))), 0, ClipNotFinite, "beyond what can be resampled"},
	} {
		got, info, err := ReadClip(bytes.NewReader(c.file), clipRoom)
		checkClip(t, c.name, got, err, c.reason, c.text)
		sound, _, wrong := ReadSound(bytes.NewReader(c.file), clipRoom)
		if c.reason == ClipSilent {
			checkClip(t, c.name, sound, wrong, "", "")
		} else {
			checkClip(t, c.name, sound, wrong, c.reason, c.text)
		}
		if err == nil && math.Abs(float64(info.Peak)-c.peak) > 0.02*c.peak {
			t.Errorf("%s: peak %g, wanted %g", c.name, info.Peak, c.peak)
		}
	}
}

// checkClip wants samples, or a ClipError of a reason with a text of one line, beginning or part of it.
func checkClip(t *testing.T, name string, got []float32, err error, reason ClipReason, text string) {
	t.Helper()
	var bad *ClipError
	switch {
	case reason == "":
		if err != nil || len(got) == 0 || firstNonFinite(got) >= 0 {
			t.Errorf("%s: %d samples, %v", name, len(got), err)
		}
	case !errors.As(err, &bad):
		t.Errorf("%s: %v, wanted a ClipError", name, err)
	case bad.Reason != reason || !strings.Contains(err.Error(), text) || !strings.HasPrefix(err.Error(), "audio: clip: ") || strings.Contains(err.Error(), "\n") || got != nil:
		t.Errorf("%s: %q (%s), wanted %q (%s)", name, err, bad.Reason, text, reason)
	}
}

// TestClipContent tells files apart by what is in them. The dialects of WAV are those of TestReadWAV; here stands what goes beyond.
func TestClipContent(t *testing.T) {
	data := chunk("data", pcm16(waver(4000, 16000, 0.5), 1))
	plain := format(formatPCM, 1, 16000, 16)
	id3 := append([]byte("ID3\x04\x00\x00\x00\x09\x30\x00"), make([]byte, 9<<14|0x30<<7)...)
	for _, c := range []struct {
		name   string
		file   []byte
		reason ClipReason
		text   string
	}{
		{"wav", riff(plain, data), "", ""},
		{"wav behind an ID3 tag of 150 kB", slices.Concat(id3, riff(plain, data)), "", ""},
		{"fmt of 40 bytes with a plain tag", riff(chunk("fmt ", append(fmtBody(formatPCM, 1, 16000, 2, 16), make([]byte, 24)...)), data), "", ""},
		{"JUNK and LIST before", riff(chunk("JUNK", make([]byte, 27)), chunk("LIST", []byte("INFOISFT\x03\x00\x00\x00abc")), plain, data), "", ""},
		{"data first", riff(data, plain), "", ""},
		{"extensible of 24 bits", riff(extensible(formatPCM, 2, 48000, 24, 20), chunk("data", bytes.Repeat([]byte{1, 2, 3, 4, 5, 6, 9, 9, 9, 0, 0, 1}, 2000))), "", ""},
		{"extensible of floats", riff(extensible(formatFloat, 1, 48000, 32, 32), chunk("data", floats32(waver(4000, 48000, 0.5)...))), "", ""},
		{"size 0", riff(plain, sizedChunk("data", 0, data[8:])), "", ""},
		{"size unknown", riff(plain, sizedChunk("data", math.MaxUint32, data[8:])), "", ""},
		{"size past the end", riff(plain, sizedChunk("data", math.MaxInt32, data[8:])), "", ""},
		{"odd size of 8 bits", riff(format(formatPCM, 1, 8000, 8), chunk("data", pcm16(waver(2000, 8000, 0.5), 1)[:3999])), "", ""},

		{"block align 0", riff(chunk("fmt ", fmtBody(formatPCM, 1, 16000, 0, 16)), data), ClipDamaged, "audio: clip: wav: block align 0, wanted 2"},
		{"no channels", riff(chunk("fmt ", fmtBody(formatPCM, 0, 16000, 2, 16)), data), ClipDamaged, "0 channels, allowed is 1 to 64"},
		{"65535 channels", riff(chunk("fmt ", fmtBody(formatPCM, 65535, 16000, 2, 16)), data), ClipDamaged, "65535 channels"},
		{"rate 0", riff(format(formatPCM, 1, 0, 16), data), ClipDamaged, "sample rate 0 Hz"},
		{"rate of 4000", riff(format(formatPCM, 1, 4000, 16), data), ClipUnsupported, "audio: clip: wav: sample rate 4000 Hz, allowed is 8000 to 192000"},
		{"rate of 384000", riff(format(formatPCM, 1, 384000, 16), data), ClipUnsupported, "sample rate 384000 Hz"},
		{"13 bits", riff(chunk("fmt ", fmtBody(formatPCM, 1, 16000, 2, 13)), data), ClipDamaged, "13 bits"},
		{"A-law", riff(format(6, 1, 8000, 8), data), ClipDamaged, "A-law"},
		{"no data chunk", riff(plain), ClipDamaged, "no data chunk"},
		{"no samples", riff(plain, chunk("data", nil)), ClipDamaged, "audio: clip: wav: no samples"},
		{"MP3 tag, no MP3", riff(format(formatMP3, 1, 16000, 16), data), ClipDamaged, "no frames"},

		{"empty", nil, ClipUnsupported, "audio: clip: the file is empty, allowed is wav, mp3 or flac"},
		{"an ID3 tag and nothing else", id3, ClipUnsupported, "the file is empty"},
		{"PNG named wav", []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"), ClipUnsupported, "audio: clip: the file is a PNG image, allowed is wav, mp3 or flac"},
		{"text", []byte("Hello, this is no sound. Grüße"), ClipUnsupported, "the file is text"},
		{"HTML", []byte("<!doctype html>\n<title>404</title>"), ClipUnsupported, "the file is text"},
		{"Ogg", []byte("OggS\x00\x02\x00\x00"), ClipUnsupported, "Ogg"},
		{"M4A", []byte("\x00\x00\x00\x20ftypM4A \x00\x00"), ClipUnsupported, "MP4 or M4A"},
		{"WebM", []byte("\x1aE\xdf\xa3\x01\x00"), ClipUnsupported, "WebM"},
		{"AIFF", []byte("FORM\x00\x00\x00\x00AIFFCOMM"), ClipUnsupported, "AIFF"},
		{"ADTS", []byte("\xff\xf1\x50\x80\x00\x1f\xfc\xde"), ClipUnsupported, "AAC"},
		{"layer II", []byte("\xff\xfd\x84\x04\x00\x00\x00\x00"), ClipUnsupported, "layer II"},
		{"WEBP in RIFF", []byte("RIFF\x00\x00\x00\x00WEBPVP8 "), ClipUnsupported, "WebP"},
		{"noise", []byte{0x80, 3, 9, 200, 17, 0, 0, 1, 2, 250, 251, 252}, ClipUnsupported, "of no known kind"},
		{"WAVE without RIFF", []byte("ABCD\x00\x00\x00\x00WAVE\x01\x02"), ClipUnsupported, "of no known kind"},
	} {
		got, _, err := ReadClip(bytes.NewReader(c.file), clipRoom)
		checkClip(t, c.name, got, err, c.reason, c.text)
	}
}

// TestClipCut tells a WAV file that ends early from one of unknown length.
func TestClipCut(t *testing.T) {
	data := pcm16(waver(4000, 16000, 0.5), 1)
	plain := format(formatPCM, 1, 16000, 16)
	rf64 := func(size uint64) []byte {
		ds64 := binary.LittleEndian.AppendUint64(make([]byte, 8), size)
		return append([]byte("RF64"), riff(chunk("ds64", append(ds64, make([]byte, 12)...)), plain, sizedChunk("data", math.MaxUint32, data))[4:]...)
	}
	for _, c := range []struct {
		name string
		file []byte
		cut  bool
	}{
		{"whole", riff(plain, chunk("data", data)), false},
		{"a chunk behind", riff(plain, chunk("data", data), chunk("LIST", make([]byte, 20))), false},
		{"size 0", riff(plain, sizedChunk("data", 0, data)), false},
		{"largest size", riff(plain, sizedChunk("data", math.MaxUint32, data)), false},
		{"largest size less a header", riff(plain, sizedChunk("data", math.MaxUint32-36, data)), false},
		{"largest signed size", riff(plain, sizedChunk("data", math.MaxInt32, data)), false},
		{"largest signed size less a header", riff(plain, sizedChunk("data", math.MaxInt32-36, data)), false},
		{"largest signed size in whole pages", riff(plain, sizedChunk("data", 0x7ffff000, data)), false},
		{"a sample is missing", riff(plain, sizedChunk("data", uint32(len(data)+2), data)), true},
		{"half is missing", riff(plain, sizedChunk("data", uint32(2*len(data)), data)), true},
		{"RF64", rf64(uint64(len(data))), false},
		{"RF64, half is missing", rf64(uint64(2 * len(data))), true},
	} {
		got, info, err := ReadClip(bytes.NewReader(c.file), clipRoom)
		if err != nil || info.Truncated != c.cut || len(got) != 6000 {
			t.Errorf("%s: cut %v, %d samples, error %v", c.name, info.Truncated, len(got), err)
		}
	}
}

// TestClipLimits counts bytes and seconds.
func TestClipLimits(t *testing.T) {
	file := wav16(16000, waver(16000, 16000, 0.5), 1)
	for _, c := range []struct {
		name   string
		limits Limits
		reason ClipReason
		text   string
	}{
		{"just enough", Limits{Bytes: int64(len(file)), Seconds: 1}, "", ""},
		{"a byte too few", Limits{Bytes: int64(len(file)) - 1, Seconds: 1}, ClipTooLarge, fmt.Sprintf("audio: clip: more than %d bytes", len(file)-1)},
		{"a moment too short", Limits{Bytes: 1 << 20, Seconds: 0.9999}, ClipTooLong, "audio: clip: wav: 1.00 s or more, allowed is at most 0.9999"},
		{"none", Limits{}, ClipTooLarge, "more than 0 bytes"},
		{"no seconds", Limits{Bytes: 1 << 20, Seconds: math.NaN()}, ClipTooLong, "allowed is at most NaN"},
	} {
		got, _, err := ReadClip(bytes.NewReader(file), c.limits)
		checkClip(t, c.name, got, err, c.reason, c.text)
	}
	broken := errors.New("the line is dead")
	if _, _, err := ReadClip(io.MultiReader(bytes.NewReader(file), iotest.ErrReader(broken)), clipRoom); !errors.Is(err, broken) {
		t.Errorf("a broken reader: %v", err)
	}
	one, _, err1 := ReadClip(iotest.OneByteReader(bytes.NewReader(file)), clipRoom)
	all, _, err2 := ReadClip(bytes.NewReader(file), clipRoom)
	if err1 != nil || err2 != nil || !slices.Equal(one, all) {
		t.Errorf("byte by byte it is another clip: %v, %v", err1, err2)
	}
}

// TestClipPanic makes a decoder panic.
func TestClipPanic(t *testing.T) {
	m := &mixer{format: "mp3", seconds: 9, only: average}
	_, err := m.run(func(m *mixer, file []byte) (flaws, error) {
		if err := m.begin(8000, 1); err != nil {
			return flaws{}, err
		}
		if err := m.add(make([]float32, 4000)); err != nil {
			return flaws{}, err
		}
		return flaws{}, fmt.Errorf("%d", file[1])
	}, []byte{1})
	checkClip(t, "panic", nil, err, ClipDamaged, "audio: clip: mp3: damaged: the decoder gave up after 0.50 s")
}

// TestQuiet wants other lines of the program's log to pass.
func TestQuiet(t *testing.T) {
	var b bytes.Buffer
	before, flags := log.Writer(), log.Flags()
	defer func() { log.SetOutput(before); log.SetFlags(flags) }()
	log.SetFlags(0)
	log.SetOutput(&b)
	file := flacFile(t, 24000, waver(24000, 24000, 0.5))
	for range 2 {
		if _, _, err := ReadClip(bytes.NewReader(file), clipRoom); err != nil {
			t.Fatal(err)
		}
		log.Print("still here")
	}
	if b.String() != "still here\nstill here\n" {
		t.Errorf("logged %q", b.String())
	}
}

// FuzzReadClip wants an error or samples of any bytes.
func FuzzReadClip(f *testing.F) {
	f.Add(wav16(16000, waver(400, 16000, 0.5), 1, -1))
	f.Add(riff(extensible(formatFloat, 2, 48000, 32, 32), chunk("data", floats32(waver(100, 48000, 0.5)...))))
	for _, rate := range []int{8000, 11025, 16000, 22050, 24000, 44100} {
		file := mp3File(f, rate, 0, waver(rate/5, rate, 0.5))
		f.Add(file)
		f.Add(riff(format(formatMP3, 1, rate, 16), chunk("data", file)))
	}
	f.Add(flacFile(f, 24000, waver(4000, 24000, 0.5)))
	f.Add(stereoFLAC(f, 48000, 24, 2000))
	f.Add([]byte("ID3\x04\x00\x00\x7f\x7f\x7f\x7f"))
	f.Fuzz(func(t *testing.T, file []byte) {
		limits := Limits{Bytes: 1 << 16, Seconds: 4}
		samples, info, err := ReadClip(bytes.NewReader(file), limits)
		if err != nil {
			var bad *ClipError
			if !errors.As(err, &bad) || bad.Text == "" || strings.ContainsAny(err.Error(), "\n\r") {
				t.Errorf("%q", err)
			}
			return
		}
		if len(samples) == 0 || firstNonFinite(samples) >= 0 || info.Seconds > limits.Seconds || info.Rate == 0 || info.Channels == 0 {
			t.Errorf("%d samples, %+v", len(samples), info)
		}
	})
}
