//go:build !purego

// Convolution on AVX-512, over panels of 16 outputs.
//
// As on AVX2 (conv_avx2_amd64.s): a tile is up to 14 rows by 2 panels (28 accumulators), up to 8 rows by one panel, or up to 3 rows
// by 4 panels. Each element has a lane of an accumulator that starts as its bias, or as what an earlier call left in dst,
// and takes one product after the other, tap by tap and channel by channel. Each function does args.tiles tiles down the rows.
//
// Registers: R13 = x of the tile, R11 = the same at the current tap; SI, R8 and R15 = rows 0, 5 and 10 of it at the current
// channel, R9 = distance of rows, R14 = thrice that; R10 = weights, R12 = distance of panels (with 4 panels R15 = thrice
// that); DI = dst; BX = taps left, DX = channels, CX = channels left; AX = args; K1, K2 = outputs to store of the panels.
// All distances are in bytes.

#include "go_asm.h"
#include "textflag.h"

#define ARGS \
	MOVQ  a+0(FP), AX                 \
	MOVQ  convArgs_dst(AX), DI        \
	MOVQ  convArgs_x(AX), R13         \
	MOVQ  convArgs_ldx(AX), R9        \
	LEAQ  (R9)(R9*2), R14             \
	MOVQ  convArgs_in(AX), DX         \
	MOVQ  convArgs_panelStep(AX), R12 \
	KMOVW convArgs_mask1(AX), K1      \
	KMOVW convArgs_mask2(AX), K2

// BEGIN starts a tile, whose sums start from what is at R10, R8 between rows: the biases, or dst.
#define BEGIN \
	MOVQ    convArgs_bias(AX), R10 \
	MOVQ    convArgs_ldd(AX), CX   \
	XORL    R8, R8                 \
	TESTQ   R10, R10               \
	CMOVQEQ DI, R10                \
	CMOVQEQ CX, R8              \
	MOVQ    R13, R11               \
	MOVQ    convArgs_taps(AX), BX

// BASES and BASES4 set the bases for a tap at R11.
#define BASES \
	MOVQ R11, SI           \
	LEAQ (R11)(R9*4), R8   \
	ADDQ R9, R8            \
	LEAQ (R8)(R9*4), R15   \
	ADDQ R9, R15

#define BASES4 \
	MOVQ R11, SI           \
	LEAQ (R12)(R12*2), R15

// NEXT and NEXT4 go n channels further, and their weights.
#define NEXT(n) \
	ADDQ $(4*n), SI   \
	ADDQ $(4*n), R8   \
	ADDQ $(4*n), R15  \
	ADDQ $(64*n), R10

#define NEXT4(n) \
	ADDQ $(4*n), SI   \
	ADDQ $(64*n), R10

// FETCH2 and FETCH1 fetch weights ahead, for 2 channels of 2 panels or of one; with few rows each weight is met once, in order.
#define FETCH2 \
	PREFETCHT1 const_convAhead(R10)             \
	PREFETCHT1 const_convAhead+64(R10)          \
	PREFETCHT1 const_convAhead(R10)(R12*1)      \
	PREFETCHT1 const_convAhead+64(R10)(R12*1)

#define FETCH1 \
	PREFETCHT1 const_convAhead(R10)             \
	PREFETCHT1 const_convAhead+64(R10)

#define NOFETCH

// TAPS runs STEP for each tap and channel, two channels at a time.
#define TAPS(SETBASES, STEP, GO, FETCH) \
	MOVQ convArgs_panels(AX), R10 \
tap:                              \
	SETBASES                      \
	MOVQ DX, CX                   \
	SUBQ $2, CX                   \
	JL   odd                      \
pair:                             \
	FETCH                         \
	STEP(0, 0)                    \
	STEP(4, 64)                   \
	GO(2)                         \
	SUBQ $2, CX                   \
	JGE  pair                     \
odd:                              \
	INCQ CX                       \
	JNZ  next                     \
	STEP(0, 0)                    \
	GO(1)                         \
next:                             \
	ADDQ convArgs_tapStep(AX), R11 \
	DECQ BX                       \
	JNZ  tap

