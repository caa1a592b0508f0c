package server

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mynah-tts/mynah/synth"
)

// transportBatch is how metrics name batches.
const transportBatch = "batch"

// The states of a batch's item. Audio that was cut is there, but is no success.
const (
	itemSuccess   = "success"
	itemTruncated = "truncated"
	itemError     = "error"
)

// batchItem is one text of a batch and what became of it.
type batchItem struct {
	Index        int                `json:"index"`
	Status       string             `json:"status"`
	Audio        []byte             `json:"audio_data,omitempty"` // base64
	MediaType    string             `json:"media_type,omitempty"`
	Usage        *usage             `json:"usage,omitempty"`
	FinishReason synth.FinishReason `json:"finish_reason,omitempty"`
	Frames       int                `json:"frames,omitempty"`
	Seed         *int64             `json:"seed,omitempty"`
	Warnings     []string           `json:"warnings,omitempty"` // of its clip
	Error        *errorBody         `json:"error,omitempty"`

	fields speechRequest // until it was spoken
	heard  time.Duration // how long it takes to hear Audio
	err    *Error
}

// batchEnd is what follows the items.
type batchEnd struct {
	Total     int `json:"total"`
	Succeeded int `json:"succeeded"`
	Truncated int `json:"truncated"`
	Failed    int `json:"failed"`
}

// batch answers POST /v1/audio/speech/batch: some texts, each with a status of its own.
// They go through the engine's queue a few at a time.
func (s *Server) batch(w *response, r *http.Request) error {
	body, engine, heard, release, err := s.takeClipBody(w, r)
	if err != nil {
		return err
	}
	defer release()
	defer heard()
	items, unknown, err := readBatch(body)
	if err != nil {
		return err
	}
	ctx, cancel := s.work(r.Context())
	defer cancel()
	info(r).add(slog.Int("items", len(items)))
	nameIgnored(w, unknown)
	for _, item := range items {
		s.addText(r, fmt.Sprintf("input_%d", item.Index), item.fields.Input)
	}
	var held atomic.Int64 // of the server's batchHeld
	defer func() { s.batchHeld.Add(-held.Load()) }()
	s.speakBatch(ctx, engine, items, &held, info(r))
	heard() // items kept their recordings until here
	if ctx.Err() != nil {
		return why(ctx, nil)
	}
	if refused := allBusy(items); refused != nil {
		return refused
	}
	err = s.writeBatch(w, items, &held)
	if err != nil {
		err = why(ctx, err)
	}
	if slow, isSlow := asSlow(err); isSlow {
		s.metrics.slowClient(slow)
	}
	return err
}

// readBatch reads the items, each over the fields of the batch. unknown are names that are no
// fields, of all of them.
func readBatch(body []byte) (items []*batchItem, unknown []string, err error) {
	all, refused := members(body)
	if refused != nil {
		return nil, nil, refused
	}
	var raw json.RawMessage
	var defaults []member
	for _, m := range all {
		switch m.name {
		case "items":
			raw = m.value
		case "input":
			return nil, nil, invalid(m.name, "it belongs to the items of a batch")
		default:
			defaults = append(defaults, m)
		}
	}
	base := &speechRequest{}
	if err := base.readFields(defaults); err != nil {
		return nil, nil, err
	}
	told := map[string]bool{}
	note := func(q *speechRequest) {
		for _, name := range q.unknown {
			if !told[name] {
				unknown, told[name] = append(unknown, name), true
			}
		}
		q.unknown = nil
	}
	note(base)
	var list []json.RawMessage
	if kindOf(raw) != "a list" || json.Unmarshal(raw, &list) != nil {
		return nil, nil, wrongType("items", raw, "a list of objects")
	}
	if len(list) == 0 || len(list) > BatchItems {
		return nil, nil, invalid("items", "%d of them, allowed are 1 to %d", len(list), BatchItems)
	}
	for i, value := range list {
		item := readItem(i, value, base)
		items = append(items, item)
		note(&item.fields)
	}
	return items, unknown, nil
}

func readItem(index int, value json.RawMessage, base *speechRequest) *batchItem {
	item := &batchItem{Index: index, fields: *base}
	item.fields.present = maps.Clone(base.present)
	all, err := members(value)
	if err != nil {
		err.Message = fmt.Sprintf("items[%d]: %s", index, strings.TrimPrefix(err.Message, "body: "))
	} else {
		err = item.fields.readFields(all)
	}
	if err == nil && item.fields.StreamFormat == streamSSE {
		err = invalid("stream_format", "%q, a batch is answered as a whole", streamSSE)
	}
	item.err = err
	return item
}

// speakBatch speaks all items that can be.
func (s *Server) speakBatch(ctx context.Context, engine Engine, items []*batchItem, held *atomic.Int64, in *requestInfo) {
	next := make(chan *batchItem)
	var workers sync.WaitGroup
	for range min(batchWorkers, len(items)) {
		workers.Go(func() {
			for item := range next {
				s.speakItem(ctx, engine, item, held, in)
			}
		})
	}
	for _, item := range items {
		next <- item
	}
	close(next)
	workers.Wait()
}

