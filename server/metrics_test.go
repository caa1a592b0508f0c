package server

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"
)

// sum is the sum of a histogram.
func (r *running) sum(name, labels string) float64 {
	r.t.Helper()
	x, err := strconv.ParseFloat(r.metric(name+"_sum"+labels), 64)
	if err != nil {
		r.t.Fatal(err)
	}
	return x
}

// slowWriter takes its time for each write.
type slowWriter struct{ *httptest.ResponseRecorder }

const slowWrites = 150 * time.Millisecond

func (w slowWriter) Write(p []byte) (int, error) {
	time.Sleep(slowWrites)
	return w.ResponseRecorder.Write(p)
}

// The gap between frames is what the engine took, not the client that read them.
func TestFrameGapWithoutClient(t *testing.T) {
	r := start(t, Options{})
	req := httptest.NewRequest(http.MethodPost, speechPath, strings.NewReader(`{"input":"a","response_format":"pcm"}`))
	req.Header.Set("Content-Type", "application/json")
	r.ServeHTTP(slowWriter{httptest.NewRecorder()}, req)
	if n, sum := r.metric("mynah_frame_gap_seconds_count"), r.sum("mynah_frame_gap_seconds", ""); n != "2" || sum >= slowWrites.Seconds() {
		t.Errorf("%s gaps of %g s together", n, sum)
	}
}

// textPause is how long clients of these tests let a text wait.
const textPause = 300 * time.Millisecond

// Nor is it what the text took: also where the last of it, and its end, came before the
// frame that waited for them.
func TestFrameGapWithoutText(t *testing.T) {
	for name, client := range map[string]func(t *testing.T, r *running, step chan struct{}){"WebSocket": pausingSocket, "Wyoming": pausingHome} {
		t.Run(name, func(t *testing.T) {
			engine := newSocketFake()
			engine.step = make(chan struct{})
			r := startSocket(t, Options{}, engine)
			client(t, r, engine.step)
			// Of four frames the first has none, the second and the third may have waited for text.
			if n, sum := r.metric("mynah_frame_gap_seconds_count"), r.sum("mynah_frame_gap_seconds", ""); n != "1" || sum >= textPause.Seconds() {
				t.Errorf("%s gaps of %g s together", n, sum)
			}
		})
	}
}

// pausingSocket has two sentences spoken, of two frames each, and waits in between.
func pausingSocket(t *testing.T, r *running, step chan struct{}) {
	c := r.socket()
	c.text("Hello.")
	oneStep(step, 2)
	c.want(eventAudioStart)
	for range 2 {
		if _, audio, err := c.read(); err != nil || len(audio) != 2*fakeFrame {
			t.Fatalf("%d bytes, %v", len(audio), err)
		}
	}
	c.want(eventAudioDone)
	time.Sleep(textPause)
	c.text(" Bye.")
	c.say("input.done", "nonsense")
	for e := c.event(); e.Type != eventProblem; e = c.event() { // the text has arrived
	}
	oneStep(step, 2)
	for e, _, err := c.read(); e.Type != eventEnd; e, _, err = c.read() {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// reach reads to the next event of a type.
func (h *home) reach(kind string) {
	h.t.Helper()
	for {
		if e, err := h.read(); err != nil {
			h.t.Fatal(err)
		} else if e.Type == kind {
			return
		}
	}
}

// pausingHome does the same, and begins late.
func pausingHome(t *testing.T, r *running, step chan struct{}) {
	h := dialHome(t, startWyoming(t, r))
	h.say("synthesize-start")
	time.Sleep(textPause)
	h.say(`synthesize-chunk {"text":"Hello."}`)
	oneStep(step, 2)
	h.reach("audio-start")
	h.reach("audio-chunk")
	h.reach("audio-chunk")
	time.Sleep(textPause)
	h.say(`synthesize-chunk {"text":" Bye."}`, "synthesize-stop", "ping")
	h.reach("pong") // the text has arrived
	oneStep(step, 2)
	h.reach("synthesize-stopped")
	if got := r.sum("mynah_ttfa_seconds", `{transport="wyoming"}`); got >= textPause.Seconds() {
		t.Errorf("TTFA %g s, with the wait for text", got)
	}
}