// END goes to the tile below.
#define END(rows) \
	IMUL3Q $rows, R9, CX          \
	ADDQ   CX, R13                \
	MOVQ   convArgs_ldd(AX), CX   \
	IMUL3Q $rows, CX, CX          \
	ADDQ   CX, DI                 \
	DECQ   convArgs_tiles(AX)     \
	JNZ    tile                   \
	VZEROUPPER                    \
	RET

// TILES is a whole function: rows rows by one or two panels. Rows are stored at SI, CX apart.
#define TILES(INIT, STEP, STORE, FETCH, rows) \
	ARGS                        \
tile:                           \
	BEGIN                       \
	INIT                        \
	TAPS(BASES, STEP, NEXT, FETCH) \
	MOVQ DI, SI                 \
	MOVQ convArgs_ldd(AX), CX   \
	STORE                       \
	END(rows)

// Two panels: ROW2 adds to the accumulators a and b of a row the products of its x at addr, broadcast to t, and the weights.
#define ROW2(addr, t, a, b) \
	VBROADCASTSS addr, t      \
	VFMADD231PS  Z28, t, a    \
	VFMADD231PS  Z29, t, b

// GET2 loads the accumulators of a row, PUT2 stores them; both go to the next one.
#define GET2(a, b) \
	VMOVUPS.Z (R10), K1, a    \
	VMOVUPS.Z 64(R10), K2, b  \
	ADDQ      R8, R10

#define PUT2(a, b) \
	VMOVUPS a, K1, (SI)       \
	VMOVUPS b, K2, 64(SI)     \
	ADDQ    CX, SI

#define STEP2X1(xo, wo) \
	VMOVUPS wo(R10), Z28 \
	VMOVUPS wo(R10)(R12*1), Z29 \
	ROW2(xo(SI), Z30, Z0, Z1)

#define STEP2X2(xo, wo) \
	STEP2X1(xo, wo) \
	ROW2(xo(SI)(R9*1), Z31, Z2, Z3)

#define STEP2X3(xo, wo) \
	STEP2X2(xo, wo) \
	ROW2(xo(SI)(R9*2), Z30, Z4, Z5)

#define STEP2X4(xo, wo) \
	STEP2X3(xo, wo) \
	ROW2(xo(SI)(R14*1), Z31, Z6, Z7)

#define STEP2X5(xo, wo) \
	STEP2X4(xo, wo) \
	ROW2(xo(SI)(R9*4), Z30, Z8, Z9)

#define STEP2X6(xo, wo) \
	STEP2X5(xo, wo) \
	ROW2(xo(R8), Z31, Z10, Z11)

#define STEP2X7(xo, wo) \
	STEP2X6(xo, wo) \
	ROW2(xo(R8)(R9*1), Z30, Z12, Z13)

#define STEP2X8(xo, wo) \
	STEP2X7(xo, wo) \
	ROW2(xo(R8)(R9*2), Z31, Z14, Z15)

#define STEP2X9(xo, wo) \
	STEP2X8(xo, wo) \
	ROW2(xo(R8)(R14*1), Z30, Z16, Z17)

#define STEP2X10(xo, wo) \
	STEP2X9(xo, wo) \
	ROW2(xo(R8)(R9*4), Z31, Z18, Z19)

#define STEP2X11(xo, wo) \
	STEP2X10(xo, wo) \
	ROW2(xo(R15), Z30, Z20, Z21)

#define STEP2X12(xo, wo) \
	STEP2X11(xo, wo) \
	ROW2(xo(R15)(R9*1), Z31, Z22, Z23)

#define STEP2X13(xo, wo) \
	STEP2X12(xo, wo) \
	ROW2(xo(R15)(R9*2), Z30, Z24, Z25)

#define STEP2X14(xo, wo) \
	STEP2X13(xo, wo) \
	ROW2(xo(R15)(R14*1), Z31, Z26, Z27)

