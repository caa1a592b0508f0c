//go:build !purego

#include "textflag.h"
#include "int4_avx2_amd64.h"

// Products of quantized activations and 4-bit weights over a panel of 16 outputs, one group after the other.
//
// A block is 64 bytes: 16 lanes of 32 bits, one for each output, with eight inputs of it. Outputs 0-7 are in the low 32 bytes.
//
// 16-bit activations: after masking with 0x000F a lane holds two neighbouring inputs as words, for VPMADDWD. The mask 0x00F0 gives
// the next two times 16, summed apart and shifted right once at the end of the group, which spares two shifts in each block.
//
// 8-bit activations: bytes under the mask 0x0F are unsigned, activations signed, for VPMADDUBSW. A word takes four blocks,
// 4 * 4 * 15 * 127 = 30480, before it is widened.
//
// The end of a group is in the header.

DATA nibbleLow<>+0(SB)/4, $0x000F000F
GLOBL nibbleLow<>(SB), RODATA|NOPTR, $4
DATA nibbleHigh<>+0(SB)/4, $0x00F000F0
GLOBL nibbleHigh<>(SB), RODATA|NOPTR, $4
DATA nibbleByte<>+0(SB)/4, $0x0F0F0F0F
GLOBL nibbleByte<>(SB), RODATA|NOPTR, $4
DATA onesWord<>+0(SB)/4, $0x00010001
GLOBL onesWord<>(SB), RODATA|NOPTR, $4

// WORDS4: eight inputs of eight outputs, lanes in Y8, times activations at x; sums into a (plain) and b (times 16).
// Y14, Y15 are the masks, Y9-Y11 free.
#define WORDS4(x, a, b) \
	VPSRLD       $8, Y8, Y9 \
	VPAND        Y14, Y8, Y10 \
	VPBROADCASTD 0(x), Y11 \
	VPMADDWD     Y11, Y10, Y10 \
	VPADDD       Y10, a, a \
	VPAND        Y15, Y8, Y10 \
	VPBROADCASTD 4(x), Y11 \
	VPMADDWD     Y11, Y10, Y10 \
	VPADDD       Y10, b, b \
	VPAND        Y14, Y9, Y10 \
	VPBROADCASTD 8(x), Y11 \
	VPMADDWD     Y11, Y10, Y10 \
	VPADDD       Y10, a, a \
	VPAND        Y15, Y9, Y10 \
	VPBROADCASTD 12(x), Y11 \
	VPMADDWD     Y11, Y10, Y10 \
	VPADDD       Y10, b, b

// func int4A16Panel1AVX2(dst *float32, x *int16, scale *float32, sum *int32, codes *uint32, wScale *float32, wZero *uint8, blocks, groups int)
TEXT ·int4A16Panel1AVX2(SB), NOSPLIT, $0-72
	MOVQ dst+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ scale+16(FP), R11
	MOVQ sum+24(FP), R12
	MOVQ codes+32(FP), DX
	MOVQ wScale+40(FP), R9
	MOVQ wZero+48(FP), R10
	MOVQ groups+64(FP), BX
	VPBROADCASTD nibbleLow<>(SB), Y14
	VPBROADCASTD nibbleHigh<>(SB), Y15
	VXORPS Y6, Y6, Y6
	VXORPS Y7, Y7, Y7

group16:
	MOVQ  blocks+56(FP), CX
	VPXOR Y0, Y0, Y0
	VPXOR Y1, Y1, Y1
	VPXOR Y2, Y2, Y2
	VPXOR Y3, Y3, Y3

block16:
	PREFETCHT0 2048(DX)
	VMOVDQU (DX), Y8
	WORDS4(SI, Y0, Y1)
	VMOVDQU 32(DX), Y8
	WORDS4(SI, Y2, Y3)
	ADDQ $16, SI
	ADDQ $64, DX
	DECQ CX
	JNZ  block16

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
	JNZ  group16

	VMOVUPS Y6, (DI)
	VMOVUPS Y7, 32(DI)
	VZEROUPPER
	RET

