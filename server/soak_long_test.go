package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mynah-tts/mynah/synth"
)

// What clients of the soak ask for. The text that never changes has a seed, so that
// whoever hears it knows every byte.
const (
	soakText   = "Hello there, good morning."
	soakFields = `"model":"tts-1","input":"` + soakText + `","seed":5,"response_format":"pcm"`
	soakStream = soakFields + `,"non_streaming_mode":false` // as text in pieces is spoken
	soakLong   = "This sentence is one of very many, and nobody will hear the last of them. "

	soakDefault = 5 * time.Second // MYNAH_SOAK=3m is for longer
	soakClients = 14              // at once: more than have places, fewer than places and queue
)

// soak is a server with the built-in voice and clients of all kinds.
type soak struct {
	*running
	model       *synth.Model
	want, piece []byte        // soakFields, soakStream
	linger      time.Duration // how long one stays, at most, who does nothing

	mu     sync.Mutex
	counts map[string]int // clients, by kind and outcome
}

// errNoPlace is an outcome that is no failure: there was no place.
var errNoPlace = errors.New("no place")

// soakKinds are the clients. Each gets a source of chance of its own.
var soakKinds = []struct {
	name string
	run  func(*soak, *rand.Rand) error
}{
	{"http, fixed", (*soak).fixed},
	{"http, any format", (*soak).anyFormat},
	{"http, events", (*soak).events},
	{"http, batch", (*soak).batched},
	{"http, malformed", (*soak).malformed},
	{"http, huge", (*soak).huge},
	{"http, no HTTP", (*soak).garbage},
	{"http, vanishes", (*soak).vanishes},
	{"http, cancels", (*soak).cancels},
	{"http, reads slowly", (*soak).slow},
	{"http, never reads", (*soak).neverReads},
	{"ws, fixed", (*soak).socketFixed},
	{"ws, barge-in", (*soak).socketBargeIn},
	{"ws, cancels", (*soak).socketCancels},
	{"ws, vanishes", (*soak).socketVanishes},
	{"ws, malformed", (*soak).socketMalformed},
	{"ws, huge", (*soak).socketHuge},
	{"ws, never reads", (*soak).socketNeverReads},
}

// The state of a process that serves.
type soakState struct {
	goroutines int
	heap, rss  uint64        // bytes, after a collection
	ttfa       time.Duration // median of some requests
}

func (s soakState) String() string {
	return fmt.Sprintf("%d goroutines, heap %.1f MiB, RSS %.1f MiB, TTFA %v", s.goroutines, float64(s.heap)/(1<<20), float64(s.rss)/(1<<20), s.ttfa.Round(100*time.Microsecond))
}

// After minutes of clients of all kinds, over HTTP and WebSockets, nothing of them is
// left: goroutines, memory and the time to first audio are as before, and a text with a
// seed has the same bytes before, meanwhile and after.
func TestSoak(t *testing.T) {
	lasts := soakDefault
	if v := os.Getenv("MYNAH_SOAK"); v != "" {
		var err error
		if lasts, err = time.ParseDuration(v); err != nil {
			t.Fatalf("MYNAH_SOAK: %v", err)
		}
	} else if testing.Short() {
		lasts = time.Second
	}
	s := startSoak(t)
	s.linger = min(lasts, 12*time.Second)
	fresh := s.settle()
	// Pools, stacks and buffers grow to what the load needs: compared is what more of
	// the same does to them.
	s.load(lasts/5, 1)
	before := s.settle()
	s.load(lasts-lasts/5, 2)
	after := s.settle()
	t.Logf("fresh:  %v", fresh)
	t.Logf("before: %v", before)
	t.Logf("after:  %v", after)
	for _, line := range s.summary() {
		t.Log(line)
	}
	if after.goroutines > fresh.goroutines+2 {
		t.Errorf("%d goroutines, %d before", after.goroutines, fresh.goroutines)
	}
	if after.heap > before.heap+before.heap/4+(8<<20) {
		t.Errorf("heap %d bytes, %d before", after.heap, before.heap)
	}
	if after.rss > 2*before.rss+(128<<20) { // which counts what the collector has not given back
		t.Errorf("RSS %d bytes, %d before", after.rss, before.rss)
	}
	if after.ttfa > 20*before.ttfa+time.Second {
		t.Errorf("TTFA %v, %v before", after.ttfa, before.ttfa)
	}
}

