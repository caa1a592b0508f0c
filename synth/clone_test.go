package synth

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mynah-tts/mynah/internal/paritytest"
)

// TestParityFromSound goes the whole way of a clone, from the reference's sound to speech:
// vector, codes, and what is said in the voice. The goldens' sounds are encoded as they
// are, without the silence that Listen puts behind a clip which ends in a word.
func TestParityFromSound(t *testing.T) {
	const atol = 1e-4 // of vectors, as the kit's own check has it
	found := 0
	for _, pm := range paritytest.Models(t, "prompt") {
		var prompts, spec paritytest.Spec
		sounds := pm.Stage(t, "prompt", &prompts)
		golden := pm.Stage(t, "e2e", &spec)
		m := openModel(t, pm.Dir, 2)
		for _, c := range spec.Cases {
			if c.Case.Ref == nil {
				continue
			}
			found++
			t.Run(pm.Name+"/"+c.Case.Name, func(t *testing.T) {
				ref, name := c.Case.Ref, c.Case.Name+"/"
				sound := sounds.F32(t, fmt.Sprintf("ref_audio/%s-%d", ref.Sound, ref.Samples))
				toCode := sound
				if ref.XVector {
					toCode = nil
				}
				heard, err := m.hear(t.Context(), sound, toCode)
				if err != nil {
					t.Fatal(err)
				}
				paritytest.Close(t, "vector", heard.XVector, golden.F32(t, name+"ref_spk_embedding"), atol)
				p := referencePlan(t, m, c.Case, golden, name)
				if !ref.XVector {
					paritytest.Equal(t, "codes of the reference", slices.Concat(heard.Codes...), p.request.RefCodes)
				}
				p.request.XVector = heard.XVector
				codes, pcm, _ := speakPlan(t, m, p)
				paritytest.Equal(t, "codes", codes, golden.I32(t, name+"codes"))
				for _, w := range c.Compare {
					if strings.HasSuffix(w.Tensor, "/waveform") {
						checkWaveform(t, m, p.request.RefCodes, codes, pcm, golden.F32(t, w.Tensor), w.Atol)
					}
				}
			})
		}
	}
	if found == 0 {
		t.Error("no speech of a cloned voice in the goldens")
	}
}

