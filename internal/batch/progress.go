package batch

import (
	"sync/atomic"
	"time"
	"unicode/utf8"
)

// progress counts what a job has done. Several goroutines add to it.
type progress struct {
	began atomic.Int64 // ns since 1970; 0 before Run

	total, kept, moved int // of the plan
	failedBefore       int
	runes              int64 // to be spoken

	watch atomic.Pointer[Maker] // nil while none makes items

	made, failed, cut, live atomic.Int64
	samples                 atomic.Int64 // of the engine, in this run
	spoken                  atomic.Int64 // characters of segments that are over, and of items that failed
}

// Progress is how far a job is.
type Progress struct {
	Total   int           // items
	Kept    int           // were finished before
	Moved   int           // have got another name
	Made    int           // in this run
	Failed  int           // could not be made
	Cut     int           // of those made, at their longest length
	Live    int           // being spoken
	Audio   time.Duration // that the model made in this run
	Elapsed time.Duration
	Left    time.Duration // estimated; -1 while nothing is known
	Waiting string        // what is waited for, "" for nothing worth telling
}

// Finished counts the items that need nothing any more.
func (p Progress) Finished() int { return p.Kept + p.Moved + p.Made + p.Failed }

// RTF is computing time over audio time, of all streams together; 0 without audio.
func (p Progress) RTF() float64 {
	if p.Audio == 0 {
		return 0
	}
	return p.Elapsed.Seconds() / p.Audio.Seconds()
}

// reset counts the plan.
func (j *Job) reset() {
	p := &j.progress
	p.total, p.kept, p.moved, p.failedBefore, p.runes = len(j.tasks), 0, 0, 0, 0
	for _, t := range j.tasks {
		switch t.action {
		case Keep:
			p.kept++
		case Move:
			p.moved++
		case Fail:
			p.failedBefore++
		case Make:
			p.runes += int64(utf8.RuneCountInString(t.request.Text))
		}
	}
}

// Progress tells how far the job is. It may be called while it runs.
func (j *Job) Progress() Progress {
	p := &j.progress
	s := Progress{
		Total: p.total, Kept: p.kept, Moved: p.moved, Made: int(p.made.Load()), Failed: p.failedBefore + int(p.failed.Load()),
		Cut: int(p.cut.Load()), Left: -1,
		Audio: time.Duration(p.samples.Load()) * time.Second / time.Duration(j.opts.SourceRate),
	}
	if began := p.began.Load(); began != 0 {
		s.Elapsed = time.Since(time.Unix(0, began))
	}
	if maker := p.watch.Load(); maker != nil {
		s.Live, s.Waiting = (*maker).State()
	}
	if spoken := p.spoken.Load(); spoken > 0 {
		s.Left = time.Duration(float64(s.Elapsed) * float64(max(0, p.runes-spoken)) / float64(spoken)).Round(time.Second)
	}
	if s.Finished() == s.Total {
		s.Left = 0
	}
	return s
}