#define INIT2X1 GET2(Z0, Z1)
#define INIT2X2 INIT2X1; GET2(Z2, Z3)
#define INIT2X3 INIT2X2; GET2(Z4, Z5)
#define INIT2X4 INIT2X3; GET2(Z6, Z7)
#define INIT2X5 INIT2X4; GET2(Z8, Z9)
#define INIT2X6 INIT2X5; GET2(Z10, Z11)
#define INIT2X7 INIT2X6; GET2(Z12, Z13)
#define INIT2X8 INIT2X7; GET2(Z14, Z15)
#define INIT2X9 INIT2X8; GET2(Z16, Z17)
#define INIT2X10 INIT2X9; GET2(Z18, Z19)
#define INIT2X11 INIT2X10; GET2(Z20, Z21)
#define INIT2X12 INIT2X11; GET2(Z22, Z23)
#define INIT2X13 INIT2X12; GET2(Z24, Z25)
#define INIT2X14 INIT2X13; GET2(Z26, Z27)

#define STORE2X1 PUT2(Z0, Z1)
#define STORE2X2 STORE2X1; PUT2(Z2, Z3)
#define STORE2X3 STORE2X2; PUT2(Z4, Z5)
#define STORE2X4 STORE2X3; PUT2(Z6, Z7)
#define STORE2X5 STORE2X4; PUT2(Z8, Z9)
#define STORE2X6 STORE2X5; PUT2(Z10, Z11)
#define STORE2X7 STORE2X6; PUT2(Z12, Z13)
#define STORE2X8 STORE2X7; PUT2(Z14, Z15)
#define STORE2X9 STORE2X8; PUT2(Z16, Z17)
#define STORE2X10 STORE2X9; PUT2(Z18, Z19)
#define STORE2X11 STORE2X10; PUT2(Z20, Z21)
#define STORE2X12 STORE2X11; PUT2(Z22, Z23)
#define STORE2X13 STORE2X12; PUT2(Z24, Z25)
#define STORE2X14 STORE2X13; PUT2(Z26, Z27)

// func conv1x2AVX512(a *convArgs)
TEXT ·conv1x2AVX512(SB), NOSPLIT, $0-8
	TILES(INIT2X1, STEP2X1, STORE2X1, FETCH2, 1)

// func conv2x2AVX512(a *convArgs)
TEXT ·conv2x2AVX512(SB), NOSPLIT, $0-8
	TILES(INIT2X2, STEP2X2, STORE2X2, FETCH2, 2)

// func conv3x2AVX512(a *convArgs)
TEXT ·conv3x2AVX512(SB), NOSPLIT, $0-8
	TILES(INIT2X3, STEP2X3, STORE2X3, FETCH2, 3)

// func conv4x2AVX512(a *convArgs)
TEXT ·conv4x2AVX512(SB), NOSPLIT, $0-8
	TILES(INIT2X4, STEP2X4, STORE2X4, FETCH2, 4)

// func conv5x2AVX512(a *convArgs)
TEXT ·conv5x2AVX512(SB), NOSPLIT, $0-8
	TILES(INIT2X5, STEP2X5, STORE2X5, FETCH2, 5)

// func conv6x2AVX512(a *convArgs)
TEXT ·conv6x2AVX512(SB), NOSPLIT, $0-8
	TILES(INIT2X6, STEP2X6, STORE2X6, FETCH2, 6)

// func conv7x2AVX512(a *convArgs)
TEXT ·conv7x2AVX512(SB), NOSPLIT, $0-8
	TILES(INIT2X7, STEP2X7, STORE2X7, FETCH2, 7)

// func conv8x2AVX512(a *convArgs)
TEXT ·conv8x2AVX512(SB), NOSPLIT, $0-8
	TILES(INIT2X8, STEP2X8, STORE2X8, FETCH2, 8)

// func conv9x2AVX512(a *convArgs)
TEXT ·conv9x2AVX512(SB), NOSPLIT, $0-8
	TILES(INIT2X9, STEP2X9, STORE2X9, FETCH2, 9)

// func conv10x2AVX512(a *convArgs)
TEXT ·conv10x2AVX512(SB), NOSPLIT, $0-8
	TILES(INIT2X10, STEP2X10, STORE2X10, FETCH2, 10)

