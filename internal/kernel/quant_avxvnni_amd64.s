//go:build !purego

#include "textflag.h"

// Products of quantized activations and packed weights over a panel of 16 outputs, on AVX2 with AVX-VNNI: the dot products of AVX-512
// VNNI at half the width. Layouts and ends are those of the AVX2 files; sums of integers are exact, so all bits are equal.
//
// The assembler knows these instructions in their AVX-512 form alone. DPBUSD and DPWSSD write the VEX form, three registers by
// number: acc += a * b, four unsigned bytes of a by four signed ones of b, or two words by two, in each lane of 32 bits.

#define VEXDP(opcode, a, b, acc) \
	BYTE $0xC4; \
	BYTE $(((1-acc/8)<<7)|0x40|((1-b/8)<<5)|0x02); \
	BYTE $(((15-a)<<3)|0x05); \
	BYTE $opcode; \
	BYTE $(0xC0|((acc%8)<<3)|(b%8))

#define DPBUSD(a, b, acc) VEXDP(0x50, a, b, acc)
#define DPWSSD(a, b, acc) VEXDP(0x52, a, b, acc)

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

// GROUPENDY adds a group's integer sums s to the totals. zp: 8 zero points (bytes) in memory, ws: 8 weight scales in memory,
// asum and ascale: the row's sum and scale in memory; t and u are free.
#define GROUPENDY(s, total, zp, ws, asum, ascale, t, u) \
	VPMOVZXBD    zp, t \
	VPBROADCASTD asum, u \
	VPMULLD      u, t, t \
	VPSUBD       t, s, s \
	VCVTDQ2PS    s, s \
	VBROADCASTSS ascale, t \
	VMULPS       ws, t, t \
	VMULPS       t, s, s \
	VADDPS       s, total, total

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
	GROUPENDY(Y0, Y6, (R10), (R9), (R12), (R11), Y10, Y11)
	GROUPENDY(Y1, Y7, 8(R10), 32(R9), (R12), (R11), Y10, Y11)
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

// ROWENDY is GROUPENDY for one of four rows, whose totals are in memory at DI; then on to the next row.
#define ROWENDY(a) \
	VMOVUPS (DI), Y8 \
	GROUPENDY(a, Y8, (R10), (R9), (R12), (R11), Y9, Y10) \
	VMOVUPS Y8, (DI) \
	LEAQ    (DI)(R13*4), DI \
	LEAQ    (R11)(R15*4), R11 \
	LEAQ    (R12)(R15*4), R12

// ROWA8: the masked lanes of a block in Y8 and Y9 times one row's activations; sums into registers a and b.
#define ROWA8(x0, x1, a, b) \
	VPBROADCASTD x0, Y10 \
	VPBROADCASTD x1, Y11 \
	DPBUSD(8, 10, a) \
	DPBUSD(9, 11, b)

// func int4A8Half4AVXVNNI(dst *float32, ldd int, x *int8, ldx int, scale *float32, sum *int32, codes *uint32, wScale *float32, wZero *uint8, blocks int, groups int)
//
// As int4A8Half4AVX2: four rows, eight outputs, one group.
TEXT ·int4A8Half4AVXVNNI(SB), NOSPLIT, $0-88
	MOVQ dst+0(FP), DI
	MOVQ ldd+8(FP), R13
	MOVQ x+16(FP), SI
	MOVQ ldx+24(FP), R8
	LEAQ (SI)(R8*2), AX
	ADDQ R8, AX
	MOVQ scale+32(FP), R11
	MOVQ sum+40(FP), R12
	MOVQ codes+48(FP), DX
	MOVQ wScale+56(FP), R9
	MOVQ wZero+64(FP), R10
	MOVQ blocks+72(FP), CX
	MOVQ groups+80(FP), R15
	VPBROADCASTD vnniByte<>(SB), Y15
	VPXOR Y0, Y0, Y0
	VPXOR Y1, Y1, Y1
	VPXOR Y2, Y2, Y2
	VPXOR Y3, Y3, Y3
	VPXOR Y4, Y4, Y4
	VPXOR Y5, Y5, Y5
	VPXOR Y6, Y6, Y6
	VPXOR Y7, Y7, Y7

