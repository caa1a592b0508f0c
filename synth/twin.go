package synth

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"

	"github.com/mynah-tts/mynah/codec"
	"github.com/mynah-tts/mynah/internal/nn"
	"github.com/mynah-tts/mynah/internal/packed"
	"github.com/mynah-tts/mynah/internal/profile"
	"github.com/mynah-tts/mynah/predictor"
	"github.com/mynah-tts/mynah/talker"
)

// Twin computes in float32 what another model computes, on the same inputs, and tells
// how far the other's answers are from its own. The other model speaks; the twin hears
// the same rows and is given the other's codes, whatever it would have chosen itself
// (teacher forcing), so that one different choice does not make all that follows
// incomparable. Its predictor is run twice on each frame: behind the other talker's hidden
// state, to compare the predictor alone, and behind its own.
//
// It is for the program's own commands, and computes on the goroutine of the other
// model's engine, while that one's streams wait.
type Twin struct {
	m        *Model // idle but for this
	code0    profile.Tally
	groups   []profile.Tally // [groups-1], behind the other's hidden state
	endToEnd []profile.Tally // [groups-1], behind the twin's own
	sound    profile.SoundTally
	frames   int64
	err      error
}

// OpenTwin opens the float32 twin of what Open opens at path. A packed file has no
// float32 weights: checkpoint is the directory that it was packed from, which is checked
// by its digest. Otherwise checkpoint must be empty.
func OpenTwin(path, checkpoint string, threads int) (*Twin, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("model directory %s: %w", path, cause(err))
	}
	switch {
	case info.IsDir() && checkpoint != "":
		return nil, fmt.Errorf("model directory %s: is a checkpoint itself, it needs no other to be compared with", path)
	case !info.IsDir() && checkpoint == "":
		return nil, fmt.Errorf("model file %s: is packed and has no float32 weights: the checkpoint directory that it was packed from must be named", path)
	case !info.IsDir():
		if err := madeFrom(path, checkpoint); err != nil {
			return nil, err
		}
		path = checkpoint
	}
	m, err := Open(path, twinOptions(threads))
	if err != nil {
		return nil, err
	}
	return newTwin(m), nil
}

// OpenBuiltinTwin opens the float32 twin of the built-in voice.
func OpenBuiltinTwin(threads int) (*Twin, error) {
	m, err := OpenBuiltin(twinOptions(threads))
	if err != nil {
		return nil, err
	}
	return newTwin(m), nil
}

// twinOptions has the predictor's scratch for both hidden states.
func twinOptions(threads int) Options {
	return Options{Precision: Float32Precision, Threads: threads, MaxLive: 2}
}

// madeFrom checks that a packed file was packed from a directory.
func madeFrom(file, dir string) error {
	f, err := packed.Open(file, nn.PackingVersion)
	if err != nil {
		return fmt.Errorf("model file %s: %w", file, err)
	}
	source := f.Source
	if err := f.Close(); err != nil {
		return fmt.Errorf("model file %s: %w", file, err)
	}
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		err = errors.New("is a file, wanted a checkpoint directory")
	}
	digest := ""
	if err == nil {
		digest, err = packed.DigestDir(dir)
	}
	if err != nil {
		return fmt.Errorf("model directory %s: %w", dir, cause(err))
	}
	if digest != source {
		return fmt.Errorf("model file %s: was packed from a checkpoint with digest %.12s, %s has %.12s", file, source, dir, digest)
	}
	return nil
}

func newTwin(m *Model) *Twin {
	n := m.cfg.Talker.Groups - 1
	return &Twin{m: m, groups: make([]profile.Tally, n), endToEnd: make([]profile.Tally, n)}
}

// Close frees the weights.
func (t *Twin) Close() error { return t.m.Close() }

// Tracer returns a tracer for one stream of the other model. All streams that are
// traced at a time are of one model.
func (t *Twin) Tracer() Tracer {
	c := &t.m.cfg.Talker
	s := &twinStream{
		twin: t, talker: t.m.talker.NewState(c.MaxPositions), codec: t.m.codec.NewState(referenceFrames),
		row: make([]float32, c.Hidden), hidden: make([]float32, c.Hidden), embed: make([]float32, c.Hidden),
		tested: make([]float32, (c.Groups-1)*c.Predictor.Vocab), pcm: make([]float32, t.m.codec.Hop()),
		want: make([]float32, c.Codes()+1), got: make([]float32, c.Codes()+1),
	}
	s.states = []*talker.State{s.talker}
	s.batch = []predictor.Frame{
		{Hidden: s.hidden, Embed: s.embed, Codes: make([]int32, c.Groups)},
		{Hidden: s.talker.Hidden, Embed: s.embed, Codes: make([]int32, c.Groups)},
	}
	s.tap = s.compare
	return s
}

