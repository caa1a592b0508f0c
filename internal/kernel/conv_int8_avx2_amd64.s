//go:build !purego

// Convolution of unsigned 8-bit activations and signed 8-bit weights on AVX2.
//
// A step takes four inputs: VPMADDUBSW multiplies them with the weights of eight outputs and adds pairs, which fit 16 bits by the bound on
// neighbouring weights; VPMADDWD by ones adds the pairs. The rest is in the header, with the registers; Y13 = ones.

#include "conv_int8_avx2_amd64.h"

DATA convOnes<>+0(SB)/4, $0x00010001
GLOBL convOnes<>(SB), RODATA|NOPTR, $4

// FOUR adds the products of four inputs at addr, and of the weights at R10, to the sums a and b of a row.
#define FOUR(addr, a, b) \
	VPBROADCASTD addr, Y14           \
	VPMADDUBSW   (R10), Y14, Y15     \
	VPMADDUBSW   32(R10), Y14, Y14   \
	VPMADDWD     Y13, Y15, Y15       \
	VPMADDWD     Y13, Y14, Y14       \
	VPADDD       Y15, a, a           \
	VPADDD       Y14, b, b

#define FOURS1 FOUR((SI), Y0, Y1)
#define FOURS2 FOURS1; FOUR((SI)(R9*1), Y2, Y3)
#define FOURS3 FOURS2; FOUR((SI)(R9*2), Y4, Y5)
#define FOURS4 FOURS3; FOUR((R8), Y6, Y7)
#define FOURS5 FOURS4; FOUR((R8)(R9*1), Y8, Y9)
#define FOURS6 FOURS5; FOUR((R8)(R9*2), Y10, Y11)

// STEPS is all steps of a tap.
#define STEPS(FOURS) \
four:                                    \
	PREFETCHT1 (R14)                     \
	FOURS                                \
	ADDQ $64, R14                        \
	ADDQ $64, R10                        \
	ADDQ $4, SI                          \
	ADDQ $4, R8                          \
	DECQ CX                              \
	JNZ  four

// func convInt8x1AVX2(a *convInt8Args)
TEXT ·convInt8x1AVX2(SB), NOSPLIT, $64-8
	VPBROADCASTD convOnes<>(SB), Y13
	TILES(CLEAR1, ZERO1, STEPS(FOURS1), TAP1, OUT1, 1)

// func convInt8x2AVX2(a *convInt8Args)
TEXT ·convInt8x2AVX2(SB), NOSPLIT, $128-8
	VPBROADCASTD convOnes<>(SB), Y13
	TILES(CLEAR2, ZERO2, STEPS(FOURS2), TAP2, OUT2, 2)

// func convInt8x3AVX2(a *convInt8Args)
TEXT ·convInt8x3AVX2(SB), NOSPLIT, $192-8
	VPBROADCASTD convOnes<>(SB), Y13
	TILES(CLEAR3, ZERO3, STEPS(FOURS3), TAP3, OUT3, 3)

// func convInt8x4AVX2(a *convInt8Args)
TEXT ·convInt8x4AVX2(SB), NOSPLIT, $256-8
	VPBROADCASTD convOnes<>(SB), Y13
	TILES(CLEAR4, ZERO4, STEPS(FOURS4), TAP4, OUT4, 4)

// func convInt8x5AVX2(a *convInt8Args)
TEXT ·convInt8x5AVX2(SB), NOSPLIT, $320-8
	VPBROADCASTD convOnes<>(SB), Y13
	TILES(CLEAR5, ZERO5, STEPS(FOURS5), TAP5, OUT5, 5)

// func convInt8x6AVX2(a *convInt8Args)
TEXT ·convInt8x6AVX2(SB), NOSPLIT, $384-8
	VPBROADCASTD convOnes<>(SB), Y13
	TILES(CLEAR6, ZERO6, STEPS(FOURS6), TAP6, OUT6, 6)
