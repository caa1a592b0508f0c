package batch

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
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
		Identity: o.Identity, Text: r.Text, Voice: strings.ToLower(r.Voice), Language: synth.LanguageName(r.Language),
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

// id names a job among all that share a server: 32 hexadecimal digits, a digest of its items
// and of its folder's token. Another folder's job of the same items has another, for what
// one of them has collected is removed.
func (r *run) id() (string, error) {
	token, err := r.token()
	if err != nil {
		return "", err
	}
	all := []string{token}
	for _, t := range r.tasks {
		all = append(all, t.digest)
	}
	sum, err := hash(all)
	if err != nil {
		return "", err
	}
	return sum[:32], nil
}

// token reads the folder's token, or makes one, also in place of one that is damaged: then
// an interrupted job begins anew on the server. The folder must be locked.
func (r *run) token() (string, error) {
	path := r.work(tokenName)
	there, err := os.ReadFile(path)
	switch {
	case err == nil && isToken.Match(there):
		return string(there), nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return "", onDisk(path, err)
	}
	token := rand.Text()
	return token, writeWhole(r.opts.Disk, r.work("new-"+tokenName), path, []byte(token))
}

// isToken matches what rand.Text makes.
var isToken = regexp.MustCompile(`^[A-Z2-7]{26}$`)
