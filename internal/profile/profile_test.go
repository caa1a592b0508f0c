package profile

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestQuantiles compares with the sorted durations by the definition.
func TestQuantiles(t *testing.T) {
	for _, n := range []int{1, 2, 3, 50, 101, 5000} {
		h, all := &Histogram{}, make([]int64, n)
		sum := 0.0
		rng := rand.New(rand.NewPCG(1, uint64(n)))
		for i := range all {
			all[i] = int64(math.Exp(rng.Float64() * 24)) // 1 ns to 26 s
			h.Add(all[i])
			sum += float64(all[i])
		}
		slices.Sort(all)
		for _, q := range []float64{0, 0.01, 0.25, 0.5, 0.9, 0.95, 0.99, 1} {
			want := all[max(1, int(math.Ceil(q*float64(n))))-1]
			if got := h.Quantile(q); math.Abs(float64(got-want)) > 0.008*float64(want) {
				t.Errorf("%d durations: quantile %g is %d, want %d", n, q, got, want)
			}
		}
		if h.min != all[0] || h.max != all[n-1] || h.Quantile(0) != all[0] || h.Quantile(1) != all[n-1] {
			t.Errorf("%d durations: %d to %d, want %d to %d", n, h.min, h.max, all[0], all[n-1])
		}
		if got, want := h.Mean(), sum/float64(n); math.Abs(got-want) > 1e-9*want {
			t.Errorf("%d durations: mean %g, want %g", n, got, want)
		}
	}
	if h := (&Histogram{}); h.Quantile(0.5) != 0 || h.Mean() != 0 {
		t.Error("an empty histogram has a median")
	}
}

// TestSmallNumbers: 1 to 100 milliseconds have the percentiles that everybody knows.
func TestSmallNumbers(t *testing.T) {
	h := &Histogram{}
	for i := range 100 {
		h.Add(int64(100-i) * 1e6)
	}
	for q, want := range map[float64]float64{0.5: 50, 0.95: 95, 0.99: 99, 1: 100} {
		if got := milliseconds(h.Quantile(q)); math.Abs(got-want) > 0.008*want {
			t.Errorf("quantile %g is %g ms, want %g", q, got, want)
		}
	}
}

// TestBuckets: every bucket begins where the one before ends, and its middle is in it.
func TestBuckets(t *testing.T) {
	for b := range buckets - 1 {
		m := middle(b)
		if bucket(m) != b {
			t.Fatalf("the middle %d of bucket %d is in bucket %d", m, b, bucket(m))
		}
		if next := middle(b + 1); next <= m || float64(next-m) > max(1, float64(next)/sub+1) {
			t.Fatalf("buckets %d and %d lie at %d and %d", b, b+1, m, next)
		}
	}
	if bucket(math.MaxInt64) != buckets-1 {
		t.Error("the longest duration has no bucket")
	}
	h := &Histogram{}
	h.Add(-5)
	if h.min != 0 || h.n != 1 {
		t.Errorf("a negative duration counts as %d", h.min)
	}
}

// spin lets time pass without giving up the processor.
func spin(d time.Duration) {
	for begun := time.Now(); time.Since(begun) < d; {
	}
}

// record makes a run of frames with two residual steps.
func record(r *Recorder, streams, frames int) {
	numbers, listeners := make([]int, streams), make([]*Listener, streams)
	for s := range numbers {
		numbers[s], listeners[s] = r.Stream(), r.Listener(80*time.Millisecond, frames)
		listeners[s].Asked()
		r.Begin(numbers[s], 0)
		spin(20 * time.Microsecond)
		r.Lap(Prompt)
		r.Lap(Prefill)
	}
	for f := range frames {
		for _, s := range numbers {
			r.Begin(s, f)
			if f > 0 {
				r.Lap(Input)
				spin(20 * time.Microsecond)
				r.Lap(Talker)
			}
			r.Lap(FirstPick)
			for g := 1; g <= 2; g++ {
				spin(10 * time.Microsecond)
				r.Computed(g)
				r.Picked(g)
			}
			spin(30 * time.Microsecond)
			r.Lap(Codec)
			r.End(1)
			listeners[s].Heard()
			spin(5 * time.Microsecond)
			listeners[s].Encoded()
		}
	}
}

