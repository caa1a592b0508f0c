package sampler

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The bytes of every seed's audio rest on these numbers. If this test fails, a new
// version would speak every seed differently: change the label and say so in the
// release notes, or find out what changed.
func TestGeneratorKeepsItsNumbers(t *testing.T) {
	tests := []struct {
		seed, segment uint64
		want          []float64
	}{
		{42, 0, []float64{1.3001861393525578, 0.9084702680442687, 0.07164803625111178, 0.298104307366473, 0.5383445104242771, 1.6058388713804916}},
		{42, 1, []float64{1.0668485565840662, 3.705413801516056, 1.0387166811304585, 1.0315212525695738}},
		{0, 0, []float64{0.3730661692459213, 2.3616589139925166, 0.6501379450642955, 1.4352469586456555}},
		{math.MaxUint64, 7, []float64{1.2506735819669415, 0.6068181829410396, 0.9731392928677198, 0.0026145563579962894}},
	}
	for _, test := range tests {
		g := NewGenerator(test.seed, test.segment)
		got := make([]float64, len(test.want))
		for i := range got {
			got[i] = g.Exp()
		}
		for i := range got {
			if got[i] != test.want[i] {
				t.Errorf("seed %d segment %d: %v, wanted %v", test.seed, test.segment, got, test.want)
				break
			}
		}
	}
}

func TestGeneratorReset(t *testing.T) {
	fresh, used := NewGenerator(5, 6), NewGenerator(1, 2)
	for range 77 {
		used.Exp()
	}
	used.Reset(5, 6)
	for i := range 100 {
		if a, b := fresh.Exp(), used.Exp(); a != b {
			t.Fatalf("variate %d after Reset is %v, of a new generator %v", i, b, a)
		}
	}
}

func TestGeneratorKeysDiffer(t *testing.T) {
	first := map[float64][2]uint64{}
	for seed := range uint64(40) {
		for segment := range uint64(40) {
			e := NewGenerator(seed, segment).Exp()
			if other, ok := first[e]; ok {
				t.Fatalf("keys %v and %v begin with the same variate %v", other, [2]uint64{seed, segment}, e)
			}
			first[e] = [2]uint64{seed, segment}
		}
	}
}

// Fill takes exactly one variate for each id, in order.
func TestGeneratorFill(t *testing.T) {
	filled, single := NewGenerator(3, 0), NewGenerator(3, 0)
	for n := range 50 {
		dst := make([]float32, n)
		if err := filled.Fill(dst, make([]int32, n)); err != nil {
			t.Fatal(err)
		}
		for i, e := range dst {
			if want := float32(single.Exp()); e != want {
				t.Fatalf("fill of %d: variate %d is %v, wanted %v", n, i, e, want)
			}
		}
	}
}

func TestGeneratorIsExponential(t *testing.T) {
	g := NewGenerator(9, 0)
	const draws, bins = 100000, 20
	var count [bins]int
	for range draws {
		// 1 - exp(-e) is uniform.
		count[min(bins-1, int(-math.Expm1(-g.Exp())*bins))]++
	}
	chi := 0.0
	for _, n := range count {
		d := float64(n) - draws/bins
		chi += d * d / (draws / bins)
	}
	if chi > 43.8 { // 19 degrees of freedom, 0.1 %
		t.Errorf("chi-square %.1f over %v", chi, count)
	}
}

// zeros is a source from which ExpFloat64 makes 0.
type zeros struct{}

func (zeros) Uint64() uint64 { return 0 }

func TestExponentialIsNeverZero(t *testing.T) {
	r := rand.New(zeros{})
	if e := r.ExpFloat64(); e != 0 {
		t.Fatalf("the source was to give 0, it gives %v", e)
	}
	g := &Generator{rand: r}
	if e := g.Exp(); !(e > 0) {
		t.Errorf("variate %v, wanted more than 0", e)
	}
	var dst [1]float32
	if err := g.Fill(dst[:], []int32{0}); err != nil || !(dst[0] > 0) {
		t.Errorf("filled %v (%v), wanted more than 0", dst, err)
	}
	// An id that is practically impossible does not win because its variate is 0,
	// and one without any probability makes no NaN.
	for _, p := range []float32{1e-12, 1e-30, 0} {
		if at, err := race([]float32{p, 1 - p}, []float32{dst[0], 1}); err != nil || at != 1 {
			t.Errorf("probability %v with a zero variate: chose %d (%v), wanted 1", p, at, err)
		}
	}
}

func TestRace(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	tests := []struct {
		name         string
		probs, noise []float32
		want         int // -1: an error
	}{
		{"largest quotient", []float32{0.5, 0.3, 0.2}, []float32{1, 0.1, 1}, 1},
		{"equal quotients", []float32{0.2, 0.4, 0.4}, []float32{1, 1, 1}, 1},
		{"only one", []float32{1}, []float32{3}, 0},
		{"endless noise", []float32{1}, []float32{inf}, 0},
		{"no probability", []float32{0, 1}, []float32{0, 5}, 1},
		{"no number", []float32{0.5, 0.5}, []float32{nan, nan}, -1},
		{"below 0", []float32{0.5, 0.5}, []float32{-1, -2}, -1},
	}
	for _, test := range tests {
		at, err := race(test.probs, test.noise)
		if (err != nil) != (test.want < 0) || err == nil && at != test.want {
			t.Errorf("%s: %d (%v), wanted %d", test.name, at, err, test.want)
		}
	}
}

func TestRecordedEnds(t *testing.T) {
	r := NewRecorded([]float32{1, 2, 3})
	dst := make([]float32, 2)
	if err := r.Fill(dst, []int32{0, 3}); err == nil {
		t.Error("an id outside the row was filled")
	}
	if err := r.Fill(dst, []int32{0, 2}); err != nil || dst[0] != 1 || dst[1] != 3 {
		t.Errorf("filled %v (%v), wanted [1 3]", dst, err)
	}
	if err := r.Fill(dst, []int32{0, 2}); err == nil {
		t.Error("a row after the last was filled")
	}
}
