//go:build !purego

#include "textflag.h"
#include "avxvnni_amd64.h"
#include "int4_avx2_amd64.h"

// Products of quantized activations and packed weights over a panel of 16 outputs, on AVX2 with AVX-VNNI: the dot products of AVX-512
// VNNI at half the width. Layouts and ends are those of the AVX2 files; sums of integers are exact, so all bits are equal.

DATA vnniLow<>+0(SB)/4, $0x000F000F
GLOBL vnniLow<>(SB), RODATA|NOPTR, $4
DATA vnniHigh<>+0(SB)/4, $0x00F000F0
GLOBL vnniHigh<>(SB), RODATA|NOPTR, $4
DATA vnniByte<>+0(SB)/4, $0x0F0F0F0F
GLOBL vnniByte<>(SB), RODATA|NOPTR, $4

// FINISHY: sums a, b of a row become outputs at DI: float32(sum - zero * wSum) * (scale * wScale), wSum at R10, wScale at R9.
// Y12-Y15 are free.
#define FINISHY(zero, scale, a, b) \
	VPBROADCASTD zero, Y14 \
	VBROADCASTSS scale, Y15 \
	VPMULLD   (R10), Y14, Y12 \
	VPMULLD   32(R10), Y14, Y13 \
	VPSUBD    Y12, a, a \
	VPSUBD    Y13, b, b \
	VCVTDQ2PS a, a \
	VCVTDQ2PS b, b \
	VMULPS    (R9), Y15, Y12 \
	VMULPS    32(R9), Y15, Y13 \
	VMULPS    Y12, a, a \
	VMULPS    Y13, b, b \
	VMOVUPS   a, (DI) \
	VMOVUPS   b, 32(DI)

// STEP8: four inputs of all outputs, weights at off(DX), activations at x; sums into registers a and b.
#define STEP8(x, off, a, b) \
	VPBROADCASTD x, Y8 \
	VMOVDQU off(DX), Y9 \
	VMOVDQU (off+32)(DX), Y10 \
	DPBUSD(8, 9, a) \
	DPBUSD(8, 10, b)

// func int8Panel1AVXVNNI(dst *float32, x *uint8, w *int8, steps int, scale *float32, zero *int32, wScale *float32, wSum *int32)
TEXT ·int8Panel1AVXVNNI(SB), NOSPLIT, $0-64
	MOVQ dst+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ w+16(FP), DX
	MOVQ steps+24(FP), CX
	MOVQ scale+32(FP), R11
	MOVQ zero+40(FP), R12
	MOVQ wScale+48(FP), R9
	MOVQ wSum+56(FP), R10
	VPXOR Y0, Y0, Y0
	VPXOR Y1, Y1, Y1
	VPXOR Y2, Y2, Y2
	VPXOR Y3, Y3, Y3
	VPXOR Y4, Y4, Y4
	VPXOR Y5, Y5, Y5
	VPXOR Y6, Y6, Y6
	VPXOR Y7, Y7, Y7
	MOVQ  CX, BX
	SHRQ  $2, BX
	JZ    rest8

four8:
	PREFETCHT0 2048(DX)
	PREFETCHT0 2112(DX)
	PREFETCHT0 2176(DX)
	PREFETCHT0 2240(DX)
	STEP8(0(SI), 0, 0, 1)
	STEP8(4(SI), 64, 2, 3)
	STEP8(8(SI), 128, 4, 5)
	STEP8(12(SI), 192, 6, 7)
	ADDQ $16, SI
	ADDQ $256, DX
	DECQ BX
	JNZ  four8

rest8:
	ANDQ $3, CX
	JZ   end8

one8:
	STEP8(0(SI), 0, 0, 1)
	ADDQ $4, SI
	ADDQ $64, DX
	DECQ CX
	JNZ  one8