func run() Run {
	return Run{
		Model: "m <&> \"x\"", Precision: "f32", Processor: "p", Level: "generic", Threads: 2, Streams: 2,
		FrameAudio: 80 * time.Millisecond, Format: "pcm", PeakMemory: 50 << 20,
		Load: map[Stage]Load{Talker: {Bytes: 1e6, MACs: 2e6}}, Steps: []Load{{Bytes: 1e5}, {Bytes: 2e5}},
	}
}

func TestReport(t *testing.T) {
	r := New(1000)
	record(r, 2, 10)
	p := r.Report(run())
	for stage, want := range map[Stage]int64{Prompt: 2, Prefill: 2, Input: 18, Talker: 18, FirstPick: 20, Residual: 20, Picks: 20, Codec: 20, Frame: 20, Encode: 20} {
		if got := p.Row(stage).Count; got != want {
			t.Errorf("%s: %d, want %d", stage, got, want)
		}
	}
	if p.Row(Reference).Count != 0 {
		t.Error("there is a reference")
	}
	if len(p.Steps) != 2 || p.Steps[0].Step != 1 || p.Steps[1].Count != 20 || p.Steps[1].Bytes != 2e5 {
		t.Errorf("steps %+v", p.Steps)
	}
	shares, steps := 0.0, 0.0
	for _, row := range p.Stages {
		if !(row.Min <= row.P50 && row.P50 <= row.P95 && row.P95 <= row.P99 && row.P99 <= row.Max && row.Min <= row.Mean && row.Mean <= row.Max) {
			t.Errorf("figures out of order: %+v", row)
		}
		if row.stage.inFrame() {
			shares += row.Share
		}
	}
	for _, row := range p.Steps {
		steps += row.Share
	}
	if shares > 1 || shares < 0.5 || p.Row(Frame).Share != 1 || p.Row(Prefill).Share != 0 || p.Row(Encode).Share != 0 || math.Abs(steps-p.Row(Residual).Share) > 1e-9 {
		t.Errorf("shares of %g, steps %g, frame %+v", shares, steps, p.Row(Frame))
	}
	if want := p.Row(Frame).Mean / 80; math.Abs(p.RTF-want) > 1e-9 {
		t.Errorf("RTF %g, want %g", p.RTF, want)
	}
	if talker := p.Row(Talker); math.Abs(talker.GBs*talker.P50-1) > 1e-9 || math.Abs(talker.GMACs-2*talker.GBs) > 1e-9 {
		t.Errorf("bandwidth %+v", talker)
	}
	if len(p.Frames) != 20 || p.Frames[1].Stream != 1 || p.Frames[19].Frame != 9 {
		t.Errorf("frames %+v", p.Frames)
	}
	r.Reset()
	if p := r.Report(run()); len(p.Stages) != 0 || p.RTF != 0 || r.Stream() != 0 {
		t.Errorf("after Reset: %+v", p)
	}
}

// TestCoarseClock: stages that take less than a step of the clock count as often as they
// happen, as 0. In a bubble the clock stands.
func TestCoarseClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(1000)
		for range 10 {
			frame(r)
		}
		time.Sleep(time.Millisecond)
		r.Begin(0, 10)
		r.Lap(Talker)
		time.Sleep(2 * time.Millisecond)
		r.Lap(Codec)
		r.End(1)
		p := r.Report(run())
		for stage, want := range map[Stage]int64{Prompt: 0, Input: 10, Talker: 11, FirstPick: 10, Residual: 10, Picks: 10, Codec: 11, Frame: 11} {
			if got := p.Row(stage).Count; got != want {
				t.Errorf("%s: %d, want %d", stage, got, want)
			}
		}
		if codec := p.Row(Codec); codec.P50 != 0 || codec.Max != 2 || codec.Share != 1 {
			t.Errorf("codec %+v", codec)
		}
		if err := errors.Join(p.Text(io.Discard), p.JSON(io.Discard), p.HTML(io.Discard)); err != nil {
			t.Error(err)
		}
	})
}

