package audio

import (
	"fmt"
	"math"
)

// Stretch changes the speed of one mono stream and keeps its pitch, piece by piece:
// waveform-similarity overlap-add. The output is made of pieces of the input, each 10
// ms of it a cross-fade from where the last piece goes on to where the next begins;
// that place lies up to 10 ms from where the speed puts it, where the two waveforms
// agree best. n samples in give round(n / speed) out, the same ones however the input
// was cut.
//
// The first 10 ms come out after at most 60 ms of input, and what comes out is never
// further behind its input than that.
type Stretch struct {
	speed float64
	fade  []float32 // [hop] the weight of the next piece in a cross-fade
	hop   int       // samples of a cross-fade, and the most that a piece is off its place
	step  int       // of the coarse search, in samples

	input  []float32 // the samples that are still needed, from number begin on
	smooth []float32 // the mean of each input sample and the step-1 that follow it
	begin  int64
	given  int64 // samples in
	from   int64 // where the last piece goes on
	hops   int64 // cross-fades made
}

const (
	// hopsPerSecond makes a hop of 10 ms: a search of 10 ms either way finds the next
	// period of a voice down to 50 Hz.
	hopsPerSecond = 100

	// stretchHops is the input that is held, in hops: 3 that a piece reaches forwards
	// with its search, up to 4 to where the last one went on, up to 1 backwards, and
	// room for input to come.
	stretchHops = 12

	// coarseRate is what the search goes down to for its first look: voices have what
	// tells a period below 3,000 Hz.
	coarseRate = 6000
)

// CheckSpeed refuses speeds but 0.25 to 4.
func CheckSpeed(speed float64) error {
	if !(speed >= minSpeed && speed <= maxSpeed) {
		return fmt.Errorf("audio: speed %v, allowed is %v to %v", speed, minSpeed, maxSpeed)
	}
	return nil
}

// NewStretch returns a stretch of a stream of rate Hz (8,000 to 192,000) that makes it
// speed times as fast (0.25 to 4). At speed 1 the samples pass unchanged.
func NewStretch(rate int, speed float64) (*Stretch, error) {
	if err := CheckSpeed(speed); err != nil {
		return nil, err
	}
	if rate < minResampled || rate > maxResampled {
		return nil, fmt.Errorf("audio: stretching at %d Hz, allowed is %d to %d", rate, minResampled, maxResampled)
	}
	s := &Stretch{speed: speed, hop: rate / hopsPerSecond, step: max(1, rate/coarseRate)}
	if speed == 1 {
		return s, nil
	}
	s.fade = make([]float32, s.hop)
	for i := range s.fade {
		s.fade[i] = float32(0.5 - 0.5*math.Cos(math.Pi*float64(i)/float64(s.hop)))
	}
	s.input = make([]float32, 0, stretchHops*s.hop)
	s.smooth = make([]float32, 0, stretchHops*s.hop)
	return s, nil
}

// Write takes samples and appends those that are settled to dst. It allocates nothing
// if dst has room.
func (s *Stretch) Write(dst, src []float32) []float32 {
	if s.speed == 1 {
		return append(dst, src...)
	}
	for len(src) > 0 {
		n := min(len(src), cap(s.input)-len(s.input))
		s.take(src[:n])
		s.given += int64(n)
		src = src[n:]
		for s.ideal(s.hops)+int64(3*s.hop) <= s.given && s.from+int64(2*s.hop) <= s.given {
			at := s.ideal(s.hops)
			dst = s.piece(dst, s.hop, max(0, at-int64(s.hop)), at, at+int64(s.hop))
		}
		s.compact()
	}
	return dst
}

// Flush ends the stream and appends the rest of it to dst. The stretch then begins
// another.
func (s *Stretch) Flush(dst []float32) []float32 {
	if s.speed == 1 {
		return dst
	}
	total := int64(math.Round(float64(s.given) / s.speed))
	for made := s.hops * int64(s.hop); made < total; made += int64(s.hop) {
		// All of a piece is input, and one that is heard at the end ends where it does.
		left := total - made
		last := s.given - min(left, int64(2*s.hop))
		at := max(s.held(), min(s.ideal(s.hops), last))
		low, high := max(s.held(), at-int64(s.hop)), min(at+int64(s.hop), last)
		if left <= int64(2*s.hop) {
			at = max(s.held(), last)
			low, high = at, at
		}
		s.pad(max(at, s.from) + int64(2*s.hop))
		dst = s.piece(dst, int(min(left, int64(s.hop))), low, at, high)
		s.compact()
	}
	s.input, s.smooth = s.input[:0], s.smooth[:0]
	s.begin, s.given, s.from, s.hops = 0, 0, 0, 0
	return dst
}

// ideal is where in the input piece k should begin: output sample m is input sample
// m * speed in the middle of a piece, which is the end of its fade-in.
func (s *Stretch) ideal(k int64) int64 {
	return max(0, int64(math.Round(float64((k+1)*int64(s.hop))*s.speed))-int64(s.hop))
}

// take appends input.
func (s *Stretch) take(src []float32) {
	s.input = append(s.input, src...)
	// The mean is of the samples themselves, not of a running sum, which would depend
	// on all that went before.
	for i := len(s.smooth); i+s.step <= len(s.input); i++ {
		sum := float32(0)
		for _, x := range s.input[i : i+s.step] {
			sum += x
		}
		s.smooth = append(s.smooth, sum)
	}
}

// pad appends silence until there is input up to sample end and what the search may
// look at behind it.
func (s *Stretch) pad(end int64) {
	end += int64(s.hop)
	for s.begin+int64(len(s.input)) < end {
		s.take(silence[:min(int64(len(silence)), end-s.begin-int64(len(s.input)))])
	}
}

var silence [256]float32

// held is the first input sample that the pieces to come may need.
func (s *Stretch) held() int64 { return min(s.from, max(0, s.ideal(s.hops)-int64(s.hop))) }

// compact drops the input that no further piece reaches.
func (s *Stretch) compact() {
	done := int(min(s.held()-s.begin, int64(len(s.smooth))))
	if done <= 0 {
		return
	}
	s.input = s.input[:copy(s.input, s.input[done:])]
	s.smooth = s.smooth[:copy(s.smooth, s.smooth[done:])]
	s.begin += int64(done)
}

// piece begins the next piece somewhere in low to high, at best where the last one
// goes on, and appends n samples of the cross-fade to it.
func (s *Stretch) piece(dst []float32, n int, low, ideal, high int64) []float32 {
	next, likeness := s.search(low, ideal, high)
	old := s.input[s.from-s.begin:][:s.hop]
	goesOn := next == s.from
	s.from = next + int64(s.hop)
	s.hops++
	if goesOn {
		return append(dst, old[:n]...)
	}
	from := s.input[next-s.begin:][:s.hop]
	for i := range n {
		in, out := float64(s.fade[i]), 1-float64(s.fade[i])
		// Two sounds that are not alike would be up to 3 dB weaker in the middle.
		gain := 1 / math.Sqrt(in*in+out*out+2*likeness*in*out)
		dst = append(dst, float32(gain*(out*float64(old[i])+in*float64(from[i]))))
	}
	return dst
}
