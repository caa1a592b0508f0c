package codec

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/mynah-tts/mynah/internal/nn"
)

// decode runs a whole stream in steps of the given sizes, in turn.
func decode(t testing.TB, d *Decoder, wk *nn.Work, sc *Scratch, s *State, codes []int32, steps ...int) []float32 {
	t.Helper()
	n := len(codes) / d.Groups()
	samples := make([]float32, n*d.Hop())
	for from, i := 0, 0; from < n; i++ {
		to := min(from+steps[i%len(steps)], n)
		if err := d.Decode(wk, sc, s, samples[from*d.Hop():to*d.Hop()], codes[from*d.Groups():to*d.Groups()]); err != nil {
			t.Fatal(err)
		}
		from = to
	}
	return samples
}

// sound fails the test if samples could be equal to others by being nothing.
func sound(t testing.TB, samples []float32) {
	t.Helper()
	if !slices.ContainsFunc(samples, func(v float32) bool { return v > 0.01 && v < 1 }) {
		t.Fatal("the waveform is silent or clipped, it proves nothing")
	}
}

// TestStepsEqualOnePass cuts a stream in many ways, with every number of workers: always the same samples, bit for bit.
func TestStepsEqualOnePass(t *testing.T) {
	for _, p := range precisions {
		if slow(Precision(p)) {
			continue // TestBatchEqualsAlone cuts it too
		}
		t.Run(p, func(t *testing.T) { testSteps(t, oddDecoderAt(t, Precision(p))) })
	}
}

func testSteps(t *testing.T, d *Decoder) {
	const frames = 60
	codes := randomCodes(d, frames, 1)
	want := decode(t, d, work(t, 1), d.NewScratch(frames), d.NewState(frames), codes, frames)
	sound(t, want)

	rng := rand.New(rand.NewPCG(7, 7))
	random := make([]int, 40)
	for i := range random {
		random[i] = 1 + rng.IntN(12)
	}
	for _, workers := range []int{1, 2, 3} {
		wk := work(t, workers)
		for _, c := range []struct {
			name           string
			scratch, state int // frames
			steps          []int
		}{
			{"whole", frames, frames, []int{frames}},
			{"1", 1, 1, []int{1}},
			{"2", 2, 2, []int{2}},
			{"3", 3, 3, []int{3}},
			{"7", 7, 7, []int{7}},
			{"25", 25, 25, []int{25}},
			{"random", 12, 12, random},
			{"longer than the scratch", 4, 9, random},
			{"longer than the state", 25, 1, random},
			{"none, many, one", 3, 8, []int{0, 25, 1}},
		} {
			t.Run(fmt.Sprintf("%s/workers=%d", c.name, workers), func(t *testing.T) {
				got := decode(t, d, wk, d.NewScratch(c.scratch), d.NewState(c.state), codes, c.steps...)
				for i := range want {
					if got[i] != want[i] {
						t.Fatalf("sample %d is %g, one pass gives %g", i, got[i], want[i])
					}
				}
			})
		}
	}
}

// TestStreamsShareScratch decodes two streams in turn with one scratch, and one after the other with one state.
func TestStreamsShareScratch(t *testing.T) {
	d := oddDecoder(t)
	wk, sc := work(t, 2), d.NewScratch(5)
	a, b := d.NewState(5), d.NewState(5)
	codesA, codesB := randomCodes(d, 30, 1), randomCodes(d, 30, 2)
	wantA := decode(t, d, wk, sc, a, codesA, 5)
	a.Reset()
	wantB := decode(t, d, wk, sc, a, codesB, 5)
	sound(t, wantA)
	if slices.Equal(wantA, wantB) {
		t.Fatal("two streams of different codes are equal")
	}
	a.Reset()
	step := 3
	g, h := d.Groups()*step, d.Hop()*step
	for i := range 10 {
		gotA := decode(t, d, wk, sc, a, codesA[i*g:(i+1)*g], step)
		gotB := decode(t, d, wk, sc, b, codesB[i*g:(i+1)*g], step)
		if !slices.Equal(gotA, wantA[i*h:(i+1)*h]) || !slices.Equal(gotB, wantB[i*h:(i+1)*h]) {
			t.Fatalf("step %d: streams that take turns differ from streams alone", i)
		}
	}
}

