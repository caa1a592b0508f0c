package kernel

func matMulInt4A16Generic(dst []float32, ldd int, x []int16, scale []float32, sum []int32, w *Int4, rows, outs int) {
	matMulInt4Generic(dst, ldd, x, scale, sum, w, rows, outs, func(i int) int { return i })
}

func matMulInt4A8Generic(dst []float32, ldd int, x []int8, scale []float32, sum []int32, w *Int4, rows, outs int) {
	matMulInt4Generic(dst, ldd, x, scale, sum, w, rows, outs, func(i int) int { return i&^(Int4Block-1) + i8Place[i%Int4Block] })
}

// i8Place is where QuantizeI8 puts input i of a block of eight: 0 4 1 5, 2 6 3 7.
var i8Place = [Int4Block]int{0, 2, 4, 6, 1, 3, 5, 7}

// matMulInt4Generic finds input i of a row of x at place(i).
func matMulInt4Generic[T int8 | int16](dst []float32, ldd int, x []T, scale []float32, sum []int32, w *Int4, rows, outs int, place func(int) int) {
	kp := Int4K(w.K, w.Group)
	groups := kp / w.Group
	for o := 0; o < outs; o += PanelWidth {
		p := w.Panel(o)
		for r := range rows {
			row := x[r*kp : (r+1)*kp]
			var total [PanelWidth]float32
			for g := range groups {
				var acc [PanelWidth]int32
				for i := g * w.Group; i < (g+1)*w.Group; i++ {
					a, lanes, shift := int32(row[place(i)]), p.Codes[i/Int4Block*PanelWidth:], nibbleShift(i)
					for j := range acc {
						acc[j] += a * int32(lanes[j]>>shift&15)
					}
				}
				at := g * PanelWidth
				for j := range total {
					s := acc[j] - int32(p.Zero[at+j])*sum[r*groups+g]
					total[j] += float32(float32(s) * float32(scale[r*groups+g]*p.Scale[at+j]))
				}
			}
			copy(dst[r*ldd+o:r*ldd+min(o+PanelWidth, outs)], total[:])
		}
	}
}
