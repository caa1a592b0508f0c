package batch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/mynah-tts/mynah/internal/audio"
	"github.com/mynah-tts/mynah/synth"
)

// cutReason is the finish reason of an item that was cut at its bound.
const cutReason = string(synth.FinishLength)

// maxWAVSamples is what a WAV file holds, of 16 bits.
const maxWAVSamples = (1<<32 - 64) / 2

// worker makes one item after the other.
type worker struct {
	*run
	number int
	spool  *spool // nil before the first item
}

func (w *worker) close() {
	if w.spool != nil {
		w.spool.close()
	}
}

// item makes an item. An error ends the job; what is wrong with the item alone is its
// result.
func (w *worker) item(ctx context.Context, t *task) error {
	if ctx.Err() != nil {
		return nil
	}
	w.live.Add(1)
	defer w.live.Add(-1)
	record, err := w.make(ctx, t)
	var disk *diskError
	switch {
	case ctx.Err() != nil && (err != nil || record == nil):
		return nil
	case errors.As(err, &disk), errors.Is(err, synth.ErrClosed), errors.Is(err, synth.ErrDraining):
		return err
	case err != nil:
		record = w.failure(t, strings.TrimPrefix(err.Error(), "synth: "))
		w.spoken.Add(int64(utf8.RuneCountInString(t.request.Text)))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if record.File != "" {
		if err := w.commit(record, w.unfinished(t)); err != nil {
			return err
		}
		w.made.Add(1)
		if record.FinishReason == cutReason {
			w.cut.Add(1)
		}
	} else {
		w.failed.Add(1)
	}
	w.report(t, record)
	if record.File == "" && w.opts.FailFast {
		return errStopped
	}
	return nil
}

// unfinished is where an item's file lies until it gets its name.
func (w *worker) unfinished(t *task) string {
	return w.work(fmt.Sprintf("new-%d%s", t.item.Index, w.extension()))
}

// make speaks an item, again with another seed if it was cut and may be tried again, and
// writes its file.
func (w *worker) make(ctx context.Context, t *task) (*Record, error) {
	if w.spool == nil {
		var err error
		if w.spool, err = openSpool(w.opts.Disk, w.work(fmt.Sprintf("samples-%d", w.number))); err != nil {
			return nil, err
		}
	}
	for attempt := 0; ; attempt++ {
		seed := retrySeed(*t.request.Seed, attempt)
		u, err := w.speak(ctx, t, seed)
		if err != nil || u == nil {
			return nil, err
		}
		if u.done.FinishReason == synth.FinishLength && attempt < w.opts.RetryCut {
			w.spoken.Add(-u.spoken)
			continue
		}
		record := &Record{
			Voice: u.voice, Seed: seed, Attempts: attempt + 1, FinishReason: string(u.done.FinishReason), Frames: u.done.Frames, RTF: u.done.RTF(),
		}
		w.describe(record, t)
		return record, w.write(t, u, record)
	}
}

// utterance is what came of speaking an item once.
type utterance struct {
	voice  string
	done   synth.Done
	spans  []rawSpan
	spoken int64 // characters that were counted
}

// rawSpan is a segment by its place in the spool.
type rawSpan struct {
	from, to int64
	text     string
}

// speak fills the spool with an item's samples. The result is nil if the context ended.
func (w *worker) speak(ctx context.Context, t *task, seed int64) (u *utterance, err error) {
	request := t.request
	request.Seed = &seed
	stream, err := w.engine.Speak(ctx, request)
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	w.spool.reset()
	u = &utterance{}
	for {
		event, err := stream.Next()
		if err != nil {
			return nil, err
		}
		switch e := event.(type) {
		case synth.Start:
			u.voice = e.Voice
		case synth.Segment:
			u.spans = append(u.spans, rawSpan{from: w.spool.count, text: e.Text})
		case synth.Audio:
			if err := w.spool.write(e.PCM); err != nil {
				return nil, err
			}
			w.samples.Add(int64(len(e.PCM)))
		case synth.SegmentDone:
			if n := len(u.spans); n > 0 {
				u.spans[n-1].to, u.spans[n-1].text = w.spool.count, e.Text
			}
			n := int64(utf8.RuneCountInString(e.Text))
			u.spoken += n
			w.spoken.Add(n)
		case synth.Done:
			if e.FinishReason == synth.FinishCancelled {
				return nil, nil
			}
			u.done = e
			return u, nil
		}
	}
}

// write writes the file of what is in the spool, and completes the record.
func (w *worker) write(t *task, u *utterance, record *Record) error {
	f := &finisher{spool: w.spool, to: w.spool.count, source: w.opts.SourceRate, rate: w.opts.SampleRate, speed: t.speed}
	seconds := func(n int64) float64 { return float64(n) / float64(f.source) }
	if w.opts.Trim {
		f.from, f.to = w.spool.trimmed(f.source)
		record.Trimmed = &Trimmed{Lead: seconds(f.from), Tail: seconds(w.spool.count - f.to)}
	}
	if n := seconds(f.to-f.from) / f.speed * float64(f.rate); w.opts.Format == audio.WAV && n > maxWAVSamples {
		return fmt.Errorf("%.0f samples are more than a WAV file holds (4 GiB); flac has no such bound", n)
	}
	l := unchanged
	var err error
	if w.opts.Loudness != nil {
		if l, record.Loudness, err = f.measure(*w.opts.Loudness); err != nil {
			return err
		}
	}
	if record.Samples, record.Bytes, err = w.encode(t, f, l); err != nil {
		return err
	}
	record.SampleRate = f.rate
	record.Duration = float64(record.Samples) / float64(f.rate)
	for _, s := range u.spans {
		at := func(n int64) float64 {
			return min(record.Duration, seconds(max(0, min(n, f.to)-f.from))/f.speed)
		}
		record.Segments = append(record.Segments, Span{at(s.from), at(s.to), s.text})
	}
	return nil
}

// encode writes the finished samples to the item's unfinished file, and to its part of the
// joined file where they cannot be read from the file itself.
func (w *worker) encode(t *task, f *finisher, l levels) (samples, size int64, err error) {
	path := w.unfinished(t)
	sink, err := w.opts.Disk.Sink(path, f.rate, w.opts.Format)
	if err != nil {
		return 0, 0, onDisk(w.path(t.file), err)
	}
	sinks := []audio.Sink{sink}
	defer func() {
		for _, s := range sinks {
			_ = s.Abort() // does nothing behind Close
		}
	}()
	if w.book != "" && !w.direct() {
		part, err := w.opts.Disk.Sink(w.part(t.digest), f.rate, audio.FLAC)
		if err != nil {
			return 0, 0, onDisk(w.path(t.file), err)
		}
		sinks = append(sinks, part)
	}
	err = f.write(l, func(block []float32) error {
		samples += int64(len(block))
		for _, s := range sinks {
			if err := s.Write(block); err != nil {
				return sinkError(w.path(t.file), err)
			}
		}
		return nil
	})
	if err != nil {
		return 0, 0, err
	}
	for _, s := range sinks {
		if err := s.Close(); err != nil {
			return 0, 0, sinkError(w.path(t.file), err)
		}
	}
	info, err := os.Stat(path)
	if err != nil {
		return 0, 0, onDisk(path, err)
	}
	return samples, info.Size(), nil
}

// sinkError tells a bad sample, which is the model's, from a disk that takes no more. The
// sink's error names a file of ours; the user knows the item's.
func sinkError(path string, err error) error {
	var bad *audio.SampleError
	if errors.As(err, &bad) {
		return err
	}
	if inner := errors.Unwrap(err); inner != nil {
		err = inner
	}
	return onDisk(filepath.Clean(path), err)
}