end8:
	VPADDD Y2, Y0, Y0
	VPADDD Y3, Y1, Y1
	VPADDD Y6, Y4, Y4
	VPADDD Y7, Y5, Y5
	VPADDD Y4, Y0, Y0
	VPADDD Y5, Y1, Y1
	FINISHY((R12), (R11), Y0, Y1)
	VZEROUPPER
	RET

// func int8Panel4AVXVNNI(dst *float32, ldd int, x *uint8, ldx int, w *int8, steps int, scale *float32, zero *int32, wScale *float32, wSum *int32, ahead, stride int)
//
// Weights from ahead bytes behind w on are fetched into the cache, stride bytes a step.
TEXT ·int8Panel4AVXVNNI(SB), NOSPLIT, $0-96
	MOVQ dst+0(FP), DI
	MOVQ ldd+8(FP), R13
	MOVQ x+16(FP), SI
	MOVQ ldx+24(FP), R8
	LEAQ (SI)(R8*2), AX
	ADDQ R8, AX
	MOVQ w+32(FP), DX
	MOVQ steps+40(FP), CX
	MOVQ scale+48(FP), R11
	MOVQ zero+56(FP), R12
	MOVQ wScale+64(FP), R9
	MOVQ wSum+72(FP), R10
	MOVQ ahead+80(FP), BX
	ADDQ DX, BX
	MOVQ stride+88(FP), R14
	VPXOR Y0, Y0, Y0
	VPXOR Y1, Y1, Y1
	VPXOR Y2, Y2, Y2
	VPXOR Y3, Y3, Y3
	VPXOR Y4, Y4, Y4
	VPXOR Y5, Y5, Y5
	VPXOR Y6, Y6, Y6
	VPXOR Y7, Y7, Y7

step84:
	PREFETCHT0 (BX)
	VMOVDQU (DX), Y9
	VMOVDQU 32(DX), Y10
	VPBROADCASTD (SI), Y8
	VPBROADCASTD (SI)(R8*1), Y11
	VPBROADCASTD (SI)(R8*2), Y12
	VPBROADCASTD (AX), Y13
	DPBUSD(8, 9, 0)
	DPBUSD(8, 10, 1)
	DPBUSD(11, 9, 2)
	DPBUSD(11, 10, 3)
	DPBUSD(12, 9, 4)
	DPBUSD(12, 10, 5)
	DPBUSD(13, 9, 6)
	DPBUSD(13, 10, 7)
	ADDQ $4, SI
	ADDQ $4, AX
	ADDQ $64, DX
	ADDQ R14, BX
	DECQ CX
	JNZ  step84

	FINISHY((R12), (R11), Y0, Y1)
	LEAQ (DI)(R13*4), DI
	FINISHY(4(R12), 4(R11), Y2, Y3)
	LEAQ (DI)(R13*4), DI
	FINISHY(8(R12), 8(R11), Y4, Y5)
	LEAQ (DI)(R13*4), DI
	FINISHY(12(R12), 12(R11), Y6, Y7)
	VZEROUPPER
	RET

// NIBBLES: eight inputs of eight outputs at off(DX) times activations in Y12 (first four) and Y13; sums into registers a and b.
#define NIBBLES(off, a, b) \
	VMOVDQU off(DX), Y8 \
	VPAND   Y15, Y8, Y9 \
	VPSRLD  $4, Y8, Y10 \
	VPAND   Y15, Y10, Y10 \
	DPBUSD(9, 12, a) \
	DPBUSD(10, 13, b)

// func int4A8Panel1AVXVNNI(dst *float32, x *int8, scale *float32, sum *int32, codes *uint32, wScale *float32, wZero *uint8, blocks, groups int)
TEXT ·int4A8Panel1AVXVNNI(SB), NOSPLIT, $0-72
	MOVQ dst+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ scale+16(FP), R11
	MOVQ sum+24(FP), R12
	MOVQ codes+32(FP), DX
	MOVQ wScale+40(FP), R9
	MOVQ wZero+48(FP), R10
	MOVQ groups+64(FP), BX
	VPBROADCASTD vnniByte<>(SB), Y15
	VXORPS Y6, Y6, Y6
	VXORPS Y7, Y7, Y7

