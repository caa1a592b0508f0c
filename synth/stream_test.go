package synth

import (
	"context"
	"errors"
	"io"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/mynah-tts/mynah/internal/paritytest"
)

// tiny opens the repository's own small model of a kind.
func tiny(t testing.TB, kind Kind, threads int) *Model {
	t.Helper()
	name := map[Kind]string{CustomVoice: "tiny-custom", VoiceDesign: "tiny-design", Base: "tiny-base"}[kind]
	return openModel(t, paritytest.Own(t, name).Dir, threads)
}

// say speaks a request to its end.
func say(t *testing.T, m *Model, r Request) (codes []int32, pcm []float32, done Done) {
	t.Helper()
	s, err := m.Speak(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	return collect(t, s)
}

func equalPCM(t *testing.T, what string, got, want []float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d samples, wanted %d", what, len(got), len(want))
	}
	for i := range got {
		if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
			t.Fatalf("%s: sample %d is %g, wanted %g", what, i, got[i], want[i])
		}
	}
}

// TestSameSeedSameBytes speaks a sampled request again, with other numbers of
// threads, and with another seed.
func TestSameSeedSameBytes(t *testing.T) {
	r := Request{Text: "The same words again.", Seed: new(int64(7)), MaxFrames: 6}
	_, want, first := say(t, tiny(t, CustomVoice, 1), r)
	if first.Seed != 7 || first.Frames != 6 || first.FinishReason != FinishLength {
		t.Fatalf("seed %d, %d frames, %q", first.Seed, first.Frames, first.FinishReason)
	}
	for _, threads := range []int{1, 2, 3} {
		m := tiny(t, CustomVoice, threads)
		for range 2 {
			_, got, _ := say(t, m, r)
			equalPCM(t, "same seed", got, want)
		}
		r2 := r
		r2.Seed = new(int64(8))
		other, _, _ := say(t, m, r2)
		same, _, _ := say(t, m, r)
		if equalCodes(other, same) {
			t.Error("another seed gave the same codes")
		}
	}
}

// TestPredictorThreads: how many threads the predictor has changes nothing.
func TestPredictorThreads(t *testing.T) {
	r := Request{Text: "The same words again.", Seed: new(int64(7)), MaxFrames: 3}
	_, want, _ := say(t, tiny(t, CustomVoice, 3), r)
	for _, n := range []int{1, 2, 100} {
		m, err := Open(paritytest.Own(t, "tiny-custom").Dir, Options{Threads: 3, PredictorThreads: n, Precision: Float32Precision})
		if err != nil {
			t.Fatal(err)
		}
		_, got, _ := say(t, m, r)
		m.Close()
		equalPCM(t, "predictor threads", got, want)
	}
}

func equalCodes(a, b []int32) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// TestRandomSeedIsReported repeats a request without a seed from what Done reports.
func TestRandomSeedIsReported(t *testing.T) {
	m := tiny(t, CustomVoice, 2)
	for _, seed := range []*int64{nil, new(int64(-1))} {
		_, want, done := say(t, m, Request{Text: "Any seed.", Seed: seed, MaxFrames: 3})
		_, got, _ := say(t, m, Request{Text: "Any seed.", Seed: &done.Seed, MaxFrames: 3})
		equalPCM(t, "reported seed", got, want)
	}
}

// TestStreamsInCompany interleaves streams at random points and speaks them at
// once from several goroutines: each is what it is alone.
func TestStreamsInCompany(t *testing.T) {
	m := tiny(t, CustomVoice, 2)
	var requests []Request
	var alone [][]float32
	for i := range 4 {
		r := Request{Text: strings.Repeat("word ", i+1), Seed: new(int64(i)), MaxFrames: 3 + i}
		_, pcm, _ := say(t, m, r)
		requests, alone = append(requests, r), append(alone, pcm)
	}
	got := make([][]float32, len(requests))
	var wg sync.WaitGroup
	for i, r := range requests {
		wg.Go(func() {
			pcm, _, err := m.Say(context.Background(), r)
			if err != nil {
				t.Error(err)
			}
			got[i] = pcm
		})
	}
	wg.Wait()
	for i := range got {
		equalPCM(t, requests[i].Text, got[i], alone[i])
	}
}

