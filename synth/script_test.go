package synth

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mynah-tts/mynah/internal/paritytest"
)

// told is what a stream told about its segments, and its audio.
type told struct {
	begun []Segment
	ended []SegmentDone
	pcm   []float32
	order string // s a segment, a audio, _ silence, e the end of a segment, d done
	done  Done
}

func listen(t *testing.T, s *Stream) (w told) {
	t.Helper()
	defer s.Close()
	for event, err := range s.Events() {
		if err != nil {
			t.Fatal(err)
		}
		switch e := event.(type) {
		case Segment:
			w.begun, w.order = append(w.begun, e), w.order+"s"
		case Audio:
			w.pcm = append(w.pcm, e.PCM...)
			if e.Codes == nil {
				w.order += "_"
			} else if !strings.HasSuffix(w.order, "a") {
				w.order += "a"
			}
		case SegmentDone:
			w.ended, w.order = append(w.ended, e), w.order+"e"
		case Done:
			w.done, w.order = e, w.order+"d"
		}
	}
	return w
}

const fourSentences = "  One sentence here. And\n another one! The third,  is it?   Last."

// TestSegments cuts a text at its sentences.
func TestSegments(t *testing.T) {
	m := tiny(t, CustomVoice, 2)
	const gap = 100 * time.Millisecond // 2400 samples: a frame and a quarter
	s, err := m.Speak(context.Background(), Request{Text: fourSentences, Seed: new(int64(1)), SegmentRunes: 1, Gap: gap})
	if err != nil {
		t.Fatal(err)
	}
	w := listen(t, s)
	want := []string{"  One sentence here.", "And\n another one!", "The third,  is it?", "Last."}
	if w.order != "saes__aes__aes__aed" && w.order != "sae__sae__sae__saed" {
		t.Errorf("order of events %s", w.order)
	}
	frames := 0
	for i, text := range want {
		if w.begun[i].Index != i || w.begun[i].Text != text || w.begun[i].Frame != frames || w.ended[i].Text != text {
			t.Errorf("segment %d: %+v %+v, want %q at frame %d", i, w.begun[i], w.ended[i], text, frames)
		}
		frames += w.ended[i].Frames
	}
	samples := frames*m.info.FrameSize + 3*2400
	if w.done.Segments != 4 || w.done.Frames != frames || w.done.Samples != samples || len(w.pcm) != samples {
		t.Errorf("%+v, %d samples, want %d frames and %d samples", w.done, len(w.pcm), frames, samples)
	}
}