groupA8:
	MOVQ  blocks+56(FP), CX
	VPXOR Y0, Y0, Y0
	VPXOR Y1, Y1, Y1
	VPXOR Y2, Y2, Y2
	VPXOR Y3, Y3, Y3

blockA8:
	PREFETCHT0 2048(DX)
	VPBROADCASTD (SI), Y12
	VPBROADCASTD 4(SI), Y13
	NIBBLES(0, 0, 2)
	NIBBLES(32, 1, 3)
	ADDQ $8, SI
	ADDQ $64, DX
	DECQ CX
	JNZ  blockA8

	VPADDD Y2, Y0, Y0
	VPADDD Y3, Y1, Y1
	GROUPEND(Y0, Y6, (R10), (R9), (R12), (R11), Y10, Y11)
	GROUPEND(Y1, Y7, 8(R10), 32(R9), (R12), (R11), Y10, Y11)
	ADDQ $16, R10
	ADDQ $64, R9
	ADDQ $4, R11
	ADDQ $4, R12
	DECQ BX
	JNZ  groupA8

	VMOVUPS Y6, (DI)
	VMOVUPS Y7, 32(DI)
	VZEROUPPER
	RET

// PAIRS4: eight inputs of eight outputs at off(DX) times activations in Y4, Y5, Y12 and Y13, two words each; sums into registers a
// (plain) and b (times 16). Y14, Y15 are the masks, Y8-Y10 free.
#define PAIRS4(off, a, b) \
	VMOVDQU off(DX), Y8 \
	VPSRLD  $8, Y8, Y9 \
	VPAND   Y14, Y8, Y10 \
	DPWSSD(10, 4, a) \
	VPAND   Y15, Y8, Y10 \
	DPWSSD(10, 5, b) \
	VPAND   Y14, Y9, Y10 \
	DPWSSD(10, 12, a) \
	VPAND   Y15, Y9, Y10 \
	DPWSSD(10, 13, b)

// func int4A16Panel1AVXVNNI(dst *float32, x *int16, scale *float32, sum *int32, codes *uint32, wScale *float32, wZero *uint8, blocks, groups int)
TEXT ·int4A16Panel1AVXVNNI(SB), NOSPLIT, $0-72
	MOVQ dst+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ scale+16(FP), R11
	MOVQ sum+24(FP), R12
	MOVQ codes+32(FP), DX
	MOVQ wScale+40(FP), R9
	MOVQ wZero+48(FP), R10
	MOVQ groups+64(FP), BX
	VPBROADCASTD vnniLow<>(SB), Y14
	VPBROADCASTD vnniHigh<>(SB), Y15
	VXORPS Y6, Y6, Y6
	VXORPS Y7, Y7, Y7

groupA16:
	MOVQ  blocks+56(FP), CX
	VPXOR Y0, Y0, Y0
	VPXOR Y1, Y1, Y1
	VPXOR Y2, Y2, Y2
	VPXOR Y3, Y3, Y3

blockA16:
	PREFETCHT0 2048(DX)
	VPBROADCASTD (SI), Y4
	VPBROADCASTD 4(SI), Y5
	VPBROADCASTD 8(SI), Y12
	VPBROADCASTD 12(SI), Y13
	PAIRS4(0, 0, 1)
	PAIRS4(32, 2, 3)
	ADDQ $16, SI
	ADDQ $64, DX
	DECQ CX
	JNZ  blockA16

	VPSRAD $4, Y1, Y1
	VPSRAD $4, Y3, Y3
	VPADDD Y1, Y0, Y0
	VPADDD Y3, Y2, Y2
	GROUPEND(Y0, Y6, (R10), (R9), (R12), (R11), Y10, Y11)
	GROUPEND(Y2, Y7, 8(R10), 32(R9), (R12), (R11), Y10, Y11)
	ADDQ $16, R10
	ADDQ $64, R9
	ADDQ $4, R11
	ADDQ $4, R12
	DECQ BX
	JNZ  groupA16

	VMOVUPS Y6, (DI)
	VMOVUPS Y7, 32(DI)
	VZEROUPPER
	RET

