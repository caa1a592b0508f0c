//go:build !purego

#include "textflag.h"

// Codes of 4-bit groups, eight weights at a time; n is a positive multiple of eight.

DATA int4Top<>+0(SB)/4, $15.0
GLOBL int4Top<>(SB), RODATA|NOPTR, $4

// CODE: weights in w become codes in q. Y15 scale, Y14 zero, Y13 15, Y12 0.
#define CODE(w, q) \
	VDIVPS   Y15, w, q \
	VROUNDPS $0, q, q \
	VADDPS   Y14, q, q \
	VMAXPS   Y12, q, q \
	VMINPS   Y13, q, q

// LANES sums the lanes of y (x is its lower half, t is free) into its lowest.
#define LANES(y, x, t) \
	VEXTRACTF128 $1, y, t \
	VADDPS       t, x, x \
	VPERMILPS    $0xEE, x, t \
	VADDPS       t, x, x \
	VMOVSHDUP    x, t \
	VADDSS       t, x, x

// func int4EncodeAVX2(codes *uint8, w *float32, n int, scale, zero float32)
TEXT ·int4EncodeAVX2(SB), NOSPLIT, $0-32
	MOVQ codes+0(FP), DI
	MOVQ w+8(FP), SI
	MOVQ n+16(FP), CX
	VBROADCASTSS scale+24(FP), Y15
	VBROADCASTSS zero+28(FP), Y14
	VBROADCASTSS int4Top<>(SB), Y13
	VXORPS Y12, Y12, Y12
	SHRQ $3, CX

loop:
	VMOVUPS (SI), Y0
	CODE(Y0, Y1)
	VCVTPS2DQ Y1, Y1
	VEXTRACTI128 $1, Y1, X2
	VPACKSSDW X2, X1, X1
	VPACKUSWB X1, X1, X1
	VMOVQ X1, (DI)
	ADDQ $32, SI
	ADDQ $8, DI
	DECQ CX
	JNZ  loop

	VZEROUPPER
	RET

// func int4FitAVX2(w *float32, n int, scale, zero float32) (num, den float32)
TEXT ·int4FitAVX2(SB), NOSPLIT, $0-32
	MOVQ w+0(FP), SI
	MOVQ n+8(FP), CX
	VBROADCASTSS scale+16(FP), Y15
	VBROADCASTSS zero+20(FP), Y14
	VBROADCASTSS int4Top<>(SB), Y13
	VXORPS Y12, Y12, Y12
	VXORPS Y4, Y4, Y4
	VXORPS Y5, Y5, Y5
	SHRQ $3, CX

loop:
	VMOVUPS (SI), Y0
	CODE(Y0, Y1)
	VSUBPS Y14, Y1, Y1
	VMULPS Y1, Y0, Y2
	VMULPS Y1, Y1, Y3
	VADDPS Y2, Y4, Y4
	VADDPS Y3, Y5, Y5
	ADDQ $32, SI
	DECQ CX
	JNZ  loop

	LANES(Y4, X4, X6)
	LANES(Y5, X5, X6)
	VMOVSS X4, num+24(FP)
	VMOVSS X5, den+28(FP)
	VZEROUPPER
	RET