// hearClip hears a clip, or fails the test.
func hearClip(t *testing.T, m *Model, c Clip) *Reference {
	t.Helper()
	ref, _, err := m.Listen(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

func equalReference(a, b *Reference) bool {
	return slices.Equal(a.XVector, b.XVector) && slices.EqualFunc(a.Codes, b.Codes, slices.Equal[[]int32]) && a.Text == b.Text
}

// TestListen makes voices of a clip in both modes and speaks in them, with any number of
// threads, at integer precision, and from a packed file.
func TestListen(t *testing.T) {
	dir := paritytest.Own(t, "tiny-base").Dir
	file := filepath.Join(t.TempDir(), "packed")
	if _, err := Pack(t.Context(), dir, file, FastPrecision); err != nil {
		t.Fatal(err)
	}
	clip := Clip{Samples: syllables(44100, 2.5, 0.3), Rate: 44100}
	spoken := clip
	spoken.Text = " What the clip says. "
	m := tiny(t, Base, 2)
	timbre, whole := hearClip(t, m, clip), hearClip(t, m, spoken)
	if timbre.Codes != nil || timbre.Text != "" || !slices.Equal(timbre.XVector, whole.XVector) {
		t.Errorf("without a transcript: %d frames, text %q", len(timbre.Codes), timbre.Text)
	}
	if len(whole.Codes) != 32 || whole.Text != "What the clip says." { // 2.5 s are 31.25 frames
		t.Errorf("%d frames, text %q", len(whole.Codes), whole.Text)
	}
	for name, other := range map[string]*Model{
		"one thread": tiny(t, Base, 1), "three threads": tiny(t, Base, 3), "packed file": must(t, file, Options{}),
		"fast": must(t, dir, Options{Precision: FastPrecision}),
	} {
		if !other.Info().Cloning {
			t.Errorf("%s: cannot clone", name)
		}
		if !equalReference(hearClip(t, other, spoken), whole) {
			t.Errorf("%s: another reference", name)
		}
	}
	for _, ref := range []*Reference{timbre, whole} {
		_, pcm, done := say(t, m, Request{Text: "Words in that voice.", Reference: ref, Seed: new(int64(1)), MaxFrames: 4})
		if len(pcm) != done.Frames*m.info.FrameSize || done.Frames == 0 {
			t.Errorf("%d samples of %d frames", len(pcm), done.Frames)
		}
	}
	if a, err := m.Digest(); err != nil || len(a) != 64 {
		t.Errorf("digest %q, %v", a, err)
	} else if b, err := must(t, file, Options{}).Digest(); err != nil || a != b {
		t.Errorf("digest %q of the packed file, %v, wanted %q", b, err, a)
	}
}

// TestListenInCompany: clips and streams change nothing of each other.
func TestListenInCompany(t *testing.T) {
	m := small(t, Base, Options{MaxLive: 3})
	var clips []Clip
	var wanted []*Reference
	for i := range 4 {
		c := Clip{Samples: syllables(24000, 1.1+float64(i)/3, 0.2), Rate: 24000}
		if i%2 == 0 {
			c.Text = "Some words."
		}
		clips, wanted = append(clips, c), append(wanted, hearClip(t, m, c))
	}
	request := func(i int) Request {
		return Request{Text: strings.Repeat("more words. ", 1+i), Reference: wanted[i], Seed: new(int64(i)), MaxFrames: 6 + i, SegmentRunes: 20}
	}
	var alone [][]float32
	for i := range clips {
		_, pcm, _ := say(t, m, request(i))
		alone = append(alone, pcm)
	}
	m.engine.wake()
	var wg sync.WaitGroup
	for range 3 {
		for i := range clips {
			wg.Go(func() {
				pcm, _, err := m.Say(context.Background(), request(i))
				if err != nil {
					t.Error(err)
					return
				}
				equalPCM(t, "beside clips", pcm, alone[i])
			})
			wg.Go(func() {
				ref, _, err := m.Listen(context.Background(), clips[i])
				if err != nil {
					t.Error(err)
				} else if !equalReference(ref, wanted[i]) {
					t.Errorf("clip %d beside others: another reference", i)
				}
			})
		}
	}
	wg.Wait()
	if l := m.Load(); l.Listening != 0 {
		t.Errorf("%d clips are left", l.Listening)
	}
}

// stalledHearing returns a hearing that the engine was given and does not get to.
func stalledHearing(t *testing.T, m *Model, ctx context.Context) *hearing {
	t.Helper()
	h, err := m.engine.admitHearing(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// TestListenQueue fills the places for clips and empties them in several ways.
func TestListenQueue(t *testing.T) {
	m := small(t, Base, Options{})
	clip := Clip{Samples: syllables(24000, 1.5, 0.2), Rate: 24000, Text: "Words."}
	want := hearClip(t, m, clip)
	ctx, cancel := context.WithCancel(context.Background())
	var waiting []*hearing
	for range maxHearings {
		waiting = append(waiting, stalledHearing(t, m, ctx))
	}
	if _, _, err := m.Listen(context.Background(), clip); !errors.Is(err, ErrBusy) {
		t.Errorf("one clip too many: %v", err)
	}
	for _, h := range waiting {
		m.engine.leaveHearing(h)
	}
	cancel()
	if _, _, err := m.Listen(ctx, clip); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that has ended: %v", err)
	}
	ctx, cancel = context.WithCancel(context.Background())
	time.AfterFunc(time.Millisecond, cancel)
	for range 50 {
		if _, _, err := m.Listen(ctx, Clip{Samples: syllables(24000, 20, 0.2), Rate: 24000}); err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled on the way: %v", err)
		}
	}
	if !equalReference(hearClip(t, m, clip), want) {
		t.Error("behind clips that were cancelled: another reference")
	}
	m.Drain()
	if _, _, err := m.Listen(context.Background(), clip); !errors.Is(err, ErrDraining) {
		t.Errorf("while draining: %v", err)
	}
	if l := m.Load(); l.Listening != 0 {
		t.Errorf("%d clips are left", l.Listening)
	}
}

// TestListenWhileClosing closes models under clips.
func TestListenWhileClosing(t *testing.T) {
	for i := range 5 {
		m := small(t, Base, Options{})
		var wg sync.WaitGroup
		for range 6 {
			wg.Go(func() {
				_, _, err := m.Listen(context.Background(), Clip{Samples: syllables(24000, 3, 0.2), Rate: 24000, Text: "Some words."})
				if err != nil && !errors.Is(err, ErrClosed) {
					t.Error(err)
				}
			})
		}
		time.Sleep(time.Duration(i) * time.Millisecond)
		m.Close()
		wg.Wait()
		if _, _, err := m.Listen(context.Background(), Clip{Samples: syllables(24000, 1, 0.2), Rate: 24000}); !errors.Is(err, ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
	}
}

// TestListenerGoesFirst: a clip waits while a step of it would be heard, but not for ever.
func TestListenerGoesFirst(t *testing.T) {
	m := small(t, Base, Options{})
	e := &engine{m: m, signal: make(chan struct{}, 1)} // one that does not run
	if e.wouldWait() {
		t.Error("nobody is there, and a clip would wait")
	}
	clip := Clip{Samples: syllables(24000, 1.5, 0.2), Rate: 24000}
	u := begun(t, m, Request{Text: "Words.", Reference: hearClip(t, m, clip), MaxFrames: 5})
	e.utterances = append(e.utterances, u)
	if !e.wouldWait() {
		t.Error("a stream waits for its first frame, and a clip does not wait")
	}
	u.begun = time.Now()
	u.frames = 20 // 1.6 s of audio ahead
	if e.pace.hearing = 10 * time.Millisecond; e.wouldWait() {
		t.Error("there is audio for more than a second, and a clip would wait for a step of 10 ms")
	}
	if e.pace.hearing = 2 * time.Second; !e.wouldWait() {
		t.Error("a step takes longer than the audio, and a clip does not wait")
	}
	h, err := e.admitHearing(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	encoders, err := m.loadEncoders()
	if err == nil {
		err = h.start(encoders, clip.Samples, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	e.beginHearing(h)
	rounds := 0
	for e.hearSome(); e.skipped > 0; e.hearSome() {
		rounds++
	}
	if rounds != hearingPatience {
		t.Errorf("a clip waited for %d rounds, wanted %d", rounds, hearingPatience)
	}
	e.leaveHearing(h)
}

// TestListenFault: what goes wrong with a clip in the engine fails that clip alone.
func TestListenFault(t *testing.T) {
	m := small(t, Base, Options{})
	clip := Clip{Samples: syllables(24000, 1.5, 0.2), Rate: 24000, Text: "Words."}
	want := hearClip(t, m, clip)
	h := stalledHearing(t, m, t.Context())
	m.engine.beginHearing(h) // it was never started
	<-h.done
	if h.err == nil || !strings.Contains(h.err.Error(), "internal error") {
		t.Errorf("error %v", h.err)
	}
	if !equalReference(hearClip(t, m, clip), want) {
		t.Error("behind a fault: another reference")
	}
}

// TestVoicesAreKept speaks in cloned voices again and again, in both modes and layouts, in
// several segments: with what the engine kept of the voice, and after Forget, samples are
// those of a model that never heard it.
func TestVoicesAreKept(t *testing.T) {
	dir := paritytest.Own(t, "tiny-base").Dir
	for _, precision := range []Precision{Float32Precision, FastPrecision} {
		m := must(t, dir, Options{Precision: precision})
		for _, seconds := range []float64{1.2, 7} { // within a window of the codec, and beyond
			for _, text := range []string{"", "What was said.", strings.Repeat("A long transcript. ", 30)} {
				ref := hearClip(t, m, Clip{Samples: syllables(24000, seconds, 0.2), Rate: 24000, Text: text})
				for _, layout := range []Layout{LayoutWhole, LayoutStreaming} {
					r := Request{Text: "One, two. Three, four.", Reference: ref, Layout: layout, Seed: new(int64(5)), MaxFrames: 5, SegmentRunes: 1}
					cold := must(t, dir, Options{Precision: precision})
					_, want, _ := say(t, cold, r)
					cold.Close()
					for i := range 3 {
						_, got, _ := say(t, m, r)
						equalPCM(t, fmt.Sprintf("%v s, %d runes, %s, time %d", seconds, len(text), layout, i), got, want)
						if i == 1 {
							m.Forget(ref)
						}
					}
				}
			}
		}
	}
}

// TestForget drops all that is kept of one voice and nothing of another.
func TestForget(t *testing.T) {
	m := small(t, Base, Options{})
	var refs []*Reference
	for i := range 2 {
		refs = append(refs, hearClip(t, m, Clip{Samples: syllables(24000, 1.5+float64(i), 0.2), Rate: 24000, Text: "Some words."}))
		say(t, m, Request{Text: "Words.", Reference: refs[i], MaxFrames: 2})
	}
	before := m.Load().Kept
	keys := len(m.engine.prefixes.entries) + len(m.engine.voices.entries)
	if before == 0 || keys != 4 {
		t.Fatalf("%d bytes of %d entries are kept of two voices", before, keys)
	}
	m.Forget(refs[0])
	m.Forget(nil)
	eventually(t, func() error {
		if now := m.Load().Kept; now == 0 || now >= before {
			return fmt.Errorf("%d bytes are kept, %d before", now, before)
		}
		return nil
	})
	// One that is under way when its voice is forgotten keeps nothing of it.
	s, err := m.Speak(context.Background(), Request{Text: strings.Repeat("Words. ", 20), Reference: refs[1], SegmentRunes: 1, MaxFrames: 60, Language: "german"})
	if err != nil {
		t.Fatal(err)
	}
	m.Forget(refs[1])
	collect(t, s)
	eventually(t, func() error {
		if now := m.Load().Kept; now != 0 {
			return fmt.Errorf("%d bytes are kept", now)
		}
		return nil
	})
}
