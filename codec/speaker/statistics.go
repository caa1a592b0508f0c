package speaker

import (
	"math"

	"github.com/mynah-tts/mynah/internal/kernel"
	"github.com/mynah-tts/mynah/internal/team"
)

// varianceFloor is the least variance over time.
const varianceFloor = 1e-12

// Costs of a value in multiply-adds, roughly.
const (
	momentMACs  = 4
	softmaxMACs = 80
)

// momentsJob computes mean and deviation over time of every channel. Workers share out channels; sums run in float64 in the order
// of time.
type momentsJob struct {
	x         []float32 // [rows, width]
	width     int
	mean, dev []float64 // [width]; dev may be nil
}

func (j *momentsJob) Part(worker, workers int) {
	lo, hi := team.Split(j.width, kernel.PanelWidth, worker, workers)
	rows := len(j.x) / j.width
	mean := j.mean[lo:hi]
	clear(mean)
	for r := range rows {
		for i, v := range j.x[r*j.width+lo : r*j.width+hi] {
			mean[i] += float64(v)
		}
	}
	for i := range mean {
		mean[i] /= float64(rows)
	}
	if j.dev == nil {
		return
	}
	dev := j.dev[lo:hi]
	clear(dev)
	for r := range rows {
		for i, v := range j.x[r*j.width+lo : r*j.width+hi] {
			d := float64(v) - mean[i]
			dev[i] += d * d
		}
	}
	for i := range dev {
		dev[i] = math.Sqrt(max(dev[i]/float64(rows), varianceFloor))
	}
}

// poolJob weights the rows of every channel by softmax over time of its scores, and computes mean and deviation of x under these
// weights. Workers share out channels; sums run in float64 in the order of time.
type poolJob struct {
	x, scores []float32 // [rows, width]; the scores are overwritten
	width     int
	lo, hi    int          // the channels to be done
	dst       []float32    // [2*width]: means, then deviations
	scratch   [4][]float64 // [width] each
}

func (j *poolJob) Part(worker, workers int) {
	lo, hi := team.Split(j.hi-j.lo, kernel.PanelWidth, worker, workers)
	lo, hi = j.lo+lo, j.lo+hi
	rows := len(j.x) / j.width
	most, total, mean, square := j.scratch[0][lo:hi], j.scratch[1][lo:hi], j.scratch[2][lo:hi], j.scratch[3][lo:hi]
	for i := range most {
		most[i] = math.Inf(-1)
	}
	clear(total)
	clear(mean)
	clear(square)
	for r := range rows {
		for i, v := range j.scores[r*j.width+lo : r*j.width+hi] {
			most[i] = max(most[i], float64(v))
		}
	}
	for r := range rows {
		x, scores := j.x[r*j.width+lo:r*j.width+hi], j.scores[r*j.width+lo:r*j.width+hi]
		for i, v := range scores {
			p := math.Exp(float64(v) - most[i])
			scores[i] = float32(p)
			total[i] += p
			mean[i] += p * float64(x[i])
		}
	}
	for i := range mean {
		mean[i] /= total[i]
	}
	for r := range rows {
		x, scores := j.x[r*j.width+lo:r*j.width+hi], j.scores[r*j.width+lo:r*j.width+hi]
		for i, p := range scores {
			d := float64(x[i]) - mean[i]
			square[i] += float64(p) * d * d
		}
	}
	for i := range mean {
		j.dst[lo+i] = float32(mean[i])
		j.dst[j.width+lo+i] = float32(math.Sqrt(max(square[i]/total[i], varianceFloor)))
	}
}
