package server

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/mynah-tts/mynah/internal/text"
	"github.com/mynah-tts/mynah/synth"
)

// builtin runs a server with the built-in voice.
func builtin(tb testing.TB, opts synth.Options) (url string, r *Server, stop func()) {
	tb.Helper()
	model, err := synth.OpenBuiltin(opts)
	if err != nil {
		tb.Fatal(err)
	}
	s, err := New(Options{Format: "pcm"})
	if err != nil {
		tb.Fatal(err)
	}
	if err := s.Use(context.Background(), FromModel(model)); err != nil {
		tb.Fatal(err)
	}
	host := hostOf(s)
	host.Start()
	return host.URL, s, func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = s.Shutdown(ctx)
		host.Close()
		model.Close()
	}
}

// The bytes of a text over a WebSocket, in whatever pieces, are those of the whole text
// over HTTP, in the layout of text in pieces.
func TestSocketEqualsHTTP(t *testing.T) {
	model, err := synth.OpenBuiltin(synth.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer model.Close()
	s := newServer(t, Options{Format: "pcm"})
	if err := s.Use(context.Background(), FromModel(model)); err != nil {
		t.Fatal(err)
	}
	r := run(t, s, nil)
	random := rand.New(rand.NewPCG(3, 4))
	for _, tc := range []struct{ name, text, fields string }{
		{"short", "Hello there, good morning.", `"seed":5`},
		{"accents and signs", "Où est-il — naïve café? It costs 1.000,50 € \U0001F600 today.", `"seed":6`},
		{"rate and speed", "Hello there.", `"seed":7,"sample_rate":16000,"speed":1.25`},
		{"wav", "Good morning.", `"seed":8,"response_format":"wav"`},
		{"mp3", "Good morning.", `"seed":9,"response_format":"mp3"`},
		{"several segments", strings.Repeat("This is one of many sentences. ", 11), `"seed":10`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			input, _ := json.Marshal(tc.text)
			resp := r.post(speechPath, `{"model":"tts-1","non_streaming_mode":false,"input":`+string(input)+`,`+tc.fields+`}`)
			want := read(t, resp)
			reason := resp.Trailer.Get(trailerFinish)
			if resp.StatusCode != 200 || len(want) == 0 {
				t.Fatalf("status %d, %d bytes", resp.StatusCode, len(want))
			}
			c := r.socket()
			c.say(`{"type":"session.config",` + tc.fields + `}`)
			c.want(eventUpdated)
			for i := range 1 + 30/len(tc.text) { // short ones twice
				c.text(cutAnywhere(tc.text, random)...)
				c.say("input.done")
				if h := c.hear(i); !bytes.Equal(h.audio, want) || h.end.Finish != reason {
					t.Errorf("time %d: %d bytes, want %d; finish %s, want %s", i, len(h.audio), len(want), h.end.Finish, reason)
				} else if wanted := len(text.Sentences(tc.text)); h.end.Sentences != wanted {
					t.Errorf("%d segments, want %d", h.end.Sentences, wanted)
				}
			}
		})
	}
}

// Speech begins while the text goes on, and a listener who interrupts is heard.
func TestSocketBargeInBuiltin(t *testing.T) {
	model, err := synth.OpenBuiltin(synth.Options{Threads: 1, Ahead: 4})
	if err != nil {
		t.Fatal(err)
	}
	defer model.Close()
	s := newServer(t, Options{})
	if err := s.Use(context.Background(), FromModel(model)); err != nil {
		t.Fatal(err)
	}
	c := run(t, s, nil).socket()
	c.say(`{"type":"session.config","seed":5}`)
	c.want(eventUpdated)
	c.text("Once upon a time there was a server that ")
	if e := c.want(eventAudioStart); e.Text == "" {
		t.Errorf("event %+v", e)
	}
	c.text("spoke while it was being written to, ")
	c.say("input.cancel")
	c.text("Yes?")
	c.say("input.done")
	for ended := false; !ended; {
		e, _, err := c.read()
		if err != nil {
			t.Fatal(err)
		}
		ended = e.Type == eventEnd
	}
	if h := c.hear(1); h.end.Finish != "stop" || len(h.audio) == 0 {
		t.Errorf("%d bytes, %+v", len(h.audio), h.end)
	}
}

// BenchmarkSocketLoad is a load over loopback: so many clients with the built-in voice
// at once, each with text as a language model writes it, a word every 40 ms. It reports
// how long first audio takes, how long one waits for a frame at most, and whether any
// listener would have heard a gap.
func BenchmarkSocketLoad(b *testing.B) {
	for _, clients := range []int{1, 4, 8} {
		b.Run(fmt.Sprintf("clients=%d", clients), func(b *testing.B) {
			url, _, stop := builtin(b, synth.Options{})
			defer stop()
			var mu sync.Mutex
			var first, gaps []time.Duration
			late := time.Duration(0)
			audio := time.Duration(0)
			began := time.Now()
			for b.Loop() {
				var all sync.WaitGroup
				for i := range clients {
					all.Go(func() {
						h, err := listen(url, i)
						mu.Lock()
						defer mu.Unlock()
						if err != nil {
							b.Error(err)
							return
						}
						first, gaps = append(first, h.first), append(gaps, h.gap)
						late, audio = max(late, h.late), audio+h.audio
					})
				}
				all.Wait()
			}
			if len(first) == 0 {
				return
			}
			slices.Sort(first)
			ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
			b.ReportMetric(ms(first[len(first)/2]), "ttfa-p50-ms")
			b.ReportMetric(ms(first[len(first)*95/100]), "ttfa-p95-ms")
			b.ReportMetric(ms(slices.Max(gaps)), "largest-gap-ms")
			b.ReportMetric(ms(late), "late-ms")
			b.ReportMetric(audio.Seconds()/time.Since(began).Seconds(), "x-realtime")
		})
	}
}

// timing is what a listener measures.
type listening struct {
	first time.Duration // from the first word to the first audio
	gap   time.Duration // between two messages of audio, at most
	late  time.Duration // of a frame, for one who began to listen with the first
	audio time.Duration
}

// listen has one text spoken.
func listen(url string, number int) (h listening, err error) {
	conn, err := quietSocket(url)
	if err != nil {
		return h, err
	}
	defer conn.Close()
	text := fmt.Sprintf("This is listener number %d, who would like to hear the whole of a longer sentence, spoken while it is being written.", number)
	began := make(chan time.Time, 1)
	go func() {
		began <- time.Now()
		for word := range strings.FieldsSeq(text) {
			if conn.WriteJSON(map[string]string{"type": "input.text", "text": word + " "}) != nil {
				return
			}
			time.Sleep(40 * time.Millisecond)
		}
		_ = conn.WriteJSON(map[string]string{"type": "input.done"})
	}()
	start, last := <-began, time.Time{}
	var heard time.Time // of the first audio
	for {
		kind, data, err := conn.ReadMessage()
		if err != nil {
			return h, err
		}
		now := time.Now()
		switch {
		case kind == websocket.TextMessage && bytes.Contains(data, []byte(`"session.done"`)):
			return h, nil
		case kind == websocket.TextMessage && bytes.Contains(data, []byte(`"error","code"`)):
			return h, fmt.Errorf("%s", data)
		case kind == websocket.TextMessage:
			continue
		case last.IsZero():
			h.first, heard = now.Sub(start), now
		default:
			h.gap = max(h.gap, now.Sub(last))
			h.late = max(h.late, now.Sub(heard)-h.audio)
		}
		last = now
		h.audio += time.Duration(len(data)/2) * time.Second / 24000
	}
}