// Parity tells what was found. It must not be called while a traced stream is open.
func (t *Twin) Parity() (*profile.Parity, error) {
	if t.err != nil {
		return nil, t.err
	}
	if t.frames == 0 {
		return nil, errors.New("synth: the twin was shown no frame")
	}
	p := &profile.Parity{Frames: t.frames, Talker: t.code0.Agreement(0), Codec: t.sound.Sound()}
	p.Residual, p.Groups = agreements(t.groups)
	p.EndToEnd, p.EndToEndGroups = agreements(t.endToEnd)
	return p, nil
}

// agreements returns those of all groups together, and of each.
func agreements(tallies []profile.Tally) (all profile.Agreement, groups []profile.Agreement) {
	var sum profile.Tally
	for i := range tallies {
		sum.Join(&tallies[i])
		groups = append(groups, tallies[i].Agreement(i+1))
	}
	return sum.Agreement(profile.AllGroups), groups
}

// twinStream is the twin's side of one stream.
type twinStream struct {
	twin   *Twin
	talker *talker.State
	codec  *codec.State
	states []*talker.State

	row, hidden, embed []float32         // [hidden]: the row heard last, the other's hidden state, code 0
	tested             []float32         // [groups-1, vocab], the other's residual logits
	batch              []predictor.Frame // behind the other's hidden state, and behind the twin's
	tap                func(frame, group int, logits []float32)
	pcm                []float32 // [frame size]
	want, got          []float32 // [codes+1], what code 0 is chosen from
}

// Begin brings the twin behind the prompt and the reference.
func (s *twinStream) Begin(rows []float32, reference []int32) {
	m := s.twin.m
	s.talker.Reset()
	s.codec.Reset()
	m.talker.Extend(m.work, m.ts, s.talker, rows, nil)
	m.talker.Logits(m.work, s.talker)
	groups := m.cfg.Talker.Groups
	for heard := range slices.Chunk(reference, referenceFrames*groups) {
		s.decode(make([]float32, len(heard)/groups*len(s.pcm)), heard)
	}
}

// Hear is the talker's step.
func (s *twinStream) Hear(row []float32) {
	copy(s.row, row)
	s.twin.m.talker.Step(s.twin.m.work, s.twin.m.ts, s.states, s.row)
}

// Choose compares the talkers.
func (s *twinStream) Choose(logits, hidden []float32) {
	copy(s.hidden, hidden)
	c := &s.twin.m.cfg.Talker
	choices := func(dst, logits []float32) []float32 {
		copy(dst, logits[:c.Codes()])
		dst[c.Codes()] = logits[c.CodecEOS]
		return dst
	}
	s.twin.add(&s.twin.code0, 0, choices(s.want, s.talker.Logits), choices(s.got, logits))
}

// Residual keeps the other's logits until the twin has its own.
func (s *twinStream) Residual(group int, logits []float32) {
	copy(s.tested[(group-1)*len(logits):], logits)
}

// Frame compares predictors and codecs.
func (s *twinStream) Frame(codes []int32, pcm []float32) {
	m := s.twin.m
	m.talker.Code(s.embed, int(codes[0]))
	for i := range s.batch {
		s.batch[i].Pick = forced(codes)
		s.batch[i].Codes[0] = codes[0]
	}
	m.ps.Tap = s.tap
	m.pred.Run(m.work, m.ps, s.batch)
	m.ps.Tap = nil
	if s.decode(s.pcm, codes) {
		s.twin.sound.Add(s.pcm, pcm)
		s.twin.frames++
	}
}

// compare is shown the twin's residual logits.
func (s *twinStream) compare(frame, group int, logits []float32) {
	t := s.twin
	tally := &t.groups[group-1]
	if frame == 1 {
		tally = &t.endToEnd[group-1]
	}
	t.add(tally, group, logits, s.tested[(group-1)*len(logits):group*len(logits)])
}

// decode has the codec speak codes; false means that it has failed.
func (s *twinStream) decode(dst []float32, codes []int32) bool {
	m := s.twin.m
	err := m.codec.Decode(m.work, m.cs, s.codec, dst, codes)
	if err != nil && s.twin.err == nil {
		s.twin.err = fmt.Errorf("synth: float32 twin: %w", err)
	}
	return err == nil
}

// add compares logits. Those of a model that has gone wrong cannot be.
func (t *Twin) add(tally *profile.Tally, group int, want, got []float32) {
	finite := func(x float32) bool { return !math.IsNaN(float64(x)) && !math.IsInf(float64(x), 0) }
	for i := range want {
		if finite(want[i]) && finite(got[i]) {
			continue
		}
		if t.err == nil {
			t.err = fmt.Errorf("synth: float32 twin: code %d: logit %d is %g, the tested model has %g", group, i, want[i], got[i])
		}
		return
	}
	tally.Add(want, got)
}

// forced picks given codes, whatever the logits.
type forced []int32

func (f forced) Pick(_ []float32, group int) (int, error) { return int(f[group]), nil }