// speakItem speaks one item into memory.
func (s *Server) speakItem(ctx context.Context, engine Engine, item *batchItem, held *atomic.Int64, in *requestInfo) {
	if item.err == nil {
		item.err = item.fields.checkInput(s.opts.Limits)
	}
	if item.err == nil {
		if err := s.speakInto(ctx, engine, item, held, in); err != nil {
			item.err = asError(err)
		}
	}
	item.fields = speechRequest{} // its recording most of all
	if item.err != nil {
		body := item.err.body()
		item.Status, item.Error, item.Audio, item.Warnings = itemError, &body, nil, nil
		if item.err.Err != nil {
			s.opts.Log.Error("batch item", "id", in.id, "index", item.Index, "error", item.err.Err.Error())
		}
	}
}

// speakInto speaks an item into it. Nobody else recovers from a panic in its goroutine.
func (s *Server) speakInto(ctx context.Context, engine Engine, item *batchItem, held *atomic.Int64, in *requestInfo) (err error) {
	defer recovered(&err)
	request, err := s.request(&item.fields, engine.Info())
	if err != nil {
		return err
	}
	e := s.encoding(&item.fields)
	if err := e.check(engine.Info().SampleRate); err != nil {
		return err
	}
	if item.Warnings, err = s.hearClip(ctx, item.fields.clip(), &request); err != nil {
		return err
	}
	stream, err := engine.Speak(ctx, request)
	if err != nil {
		return err
	}
	defer stream.Close()
	u := &utterance{server: s, transport: transportBatch, received: in.received}
	out := &batchAudio{server: s, held: held}
	sink, err := e.open(out, engine.Info().SampleRate)
	if err != nil {
		return err
	}
	defer sink.Abort() // nothing after Close
	done, err := u.pump(ctx, stream, sink)
	if err != nil {
		s.freeBatch(held, len(out.data))
		return err
	}
	used := u.usage(done)
	item.heard = e.heard(time.Duration(u.audio.Load()))
	item.Status, item.Audio, item.MediaType, item.Usage = itemSuccess, out.data, e.contentType(), &used
	item.FinishReason, item.Frames, item.Seed = done.FinishReason, done.Frames, &done.Seed
	if done.FinishReason != synth.FinishStop {
		item.Status = itemTruncated
	}
	return nil
}

// batchAudio takes audio into memory, within what all batches may hold together.
type batchAudio struct {
	server *Server
	held   *atomic.Int64 // by this batch
	data   []byte
}

func (b *batchAudio) Write(p []byte) (int, error) {
	n := int64(len(p))
	if b.server.batchHeld.Add(n) > b.server.opts.Limits.BatchBytes {
		b.server.batchHeld.Add(-n)
		return 0, &Error{Status: http.StatusServiceUnavailable, Type: typeServer, Code: "batch_too_large", RetryAfter: retryAfter,
			Message: "over " + plural(b.server.opts.Limits.BatchBytes, "byte") + " of audio, the most that batches may hold: ask for less at a time, or for mp3"}
	}
	b.held.Add(n)
	b.data = append(b.data, p...)
	return len(p), nil
}

// freeBatch gives back what so many bytes of a batch's audio took of the memory of all.
func (s *Server) freeBatch(held *atomic.Int64, bytes int) {
	held.Add(int64(-bytes))
	s.batchHeld.Add(int64(-bytes))
}

// allBusy is the refusal of a batch of which no item found a place.
func allBusy(items []*batchItem) error {
	for _, item := range items {
		if item.err != errQueue {
			return nil
		}
	}
	return errQueue
}

// writeBatch writes the answer item by item: as one document it would be in memory
// three times. What has left makes room for other batches.
func (s *Server) writeBatch(w *response, items []*batchItem, held *atomic.Int64) error {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	out := &batchWriter{w: w, most: s.opts.Limits.LagTimeout}
	end := batchEnd{Total: len(items)}
	if _, err := fmt.Fprintf(out, `{"id":%q,"results":[`, newID("batch_")); err != nil {
		return err
	}
	for i, item := range items {
		end.count(item)
		data, err := json.Marshal(item)
		if err != nil {
			return err
		}
		leaving := len(item.Audio)
		item.Audio = nil
		if i > 0 {
			data = append([]byte{','}, data...)
		}
		out.heard += item.heard
		if _, err := out.Write(data); err != nil {
			return err
		}
		s.freeBatch(held, leaving)
	}
	tail, err := json.Marshal(end)
	if err != nil {
		return err
	}
	_, err = out.Write(append([]byte("],"), append(tail[1:], '\n')...))
	return err
}

// count counts an item by its state.
func (end *batchEnd) count(item *batchItem) {
	switch item.Status {
	case itemSuccess:
		end.Succeeded++
	case itemTruncated:
		end.Truncated++
	default:
		end.Failed++
	}
}

// batchWriter writes to a client that may be slow, but not for longer than it takes to hear
// what it was sent, and LagTimeout: what waits for it is memory that others need.
type batchWriter struct {
	w     *response
	most  time.Duration
	heard time.Duration // how long it takes to hear all items so far
}

// Write looks after each piece, for an item may be all that batches may hold.
func (b *batchWriter) Write(p []byte) (n int, err error) {
	for n < len(p) {
		wrote, err := b.w.Write(p[n:min(n+pieceBytes, len(p))])
		n += wrote
		if err != nil {
			return n, err
		}
		if b.w.blocked-b.heard > b.most {
			return n, &slowError{slowLag}
		}
	}
	return n, nil
}
