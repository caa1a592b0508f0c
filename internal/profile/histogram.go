package profile

import (
	"math"
	"math/bits"
)

// A bucket is at most 1/64 as wide as the durations that it holds, so a percentile,
// the middle of its bucket, is off by less than 0.8 %.
const (
	subBits = 6
	sub     = 1 << subBits
	octaves = 32                  // up to 2^37 ns, over two minutes
	buckets = (octaves + 1) * sub // below 64 ns each nanosecond has its own
)

// Histogram counts durations in nanoseconds. Its size is constant, and adding to it
// allocates nothing.
type Histogram struct {
	counts   [buckets]uint32
	n        int64
	sum      int64
	min, max int64
}

// Add counts one duration; a negative one counts as 0.
func (h *Histogram) Add(ns int64) {
	ns = max(ns, 0)
	if h.n == 0 || ns < h.min {
		h.min = ns
	}
	h.max = max(h.max, ns)
	h.counts[bucket(ns)]++
	h.n++
	h.sum += ns
}

// join adds the durations of another histogram.
func (h *Histogram) join(o *Histogram) {
	if o.n == 0 {
		return
	}
	if h.n == 0 || o.min < h.min {
		h.min = o.min
	}
	h.max = max(h.max, o.max)
	for i, c := range o.counts {
		h.counts[i] += c
	}
	h.n += o.n
	h.sum += o.sum
}

// bucket is where a duration is counted.
func bucket(ns int64) int {
	if ns < sub {
		return int(ns)
	}
	shift := bits.Len64(uint64(ns)) - 1 - subBits
	return min(shift*sub+int(ns>>shift), buckets-1)
}

// middle is the duration that stands for a bucket.
func middle(bucket int) int64 {
	if bucket < 2*sub {
		return int64(bucket)
	}
	shift := bucket/sub - 1
	low := int64(bucket-shift*sub) << shift
	return low + int64(1)<<shift/2
}

// Quantile returns the smallest duration that is at least as long as the share q of
// all, 0 if there is none. Shortest and longest are exact.
func (h *Histogram) Quantile(q float64) int64 {
	rank := max(1, int64(math.Ceil(q*float64(h.n))))
	switch {
	case h.n == 0:
		return 0
	case rank == 1:
		return h.min
	case rank >= h.n:
		return h.max
	}
	for i, c := range h.counts {
		if rank -= int64(c); rank <= 0 {
			return min(max(middle(i), h.min), h.max)
		}
	}
	return h.max
}

// Mean returns the exact mean, 0 if there is nothing.
func (h *Histogram) Mean() float64 {
	if h.n == 0 {
		return 0
	}
	return float64(h.sum) / float64(h.n)
}
