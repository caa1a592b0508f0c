package synth

import (
	"testing"
	"time"

	"github.com/mynah-tts/mynah/internal/paritytest"
	"github.com/mynah-tts/mynah/internal/profile"
)

// profiled opens a tiny model with a recorder.
func profiled(t *testing.T, name string) (*Model, *profile.Recorder) {
	t.Helper()
	r := profile.New(10_000)
	m, err := Open(paritytest.Own(t, name).Dir, Options{Threads: 2, Precision: Float32Precision, Profile: r})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m, r
}

// TestProfile checks that every stage of every frame is recorded, and that recording
// changes no sample.
func TestProfile(t *testing.T) {
	m, r := profiled(t, "tiny-custom")
	request := Request{Text: "The same words again.", Seed: new(int64(7)), MaxFrames: 6}
	_, got, _ := say(t, m, request)
	_, want, _ := say(t, tiny(t, CustomVoice, 2), request)
	equalPCM(t, "profiled", got, want)

	stages, steps := m.StageLoad()
	p := r.Report(profile.Run{FrameAudio: 80 * time.Millisecond, Load: stages, Steps: steps})
	// The talker hears the sixth frame too, to tell an end from a cut: that is no frame.
	for stage, want := range map[profile.Stage]int64{
		profile.Queue: 1, profile.Prompt: 1, profile.Prefill: 1, profile.Reference: 0, profile.Input: 5, profile.Talker: 5, profile.FirstPick: 6,
		profile.Residual: 6, profile.Picks: 6, profile.Codec: 6, profile.Frame: 6,
	} {
		if got := p.Row(stage).Count; got != want {
			t.Errorf("%s: recorded %d times, want %d", stage, got, want)
		}
	}
	if want := m.cfg.Talker.Groups - 1; len(p.Steps) != want || p.Steps[want-1].Step != want || p.Steps[0].Count != 6 {
		t.Errorf("residual steps %+v, want %d", p.Steps, want)
	}
	shares := 0.0
	for _, row := range p.Stages {
		if row.Stage != profile.Frame.String() {
			shares += row.Share
		}
	}
	if shares < 0.9 || shares > 1 {
		t.Errorf("the stages make up %g of the frames", shares)
	}
}

// TestProfileReference: an in-context clone has a stage of its own.
func TestProfileReference(t *testing.T) {
	m, r := profiled(t, "tiny-base")
	frame := make([]int32, m.cfg.Talker.Groups)
	ref := &Reference{XVector: make([]float32, m.cfg.Talker.Hidden), Codes: [][]int32{frame, frame}, Text: "What was said."}
	say(t, m, Request{Text: "A voice.", Reference: ref, MaxFrames: 2, Seed: new(int64(1))})
	if got := r.Report(profile.Run{}).Row(profile.Reference).Count; got != 1 {
		t.Errorf("recorded %d times", got)
	}
}

// TestLoad compares with the sizes of the checkpoint's tensors.
func TestLoad(t *testing.T) {
	m := tiny(t, CustomVoice, 1)
	stages, steps := m.StageLoad()
	c := m.cfg.Talker
	layer := func(hidden, heads, kv, dim, ffn int) int64 {
		return int64(hidden) * int64(2*heads*dim+2*kv*dim+3*ffn)
	}
	talker := int64(c.Layers)*layer(c.Hidden, c.Heads, c.KVHeads, c.HeadDim, c.FFN) + int64(c.Hidden*c.Vocab)
	if got := stages[profile.Talker]; got.MACs != talker || got.Bytes != 2*talker && got.Bytes != 4*talker {
		t.Errorf("talker: %+v, want %d multiply-adds", got, talker)
	}
	p := c.Predictor
	step := int64(p.Layers)*layer(p.Hidden, p.Heads, p.KVHeads, p.HeadDim, p.FFN) + int64(p.Hidden*p.Vocab)
	if p.Hidden != c.Hidden {
		step += int64(p.Hidden * c.Hidden)
	}
	if got := steps[1].MACs; got != step || len(steps) != c.Groups-1 {
		t.Errorf("%d residual steps of %d, want %d", len(steps), got, step)
	}
	if one, two := m.PromptLoad(1), m.PromptLoad(2*prefillRows); one != stages[profile.Talker] || two.Bytes <= one.Bytes || two.MACs <= one.MACs*prefillRows {
		t.Errorf("prompts: %+v and %+v", one, two)
	}
	if codec := stages[profile.Codec]; codec.MACs <= codec.Bytes/4 {
		t.Errorf("codec: %+v", codec)
	}
}

// TestProfiledFrameAllocatesNothing guards the frame loop with the recorder on.
func TestProfiledFrameAllocatesNothing(t *testing.T) {
	m, _ := profiled(t, "tiny-custom")
	checkAllocations(t, m)
}
