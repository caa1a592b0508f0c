package server

import (
	"net/http"
	"runtime"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/mynah-tts/mynah/synth"
)

// Buckets of the histograms, in seconds, around the length of a frame: below 0.08 s
// audio comes faster than it is heard.
var (
	frameBuckets = []float64{0.005, 0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.08, 0.1, 0.12, 0.16, 0.24, 0.4, 0.8, 2}
	ttfaBuckets  = []float64{0.02, 0.04, 0.08, 0.12, 0.16, 0.24, 0.32, 0.48, 0.64, 0.8, 1.2, 1.6, 2.4, 4, 8, 16, 32}
	rtfBuckets   = []float64{0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.25, 1.5, 2, 4}
)

// slowReason says how a client was too slow.
type slowReason string

// The reasons.
const (
	slowWrite   slowReason = "write_timeout" // took no bytes for WriteTimeout
	slowLag     slowReason = "lag"           // kept us waiting LagTimeout beyond real time
	slowPending slowReason = "pending_bytes" // WebSocket with more than PendingBytes waiting
)

// finishError counts utterances that failed, beside the engine's finish reasons.
const finishError synth.FinishReason = "error"

// metrics are the server's, in a registry of their own.
type metrics struct {
	registry    *prometheus.Registry
	serve       handler
	requests    requestMetrics
	connections connectionMetrics

	ttfa     *prometheus.HistogramVec // by transport: audio, sse, batch, websocket, wyoming
	gap      prometheus.Histogram
	rtf      prometheus.Histogram
	queued   prometheus.Histogram
	audio    prometheus.Counter
	finished *prometheus.CounterVec // by reason
	slow     *prometheus.CounterVec // by reason

	clipsHeard  prometheus.Counter
	clipHits    prometheus.Counter
	clipSeconds prometheus.Histogram
}

type requestMetrics struct {
	open  prometheus.Gauge
	total *prometheus.CounterVec // by route, method, status
}

// count counts an answer. Methods that there is no route for are one.
func (m requestMetrics) count(route, method string, status int) {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodDelete, http.MethodOptions:
	default:
		method = "other"
	}
	m.total.WithLabelValues(route, method, strconv.Itoa(status)).Inc()
}

type connectionMetrics struct {
	open    *atomic.Pointer[atomic.Int64]
	refused prometheus.Counter
}

// watch shows a listener's count.
func (m connectionMetrics) watch(open *atomic.Int64) { m.open.Store(open) }

func newMetrics(s *Server) *metrics {
	m := &metrics{registry: prometheus.NewRegistry()}
	f := promauto.With(m.registry)
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	histogram := func(name, help string, buckets []float64) prometheus.HistogramOpts {
		return prometheus.HistogramOpts{Namespace: "mynah", Name: name, Help: help, Buckets: buckets}
	}
	counter := func(name, help string) prometheus.CounterOpts {
		return prometheus.CounterOpts{Namespace: "mynah", Name: name, Help: help}
	}
	m.requests.open = f.NewGauge(prometheus.GaugeOpts{Namespace: "mynah", Name: "open_http_requests", Help: "Requests of any kind that are being answered."})
	m.requests.total = f.NewCounterVec(counter("http_requests_total", "Answers by route, method and status."), []string{"route", "method", "status"})
	m.ttfa = f.NewHistogramVec(histogram("ttfa_seconds", "From a request's arrival, or from when an utterance's turn came and there was text, to its first audio, by transport.", ttfaBuckets), []string{"transport"})
	m.gap = f.NewHistogram(histogram("frame_gap_seconds", "What the engine took from one frame of an utterance to the next, each 0.08 s of audio. Waits for text and for the client do not count.", frameBuckets))
	m.rtf = f.NewHistogram(histogram("rtf_ratio", "Computing time of an utterance over the length of its audio; below 1 is faster than real time. Waits for a place, for text and for the client do not count.", rtfBuckets))
	m.queued = f.NewHistogram(histogram("queue_seconds", "Time that an utterance waited for a place.", ttfaBuckets))
	m.audio = f.NewCounter(counter("audio_seconds_total", "Audio that was produced."))
	m.finished = f.NewCounterVec(counter("utterances_total", "Utterances by the reason of their end: stop, length, cancelled or error."), []string{"reason"})
	m.slow = f.NewCounterVec(counter("slow_clients_total", "Clients that were given up because they read too slowly, by reason."), []string{"reason"})
	for _, reason := range []slowReason{slowWrite, slowLag, slowPending} {
		m.slow.WithLabelValues(string(reason))
	}
	for _, reason := range []synth.FinishReason{synth.FinishStop, synth.FinishLength, synth.FinishCancelled, finishError} {
		m.finished.WithLabelValues(string(reason))
	}
	m.clipsHeard = f.NewCounter(counter("clips_encoded_total", "Recordings of voices that were encoded."))
	m.clipHits = f.NewCounter(counter("clip_cache_hits_total", "Recordings that had been encoded before, or were just being encoded for another request."))
	m.clipSeconds = f.NewHistogram(histogram("clip_encode_seconds", "Time that the encoding of a recording took, with the wait for the engine.", ttfaBuckets))
	m.connections.open = new(atomic.Pointer[atomic.Int64])
	m.connections.refused = f.NewCounter(counter("refused_connections_total", "Connections beyond the limit."))
	m.registerState(f, s)
	exposition := promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
	m.serve = func(w *response, r *http.Request) error {
		exposition.ServeHTTP(w, r)
		return nil
	}
	return m
}