// ROWS4: vectors v and w of masked lanes (outputs 0-7 and 8-15) times the activations of four rows at off; sums into registers 0-7, two a
// row. Y12 is free.
#define ROWS4(DP, off, v, w) \
	VPBROADCASTD off(SI), Y12 \
	DP(v, 12, 0) \
	DP(w, 12, 1) \
	VPBROADCASTD off(SI)(R8*1), Y12 \
	DP(v, 12, 2) \
	DP(w, 12, 3) \
	VPBROADCASTD off(SI)(R8*2), Y12 \
	DP(v, 12, 4) \
	DP(w, 12, 5) \
	VPBROADCASTD off(AX), Y12 \
	DP(v, 12, 6) \
	DP(w, 12, 7)

// SHIFTED: the lanes of a block in Y8 and Y9, shifted and masked, go to v and w.
#define SHIFTED(bits, v, w) \
	VPSRLD $bits, Y8, v \
	VPSRLD $bits, Y9, w \
	VPAND  Y15, v, v \
	VPAND  Y15, w, w

// Four rows by 16 outputs. A row's activations are loaded once for two products, and a block is unpacked once for four rows: 10 loads for
// the 16 products of 8-bit activations, where four rows by eight outputs take 18 and two by 16 take 12; three rows take 10.7, but leave
// over two of eight. 16 bits take 18 for 32; no room is left there for sums of inputs times 16, so each pair is shifted. Eight sums, ready
// after five cycles, still keep CPUs with two products a cycle waiting for one cycle in five; six rows would not, but leave over two of eight.
//
// Totals are in memory and are added to. Registers: DI, R13 = dst, distance of its rows in values; SI and AX = rows 0 and 3 of x, R8 = their
// distance; R11, R12 = scale and sum, R15 = distance of their rows in values; DX = codes, R14 = codes to fetch; R9, R10 = wScale and wZero;
// BX = groups left, CX = blocks left. Y0 to Y7 = sums, two a row; Y8 to Y11 = weights; Y15 = mask.

#define GROUP4 \
	LEAQ  (SI)(R8*2), AX \
	ADDQ  R8, AX \
	VPXOR Y0, Y0, Y0 \
	VPXOR Y1, Y1, Y1 \
	VPXOR Y2, Y2, Y2 \
	VPXOR Y3, Y3, Y3 \
	VPXOR Y4, Y4, Y4 \
	VPXOR Y5, Y5, Y5 \
	VPXOR Y6, Y6, Y6 \
	VPXOR Y7, Y7, Y7

// ENDROWS4 ends a group; AX and CX, free by now, become three times R15 and R13.
#define ENDROWS4 \
	LEAQ (R15)(R15*2), AX \
	LEAQ (R13)(R13*2), CX \
	VPMOVZXBD (R10), Y8 \
	VPMOVZXBD 8(R10), Y9 \
	VMOVUPS   (R9), Y10 \
	VMOVUPS   32(R9), Y11 \
	ROWEND8(Y0, Y1, (R12), (R11), (DI), 32(DI)) \
	ROWEND8(Y2, Y3, (R12)(R15*4), (R11)(R15*4), (DI)(R13*4), 32(DI)(R13*4)) \
	ROWEND8(Y4, Y5, (R12)(R15*8), (R11)(R15*8), (DI)(R13*8), 32(DI)(R13*8)) \
	ROWEND8(Y6, Y7, (R12)(AX*4), (R11)(AX*4), (DI)(CX*4), 32(DI)(CX*4)) \
	ADDQ $16, R10 \
	ADDQ $64, R9 \
	ADDQ $4, R11 \
	ADDQ $4, R12

