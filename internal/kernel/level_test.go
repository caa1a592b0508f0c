package kernel

import (
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/mynah-tts/mynah/internal/cpu"
)

// The versions for AVX-512 and for VNNI and BF16 were also run where the CPU has none of them: these tests, built as a static binary, inside
// a small Linux on an emulator (Bochs 3, models corei7_skylake_x, corei7_icelake_u, sapphire_rapids and arrow_lake).

// eachLevel runs a test once for every level that this machine and this build have.
func eachLevel(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	for _, l := range levels() {
		t.Run(l.String(), func(t *testing.T) {
			defer SetLevel(l)()
			if Level() != l {
				t.Fatalf("Level() = %v after SetLevel(%v)", Level(), l)
			}
			test(t)
		})
	}
}

// TestRequireLevel fails if the level that runs without SetLevel is not the one named by MYNAH_REQUIRE_CPU, or if the CPU lacks what
// is named after it, as in avx512+vnni+bf16 or avx2+vnni. Whoever runs the tests to prove a level sets it, so that no other
// instructions pass in their place.
func TestRequireLevel(t *testing.T) {
	all := os.Getenv("MYNAH_REQUIRE_CPU")
	if all == "" {
		t.Skip("MYNAH_REQUIRE_CPU is not set")
	}
	names := strings.Split(all, "+")
	want, err := cpu.ParseLevel(names[0])
	if err != nil {
		t.Fatal(err)
	}
	if Level() != want {
		t.Errorf("the kernels run at level %v, MYNAH_REQUIRE_CPU demands %v", Level(), want)
	}
	f := cpu.Detect()
	have := map[string]bool{"vnni": f.AVXVNNI && want == cpu.AVX2 || f.AVX512VNNI && want == cpu.AVX512, "bf16": DotsBF16()}
	for _, name := range names[1:] {
		if !have[name] {
			t.Errorf("the CPU has no %s at level %v, MYNAH_REQUIRE_CPU demands it", name, want)
		}
	}
}

func TestSetLevel(t *testing.T) {
	before := Level()
	restore := SetLevel(cpu.Generic)
	if Level() != cpu.Generic {
		t.Errorf("Level() = %v after SetLevel(generic)", Level())
	}
	restore()
	if Level() != before {
		t.Errorf("Level() = %v after restore, was %v", Level(), before)
	}
	mustPanic(t, "level above the best", func() { SetLevel(bestLevel() + 1) })
	mustPanic(t, "negative level", func() { SetLevel(-1) })
}

func mustPanic(t *testing.T, what string, f func()) {
	t.Helper()
	defer func() {
		if recover() == nil {
			t.Errorf("%s: no panic", what)
		}
	}()
	f()
}

// sentinel lies around the slices that kernels write to.
const sentinel = -12345.678

// place is where a test puts a slice: at an offset of 0 to 7 elements between sentinels, or against memory that must not be touched.
type place int

const (
	pageEnd   place = 8 // the slice ends where memory ends
	pageStart place = 9 // the slice begins where memory begins
)

// places are all places.
var places = []place{0, 1, 2, 3, 4, 5, 6, 7, pageEnd, pageStart}

// f32 returns n random numbers in [-1, 1) in the given place, and a function that reports writes around them.
func f32(t *testing.T, rng *rand.Rand, p place, n int) (x []float32, check func()) {
	t.Helper()
	if p >= pageEnd {
		x = guarded[float32](t, n, p == pageEnd)
		for i := range x {
			x[i] = 2*rng.Float32() - 1
		}
		return x, func() {}
	}
	lead := 16 + int(p)
	buf := make([]float32, lead+n+16)
	for i := range buf {
		buf[i] = sentinel
	}
	x = buf[lead : lead+n : lead+n]
	for i := range x {
		x[i] = 2*rng.Float32() - 1
	}
	return x, func() {
		t.Helper()
		for i, v := range buf {
			if v != sentinel && (i < lead || i >= lead+n) {
				t.Fatalf("element %d, outside of %d, was written to", i-lead, n)
			}
		}
	}
}

// bf16 returns n random bfloat16 numbers in the given place.
func bf16(t *testing.T, rng *rand.Rand, p place, n int) []uint16 {
	t.Helper()
	var x []uint16
	if p >= pageEnd {
		x = guarded[uint16](t, n, p == pageEnd)
	} else {
		x = make([]uint16, int(p)+n)[p:]
	}
	for i := range x {
		x[i] = narrow(2*rng.Float32() - 1)
	}
	return x
}

// narrow cuts a float32 to bfloat16.
func narrow(v float32) uint16 { return uint16(math.Float32bits(v) >> 16) }

func newRand() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

func equalBits(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) }

// mustMatch compares two slices bit for bit.
func mustMatch(t *testing.T, what string, got, want []float32) {
	t.Helper()
	for i := range want {
		if !equalBits(got[i], want[i]) {
			t.Fatalf("%s: element %d is %v (%#08x), want %v (%#08x)", what, i, got[i], math.Float32bits(got[i]), want[i], math.Float32bits(want[i]))
		}
	}
}

// near fails if got is not within bound of want.
func near(t *testing.T, what string, got float32, want, bound float64) {
	t.Helper()
	if d := math.Abs(float64(got) - want); !(d <= bound) {
		t.Fatalf("%s: %v, want %v within %v", what, got, want, bound)
	}
}

// halfULP is half the distance of float32 numbers at 1: the largest relative error of one rounding.
const halfULP = 1.0 / (1 << 24)

// sumBound is the largest error of a sum of n products of the given total magnitude in eight or more lanes.
func sumBound(n int, magnitude float64) float64 {
	return (float64(n/8) + 6) * halfULP * magnitude
}
