package quant

import (
	"math"
	"sync"

	"github.com/mynah-tts/mynah/internal/kernel"
)

// momentBlock is the number of neighbouring inputs whose products are kept. Blocks of
// 128 gave what those of 256 and all inputs together gave, and cost less.
const momentBlock = 128

// Moments are sums of products of a matrix's inputs, over rows that it is likely to
// see: how strong each input is, and which go together, within blocks of neighbours.
// By them PackInt4 chooses codes whose errors cancel in the outputs.
type Moments struct {
	k      int
	blocks [][]float32 // [size, size] each, symmetric

	once sync.Once
	back []feedback
}

// NewMoments returns those of no rows of k inputs.
func NewMoments(k int) *Moments {
	m := &Moments{k: k}
	for from := 0; from < k; from += momentBlock {
		size := min(momentBlock, k-from)
		m.blocks = append(m.blocks, make([]float32, size*size))
	}
	return m
}

// Add adds rows x [rows, k]. The sums are those of adding one row after the other,
// however many processors share them.
func (m *Moments) Add(x []float32, rows int) {
	parallel(len(m.blocks), func(first, last int) {
		for b := first; b < last; b++ {
			from := b * momentBlock
			size := min(momentBlock, m.k-from)
			for r := range rows {
				part := x[r*m.k+from:][:size]
				for i, v := range part {
					kernel.AxpyF32(m.blocks[b][i*size:(i+1)*size], v, part)
				}
			}
		}
	})
}

// energy is the sum over the rows of the squared product of w [k] with the inputs, as
// if blocks had nothing to do with one another. scratch holds momentBlock values.
func (m *Moments) energy(w, scratch []float32) (sum float64) {
	for b, block := range m.blocks {
		part := w[b*momentBlock : min((b+1)*momentBlock, m.k)]
		products := scratch[:len(part)]
		clear(products)
		for i, v := range part {
			kernel.AxpyF32(products, v, block[i*len(part):(i+1)*len(part)])
		}
		sum += float64(kernel.DotF32(products, part))
	}
	return sum
}

// damping is the share of itself that is added to each input's own moment: what the
// rows do not tell. Without it codes would follow the accidents of the rows.
const damping = 0.1

// feedback is how the errors of a block of n inputs are made up for. With V the upper
// triangular matrix for which V'V is the inverse of the damped moments, an error of
// weight i is made up for best by taking V[i,j] / V[i,i] of it from each weight j
// behind it. The zero value, for a block that tells nothing, is n zeros.
type feedback struct {
	lower   []float32 // [n, n]: V', zero on the diagonal
	inverse []float32 // [n]: of V's diagonal
}

// feedback returns that of all blocks.
func (m *Moments) feedback() []feedback {
	m.once.Do(func() {
		m.back = make([]feedback, len(m.blocks))
		parallel(len(m.blocks), func(first, last int) {
			for b := first; b < last; b++ {
				m.back[b] = feedbackOf(m.blocks[b], min(momentBlock, m.k-b*momentBlock))
			}
		})
	})
	return m.back
}

// feedbackOf leaves the errors of a block whose inputs were all zero, or not finite, as
// they are.
func feedbackOf(block []float32, n int) feedback {
	f := feedback{lower: make([]float32, n*n), inverse: make([]float32, n)}
	mean := 0.0
	for i := range n {
		mean += float64(block[i*n+i]) / float64(n)
	}
	if mean == 0 || kernel.FirstNonFinite(block) >= 0 {
		return f
	}
	// With the inputs in reverse order, L of the moments LL', inverted and reversed again,
	// is V.
	damped := make([]float64, n*n)
	for i, v := range block {
		damped[len(block)-1-i] = float64(v)
	}
	for i := range n {
		damped[i*n+i] += damping*damped[i*n+i] + 1e-4*mean // inputs that are always zero have a moment too
	}
	columns := invertLower(cholesky(damped, n), n)
	for i := range n {
		f.inverse[i] = float32(1 / columns[(n-1-i)*n+n-1-i])
		for j := range i {
			f.lower[i*n+j] = float32(columns[(n-1-i)*n+n-1-j])
		}
	}
	return f
}

// cholesky returns the lower triangular L with LL' = a [n, n], symmetric.
func cholesky(a []float64, n int) []float64 {
	l := make([]float64, n*n)
	for i := range n {
		row := l[i*n : i*n+i+1]
		for j := range i + 1 {
			s := a[i*n+j]
			for p, v := range l[j*n : j*n+j] {
				s -= row[p] * v
			}
			if i == j {
				row[i] = math.Sqrt(s)
			} else {
				row[j] = s / l[j*n+j]
			}
		}
	}
	return l
}

// invertLower returns the inverse of a lower triangular matrix [n, n], transposed.
func invertLower(l []float64, n int) []float64 {
	columns := make([]float64, n*n)
	for j := range n {
		column := columns[j*n : (j+1)*n]
		column[j] = 1 / l[j*n+j]
		for i := j + 1; i < n; i++ {
			s := 0.0
			for p, v := range l[i*n+j : i*n+i] {
				s -= v * column[j+p]
			}
			column[i] = s / l[i*n+i]
		}
	}
	return columns
}
