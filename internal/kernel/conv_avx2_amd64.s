//go:build !purego

// Convolution on AVX2 with FMA, over panels of 16 outputs.
//
// A tile is R rows by P panels of 16 outputs: each element has a lane of an accumulator that starts as its bias, or as what an
// earlier call left in dst, and takes one product after the other, tap by tap and channel by channel, so the order does not
// depend on the tile. Six rows by one panel
// keep 12 chains of multiply-adds going; with fewer rows, more panels are taken at once to have at least 8. Each function does args.tiles
// tiles down the rows.
//
// Registers: R13 = x of the tile, R11 = the same at the current tap, SI and R8 = rows 0 and 3 of it at the current channel,
// R9 = distance of rows; R10 = weights; DI, R12 = dst, distance of rows; BX = taps left, DX = channels, CX = channels left;
// R14 = distance of panels, R15 = thrice that; AX = args. All distances are in bytes.

#include "go_asm.h"
#include "textflag.h"

#define ARGS \
	MOVQ a+0(FP), AX              \
	MOVQ convArgs_dst(AX), DI     \
	MOVQ convArgs_x(AX), R13      \
	MOVQ convArgs_ldd(AX), R12    \
	MOVQ convArgs_ldx(AX), R9     \
	MOVQ convArgs_in(AX), DX      \
	MOVQ convArgs_panelStep(AX), R14 \
	LEAQ (R14)(R14*2), R15

// BEGIN starts a tile, whose sums start from what is at R10, R8 between rows: the biases, or dst.
#define BEGIN \
	MOVQ    convArgs_bias(AX), R10 \
	XORL    R8, R8                 \
	TESTQ   R10, R10               \
	CMOVQEQ DI, R10                \
	CMOVQEQ R12, R8              \
	MOVQ    R13, R11               \
	MOVQ    convArgs_taps(AX), BX

// TAPS runs STEP for each tap and channel, two channels at a time, and fetches weights ahead.
#define TAPS(STEP) \
	MOVQ convArgs_panels(AX), R10 \
tap:                              \
	MOVQ R11, SI                  \
	LEAQ (R11)(R9*2), R8          \
	ADDQ R9, R8                   \
	MOVQ DX, CX                   \
	SUBQ $2, CX                   \
	JL   odd                      \
pair:                             \
	PREFETCHT0 const_convAhead(R10)    \
	PREFETCHT0 const_convAhead+64(R10) \
	STEP(0, 0)                    \
	STEP(4, 64)                   \
	ADDQ $128, R10                \
	ADDQ $8, SI                   \
	ADDQ $8, R8                   \
	SUBQ $2, CX                   \
	JGE  pair                     \
odd:                              \
	INCQ CX                       \
	JNZ  next                     \
	STEP(0, 0)                    \
	ADDQ $64, R10                 \
next:                             \
	ADDQ convArgs_tapStep(AX), R11 \
	DECQ BX                       \
	JNZ  tap

// END goes to the tile below.
#define END(rows) \
	IMUL3Q $rows, R9, CX          \
	ADDQ   CX, R13                \
	IMUL3Q $rows, R12, CX         \
	ADDQ   CX, DI                 \
	DECQ   convArgs_tiles(AX)     \
	JNZ    tile                   \
	VZEROUPPER                    \
	RET

// ROW adds to the accumulators a and b of a row the products of its x at addr, broadcast to t, and the weights in Y12 and Y13.
#define ROW(addr, t, a, b) \
	VBROADCASTSS addr, t      \
	VFMADD231PS  Y12, t, a    \
	VFMADD231PS  Y13, t, b

#define WEIGHTS(wo) \
	VMOVUPS wo(R10), Y12     \
	VMOVUPS wo+32(R10), Y13

#define STEP4(xo, wo) \
	WEIGHTS(wo)                       \
	ROW(xo(SI), Y14, Y0, Y1)          \
	ROW(xo(SI)(R9*1), Y15, Y2, Y3)    \
	ROW(xo(SI)(R9*2), Y14, Y4, Y5)    \
	ROW(xo(R8), Y15, Y6, Y7)

#define STEP5(xo, wo) \
	STEP4(xo, wo)                     \
	ROW(xo(R8)(R9*1), Y14, Y8, Y9)

#define STEP6(xo, wo) \
	STEP5(xo, wo)                     \
	ROW(xo(R8)(R9*2), Y15, Y10, Y11)

#define STEP1(xo, wo) \
	WEIGHTS(wo)                       \
	ROW(xo(SI), Y14, Y0, Y1)

