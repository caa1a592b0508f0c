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

// await returns when v differs from old. Whoever changes v must then call open.
func (g *gate) await(v *atomic.Uint32, old uint32, p patience) {
	for {
		for i := range p.rounds {
			if v.Load() != old {
				return
			}
			if i%p.yield == p.yield-1 {
				runtime.Gosched()
			} else {
				pause(pauses)
			}
		}
		g.asleep.Store(true)
		// If v has changed meanwhile, open may or may not have seen that this gate is asleep; the swap says which.
		if v.Load() != old && g.asleep.CompareAndSwap(true, false) {
			return
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
