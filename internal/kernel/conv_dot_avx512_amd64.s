//go:build !purego

// Convolution of bfloat16 activations and weights on AVX-512 with BF16.
//
// A tile is R rows by one or two panels of 16 outputs; a vector holds a panel. A step takes two inputs: their weights lie one after the
// other, 16 each, and VPERMW puts the two of an output side by side, as VDPBF16PS wants them. That multiplies them by the two inputs of a
// row and adds first the second product to the output's sum, then the first one. The last input of an odd number meets zeros.
//
// The assembler does not know the instructions of BF16. EVEX writes them, three registers by number; DOT is sum += a * b.
//
// Registers: R13 = x of the tile, R11 = the same at the current tap, SI and R8 = rows 0 and 3 of it at the current input,
// R9 = distance of rows; R10 = weights, R14 = distance of panels; DI, R12 = dst, distance of rows; BX = taps left, CX = steps left,
// DX = steps of a tap; AX = args. Z0 to Z11 = sums; Z24, Z25 = weights, Z27 = their order, Z30 = inputs; K1, K2 = outputs to store. All
// distances are in bytes.

#include "go_asm.h"
#include "textflag.h"

#define EVEX(opcode, a, b, to) \
	BYTE $0x62; \
	BYTE $(((1-(to/8)%2)<<7)|((1-b/16)<<6)|((1-(b/8)%2)<<5)|((1-to/16)<<4)|0x02); \
	BYTE $(((15-a%16)<<3)|0x06); \
	BYTE $(0x40|((1-a/16)<<3)); \
	BYTE $opcode; \
	BYTE $(0xC0|((to%8)<<3)|(b%8))

#define DOT(a, b, sum) EVEX(0x52, a, b, sum)

// ONE and TWO add the products of two inputs at addr to the sums of a row, for one panel or two.
#define ONE(addr, a, b) \
	VPBROADCASTD addr, Z30 \
	DOT(24, 30, a)

#define TWO(addr, a, b) \
	VPBROADCASTD addr, Z30 \
	DOT(24, 30, a)         \
	DOT(25, 30, b)

#define ROWS1(N) N((SI), 0, 1)
#define ROWS2(N) ROWS1(N); N((SI)(R9*1), 2, 3)
#define ROWS3(N) ROWS2(N); N((SI)(R9*2), 4, 5)
#define ROWS4(N) ROWS3(N); N((R8), 6, 7)
#define ROWS5(N) ROWS4(N); N((R8)(R9*1), 8, 9)
#define ROWS6(N) ROWS5(N); N((R8)(R9*2), 10, 11)

// What one panel or two load for a pair of inputs, and for the last one without a partner.
#define PAIR1 PREFETCHT0 4096(R10); VPERMW (R10), Z27, Z24
#define PAIR2 PAIR1; PREFETCHT0 4096(R10)(R14*1); VPERMW (R10)(R14*1), Z27, Z25
#define LAST1 VMOVDQU16 (R10), Y24; VPERMW Z24, Z27, Z24
#define LAST2 LAST1; VMOVDQU16 (R10)(R14*1), Y25; VPERMW Z25, Z27, Z25

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

// TILES is a whole function: rows rows by one or two panels.
#define TILES(N, PAIR, LAST, START, STORE, ROWS, STARTS, STORES, rows) \
	MOVQ a+0(FP), AX                  \
	MOVQ convDotArgs_dst(AX), DI      \
	MOVQ convDotArgs_x(AX), R13       \
	MOVQ convDotArgs_ldd(AX), R12     \
	MOVQ convDotArgs_ldx(AX), R9      \
	MOVQ convDotArgs_pairs(AX), DX    \
	MOVQ convDotArgs_panelStep(AX), R14 \
	KMOVW convDotArgs_mask1(AX), K1   \
	KMOVW convDotArgs_mask2(AX), K2   \
	VMOVDQU16 ·pairOrder(SB), Z27     \
tile:                                 \
	MOVQ convDotArgs_bias(AX), R10    \
	STARTS(START)                     \
	MOVQ R13, R11                     \
	MOVQ convDotArgs_w(AX), R10       \
	MOVQ convDotArgs_taps(AX), BX     \
tap:                                  \
	MOVQ R11, SI                      \
	LEAQ (R11)(R9*2), R8              \
	ADDQ R9, R8                       \
	MOVQ DX, CX                       \
	TESTQ CX, CX                      \
	JZ   last                         \
pair:                                 \
	PAIR                              \
	ROWS(N)                           \
	ADDQ $64, R10                     \
	ADDQ $4, SI                       \
	ADDQ $4, R8                       \
	DECQ CX                           \
	JNZ  pair                         \
