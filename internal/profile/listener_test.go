package profile

import (
	"math"
	"testing"
	"time"
)

// at tells a listener of a frame as if it were so many milliseconds since the beginning.
func (l *Listener) at(ms float64) {
	l.epoch = time.Now().Add(-time.Duration(ms * 1e6))
}

// near tells whether milliseconds are those that are wanted; the clock goes on between.
func near(got, want float64) bool { return math.Abs(got-want) < 0.02*want+2 }

// TestHearing lets frames come at given times.
func TestHearing(t *testing.T) {
	r := New(1)
	l := r.Listener(80*time.Millisecond, 1)
	for _, utterance := range [][]float64{{1000, 1300, 1340, 1600}, {5000, 5500, 5530}} {
		l.at(utterance[0])
		l.Asked()
		for _, ms := range utterance[1:] {
			l.at(ms)
			l.Heard()
			l.at(ms + 7)
			l.Encoded()
		}
	}
	p := r.Report(Run{FrameAudio: 80 * time.Millisecond})
	h := p.Listeners[0]
	// Gaps are 40, 260 and 30 ms; the third frame is needed 160 ms behind the first and
	// comes after 300.
	if h.Frames != 5 || h.Stream != 1 || !near(h.TTFA, 300) || !near(h.RTF*240, 330) || !near(h.Lag, 140) || !near(h.GapP50, 40) || !near(h.GapMax, 260) {
		t.Errorf("%+v", h)
	}
	if p.Gap.Count != 3 || !near(p.Gap.Min, 30) || !near(p.Gap.Mean, 110) {
		t.Errorf("gaps %+v", p.Gap)
	}
	if e := p.Row(Encode); e.Count != 5 || !near(e.P50, 7) || len(l.spans) != 1 {
		t.Errorf("encoding %+v, %d spans", e, len(l.spans))
	}
	if again := r.Report(Run{}); again.Row(Encode).Count != 5 {
		t.Error("a second report counts twice")
	}
	if l := (*Recorder)(nil).Listener(0, 0); l != nil {
		t.Error("a recorder that is off has a listener")
	}
}

// TestListenerAllocatesNothing: neither on nor off.
func TestListenerAllocatesNothing(t *testing.T) {
	for name, l := range map[string]*Listener{"off": nil, "on": New(1).Listener(time.Second, 10)} {
		if n := testing.AllocsPerRun(100, func() { l.Asked(); l.Heard(); l.Encoded() }); n != 0 {
			t.Errorf("%s: a frame allocates %v times", name, n)
		}
	}
}

// TestTogether: a round of several streams counts their frames.
func TestTogether(t *testing.T) {
	r := New(100)
	for range 2 {
		r.Begin(Together, 5)
		spin(time.Millisecond)
		r.Lap(Talker)
		r.End(3)
	}
	run := Run{FrameAudio: 80 * time.Millisecond, Load: map[Stage]Load{Talker: {Bytes: 1e6, MACs: 1e6}}}
	p := r.Report(run)
	if p.Made != 6 || p.Rounds != 2 || len(p.Frames) != 2 || p.Frames[0] != (FramePoint{Together, 5, 3, p.Frames[0].Time}) {
		t.Errorf("%d frames, %d rounds: %+v", p.Made, p.Rounds, p.Frames)
	}
	if want := p.Row(Frame).Mean * 2 / (6 * 80); math.Abs(p.RTF-want) > 1e-9 || math.Abs(p.FPS*p.RTF-12.5) > 1e-9 {
		t.Errorf("RTF %g, want %g; %g frames a second", p.RTF, want, p.FPS)
	}
	// Weights are read once a round, and multiplied by for each frame.
	if row := p.Row(Talker); math.Abs(row.GMACs-3*row.GBs) > 1e-9 {
		t.Errorf("%+v", row)
	}
	r.Freeze()
	r.Begin(0, 0)
	r.Lap(Talker)
	r.End(1)
	r.Add(Queue, 0, time.Second)
	if after := r.Report(run); after.Made != 6 || after.Row(Talker).Count != 2 || after.Row(Queue).Count != 0 {
		t.Errorf("after Freeze: %+v", after)
	}
}
