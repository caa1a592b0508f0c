package synth

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mynah-tts/mynah/internal/paritytest"
)

// TestWaitsAreNoComputing: in a bubble, where computing takes no time and waiting all of it,
// no wait counts as computing: not that for the reader, nor that for text, nor the queue.
func TestWaitsAreNoComputing(t *testing.T) {
	tiny(t, CustomVoice, 1).Close() // teams learn how fast this machine is, which they cannot in a bubble
	synctest.Test(t, func(t *testing.T) {
		// One thread: helpers would wait by spinning, for as long as the clock stands.
		m, err := Open(paritytest.Own(t, "tiny-custom").Dir, Options{Threads: 1, MaxLive: 1, Ahead: 2, Precision: Float32Precision})
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		ctx := context.Background()
		first, err := m.SpeakPieces(ctx, Request{Seed: new(int64(1)), MaxFrames: 12})
		if err != nil {
			t.Fatal(err)
		}
		second, err := m.Speak(ctx, Request{Text: "It waits in the queue.", Seed: new(int64(1)), MaxFrames: 4})
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			for range 5 {
				time.Sleep(time.Second) // writes slowly
				if err := first.Write("some words "); err != nil {
					t.Error(err)
				}
			}
			if err := first.End(); err != nil {
				t.Error(err)
			}
		}()
		for _, s := range []*Stream{first, second} {
			done := readSlowly(t, s)
			if done.Elapsed < 5*time.Second || done.Frames < 4 {
				t.Errorf("%d frames in %v: the test is void", done.Frames, done.Elapsed)
			}
			if done.Computing != 0 || done.RTF() != 0 {
				t.Errorf("%v of %v were computing, RTF %g", done.Computing, done.Elapsed, done.RTF())
			}
		}
	})
}

// readSlowly reads a stream to its end, a frame a second.
func readSlowly(t *testing.T, s *Stream) (done Done) {
	t.Helper()
	defer s.Close()
	for event, err := range s.Events() {
		if err != nil {
			t.Fatal(err)
		}
		switch e := event.(type) {
		case Audio:
			if e.Computing != 0 {
				t.Errorf("frame %d: %v were computing", e.Frame, e.Computing)
			}
			time.Sleep(time.Second)
		case Done:
			done = e
		}
	}
	return done
}

// TestComputingIsCounted: what the engine computes counts, up to what was read.
func TestComputingIsCounted(t *testing.T) {
	m := tiny(t, CustomVoice, 2)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s, err := m.Speak(ctx, Request{Text: "This goes on for a while.", Seed: new(int64(1)), MaxFrames: 20})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	last, frames, done := time.Duration(0), 0, Done{}
	for event, err := range s.Events() {
		if err != nil {
			t.Fatal(err)
		}
		switch e := event.(type) {
		case Audio:
			if e.Computing <= last {
				t.Errorf("frame %d: %v after %v", e.Frame, e.Computing, last)
			}
			if last, frames = e.Computing, frames+1; frames == 5 {
				cancel()
			}
		case Done:
			done = e
		}
	}
	if done.FinishReason != FinishCancelled || done.Computing != last || done.RTF() != last.Seconds()/done.Audio.Seconds() {
		t.Errorf("%+v, RTF %g, want the %v of the last frame that was read", done, done.RTF(), last)
	}
}

func TestStopwatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w stopwatch
		want := time.Duration(0)
		for i, on := range []bool{false, true, true, false, false, true, false, true} {
			w.run(on)
			time.Sleep(time.Second)
			if on {
				want += time.Second
			}
			if got := w.read(); got != want {
				t.Errorf("step %d: %v, want %v", i, got, want)
			}
		}
	})
}