last:                                 \
	CMPQ convDotArgs_last(AX), $0     \
	JEQ  next                         \
	LAST                              \
	ROWS(N)                           \
	ADDQ $32, R10                     \
next:                                 \
	ADDQ convDotArgs_tapStep(AX), R11 \
	DECQ BX                           \
	JNZ  tap                          \
	STORES(STORE)                     \
	IMUL3Q $rows, R9, CX              \
	ADDQ CX, R13                      \
	DECQ convDotArgs_tiles(AX)        \
	JNZ  tile                         \
	VZEROUPPER                        \
	RET

// func narrowBF16AVX512(dst *uint16, x *float32, n int)
// n must be at least 1. A mask selects the last values of x, and with their partner, which is 0, those of dst.
TEXT ·narrowBF16AVX512(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ n+16(FP), CX
	SUBQ $16, CX
	JL   tail

loop:
	VMOVUPS (SI), Z0
	EVEX(0x72, 0, 0, 1)
	VMOVDQU Y1, (DI)
	ADDQ    $64, SI
	ADDQ    $32, DI
	SUBQ    $16, CX
	JGE     loop

tail:
	ADDQ  $16, CX
	JZ    done
	MOVL  $1, AX
	SHLL  CX, AX
	DECL  AX
	KMOVW AX, K1
	INCL  CX
	ANDL  $30, CX
	MOVL  $1, AX
	SHLL  CX, AX
	DECL  AX
	KMOVW AX, K2
	VMOVUPS.Z (SI), K1, Z0
	EVEX(0x72, 0, 0, 1)
	VMOVDQU16 Y1, K2, (DI)

done:
	VZEROUPPER
	RET

// func convDot1x1AVX512(a *convDotArgs)
TEXT ·convDot1x1AVX512(SB), NOSPLIT, $0-8
	TILES(ONE, PAIR1, LAST1, START1, STORE1, ROWS1, STARTS1, STORES1, 1)

// func convDot2x1AVX512(a *convDotArgs)
TEXT ·convDot2x1AVX512(SB), NOSPLIT, $0-8
	TILES(ONE, PAIR1, LAST1, START1, STORE1, ROWS2, STARTS2, STORES2, 2)

// func convDot3x1AVX512(a *convDotArgs)
TEXT ·convDot3x1AVX512(SB), NOSPLIT, $0-8
	TILES(ONE, PAIR1, LAST1, START1, STORE1, ROWS3, STARTS3, STORES3, 3)

// func convDot4x1AVX512(a *convDotArgs)
TEXT ·convDot4x1AVX512(SB), NOSPLIT, $0-8
	TILES(ONE, PAIR1, LAST1, START1, STORE1, ROWS4, STARTS4, STORES4, 4)

// func convDot5x1AVX512(a *convDotArgs)
TEXT ·convDot5x1AVX512(SB), NOSPLIT, $0-8
	TILES(ONE, PAIR1, LAST1, START1, STORE1, ROWS5, STARTS5, STORES5, 5)

// func convDot6x1AVX512(a *convDotArgs)
TEXT ·convDot6x1AVX512(SB), NOSPLIT, $0-8
	TILES(ONE, PAIR1, LAST1, START1, STORE1, ROWS6, STARTS6, STORES6, 6)

// func convDot1x2AVX512(a *convDotArgs)
TEXT ·convDot1x2AVX512(SB), NOSPLIT, $0-8
	TILES(TWO, PAIR2, LAST2, START2, STORE2, ROWS1, STARTS1, STORES1, 1)

// func convDot2x2AVX512(a *convDotArgs)
TEXT ·convDot2x2AVX512(SB), NOSPLIT, $0-8
	TILES(TWO, PAIR2, LAST2, START2, STORE2, ROWS2, STARTS2, STORES2, 2)

// func convDot3x2AVX512(a *convDotArgs)
TEXT ·convDot3x2AVX512(SB), NOSPLIT, $0-8
	TILES(TWO, PAIR2, LAST2, START2, STORE2, ROWS3, STARTS3, STORES3, 3)

// func convDot4x2AVX512(a *convDotArgs)
TEXT ·convDot4x2AVX512(SB), NOSPLIT, $0-8
	TILES(TWO, PAIR2, LAST2, START2, STORE2, ROWS4, STARTS4, STORES4, 4)

// func convDot5x2AVX512(a *convDotArgs)
TEXT ·convDot5x2AVX512(SB), NOSPLIT, $0-8
	TILES(TWO, PAIR2, LAST2, START2, STORE2, ROWS5, STARTS5, STORES5, 5)

// func convDot6x2AVX512(a *convDotArgs)
TEXT ·convDot6x2AVX512(SB), NOSPLIT, $0-8
	TILES(TWO, PAIR2, LAST2, START2, STORE2, ROWS6, STARTS6, STORES6, 6)
