package profile

import "math"

// top is how many of the largest logits are compared.
const top = 5

// Tally sums up how far logits are from those of float32 for the same inputs. It is for
// one goroutine. The zero value is empty.
type Tally struct {
	n, first int64
	shared   int64 // of the largest logits
	of       int64
	kl       float64 // sum
	worst    float64
}

// Add compares logits with those of float32, want; both are finite and of one length.
func (t *Tally) Add(want, got []float32) {
	t.n++
	var a, b [top]int
	wanted, found := largest(a[:], want), largest(b[:], got)
	if len(wanted) > 0 && wanted[0] == found[0] {
		t.first++
	}
	t.of += int64(len(wanted))
	for _, w := range wanted {
		for _, f := range found {
			if w == f {
				t.shared++
			}
		}
	}
	kl, zw, zg := 0.0, logSum(want), logSum(got)
	for i := range want {
		p := float64(want[i]) - zw
		kl += math.Exp(p) * (p - (float64(got[i]) - zg))
		t.worst = max(t.worst, math.Abs(float64(want[i])-float64(got[i])))
	}
	t.kl += max(0, kl) // below 0 by rounding alone
}

// Join adds another tally.
func (t *Tally) Join(o *Tally) {
	t.n += o.n
	t.first += o.first
	t.shared += o.shared
	t.of += o.of
	t.kl += o.kl
	t.worst = max(t.worst, o.worst)
}

// largest returns the ids of the largest logits, the largest first, as many as dst has
// room for. Of equal ones the lower id comes first.
func largest(dst []int, logits []float32) []int {
	n := 0
	for id, x := range logits {
		at := n
		for at > 0 && x > logits[dst[at-1]] {
			at--
		}
		if at == len(dst) {
			continue
		}
		n = min(n+1, len(dst))
		copy(dst[at+1:n], dst[at:n-1])
		dst[at] = id
	}
	return dst[:n]
}

// logSum is the logarithm of the sum of the exponentials.
func logSum(logits []float32) float64 {
	most := math.Inf(-1)
	for _, x := range logits {
		most = max(most, float64(x))
	}
	sum := 0.0
	for _, x := range logits {
		sum += math.Exp(float64(x) - most)
	}
	return most + math.Log(sum)
}

// Agreement is how far choices of codes are from those of float32.
type Agreement struct {
	Group   int     `json:"group"`   // whose code is chosen; -1 is all groups but 0
	Choices int64   `json:"choices"` // logits compared
	Top1    float64 `json:"top1"`    // share with the same likeliest code
	Top5    float64 `json:"top5"`    // share of the five likeliest codes that are the same
	KL      float64 `json:"kl_nats"` // mean of KL(float32 || tested)
	Worst   float64 `json:"largest_logit_difference"`
}

// AllGroups is the group of an agreement over all residual codes.
const AllGroups = -1

// Agreement puts the tally of a group into figures.
func (t *Tally) Agreement(group int) Agreement {
	a := Agreement{Group: group, Choices: t.n, Worst: t.worst}
	if t.n > 0 {
		a.Top1, a.KL = float64(t.first)/float64(t.n), t.kl/float64(t.n)
	}
	if t.of > 0 {
		a.Top5 = float64(t.shared) / float64(t.of)
	}
	return a
}

// SoundTally sums up how far samples are from those of float32 for the same codes.
type SoundTally struct {
	frames        int64
	signal, noise float64 // sums of squares
	worst         float64
}

// Add compares the samples of a frame with those of float32, want.
func (t *SoundTally) Add(want, got []float32) {
	t.frames++
	for i := range want {
		w, d := float64(want[i]), float64(want[i])-float64(got[i])
		t.signal += w * w
		t.noise += d * d
		t.worst = max(t.worst, math.Abs(d))
	}
}

// Sound is how far samples are from those of float32.
type Sound struct {
	Frames int64 `json:"frames"`
	// SNR is the signal-to-noise ratio in dB; nil if there is no noise, or no signal.
	SNR   *float64 `json:"snr_db"`
	Exact bool     `json:"exact"` // every sample is the same
	Worst float64  `json:"largest_difference"`
}

// Sound puts the tally into figures.
func (t *SoundTally) Sound() Sound {
	s := Sound{Frames: t.frames, Exact: t.frames > 0 && t.noise == 0, Worst: t.worst}
	if t.noise > 0 && t.signal > 0 {
		s.SNR = new(10 * math.Log10(t.signal/t.noise))
	}
	return s
}

// Parity compares a model with its float32 twin, which was given the same inputs in
// every frame: the same prompt rows, and the tested model's codes.
type Parity struct {
	Frames int64     `json:"frames"`
	Talker Agreement `json:"code0"` // codes and the end token, also where the end was chosen

	// Residual is over all residual codes: the float32 predictor is given the tested
	// talker's hidden state, so that it is the predictor alone that is compared.
	Residual Agreement   `json:"residual"`
	Groups   []Agreement `json:"residual_groups"`

	// EndToEnd is the same with the float32 talker's own hidden state.
	EndToEnd       Agreement   `json:"residual_end_to_end"`
	EndToEndGroups []Agreement `json:"residual_end_to_end_groups"`

	Codec Sound `json:"codec"` // of the same codes
}