// PAIR4: one masked pair of inputs in Y9, times the activations of four rows at off; sums into a-d. Y10 is free.
#define PAIR4(off, a, b, c, d) \
	VPBROADCASTD off(SI), Y10 \
	VPMADDWD     Y9, Y10, Y10 \
	VPADDD       Y10, a, a \
	VPBROADCASTD off(SI)(R8*1), Y10 \
	VPMADDWD     Y9, Y10, Y10 \
	VPADDD       Y10, b, b \
	VPBROADCASTD off(SI)(R8*2), Y10 \
	VPMADDWD     Y9, Y10, Y10 \
	VPADDD       Y10, c, c \
	VPBROADCASTD off(AX), Y10 \
	VPMADDWD     Y9, Y10, Y10 \
	VPADDD       Y10, d, d

// ROWEND16 ends a group of one of four rows, whose totals are in memory at to: sums a, and b times 16. asum and ascale: the row's sum and
// scale in memory; the zero points of the eight outputs are in Y8, their scales in Y9, Y10 is free.
#define ROWEND16(a, b, asum, ascale, to) \
	VPSRAD       $4, b, b \
	VPADDD       b, a, a \
	VPBROADCASTD asum, Y10 \
	VPMULLD      Y8, Y10, Y10 \
	VPSUBD       Y10, a, a \
	VCVTDQ2PS    a, a \
	VBROADCASTSS ascale, Y10 \
	VMULPS       Y9, Y10, Y10 \
	VMULPS       Y10, a, a \
	VADDPS       to, a, a \
	VMOVUPS      a, to

// func int4A16Half4AVX2(dst *float32, ldd int, x *int16, ldx int, scale *float32, sum *int32, codes *uint32, wScale *float32, wZero *uint8, blocks, groups int)
//
// Four rows, eight outputs: half a panel. dst holds totals and is added to. Rows of x are ldx bytes apart, those of scale and sum groups.
TEXT ·int4A16Half4AVX2(SB), NOSPLIT, $0-88
	MOVQ dst+0(FP), DI
	MOVQ ldd+8(FP), R13
	LEAQ (DI)(R13*8), BX
	MOVQ x+16(FP), SI
	MOVQ ldx+24(FP), R8
	LEAQ (SI)(R8*2), AX
	ADDQ R8, AX
	MOVQ scale+32(FP), R11
	MOVQ sum+40(FP), R12
	MOVQ codes+48(FP), DX
	MOVQ wScale+56(FP), R9
	MOVQ wZero+64(FP), R10
	MOVQ groups+80(FP), R15
	LEAQ (R15)(R15*2), R14
	MOVQ R15, CX
	VPBROADCASTD nibbleLow<>(SB), Y14
	VPBROADCASTD nibbleHigh<>(SB), Y15

group164:
	MOVQ CX, groups+80(FP)
	MOVQ blocks+72(FP), CX
	VPXOR Y0, Y0, Y0
	VPXOR Y1, Y1, Y1
	VPXOR Y2, Y2, Y2
	VPXOR Y3, Y3, Y3
	VPXOR Y4, Y4, Y4
	VPXOR Y5, Y5, Y5
	VPXOR Y6, Y6, Y6
	VPXOR Y7, Y7, Y7