// TestLongStream goes far beyond the window: memory stays as it was, and the samples those of one pass.
func TestLongStream(t *testing.T) {
	d := oddDecoder(t)
	wk := work(t, 1)
	const frames = 1000
	codes := randomCodes(d, frames, 3)
	want := decode(t, d, wk, d.NewScratch(frames), d.NewState(frames), codes, frames)
	s := d.NewState(1)
	before := s.Bytes()
	got := decode(t, d, wk, d.NewScratch(1), s, codes, 1)
	if !slices.Equal(got, want) {
		t.Error("1000 steps differ from one pass")
	}
	if after := s.Bytes(); after != before {
		t.Errorf("the state grew from %d to %d bytes", before, after)
	}
	if s.Frames() != frames {
		t.Errorf("%d frames counted, wanted %d", s.Frames(), frames)
	}
}

// TestDecodeAllocatesNothing guards the step of a running stream.
func TestDecodeAllocatesNothing(t *testing.T) {
	d := oddDecoder(t)
	for _, workers := range []int{1, 2} {
		for _, frames := range []int{1, 4} {
			wk, sc, s := work(t, workers), d.NewScratch(frames), d.NewState(frames)
			codes, dst := randomCodes(d, frames, 1), make([]float32, frames*d.Hop())
			n := testing.AllocsPerRun(50, func() {
				if err := d.Decode(wk, sc, s, dst, codes); err != nil {
					t.Fatal(err)
				}
			})
			if n != 0 {
				t.Errorf("%d workers, %d frames: %v allocations a step, wanted 0", workers, frames, n)
			}
		}
	}
}

// TestChunkedHasSeams pins down what the reference's offline decoding is: equal to one pass up to its first seam, not after it.
func TestChunkedHasSeams(t *testing.T) {
	d := oddDecoder(t)
	wk, sc := work(t, 1), d.NewScratch(8)
	const frames = referenceChunk + 20
	codes := randomCodes(d, frames, 4)
	whole := decode(t, d, wk, sc, d.NewState(8), codes, frames)
	chunked, err := d.DecodeChunked(wk, sc, codes)
	if err != nil {
		t.Fatal(err)
	}
	seam := referenceChunk * d.Hop()
	if len(chunked) != len(whole) || !slices.Equal(chunked[:seam], whole[:seam]) {
		t.Errorf("%d samples, wanted %d that equal one pass up to the seam", len(chunked), len(whole))
	}
	context := referenceChunk - referenceContext
	fresh := decode(t, d, wk, sc, d.NewState(8), codes[context*d.Groups():], frames)
	if !slices.Equal(chunked[seam:], fresh[referenceContext*d.Hop():]) {
		t.Error("the second chunk is not that of a fresh stream begun 25 frames before it")
	}
	if _, err := d.DecodeChunked(wk, sc, nil); err == nil {
		t.Error("no error for no frames")
	}
}

// TestDecodeRefuses checks that bad arguments change nothing.
func TestDecodeRefuses(t *testing.T) {
	d := oddDecoder(t)
	wk, sc, s := work(t, 1), d.NewScratch(4), d.NewState(4)
	codes := randomCodes(d, 8, 5)
	want := decode(t, d, wk, sc, s, codes, 8)
	s.Reset()
	half := 4 * d.Groups()
	got := decode(t, d, wk, sc, s, codes[:half], 4)

	for _, bad := range []int32{-1, int32(d.Codes()), 1 << 30, -1 << 31} {
		wrong := slices.Clone(codes[half:])
		wrong[2*d.Groups()+3] = bad
		err := d.Decode(wk, sc, s, make([]float32, 4*d.Hop()), wrong)
		var code *CodeError
		if !errors.As(err, &code) {
			t.Fatalf("code %d: %v, wanted a CodeError", bad, err)
		}
		if want := (CodeError{Frame: 6, Group: 3, Code: bad, Bound: 11}); *code != want {
			t.Errorf("code %d: %+v, wanted %+v", bad, *code, want)
		}
	}
	for _, c := range []struct{ codes, samples int }{{half - 1, 4 * d.Hop()}, {half, 4*d.Hop() - 1}, {half, 0}, {0, 1}} {
		if err := d.Decode(wk, sc, s, make([]float32, c.samples), codes[:c.codes]); err == nil {
			t.Errorf("no error for %d codes and %d samples", c.codes, c.samples)
		}
	}
	other := oddDecoder(t)
	if err := other.Decode(wk, sc, s, nil, nil); err == nil {
		t.Error("no error for the state of another decoder")
	}
	if got = append(got, decode(t, d, wk, sc, s, codes[half:], 4)...); !slices.Equal(got, want) {
		t.Error("refused calls changed the stream")
	}
}