// TestUnfinishedFrame: what turned out to be no frame counts in no stage.
func TestUnfinishedFrame(t *testing.T) {
	r := New(10)
	r.Begin(0, 0)
	r.Lap(Talker)
	if p := r.Report(run()); len(p.Stages) != 0 || p.Lost != 0 {
		t.Errorf("%+v", p.Stages)
	}
}

// TestRing keeps the last spans, and the histograms of all.
func TestRing(t *testing.T) {
	r := New(5)
	record(r, 1, 100)
	var kept []Span
	r.Spans(func(s Span) { kept = append(kept, s) })
	if len(kept) != 5 || kept[4].Stage != Frame || kept[4].Frame != 99 || kept[3].Stage != Codec {
		t.Errorf("kept %+v", kept)
	}
	if p := r.Report(run()); p.Row(Frame).Count != 100 || len(p.Frames) != 1 || p.Lost != r.taken-5 {
		t.Errorf("%d frames, %d kept, %d lost", p.Row(Frame).Count, len(p.Frames), p.Lost)
	}
}

func TestJSON(t *testing.T) {
	r := New(1000)
	record(r, 2, 5)
	p := r.Report(run())
	var b bytes.Buffer
	if err := p.JSON(&b); err != nil {
		t.Fatal(err)
	}
	var back struct {
		Model  string
		RTF    float64
		TTFA   []float64 `json:"ttfa_ms"`
		FPS    float64   `json:"frames_per_s"`
		Gap    struct{ Count int }
		Hears  []map[string]float64 `json:"listeners"`
		Stages []struct {
			Stage string
			Count int
			P50   float64 `json:"p50_ms"`
		}
		Steps  []struct{ Step int }   `json:"residual_steps"`
		Frames []struct{ MS float64 } `json:"rounds_in_time"`
	}
	if err := json.Unmarshal(b.Bytes(), &back); err != nil {
		t.Fatal(err)
	}
	if back.Model != p.Model || back.RTF != p.RTF || !slices.Equal(back.TTFA, p.TTFA) || len(back.Steps) != 2 || len(back.Frames) != 10 || back.FPS != p.FPS || back.Gap.Count != 8 {
		t.Errorf("read back %+v", back)
	}
	if len(back.Hears) != 2 || back.Hears[1]["gap_p99_ms"] != p.Listeners[1].GapP99 || back.Hears[0]["ttfa_ms"] <= 0 {
		t.Errorf("listeners %v", back.Hears)
	}
	if strings.Contains(b.String(), `"parity"`) {
		t.Error("there is parity that nobody asked for")
	}
	for i, row := range p.Stages {
		if got := back.Stages[i]; got.Stage != row.Stage || got.Count != int(row.Count) || got.P50 != row.P50 {
			t.Errorf("%+v, want %+v", got, row)
		}
	}
}

// TestTrace checks that the spans of a frame lie within it, one after the other.
func TestTrace(t *testing.T) {
	r := New(1000)
	record(r, 2, 5)
	var b bytes.Buffer
	if err := r.Trace(&b); err != nil {
		t.Fatal(err)
	}
	var trace struct {
		Events []struct {
			Name, Ph string
			TS, Dur  float64
			TID      int
			Args     struct{ Frame *int }
		} `json:"traceEvents"`
	}
	if err := json.Unmarshal(b.Bytes(), &trace); err != nil {
		t.Fatal(err)
	}
	frames, tracks, encoded := 0, 0, 0
	parts, sum, begin, end := 0, 0.0, 0.0, 0.0
	for _, e := range trace.Events {
		switch {
		case e.Ph == "M":
			tracks++
		case e.TID >= listenerTrack:
			encoded++
			if e.Name != "encode" || e.Dur < 5 || e.Args.Frame == nil {
				t.Errorf("a listener has the event %+v", e)
			}
		case e.Ph != "X" || e.TS < 0 || e.Dur < 0 || e.TID < 1 || e.TID > 2:
			t.Errorf("event %+v", e)
		case e.Name == "frame":
			frames++
			if begin < e.TS-0.002 || end > e.TS+e.Dur+0.002 || sum > e.Dur+0.01 || parts < 6 {
				t.Errorf("%d stages of %g µs, from %g to %g, in the frame %+v", parts, sum, begin, end, e)
			}
			parts, sum = 0, 0
		case e.Args.Frame != nil:
			if parts == 0 {
				begin = e.TS
			} else if math.Abs(e.TS-end) > 0.002 {
				t.Errorf("%s begins at %g, the span before ends at %g", e.Name, e.TS, end)
			}
			parts, sum, end = parts+1, sum+e.Dur, e.TS+e.Dur
		}
	}
	if frames != 10 || tracks != 4 || encoded != 10 {
		t.Errorf("%d frames, %d encoded, on %d tracks", frames, encoded, tracks)
	}
}

