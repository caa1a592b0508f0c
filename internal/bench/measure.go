// Package bench measures how fast this machine reads memory and multiplies, and how
// long the weights of a full-size model keep it busy, and sets both beside the goals
// of the project.
//
// The weights are synthetic: matrices of the published 0.6B's sizes and forms, filled
// with small numbers, through the same kernels in the same rounds of the team as the
// model. What a model does besides (norms, attention, activations, sampling) is left
// out here; it is there when a checkpoint is measured.
package bench

import (
	"slices"
	"time"
)

// A figure is measured for so long, and so often at least.
const (
	measureTime = 400 * time.Millisecond
	measureRuns = 5
)

// Time is what repeated runs took.
type Time struct{ Median, Shortest time.Duration }

// measure runs f once to warm up and then again and again.
func measure(f func()) Time { return measureTogether(f)[0] }

// measureTogether measures several functions by running them in turns, so that what
// else the machine does meets them alike.
func measureTogether(functions ...func()) []Time {
	for _, f := range functions {
		f()
	}
	all := make([][]time.Duration, len(functions))
	for begun := time.Now(); len(all[0]) < measureRuns || time.Since(begun) < measureTime; {
		for i, f := range functions {
			one := time.Now()
			f()
			all[i] = append(all[i], time.Since(one))
		}
	}
	times := make([]Time, len(functions))
	for i, took := range all {
		slices.Sort(took)
		times[i] = Time{Median: took[len(took)/2], Shortest: took[0]}
	}
	return times
}
