package team

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Limits of waiting.
const (
	// spinTime is how long a waiter spins before it sleeps. It covers the single-threaded stretches within a frame (norms,
	// sampling: up to 100 µs), so that a team sleeps only between frames and requests.
	spinTime = 200 * time.Microsecond
	// pauses is how many pause instructions lie between two looks at the awaited word: 0.05 to 0.4 µs by the kind of CPU.
	pauses = 8
	// yieldRounds is how many such looks lie between two calls to the scheduler, by which other goroutines (those that
	// serve clients, and the garbage collector's) get this processor.
	yieldRounds = 32
)

// patience is how a team waits.
type patience struct {
	rounds int // looks at the awaited word before sleeping
	yield  int // every how many looks to call the scheduler
}

// newPatience returns the patience for n workers. If they cannot all run at once, spinning would keep the awaited
// one from running, so each look is followed by a call to the scheduler, and there are few of them.
func newPatience(n int) patience {
	if n > runtime.GOMAXPROCS(0) {
		return patience{rounds: 16, yield: 1}
	}
	return patience{rounds: spinRounds(), yield: yieldRounds}
}

// spinRounds measures how many rounds of pauses take spinTime: a pause takes from 10 to 140 cycles, and more in some virtual
// machines. The shortest of several measurements is the one that was not interrupted.
var spinRounds = sync.OnceValue(func() int {
	const rounds = 64
	shortest := time.Hour
	for range 8 {
		start := time.Now()
		for range rounds {
			pause(pauses)
		}
		shortest = min(shortest, time.Since(start))
	}
	return max(100, int(spinTime*rounds/max(1, shortest)))
})

// gate is where one goroutine waits for a word to change.
type gate struct {
	asleep atomic.Bool
	wake   chan struct{} // holds one
	_      [48]byte      // a gate has a cache line of its own
}

func newGate() gate { return gate{wake: make(chan struct{}, 1)} }

// ticket is the number of a job and, in its low bits, for how many workers it is.
type ticket uint64

const partsBits = 12

func (t ticket) parts() int { return int(t & (1<<partsBits - 1)) }

// next is the ticket of the job behind t.
func (t ticket) next(parts int) ticket { return (t>>partsBits+1)<<partsBits | ticket(parts) }

// await returns v when it is the ticket of another job than old that is for the worker:
// tickets for fewer workers count as none. Whoever changes v must then call open.
func (g *gate) await(v *atomic.Uint64, old ticket, worker int, p patience) ticket {
	for {
		for i := range p.rounds {
			if now := ticket(v.Load()); now != old && now.parts() > worker {
				return now
			}
			if i%p.yield == p.yield-1 {
				runtime.Gosched()
			} else {
				pause(pauses)
			}
		}
		g.asleep.Store(true)
		// If v has changed meanwhile, open may or may not have seen that this gate is asleep; the swap says which.
		if now := ticket(v.Load()); now != old && now.parts() > worker && g.asleep.CompareAndSwap(true, false) {
			return now
		}
		<-g.wake
		// An open that belongs to the change before may come so late that it wakes this wait: v decides.
	}
}

// open wakes the waiter if it sleeps.
func (g *gate) open() {
	if g.asleep.Load() && g.asleep.CompareAndSwap(true, false) {
		g.wake <- struct{}{}
	}
}
