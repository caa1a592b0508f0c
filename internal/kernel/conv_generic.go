package kernel

func convF32Generic(dst []float32, ldd int, x []float32, ldx int, taps, tapStride, in int, panels, bias []float32, rows, outs int) {
	width := PanelWidth * taps * in
	for o := 0; o < outs; o += PanelWidth {
		panel := panels[o/PanelWidth*width:][:width]
		n := min(PanelWidth, outs-o)
		for r := range rows {
			var acc [PanelWidth]float32
			if bias != nil {
				copy(acc[:n], bias[o:])
			}
			p := panel
			for t := range taps {
				for _, v := range x[r*ldx+t*tapStride:][:in] {
					w := (*[PanelWidth]float32)(p)
					for i := range acc {
						acc[i] += v * w[i]
					}
					p = p[PanelWidth:]
				}
			}
			copy(dst[r*ldd+o:][:n], acc[:])
		}
	}
}
