//go:build !purego

// Convolution of unsigned 8-bit activations and signed 8-bit weights on AVX-512, with VNNI and without.
//
// A tile is R rows by one or two panels of 16 outputs; a vector holds a panel. A step takes four inputs. With VNNI one instruction
// multiplies them and adds the products to the sum of each output. Without it, VPMADDUBSW and VPMADDWD do so as on AVX2, which the bound
// on neighbouring weights allows. Sums of taps are exact; then the order of operations is that of all levels.
//
// Registers: R13 = x of the tile, R11 = the same at the current tap, SI and R8 = rows 0 and 3 of it at the current input,
// R9 = distance of rows; R10 = weights, R14 = distance of panels; R15 = weights to fetch ahead; DX = what the codes of rows stand for at
// the current tap; DI, R12 = dst, distance of rows; BX = taps left, CX = steps left; AX = args. Z0 to Z11 = sums of the tap, Z12 to Z23 =
// sums of the taps before; Z24, Z25 = weights; Z28 = ones; K1, K2 = outputs to store. All distances are in bytes.

#include "go_asm.h"
#include "textflag.h"

// Products of the inputs in Z30 and the weights w, added to sum.
#define DOTVNNI(w, sum) \
	VPDPBUSD w, Z30, sum

#define DOTBW(w, sum) \
	VPMADDUBSW w, Z30, Z31   \
	VPMADDWD   Z28, Z31, Z31 \
	VPADDD     Z31, sum, sum

// ONE and TWO add the products of four inputs at addr to the sums of a row, for one panel or two.
#define ONE(DOT, addr, a, b) \
	VPBROADCASTD addr, Z30 \
	DOT(Z24, a)

#define TWO(DOT, addr, a, b) \
	VPBROADCASTD addr, Z30 \
	DOT(Z24, a)            \
	DOT(Z25, b)

#define FOURS1(DOT, N) N(DOT, (SI), Z0, Z1)
#define FOURS2(DOT, N) FOURS1(DOT, N); N(DOT, (SI)(R9*1), Z2, Z3)
#define FOURS3(DOT, N) FOURS2(DOT, N); N(DOT, (SI)(R9*2), Z4, Z5)
#define FOURS4(DOT, N) FOURS3(DOT, N); N(DOT, (R8), Z6, Z7)
#define FOURS5(DOT, N) FOURS4(DOT, N); N(DOT, (R8)(R9*1), Z8, Z9)
#define FOURS6(DOT, N) FOURS5(DOT, N); N(DOT, (R8)(R9*2), Z10, Z11)

#define ZEROS1 VPXORD Z0, Z0, Z0; VPXORD Z1, Z1, Z1
#define ZEROS2 ZEROS1; VPXORD Z2, Z2, Z2; VPXORD Z3, Z3, Z3
#define ZEROS3 ZEROS2; VPXORD Z4, Z4, Z4; VPXORD Z5, Z5, Z5
#define ZEROS4 ZEROS3; VPXORD Z6, Z6, Z6; VPXORD Z7, Z7, Z7
#define ZEROS5 ZEROS4; VPXORD Z8, Z8, Z8; VPXORD Z9, Z9, Z9
#define ZEROS6 ZEROS5; VPXORD Z10, Z10, Z10; VPXORD Z11, Z11, Z11

#define CLEARS1 VPXORD Z12, Z12, Z12; VPXORD Z13, Z13, Z13
#define CLEARS2 CLEARS1; VPXORD Z14, Z14, Z14; VPXORD Z15, Z15, Z15
#define CLEARS3 CLEARS2; VPXORD Z16, Z16, Z16; VPXORD Z17, Z17, Z17
#define CLEARS4 CLEARS3; VPXORD Z18, Z18, Z18; VPXORD Z19, Z19, Z19
#define CLEARS5 CLEARS4; VPXORD Z20, Z20, Z20; VPXORD Z21, Z21, Z21
#define CLEARS6 CLEARS5; VPXORD Z22, Z22, Z22; VPXORD Z23, Z23, Z23

