package audio

import (
	"math"

	"github.com/mewkiz/flac/frame"
)

const (
	// maxOrder is the longest predictor that the streamable subset allows up to
	// 48,000 Hz.
	maxOrder = 12
	// coeffBits is the precision of its coefficients: 12 products of 16 and 12 bits
	// still add up within 32, so that the simplest decoders get them right.
	coeffBits = 12
	// maxPartOrder bounds the partitions of a block, 2^8, as the subset does.
	maxPartOrder = 8
	// riceParams is the number of parameters of the first residual coding.
	riceParams = 15
)

// predictor chooses how the samples of a block are predicted and what is left over is
// coded: whatever takes the fewest bits of a constant, the fixed polynomials, linear
// prediction of one order, and the samples as they are.
type predictor struct {
	windowed  []float64
	residuals []int32
	sums      [][riceParams]int // [partitions] of the finest division
}

// fit returns the choice for a block of 16-bit samples.
func (p *predictor) fit(block []int32) frame.SubHeader {
	if constant(block) {
		return frame.SubHeader{Pred: frame.PredConstant}
	}
	best, fewest := frame.SubHeader{Pred: frame.PredVerbatim}, 16*len(block)
	try := func(h frame.SubHeader, coeffs []int32, overhead int) {
		if !p.predict(block, coeffs, h.CoeffShift) {
			return
		}
		rice, bits := p.partition(len(block), h.Order)
		if bits += overhead + 16*h.Order; bits < fewest {
			h.ResidualCodingMethod, h.RiceSubframe = frame.ResidualCodingMethodRice1, rice
			best, fewest = h, bits
		}
	}
	order := fixedOrder(block)
	try(frame.SubHeader{Pred: frame.PredFixed, Order: order}, frame.FixedCoeffs[order], 0)
	if coeffs, shift := p.linear(block); coeffs != nil {
		try(frame.SubHeader{Pred: frame.PredFIR, Order: len(coeffs), CoeffPrec: coeffBits, CoeffShift: shift, Coeffs: coeffs},
			coeffs, 9+coeffBits*len(coeffs))
	}
	return best
}

func constant(block []int32) bool {
	for _, x := range block {
		if x != block[0] {
			return false
		}
	}
	return true
}

// fixedOrder is the order of the polynomial that leaves the least: each is the
// difference of what the one before it leaves.
func fixedOrder(block []int32) int {
	var last [5]int64
	var sums [5]int64
	for i, x := range block {
		v := int64(x)
		for order := range last {
			if i >= len(last) {
				sums[order] += max(v, -v)
			}
			v, last[order] = v-last[order], v
		}
	}
	best := 0
	for order := range sums {
		if sums[order] < sums[best] && len(block) > len(last) {
			best = order
		}
	}
	return best
}

// predict computes what a predictor leaves. It reports false if that is too much for
// 32 bits.
func (p *predictor) predict(block, coeffs []int32, shift int32) bool {
	p.residuals = p.residuals[:0]
	for i := len(coeffs); i < len(block); i++ {
		sum := int64(0)
		for j, c := range coeffs {
			sum += int64(c) * int64(block[i-1-j])
		}
		left := int64(block[i]) - sum>>shift
		if left > math.MaxInt32/2 || left < -math.MaxInt32/2 {
			return false
		}
		p.residuals = append(p.residuals, int32(left))
	}
	return true
}

// partition divides what is left of a block of size samples by a predictor of the
// given order, such that the fewest bits are needed: 2^order parts of equal size (but
// for the samples that the first one lacks), each with its own parameter.
func (p *predictor) partition(size, order int) (*frame.RiceSubframe, int) {
	parts := 0
	for parts < maxPartOrder && size>>(parts+1)<<(parts+1) == size && size>>(parts+1) > order {
		parts++
	}
	p.measure(size, order, parts)
	best, fewest := (*frame.RiceSubframe)(nil), math.MaxInt
	for ; parts >= 0; parts-- {
		rice, bits := p.choose(parts)
		if bits < fewest {
			best, fewest = rice, bits
		}
		p.merge(parts)
	}
	return best, fewest
}

