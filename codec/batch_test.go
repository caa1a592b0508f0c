package codec

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/mynah-tts/mynah/internal/cpu"
	"github.com/mynah-tts/mynah/internal/kernel"
)

// listener is a stream of a batch test.
type listener struct {
	state *State
	codes []int32
	want  []float32 // samples alone
	frame int
}

// TestBatchEqualsAlone lets streams of random lengths join and leave a batch, with random numbers of frames a call: each has the
// samples that it has alone, at every level, precision and number of workers.
func TestBatchEqualsAlone(t *testing.T) {
	for _, level := range []cpu.Level{cpu.Generic, kernel.Level()} {
		for _, p := range precisions {
			t.Run(fmt.Sprintf("%v/%s", level, p), func(t *testing.T) {
				defer kernel.SetLevel(level)()
				d := oddDecoderAt(t, Precision(p))
				if level == cpu.Generic || slow(Precision(p)) { // cut by the same code
					testBatch(t, d, 2, 3, 1)
					return
				}
				for _, workers := range []int{1, 2, 3} {
					for _, frames := range []int{1, 3, 16} {
						testBatch(t, d, workers, frames, uint64(10*workers+frames))
					}
				}
			})
		}
	}
}

func testBatch(t *testing.T, d *Decoder, workers, frames int, seed uint64) {
	t.Helper()
	wk := work(t, workers)
	sc, alone := d.NewScratch(frames), d.NewScratch(1)
	rng := rand.New(rand.NewPCG(seed, 1))
	var live []*listener
	left := 12 // streams that have yet to join
	for i := 0; left > 0 || len(live) > 0; i++ {
		for left > 0 && rng.IntN(3) > 0 && len(live) < 9 {
			l := &listener{state: d.NewState(1 + rng.IntN(4)), codes: randomCodes(d, 1+rng.IntN(25), seed+uint64(left))}
			l.want = decode(t, d, wk, alone, d.NewState(1), l.codes, 1)
			live, left = append(live, l), left-1
		}
		rng.Shuffle(len(live), func(i, j int) { live[i], live[j] = live[j], live[i] })
		live = decodeLive(t, d, func(items []Item) { d.DecodeBatch(wk, sc, items) }, rng, live, i%2 == 0)
	}
}

// decodeLive decodes one frame, or several, of each stream and drops those that have ended.
func decodeLive(t *testing.T, d *Decoder, run func([]Item), rng *rand.Rand, live []*listener, single bool) []*listener {
	t.Helper()
	items := make([]Item, len(live))
	for i, l := range live {
		n := 1
		if !single {
			n = rng.IntN(6)
		}
		n = min(n, len(l.codes)/d.Groups()-l.frame)
		items[i] = Item{State: l.state, PCM: make([]float32, n*d.Hop()), Codes: l.codes[l.frame*d.Groups():][:n*d.Groups()]}
	}
	run(items)
	for i, l := range live {
		if items[i].Err != nil {
			t.Fatal(items[i].Err)
		}
		if !slices.Equal(items[i].PCM, l.want[l.frame*d.Hop():][:len(items[i].PCM)]) {
			t.Fatalf("stream %d of %d differs from alone in frames %d to %d", i, len(live), l.frame, l.frame+len(items[i].PCM)/d.Hop())
		}
		l.frame += len(items[i].PCM) / d.Hop()
		if l.state.Frames() != l.frame {
			t.Fatalf("%d frames counted, wanted %d", l.state.Frames(), l.frame)
		}
	}
	return slices.DeleteFunc(live, func(l *listener) bool { return l.frame == len(l.codes)/d.Groups() })
}