// LESS makes the sum of a tap a float32 number: less the row's zero point in Z30 times the sum of weights w, times its scale in Z31, and
// adds it to total.
#define LESS(sum, w, total) \
	VPMULLD   w, Z30, Z29       \
	VPSUBD    Z29, sum, sum     \
	VCVTDQ2PS sum, sum          \
	VMULPS    Z31, sum, sum     \
	VADDPS    sum, total, total

// TAP does so for the row at SI, going to the next one; sums of weights in Z26 and Z27.
#define TAP1(a, b, ta, tb) \
	VPBROADCASTD 4(SI), Z30              \
	VBROADCASTSS (SI), Z31               \
	ADDQ         convInt8Args_rowStep(AX), SI \
	LESS(a, Z26, ta)

#define TAP2(a, b, ta, tb) \
	TAP1(a, b, ta, tb)                   \
	LESS(b, Z27, tb)

#define TAPS1(TAP) TAP(Z0, Z1, Z12, Z13)
#define TAPS2(TAP) TAPS1(TAP); TAP(Z2, Z3, Z14, Z15)
#define TAPS3(TAP) TAPS2(TAP); TAP(Z4, Z5, Z16, Z17)
#define TAPS4(TAP) TAPS3(TAP); TAP(Z6, Z7, Z18, Z19)
#define TAPS5(TAP) TAPS4(TAP); TAP(Z8, Z9, Z20, Z21)
#define TAPS6(TAP) TAPS5(TAP); TAP(Z10, Z11, Z22, Z23)

// OUT stores a row at DI: its totals times the outputs' scales in Z24 and Z25, plus the biases in Z26 and Z27.
#define OUT1(a, b) \
	VMULPS  Z24, a, a    \
	VADDPS  Z26, a, a    \
	VMOVUPS a, K1, (DI)  \
	ADDQ    R12, DI

#define OUT2(a, b) \
	VMULPS  Z25, b, b     \
	VADDPS  Z27, b, b     \
	VMOVUPS b, K2, 64(DI) \
	OUT1(a, b)

#define OUTS1(OUT) OUT(Z12, Z13)
#define OUTS2(OUT) OUTS1(OUT); OUT(Z14, Z15)
#define OUTS3(OUT) OUTS2(OUT); OUT(Z16, Z17)
#define OUTS4(OUT) OUTS3(OUT); OUT(Z18, Z19)
#define OUTS5(OUT) OUTS4(OUT); OUT(Z20, Z21)
#define OUTS6(OUT) OUTS5(OUT); OUT(Z22, Z23)

// What one panel or two load.
#define WEIGHTS1 VMOVDQU32 (R10), Z24
#define WEIGHTS2 WEIGHTS1; VMOVDQU32 (R10)(R14*1), Z25
#define SUMS1 VMOVDQU32 (R8), Z26
#define SUMS2 SUMS1; ADDQ convInt8Args_sumStep(AX), R8; VMOVDQU32 (R8), Z27
#define ENDS1 VMOVUPS (R10), Z24; VMOVUPS (R11), Z26
#define ENDS2 ENDS1; VMOVUPS 64(R10), Z25; VMOVUPS 64(R11), Z27
#define AHEAD1 PREFETCHT1 (R15)
#define AHEAD2 AHEAD1; PREFETCHT1 (R15)(R14*1)

// TILES is a whole function: rows rows by one panel or two.
#define TILES(DOT, N, WEIGHTS, SUMS, ENDS, AHEAD, TAP, OUT, CLEARS, ZEROS, FOURS, TAPS, OUTS, rows) \
	MOVQ a+0(FP), AX                     \
	MOVQ convInt8Args_dst(AX), DI        \
	MOVQ convInt8Args_x(AX), R13         \
	MOVQ convInt8Args_ldd(AX), R12       \
	MOVQ convInt8Args_ldx(AX), R9        \
	MOVQ convInt8Args_panelStep(AX), R14 \
	KMOVW convInt8Args_mask1(AX), K1     \
	KMOVW convInt8Args_mask2(AX), K2     \
	VPBROADCASTD convOnes512<>(SB), Z28  \