blockA84:
	VMOVDQU (DX), Y8
	VPSRLD  $4, Y8, Y9
	VPAND   Y15, Y8, Y8
	VPAND   Y15, Y9, Y9
	ROWA8(0(SI), 4(SI), 0, 4)
	ROWA8(0(SI)(R8*1), 4(SI)(R8*1), 1, 5)
	ROWA8(0(SI)(R8*2), 4(SI)(R8*2), 2, 6)
	ROWA8(0(AX), 4(AX), 3, 7)
	ADDQ    $8, SI
	ADDQ    $8, AX
	ADDQ    $64, DX
	DECQ    CX
	JNZ     blockA84

	VPADDD Y4, Y0, Y0
	VPADDD Y5, Y1, Y1
	VPADDD Y6, Y2, Y2
	VPADDD Y7, Y3, Y3
	ROWENDY(Y0)
	ROWENDY(Y1)
	ROWENDY(Y2)
	ROWENDY(Y3)
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
	GROUPENDY(Y0, Y6, (R10), (R9), (R12), (R11), Y10, Y11)
	GROUPENDY(Y2, Y7, 8(R10), 32(R9), (R12), (R11), Y10, Y11)
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

// PAIRROWS: one masked pair of inputs in Y9, times the activations of four rows at off; sums into registers a-d. Y10 is free.
#define PAIRROWS(off, a, b, c, d) \
	VPBROADCASTD off(SI), Y10 \
	DPWSSD(9, 10, a) \
	VPBROADCASTD off(SI)(R8*1), Y10 \
	DPWSSD(9, 10, b) \
	VPBROADCASTD off(SI)(R8*2), Y10 \
	DPWSSD(9, 10, c) \
	VPBROADCASTD off(AX), Y10 \
	DPWSSD(9, 10, d)

// func int4A16Half4AVXVNNI(dst *float32, ldd int, x *int16, ldx int, scale *float32, sum *int32, codes *uint32, wScale *float32, wZero *uint8, blocks int, groups int)
//
// As int4A16Half4AVX2: four rows, eight outputs, one group.
TEXT ·int4A16Half4AVXVNNI(SB), NOSPLIT, $0-88
	MOVQ dst+0(FP), DI
	MOVQ ldd+8(FP), R13
	MOVQ x+16(FP), SI
	MOVQ ldx+24(FP), R8
	LEAQ (SI)(R8*2), AX
	ADDQ R8, AX
	MOVQ scale+32(FP), R11
	MOVQ sum+40(FP), R12
	MOVQ codes+48(FP), DX
	MOVQ wScale+56(FP), R9
	MOVQ wZero+64(FP), R10
	MOVQ blocks+72(FP), CX
	MOVQ groups+80(FP), R15
	VPBROADCASTD vnniLow<>(SB), Y14
	VPBROADCASTD vnniHigh<>(SB), Y15
	VPXOR Y0, Y0, Y0
	VPXOR Y1, Y1, Y1
	VPXOR Y2, Y2, Y2
	VPXOR Y3, Y3, Y3
	VPXOR Y4, Y4, Y4
	VPXOR Y5, Y5, Y5
	VPXOR Y6, Y6, Y6
	VPXOR Y7, Y7, Y7

blockA164:
	VMOVDQU (DX), Y8
	VPAND   Y14, Y8, Y9
	PAIRROWS(0, 0, 1, 2, 3)
	VPAND   Y15, Y8, Y9
	PAIRROWS(4, 4, 5, 6, 7)
	VPSRLD  $8, Y8, Y8
	VPAND   Y14, Y8, Y9
	PAIRROWS(8, 0, 1, 2, 3)
	VPAND   Y15, Y8, Y9
	PAIRROWS(12, 4, 5, 6, 7)
	ADDQ    $16, SI
	ADDQ    $16, AX
	ADDQ    $64, DX
	DECQ    CX
	JNZ     blockA164

	VPSRAD $4, Y4, Y4
	VPSRAD $4, Y5, Y5
	VPSRAD $4, Y6, Y6
	VPSRAD $4, Y7, Y7
	VPADDD Y4, Y0, Y0
	VPADDD Y5, Y1, Y1
	VPADDD Y6, Y2, Y2
	VPADDD Y7, Y3, Y3
	ROWENDY(Y0)
	ROWENDY(Y1)
	ROWENDY(Y2)
	ROWENDY(Y3)
	VZEROUPPER
	RET