#define STEP2(xo, wo) \
	STEP1(xo, wo)                     \
	ROW(xo(SI)(R9*1), Y15, Y2, Y3)

#define STEP3(xo, wo) \
	STEP2(xo, wo)                     \
	ROW(xo(SI)(R9*2), Y14, Y4, Y5)

// GET loads the accumulators of a row, and goes to the next one.
#define GET(a, b) \
	VMOVUPS (R10), a   \
	VMOVUPS 32(R10), b \
	ADDQ    R8, R10

#define INIT1 GET(Y0, Y1)
#define INIT2 INIT1; GET(Y2, Y3)
#define INIT3 INIT2; GET(Y4, Y5)
#define INIT4 INIT3; GET(Y6, Y7)
#define INIT5 INIT4; GET(Y8, Y9)
#define INIT6 INIT5; GET(Y10, Y11)

// Stores of a row at SI, going to the next one: whole, or of the outputs under the masks Y14 and Y15.
#define WHOLE(a, b) \
	VMOVUPS a, (SI)   \
	VMOVUPS b, 32(SI) \
	ADDQ    R12, SI

#define PART(a, b) \
	VMASKMOVPS a, Y14, (SI)   \
	VMASKMOVPS b, Y15, 32(SI) \
	ADDQ       R12, SI

#define STORE1(ST) ST(Y0, Y1)
#define STORE2(ST) STORE1(ST); ST(Y2, Y3)
#define STORE3(ST) STORE2(ST); ST(Y4, Y5)
#define STORE4(ST) STORE3(ST); ST(Y6, Y7)
#define STORE5(ST) STORE4(ST); ST(Y8, Y9)
#define STORE6(ST) STORE5(ST); ST(Y10, Y11)

// TILES is a whole function: rows rows by one panel.
#define TILES(INIT, STEP, STORE, rows) \
	ARGS                              \
tile:                                 \
	BEGIN                             \
	INIT                              \
	TAPS(STEP)                        \
	MOVQ DI, SI                       \
	MOVQ convArgs_outs(AX), CX        \
	CMPQ CX, $16                      \
	JNE  part                         \
	STORE(WHOLE)                      \
	JMP  end                          \
part:                                 \
	LEAQ ·panelLanes(SB), R8          \
	SHLQ $6, CX                       \
	VMOVUPS (R8)(CX*1), Y14           \
	VMOVUPS 32(R8)(CX*1), Y15         \
	STORE(PART)                       \
end:                                  \
	END(rows)

// func conv1x1AVX2(a *convArgs)
TEXT ·conv1x1AVX2(SB), NOSPLIT, $0-8
	TILES(INIT1, STEP1, STORE1, 1)

// func conv2x1AVX2(a *convArgs)
TEXT ·conv2x1AVX2(SB), NOSPLIT, $0-8
	TILES(INIT2, STEP2, STORE2, 2)

// func conv3x1AVX2(a *convArgs)
TEXT ·conv3x1AVX2(SB), NOSPLIT, $0-8
	TILES(INIT3, STEP3, STORE3, 3)

// func conv4x1AVX2(a *convArgs)
TEXT ·conv4x1AVX2(SB), NOSPLIT, $0-8
	TILES(INIT4, STEP4, STORE4, 4)

// func conv5x1AVX2(a *convArgs)
TEXT ·conv5x1AVX2(SB), NOSPLIT, $0-8
	TILES(INIT5, STEP5, STORE5, 5)

// func conv6x1AVX2(a *convArgs)
TEXT ·conv6x1AVX2(SB), NOSPLIT, $0-8
	TILES(INIT6, STEP6, STORE6, 6)

// One row by 4 whole panels.
#define STEP1X4(xo, wo) \
	VBROADCASTSS xo(SI), Y15                  \
	VFMADD231PS  wo(R10), Y15, Y0             \
	VFMADD231PS  wo+32(R10), Y15, Y1          \
	VFMADD231PS  wo(R10)(R14*1), Y15, Y2      \
	VFMADD231PS  wo+32(R10)(R14*1), Y15, Y3   \
	VFMADD231PS  wo(R10)(R14*2), Y15, Y4      \
	VFMADD231PS  wo+32(R10)(R14*2), Y15, Y5   \
	VFMADD231PS  wo(R10)(R15*1), Y15, Y6      \
	VFMADD231PS  wo+32(R10)(R15*1), Y15, Y7

// func conv1x4AVX2(a *convArgs)
TEXT ·conv1x4AVX2(SB), NOSPLIT, $0-8
	ARGS