// registerState adds what is asked of server and engine when the metrics are read.
func (m *metrics) registerState(f promauto.Factory, s *Server) {
	gauge := func(name, help string, value func() float64) {
		f.NewGaugeFunc(prometheus.GaugeOpts{Namespace: "mynah", Name: name, Help: help}, value)
	}
	load := func(value func(synth.Load) float64) func() float64 {
		return func() float64 {
			if engine, err := s.ready(); err == nil {
				return value(engine.Load())
			}
			return 0
		}
	}
	gauge("live_requests", "Utterances whose frames are being computed.", load(func(l synth.Load) float64 { return float64(l.Live) }))
	gauge("queued_requests", "Utterances that wait for a place.", load(func(l synth.Load) float64 { return float64(l.Queued) }))
	gauge("live_clips", "Recordings that are being heard or wait for it.", load(func(l synth.Load) float64 { return float64(l.Listening) }))
	gauge("kept_voice_bytes", "Memory of what is kept of voices between requests.", load(func(l synth.Load) float64 { return float64(l.Kept) }))
	gauge("max_live_requests", "Utterances that are computed together at most.", load(func(l synth.Load) float64 { return float64(l.MaxLive) }))
	gauge("max_queued_requests", "Utterances that may wait.", load(func(l synth.Load) float64 { return float64(l.MaxQueue) }))
	f.NewCounterFunc(prometheus.CounterOpts{Namespace: "mynah", Name: "frames_total", Help: "Frames that were computed, each 0.08 s of audio."},
		load(func(l synth.Load) float64 { return float64(l.Frames) }))
	gauge("websockets", "Open WebSockets.", func() float64 {
		s.mu.Lock()
		defer s.mu.Unlock()
		return float64(s.sockets)
	})
	gauge("wyoming_connections", "Open connections of the Wyoming protocol.", func() float64 { return float64(s.wyoming.open()) })
	gauge("connections", "Open connections.", func() float64 {
		if open := m.connections.open.Load(); open != nil {
			return float64(open.Load())
		}
		return 0
	})
	gauge("ready", "1 while requests are taken.", func() float64 {
		if s.currentPhase() == phaseReady {
			return 1
		}
		return 0
	})
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Namespace: "mynah", Name: "build_info", Help: "Always 1; its labels tell the version.",
		ConstLabels: prometheus.Labels{"version": s.opts.Version, "go": runtime.Version()},
	}, func() float64 { return 1 })
}

// finish counts the end of an utterance.
func (m *metrics) finish(d synth.Done) {
	m.finished.WithLabelValues(string(d.FinishReason)).Inc()
	m.audio.Add(d.Audio.Seconds())
	m.queued.Observe(d.Queued.Seconds())
	if d.Frames > 0 {
		m.rtf.Observe(d.RTF())
	}
}

// firstAudio counts a TTFA.
func (m *metrics) firstAudio(transport string, ttfa time.Duration) {
	m.ttfa.WithLabelValues(transport).Observe(ttfa.Seconds())
}

// slowClient counts a client that was given up.
func (m *metrics) slowClient(reason slowReason) { m.slow.WithLabelValues(string(reason)).Inc() }
