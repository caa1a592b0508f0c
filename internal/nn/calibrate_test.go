package nn

import (
	"math"
	"testing"

	"github.com/mynah-tts/mynah/internal/kernel"
	"github.com/mynah-tts/mynah/internal/team"
)

// alike returns rows that have much in common, as a model's rows do.
func alike(n, width, seed int) []float32 {
	common, own := inputs(9, width)[width:], inputs(n*(seed+1), width)[n*seed*width:]
	x := make([]float32, n*width)
	for r := range n {
		row := x[r*width : (r+1)*width]
		for s := range 8 {
			kernel.AxpyF32(row, own[r*width+s], common[s*width:(s+1)*width])
		}
		kernel.AxpyF32(row, 0.2, own[r*width:(r+1)*width])
	}
	return x
}

// TestCalibration packs a stack by what it hears: the same codes by one worker and by
// three, outputs that are those of the stack, and a lower error on other rows of the
// kind than without.
func TestCalibration(t *testing.T) {
	cfg := testConfig
	cfg.Hidden, cfg.HeadDim, cfg.FFN = 128, 32, 256
	lengths := []int{40, 1, 25, 34}
	const rows = 100
	fresh := alike(20, cfg.Hidden, 7)
	run := func(s *Stack) []float32 {
		return forward(s, NewWork(nil), s.NewCache(20), fresh, func() int { return 20 })
	}
	pack := func(tm *team.Team, p Precision) (*Stack, []float32) {
		s, c := testStack(t, cfg), &Calibration{Work: NewWork(tm), Rows: alike(rows, cfg.Hidden, 0), Lengths: lengths}
		if err := s.Quantize(p, c); err != nil {
			t.Fatal(err)
		}
		return s, c.Rows
	}
	tm := team.New(3)
	defer tm.Close()
	heard, outputs := pack(nil, Int4A16)
	again, same := pack(tm, Int4A16)
	sameBits(t, "outputs by three workers", same, outputs)
	sameBits(t, "packed by three workers", run(again), run(heard))

	float, at := testStack(t, cfg), 0
	for _, n := range lengths {
		x := alike(rows, cfg.Hidden, 0)[at*cfg.Hidden : (at+n)*cfg.Hidden]
		want := forward(float, NewWork(nil), float.NewCache(n), x, func() int { return n })
		sameBits(t, "outputs", outputs[at*cfg.Hidden:(at+n)*cfg.Hidden], want)
		at += n
	}
	_, ofInt8 := pack(nil, Int8)
	sameBits(t, "outputs of a stack that needs no calibration", ofInt8, outputs)

	deaf := testStack(t, cfg)
	if err := deaf.Quantize(Int4A16, nil); err != nil {
		t.Fatal(err)
	}
	want := run(float)
	diff := func(got []float32) (sum float64) {
		for i, y := range got {
			sum += math.Pow(float64(y-want[i]), 2)
		}
		return sum
	}
	without, with := diff(run(deaf)), diff(run(heard))
	t.Logf("squared error %.4g, without calibration %.4g", with, without)
	if !(with < 0.6*without) {
		t.Errorf("squared error %g, without calibration %g", with, without)
	}
	for i, l := range heard.Linears() {
		original := testStack(t, cfg).Linears()[i]
		if e := l.ErrorOf(original); !(e.Stored > 0 && e.Stored < e.Plain && e.Plain < e.Power) {
			t.Errorf("%s: error %+v", l.name, e)
		}
	}
}