tile:
	BEGIN
	VMOVUPS (R10), Y0
	VMOVUPS 32(R10), Y1
	VMOVUPS 64(R10), Y2
	VMOVUPS 96(R10), Y3
	VMOVUPS 128(R10), Y4
	VMOVUPS 160(R10), Y5
	VMOVUPS 192(R10), Y6
	VMOVUPS 224(R10), Y7
	TAPS(STEP1X4)
	VMOVUPS Y0, (DI)
	VMOVUPS Y1, 32(DI)
	VMOVUPS Y2, 64(DI)
	VMOVUPS Y3, 96(DI)
	VMOVUPS Y4, 128(DI)
	VMOVUPS Y5, 160(DI)
	VMOVUPS Y6, 192(DI)
	VMOVUPS Y7, 224(DI)
	END(1)

// Two and three rows by 2 whole panels.
#define STEP2X2(xo, wo) \
	VBROADCASTSS xo(SI), Y13                  \
	VBROADCASTSS xo(SI)(R9*1), Y14            \
	VMOVUPS      wo(R10), Y12                 \
	VFMADD231PS  Y12, Y13, Y0                 \
	VFMADD231PS  Y12, Y14, Y4                 \
	VMOVUPS      wo+32(R10), Y12              \
	VFMADD231PS  Y12, Y13, Y1                 \
	VFMADD231PS  Y12, Y14, Y5                 \
	VMOVUPS      wo(R10)(R14*1), Y12          \
	VFMADD231PS  Y12, Y13, Y2                 \
	VFMADD231PS  Y12, Y14, Y6                 \
	VMOVUPS      wo+32(R10)(R14*1), Y12       \
	VFMADD231PS  Y12, Y13, Y3                 \
	VFMADD231PS  Y12, Y14, Y7

#define STEP3X2(xo, wo) \
	VBROADCASTSS xo(SI), Y13                  \
	VBROADCASTSS xo(SI)(R9*1), Y14            \
	VBROADCASTSS xo(SI)(R9*2), Y15            \
	VMOVUPS      wo(R10), Y12                 \
	VFMADD231PS  Y12, Y13, Y0                 \
	VFMADD231PS  Y12, Y14, Y4                 \
	VFMADD231PS  Y12, Y15, Y8                 \
	VMOVUPS      wo+32(R10), Y12              \
	VFMADD231PS  Y12, Y13, Y1                 \
	VFMADD231PS  Y12, Y14, Y5                 \
	VFMADD231PS  Y12, Y15, Y9                 \
	VMOVUPS      wo(R10)(R14*1), Y12          \
	VFMADD231PS  Y12, Y13, Y2                 \
	VFMADD231PS  Y12, Y14, Y6                 \
	VFMADD231PS  Y12, Y15, Y10                \
	VMOVUPS      wo+32(R10)(R14*1), Y12       \
	VFMADD231PS  Y12, Y13, Y3                 \
	VFMADD231PS  Y12, Y14, Y7                 \
	VFMADD231PS  Y12, Y15, Y11

#define GETX2(a, b, c, d) \
	VMOVUPS (R10), a     \
	VMOVUPS 32(R10), b   \
	VMOVUPS 64(R10), c   \
	VMOVUPS 96(R10), d   \
	ADDQ    R8, R10

#define STOREX2(a, b, c, d) \
	VMOVUPS a, (SI)      \
	VMOVUPS b, 32(SI)    \
	VMOVUPS c, 64(SI)    \
	VMOVUPS d, 96(SI)    \
	ADDQ    R12, SI

// func conv2x2AVX2(a *convArgs)
TEXT ·conv2x2AVX2(SB), NOSPLIT, $0-8
	ARGS

tile:
	BEGIN
	GETX2(Y0, Y1, Y2, Y3)
	GETX2(Y4, Y5, Y6, Y7)
	TAPS(STEP2X2)
	MOVQ DI, SI
	STOREX2(Y0, Y1, Y2, Y3)
	STOREX2(Y4, Y5, Y6, Y7)
	END(2)

// func conv3x2AVX2(a *convArgs)
TEXT ·conv3x2AVX2(SB), NOSPLIT, $0-8
	ARGS

tile:
	BEGIN
	GETX2(Y0, Y1, Y2, Y3)
	GETX2(Y4, Y5, Y6, Y7)
	GETX2(Y8, Y9, Y10, Y11)
	TAPS(STEP3X2)
	MOVQ DI, SI
	STOREX2(Y0, Y1, Y2, Y3)
	STOREX2(Y4, Y5, Y6, Y7)
	STOREX2(Y8, Y9, Y10, Y11)
	END(3)
