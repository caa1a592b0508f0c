//go:build !purego

#include "textflag.h"

// Products of unsigned 8-bit activations and signed 8-bit weights over one panel of 16 outputs.
//
// A step takes four inputs: 64 weight bytes [16 outputs, 4] in four parts of 4 outputs, widened to 16 bits, and the four activations
// of a row, widened and repeated. VPMADDWD then sums pairs without saturation (VPMADDUBSW would saturate at 255 * 127 * 2), which
// leaves two partial sums for each output; the end adds them.
//
// Registers: DI dst, SI and R8 rows of x, DX weights, CX steps left; Y0-Y3 sums of row 0, Y4-Y7 of row 1; Y8, Y9 activations.

#define CLEAR(a, b, c, d) \
	VPXOR a, a, a \
	VPXOR b, b, b \
	VPXOR c, c, c \
	VPXOR d, d, d

// ACTIVATIONS: four bytes at mem, repeated four times as words.
#define ACTIVATIONS(mem, x, y) \
	VPBROADCASTD mem, x \
	VPMOVZXBW    x, y

// FINISH: sums a-d of a row, in pairs, become outputs at DI:
// float32(sum - zero * wSum) * (scale * wScale). zero in Y14, scale in Y15, wSum at R10, wScale at R9.
#define FINISH(a, b, c, d) \
	VPHADDD   b, a, a \
	VPERMQ    $0xD8, a, a \
	VPHADDD   d, c, c \
	VPERMQ    $0xD8, c, c \
	VPMULLD   (R10), Y14, b \
	VPMULLD   32(R10), Y14, d \
	VPSUBD    b, a, a \
	VPSUBD    d, c, c \
	VCVTDQ2PS a, a \
	VCVTDQ2PS c, c \
	VMULPS    (R9), Y15, b \
	VMULPS    32(R9), Y15, d \
	VMULPS    b, a, a \
	VMULPS    d, c, c \
	VMOVUPS   a, (DI) \
	VMOVUPS   c, 32(DI)

// func int8Panel1AVX2(dst *float32, x *uint8, w *int8, steps int, scale *float32, zero *int32, wScale *float32, wSum *int32)
TEXT ·int8Panel1AVX2(SB), NOSPLIT, $0-64
	MOVQ dst+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ w+16(FP), DX
	MOVQ steps+24(FP), CX
	MOVQ scale+32(FP), R11
	MOVQ zero+40(FP), R12
	MOVQ wScale+48(FP), R9
	MOVQ wSum+56(FP), R10
	CLEAR(Y0, Y1, Y2, Y3)

step1:
	PREFETCHT0 2048(DX)
	ACTIVATIONS((SI), X8, Y8)
	VPMOVSXBW (DX), Y10
	VPMOVSXBW 16(DX), Y11
	VPMOVSXBW 32(DX), Y12
	VPMOVSXBW 48(DX), Y13
	VPMADDWD  Y8, Y10, Y10
	VPMADDWD  Y8, Y11, Y11
	VPMADDWD  Y8, Y12, Y12
	VPMADDWD  Y8, Y13, Y13
	VPADDD    Y10, Y0, Y0
	VPADDD    Y11, Y1, Y1
	VPADDD    Y12, Y2, Y2
	VPADDD    Y13, Y3, Y3
	ADDQ      $4, SI
	ADDQ      $64, DX
	DECQ      CX
	JNZ       step1

	VPBROADCASTD (R12), Y14
	VBROADCASTSS (R11), Y15
	FINISH(Y0, Y1, Y2, Y3)
	VZEROUPPER
	RET

// PART2: one part of the weights times two rows.
#define PART2(off, a, b) \
	VPMOVSXBW off(DX), Y10 \
	VPMADDWD  Y8, Y10, Y11 \
	VPMADDWD  Y9, Y10, Y10 \
	VPADDD    Y11, a, a \
	VPADDD    Y10, b, b

// func int8Panel2AVX2(dst *float32, ldd int, x *uint8, ldx int, w *int8, steps int, scale *float32, zero *int32, wScale *float32, wSum *int32, ahead, stride int)
//
// Weights from ahead bytes behind w on are fetched into the cache, stride bytes a step.
TEXT ·int8Panel2AVX2(SB), NOSPLIT, $0-96
	MOVQ dst+0(FP), DI
	MOVQ ldd+8(FP), R13
	MOVQ x+16(FP), SI
	MOVQ ldx+24(FP), R8
	ADDQ SI, R8
	MOVQ w+32(FP), DX
	MOVQ steps+40(FP), CX
	MOVQ scale+48(FP), R11
	MOVQ zero+56(FP), R12
	MOVQ wScale+64(FP), R9
	MOVQ wSum+72(FP), R10
	MOVQ ahead+80(FP), BX
	ADDQ DX, BX
	MOVQ stride+88(FP), R14
	CLEAR(Y0, Y1, Y2, Y3)
	CLEAR(Y4, Y5, Y6, Y7)

step2:
	PREFETCHT0 (BX)
	ACTIVATIONS((SI), X8, Y8)
	ACTIVATIONS((R8), X9, Y9)
	PART2(0, Y0, Y4)
	PART2(16, Y1, Y5)
	PART2(32, Y2, Y6)
	PART2(48, Y3, Y7)
	ADDQ $4, SI
	ADDQ $4, R8
	ADDQ $64, DX
	ADDQ R14, BX
	DECQ CX
	JNZ  step2

	VPBROADCASTD (R12), Y14
	VBROADCASTSS (R11), Y15
	FINISH(Y0, Y1, Y2, Y3)
	LEAQ (DI)(R13*4), DI
	VPBROADCASTD 4(R12), Y14
	VBROADCASTSS 4(R11), Y15
	FINISH(Y4, Y5, Y6, Y7)
	VZEROUPPER
	RET