// func conv11x2AVX512(a *convArgs)
TEXT ·conv11x2AVX512(SB), NOSPLIT, $0-8
	TILES(INIT2X11, STEP2X11, STORE2X11, FETCH2, 11)

// func conv12x2AVX512(a *convArgs)
TEXT ·conv12x2AVX512(SB), NOSPLIT, $0-8
	TILES(INIT2X12, STEP2X12, STORE2X12, FETCH2, 12)

// func conv13x2AVX512(a *convArgs)
TEXT ·conv13x2AVX512(SB), NOSPLIT, $0-8
	TILES(INIT2X13, STEP2X13, STORE2X13, FETCH2, 13)

// func conv14x2AVX512(a *convArgs)
TEXT ·conv14x2AVX512(SB), NOSPLIT, $0-8
	TILES(INIT2X14, STEP2X14, STORE2X14, FETCH2, 14)

// One panel: x is broadcast by the multiply-add itself. More than 8 rows would gain nothing, the loads being the limit.
#define ROW1(addr, a) VFMADD231PS.BCST addr, Z28, a

#define GET1(a) \
	VMOVUPS.Z (R10), K1, a    \
	ADDQ      R8, R10

#define PUT1(a) \
	VMOVUPS a, K1, (SI)       \
	ADDQ    CX, SI

#define STEP1X1(xo, wo) \
	VMOVUPS wo(R10), Z28 \
	ROW1(xo(SI), Z0)

#define STEP1X2(xo, wo) \
	STEP1X1(xo, wo) \
	ROW1(xo(SI)(R9*1), Z1)

#define STEP1X3(xo, wo) \
	STEP1X2(xo, wo) \
	ROW1(xo(SI)(R9*2), Z2)

#define STEP1X4(xo, wo) \
	STEP1X3(xo, wo) \
	ROW1(xo(SI)(R14*1), Z3)

#define STEP1X5(xo, wo) \
	STEP1X4(xo, wo) \
	ROW1(xo(SI)(R9*4), Z4)

#define STEP1X6(xo, wo) \
	STEP1X5(xo, wo) \
	ROW1(xo(R8), Z5)

#define STEP1X7(xo, wo) \
	STEP1X6(xo, wo) \
	ROW1(xo(R8)(R9*1), Z6)

#define STEP1X8(xo, wo) \
	STEP1X7(xo, wo) \
	ROW1(xo(R8)(R9*2), Z7)

#define INIT1X1 GET1(Z0)
#define INIT1X2 INIT1X1; GET1(Z1)
#define INIT1X3 INIT1X2; GET1(Z2)
#define INIT1X4 INIT1X3; GET1(Z3)
#define INIT1X5 INIT1X4; GET1(Z4)
#define INIT1X6 INIT1X5; GET1(Z5)
#define INIT1X7 INIT1X6; GET1(Z6)
#define INIT1X8 INIT1X7; GET1(Z7)

#define STORE1X1 PUT1(Z0)
#define STORE1X2 STORE1X1; PUT1(Z1)
#define STORE1X3 STORE1X2; PUT1(Z2)
#define STORE1X4 STORE1X3; PUT1(Z3)
#define STORE1X5 STORE1X4; PUT1(Z4)
#define STORE1X6 STORE1X5; PUT1(Z5)
#define STORE1X7 STORE1X6; PUT1(Z6)
#define STORE1X8 STORE1X7; PUT1(Z7)

// func conv1x1AVX512(a *convArgs)
TEXT ·conv1x1AVX512(SB), NOSPLIT, $0-8
	TILES(INIT1X1, STEP1X1, STORE1X1, FETCH1, 1)

// func conv2x1AVX512(a *convArgs)
TEXT ·conv2x1AVX512(SB), NOSPLIT, $0-8
	TILES(INIT1X2, STEP1X2, STORE1X2, FETCH1, 2)

// func conv3x1AVX512(a *convArgs)
TEXT ·conv3x1AVX512(SB), NOSPLIT, $0-8
	TILES(INIT1X3, STEP1X3, STORE1X3, FETCH1, 3)

// func conv4x1AVX512(a *convArgs)
TEXT ·conv4x1AVX512(SB), NOSPLIT, $0-8
	TILES(INIT1X4, STEP1X4, STORE1X4, FETCH1, 4)

