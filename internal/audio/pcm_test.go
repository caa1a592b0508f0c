package audio

import (
	"encoding/binary"
	"errors"
	"math"
	"testing"
)

func TestInt16(t *testing.T) {
	const lsb = 1.0 / 32768
	tests := []struct {
		x    float32
		want int16
	}{
		{0, 0}, {float32(math.Copysign(0, -1)), 0},
		{1, 32767}, {-1, -32768},
		{1.5, 32767}, {-1.5, -32768},
		{math.MaxFloat32, 32767}, {-math.MaxFloat32, -32768},
		{math.SmallestNonzeroFloat32, 0},
		{0.5, 16384}, {-0.5, -16384},
		{32767 * lsb, 32767}, {32767.4 * lsb, 32767}, {32767.6 * lsb, 32767},
		{-32768.4 * lsb, -32768}, {-32767.6 * lsb, -32768},
		{0.4 * lsb, 0}, {0.6 * lsb, 1}, {-0.6 * lsb, -1},
		{0.5 * lsb, 0}, {1.5 * lsb, 2}, {2.5 * lsb, 2}, {-0.5 * lsb, 0}, {-1.5 * lsb, -2}, // half to even
	}
	for _, test := range tests {
		var dst [1]int16
		if err := Int16(dst[:], []float32{test.x}); err != nil || dst[0] != test.want {
			t.Errorf("%v becomes %d (%v), wanted %d", test.x, dst[0], err, test.want)
		}
		bytes, err := AppendPCM16([]byte{7}, []float32{test.x})
		if err != nil || len(bytes) != 3 || bytes[0] != 7 || int16(binary.LittleEndian.Uint16(bytes[1:])) != test.want {
			t.Errorf("%v appends %v (%v), wanted the bytes of %d", test.x, bytes, err, test.want)
		}
	}
}

// Every 16-bit sample survives the way to float and back.
func TestInt16RoundTrip(t *testing.T) {
	var dst [1]int16
	for v := math.MinInt16; v <= math.MaxInt16; v++ {
		if err := Int16(dst[:], []float32{float32(v) / 32768}); err != nil || int(dst[0]) != v {
			t.Fatalf("%d came back as %d (%v)", v, dst[0], err)
		}
	}
}

func TestNoSampleFromNaN(t *testing.T) {
	for _, bad := range []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1))} {
		samples := []float32{0.5, 0.5, bad, 0.5}
		dst := []int16{1, 2, 3, 4}
		var sample *SampleError
		if err := Int16(dst, samples); !errors.As(err, &sample) || sample.Index != 2 {
			t.Errorf("%v: error %v, wanted a SampleError at 2", bad, err)
		}
		if dst[0] != 1 || dst[3] != 4 {
			t.Errorf("%v: converted %v, wanted nothing", bad, dst)
		}
		bytes, err := AppendPCM16([]byte{9}, samples)
		if !errors.As(err, &sample) || sample.Index != 2 || len(bytes) != 1 {
			t.Errorf("%v: appended %v (%v), wanted nothing and a SampleError at 2", bad, bytes, err)
		}
	}
	const want = "audio: sample 2 is NaN"
	if err := Int16(make([]int16, 3), []float32{0, 0, float32(math.NaN())}); err == nil || err.Error() != want {
		t.Errorf("error %q, wanted %q", err, want)
	}
}

func TestAppendPCM16DoesNotAllocate(t *testing.T) {
	samples, buf := make([]float32, 1920), make([]byte, 0, 3840)
	if n := testing.AllocsPerRun(100, func() {
		if _, err := AppendPCM16(buf, samples); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations, wanted 0", n)
	}
}

func BenchmarkAppendPCM16(b *testing.B) {
	samples, buf := make([]float32, 1920), make([]byte, 0, 3840)
	for i := range samples {
		samples[i] = float32(math.Sin(float64(i)))
	}
	b.SetBytes(int64(2 * len(samples)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := AppendPCM16(buf, samples); err != nil {
			b.Fatal(err)
		}
	}
}
