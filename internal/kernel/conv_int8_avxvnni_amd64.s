//go:build !purego

// Convolution of unsigned 8-bit activations and signed 8-bit weights on AVX2 with AVX-VNNI. Layouts, order of operations and bits are those
// of AVX2.
//
// A step takes four inputs: VPDPBUSD multiplies them with the weights of eight outputs and adds the products to their sums, where AVX2
// needs three instructions. Weights stand in registers for all rows, so a row costs one load for two products.
//
// Such a sum is ready after five cycles, in which ten products can begin: those of a tile of five or six rows, but not of fewer. So tiles
// of up to three rows have two sets of sums, for even steps and odd ones.
//
// Registers are in the header; Y12, Y13 = weights of 16 outputs.

#include "avxvnni_amd64.h"
#include "conv_int8_avx2_amd64.h"

// FOUR adds the products of four inputs at addr, and of the weights in Y12 and Y13, to the sums a and b of a row, registers by number.
#define FOUR(addr, a, b) \
	VPBROADCASTD addr, Y14 \
	DPBUSD(14, 12, a)      \
	DPBUSD(14, 13, b)

// The rows of a tile, those of up to three at off and with sums from a on.
#define FOURS1(off, a) FOUR(off(SI), a, (a+1))
#define FOURS2(off, a) FOURS1(off, a); FOUR(off(SI)(R9*1), (a+2), (a+3))
#define FOURS3(off, a) FOURS2(off, a); FOUR(off(SI)(R9*2), (a+4), (a+5))
#define FOURS4 FOURS3(0, 0); FOUR((R8), 6, 7)
#define FOURS5 FOURS4; FOUR((R8)(R9*1), 8, 9)
#define FOURS6 FOURS5; FOUR((R8)(R9*2), 10, 11)

#define WEIGHTS(off) \
	VMOVDQU off(R10), Y12    \
	VMOVDQU off+32(R10), Y13

// STEPS is all steps of a tap.
#define STEPS(FOURS) \
four:                    \
	PREFETCHT1 (R14)     \
	WEIGHTS(0)           \
	FOURS                \
	ADDQ $64, R14        \
	ADDQ $64, R10        \
	ADDQ $4, SI          \
	ADDQ $4, R8          \
	DECQ CX              \
	JNZ  four

// PAIRS is all steps of a tap with two sets of sums, the second from Y6 on, which JOIN adds to the first.
#define PAIRS(FOURS, JOIN) \
	SUBQ $2, CX          \
	JLT  odd             \
pair:                    \
	PREFETCHT1 (R14)     \
	PREFETCHT1 64(R14)   \
	WEIGHTS(0)           \
	FOURS(0, 0)          \
	WEIGHTS(64)          \
	FOURS(4, 6)          \
	ADDQ $128, R14       \
	ADDQ $128, R10       \
	ADDQ $8, SI          \
	SUBQ $2, CX          \
	JGE  pair            \
odd:                     \
	ADDQ $2, CX          \
	JZ   join            \
	PREFETCHT1 (R14)     \
	WEIGHTS(0)           \
	FOURS(0, 0)          \
	ADDQ $64, R14        \
	ADDQ $64, R10        \
join:                    \
	JOIN

#define JOIN1 VPADDD Y6, Y0, Y0; VPADDD Y7, Y1, Y1
#define JOIN2 JOIN1; VPADDD Y8, Y2, Y2; VPADDD Y9, Y3, Y3
#define JOIN3 JOIN2; VPADDD Y10, Y4, Y4; VPADDD Y11, Y5, Y5

#define ZEROS1 ZERO1; ZERO(Y6, Y7)
#define ZEROS2 ZERO2; ZERO(Y6, Y7); ZERO(Y8, Y9)

// func convInt8x1AVXVNNI(a *convInt8Args)
TEXT ·convInt8x1AVXVNNI(SB), NOSPLIT, $64-8
	TILES(CLEAR1, ZEROS1, PAIRS(FOURS1, JOIN1), TAP1, OUT1, 1)

// func convInt8x2AVXVNNI(a *convInt8Args)
TEXT ·convInt8x2AVXVNNI(SB), NOSPLIT, $128-8
	TILES(CLEAR2, ZEROS2, PAIRS(FOURS2, JOIN2), TAP2, OUT2, 2)

// func convInt8x3AVXVNNI(a *convInt8Args)
TEXT ·convInt8x3AVXVNNI(SB), NOSPLIT, $192-8
	TILES(CLEAR3, ZERO6, PAIRS(FOURS3, JOIN3), TAP3, OUT3, 3)

// func convInt8x4AVXVNNI(a *convInt8Args)
TEXT ·convInt8x4AVXVNNI(SB), NOSPLIT, $256-8
	TILES(CLEAR4, ZERO4, STEPS(FOURS4), TAP4, OUT4, 4)

// func convInt8x5AVXVNNI(a *convInt8Args)
TEXT ·convInt8x5AVXVNNI(SB), NOSPLIT, $320-8
	TILES(CLEAR5, ZERO5, STEPS(FOURS5), TAP5, OUT5, 5)

// func convInt8x6AVXVNNI(a *convInt8Args)
TEXT ·convInt8x6AVXVNNI(SB), NOSPLIT, $384-8
	TILES(CLEAR6, ZERO6, STEPS(FOURS6), TAP6, OUT6, 6)
