package bench

import (
	"github.com/mynah-tts/mynah/internal/kernel"
	"github.com/mynah-tts/mynah/internal/team"
)

// Machine is what the machine can do with all workers of a team.
type Machine struct {
	// Reads is the speed of reading so much memory over and over, largest first. A
	// part of the smaller sizes stays in a large cache.
	Reads []Read `json:"reads"`
	// Peak is float32 multiply-adds by cached weights, a billion a second, through
	// the convolution kernel.
	Peak float64 `json:"peak_gmac_per_s"`
	// PeakInt4 is the same of 4-bit weights by 8-bit activations, through the kernel of
	// many rows.
	PeakInt4 float64 `json:"peak_int4_gmac_per_s"`
}

// Read is the speed of reading memory of one size, in GB/s: the best of several runs.
type Read struct {
	Bytes int     `json:"bytes"`
	GBs   float64 `json:"gb_per_s"`
}

// readSizes are about what the talker and the predictor read in a step, at 4 and 8
// bits, and the predictor at 4.
var readSizes = []int{250e6, 80e6, 40e6}

// measureMachine reads parts of memory that is as large as the largest size.
func measureMachine(tm *team.Team, memory []float32) Machine {
	m := Machine{Peak: measurePeak(tm), PeakInt4: measurePeakInt4(tm)}
	for _, size := range readSizes {
		j := newReadJob(memory[:size/4])
		shortest := measure(func() { tm.Run(j) }).Shortest
		m.Reads = append(m.Reads, Read{Bytes: size, GBs: float64(size) / float64(shortest)})
	}
	return m
}

// Read returns the speed at which so many bytes can be read: that of the smallest
// size measured that is no smaller, give or take a tenth.
func (m *Machine) Read(bytes int64) float64 {
	speed := 0.0
	for _, r := range m.Reads {
		if speed == 0 || float64(r.Bytes)*1.1 >= float64(bytes) {
			speed = r.GBs
		}
	}
	return speed
}

// fill writes small numbers, so that every page is there and none is denormal.
func fill(x []float32) {
	for i := range x {
		x[i] = float32(i%31-15) / 1024
	}
}

const readWidth = 1024 // float32 in a row

// readJob multiplies one row by all of the memory. It is the plainest kernel over
// weights, and waits for nothing but them.
type readJob struct{ memory, x, sums []float32 }

func newReadJob(memory []float32) *readJob {
	return &readJob{memory: memory, x: make([]float32, readWidth), sums: make([]float32, len(memory)/readWidth)}
}

func (j *readJob) Part(worker, workers int) {
	lo, hi := team.Split(len(j.sums), kernel.PanelWidth, worker, workers)
	kernel.MatMulF32(j.sums[lo:], len(j.sums), j.x, readWidth, j.memory[lo*readWidth:hi*readWidth], 1, readWidth, hi-lo)
}

// The convolution whose weights, input and output stay in the first cache.
const (
	peakRows, peakIn, peakOuts = 24, 128, 32
	peakRepeat                 = 400
)

// peakJob multiplies what is in a worker's own cache.
type peakJob struct{ x, panels, dst [][]float32 }

func (j *peakJob) Part(worker, _ int) {
	for range peakRepeat {
		kernel.ConvF32(j.dst[worker], peakOuts, j.x[worker], peakIn, 1, 0, peakIn, j.panels[worker], nil, peakRows, peakOuts)
	}
}

func measurePeak(tm *team.Team) float64 {
	j := &peakJob{}
	for range tm.Workers() {
		x, w := make([]float32, peakRows*peakIn), make([]float32, peakOuts*peakIn)
		fill(x)
		fill(w)
		j.x, j.panels, j.dst = append(j.x, x), append(j.panels, kernel.PackPanels(w, peakOuts, peakIn)), append(j.dst, make([]float32, peakRows*peakOuts))
	}
	macs := float64(peakRows*peakIn*peakOuts) * peakRepeat * float64(tm.Workers())
	return macs / float64(measure(func() { tm.Run(j) }).Shortest)
}

// The product whose weights and activations stay in the first caches.
const (
	peak4Rows, peak4In, peak4Outs, peak4Group = 16, 512, 64, 64
	peak4Repeat                               = 100
)

// peakInt4Job multiplies rows of each worker's own by one matrix, which all only read.
type peakInt4Job struct {
	w     *kernel.Int4
	x     []int8
	scale []float32
	sum   []int32
	dst   [][]float32
}

func (j *peakInt4Job) Part(worker, _ int) {
	for range peak4Repeat {
		kernel.MatMulInt4A8(j.dst[worker], peak4Outs, j.x, j.scale, j.sum, j.w, peak4Rows, peak4Outs)
	}
}

func measurePeakInt4(tm *team.Team) float64 {
	const groups = peak4In / peak4Group
	j := &peakInt4Job{
		w: kernel.NewInt4(peak4Outs, peak4In, peak4Group), x: make([]int8, peak4Rows*peak4In),
		scale: make([]float32, peak4Rows*groups), sum: make([]int32, peak4Rows*groups),
	}
	for range tm.Workers() {
		j.dst = append(j.dst, make([]float32, peak4Rows*peak4Outs))
	}
	macs := float64(peak4Rows*peak4In*peak4Outs) * peak4Repeat * float64(tm.Workers())
	return macs / float64(measure(func() { tm.Run(j) }).Shortest)
}