// measure computes the bits of each of 2^parts parts for each parameter.
func (p *predictor) measure(size, order, parts int) {
	p.sums = p.sums[:0]
	rest := p.residuals
	for part := range 1 << parts {
		n := size >> parts
		if part == 0 {
			n -= order
		}
		var bits [riceParams]int
		for _, r := range rest[:n] {
			folded := uint32(r<<1) ^ uint32(r>>31)
			for k := range bits {
				bits[k] += int(folded >> k)
			}
		}
		for k := range bits {
			bits[k] += n * (k + 1)
		}
		p.sums = append(p.sums, bits)
		rest = rest[n:]
	}
}

// choose returns the best parameters of 2^parts parts.
func (p *predictor) choose(parts int) (*frame.RiceSubframe, int) {
	rice := &frame.RiceSubframe{PartOrder: parts, Partitions: make([]frame.RicePartition, 1<<parts)}
	total := 6
	for i := range rice.Partitions {
		bits, best := &p.sums[i], 0
		for k := range bits {
			if bits[k] < bits[best] {
				best = k
			}
		}
		rice.Partitions[i].Param = uint(best)
		total += 4 + bits[best]
	}
	return rice, total
}

// merge joins pairs of parts.
func (p *predictor) merge(parts int) {
	for i := range 1 << parts / 2 {
		for k := range p.sums[i] {
			p.sums[i][k] = p.sums[2*i][k] + p.sums[2*i+1][k]
		}
	}
}

// linear returns the coefficients of a linear predictor of the best order and how far
// its sum is shifted, or nil where none can help.
func (p *predictor) linear(block []int32) (coeffs []int32, shift int32) {
	if len(block) <= 2*maxOrder {
		return nil, 0
	}
	correlation := p.autocorrelation(block)
	if correlation[0] <= 0 {
		return nil, 0
	}
	var a [maxOrder]float64
	var best []float64
	power, fewest := correlation[0], math.Inf(1)
	for order := range maxOrder {
		// Levinson and Durbin: the predictor of one more sample.
		next := correlation[order+1]
		for j := range order {
			next -= a[j] * correlation[order-j]
		}
		k := next / power
		for j := range order / 2 {
			a[j], a[order-1-j] = a[j]-k*a[order-1-j], a[order-1-j]-k*a[j]
		}
		if order%2 == 1 {
			a[order/2] -= k * a[order/2]
		}
		a[order] = k
		if power *= 1 - k*k; !(power > 0) {
			break
		}
		bits := 0.5*math.Log2(power/correlation[0])*float64(len(block)) + float64((order+1)*(coeffBits+16))
		if bits < fewest {
			fewest, best = bits, append(best[:0], a[:order+1]...)
		}
	}
	return quantize(best)
}

// autocorrelation returns the sums of products of the block, faded at its ends, with
// itself, up to maxOrder samples apart.
func (p *predictor) autocorrelation(block []int32) (sums [maxOrder + 1]float64) {
	p.windowed = p.windowed[:0]
	edge := len(block) / 4
	for i, x := range block {
		v := float64(x)
		if end := min(i, len(block)-1-i); end < edge {
			v *= 0.5 - 0.5*math.Cos(math.Pi*(float64(end)+0.5)/float64(edge))
		}
		p.windowed = append(p.windowed, v)
	}
	for lag := range sums {
		sum := 0.0
		for i, v := range p.windowed[lag:] {
			sum += v * p.windowed[i]
		}
		sums[lag] = sum
	}
	return sums
}

// quantize returns coefficients as integers of coeffBits bits, to be shifted. What is
// lost by rounding one goes to the next.
func quantize(a []float64) (coeffs []int32, shift int32) {
	most := 0.0
	for _, v := range a {
		most = max(most, math.Abs(v))
	}
	if most == 0 {
		return nil, 0
	}
	_, exponent := math.Frexp(most)
	shift = int32(min(coeffBits-1-exponent, 15))
	if shift < 0 {
		return nil, 0
	}
	lost := 0.0
	const limit = 1 << (coeffBits - 1)
	for _, v := range a {
		lost += math.Ldexp(v, int(shift))
		c := max(-limit, min(limit-1, math.RoundToEven(lost)))
		lost -= c
		coeffs = append(coeffs, int32(c))
	}
	return coeffs, shift
}
