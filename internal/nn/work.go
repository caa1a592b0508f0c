package nn

import "github.com/mynah-tts/mynah/internal/team"

// Work is what one computing goroutine brings along: the team of workers and the
// job structs through which work is handed to it. They are reused from call to
// call, so that a step allocates nothing. A Work must not be used by two
// goroutines at once.
type Work struct {
	team  *team.Team
	limit int // most workers of a job
	in    input
	lin   linearJob
	mlp   mlpJob
	attn  attentionJob
}

// NewWork returns a Work on a team; nil computes on the calling goroutine alone.
func NewWork(tm *team.Team) *Work { return &Work{team: tm, limit: tm.Workers()} }

// Limit makes jobs use at most n workers of the team, or all if n is 0, and returns wk.
// It changes no result.
func (wk *Work) Limit(n int) *Work {
	wk.limit = wk.team.Workers()
	if n > 0 {
		wk.limit = min(n, wk.limit)
	}
	return wk
}

// Workers returns the most workers that a job has, the caller included.
func (wk *Work) Workers() int { return wk.limit }

// Run hands a job to the team, or does all of it here when it is so small that
// waking the team would cost more. macs is the job's size in multiply-adds.
func (wk *Work) Run(j team.Job, macs int) {
	if wk.limit == 1 || macs < inlineMACs {
		j.Part(0, 1)
		return
	}
	wk.team.RunParts(j, wk.limit)
}

// inlineMACs is the size under which one worker is quicker than a barrier: a
// barrier costs about two microseconds, in which one core does some 30,000
// multiply-adds out of its cache.
const inlineMACs = 32 << 10
