package kernel

func matMulInt8Generic(dst []float32, ldd int, x []uint8, scale []float32, zero []int32, w []int8, wScale []float32, wSum []int32, rows, kp, outs int) {
	for o := 0; o < outs; o += PanelWidth {
		panel := w[o*kp : (o+PanelWidth)*kp]
		for r := range rows {
			var acc [PanelWidth]int32
			for i, a := range x[r*kp : (r+1)*kp] {
				lane := panel[i/4*4*PanelWidth+i%4:]
				for j := range acc {
					acc[j] += int32(a) * int32(lane[4*j])
				}
			}
			for j := range min(PanelWidth, outs-o) {
				dst[r*ldd+o+j] = float32(acc[j]-zero[r]*wSum[o+j]) * float32(scale[r]*wScale[o+j])
			}
		}
	}
}
