package synth

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"weak"

	"github.com/mynah-tts/mynah/codec"
	"github.com/mynah-tts/mynah/talker"
)

// weakPlace is what a place is made of, as long as something keeps it.
type weakPlace struct {
	talker weak.Pointer[talker.State]
	codec  weak.Pointer[codec.State]
	pcm    weak.Pointer[float32]
}

// TestEndedStreamsAreFreed has streams that are live together end one after the other, the last to begin first, beside a pool
// that has no room: nothing else keeps what they were computed in.
func TestEndedStreamsAreFreed(t *testing.T) {
	const live = 4
	m := small(t, CustomVoice, Options{MaxLive: live})
	m.engine.pool.bytes = idleBytes // the engine's goroutine looks at it after the first request
	over := errors.New("over")
	places, utterances := map[int64]weakPlace{}, []weak.Pointer[utterance]{}
	m.engine.fault = func(u *utterance) error {
		seed := u.plan.seed
		if _, ok := places[seed]; !ok {
			places[seed] = weakPlace{weak.Make(u.place.talker), weak.Make(u.place.codec), weak.Make(&u.place.pcm[0])}
			utterances = append(utterances, weak.Make(u))
		}
		if len(places) == live && u.made >= 2 && len(m.engine.utterances) == int(seed) {
			return over
		}
		return nil
	}
	r := Request{Text: strings.Repeat("long ", 30), MaxFrames: 400}
	done := make(chan error, live)
	for i := range live {
		r.Seed = new(int64(i + 1))
		s, err := m.Speak(context.Background(), r)
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			defer s.Close()
			for _, err := range s.Events() {
				if err != nil {
					done <- err
					return
				}
			}
			done <- errors.New("a stream came to its end")
		}()
	}
	for range live {
		if err := <-done; !errors.Is(err, over) {
			t.Fatal(err)
		}
	}
	eventually(t, func() error {
		runtime.GC()
		for seed, p := range places {
			if talker, codec, pcm := p.talker.Value() != nil, p.codec.Value() != nil, p.pcm.Value() != nil; talker || codec || pcm {
				return fmt.Errorf("of stream %d there are still: talker %v, codec %v, samples %v", seed, talker, codec, pcm)
			}
		}
		for i, u := range utterances {
			if u.Value() != nil {
				return fmt.Errorf("utterance %d is still there", i)
			}
		}
		return nil
	})
}

// TestPoolForgetsWhatItGave takes a place that is not given back.
func TestPoolForgetsWhatItGave(t *testing.T) {
	m := small(t, CustomVoice, Options{})
	var p pool
	p.give(p.take(m, 16))
	given := weak.Make(p.take(m, 16))
	runtime.GC()
	if given.Value() != nil {
		t.Error("the pool keeps a place that it gave away")
	}
	runtime.KeepAlive(&p)
}
