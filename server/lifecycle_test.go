package server

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mynah-tts/mynah/synth"
)

func TestLoading(t *testing.T) {
	s := newServer(t, Options{})
	engine := newFake()
	r := run(t, s, engine)
	if resp := r.get("/health"); resp.StatusCode != 200 || string(read(t, resp)) != `{"status":"ok"}`+"\n" {
		t.Errorf("health is %d", resp.StatusCode)
	}
	for _, path := range []string{"/ready", "/v1/models", "/v1/models/x", "/v1/audio/voices"} {
		resp := r.get(path)
		wantError(t, resp, 503, "", "loading")
		if resp.Header.Get("Retry-After") == "" {
			t.Errorf("%s: no Retry-After", path)
		}
	}
	wantError(t, r.post(speechPath, `{"input":"a"}`), 503, "", "loading")
	wantError(t, r.post(speechPath+"/batch", `{"items":[{"input":"a"}]}`), 503, "", "loading")
	if got := r.metric("mynah_ready"); got != "0" {
		t.Errorf("ready is %s", got)
	}
	if err := s.Use(context.Background(), engine); err != nil {
		t.Fatal(err)
	}
	if resp := r.get("/ready"); resp.StatusCode != 200 || string(read(t, resp)) != `{"status":"ready"}`+"\n" {
		t.Errorf("ready is %d", resp.StatusCode)
	}
	if n := len(engine.requests); n != 1 || engine.last().MaxFrames != warmUpFrames {
		t.Errorf("%d utterances to warm up", n)
	}
}

func TestUseRefuses(t *testing.T) {
	for _, tc := range []struct {
		opts Options
		want string
	}{
		{Options{Voice: "bob"}, `server: voice "bob", this checkpoint (CustomVoice) has ryan, vivian`},
		{Options{Voices: map[string]string{"alloy": "bob"}}, `server: voice "bob", mapped from "alloy": this checkpoint (CustomVoice) has ryan, vivian`},
	} {
		if err := newServer(t, tc.opts).Use(context.Background(), newFake()); err == nil || err.Error() != tc.want {
			t.Errorf("error %v, want %s", err, tc.want)
		}
	}
	s := newServer(t, Options{})
	if err := s.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := s.Use(context.Background(), newFake()); !errors.Is(err, errDraining) {
		t.Errorf("error %v", err)
	}
}

// A Base checkpoint without a reference cannot warm up, which is no failure.
func TestUseWithoutWarmUp(t *testing.T) {
	engine := newFake()
	engine.warm = &synth.RequestError{Param: "reference", Message: "there is none"}
	s := newServer(t, Options{})
	if err := s.Use(context.Background(), engine); err != nil || s.currentPhase() != phaseReady {
		t.Errorf("error %v, phase %s", err, s.currentPhase())
	}
	engine.warm = errors.New("no memory")
	if err := newServer(t, Options{}).Use(context.Background(), engine); err == nil || !strings.Contains(err.Error(), "warming up: no memory") {
		t.Errorf("error %v", err)
	}
}

// While it drains a server finishes what is live, and says so to the rest.
func TestDrainFinishes(t *testing.T) {
	engine := newFake()
	engine.script = script{frames: 3, step: make(chan struct{})}
	r := startWith(t, Options{Limits: Limits{DrainDelay: time.Millisecond, DrainGrace: time.Minute}}, engine)
	go oneStep(engine.script.step, 1)
	live := r.post(speechPath, `{"input":"a","response_format":"pcm"}`)
	ended := make(chan error, 1)
	go func() { ended <- r.Shutdown(context.Background()) }()
	eventually(t, "the engine drains", engine.drained.Load)
	wantError(t, r.get("/ready"), 503, "", "shutting_down")
	resp := r.post(speechPath, `{"input":"a"}`)
	wantError(t, resp, 503, "", "shutting_down")
	if resp.Header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	if resp := r.get("/health"); resp.StatusCode != 200 {
		t.Errorf("health is %d", resp.StatusCode)
	}
	go oneStep(engine.script.step, 2)
	if data := read(t, live); len(data) != 3*2*fakeFrame || live.Trailer.Get(trailerFinish) != "stop" {
		t.Errorf("%d bytes, trailer %v", len(data), live.Trailer)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if _, err := r.client.Get(r.url + "/health"); err == nil {
		t.Error("it still listens")
	}
}

// Only /ready tells during the delay: balancers have not noticed yet.
func TestDrainDelay(t *testing.T) {
	r := start(t, Options{Limits: Limits{DrainDelay: time.Minute}})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.Shutdown(ctx) }()
	eventually(t, "ready tells", func() bool { resp := r.get("/ready"); read(t, resp); return resp.StatusCode == 503 })
	if resp := r.post(speechPath, `{"input":"a"}`); resp.StatusCode != 200 {
		t.Errorf("status %d", resp.StatusCode)
	} else {
		read(t, resp)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// A model that is loaded while the delay runs is one to drain as well.
func TestDrainWhileLoading(t *testing.T) {
	s, engine := newServer(t, Options{Limits: Limits{DrainDelay: time.Hour}}), newFake()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- s.Shutdown(ctx) }()
	eventually(t, "draining begins", func() bool { return isClosed(s.draining) })
	if err := s.Use(context.Background(), engine); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if !engine.drained.Load() {
		t.Error("the engine was not drained")
	}
}

// A Shutdown that has no patience ends the work while another still announces the end.
func TestShutdownTwice(t *testing.T) {
	s := newServer(t, Options{Limits: Limits{DrainDelay: time.Hour}})
	if err := s.Use(context.Background(), newFake()); err != nil {
		t.Fatal(err)
	}
	_, release, err := s.begin()
	if err != nil {
		t.Fatal(err)
	}
	patient, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 2)
	go func() { ended <- s.Shutdown(patient) }()
	eventually(t, "draining begins", func() bool { return isClosed(s.draining) })
	hurried, now := context.WithCancel(context.Background())
	now()
	go func() { ended <- s.Shutdown(hurried) }()
	<-s.stop.Done()
	release()
	<-s.idle
	cancel()
	for range 2 {
		<-ended
	}
	if s.phase != phaseStopped {
		t.Errorf("phase %d after two shutdowns", s.phase)
	}
}

