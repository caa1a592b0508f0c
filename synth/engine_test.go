package synth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mynah-tts/mynah/internal/paritytest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// small opens a tiny model whose engine has few places.
func small(t *testing.T, kind Kind, opts Options) *Model {
	t.Helper()
	name := map[Kind]string{CustomVoice: "tiny-custom", Base: "tiny-base"}[kind]
	opts.Threads, opts.Precision = 2, Float32Precision
	m, err := Open(paritytest.Own(t, name).Dir, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

// TestCompanyChangesNothing lets random requests come and go while others are computed:
// what is spoken to its end is what it is alone, and cancelled ones stay cancelled.
func TestCompanyChangesNothing(t *testing.T) {
	m := small(t, CustomVoice, Options{MaxLive: 3})
	voices := []string{"ryan", "vivian", "eric"}
	var requests []Request
	var alone [][]float32
	for i := range 10 {
		layout := LayoutWhole
		if i%2 == 0 {
			layout = LayoutStreaming
		}
		r := Request{
			Text: strings.Repeat("some words. ", 1+i%4), Voice: voices[i%3], Layout: layout, Seed: new(int64(i)),
			MaxFrames: 2 + i%5, SegmentRunes: 20, Gap: time.Duration(i) * time.Millisecond,
		}
		pcm, _, err := m.Say(context.Background(), r)
		if err != nil {
			t.Fatal(err)
		}
		requests, alone = append(requests, r), append(alone, pcm)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	var wg sync.WaitGroup
	for range 30 {
		i, cancelAfter := rng.IntN(len(requests)), rng.IntN(8)-4
		wg.Go(func() { speakInCompany(t, m, requests[i], cancelAfter, alone[i]) })
		time.Sleep(time.Duration(rng.IntN(8)) * time.Millisecond)
	}
	wg.Wait()
	if l := m.Load(); l.Live+l.Queued != 0 {
		eventually(t, func() error {
			if l = m.Load(); l.Live+l.Queued != 0 {
				return fmt.Errorf("%+v after all streams ended", l)
			}
			return nil
		})
	}
}

// speakInCompany reads a request to its end, or so many events of it and then cancels.
func speakInCompany(t *testing.T, m *Model, r Request, cancelAfter int, want []float32) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s, err := m.Speak(ctx, r)
	if err != nil {
		t.Error(err)
		return
	}
	defer s.Close()
	var pcm []float32
	for n := 0; ; n++ {
		if cancelAfter >= 0 && n == cancelAfter {
			cancel()
		}
		event, err := s.Next()
		if err != nil {
			t.Errorf("%v after %d events", err, n)
			return
		}
		switch e := event.(type) {
		case Audio:
			pcm = append(pcm, e.PCM...)
		case Done:
			if e.Samples != len(pcm) {
				t.Errorf("%d samples, %d reported", len(pcm), e.Samples)
			}
			if e.FinishReason != FinishCancelled {
				equalPCM(t, "in company", pcm, want)
			} else if len(pcm) > len(want) {
				t.Errorf("%d samples of a cancelled stream, the whole has %d", len(pcm), len(want))
			}
			return
		}
	}
}

// eventually waits for something that another goroutine brings about.
func eventually(t *testing.T, check func() error) {
	t.Helper()
	var err error
	for range 500 {
		if err = check(); err == nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal(err)
}

// TestQueue fills places and queue of a model, and empties them in several ways.
func TestQueue(t *testing.T) {
	m := small(t, CustomVoice, Options{MaxLive: 2, MaxQueue: 2, Ahead: 1})
	long := Request{Text: strings.Repeat("long ", 30), Seed: new(int64(1)), MaxFrames: 100}
	var streams []*Stream
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for range 4 {
		s, err := m.Speak(ctx, long)
		if err != nil {
			t.Fatal(err)
		}
		streams = append(streams, s)
	}
	if _, err := m.Speak(ctx, long); !errors.Is(err, ErrBusy) {
		t.Fatalf("a fifth stream: %v", err)
	}
	eventually(t, func() error {
		if l := m.Load(); l.Live != 2 || l.Queued != 2 || l.MaxLive != 2 || l.MaxQueue != 2 {
			return fmt.Errorf("%+v", l)
		}
		return nil
	})
	streams[3].Close() // leaves the queue at once
	if l := m.Load(); l.Queued != 1 {
		t.Errorf("%+v after one left the queue", l)
	}
	if _, err := streams[3].Next(); err != io.EOF {
		t.Errorf("a closed stream: %v", err)
	}
	streams[0].Close() // makes room for the third
	event, err := streams[2].Next()
	if start, ok := event.(Start); err != nil || !ok || start.Queued <= 0 {
		t.Errorf("the third begins with %+v, %v", event, err)
	}
	m.Drain()
	if _, err := m.Speak(context.Background(), long); !errors.Is(err, ErrDraining) {
		t.Errorf("while draining: %v", err)
	}
	if l := m.Load(); !l.Draining {
		t.Errorf("%+v while draining", l)
	}
	cancel()
	for _, s := range streams[1:3] {
		if _, _, done := collect(t, s); done.FinishReason != FinishCancelled {
			t.Errorf("finish reason %q", done.FinishReason)
		}
	}
	m.Close()
	if _, err := m.Speak(context.Background(), long); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// TestSlowReader: a stream that is not read waits once it is ahead, and holds up nobody.
func TestSlowReader(t *testing.T) {
	m := small(t, CustomVoice, Options{MaxLive: 2, Ahead: 2})
	r := Request{Text: strings.Repeat("long ", 30), Seed: new(int64(3)), MaxFrames: 12}
	slow, err := m.Speak(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Close()
	_, want, _ := say(t, m, r) // in spite of the other
	eventually(t, func() error {
		slow.mu.Lock()
		defer slow.mu.Unlock()
		if slow.waiting != 2 || !slow.stalled {
			return fmt.Errorf("%d frames wait for the reader", slow.waiting)
		}
		return nil
	})
	_, got, _ := collect(t, slow)
	equalPCM(t, "read slowly", got, want)
}

// TestFaults lets one stream of several fail, and then the engine itself.
func TestFaults(t *testing.T) {
	m := small(t, CustomVoice, Options{MaxLive: 3})
	r := Request{Text: strings.Repeat("long ", 30), Seed: new(int64(3)), MaxFrames: 6}
	_, want, _ := say(t, m, r)
	broken := errors.New("broken")
	for _, panics := range []bool{false, true} {
		m.engine.fault = func(u *utterance) error {
			if u.plan.seed != 4 || u.made < 3 {
				return nil
			}
			if panics {
				panic(broken)
			}
			return broken
		}
		good, err := m.Speak(context.Background(), r)
		if err != nil {
			t.Fatal(err)
		}
		bad := r
		bad.Seed = new(int64(4))
		s, err := m.Speak(context.Background(), bad)
		if err != nil {
			t.Fatal(err)
		}
		frames := 0
		for event, err := range s.Events() {
			if err != nil {
				if !strings.Contains(err.Error(), "broken") {
					t.Error(err)
				}
				break
			}
			switch event.(type) {
			case Audio:
				frames++
			case Done:
				t.Error("a stream that failed is done")
			}
		}
		if frames != 3 {
			t.Errorf("%d frames before the fault, wanted 3", frames)
		}
		if !panics {
			_, got, _ := collect(t, good)
			equalPCM(t, "beside one that failed", got, want)
		}
		good.Close()
		s.Close()
		_, again, _ := say(t, m, r)
		equalPCM(t, "after a fault", again, want)
	}
}

// TestOptions refuses what cannot be.
func TestOptions(t *testing.T) {
	dir := paritytest.Own(t, "tiny-custom").Dir
	for _, o := range []Options{{MaxLive: -1}, {MaxLive: 65}, {MaxQueue: -2}, {Ahead: -1}, {Threads: 1000}} {
		if m, err := Open(dir, o); err == nil {
			m.Close()
			t.Errorf("%+v was taken", o)
		}
	}
}
