package codec

import (
	"runtime"
	"testing"
	"weak"

	"github.com/mynah-tts/mynah/internal/nn"
)

// TestScratchKeepsNoStream has streams come and go: the scratch that they were decoded with keeps nothing of them.
func TestScratchKeepsNoStream(t *testing.T) {
	d := oddDecoder(t)
	wk, sc := work(t, 2), d.NewScratch(4)
	var states []weak.Pointer[State]
	var caches []weak.Pointer[nn.Cache]
	func() {
		var items []Item
		for i := range 4 {
			codes := randomCodes(d, 2, uint64(i))
			s := d.NewState(4)
			if err := d.Hear(wk, sc, s, codes, 0); err != nil {
				t.Fatal(err)
			}
			decode(t, d, wk, sc, s, codes, 2)
			items = append(items, Item{State: s, Codes: codes[:d.Groups()], PCM: make([]float32, d.Hop())})
			states, caches = append(states, weak.Make(s)), append(caches, weak.Make(s.cache))
		}
		for ; len(items) > 0; items = items[:len(items)-1] {
			d.DecodeBatch(wk, sc, items)
			for i := range items {
				if items[i].Err != nil {
					t.Fatal(items[i].Err)
				}
			}
		}
	}()
	runtime.GC()
	for i := range states {
		if states[i].Value() != nil || caches[i].Value() != nil {
			t.Errorf("of stream %d its state or its cache is still there", i)
		}
	}
	runtime.KeepAlive(sc)
	runtime.KeepAlive(wk)
}
