//go:build !purego

package kernel

import "github.com/mynah-tts/mynah/internal/cpu"

//go:noescape
func int4EncodeAVX2(codes *uint8, w *float32, n int, scale, zero float32)

//go:noescape
func int4FitAVX2(w *float32, n int, scale, zero float32) (num, den float32)

//go:noescape
func int4FeedbackAVX2(codes *uint8, share, w, lower, inverse, scale, zero *float32, n, from, to int)

func int4Encode(codes []uint8, w []float32, scale, zero float32) {
	if level == cpu.Generic || len(w)%8 != 0 || len(w) == 0 {
		int4EncodeGeneric(codes, w, scale, zero)
		return
	}
	int4EncodeAVX2(&codes[0], &w[0], len(w), scale, zero)
}

func int4Fit(w []float32, scale, zero float32) (num, den float32) {
	if level == cpu.Generic || len(w)%8 != 0 || len(w) == 0 {
		return int4FitGeneric(w, scale, zero)
	}
	return int4FitAVX2(&w[0], len(w), scale, zero)
}

func int4Feedback(codes []uint8, share, w, lower, inverse, scale, zero []float32, from, to int) {
	if level == cpu.Generic {
		int4FeedbackGeneric(codes, share, w, lower, inverse, scale, zero, from, to)
		return
	}
	int4FeedbackAVX2(&codes[0], &share[0], &w[0], &lower[0], &inverse[0], &scale[0], &zero[0], len(inverse), from, to)
}
