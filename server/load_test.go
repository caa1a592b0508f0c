package server

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/mynah-tts/mynah/synth"
)

// loadText is what listeners hear: about 30 tokens.
const loadText = "The boats came back to the harbour before the rain, and nobody had seen them leave in the grey light of that early morning."

// ears is what all listeners of a load measured.
type ears struct {
	mu    sync.Mutex
	first []time.Duration // from the text to the first audio
	gaps  []time.Duration // between two messages of audio, which are frames
	lead  []time.Duration // by which a player must hold back the first so as never to run dry
	audio time.Duration
}

// listener has one text spoken over a connection and takes what comes at once.
func (e *ears) listener(conn *websocket.Conn) error {
	began := time.Now()
	if err := sayAll(conn, pieceOf(loadText), `{"type":"input.done"}`); err != nil {
		return err
	}
	var first, last time.Time
	var gaps []time.Duration
	var heard, lead time.Duration
	for {
		kind, data, err := conn.ReadMessage()
		now := time.Now()
		switch {
		case err != nil:
			return err
		case kind == websocket.BinaryMessage && first.IsZero():
			first = now
		case kind == websocket.BinaryMessage:
			gaps = append(gaps, now.Sub(last))
			lead = max(lead, now.Sub(first)-heard)
		case bytes.Contains(data, []byte(`"type":"error"`)):
			return fmt.Errorf("%s", data)
		case bytes.Contains(data, []byte(`"`+eventEnd+`"`)):
			e.mu.Lock()
			defer e.mu.Unlock()
			e.first, e.gaps, e.lead = append(e.first, first.Sub(began)), append(e.gaps, gaps...), append(e.lead, lead)
			e.audio += heard
			return nil
		default:
			continue
		}
		last = now
		heard += time.Duration(len(data)/2) * time.Second / fakeRate
	}
}

// report tells percentiles in milliseconds.
func (e *ears) report(b *testing.B, took time.Duration) {
	for _, m := range []struct {
		name string
		all  []time.Duration
	}{{"ttfa", e.first}, {"gap", e.gaps}, {"lead", e.lead}} {
		if len(m.all) == 0 {
			return
		}
		slices.Sort(m.all)
		for _, p := range []int{50, 95, 100} {
			d := m.all[min(len(m.all)*p/100, len(m.all)-1)]
			b.ReportMetric(float64(d)/float64(time.Millisecond), fmt.Sprintf("%s-p%d-ms", m.name, p))
		}
	}
	b.ReportMetric(e.audio.Seconds()/took.Seconds(), "x-realtime")
	b.ReportMetric(0, "ns/op") // of a round, which says nothing
}

// BenchmarkListeners is the load of docs/performance.md: so many WebSockets over
// loopback, each of which hears one text after the other and takes what it gets at once.
// That is the built-in voice, or the checkpoint MYNAH_LOAD_MODEL at the precision
// MYNAH_LOAD_PRECISION, of which each text is cut after MYNAH_LOAD_FRAMES.
func BenchmarkListeners(b *testing.B) {
	for _, n := range []int{1, 2, 4, 8, 16} {
		b.Run(fmt.Sprintf("listeners=%d", n), func(b *testing.B) {
			url := loadServer(b, n)
			conns := make([]*websocket.Conn, n)
			for i := range conns {
				var err error
				if conns[i], err = quietSocket(url); err != nil {
					b.Fatal(err)
				}
				defer conns[i].Close()
				if err := sayAll(conns[i], fmt.Sprintf(`{"type":"session.config","seed":%d,"max_new_tokens":%s}`, i, cmp.Or(os.Getenv("MYNAH_LOAD_FRAMES"), "null"))); err != nil {
					b.Fatal(err)
				}
			}
			var e ears
			round := func(e *ears) {
				var all sync.WaitGroup
				for _, conn := range conns {
					all.Go(func() {
						if err := e.listener(conn); err != nil {
							b.Error(err)
						}
					})
				}
				all.Wait()
			}
			round(&ears{}) // brings memory in
			began := time.Now()
			for b.Loop() {
				round(&e)
			}
			e.report(b, time.Since(began))
		})
	}
}

// loadServer runs a server in which all listeners find a place.
func loadServer(b *testing.B, live int) (url string) {
	b.Helper()
	opts := synth.Options{MaxLive: live}
	var model *synth.Model
	var err error
	if path := os.Getenv("MYNAH_LOAD_MODEL"); path != "" {
		if opts.Precision, err = synth.NamedPrecision(cmp.Or(os.Getenv("MYNAH_LOAD_PRECISION"), "default")); err != nil {
			b.Fatal(err)
		}
		opts.Cache = os.Getenv("MYNAH_LOAD_CACHE")
		model, err = synth.Open(path, opts)
	} else {
		model, err = synth.OpenBuiltin(opts)
	}
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { model.Close() })
	s, err := New(Options{})
	if err != nil {
		b.Fatal(err)
	}
	if err := s.Use(context.Background(), FromModel(model)); err != nil {
		b.Fatal(err)
	}
	host := hostOf(s)
	host.Start()
	b.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = s.Shutdown(ctx)
		host.Close()
	})
	return host.URL
}
