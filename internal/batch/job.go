package batch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/mynah-tts/mynah/internal/audio"
	"github.com/mynah-tts/mynah/synth"
)

// Engine is what a job needs of a model.
type Engine interface {
	Speak(ctx context.Context, r synth.Request) (Stream, error)
}

// Stream is one utterance: see synth.Stream.
type Stream interface {
	Next() (synth.Event, error)
	Close() error
}

// Options say what a job makes.
type Options struct {
	Dir     string
	Request synth.Request // settings of items that have none of their own; text and seed are not used
	Seed    int64         // from which items without a seed get theirs; 0 and up

	SourceRate int // Hz, of the engine
	Format     audio.Format
	SampleRate int      // Hz; 0 is the engine's
	Speed      float64  // of items that have none; 0 is 1
	Loudness   *float64 // LUFS; nil leaves it
	Trim       bool     // silence at both ends is cut off
	Captions   Captions
	ChapterGap time.Duration // silence between the chapters of a joined file
	RetryCut   int           // how often an item that was cut at its bound is tried with another seed

	Jobs     int // streams at once
	FailFast bool

	Identity Identity
	Disk     Disk // nil is the operating system's

	// Voice, if set, puts the voice that a request names into the engine's terms. Its
	// *synth.RequestError is the item's problem; every other error ends the job.
	Voice func(*synth.Request) error

	// Done, if set, is told of each item that was made or failed, one at a time.
	Done func(*Record)
}

// The bounds of options.
const (
	MinLoudness, MaxLoudness = -40.0, -5.0 // LUFS
	MaxRetries               = 20
	MaxJobs                  = 64 // synth's rows
	MaxChapterGap            = time.Minute
)

// check fills in what was left out and refuses what cannot be.
func (o *Options) check() error {
	o.SampleRate = cmp.Or(o.SampleRate, o.SourceRate)
	o.Speed = cmp.Or(o.Speed, 1)
	if o.Disk == nil {
		o.Disk = osDisk{}
	}
	switch {
	case o.Loudness != nil && !(*o.Loudness >= MinLoudness && *o.Loudness <= MaxLoudness):
		return fmt.Errorf("loudness is %v LUFS, allowed are %g to %g", *o.Loudness, MinLoudness, MaxLoudness)
	case o.RetryCut < 0 || o.RetryCut > MaxRetries:
		return fmt.Errorf("retries are %d, allowed are 0 to %d", o.RetryCut, MaxRetries)
	case o.Jobs < 1 || o.Jobs > MaxJobs:
		return fmt.Errorf("jobs are %d, allowed are 1 to %d", o.Jobs, MaxJobs)
	case o.ChapterGap < 0 || o.ChapterGap > MaxChapterGap:
		return fmt.Errorf("chapter gap is %v, allowed are 0 to %v", o.ChapterGap, MaxChapterGap)
	case o.Seed < 0:
		return fmt.Errorf("seed is %d, allowed are 0 and up", o.Seed)
	case o.Captions != NoCaptions && o.Captions != SRT && o.Captions != VTT:
		return fmt.Errorf("captions are %q, allowed are %s and %s", o.Captions, SRT, VTT)
	}
	return audio.Encoding{Format: o.Format, SampleRate: o.SampleRate, Speed: o.Speed}.Check(o.SourceRate)
}

// Action is what a job does about an item.
type Action string

// The actions.
const (
	Keep Action = "keep" // it is finished
	Move Action = "move" // its audio is there under another name
	Make Action = "make"
	Fail Action = "fail" // something is wrong with it
)

// task is an item on its way to a file.
type task struct {
	item    *Item
	request synth.Request
	voice   string // that the request named
	speed   float64
	digest  string
	stem    string // of its file's name
	file    string

	action Action
	before *Record // what is kept or moved
	inKeep bool    // what is moved lies in the folder keep already
	result *Record // nil until the item is finished or has failed

	inTheWay bool // the item's problem is a file in the folder
}

// Job is a folder being filled.
type Job struct {
	opts   Options
	tasks  []*task
	book   string // stem of the joined file, "" if there is none
	folder folder
	progress
}

