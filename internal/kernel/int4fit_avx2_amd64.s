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

// FEEDBACK: eight outputs. v holds the weights less what they make up for, q is free. Y13 15, Y12 0, Y11 the input's inverse.
#define FEEDBACK(v, q, t, scale, zero, share) \
	VDIVPS   scale, v, q \
	VROUNDPS $0, q, q \
	VADDPS   zero, q, q \
	VMAXPS   Y12, q, q \
	VMINPS   Y13, q, q \
	VSUBPS   zero, q, t \
	VMULPS   scale, t, t \
	VSUBPS   t, v, v \
	VMULPS   Y11, v, v \
	VMOVUPS  v, share \
	VCVTPS2DQ q, q

// PRODUCTS: share p of 16 outputs, at mem and 32 bytes on, times element p of lower; into a and b. Y8-Y10 are free.
#define PRODUCTS(l, mem, next, a, b) \
	VBROADCASTSS l, Y8 \
	VMULPS       mem, Y8, Y9 \
	VMULPS       next, Y8, Y10 \
	VADDPS       Y9, a, a \
	VADDPS       Y10, b, b

// func int4FeedbackAVX2(codes *uint8, share, w, lower, inverse, scale, zero *float32, n, from, to int)
//
// R8 input, R9 codes, R10 weights and R11 share of it, R12 its row of lower; SI, DX, CX go through the inputs before it.
TEXT ·int4FeedbackAVX2(SB), NOSPLIT, $0-80
	MOVQ from+64(FP), R8
	MOVQ R8, AX
	SHLQ $4, AX
	MOVQ codes+0(FP), R9
	ADDQ AX, R9
	SHLQ $2, AX
	MOVQ w+16(FP), R10
	ADDQ AX, R10
	MOVQ share+8(FP), R11
	ADDQ AX, R11
	MOVQ n+56(FP), R13
	SHLQ $2, R13
	MOVQ R13, AX
	IMULQ R8, AX
	MOVQ lower+24(FP), R12
	ADDQ AX, R12
	MOVQ inverse+32(FP), BX
	MOVQ scale+40(FP), AX
	VMOVUPS (AX), Y14
	VMOVUPS 32(AX), Y15
	MOVQ zero+48(FP), DI
	VBROADCASTSS int4Top<>(SB), Y13
	VXORPS Y12, Y12, Y12

input:
	VXORPS Y0, Y0, Y0
	VXORPS Y1, Y1, Y1
	VXORPS Y2, Y2, Y2
	VXORPS Y3, Y3, Y3
	MOVQ share+8(FP), SI
	MOVQ R12, DX
	MOVQ R8, CX
	SHRQ $1, CX
	JZ   odd

pair:
	PRODUCTS(0(DX), 0(SI), 32(SI), Y0, Y1)
	PRODUCTS(4(DX), 64(SI), 96(SI), Y2, Y3)
	ADDQ $8, DX
	ADDQ $128, SI
	DECQ CX
	JNZ  pair

odd:
	TESTQ $1, R8
	JZ    code
	PRODUCTS(0(DX), 0(SI), 32(SI), Y0, Y1)

code:
	VADDPS  Y2, Y0, Y0
	VADDPS  Y3, Y1, Y1
	VMOVUPS (R10), Y4
	VMOVUPS 32(R10), Y5
	VSUBPS  Y0, Y4, Y4
	VSUBPS  Y1, Y5, Y5
	VBROADCASTSS (BX)(R8*4), Y11
	VMOVUPS (DI), Y6
	VMOVUPS 32(DI), Y7
	FEEDBACK(Y4, Y8, Y9, Y14, Y6, (R11))
	FEEDBACK(Y5, Y10, Y9, Y15, Y7, 32(R11))
	VPACKSSDW Y10, Y8, Y8
	VPERMQ    $0xD8, Y8, Y8
	VEXTRACTI128 $1, Y8, X9
	VPACKUSWB X9, X8, X8
	VMOVDQU   X8, (R9)
	ADDQ $16, R9
	ADDQ $64, R10
	ADDQ $64, R11
	ADDQ R13, R12
	INCQ R8
	CMPQ R8, to+72(FP)
	JLT  input

	VZEROUPPER
	RET
