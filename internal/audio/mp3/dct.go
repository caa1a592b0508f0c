package mp3

import "math"

// secants holds 1 / (2 cos(π(2k+1)/4h)) at h+k, for k below h and h = 1, 2, 4, 8, 16.
var secants = func() (t [32]float64) {
	for h := 1; h < 32; h *= 2 {
		for k := range h {
			t[h+k] = 1 / (2 * math.Cos(math.Pi*float64(2*k+1)/float64(4*h)))
		}
	}
	return t
}()

// dct replaces x, of n = 1, 2, 4 … 32 values, by sums over i of
// x[i] cos(π(2k+1)i/2n), for k below n; tmp is scratch of n values. Even and odd
// terms are two sums of half the size (Lee 1984).
func dct(x, tmp []float64) {
	n := len(x)
	if n == 1 {
		return
	}
	h := n / 2
	even, odd := tmp[:h], tmp[h:n]
	even[0], odd[0] = x[0], x[1]
	for i := 1; i < h; i++ {
		even[i] = x[2*i]
		odd[i] = x[2*i+1] + x[2*i-1]
	}
	dct(even, x[:h])
	dct(odd, x[h:])
	for k, a := range even {
		b := odd[k] * secants[h+k]
		x[k], x[n-1-k] = a+b, a-b
	}
}

// cosines18 and cosines6 hold cos(π/n (i+½)(k+½)) at [k][i]: DCT-IV of n values.
var (
	cosines18 = func() (t [18][18]float64) {
		for k := range t {
			for i := range t[k] {
				t[k][i] = math.Cos(math.Pi / 18 * (float64(i) + 0.5) * (float64(k) + 0.5))
			}
		}
		return t
	}()
	cosines6 = func() (t [6][6]float64) {
		for k := range t {
			for i := range t[k] {
				t[k][i] = math.Cos(math.Pi / 6 * (float64(i) + 0.5) * (float64(k) + 0.5))
			}
		}
		return t
	}()
)