tile:                                    \
	CLEARS                               \
	MOVQ R13, R11                        \
	MOVQ convInt8Args_w(AX), R10         \
	MOVQ convInt8Args_wSum(AX), R8       \
	MOVQ R8, convInt8Args_sum(AX)        \
	MOVQ convInt8Args_ahead(AX), R15     \
	MOVQ convInt8Args_rows(AX), DX       \
	MOVQ convInt8Args_taps(AX), BX       \
tap:                                     \
	ZEROS                                \
	MOVQ R11, SI                         \
	LEAQ (R11)(R9*2), R8                 \
	ADDQ R9, R8                          \
	MOVQ convInt8Args_fours(AX), CX      \
four:                                    \
	AHEAD                                \
	WEIGHTS                              \
	FOURS(DOT, N)                        \
	ADDQ $64, R15                        \
	ADDQ $64, R10                        \
	ADDQ $4, SI                          \
	ADDQ $4, R8                          \
	DECQ CX                              \
	JNZ  four                            \
	MOVQ DX, SI                          \
	MOVQ convInt8Args_sum(AX), R8        \
	ADDQ $64, convInt8Args_sum(AX)       \
	SUMS                                 \
	TAPS(TAP)                            \
	ADDQ convInt8Args_tapStep(AX), R11   \
	ADDQ convInt8Args_tapRows(AX), DX    \
	DECQ BX                              \
	JNZ  tap                             \
	MOVQ convInt8Args_wScale(AX), R10    \
	MOVQ convInt8Args_bias(AX), R11      \
	ENDS                                 \
	OUTS(OUT)                            \
	IMUL3Q $rows, R9, CX                 \
	ADDQ   CX, R13                       \
	MOVQ   convInt8Args_rowStep(AX), CX  \
	IMUL3Q $rows, CX, CX                 \
	ADDQ   CX, convInt8Args_rows(AX)     \
	DECQ   convInt8Args_tiles(AX)        \
	JNZ    tile                          \
	/* Both may point behind the end by now, where the garbage collector takes them for damage. */ \
	MOVQ   $0, convInt8Args_sum(AX)      \
	MOVQ   $0, convInt8Args_rows(AX)     \
	VZEROUPPER                           \
	RET

DATA convOnes512<>+0(SB)/4, $0x00010001
GLOBL convOnes512<>(SB), RODATA|NOPTR, $4

// func convInt8x1x1VNNI(a *convInt8Args)
TEXT ·convInt8x1x1VNNI(SB), NOSPLIT, $0-8
	TILES(DOTVNNI, ONE, WEIGHTS1, SUMS1, ENDS1, AHEAD1, TAP1, OUT1, CLEARS1, ZEROS1, FOURS1, TAPS1, OUTS1, 1)

// func convInt8x2x1VNNI(a *convInt8Args)
TEXT ·convInt8x2x1VNNI(SB), NOSPLIT, $0-8
	TILES(DOTVNNI, ONE, WEIGHTS1, SUMS1, ENDS1, AHEAD1, TAP1, OUT1, CLEARS2, ZEROS2, FOURS2, TAPS2, OUTS2, 2)

// func convInt8x3x1VNNI(a *convInt8Args)
TEXT ·convInt8x3x1VNNI(SB), NOSPLIT, $0-8
	TILES(DOTVNNI, ONE, WEIGHTS1, SUMS1, ENDS1, AHEAD1, TAP1, OUT1, CLEARS3, ZEROS3, FOURS3, TAPS3, OUTS3, 3)

