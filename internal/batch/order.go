package batch

import (
	"fmt"
	"strings"

	"github.com/mynah-tts/mynah/internal/audio"
	"github.com/mynah-tts/mynah/synth"
)

// Order is all that decides the bytes of an item's file. Whoever has it, and a model of
// its identity, makes the same file.
type Order struct {
	Index      int // of the item in its job, from 1
	Identity   Identity
	Request    synth.Request // with a seed
	RetryCut   int
	Speed      float64
	Trim       bool
	Loudness   *float64 // LUFS
	Format     audio.Format
	SourceRate int    // Hz, of the engine
	SampleRate int    // Hz, of the file
	Part       bool   // the samples are wanted as FLAC too, for a joined file
	Digest     string // of all above but Index and Part
}

// order makes the order of a task.
func (j *Job) order(t *task) *Order {
	return &Order{
		Index: t.item.Index, Identity: j.opts.Identity, Request: t.request, RetryCut: j.opts.RetryCut, Speed: t.speed, Trim: j.opts.Trim,
		Loudness: j.opts.Loudness, Format: j.opts.Format, SourceRate: j.opts.SourceRate, SampleRate: j.opts.SampleRate,
		Part: j.book != "" && !j.direct(), Digest: t.digest,
	}
}

// Check reports whether an engine of an identity and a sample rate makes what is ordered:
// its digest must come out the same.
func (o *Order) Check(id Identity, rate int) error {
	if o.Request.Seed == nil {
		return fmt.Errorf("the order has no seed")
	}
	if o.SourceRate != rate {
		return fmt.Errorf("the order is for samples of %d Hz, this model makes %d Hz", o.SourceRate, rate)
	}
	if o.RetryCut < 0 || o.RetryCut > MaxRetries {
		return fmt.Errorf("the order has %d retries, allowed are 0 to %d", o.RetryCut, MaxRetries)
	}
	if err := (audio.Encoding{Format: o.Format, SampleRate: o.SampleRate, Speed: o.Speed}).Check(rate); err != nil {
		return err
	}
	mine := *o
	mine.Identity = id
	digest, err := mine.digest()
	if err != nil {
		return err
	}
	if digest != o.Digest {
		return fmt.Errorf("the order's digest is %.12s, here it is %.12s", o.Digest, digest)
	}
	return nil
}

// digest returns the digest of what the item's file is made of.
func (o *Order) digest() (string, error) {
	r := &o.Request
	x := recipe{
		Identity: o.Identity, Text: r.Text, Voice: strings.ToLower(r.Voice), Language: strings.ToLower(r.Language),
		Instruct: r.Instruct, Layout: r.Layout, Reference: r.Reference, Seed: *r.Seed, MaxFrames: r.MaxFrames, Segment: r.SegmentRunes,
		Gap: int64(r.Gap), Sampling: r.Sampling, RetryCut: o.RetryCut, Speed: o.Speed, Format: string(o.Format), Rate: o.SampleRate,
	}
	if o.Trim {
		x.Trim = trimRule
	}
	if o.Loudness != nil {
		x.Loudness = fmt.Sprint(*o.Loudness, " ", loudnessRule)
	}
	return hash(x)
}

// ID is a digest of all items of a job: 32 hexadecimal digits. The same input with the same
// settings and model has the same.
func (j *Job) ID() (string, error) {
	all := make([]string, len(j.tasks))
	for i, t := range j.tasks {
		all[i] = t.digest
	}
	sum, err := hash(all)
	if err != nil {
		return "", err
	}
	return sum[:32], nil
}
