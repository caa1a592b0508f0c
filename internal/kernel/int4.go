package kernel

// Int4Block is the number of inputs of one output that share a 32-bit lane of a packed int4 matrix. Group sizes are its multiples.
const Int4Block = 8

// Int4K returns how many inputs a packed int4 matrix holds: k rounded up to whole groups.
func Int4K(k, group int) int { return (k + group - 1) / group * group }

// Int4 is a matrix of 4-bit weights in groups along the inputs. Code q of a group stands for (q - zero) * scale.
//
// Codes are packed in panels of 16 outputs, [ceil(outs/16), Int4K/8, 16] lanes of 32 bits: nibble n of a lane (from the low end) holds
// input 2n of the block for n < 4, and input 2(n-4)+1 for n >= 4. So (lane >> 4n) & 0x000F000F is a pair of neighbouring inputs
// as 16-bit numbers, and (lane >> 4n) & 0x0F0F0F0F, n < 2, are four inputs as bytes, in the order of QuantizeI8.
type Int4 struct {
	K, Outs, Group int
	Codes          []uint32  // [panels, Int4K/8, 16]
	Scale          []float32 // [panels, groups, 16]
	Zero           []uint8   // [panels, groups, 16], 0..15
}

// Panel returns the panels from output o, a multiple of the panel width, to the end.
func (w *Int4) Panel(o int) Int4 {
	p, kp := o/PanelWidth, Int4K(w.K, w.Group)
	groups := kp / w.Group
	return Int4{
		K: w.K, Outs: w.Outs - o, Group: w.Group, Codes: w.Codes[p*kp/Int4Block*PanelWidth:],
		Scale: w.Scale[p*groups*PanelWidth:], Zero: w.Zero[p*groups*PanelWidth:],
	}
}

// MatMulInt4A16 multiplies rows of 16-bit activations by the first outs outputs of an int4 matrix:
//
//	dst[r*ldd+o] = sum over groups g of float32(sum over i in g of x[r,i] * (q[o,i] - zero[o,g])) * (scale[r,g] * wScale[o,g])
//
// Inner sums are exact in 32 bits; the outer one goes in order of the groups, every operation rounded, so all levels give the same
// bits. x is [rows, Int4K] with scale and sum [rows, groups], as QuantizeI16 makes them.
func MatMulInt4A16(dst []float32, ldd int, x []int16, scale []float32, sum []int32, w *Int4, rows, outs int) {
	checkInt4("MatMulInt4A16", len(dst), ldd, len(x), len(scale), len(sum), w, rows, outs)
	if rows == 0 || outs == 0 {
		return
	}
	matMulInt4A16(dst, ldd, x, scale, sum, w, rows, outs)
}

// MatMulInt4A8 is MatMulInt4A16 over 8-bit activations as QuantizeI8 makes them.
func MatMulInt4A8(dst []float32, ldd int, x []int8, scale []float32, sum []int32, w *Int4, rows, outs int) {
	checkInt4("MatMulInt4A8", len(dst), ldd, len(x), len(scale), len(sum), w, rows, outs)
	if rows == 0 || outs == 0 {
		return
	}
	matMulInt4A8(dst, ldd, x, scale, sum, w, rows, outs)
}

func checkInt4(kernel string, dst, ldd, x, scale, sum int, w *Int4, rows, outs int) {
	if w.Group <= 0 || w.Group%Int4Block != 0 || w.Group > MaxGroup || outs > w.Outs {
		panic("kernel: " + kernel + ": group size or outputs do not fit the matrix")
	}
	kp := Int4K(w.K, w.Group)
	groups, panels := kp/w.Group, (outs+PanelWidth-1)/PanelWidth
	mustHold(kernel, "x", x, rows, kp, kp)
	mustHold(kernel, "scale", scale, rows, groups, groups)
	mustHold(kernel, "sum", sum, rows, groups, groups)
	mustHold(kernel, "w.Codes", len(w.Codes), panels, kp/Int4Block*PanelWidth, kp/Int4Block*PanelWidth)
	mustHold(kernel, "w.Scale", len(w.Scale), panels, groups*PanelWidth, groups*PanelWidth)
	mustHold(kernel, "w.Zero", len(w.Zero), panels, groups*PanelWidth, groups*PanelWidth)
	mustHold(kernel, "dst", dst, rows, ldd, outs)
}

// MaxGroup bounds a group, so that half of its inputs times 240 (a code as the assembly masks it) times 32767 fit 31 bits.
const MaxGroup = 512

// NewInt4 returns a matrix of zeros [outs, k], to be filled by Set.
func NewInt4(outs, k, group int) *Int4 {
	kp := Int4K(k, group)
	groups, panels := kp/group, (outs+PanelWidth-1)/PanelWidth
	return &Int4{
		K: k, Outs: outs, Group: group, Codes: make([]uint32, panels*kp/Int4Block*PanelWidth),
		Scale: make([]float32, panels*groups*PanelWidth), Zero: make([]uint8, panels*groups*PanelWidth),
	}
}

// Set fills one group of output o, that which begins at input from. It must be set once only. Outputs of different panels may be
// set at the same time.
func (w *Int4) Set(o, from int, codes []uint8, scale float32, zero uint8) {
	kp := Int4K(w.K, w.Group)
	p, lane := o/PanelWidth, o%PanelWidth
	at := (p*(kp/w.Group)+from/w.Group)*PanelWidth + lane
	w.Scale[at], w.Zero[at] = scale, zero
	lanes := w.Codes[(p*kp+from)/Int4Block*PanelWidth+lane:]
	for i, q := range codes {
		lanes[i/Int4Block*PanelWidth] |= uint32(q&15) << nibbleShift(i)
	}
}

// SetPanel is Set for all outputs of panel p: codes is [n, 16], scale and zero [16].
func (w *Int4) SetPanel(p, from int, codes []uint8, scale, zero []float32) {
	kp := Int4K(w.K, w.Group)
	at := (p*(kp/w.Group) + from/w.Group) * PanelWidth
	copy(w.Scale[at:at+PanelWidth], scale)
	for o, z := range zero[:PanelWidth] {
		w.Zero[at+o] = uint8(z)
	}
	for i := range len(codes) / PanelWidth {
		lanes := w.Codes[((p*kp+from)/Int4Block+i/Int4Block)*PanelWidth:][:PanelWidth]
		shift := nibbleShift(i)
		for o, q := range codes[i*PanelWidth:][:PanelWidth] {
			lanes[o] |= uint32(q&15) << shift
		}
	}
}

// nibbleShift is where input i stands in its lane.
func nibbleShift(i int) int {
	i %= Int4Block
	return 4 * (i/2 + i%2*4)
}

// Code returns the code, scale and zero point of one weight.
func (w *Int4) Code(o, i int) (q uint8, scale float32, zero uint8) {
	kp := Int4K(w.K, w.Group)
	p, lane, groups := o/PanelWidth, o%PanelWidth, kp/w.Group
	at := (p*groups+i/w.Group)*PanelWidth + lane
	code := w.Codes[(p*kp/Int4Block+i/Int4Block)*PanelWidth+lane]
	return uint8(code>>nibbleShift(i)) & 15, w.Scale[at], w.Zero[at]
}