block164:
	VMOVDQU (DX), Y8
	VPAND   Y14, Y8, Y9
	PAIR4(0, Y0, Y1, Y2, Y3)
	VPAND   Y15, Y8, Y9
	PAIR4(4, Y4, Y5, Y6, Y7)
	VPSRLD  $8, Y8, Y8
	VPAND   Y14, Y8, Y9
	PAIR4(8, Y0, Y1, Y2, Y3)
	VPAND   Y15, Y8, Y9
	PAIR4(12, Y4, Y5, Y6, Y7)
	ADDQ    $16, SI
	ADDQ    $16, AX
	ADDQ    $64, DX
	DECQ    CX
	JNZ     block164

	VPMOVZXBD (R10), Y8
	VMOVUPS   (R9), Y9
	ROWEND16(Y0, Y4, (R12), (R11), (DI))
	ROWEND16(Y1, Y5, (R12)(R15*4), (R11)(R15*4), (DI)(R13*4))
	ROWEND16(Y2, Y6, (R12)(R15*8), (R11)(R15*8), (BX))
	ROWEND16(Y3, Y7, (R12)(R14*4), (R11)(R14*4), (BX)(R13*4))
	ADDQ $16, R10
	ADDQ $64, R9
	ADDQ $4, R11
	ADDQ $4, R12
	MOVQ groups+80(FP), CX
	DECQ CX
	JNZ  group164

	VZEROUPPER
	RET

// BYTES: eight inputs of eight outputs, lanes in Y8, times activations in Y12 (first four) and Y13; sums of words into w.
// Y15 is the mask, Y9, Y10 free.
#define BYTES(w) \
	VPAND      Y15, Y8, Y9 \
	VPSRLD     $4, Y8, Y10 \
	VPAND      Y15, Y10, Y10 \
	VPMADDUBSW Y12, Y9, Y9 \
	VPMADDUBSW Y13, Y10, Y10 \
	VPADDW     Y9, w, w \
	VPADDW     Y10, w, w

// WIDEN adds the words of w to the sums s. Y14 holds ones.
#define WIDEN(w, s) \
	VPMADDWD Y14, w, w \
	VPADDD   w, s, s

// func int4A8Panel1AVX2(dst *float32, x *int8, scale *float32, sum *int32, codes *uint32, wScale *float32, wZero *uint8, blocks, groups int)
TEXT ·int4A8Panel1AVX2(SB), NOSPLIT, $0-72
	MOVQ dst+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ scale+16(FP), R11
	MOVQ sum+24(FP), R12
	MOVQ codes+32(FP), DX
	MOVQ wScale+40(FP), R9
	MOVQ wZero+48(FP), R10
	MOVQ groups+64(FP), BX
	VPBROADCASTD nibbleByte<>(SB), Y15
	VPBROADCASTD onesWord<>(SB), Y14
	VXORPS Y6, Y6, Y6
	VXORPS Y7, Y7, Y7

group8:
	MOVQ  blocks+56(FP), CX
	VPXOR Y0, Y0, Y0
	VPXOR Y1, Y1, Y1

words8:
	MOVQ  $4, R8
	CMPQ  CX, R8
	CMOVQLT CX, R8
	SUBQ  R8, CX
	VPXOR Y2, Y2, Y2
	VPXOR Y3, Y3, Y3

block8:
	PREFETCHT0 2048(DX)
	VPBROADCASTD (SI), Y12
	VPBROADCASTD 4(SI), Y13
	VMOVDQU (DX), Y8
	BYTES(Y2)
	VMOVDQU 32(DX), Y8
	BYTES(Y3)
	ADDQ $8, SI
	ADDQ $64, DX
	DECQ R8
	JNZ  block8

	WIDEN(Y2, Y0)
	WIDEN(Y3, Y1)
	TESTQ CX, CX
	JNZ   words8

	GROUPEND(Y0, Y6, (R10), (R9), (R12), (R11), Y10, Y11)
	GROUPEND(Y1, Y7, 8(R10), 32(R9), (R12), (R11), Y10, Y11)
	ADDQ $16, R10
	ADDQ $64, R9
	ADDQ $4, R11
	ADDQ $4, R12
	DECQ BX
	JNZ  group8

	VMOVUPS Y6, (DI)
	VMOVUPS Y7, 32(DI)
	VZEROUPPER
	RET

