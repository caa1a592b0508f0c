//go:build !purego

// Convolution of one to six rows on AVX-512 over one panel of 16 outputs or two whose weights are bfloat16: each weight is met once, so
// it is widened on the way to the multiplier. Everything else is as in conv_avx512_amd64.s; biases are always given.
//
// Registers: R11 = x at the current tap, SI and R8 = rows 0 and 3 of it at the current channel, R9 = distance of rows; R10 = weights,
// R14 = distance of panels; DI, R12 = dst, distance of rows; BX = taps left, CX = channels left; AX = args. Z0 to Z11 = sums; Z24,
// Z25 = weights; K1, K2 = outputs to store. All distances are in bytes.

#include "go_asm.h"
#include "textflag.h"

// WEIGHTS puts the 16 weights of an input to Z24, and those of the second panel to Z25, and fetches some further on.
#define WEIGHTS1 \
	PREFETCHT0 4096(R10)      \
	VPMOVZXWD  (R10), Z24     \
	VPSLLD     $16, Z24, Z24

#define WEIGHTS2 \
	WEIGHTS1                      \
	PREFETCHT0 4096(R10)(R14*1)   \
	VPMOVZXWD  (R10)(R14*1), Z25  \
	VPSLLD     $16, Z25, Z25

// ROW adds to the sums of a row the products of its x at addr.
#define ROW1(addr, a, b) \
	VFMADD231PS.BCST addr, Z24, a

#define ROW2(addr, a, b) \
	VBROADCASTSS addr, Z26        \
	VFMADD231PS  Z24, Z26, a      \
	VFMADD231PS  Z25, Z26, b

#define ROWS1(ROW) ROW((SI), Z0, Z1)
#define ROWS2(ROW) ROWS1(ROW); ROW((SI)(R9*1), Z2, Z3)
#define ROWS3(ROW) ROWS2(ROW); ROW((SI)(R9*2), Z4, Z5)
#define ROWS4(ROW) ROWS3(ROW); ROW((R8), Z6, Z7)
#define ROWS5(ROW) ROWS4(ROW); ROW((R8)(R9*1), Z8, Z9)
#define ROWS6(ROW) ROWS5(ROW); ROW((R8)(R9*2), Z10, Z11)

#define START1(a, b) VMOVUPS (R10), a
#define START2(a, b) VMOVUPS (R10), a; VMOVUPS 64(R10), b

#define STARTS1(START) START(Z0, Z1)
#define STARTS2(START) STARTS1(START); START(Z2, Z3)
#define STARTS3(START) STARTS2(START); START(Z4, Z5)
#define STARTS4(START) STARTS3(START); START(Z6, Z7)
#define STARTS5(START) STARTS4(START); START(Z8, Z9)
#define STARTS6(START) STARTS5(START); START(Z10, Z11)

// STORE stores a row at DI, going to the next one.
#define STORE1(a, b) VMOVUPS a, K1, (DI); ADDQ R12, DI
#define STORE2(a, b) VMOVUPS b, K2, 64(DI); STORE1(a, b)

#define STORES1(STORE) STORE(Z0, Z1)
#define STORES2(STORE) STORES1(STORE); STORE(Z2, Z3)
#define STORES3(STORE) STORES2(STORE); STORE(Z4, Z5)
#define STORES4(STORE) STORES3(STORE); STORE(Z6, Z7)
#define STORES5(STORE) STORES4(STORE); STORE(Z8, Z9)
#define STORES6(STORE) STORES5(STORE); STORE(Z10, Z11)

// TILE is a whole function: some rows by one panel or two.
#define TILE(WEIGHTS, ROW, START, STORE, ROWS, STARTS, STORES) \
	MOVQ a+0(FP), AX                \
	MOVQ convArgs_dst(AX), DI       \
	MOVQ convArgs_x(AX), R11        \
	MOVQ convArgs_ldd(AX), R12      \
	MOVQ convArgs_ldx(AX), R9       \
	MOVQ convArgs_taps(AX), BX      \
	MOVQ convArgs_panelStep(AX), R14 \
	KMOVW convArgs_mask1(AX), K1    \
	KMOVW convArgs_mask2(AX), K2    \
	MOVQ convArgs_bias(AX), R10     \
	STARTS(START)                   \
	MOVQ convArgs_panels(AX), R10   \