// TestHTML reads the page as XML: every element is closed, nothing is fetched, and
// text is escaped.
func TestHTML(t *testing.T) {
	for _, frames := range []int{0, 1, 30} {
		r := New(10000)
		record(r, 2, frames)
		var b bytes.Buffer
		p := r.Report(run())
		if frames == 30 {
			p.Parity = somewhatOff()
		}
		if err := p.HTML(&b); err != nil {
			t.Fatal(err)
		}
		page := b.String()
		elements := map[string]int{}
		d := xml.NewDecoder(strings.NewReader(page))
		for {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%d frames: %v", frames, err)
			}
			if start, ok := token.(xml.StartElement); ok {
				elements[start.Name.Local]++
			}
		}
		// Rounds, shares, stages; with frames residual steps, with two of a stream gaps.
		want := map[int]map[string]int{
			0: {"polyline": 0, "svg": 3, "table": 2}, 1: {"polyline": 1, "svg": 4, "table": 2}, 30: {"polyline": 1, "svg": 6, "table": 3},
		}[frames]
		for name, n := range want {
			if elements[name] != n {
				t.Errorf("%d frames: %d elements %s, want %d", frames, elements[name], name, n)
			}
		}
		for _, no := range []string{"http:", "https:", "src=", "href=", "url(", "@import", "NaN", "Inf", "m <&>"} {
			if strings.Contains(page, no) {
				t.Errorf("%d frames: the page has %q", frames, no)
			}
		}
		for _, yes := range []string{"prefers-color-scheme: dark", "m &lt;&amp;&gt;", ">80 ms<"} {
			if !strings.Contains(page, yes) {
				t.Errorf("%d frames: the page lacks %q", frames, yes)
			}
		}
	}
}

func TestText(t *testing.T) {
	r := New(1000)
	record(r, 2, 5)
	var b bytes.Buffer
	if err := r.Report(run()).Text(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"2 threads, 2 streams", "\ntalker ", "\n  step 2 ", "\nencode ", "\nstream 2 ", "\nall ", "10 frames in 10 rounds: RTF 0.0", " frames a second; TTFA 0.", "peak memory 50 MiB", "100.0 %", "2 streams as pcm"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, b.String())
		}
	}
}

// frame is what a decode step asks of a recorder.
func frame(r *Recorder) {
	r.Begin(0, 1)
	r.Lap(Input)
	r.Lap(Talker)
	r.Lap(FirstPick)
	for g := 1; g < 16; g++ {
		r.Computed(g)
		r.Picked(g)
	}
	r.Lap(Codec)
	r.End(1)
}

func TestAllocatesNothing(t *testing.T) {
	for name, r := range map[string]*Recorder{"off": nil, "on": New(100)} {
		if n := testing.AllocsPerRun(100, func() { frame(r) }); n != 0 {
			t.Errorf("%s: a frame allocates %v times", name, n)
		}
	}
	var off *Recorder
	off.Reset()
	if off.Stream() != 0 {
		t.Error("a recorder that is off counts streams")
	}
}

// BenchmarkFrame is what recording costs a frame of 16 codes.
func BenchmarkFrame(b *testing.B) {
	for name, r := range map[string]*Recorder{"off": nil, "on": New(100000)} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				frame(r)
			}
		})
	}
}