// ROWBYTES: the masked lanes of a block in Y8, Y9 (outputs 0-7) and Y10, Y11 (8-15) times one row's activations at x; sums of words into
// a and b. Y12, Y13 are free.
#define ROWBYTES(x0, x1, a, b) \
	VPBROADCASTD x0, Y12 \
	VPMADDUBSW   Y12, Y8, Y13 \
	VPMADDUBSW   Y12, Y10, Y12 \
	VPADDW       Y13, a, a \
	VPADDW       Y12, b, b \
	VPBROADCASTD x1, Y12 \
	VPMADDUBSW   Y12, Y9, Y13 \
	VPMADDUBSW   Y12, Y11, Y12 \
	VPADDW       Y13, a, a \
	VPADDW       Y12, b, b

// func int4A8Panel2AVX2(dst *float32, ldd int, x *int8, ldx int, scale *float32, sum *int32, codes *uint32, wScale *float32, wZero *uint8, blocks, groups, ahead, stride int)
//
// Two rows. dst holds totals and is added to. Rows of x are ldx bytes apart, those of scale and sum groups. Codes from ahead bytes
// behind the first on are fetched into the cache, stride bytes a block.
TEXT ·int4A8Panel2AVX2(SB), NOSPLIT, $0-104
	MOVQ dst+0(FP), DI
	MOVQ ldd+8(FP), R13
	MOVQ x+16(FP), SI
	MOVQ ldx+24(FP), R8
	MOVQ scale+32(FP), R11
	MOVQ sum+40(FP), R12
	MOVQ codes+48(FP), DX
	MOVQ wScale+56(FP), R9
	MOVQ wZero+64(FP), R10
	MOVQ groups+80(FP), R15
	MOVQ ahead+88(FP), R14
	ADDQ DX, R14
	MOVQ R15, AX
	VPBROADCASTD onesWord<>(SB), Y14
	VPBROADCASTD nibbleByte<>(SB), Y15

group82:
	MOVQ  blocks+72(FP), CX
	VPXOR Y0, Y0, Y0
	VPXOR Y1, Y1, Y1
	VPXOR Y2, Y2, Y2
	VPXOR Y3, Y3, Y3

words82:
	MOVQ  $4, BX
	CMPQ  CX, BX
	CMOVQLT CX, BX
	SUBQ  BX, CX
	VPXOR Y4, Y4, Y4
	VPXOR Y5, Y5, Y5
	VPXOR Y6, Y6, Y6
	VPXOR Y7, Y7, Y7

block82:
	PREFETCHT0 (R14)
	ADDQ    stride+96(FP), R14
	VMOVDQU (DX), Y8
	VMOVDQU 32(DX), Y10
	VPSRLD  $4, Y8, Y9
	VPSRLD  $4, Y10, Y11
	VPAND   Y15, Y8, Y8
	VPAND   Y15, Y10, Y10
	VPAND   Y15, Y9, Y9
	VPAND   Y15, Y11, Y11
	ROWBYTES(0(SI), 4(SI), Y4, Y5)
	ROWBYTES(0(SI)(R8*1), 4(SI)(R8*1), Y6, Y7)
	ADDQ    $8, SI
	ADDQ    $64, DX
	DECQ    BX
	JNZ     block82

	WIDEN(Y4, Y0)
	WIDEN(Y5, Y1)
	WIDEN(Y6, Y2)
	WIDEN(Y7, Y3)
	TESTQ CX, CX
	JNZ   words82

	VPMOVZXBD (R10), Y8
	VPMOVZXBD 8(R10), Y9
	VMOVUPS   (R9), Y10
	VMOVUPS   32(R9), Y11
	ROWEND8(Y0, Y1, (R12), (R11), (DI), 32(DI))
	ROWEND8(Y2, Y3, (R12)(R15*4), (R11)(R15*4), (DI)(R13*4), 32(DI)(R13*4))
	ADDQ $16, R10
	ADDQ $64, R9
	ADDQ $4, R11
	ADDQ $4, R12
	DECQ AX
	JNZ  group82

	VZEROUPPER
	RET