// func convInt8x4x1VNNI(a *convInt8Args)
TEXT ·convInt8x4x1VNNI(SB), NOSPLIT, $0-8
	TILES(DOTVNNI, ONE, WEIGHTS1, SUMS1, ENDS1, AHEAD1, TAP1, OUT1, CLEARS4, ZEROS4, FOURS4, TAPS4, OUTS4, 4)

// func convInt8x5x1VNNI(a *convInt8Args)
TEXT ·convInt8x5x1VNNI(SB), NOSPLIT, $0-8
	TILES(DOTVNNI, ONE, WEIGHTS1, SUMS1, ENDS1, AHEAD1, TAP1, OUT1, CLEARS5, ZEROS5, FOURS5, TAPS5, OUTS5, 5)

// func convInt8x6x1VNNI(a *convInt8Args)
TEXT ·convInt8x6x1VNNI(SB), NOSPLIT, $0-8
	TILES(DOTVNNI, ONE, WEIGHTS1, SUMS1, ENDS1, AHEAD1, TAP1, OUT1, CLEARS6, ZEROS6, FOURS6, TAPS6, OUTS6, 6)

// func convInt8x1x2VNNI(a *convInt8Args)
TEXT ·convInt8x1x2VNNI(SB), NOSPLIT, $0-8
	TILES(DOTVNNI, TWO, WEIGHTS2, SUMS2, ENDS2, AHEAD2, TAP2, OUT2, CLEARS1, ZEROS1, FOURS1, TAPS1, OUTS1, 1)

// func convInt8x2x2VNNI(a *convInt8Args)
TEXT ·convInt8x2x2VNNI(SB), NOSPLIT, $0-8
	TILES(DOTVNNI, TWO, WEIGHTS2, SUMS2, ENDS2, AHEAD2, TAP2, OUT2, CLEARS2, ZEROS2, FOURS2, TAPS2, OUTS2, 2)

// func convInt8x3x2VNNI(a *convInt8Args)
TEXT ·convInt8x3x2VNNI(SB), NOSPLIT, $0-8
	TILES(DOTVNNI, TWO, WEIGHTS2, SUMS2, ENDS2, AHEAD2, TAP2, OUT2, CLEARS3, ZEROS3, FOURS3, TAPS3, OUTS3, 3)

// func convInt8x4x2VNNI(a *convInt8Args)
TEXT ·convInt8x4x2VNNI(SB), NOSPLIT, $0-8
	TILES(DOTVNNI, TWO, WEIGHTS2, SUMS2, ENDS2, AHEAD2, TAP2, OUT2, CLEARS4, ZEROS4, FOURS4, TAPS4, OUTS4, 4)

// func convInt8x5x2VNNI(a *convInt8Args)
TEXT ·convInt8x5x2VNNI(SB), NOSPLIT, $0-8
	TILES(DOTVNNI, TWO, WEIGHTS2, SUMS2, ENDS2, AHEAD2, TAP2, OUT2, CLEARS5, ZEROS5, FOURS5, TAPS5, OUTS5, 5)

// func convInt8x6x2VNNI(a *convInt8Args)
TEXT ·convInt8x6x2VNNI(SB), NOSPLIT, $0-8
	TILES(DOTVNNI, TWO, WEIGHTS2, SUMS2, ENDS2, AHEAD2, TAP2, OUT2, CLEARS6, ZEROS6, FOURS6, TAPS6, OUTS6, 6)

// func convInt8x1x1BW(a *convInt8Args)
TEXT ·convInt8x1x1BW(SB), NOSPLIT, $0-8
	TILES(DOTBW, ONE, WEIGHTS1, SUMS1, ENDS1, AHEAD1, TAP1, OUT1, CLEARS1, ZEROS1, FOURS1, TAPS1, OUTS1, 1)