// func int4A8Panel4AVXVNNI(dst *float32, ldd int, x *int8, ldx int, scale *float32, sum *int32, codes *uint32, wScale *float32, wZero *uint8, blocks, groups, ahead, stride int)
//
// Codes from ahead bytes behind the first on are fetched into the cache, stride bytes a block; so they are below.
TEXT ·int4A8Panel4AVXVNNI(SB), NOSPLIT, $0-104
	MOVQ dst+0(FP), DI
	MOVQ ldd+8(FP), R13
	MOVQ x+16(FP), SI
	MOVQ ldx+24(FP), R8
	MOVQ scale+32(FP), R11
	MOVQ sum+40(FP), R12
	MOVQ codes+48(FP), DX
	MOVQ wScale+56(FP), R9
	MOVQ wZero+64(FP), R10
	MOVQ groups+80(FP), BX
	MOVQ BX, R15
	MOVQ ahead+88(FP), R14
	ADDQ DX, R14
	VPBROADCASTD vnniByte<>(SB), Y15

groupA84:
	MOVQ blocks+72(FP), CX
	GROUP4

blockA84:
	PREFETCHT0 (R14)
	ADDQ stride+96(FP), R14
	VMOVDQU (DX), Y8
	VMOVDQU 32(DX), Y9
	SHIFTED(4, Y10, Y11)
	VPAND Y15, Y8, Y8
	VPAND Y15, Y9, Y9
	ROWS4(DPBUSD, 0, 8, 9)
	ROWS4(DPBUSD, 4, 10, 11)
	ADDQ $8, SI
	ADDQ $8, AX
	ADDQ $64, DX
	DECQ CX
	JNZ  blockA84

	ENDROWS4
	DECQ BX
	JNZ  groupA84

	VZEROUPPER
	RET

// func int4A16Panel4AVXVNNI(dst *float32, ldd int, x *int16, ldx int, scale *float32, sum *int32, codes *uint32, wScale *float32, wZero *uint8, blocks, groups, ahead, stride int)
TEXT ·int4A16Panel4AVXVNNI(SB), NOSPLIT, $0-104
	MOVQ dst+0(FP), DI
	MOVQ ldd+8(FP), R13
	MOVQ x+16(FP), SI
	MOVQ ldx+24(FP), R8
	MOVQ scale+32(FP), R11
	MOVQ sum+40(FP), R12
	MOVQ codes+48(FP), DX
	MOVQ wScale+56(FP), R9
	MOVQ wZero+64(FP), R10
	MOVQ groups+80(FP), BX
	MOVQ BX, R15
	MOVQ ahead+88(FP), R14
	ADDQ DX, R14
	VPBROADCASTD vnniLow<>(SB), Y15

groupA164:
	MOVQ blocks+72(FP), CX
	GROUP4

blockA164:
	PREFETCHT0 (R14)
	ADDQ stride+96(FP), R14
	VMOVDQU (DX), Y8
	VMOVDQU 32(DX), Y9
	VPAND Y15, Y8, Y10
	VPAND Y15, Y9, Y11
	ROWS4(DPWSSD, 0, 10, 11)
	SHIFTED(4, Y10, Y11)
	ROWS4(DPWSSD, 4, 10, 11)
	SHIFTED(8, Y10, Y11)
	ROWS4(DPWSSD, 8, 10, 11)
	SHIFTED(12, Y10, Y11)
	ROWS4(DPWSSD, 12, 10, 11)
	ADDQ $16, SI
	ADDQ $16, AX
	ADDQ $64, DX
	DECQ CX
	JNZ  blockA164

	ENDROWS4
	DECQ BX
	JNZ  groupA164

	VZEROUPPER
	RET
