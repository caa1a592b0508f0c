package talker

import (
	"path/filepath"
	"runtime"
	"testing"
	"weak"

	"github.com/mynah-tts/mynah/internal/nn"
	"github.com/mynah-tts/mynah/internal/paritytest"
)

// TestScratchKeepsNoCache has sequences come and go: the scratch that they were computed with keeps none of their caches.
func TestScratchKeepsNoCache(t *testing.T) {
	var cfg struct {
		Talker Config `json:"talker_config"`
	}
	pm := paritytest.Models(t, "talker")[0]
	paritytest.ReadJSON(t, filepath.Join(pm.Dir, "config.json"), &cfg)
	if err := cfg.Talker.Validate(); err != nil {
		t.Fatal(err)
	}
	m, err := Load(pm.Checkpoint(t), cfg.Talker)
	if err != nil {
		t.Fatal(err)
	}
	const most = 4
	wk, sc := nn.NewWork(nil), m.NewScratch(most)
	rows := make([]float32, 2*most*m.Hidden)
	for i := range rows {
		rows[i] = float32(i%7) / 7
	}
	var caches []weak.Pointer[nn.Cache]
	func() {
		var states []*State
		for range most {
			st := m.NewState(16)
			m.Extend(wk, sc, st, rows, nil)
			states, caches = append(states, st), append(caches, weak.Make(st.cache))
		}
		for ; len(states) > 0; states = states[:len(states)-1] {
			m.Step(wk, sc, states, rows[:len(states)*m.Hidden])
		}
	}()
	runtime.GC()
	for i, c := range caches {
		if c.Value() != nil {
			t.Errorf("the cache of sequence %d is still there", i)
		}
	}
	runtime.KeepAlive(sc)
	runtime.KeepAlive(wk)
}