// TestReferencedVoice speaks in both ways of cloning with a made-up reference.
func TestReferencedVoice(t *testing.T) {
	m := tiny(t, Base, 2)
	ref := &Reference{XVector: make([]float32, m.cfg.Talker.Hidden)}
	ref.XVector[0] = 1
	_, pcm, done := say(t, m, Request{Text: "A voice.", Reference: ref, MaxFrames: 4})
	if len(pcm) != done.Samples || done.Samples != done.Frames*m.info.FrameSize {
		t.Errorf("%d samples, %d reported, %d frames", len(pcm), done.Samples, done.Frames)
	}
	frame := make([]int32, m.cfg.Talker.Groups)
	ref.Codes, ref.Text = [][]int32{frame, frame, frame, frame, frame, frame, frame, frame, frame, frame}, "What was said."
	_, pcm, done = say(t, m, Request{Text: "A voice.", Reference: ref, MaxFrames: 4, Seed: new(int64(1))})
	if len(pcm) != done.Samples || done.Frames == 0 {
		t.Errorf("%d samples, %d reported, %d frames", len(pcm), done.Samples, done.Frames)
	}
}

// TestCancel cancels before the prompt and between frames.
func TestCancel(t *testing.T) {
	m := tiny(t, CustomVoice, 2)
	for _, after := range []int{0, 1, 3} {
		ctx, cancel := context.WithCancel(context.Background())
		s, err := m.Speak(ctx, Request{Text: "This goes on for a while.", Seed: new(int64(1)), MaxFrames: 50})
		if err != nil {
			t.Fatal(err)
		}
		frames, done := 0, Done{}
		if after == 0 {
			cancel()
		}
		for event, err := range s.Events() {
			if err != nil {
				t.Fatal(err)
			}
			switch e := event.(type) {
			case Audio:
				if frames++; frames == after {
					cancel()
				}
			case Done:
				done = e
			}
		}
		cancel()
		if frames != after || done.FinishReason != FinishCancelled || done.Frames != after {
			t.Errorf("cancelled after %d frames: %d frames, %q, %d reported", after, frames, done.FinishReason, done.Frames)
		}
	}
}

// TestAfterTheEnd checks what Next says when there is nothing more.
func TestAfterTheEnd(t *testing.T) {
	m := tiny(t, CustomVoice, 1)
	s, err := m.Speak(context.Background(), Request{Text: "Short.", MaxFrames: 1})
	if err != nil {
		t.Fatal(err)
	}
	collect(t, s)
	for range 2 {
		if _, err := s.Next(); err != io.EOF {
			t.Errorf("after the end: %v", err)
		}
	}
	open, err := m.SpeakPieces(context.Background(), Request{}) // it cannot end before the model does
	if err != nil {
		t.Fatal(err)
	}
	m.Close()
	for range 2 {
		if _, err := open.Next(); !errors.Is(err, ErrClosed) {
			t.Errorf("after the model closed: %v", err)
		}
	}
}

// TestFrameBound checks the bound of frames by the text's length.
func TestFrameBound(t *testing.T) {
	for _, c := range []struct{ max, tokens, want int }{
		{8192, 1, 52}, {8192, 30, 400}, {100, 30, 100}, {8192, 1000, 8192}, {1, 0, 1},
	} {
		if got := FrameBound(c.max, c.tokens); got != c.want {
			t.Errorf("FrameBound(%d, %d) = %d, wanted %d", c.max, c.tokens, got, c.want)
		}
	}
}

// TestFrameAllocatesNothing guards the frame loop, alone and in company.
func TestFrameAllocatesNothing(t *testing.T) { checkAllocations(t, tiny(t, CustomVoice, 2)) }

func checkAllocations(t *testing.T, m *Model) {
	t.Helper()
	var batch []*utterance
	for range 3 {
		u := begun(t, m, Request{Text: strings.Repeat("many words ", 20), Seed: new(int64(3)), MaxFrames: 200})
		m.engine.step([]*utterance{u})
		batch = append(batch, u)
	}
	all := make([]*utterance, 0, len(batch))
	for _, n := range []int{1, 3} {
		if got := testing.AllocsPerRun(10, func() {
			all = append(all[:0], batch[:n]...)
			m.engine.step(all)
			for _, u := range batch[:n] {
				for len(u.s.queue) > 0 { // takes the frame, and gives its memory back
					u.s.Next()
				}
			}
		}); got > float64(n) {
			t.Errorf("a frame of %d streams allocates %v times, allowed is the event that a reader gets", n, got)
		}
		for _, u := range batch[:n] {
			if u.made < 10 {
				t.Errorf("%d frames only: the test is void", u.made)
			}
		}
	}
}