tap:                                \
	MOVQ R11, SI                    \
	LEAQ (R11)(R9*2), R8            \
	ADDQ R9, R8                     \
	MOVQ convArgs_in(AX), CX        \
channel:                            \
	WEIGHTS                         \
	ROWS(ROW)                       \
	ADDQ $32, R10                   \
	ADDQ $4, SI                     \
	ADDQ $4, R8                     \
	DECQ CX                         \
	JNZ  channel                    \
	ADDQ convArgs_tapStep(AX), R11  \
	DECQ BX                         \
	JNZ  tap                        \
	STORES(STORE)                   \
	VZEROUPPER                      \
	RET

// func convBF16x1x1AVX512(a *convArgs)
TEXT ·convBF16x1x1AVX512(SB), NOSPLIT, $0-8
	TILE(WEIGHTS1, ROW1, START1, STORE1, ROWS1, STARTS1, STORES1)

// func convBF16x2x1AVX512(a *convArgs)
TEXT ·convBF16x2x1AVX512(SB), NOSPLIT, $0-8
	TILE(WEIGHTS1, ROW1, START1, STORE1, ROWS2, STARTS2, STORES2)

// func convBF16x3x1AVX512(a *convArgs)
TEXT ·convBF16x3x1AVX512(SB), NOSPLIT, $0-8
	TILE(WEIGHTS1, ROW1, START1, STORE1, ROWS3, STARTS3, STORES3)

// func convBF16x4x1AVX512(a *convArgs)
TEXT ·convBF16x4x1AVX512(SB), NOSPLIT, $0-8
	TILE(WEIGHTS1, ROW1, START1, STORE1, ROWS4, STARTS4, STORES4)

// func convBF16x5x1AVX512(a *convArgs)
TEXT ·convBF16x5x1AVX512(SB), NOSPLIT, $0-8
	TILE(WEIGHTS1, ROW1, START1, STORE1, ROWS5, STARTS5, STORES5)

// func convBF16x6x1AVX512(a *convArgs)
TEXT ·convBF16x6x1AVX512(SB), NOSPLIT, $0-8
	TILE(WEIGHTS1, ROW1, START1, STORE1, ROWS6, STARTS6, STORES6)

// func convBF16x1x2AVX512(a *convArgs)
TEXT ·convBF16x1x2AVX512(SB), NOSPLIT, $0-8
	TILE(WEIGHTS2, ROW2, START2, STORE2, ROWS1, STARTS1, STORES1)

// func convBF16x2x2AVX512(a *convArgs)
TEXT ·convBF16x2x2AVX512(SB), NOSPLIT, $0-8
	TILE(WEIGHTS2, ROW2, START2, STORE2, ROWS2, STARTS2, STORES2)

// func convBF16x3x2AVX512(a *convArgs)
TEXT ·convBF16x3x2AVX512(SB), NOSPLIT, $0-8
	TILE(WEIGHTS2, ROW2, START2, STORE2, ROWS3, STARTS3, STORES3)

// func convBF16x4x2AVX512(a *convArgs)
TEXT ·convBF16x4x2AVX512(SB), NOSPLIT, $0-8
	TILE(WEIGHTS2, ROW2, START2, STORE2, ROWS4, STARTS4, STORES4)

// func convBF16x5x2AVX512(a *convArgs)
TEXT ·convBF16x5x2AVX512(SB), NOSPLIT, $0-8
	TILE(WEIGHTS2, ROW2, START2, STORE2, ROWS5, STARTS5, STORES5)

// func convBF16x6x2AVX512(a *convArgs)
TEXT ·convBF16x6x2AVX512(SB), NOSPLIT, $0-8
	TILE(WEIGHTS2, ROW2, START2, STORE2, ROWS6, STARTS6, STORES6)