// TestBatchFailures has streams of every kind of failure among good ones, which do not notice.
func TestBatchFailures(t *testing.T) {
	d := oddDecoder(t)
	const entry = 10
	d.quantizer.books[3].sum = slices.Clone(d.quantizer.books[3].sum)
	d.quantizer.books[3].sum[entry*d.quantizer.dim+1] = float32(math.NaN())
	const frames = 4
	good := randomCodes(d, frames, 1)
	for i := range good {
		good[i] %= entry
	}
	wk := work(t, 2)
	for _, room := range []int{1, 3, 64} {
		sc := d.NewScratch(room)
		want := decode(t, d, wk, sc, d.NewState(4), good, frames)
		with := func(at int, code int32) []int32 {
			c := slices.Clone(good)
			c[at] = code
			return c
		}
		broken, twice := d.NewState(4), d.NewState(4)
		broken.broken = true
		pcm := func() []float32 { return slices.Repeat([]float32{2}, frames*d.Hop()) }
		items := []Item{
			{State: d.NewState(4), PCM: pcm(), Codes: good},
			{State: d.NewState(4), PCM: pcm(), Codes: with(7, -1)},
			{State: d.NewState(4), PCM: pcm(), Codes: with(2*d.Groups()+3, entry)},
			{State: broken, PCM: pcm(), Codes: good},
			{State: twice, PCM: pcm(), Codes: good},
			{State: twice, PCM: pcm(), Codes: good},
			{State: d.NewState(1), PCM: pcm(), Codes: good[1:]},
			{State: nil, PCM: pcm(), Codes: good},
			{State: oddDecoder(t).NewState(4), PCM: pcm(), Codes: good},
			{State: d.NewState(4)},
			{State: d.NewState(1), PCM: pcm(), Codes: good, Err: errors.New("of a call before")},
		}
		d.DecodeBatch(wk, sc, items)
		for _, i := range []int{0, 4, 10} {
			if items[i].Err != nil || !slices.Equal(items[i].PCM, want) {
				t.Errorf("room %d: item %d: %v, and its samples differ from alone or not", room, i, items[i].Err)
			}
		}
		for _, i := range []int{1, 3, 5, 6, 7, 8} {
			if items[i].Err == nil || items[i].PCM[0] != 2 {
				t.Errorf("room %d: item %d: %v, first sample %v", room, i, items[i].Err, items[i].PCM[0])
			}
		}
		var code *CodeError
		if !errors.As(items[1].Err, &code) || !errors.Is(items[3].Err, ErrBroken) || items[9].Err != nil {
			t.Errorf("room %d: %v, %v, %v", room, items[1].Err, items[3].Err, items[9].Err)
		}
		var bad *NonFiniteError
		if !errors.As(items[2].Err, &bad) || *bad != (NonFiniteError{Stage: "quantizer", Frame: 2}) {
			t.Errorf("room %d: %v, wanted NaN in frame 2", room, items[2].Err)
		}
		if slices.ContainsFunc(items[2].PCM, func(v float32) bool { return v != 0 }) {
			t.Errorf("room %d: samples of a failed stream came out", room)
		}
		// Whoever was refused may go on; only the failed stream may not.
		for i, allowed := range map[int]bool{0: true, 1: true, 2: false, 4: true, 6: true} {
			err := d.Decode(wk, sc, items[i].State, make([]float32, d.Hop()), good[:d.Groups()])
			if (err == nil) != allowed {
				t.Errorf("room %d: item %d after the batch: %v", room, i, err)
			}
		}
	}
}

// TestBatchAllocatesNothing guards the step of several streams.
func TestBatchAllocatesNothing(t *testing.T) {
	for _, p := range precisions {
		t.Run(p, func(t *testing.T) { testBatchAllocations(t, oddDecoderAt(t, Precision(p))) })
	}
}

func testBatchAllocations(t *testing.T, d *Decoder) {
	wk, sc := work(t, 2), d.NewScratch(8)
	items := make([]Item, 5)
	for i := range items {
		items[i] = Item{State: d.NewState(2), PCM: make([]float32, 2*d.Hop()), Codes: randomCodes(d, 2, uint64(i))}
	}
	n := testing.AllocsPerRun(50, func() {
		d.DecodeBatch(wk, sc, items)
		for _, it := range items {
			if it.Err != nil {
				t.Fatal(it.Err)
			}
		}
	})
	if n != 0 {
		t.Errorf("%v allocations a step, wanted 0", n)
	}
}
