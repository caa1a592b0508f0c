package main

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
)

// TestCodesFile reads back what was written.
func TestCodesFile(t *testing.T) {
	for _, n := range []int{1, 1919, 1920, 1921, 4000} {
		f := codesFile{SampleRate: 24000, FrameRate: 12.5, Samples: &n}
		for i := range (n + 1919) / 1920 {
			f.Codes = append(f.Codes, []int32{int32(i), 0, 2047})
		}
		back, err := readCodes("f", bytes.NewReader(f.bytes()), 3, 24000, 1920)
		if err != nil || !reflect.DeepEqual(*back, f) {
			t.Errorf("%d samples: %+v, %v", n, back, err)
		}
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
		got, err := readCodes("f", strings.NewReader(s), 2, 24000, 1920)
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