// NewJob plans a job. Nothing is written; the folder need not exist.
func NewJob(in *Input, opts Options) (*Job, error) {
	if err := opts.check(); err != nil {
		return nil, err
	}
	j := &Job{opts: opts}
	stems, book := names(in.Items, in.Book)
	j.book = book
	all := seeds(in.Items, opts.Seed)
	for i := range in.Items {
		it := &in.Items[i]
		t := &task{item: it, stem: stems[i], file: stems[i] + j.extension(), request: j.request(it, all[i]), speed: cmp.Or(it.Speed, opts.Speed)}
		t.voice = t.request.Voice
		if err := j.resolve(t); err != nil {
			return nil, err
		}
		var err error
		if t.digest, err = j.order(t).digest(); err != nil {
			return nil, err
		}
		j.tasks = append(j.tasks, t)
	}
	return j, j.plan()
}

// resolve has the voice of an item found.
func (j *Job) resolve(t *task) error {
	if j.opts.Voice == nil {
		return nil
	}
	err := j.opts.Voice(&t.request)
	var refused *synth.RequestError
	if errors.As(err, &refused) {
		t.item.Problem = cmp.Or(t.item.Problem, refused.Error())
		return nil
	}
	return err
}

// extension is that of the audio files.
func (j *Job) extension() string { return audio.Extensions(j.opts.Format)[0] }

// request puts an item into the engine's terms.
func (j *Job) request(it *Item, seed int64) synth.Request {
	r := j.opts.Request
	r.Text, r.Seed = it.Text, &seed
	r.Voice = cmp.Or(it.Voice, r.Voice)
	r.Language = cmp.Or(it.Language, r.Language)
	r.Instruct = cmp.Or(it.Instructions, r.Instruct)
	r.Layout = cmp.Or(synth.Layout(it.Layout), r.Layout)
	r.MaxFrames = cmp.Or(it.MaxFrames, r.MaxFrames)
	s, own := &r.Sampling, &it.Sampling
	s.Temperature, s.TopP = first(own.Temperature, s.Temperature), first(own.TopP, s.TopP)
	s.TopK = first(own.TopK, s.TopK)
	s.RepetitionPenalty = first(own.RepetitionPenalty, s.RepetitionPenalty)
	s.SubTemperature, s.SubTopP = first(own.SubTemperature, s.SubTemperature), first(own.SubTopP, s.SubTopP)
	s.SubTopK = first(own.SubTopK, s.SubTopK)
	return r
}

func first[T any](a, b *T) *T {
	if a != nil {
		return a
	}
	return b
}

// folder is what a job's folder holds.
type folder struct {
	live     map[string]*Record   // the latest line about each file that is there and whole
	sorted   []*Record            // live, in the order of the manifest
	byDigest map[string][]*Record // all lines about files
	ours     map[string]bool      // names of files and captions in any line
	captions map[string]string    // of files, in the latest line about each
	names    map[string][]string  // names of files by their folded form
	good     int64                // bytes of the manifest
}

// plan decides what is to be done about each item, by what the folder holds.
func (j *Job) plan() error {
	if err := j.readFolder(); err != nil {
		return err
	}
	used := map[*Record]bool{}
	healthy := true
	for _, t := range j.tasks {
		t.action, t.before, t.result, t.inKeep = Make, nil, nil, false
		if t.item.Problem != "" {
			t.action, healthy = Fail, false
			continue
		}
		if r := j.folder.live[t.file]; r != nil && r.Digest == t.digest {
			t.action, t.before = Keep, r
			used[r] = true
		}
	}
	j.planMoves(used)
	if healthy && j.book != "" && !j.direct() && !j.joinedIsThere() {
		for _, t := range j.tasks { // what shall be joined must be there in samples
			if _, err := os.Stat(j.part(t.digest)); err != nil {
				t.action, t.before = Make, nil
			}
		}
	}
	for _, t := range j.tasks {
		if t.action == Fail {
			continue
		}
		if problem := j.inTheWay(t.stem); problem != "" {
			t.item.Problem, t.inTheWay, t.action = problem, true, Fail
		}
	}
	j.reset()
	return nil
}