// What has not finished in time is cancelled, and told so.
func TestDrainCancels(t *testing.T) {
	for _, tc := range []struct {
		name, fields string
		stall        int
		check        func(t *testing.T, resp *http.Response)
	}{
		{"before audio", ``, 0, func(t *testing.T, resp *http.Response) { wantError(t, resp, 503, "", "shutting_down") }},
		{"audio", `,"response_format":"pcm"`, 2, func(t *testing.T, resp *http.Response) {
			if data, err := io.ReadAll(resp.Body); err == nil || len(data) != 2*2*fakeFrame {
				t.Errorf("%d bytes, error %v", len(data), err)
			}
		}},
		{"events", `,"response_format":"pcm","stream_format":"sse"`, 2, func(t *testing.T, resp *http.Response) {
			events := readEvents(t, resp)
			if last := events[len(events)-1]; last.name != eventError || !strings.Contains(last.data, "shutting_down") {
				t.Errorf("the last event is %v", last)
			}
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			engine := newFake()
			engine.script = script{frames: 9, stallAt: tc.stall}
			if tc.stall == 0 {
				engine.script.step = make(chan struct{})
			}
			r := startWith(t, Options{Limits: Limits{DrainGrace: 250 * time.Millisecond}}, engine)
			answered := make(chan *http.Response)
			go func() { answered <- r.post(speechPath, `{"input":"a"`+tc.fields+`}`) }()
			spoken := uint64(1 + tc.stall) // with the frame that warms up
			eventually(t, "it is live and has spoken", func() bool { return engine.open.Load() == 1 && engine.frames.Load() == spoken })
			ended := make(chan error, 1)
			go func() { ended <- r.Shutdown(context.Background()) }()
			tc.check(t, <-answered)
			if err := <-ended; err == nil || err.Error() != "server: 1 live request cancelled" {
				t.Errorf("Shutdown: %v", err)
			}
			if engine.open.Load() != 0 {
				t.Error("the stream is open")
			}
		})
	}
}

func TestServeEndsWithShutdown(t *testing.T) {
	s := newServer(t, Options{})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	if err := s.Use(context.Background(), newFake()); err != nil {
		t.Fatal(err)
	}
	if err := s.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
	if err := s.Shutdown(context.Background()); err != nil {
		t.Errorf("again: %v", err)
	}
}

func TestListenerFails(t *testing.T) {
	s := newServer(t, Options{})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	if err := s.Serve(l); err == nil {
		t.Error("no error")
	}
}

// Connections beyond the limit are told so, and free their places when they end.
func TestConnectionLimit(t *testing.T) {
	r := start(t, Options{Limits: Limits{Connections: 2}})
	first, second := r.dial(), r.dial()
	eventually(t, "a third is refused", func() bool {
		third := r.dial()
		defer third.Close()
		_ = third.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
		answer, _ := io.ReadAll(third)
		return strings.HasPrefix(string(answer), "HTTP/1.1 503 ") && strings.Contains(string(answer), `"code":"too_many_connections"`)
	})
	first.Close()
	second.Close()
	eventually(t, "there is room again", func() bool {
		resp, err := r.client.Get(r.url + "/health")
		if err != nil {
			return false
		}
		resp.Body.Close()
		return resp.StatusCode == 200
	})
	if got := r.metric("mynah_refused_connections_total"); got == "" || got == "0" {
		t.Errorf("%q were refused", got)
	}
}

func TestWebSocketLimit(t *testing.T) {
	r := start(t, Options{Limits: Limits{WebSockets: 1}})
	_, release, err := r.beginSocket()
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := r.beginSocket(); !errors.Is(err, errSockets) {
		t.Errorf("error %v", err)
	}
	if got := r.metric("mynah_websockets"); got != "1" {
		t.Errorf("%s are open", got)
	}
	release()
	release()
	if _, release, err = r.beginSocket(); err != nil {
		t.Fatal(err)
	}
	release()
}

func TestLimitsAreChecked(t *testing.T) {
	for _, tc := range []struct {
		opts Options
		want string
	}{
		{Options{Limits: Limits{InputRunes: -1}}, "server: input characters is -1, allowed are 1 and up, or 0 for 4096"},
		{Options{Limits: Limits{WriteTimeout: -1}}, "server: write timeout is -1ns, allowed are 0s and up, or 0 for 10s"},
		{Options{Format: "ogg"}, "server: response format: "},
		{Options{Keys: []string{"a b"}}, "server: an API key is empty or has characters other than visible ASCII"},
		{Options{Origins: []string{"example.org"}}, `server: origin "example.org", wanted a scheme and a host such as https://example.org, or *`},
		{Options{Origins: []string{"https://example.org/path"}}, `server: origin "https://example.org/path", wanted`},
	} {
		if _, err := New(tc.opts); err == nil || !strings.HasPrefix(err.Error(), tc.want) {
			t.Errorf("error %v, want %s", err, tc.want)
		}
	}
	s := newServer(t, Options{Limits: Limits{Queue: -1}})
	if l := s.opts.Limits; l.Queue != -1 || l.InputRunes != DefaultInputRunes || l.DrainDelay != 0 || l.IdleTimeout != DefaultIdleTimeout {
		t.Errorf("limits %+v", l)
	}
}
