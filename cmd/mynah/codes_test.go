package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/mynah-tts/mynah/internal/audio"
)

// TestCodesFile reads back what was written.
func TestCodesFile(t *testing.T) {
	for _, n := range []int{1, 1919, 1920, 1921, 4000} {
		f := codesFile{SampleRate: 24000, FrameRate: 12.5, Codebook: 2048, Samples: &n}
		for i := range (n + 1919) / 1920 {
			f.Codes = append(f.Codes, []int32{int32(i), 0, 2047})
		}
		back, err := readCodes("f", bytes.NewReader(f.bytes()), codecForm{3, 2048, 24000, 1920})
		if err != nil || !reflect.DeepEqual(*back, f) {
			t.Errorf("%d samples: %+v, %v", n, back, err)
		}
	}
}

// TestCodesOfOthers: codes of another codec are one line about what is different.
func TestCodesOfOthers(t *testing.T) {
	const hint = ": --model names the codec that made the codes"
	for file, want := range map[string]string{
		`{"codebook_size": 2048, "codes": [[1, 2]]}`:                 "f: codebook_size is 2048, this codec's is 256" + hint,
		`{"codebook_size": 256, "codes": [[1, 2], [1, 2, 3]]}`:       "f: frame 1 has 3 codes, this codec's have 2" + hint,
		`{"sample_rate": 16000, "codes": [[1, 2]]}`:                  "f: sample_rate is 16000, this codec's is 24000",
		`{"frame_rate": 25, "codebook_size": 2, "codes": [[1, 2]]}`:  "f: frame_rate is 25, this codec's is 12.5",
		`{"codebook_size": 256, "codes": [[1, 2]], "samples": 1920}`: "",
		`{"codes": [[1, 2]]}`:                                        "",
	} {
		_, err := readCodes("f", strings.NewReader(file), codecForm{2, 256, 24000, 1920})
		if got := fmt.Sprint(err); got != want && (want != "" || err != nil) {
			t.Errorf("%s: %s, want %s", file, got, want)
		}
	}
}

// TestWrittenOver: a file is only written over by its own kind.
func TestWrittenOver(t *testing.T) {
	for content, want := range map[string]struct{ audio, pcm, codes bool }{
		"RIFF\x04\x00\x00\x00WAVE":            {audio: true, pcm: true},
		"fLaC\x00\x00":                        {audio: true, pcm: true},
		"OggS\x00\x02":                        {audio: true, pcm: true},
		"ID3\x04\x00":                         {audio: true, pcm: true},
		"\xff\xfb\x90":                        {audio: true, pcm: true}, // MP3
		"\xff\xf1\x50":                        {audio: true, pcm: true}, // AAC
		"\x00\x00\x03\x00\xfd\xff":            {pcm: true},
		"\xff\xd8\xff\xe0":                    {pcm: true}, // a picture: bare samples begin like anything
		"\xff\xfea\x00":                       {pcm: true}, // UTF-16
		"a diary\n":                           {},
		strings.Repeat("ä", 300) + "z":        {}, // text with a character across the 512th byte
		"x" + strings.Repeat("ä", 300):        {},
		`{"codes": [[1]]}`:                    {codes: true},
		`{"samples": 3, "codes": [[1]]}`:      {codes: true},
		`{"codes": [[1]], "x_vector": [0.5]}`: {},
		`{"name": "page"}`:                    {},
		`{"codes": [[1]]`:                     {},
	} {
		path := filepath.Join(t.TempDir(), "f")
		if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
		if !holdsSomething(path) {
			t.Errorf("%q is nothing", content)
		}
		if got := isAudioFile(path, audio.WAV); got != want.audio {
			t.Errorf("%q is audio: %t", content, got)
		}
		if got := isAudioFile(path, audio.PCM); got != want.pcm {
			t.Errorf("%q is samples: %t", content, got)
		}
		if got := isCodesFile(path); got != want.codes {
			t.Errorf("%q is codes: %t", content, got)
		}
	}
	if dir := t.TempDir(); holdsSomething(dir) || holdsSomething(filepath.Join(dir, "none")) {
		t.Error("a folder or nothing is a file that is written over")
	}
}

// FuzzReadCodes: whatever is in a file, what comes out fits the codec.
func FuzzReadCodes(f *testing.F) {
	for _, s := range []string{
		`{"codes": [[1,2],[3,4]]}`, `{"samples": 3000, "sample_rate": 24000, "codes": [[1,2],[3,4]]}`, `{"samples": -1, "codes": [[1,2]]}`,
		`{"samples": null, "codes": [[1,2]]}`, `{"codes": [null]}`, `{"codes": 5}`, `[]`, ``, `{"codes": [[1e9,2]]}`, `{"samples": 9223372036854775807, "codes": [[1,2]]}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := readCodes("f", strings.NewReader(s), codecForm{2, 2048, 24000, 1920})
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("an error of several lines: %v", err)
			}
			return
		}
		frames := len(got.Codes)
		if n := *got.Samples; frames == 0 || n <= (frames-1)*1920 || n > frames*1920 {
			t.Errorf("%d samples of %d frames", n, frames)
		}
		for _, frame := range got.Codes {
			if len(frame) != 2 {
				t.Errorf("a frame of %d codes", len(frame))
			}
		}
	})
}