// planMoves finds audio that is there under a name that is no longer that of its item, as
// when a line was put in before it.
func (j *Job) planMoves(used map[*Record]bool) {
	byDigest := map[string]*Record{}
	for _, r := range j.folder.sorted {
		if !used[r] && r.Index > 0 {
			byDigest[r.Digest] = r
		}
	}
	moving := map[string]bool{} // the folder keep has one place for each digest
	for _, t := range j.tasks {
		if t.action != Make || moving[t.digest] {
			continue
		}
		if found := byDigest[t.digest]; found != nil {
			t.action, t.before = Move, found
			moving[t.digest] = true
			continue
		}
		info, err := os.Stat(j.keep(t.digest))
		if err != nil {
			continue
		}
		for _, r := range j.folder.byDigest[t.digest] {
			if r.Bytes == info.Size() {
				t.action, t.before, t.inKeep = Move, r, true
				moving[t.digest] = true
			}
		}
	}
}

// inTheWay says which of the files that a stem shall get is somebody else's.
func (j *Job) inTheWay(stem string) string {
	problem := j.stranger(stem + j.extension())
	if problem == "" && j.opts.Captions != NoCaptions {
		problem = j.stranger(stem + "." + string(j.opts.Captions))
	}
	return problem
}

// stranger says that a name is taken by a file that no line of the manifest accounts for.
func (j *Job) stranger(name string) string {
	for _, there := range j.folder.names[foldName(name)] {
		if !j.folder.ours[there] {
			return fmt.Sprintf("the file %s is there and not of this job; move it away", there)
		}
	}
	return ""
}

// readFolder reads the manifest and looks at the files.
func (j *Job) readFolder() error {
	records, good, err := readManifest(j.opts.Dir)
	if err != nil {
		return err
	}
	j.folder = folder{live: map[string]*Record{}, byDigest: map[string][]*Record{}, ours: map[string]bool{}, captions: map[string]string{}, names: map[string][]string{}, good: good}
	entries, err := os.ReadDir(j.opts.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return onDisk(j.opts.Dir, err)
	}
	there := map[string]fs.DirEntry{}
	for _, e := range entries {
		there[e.Name()] = e
		folded := foldName(e.Name())
		j.folder.names[folded] = append(j.folder.names[folded], e.Name())
	}
	latest := map[string]*Record{}
	for i := range records {
		r := &records[i]
		if r.File != "" {
			latest[r.File], j.folder.captions[r.File] = r, r.Captions
			j.folder.byDigest[r.Digest] = append(j.folder.byDigest[r.Digest], r)
			j.folder.ours[r.File], j.folder.ours[r.Captions] = true, true
		}
	}
	for i := range records {
		r := &records[i]
		e := there[r.File]
		if r.File == "" || latest[r.File] != r || e == nil {
			continue
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && info.Size() == r.Bytes {
			j.folder.live[r.File] = r
			j.folder.sorted = append(j.folder.sorted, r)
		}
	}
	return nil
}

// workName is the folder in a job's folder for what is not finished.
const workName = ".mynah-batch"

// queueName is the folder in it that a Maker may keep for the next run.
const queueName = "queue"

// tokenName is the file in it whose random content tells a job that is made elsewhere from
// the same items' job in another folder. It stays until the job is over.
const tokenName = "job-token"

// work is a path in that folder.
func (j *Job) work(names ...string) string {
	return filepath.Join(append([]string{j.opts.Dir, workName}, names...)...)
}

// keep is where audio lies between its old name and its new one; part is where the samples
// of a chapter lie for the joined file.
func (j *Job) keep(digest string) string { return j.work("keep", digest+j.extension()) }
func (j *Job) part(digest string) string {
	return j.work("parts", digest+audio.Extensions(audio.FLAC)[0])
}

// Planned is what a job will do about an item.
type Planned struct {
	Item   *Item
	Action Action
	File   string
	From   string // of a file that is moved
	Seed   int64
}

// Plan lists what is to be done, in the order of the items.
func (j *Job) Plan() []Planned {
	var all []Planned
	for _, t := range j.tasks {
		p := Planned{Item: t.item, Action: t.action, File: t.file, Seed: *t.request.Seed}
		if t.action == Move {
			p.From = t.before.File
		}
		all = append(all, p)
	}
	return all
}

// Check asks the engine whether it would take the items that are to be made, without
// having them spoken, and marks those that it would not.
func (j *Job) Check(engine Engine) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // what is admitted ends before its first frame
	for _, t := range j.tasks {
		if t.action != Make {
			continue
		}
		s, err := engine.Speak(ctx, t.request)
		if err == nil {
			s.Close()
			continue
		}
		var request *synth.RequestError
		if errors.As(err, &request) {
			t.item.Problem, t.action = request.Error(), Fail
		}
	}
	j.reset()
}