// TestSegmentsOfTheCheckpoint: generation_config.json says how text is cut if the request
// does not.
func TestSegmentsOfTheCheckpoint(t *testing.T) {
	const config = "generation_config.json"
	dir := os.DirFS(paritytest.Own(t, "tiny-custom").Dir)
	once := overlay{dir, map[string][]byte{config: edit(t, dir, config, "segment_characters", 1)}}
	m, err := OpenFS(overlay{dir, map[string][]byte{config: edit(t, once, config, "clause_characters", 12)}}, "test", Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for _, c := range []struct {
		runes int
		want  []string
	}{
		{0, []string{"One, two three,", "four, five.", "Six."}},
		{1, []string{"One, two three, four, five.", "Six."}},
		{-1, []string{"One, two three, four, five. Six."}},
	} {
		p, err := m.planWhole(Request{Text: "One, two three, four, five. Six.", SegmentRunes: c.runes})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, segment := range p.script.segments {
			got = append(got, string(segment.text))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("SegmentRunes %d: %q, want %q", c.runes, got, c.want)
		}
	}
}

// TestSegmentsAreIndependent: the first segment is what it is as a text of its own.
func TestSegmentsAreIndependent(t *testing.T) {
	m := tiny(t, CustomVoice, 2)
	r := Request{Text: "One sentence here.", Seed: new(int64(1)), MaxFrames: 5}
	_, first, _ := say(t, m, r)
	r.Text, r.SegmentRunes, r.MaxFrames = "One sentence here. And another.", 1, 9
	_, both, done := say(t, m, r)
	if done.Segments != 2 && done.FinishReason != FinishLength {
		t.Fatalf("%+v", done)
	}
	equalPCM(t, "the first segment", both[:len(first)], first)
}

// TestPiecesAreAsTheWhole writes texts in random pieces, at random times: samples and
// segments are those of the whole text in the streaming layout.
func TestPiecesAreAsTheWhole(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, kind := range []Kind{CustomVoice, Base} {
		m := tiny(t, kind, 2)
		for i, text := range []string{
			fourSentences, "Ein Wort — naïve façade, 12.5 km. " + "日本語の文です。次の文。", "a", " \n x", "\uFEFF\uFEFFHi. ", strings.Repeat("word ", 40),
		} {
			for _, runes := range []int{-1, 1, 0} {
				r := Request{Seed: new(int64(i)), MaxFrames: 14, SegmentRunes: runes, Layout: LayoutStreaming, Reference: someReference(m, i%2 == 0)}
				whole := r
				whole.Text = text
				s, err := m.Speak(context.Background(), whole)
				if err != nil {
					t.Fatal(err)
				}
				want := listen(t, s)
				s, err = m.SpeakPieces(context.Background(), r)
				if err != nil {
					t.Fatal(err)
				}
				go writePieces(t, s, text, rand.New(rand.NewPCG(rng.Uint64(), 0)))
				got := listen(t, s)
				equalPCM(t, "in pieces", got.pcm, want.pcm)
				if !slices.Equal(got.ended, want.ended) || got.done.FinishReason != want.done.FinishReason || got.order != want.order {
					t.Errorf("%q: %+v %s, want %+v %s", text, got.ended, got.order, want.ended, want.order)
				}
			}
		}
	}
}

// someReference returns a reference for a model that needs one.
func someReference(m *Model, codes bool) *Reference {
	if m.cfg.Kind != Base {
		return nil
	}
	ref := &Reference{XVector: make([]float32, m.cfg.Talker.Hidden)}
	if frame := make([]int32, m.cfg.Talker.Groups); codes {
		ref.Codes, ref.Text = [][]int32{frame, frame, frame, frame, frame, frame, frame}, "Two words."
	}
	return ref
}

func writePieces(t *testing.T, s *Stream, text string, rng *rand.Rand) {
	for len(text) > 0 {
		n := 1 + rng.IntN(min(len(text), 6))
		if err := s.Write(text[:n]); err != nil {
			t.Error(err)
		}
		text = text[n:]
		if rng.IntN(4) == 0 {
			time.Sleep(time.Duration(rng.IntN(3)) * time.Millisecond)
		}
	}
	if err := s.End(); err != nil {
		t.Error(err)
	}
}

// TestFlush speaks what is there while the text is still open.
func TestFlush(t *testing.T) {
	m := tiny(t, CustomVoice, 2)
	s, err := m.SpeakPieces(context.Background(), Request{Seed: new(int64(1)), MaxFrames: 40})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	s.Write("One two three")
	s.Flush()
	for {
		event, err := s.Next()
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := event.(SegmentDone); ok {
			if e.Text != "One two three" {
				t.Errorf("spoke %q", e.Text)
			}
			break
		}
	}
	s.Write(" and four.")
	s.End()
	w := listen(t, s)
	if len(w.ended) != 1 || w.ended[0].Text != "and four." || w.done.Segments != 2 {
		t.Errorf("%+v", w)
	}
}

// TestPiecesRefused: what cannot be is refused where it is written.
func TestPiecesRefused(t *testing.T) {
	m := tiny(t, CustomVoice, 1)
	var refused *RequestError
	for _, r := range []Request{{Text: "x"}, {Layout: LayoutWhole}, {Voice: "nobody"}, {Gap: -1}, {Gap: time.Minute}, {SegmentRunes: -2}, {MaxFrames: -1}} {
		if _, err := m.SpeakPieces(context.Background(), r); !errors.As(err, &refused) {
			t.Errorf("%+v: %v", r, err)
		}
	}
	for _, pieces := range [][]string{{}, {"  ", "…"}, {"a\x00"}, {"\xff\xfe"}, {strings.Repeat("a", MaxTextRunes), "b"}} {
		s, err := m.SpeakPieces(context.Background(), Request{MaxFrames: 1})
		if err != nil {
			t.Fatal(err)
		}
		err = nil
		for _, p := range pieces {
			if e := s.Write(p); e != nil {
				err = e
			}
		}
		if e := s.End(); err == nil {
			err = e
		}
		if !errors.As(err, &refused) || refused.Param != "input" {
			t.Errorf("%.20q: %v", pieces, err)
		}
		s.Close()
	}
	s, err := m.Speak(context.Background(), Request{Text: "Whole.", MaxFrames: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Write("more"); !errors.As(err, &refused) {
		t.Errorf("text for a stream whose text is whole: %v", err)
	}
}

// TestLongestText: a byte order mark is no character of the text, whole or in pieces.
func TestLongestText(t *testing.T) {
	m := tiny(t, CustomVoice, 1)
	longest := strings.Repeat("word ", MaxTextRunes/5)
	for _, c := range []struct {
		name, text string
		refused    bool
	}{
		{"longest", longest, false}, {"behind a mark", "\uFEFF" + longest, false},
		{"too long", longest + "a", true}, {"too long behind a mark", "\uFEFF" + longest + "a", true},
	} {
		_, err := m.planWhole(Request{Text: c.text})
		if (err != nil) != c.refused {
			t.Errorf("%s, whole: %v", c.name, err)
		}
		p, err := m.plan(Request{Layout: LayoutStreaming})
		if err != nil {
			t.Fatal(err)
		}
		p.script.letters.writing = m.writing
		for rest := c.text; rest != "" && err == nil; {
			n := min(len(rest), 4093)
			err = p.script.write(rest[:n])
			rest = rest[n:]
		}
		var refused *RequestError
		if (err != nil) != c.refused || c.refused && (!errors.As(err, &refused) || refused.Param != "input") {
			t.Errorf("%s, in pieces: %v", c.name, err)
		}
		if err := p.script.write("b"); c.refused && err == nil {
			t.Errorf("%s: what follows is taken", c.name)
		}
	}
}

// TestNothingToSay: a text in pieces that ends without anything to say is an error for
// the reader too.
// A stream that is refused gives its place up at once, and so does one that is closed: no
// other request is needed to wake the engine.
func TestRefusedStreamFreesItsPlace(t *testing.T) {
	m := small(t, CustomVoice, Options{MaxLive: 1, MaxQueue: -1})
	ctx := context.Background()
	for _, end := range []func(*Stream) error{(*Stream).End, (*Stream).Close} {
		s, err := m.SpeakPieces(ctx, Request{})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Write("..."); err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(10 * time.Second); m.Load().Live == 0; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("the stream was never live")
			}
		}
		_ = end(s)
		defer s.Close()
		for deadline := time.Now().Add(10 * time.Second); m.Load().Live > 0; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("the stream's place is still taken")
			}
		}
	}
}

func TestNothingToSay(t *testing.T) {
	m := tiny(t, CustomVoice, 1)
	s, err := m.SpeakPieces(context.Background(), Request{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	s.Write("...")
	s.End()
	for event, err := range s.Events() {
		var refused *RequestError
		if !errors.As(err, &refused) {
			t.Errorf("%+v, %v", event, err)
		}
	}
}
