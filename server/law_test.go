package server

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"math"
	"testing"
)

// The bytes of all 65,536 samples are those of the reference code of ITU-T G.191, by their checksums
// and by samples at the borders of segments.
func TestLaws(t *testing.T) {
	for _, tc := range []struct {
		law  *law
		sum  uint32
		some map[int16]byte
	}{
		{muLaw, 0x6399d432, map[int16]byte{0: 0xFF, -1: 0x7F, 8: 0xFE, 132: 0xEF, 32767: 0x80, -32768: 0x00, 1000: 0xCE, -1000: 0x4E}},
		{aLaw, 0x9133796e, map[int16]byte{0: 0xD5, -1: 0x55, 16: 0xD4, 512: 0xF5, 32767: 0xAA, -32768: 0x2A, 1000: 0xFA, -1000: 0x7A}},
	} {
		t.Run(tc.law.name, func(t *testing.T) {
			var samples []byte
			for s := math.MinInt16; s <= math.MaxInt16; s++ {
				samples = binary.LittleEndian.AppendUint16(samples, uint16(s))
			}
			var whole, cut bytes.Buffer
			w := &lawWriter{law: tc.law, to: &whole}
			if n, err := w.Write(samples); n != len(samples) || err != nil {
				t.Fatal(n, err)
			}
			w = &lawWriter{law: tc.law, to: &cut}
			for p := samples; len(p) > 0; p = p[min(3, len(p)):] { // writes may end within a sample
				if _, err := w.Write(p[:min(3, len(p))]); err != nil {
					t.Fatal(err)
				}
			}
			if !bytes.Equal(whole.Bytes(), cut.Bytes()) {
				t.Error("how samples are cut changes bytes")
			}
			if got := crc32.ChecksumIEEE(whole.Bytes()); got != tc.sum {
				t.Errorf("checksum %#x, want %#x", got, tc.sum)
			}
			for sample, want := range tc.some {
				if got := tc.law.byteOf(sample); got != want {
					t.Errorf("%d is %#x, want %#x", sample, got, want)
				}
			}
		})
	}
}