func startSoak(t *testing.T) *soak {
	t.Helper()
	model, err := synth.OpenBuiltin(synth.Options{MaxLive: 6, MaxQueue: 12})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { model.Close() })
	// Times are short, so that clients that stand still are given up meanwhile.
	server := newServer(t, Options{Limits: Limits{
		BodyBytes: 1 << 20, PendingBytes: 128 << 10,
		HeaderTimeout: 2 * time.Second, BodyTimeout: 2 * time.Second, WriteTimeout: 2 * time.Second, LagTimeout: 2 * time.Second,
	}})
	if err := server.Use(context.Background(), FromModel(model)); err != nil {
		t.Fatal(err)
	}
	s := &soak{running: run(t, server, nil), model: model, counts: map[string]int{}}
	s.want = read(t, s.post(speechPath, `{`+soakFields+`}`))
	s.piece = read(t, s.post(speechPath, `{`+soakStream+`}`))
	if len(s.want) == 0 || len(s.piece) == 0 || bytes.Equal(s.want, s.piece) {
		t.Fatalf("%d and %d bytes", len(s.want), len(s.piece))
	}
	return s
}

// load lets clients come for some time, and waits for the last.
func (s *soak) load(lasts time.Duration, seed uint64) {
	s.t.Helper()
	end := time.Now().Add(lasts)
	var clients sync.WaitGroup
	for c := range soakClients {
		clients.Go(func() {
			random := rand.New(rand.NewPCG(seed, uint64(c)))
			for time.Now().Before(end) {
				kind := soakKinds[random.IntN(len(soakKinds))]
				if c == 0 { // one who is always there, and knows what it should hear
					kind = soakKinds[0]
				}
				err := kind.run(s, random)
				s.count(kind.name, err)
				if err != nil && err != errNoPlace {
					s.t.Errorf("%s: %v", kind.name, err)
				}
			}
		})
	}
	clients.Wait()
}

func (s *soak) count(kind string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err == nil:
		s.counts[kind+": served"]++
	case err == errNoPlace:
		s.counts[kind+": refused for want of a place"]++
	default:
		s.counts[kind+": FAILED"]++
	}
}

func (s *soak) summary() []string {
	var lines []string
	for what, n := range s.counts {
		lines = append(lines, fmt.Sprintf("%s %d", what, n))
	}
	slices.Sort(lines)
	for _, reason := range []slowReason{slowWrite, slowLag, slowPending} {
		lines = append(lines, fmt.Sprintf("given up for %s %s", reason, s.metric(`mynah_slow_clients_total{reason="`+string(reason)+`"}`)))
	}
	return lines
}

// settle waits until nothing is left of any client, and measures.
func (s *soak) settle() soakState {
	s.t.Helper()
	eventually(s.t, "nothing is live or queued", func() bool { l := s.model.Load(); return l.Live == 0 && l.Queued == 0 })
	var first []time.Duration
	for range 5 {
		began := time.Now()
		resp := s.post(speechPath, `{`+soakFields+`}`)
		var head [1]byte
		if _, err := io.ReadFull(resp.Body, head[:]); err != nil {
			s.t.Fatal(err)
		}
		first = append(first, time.Since(began))
		if rest := read(s.t, resp); !bytes.Equal(append(head[:], rest...), s.want) {
			s.t.Error("a quiet server answers with other bytes")
		}
	}
	slices.Sort(first)
	s.client.CloseIdleConnections()
	eventually(s.t, "no connection is open", func() bool { return s.metrics.connections.open.Load().Load() == 0 })
	var state soakState
	time.Sleep(200 * time.Millisecond) // for goroutines that have nothing left to do but to end
	state.goroutines = runtime.NumGoroutine()
	s.Server.mu.Lock()
	if s.live != 0 || s.sockets != 0 {
		s.t.Errorf("%d requests are live, %d of them WebSockets", s.live, s.sockets)
	}
	s.Server.mu.Unlock()
	runtime.GC()
	runtime.GC()
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	state.heap, state.rss, state.ttfa = memory.HeapAlloc, residentBytes(), first[len(first)/2]
	return state
}

