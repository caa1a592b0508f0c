//go:build !purego

// Convolution of one to six rows on AVX2 over panels of 16 outputs whose weights are bfloat16: each weight is met once, so it is
// widened on the way to the multiplier. Everything else is as in conv_avx2_amd64.s, registers included; biases are always given.

#include "go_asm.h"
#include "textflag.h"

// WEIGHTS puts the 16 weights of an input to Y12 and Y13.
#define WEIGHTS(wo) \
	VPMOVZXWD wo(R10), Y12    \
	VPMOVZXWD wo+16(R10), Y13 \
	VPSLLD    $16, Y12, Y12   \
	VPSLLD    $16, Y13, Y13

// ROW adds to the accumulators a and b of a row the products of its x at addr, broadcast to t, and the weights in Y12 and Y13.
#define ROW(addr, t, a, b) \
	VBROADCASTSS addr, t      \
	VFMADD231PS  Y12, t, a    \
	VFMADD231PS  Y13, t, b

#define STEP1(xo, wo) \
	WEIGHTS(wo)                       \
	ROW(xo(SI), Y14, Y0, Y1)

#define STEP2(xo, wo) \
	STEP1(xo, wo)                     \
	ROW(xo(SI)(R9*1), Y15, Y2, Y3)

#define STEP3(xo, wo) \
	STEP2(xo, wo)                     \
	ROW(xo(SI)(R9*2), Y14, Y4, Y5)

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

// START loads the biases into the accumulators of a row.
#define START(a, b) \
	VMOVUPS (R10), a   \
	VMOVUPS 32(R10), b

#define START1 START(Y0, Y1)
#define START2 START1; START(Y2, Y3)
#define START3 START2; START(Y4, Y5)
#define START4 START3; START(Y6, Y7)
#define START5 START4; START(Y8, Y9)
#define START6 START5; START(Y10, Y11)

// STORE stores a row at DI, going to the next one.
#define STORE(a, b) \
	VMOVUPS a, (DI)   \
	VMOVUPS b, 32(DI) \
	ADDQ    R12, DI

#define STORE1 STORE(Y0, Y1)
#define STORE2 STORE1; STORE(Y2, Y3)
#define STORE3 STORE2; STORE(Y4, Y5)
#define STORE4 STORE3; STORE(Y6, Y7)
#define STORE5 STORE4; STORE(Y8, Y9)
#define STORE6 STORE5; STORE(Y10, Y11)

// TILE is a whole function: some rows by one panel.
#define TILE(STARTS, STEP, STORES) \
	MOVQ a+0(FP), AX              \
	MOVQ convArgs_dst(AX), DI     \
	MOVQ convArgs_x(AX), R11      \
	MOVQ convArgs_ldd(AX), R12    \
	MOVQ convArgs_ldx(AX), R9     \
	MOVQ convArgs_in(AX), DX      \
	MOVQ convArgs_taps(AX), BX    \
	MOVQ convArgs_bias(AX), R10   \
	STARTS                        \
	MOVQ convArgs_panels(AX), R10 \
tap:                              \
	MOVQ R11, SI                  \
	LEAQ (R11)(R9*2), R8          \
	ADDQ R9, R8                   \
	MOVQ DX, CX                   \
	SUBQ $2, CX                   \
	JL   odd                      \
pair:                             \
	PREFETCHT0 4096(R10) \
	STEP(0, 0)                    \
	STEP(4, 32)                   \
	ADDQ $64, R10                 \
	ADDQ $8, SI                   \
	ADDQ $8, R8                   \
	SUBQ $2, CX                   \
	JGE  pair                     \
odd:                              \
	INCQ CX                       \
	JNZ  next                     \
	STEP(0, 0)                    \
	ADDQ $32, R10                 \
next:                             \
	ADDQ convArgs_tapStep(AX), R11 \
	DECQ BX                       \
	JNZ  tap                      \
	STORES                        \
	VZEROUPPER                    \
	RET

// func convBF16x1AVX2(a *convArgs)
TEXT ·convBF16x1AVX2(SB), NOSPLIT, $0-8
	TILE(START1, STEP1, STORE1)

// func convBF16x2AVX2(a *convArgs)
TEXT ·convBF16x2AVX2(SB), NOSPLIT, $0-8
	TILE(START2, STEP2, STORE2)

// func convBF16x3AVX2(a *convArgs)
TEXT ·convBF16x3AVX2(SB), NOSPLIT, $0-8
	TILE(START3, STEP3, STORE3)

// func convBF16x4AVX2(a *convArgs)
TEXT ·convBF16x4AVX2(SB), NOSPLIT, $0-8
	TILE(START4, STEP4, STORE4)

// func convBF16x5AVX2(a *convArgs)
TEXT ·convBF16x5AVX2(SB), NOSPLIT, $0-8
	TILE(START5, STEP5, STORE5)

// func convBF16x6AVX2(a *convArgs)
TEXT ·convBF16x6AVX2(SB), NOSPLIT, $0-8
	TILE(START6, STEP6, STORE6)