// func convInt8x2x1BW(a *convInt8Args)
TEXT ·convInt8x2x1BW(SB), NOSPLIT, $0-8
	TILES(DOTBW, ONE, WEIGHTS1, SUMS1, ENDS1, AHEAD1, TAP1, OUT1, CLEARS2, ZEROS2, FOURS2, TAPS2, OUTS2, 2)

// func convInt8x3x1BW(a *convInt8Args)
TEXT ·convInt8x3x1BW(SB), NOSPLIT, $0-8
	TILES(DOTBW, ONE, WEIGHTS1, SUMS1, ENDS1, AHEAD1, TAP1, OUT1, CLEARS3, ZEROS3, FOURS3, TAPS3, OUTS3, 3)

// func convInt8x4x1BW(a *convInt8Args)
TEXT ·convInt8x4x1BW(SB), NOSPLIT, $0-8
	TILES(DOTBW, ONE, WEIGHTS1, SUMS1, ENDS1, AHEAD1, TAP1, OUT1, CLEARS4, ZEROS4, FOURS4, TAPS4, OUTS4, 4)

// func convInt8x5x1BW(a *convInt8Args)
TEXT ·convInt8x5x1BW(SB), NOSPLIT, $0-8
	TILES(DOTBW, ONE, WEIGHTS1, SUMS1, ENDS1, AHEAD1, TAP1, OUT1, CLEARS5, ZEROS5, FOURS5, TAPS5, OUTS5, 5)

// func convInt8x6x1BW(a *convInt8Args)
TEXT ·convInt8x6x1BW(SB), NOSPLIT, $0-8
	TILES(DOTBW, ONE, WEIGHTS1, SUMS1, ENDS1, AHEAD1, TAP1, OUT1, CLEARS6, ZEROS6, FOURS6, TAPS6, OUTS6, 6)

// func convInt8x1x2BW(a *convInt8Args)
TEXT ·convInt8x1x2BW(SB), NOSPLIT, $0-8
	TILES(DOTBW, TWO, WEIGHTS2, SUMS2, ENDS2, AHEAD2, TAP2, OUT2, CLEARS1, ZEROS1, FOURS1, TAPS1, OUTS1, 1)

// func convInt8x2x2BW(a *convInt8Args)
TEXT ·convInt8x2x2BW(SB), NOSPLIT, $0-8
	TILES(DOTBW, TWO, WEIGHTS2, SUMS2, ENDS2, AHEAD2, TAP2, OUT2, CLEARS2, ZEROS2, FOURS2, TAPS2, OUTS2, 2)

// func convInt8x3x2BW(a *convInt8Args)
TEXT ·convInt8x3x2BW(SB), NOSPLIT, $0-8
	TILES(DOTBW, TWO, WEIGHTS2, SUMS2, ENDS2, AHEAD2, TAP2, OUT2, CLEARS3, ZEROS3, FOURS3, TAPS3, OUTS3, 3)

// func convInt8x4x2BW(a *convInt8Args)
TEXT ·convInt8x4x2BW(SB), NOSPLIT, $0-8
	TILES(DOTBW, TWO, WEIGHTS2, SUMS2, ENDS2, AHEAD2, TAP2, OUT2, CLEARS4, ZEROS4, FOURS4, TAPS4, OUTS4, 4)

// func convInt8x5x2BW(a *convInt8Args)
TEXT ·convInt8x5x2BW(SB), NOSPLIT, $0-8
	TILES(DOTBW, TWO, WEIGHTS2, SUMS2, ENDS2, AHEAD2, TAP2, OUT2, CLEARS5, ZEROS5, FOURS5, TAPS5, OUTS5, 5)

// func convInt8x6x2BW(a *convInt8Args)
TEXT ·convInt8x6x2BW(SB), NOSPLIT, $0-8
	TILES(DOTBW, TWO, WEIGHTS2, SUMS2, ENDS2, AHEAD2, TAP2, OUT2, CLEARS6, ZEROS6, FOURS6, TAPS6, OUTS6, 6)