// residentBytes is the memory that the process occupies, 0 where that is not told.
func residentBytes() uint64 {
	data, err := os.ReadFile("/proc/self/statm")
	fields := strings.Fields(string(data))
	if err != nil || len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseUint(fields[1], 10, 64)
	return pages * uint64(os.Getpagesize())
}

// ask posts a body and returns the whole answer. It fails with errNoPlace where there is none.
func (s *soak) ask(ctx context.Context, path, body string, status int) ([]byte, http.Header, error) {
	req, err := http.NewRequestWithContext(ctx, "POST", s.url+path, strings.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := s.client.Do(req)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	switch {
	case err != nil:
		return nil, nil, err
	case resp.StatusCode == http.StatusTooManyRequests && resp.Header.Get("Retry-After") != "" && status != resp.StatusCode:
		return nil, nil, errNoPlace
	case resp.StatusCode != status:
		return nil, nil, fmt.Errorf("status %d, want %d: %.200s", resp.StatusCode, status, data)
	case status == 200 && resp.Trailer.Get(trailerFinish) != "stop" && path == speechPath && strings.HasPrefix(resp.Header.Get("Content-Type"), "audio/"):
		return nil, nil, fmt.Errorf("it ended by %q", resp.Trailer.Get(trailerFinish))
	}
	return data, resp.Header, nil
}

// fixed hears what was heard before anybody else was there.
func (s *soak) fixed(random *rand.Rand) error {
	fields, want := soakFields, s.want
	if random.IntN(2) == 0 {
		fields, want = soakStream, s.piece
	}
	data, _, err := s.ask(context.Background(), speechPath, `{`+fields+`}`, 200)
	if err == nil && !bytes.Equal(data, want) {
		return fmt.Errorf("%d other bytes, want %d", len(data), len(want))
	}
	return err
}

func (s *soak) anyFormat(random *rand.Rand) error {
	formats := []string{"pcm", "wav", "flac", "mp3"}
	body := fmt.Sprintf(`{"input":"Client %d speaks.","response_format":%q,"speed":%.2f,"sample_rate":%d}`,
		random.IntN(1000), formats[random.IntN(4)], 0.5+random.Float64(), []int{8000, 16000, 24000, 48000}[random.IntN(4)])
	data, _, err := s.ask(context.Background(), speechPath, body, 200)
	if err == nil && len(data) < 500 {
		return fmt.Errorf("%d bytes for %s", len(data), body)
	}
	return err
}

func (s *soak) events(*rand.Rand) error {
	data, _, err := s.ask(context.Background(), speechPath, `{`+soakFields+`,"stream_format":"sse"}`, 200)
	if err == nil && !bytes.Contains(data, []byte(`"type":"speech.audio.done"`)) {
		return fmt.Errorf("events without an end: %.100s", data)
	}
	return err
}

func (s *soak) batched(*rand.Rand) error {
	data, _, err := s.ask(context.Background(), speechPath+"/batch", `{"response_format":"pcm","items":[{`+soakFields+`},{"input":"…"},{"input":"Three."}]}`, 200)
	if err != nil {
		return err
	}
	var a struct {
		Results []struct {
			Status string
			Audio  []byte `json:"audio_data"`
		}
	}
	if err := json.Unmarshal(data, &a); err != nil || len(a.Results) != 3 {
		return fmt.Errorf("%d results, error %v", len(a.Results), err)
	}
	if r := a.Results[0]; r.Status == "success" && !bytes.Equal(r.Audio, s.want) || a.Results[1].Status != "error" {
		return fmt.Errorf("results %s of %d bytes, %s", r.Status, len(r.Audio), a.Results[1].Status)
	}
	return nil
}

// malformed sends a body with one byte too few, or another one.
func (s *soak) malformed(random *rand.Rand) error {
	body := `{` + soakFields + `}`
	if random.IntN(2) == 0 {
		body = body[:1+random.IntN(len(body)-1)]
	} else {
		body = strings.Replace(body, `"seed":5`, []string{`"seed":"5"`, `"seed":5,"seed":6`, `"speed":9`, `"voice":"bob"`, `"seed":1e99`}[random.IntN(5)], 1)
	}
	_, _, err := s.ask(context.Background(), speechPath, body, 400)
	return err
}

func (s *soak) huge(*rand.Rand) error {
	_, _, err := s.ask(context.Background(), speechPath, `{"input":"`+strings.Repeat("huge ", 1<<18)+`"}`, 413)
	return err
}

// garbage is no HTTP, or the beginning of it.
func (s *soak) garbage(random *rand.Rand) error {
	conn, err := s.raw()
	if err != nil {
		return err
	}
	defer reset(conn)
	data := make([]byte, random.IntN(4000))
	for i := range data {
		data[i] = byte(random.Uint32())
	}
	if random.IntN(2) == 0 {
		data = []byte(rawSpeech(`{` + soakFields + `}`))
		data = data[:random.IntN(len(data))]
	}
	_, _ = conn.Write(data)
	_ = conn.SetReadDeadline(time.Now().Add(time.Duration(random.IntN(300)) * time.Millisecond))
	_, _ = io.Copy(io.Discard, conn)
	return nil
}

func (s *soak) raw() (*net.TCPConn, error) {
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		return nil, err
	}
	return conn.(*net.TCPConn), nil
}

