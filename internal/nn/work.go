package nn

import "github.com/mynah-tts/mynah/internal/team"

// Work is what one computing goroutine brings along: the team of workers and the
// job structs through which work is handed to it. They are reused from call to
// call, so that a step allocates nothing. A Work must not be used by two
// goroutines at once.
type Work struct {
	team *team.Team
	in   input
	lin  linearJob
	mlp  mlpJob
	attn attentionJob
}

// NewWork returns a Work on a team; nil computes on the calling goroutine alone.
func NewWork(tm *team.Team) *Work { return &Work{team: tm} }

// Workers returns the number of workers, the caller included.
func (wk *Work) Workers() int {
	if wk.team == nil {
		return 1
	}
	return wk.team.Workers()
}

// Run hands a job to the team, or does all of it here when it is so small that
// waking the team would cost more. macs is the job's size in multiply-adds.
func (wk *Work) Run(j team.Job, macs int) {
	if wk.team == nil || macs < inlineMACs {
		j.Part(0, 1)
		return
	}
	wk.team.Run(j)
}

// inlineMACs is the size under which one worker is quicker than a barrier: a
// barrier costs about two microseconds, in which one core does some 30,000
// multiply-adds out of its cache.
const inlineMACs = 32 << 10
