package batch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"unicode/utf8"

	"github.com/mynah-tts/mynah/internal/audio"
	"github.com/mynah-tts/mynah/synth"
)

// cutReason is the finish reason of an item that was cut at its bound.
const cutReason = string(synth.FinishLength)

// maxWAVSamples is what a WAV file holds, of 16 bits.
const maxWAVSamples = (1<<32 - 64) / 2

// Files is where an order's files shall lie.
type Files struct {
	Audio string
	Part  string // the samples as FLAC, if the order wants them
	Name  string // that errors of the disk shall name
}

// Tell is told of samples that an engine made, and of characters that were spoken; both
// are negative where they are taken back.
type Tell func(samples, runes int)

// Station makes one order after the other with an engine.
type Station struct {
	engine Engine
	disk   Disk
	path   string // of the spool
	spool  *spool // nil before the first order
}

// NewStation makes a station whose spool is a file of that path. A nil disk is the
// operating system's.
func NewStation(engine Engine, disk Disk, spool string) *Station {
	if disk == nil {
		disk = osDisk{}
	}
	return &Station{engine: engine, disk: disk, path: spool}
}

// Close removes the spool.
func (s *Station) Close() {
	if s.spool != nil {
		s.spool.close()
		s.spool = nil
	}
}

// Make speaks an order, again with another seed if it was cut and may be tried again, and
// writes its files. Of the record it fills in what speaking and finishing decide. The
// result is nil if the context ended.
func (s *Station) Make(ctx context.Context, o *Order, to Files, tell Tell) (*Record, error) {
	if s.spool == nil {
		var err error
		if s.spool, err = openSpool(s.disk, s.path); err != nil {
			return nil, err
		}
	}
	for attempt := 0; ; attempt++ {
		seed := retrySeed(*o.Request.Seed, attempt)
		u, err := s.speak(ctx, o, seed, tell)
		if err != nil || u == nil {
			return nil, err
		}
		if u.done.FinishReason == synth.FinishLength && attempt < o.RetryCut {
			tell(0, -u.spoken)
			continue
		}
		record := &Record{
			Voice: u.voice, Seed: seed, Attempts: attempt + 1, FinishReason: string(u.done.FinishReason), Frames: u.done.Frames, RTF: u.done.RTF(),
		}
		return record, s.write(o, to, u, record)
	}
}

// utterance is what came of speaking an item once.
type utterance struct {
	voice  string
	done   synth.Done
	spans  []rawSpan
	spoken int // characters that were told
}

// rawSpan is a segment by its place in the spool.
type rawSpan struct {
	from, to int64
	text     string
}

// speak fills the spool with an item's samples. The result is nil if the context ended.
func (s *Station) speak(ctx context.Context, o *Order, seed int64, tell Tell) (u *utterance, err error) {
	request := o.Request
	request.Seed = &seed
	stream, err := s.engine.Speak(ctx, request)
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	s.spool.reset()
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
			u.spans = append(u.spans, rawSpan{from: s.spool.count, text: e.Text})
		case synth.Audio:
			if err := s.spool.write(e.PCM); err != nil {
				return nil, err
			}
			tell(len(e.PCM), 0)
		case synth.SegmentDone:
			if n := len(u.spans); n > 0 {
				u.spans[n-1].to, u.spans[n-1].text = s.spool.count, e.Text
			}
			n := utf8.RuneCountInString(e.Text)
			u.spoken += n
			tell(0, n)
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
func (s *Station) write(o *Order, to Files, u *utterance, record *Record) error {
	f := &finisher{spool: s.spool, to: s.spool.count, source: o.SourceRate, rate: o.SampleRate, speed: o.Speed}
	seconds := func(n int64) float64 { return float64(n) / float64(f.source) }
	if o.Trim {
		f.from, f.to = s.spool.trimmed(f.source)
		record.Trimmed = &Trimmed{Lead: seconds(f.from), Tail: seconds(s.spool.count - f.to)}
	}
	if n := seconds(f.to-f.from) / f.speed * float64(f.rate); o.Format == audio.WAV && n > maxWAVSamples {
		return fmt.Errorf("%.0f samples are more than a WAV file holds (4 GiB); flac has no such bound", n)
	}
	l := unchanged
	var err error
	if o.Loudness != nil {
		if l, record.Loudness, err = f.measure(*o.Loudness); err != nil {
			return err
		}
	}
	if record.Samples, record.Bytes, err = s.encode(o, to, f, l); err != nil {
		return err
	}
	record.SampleRate = f.rate
	record.Duration = float64(record.Samples) / float64(f.rate)
	for _, span := range u.spans {
		at := func(n int64) float64 {
			return min(record.Duration, seconds(max(0, min(n, f.to)-f.from))/f.speed)
		}
		record.Segments = append(record.Segments, Span{at(span.from), at(span.to), span.text})
	}
	return nil
}

// encode writes the finished samples to the order's file, and to its part of the joined
// file where they cannot be read from the file itself.
func (s *Station) encode(o *Order, to Files, f *finisher, l levels) (samples, size int64, err error) {
	sink, err := s.disk.Sink(to.Audio, f.rate, o.Format)
	if err != nil {
		return 0, 0, onDisk(to.Name, err)
	}
	sinks := []audio.Sink{sink}
	defer func() {
		for _, each := range sinks {
			_ = each.Abort() // does nothing behind Close
		}
	}()
	if o.Part {
		part, err := s.disk.Sink(to.Part, f.rate, audio.FLAC)
		if err != nil {
			return 0, 0, onDisk(to.Name, err)
		}
		sinks = append(sinks, part)
	}
	err = f.write(l, func(block []float32) error {
		samples += int64(len(block))
		for _, each := range sinks {
			if err := each.Write(block); err != nil {
				return sinkError(to.Name, err)
			}
		}
		return nil
	})
	if err != nil {
		return 0, 0, err
	}
	for _, each := range sinks {
		if err := each.Close(); err != nil {
			return 0, 0, sinkError(to.Name, err)
		}
	}
	info, err := os.Stat(to.Audio)
	if err != nil {
		return 0, 0, onDisk(to.Audio, err)
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