// reset ends a connection as a client does that is gone.
func reset(conn *net.TCPConn) {
	_ = conn.SetLinger(0)
	conn.Close()
}

// long is a request for minutes of speech.
func (s *soak) long(random *rand.Rand) string {
	formats := []string{"pcm", "wav", "flac", "mp3"}
	return fmt.Sprintf(`{"input":"%s","response_format":%q,"sample_rate":48000}`, strings.Repeat(soakLong, 40), formats[random.IntN(4)])
}

// vanishes resets its connection after any number of bytes, none among them.
func (s *soak) vanishes(random *rand.Rand) error {
	conn, err := s.raw()
	if err != nil {
		return err
	}
	defer reset(conn)
	if _, err := io.WriteString(conn, rawSpeech(s.long(random))); err != nil {
		return err
	}
	_ = conn.SetReadDeadline(time.Now().Add(time.Duration(random.IntN(2000)) * time.Millisecond))
	_, _ = io.CopyN(io.Discard, conn, random.Int64N(100_000))
	return nil
}

// cancels is several requests that are taken back at any time, as programs do.
func (s *soak) cancels(random *rand.Rand) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(random.IntN(500))*time.Millisecond)
	defer cancel()
	body := s.long(random)
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() { _, _, _ = s.ask(ctx, speechPath, body, 200) })
	}
	all.Wait()
	return nil
}

// tooMuch is a request for more bytes than wait anywhere.
func tooMuch() string {
	return fmt.Sprintf(`{"input":"%s","response_format":"pcm","sample_rate":48000,"speed":0.25}`, strings.Repeat(soakLong, 40))
}

// slow reads slower than it would hear, for a while.
func (s *soak) slow(random *rand.Rand) error {
	conn, err := s.raw()
	if err != nil {
		return err
	}
	defer reset(conn)
	_ = conn.SetReadBuffer(4096)
	if _, err := io.WriteString(conn, rawSpeech(tooMuch())); err != nil {
		return err
	}
	end := time.Now().Add(s.stay(random))
	_ = conn.SetReadDeadline(end)
	for ; time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if _, err := io.CopyN(io.Discard, conn, 2000); err != nil {
			return nil // it was given up, or left
		}
	}
	return nil
}

// stay is how long someone stays who does little.
func (s *soak) stay(random *rand.Rand) time.Duration {
	return time.Duration(random.Int64N(int64(s.linger)))
}

// neverReads waits to be given up, or leaves before.
func (s *soak) neverReads(random *rand.Rand) error {
	conn, err := s.raw()
	if err != nil {
		return err
	}
	defer reset(conn)
	_ = conn.SetReadBuffer(4096)
	if _, err := io.WriteString(conn, rawSpeech(tooMuch())); err != nil {
		return err
	}
	time.Sleep(s.stay(random))
	return nil
}