// func conv5x1AVX512(a *convArgs)
TEXT ·conv5x1AVX512(SB), NOSPLIT, $0-8
	TILES(INIT1X5, STEP1X5, STORE1X5, FETCH1, 5)

// func conv6x1AVX512(a *convArgs)
TEXT ·conv6x1AVX512(SB), NOSPLIT, $0-8
	TILES(INIT1X6, STEP1X6, STORE1X6, FETCH1, 6)

// func conv7x1AVX512(a *convArgs)
TEXT ·conv7x1AVX512(SB), NOSPLIT, $0-8
	TILES(INIT1X7, STEP1X7, STORE1X7, FETCH1, 7)

// func conv8x1AVX512(a *convArgs)
TEXT ·conv8x1AVX512(SB), NOSPLIT, $0-8
	TILES(INIT1X8, STEP1X8, STORE1X8, FETCH1, 8)

// Four whole panels, for one to three rows: the weights are read once for all rows.
#define ROW4(addr, t, a, b, c, d) \
	VBROADCASTSS addr, t      \
	VFMADD231PS  Z24, t, a    \
	VFMADD231PS  Z25, t, b    \
	VFMADD231PS  Z26, t, c    \
	VFMADD231PS  Z27, t, d

#define STEP4X1(xo, wo) \
	VMOVUPS wo(R10), Z24         \
	VMOVUPS wo(R10)(R12*1), Z25  \
	VMOVUPS wo(R10)(R12*2), Z26  \
	VMOVUPS wo(R10)(R15*1), Z27  \
	ROW4(xo(SI), Z28, Z0, Z1, Z2, Z3)

#define STEP4X2(xo, wo) \
	STEP4X1(xo, wo)              \
	ROW4(xo(SI)(R9*1), Z29, Z4, Z5, Z6, Z7)

#define STEP4X3(xo, wo) \
	STEP4X2(xo, wo)              \
	ROW4(xo(SI)(R9*2), Z30, Z8, Z9, Z10, Z11)

#define GET4(a, b, c, d) \
	VMOVUPS (R10), a       \
	VMOVUPS 64(R10), b     \
	VMOVUPS 128(R10), c    \
	VMOVUPS 192(R10), d    \
	ADDQ    R8, R10

#define PUT4(a, b, c, d) \
	VMOVUPS a, (SI)        \
	VMOVUPS b, 64(SI)      \
	VMOVUPS c, 128(SI)     \
	VMOVUPS d, 192(SI)     \
	ADDQ    CX, SI

#define INIT4X1 GET4(Z0, Z1, Z2, Z3)
#define INIT4X2 INIT4X1; GET4(Z4, Z5, Z6, Z7)
#define INIT4X3 INIT4X2; GET4(Z8, Z9, Z10, Z11)

#define STORE4X1 PUT4(Z0, Z1, Z2, Z3)
#define STORE4X2 STORE4X1; PUT4(Z4, Z5, Z6, Z7)
#define STORE4X3 STORE4X2; PUT4(Z8, Z9, Z10, Z11)

#define TILES4(INIT, STEP, STORE, rows) \
	ARGS                        \
tile:                           \
	BEGIN                       \
	INIT                        \
	TAPS(BASES4, STEP, NEXT4, NOFETCH) \
	MOVQ DI, SI                 \
	MOVQ convArgs_ldd(AX), CX   \
	STORE                       \
	END(rows)

// func conv1x4AVX512(a *convArgs)
TEXT ·conv1x4AVX512(SB), NOSPLIT, $0-8
	TILES4(INIT4X1, STEP4X1, STORE4X1, 1)

// func conv2x4AVX512(a *convArgs)
TEXT ·conv2x4AVX512(SB), NOSPLIT, $0-8
	TILES4(INIT4X2, STEP4X2, STORE4X2, 2)

// func conv3x4AVX512(a *convArgs)
TEXT ·conv3x4AVX512(SB), NOSPLIT, $0-8
	TILES4(INIT4X3, STEP4X3, STORE4X3, 3)
