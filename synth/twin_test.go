package synth

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/mynah-tts/mynah/internal/nn"
	"github.com/mynah-tts/mynah/internal/packed"
	"github.com/mynah-tts/mynah/internal/paritytest"
	"github.com/mynah-tts/mynah/internal/profile"
)

// twin opens the float32 twin of a tiny model.
func twin(t *testing.T, dir string) *Twin {
	t.Helper()
	w, err := OpenTwin(dir, "", 2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

// parityOf compares what a model says with its twin.
func parityOf(t *testing.T, m *Model, w *Twin, r Request) *profile.Parity {
	t.Helper()
	if err := m.compareWith(t.Context(), w, r); err != nil {
		t.Fatal(err)
	}
	p, err := w.Parity()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// exact is the agreement of equal logits.
func exact(group int, choices int64) profile.Agreement {
	return profile.Agreement{Group: group, Choices: choices, Top1: 1, Top5: 1}
}

// TestTwinOfFloat32: float32 agrees with itself in every bit, in several segments, with
// prompts from the cache of prefixes, behind a reference, and with several streams at once.
func TestTwinOfFloat32(t *testing.T) {
	for _, name := range []string{"tiny-custom", "tiny-base"} {
		t.Run(name, func(t *testing.T) {
			dir := paritytest.Own(t, name).Dir
			m := openModel(t, dir, 2)
			c := m.cfg.Talker
			requests := []Request{words(m), words(m), words(m)}
			requests[1].Text, requests[1].SegmentRunes, requests[1].MaxFrames = strings.Repeat("Some words. ", 3), 1, 60
			requests[2].Layout = LayoutStreaming
			if m.cfg.Kind == Base {
				frame := make([]int32, c.Groups)
				r := requests[2].Reference
				r.Codes, r.Text = [][]int32{frame, frame}, "What was said."
			}
			w := twin(t, dir)
			var wg sync.WaitGroup
			for _, r := range append(requests, requests...) {
				wg.Go(func() {
					if err := m.compareWith(t.Context(), w, r); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			p, err := w.Parity()
			if err != nil {
				t.Fatal(err)
			}
			residual := p.Frames * int64(c.Groups-1)
			if p.Frames < 12 || p.Talker.Choices <= p.Frames || p.Talker != exact(0, p.Talker.Choices) {
				t.Errorf("%d frames, talker %+v", p.Frames, p.Talker)
			}
			if p.Residual != exact(profile.AllGroups, residual) || p.EndToEnd != exact(profile.AllGroups, residual) {
				t.Errorf("%d frames, predictor %+v, end to end %+v", p.Frames, p.Residual, p.EndToEnd)
			}
			if len(p.Groups) != c.Groups-1 || p.Groups[0] != exact(1, p.Frames) || p.EndToEndGroups[c.Groups-2] != exact(c.Groups-1, p.Frames) {
				t.Errorf("groups %+v", p.Groups)
			}
			if p.Codec != (profile.Sound{Frames: p.Frames, Exact: true}) {
				t.Errorf("codec %+v", p.Codec)
			}
			var b bytes.Buffer
			if err := json.NewEncoder(&b).Encode(p); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestTwinOfPacked compares packed precisions on a tiny model, whose random weights 4 bits
// hurt more than they hurt a voice, and each model alone: what is not packed agrees.
func TestTwinOfPacked(t *testing.T) {
	dir := paritytest.Own(t, "tiny-custom").Dir
	for _, c := range []struct {
		p                          Precision
		talker, predictor          float64 // least share of top-1
		klTalker, klPredictor, snr float64 // largest, largest, least
	}{
		{Precision{Talker: "int4-a8", Predictor: "f32", Codec: "f32"}, 0.2, 1, 2, 0, 0},
		{Precision{Talker: "f32", Predictor: "int8", Codec: "f32"}, 1, 0.6, 0, 0.1, 0},
		{Precision{Talker: "f32", Predictor: "int4", Codec: "f32"}, 1, 0.2, 0, 2, 0},
		{Precision{Talker: "f32", Predictor: "f32", Codec: "bf16"}, 1, 1, 0, 0, 20},
		{Precision{Talker: "f32", Predictor: "f32", Codec: "int8"}, 1, 1, 0, 0, 10},
		{FastPrecision, 0.2, 0.2, 2, 2, 10},
	} {
		m := must(t, dir, Options{Precision: c.p})
		r := words(m)
		r.MaxFrames = 12
		p := parityOf(t, m, twin(t, dir), r)
		t.Logf("%v: talker %+v, predictor %+v, end to end %+v, codec %+v", c.p, p.Talker, p.Residual, p.EndToEnd, p.Codec)
		check := func(what string, a profile.Agreement, top1, kl float64) {
			if a.Top1 < top1 || a.Top5 < top1/2 || a.KL > kl || kl > 0 && (a.KL == 0 || a.Worst == 0) || kl == 0 && a.Worst != 0 {
				t.Errorf("%v: %s agrees by %+v, wanted top-1 %g and KL %g", c.p, what, a, top1, kl)
			}
		}
		check("talker", p.Talker, c.talker, c.klTalker)
		check("predictor", p.Residual, c.predictor, c.klPredictor)
		if whole := max(c.klTalker, c.klPredictor); whole > 0 && (p.EndToEnd.KL == 0 || p.EndToEnd.KL < p.Residual.KL/2) {
			t.Errorf("%v: end to end %+v", c.p, p.EndToEnd)
		}
		switch s := p.Codec; {
		case c.snr == 0 && !s.Exact, c.snr > 0 && (s.SNR == nil || *s.SNR < c.snr || *s.SNR > 120 || s.Worst == 0):
			t.Errorf("%v: codec %+v", c.p, s)
		}
	}
}

// TestOpenTwin names what a twin cannot be made of.
func TestOpenTwin(t *testing.T) {
	dir, other := paritytest.Own(t, "tiny-custom").Dir, paritytest.Own(t, "tiny-base").Dir
	file := filepath.Join(t.TempDir(), "packed")
	packing, err := Pack(t.Context(), dir, file, DefaultPrecision)
	if err != nil {
		t.Fatal(err)
	}
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("no model"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ path, checkpoint, want string }{
		{file, "", "is packed and has no float32 weights: the checkpoint directory"},
		{file, other, "was packed from a checkpoint with digest "},
		{file, "none", "model directory none: no such file"}, {file, text, "is a file, wanted a checkpoint directory"},
		{dir, other, "is a checkpoint itself"},
		{"none", "", "model directory none: no such file"},
		{text, dir, "is no packed file"},
	} {
		if w, err := OpenTwin(c.path, c.checkpoint, 1); err == nil {
			w.Close()
			t.Errorf("%s with %q: opened", c.path, c.checkpoint)
		} else if !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s with %q: %q, wanted %q", c.path, c.checkpoint, err, c.want)
		}
	}
	w, err := OpenTwin(file, dir, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if _, err := w.Parity(); err == nil {
		t.Error("parity of nothing")
	}
	m := must(t, file, Options{})
	if p := parityOf(t, m, w, words(m)); p.Frames == 0 || p.Talker.KL == 0 || p.Talker.KL > 2 {
		t.Errorf("%+v", p)
	}
	checkStored(t, file, packing.Parity)
}

// checkStored compares what a packed file says of parity with what was measured, which is
// what the file itself gives.
func checkStored(t *testing.T, file string, want *profile.Parity) {
	t.Helper()
	f, err := packed.Open(file, nn.PackingVersion)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	got := f.Parity
	near := func(a, b float64) bool { return math.Abs(a-b) <= 1e-5*math.Abs(b) }
	if want == nil || got.Frames < 2 || got.Frames != int(want.Frames) || !near(got.Code0Top1, want.Talker.Top1) || !near(got.Code0KL, want.Talker.KL) ||
		!near(got.ResidualTop1, want.Residual.Top1) || !near(got.ResidualKL, want.Residual.KL) || !math.IsInf(got.CodecSNR, 1) || !want.Codec.Exact {
		t.Errorf("the file says %+v, measured was %+v", got, want)
	}
	if got.Code0KL == 0 || got.ResidualKL == 0 {
		t.Errorf("4 and 8 bits are as good as float32: %+v", got)
	}
}

// TestParityHeader: samples that are nearly equal have a ratio, equal ones an infinite one.
func TestParityHeader(t *testing.T) {
	if got := parityHeader(nil); got != (packed.Parity{}) {
		t.Errorf("nothing: %+v", got)
	}
	p := &profile.Parity{Frames: 2, Codec: profile.Sound{Frames: 2, SNR: new(41.5)}}
	if got := parityHeader(p); got.Frames != 2 || got.CodecSNR != 41.5 {
		t.Errorf("%+v", got)
	}
}
