// Convolution of unsigned 8-bit activations and signed 8-bit weights on AVX2, but for the products: what tiles do around them.
//
// A tile is R rows by one panel of 16 outputs. The sum of a tap is exact, in two accumulators of 32 bits a row. Less the row's zero point
// it is then converted, multiplied by the row's scale and added to what the taps before have left on the stack.
//
// Registers: R13 = x of the tile, R11 = the same at the current tap, SI and R8 = rows 0 and 3 of it at the current input,
// R9 = distance of rows; R10 = weights; R14 = weights to fetch ahead; DX = what the codes of rows stand for at the current tap,
// R15 = its distance; DI, R12 = dst, distance of rows; BX = taps left, CX = steps left; AX = args; Y0 to Y11 = sums of the tap. All distances are
// in bytes. Products may use Y12 to Y15; what is in Y12 and Y13 is kept between taps and tiles.

#include "go_asm.h"
#include "textflag.h"

#define ZERO(a, b) \
	VPXOR a, a, a \
	VPXOR b, b, b

#define ZERO1 ZERO(Y0, Y1)
#define ZERO2 ZERO1; ZERO(Y2, Y3)
#define ZERO3 ZERO2; ZERO(Y4, Y5)
#define ZERO4 ZERO3; ZERO(Y6, Y7)
#define ZERO5 ZERO4; ZERO(Y8, Y9)
#define ZERO6 ZERO5; ZERO(Y10, Y11)

// TAP adds the sums of a row, less its zero point and times its scale at SI, to those at off on the stack; R8 = sums of weights.
#define TAP(a, b, off) \
	VPBROADCASTD 4(SI), Y14       \
	VPMULLD      (R8), Y14, Y15   \
	VPMULLD      32(R8), Y14, Y14 \
	VPSUBD       Y15, a, a        \
	VPSUBD       Y14, b, b        \
	VBROADCASTSS (SI), Y14        \
	ADDQ         R15, SI          \
	VCVTDQ2PS    a, a             \
	VCVTDQ2PS    b, b             \
	VMULPS       Y14, a, a        \
	VMULPS       Y14, b, b        \
	VADDPS       off(SP), a, a    \
	VADDPS       off+32(SP), b, b \
	VMOVUPS      a, off(SP)       \
	VMOVUPS      b, off+32(SP)

#define TAP1 TAP(Y0, Y1, 0)
#define TAP2 TAP1; TAP(Y2, Y3, 64)
#define TAP3 TAP2; TAP(Y4, Y5, 128)
#define TAP4 TAP3; TAP(Y6, Y7, 192)
#define TAP5 TAP4; TAP(Y8, Y9, 256)
#define TAP6 TAP5; TAP(Y10, Y11, 320)

// CLEAR zeroes the sums of a row on the stack; Y14 is zero.
#define CLEAR(off) \
	VMOVUPS Y14, off(SP)    \
	VMOVUPS Y14, off+32(SP)

#define CLEAR1 CLEAR(0)
#define CLEAR2 CLEAR1; CLEAR(64)
#define CLEAR3 CLEAR2; CLEAR(128)
#define CLEAR4 CLEAR3; CLEAR(192)
#define CLEAR5 CLEAR4; CLEAR(256)
#define CLEAR6 CLEAR5; CLEAR(320)

// OUT stores a row at DI: its sums times the outputs' scales in Y2 and Y3, plus the biases in Y14 and Y15.
#define OUT(off) \
	VMULPS  off(SP), Y2, Y0     \
	VMULPS  off+32(SP), Y3, Y1  \
	VADDPS  Y14, Y0, Y0         \
	VADDPS  Y15, Y1, Y1         \
	VMOVUPS Y0, (DI)            \
	VMOVUPS Y1, 32(DI)          \
	ADDQ    R12, DI

#define OUT1 OUT(0)
#define OUT2 OUT1; OUT(64)
#define OUT3 OUT2; OUT(128)
#define OUT4 OUT3; OUT(192)
#define OUT5 OUT4; OUT(256)
#define OUT6 OUT5; OUT(320)

// TILES is a whole function: rows rows by one panel. STEPS adds the products of a tap to the sums, and takes R10 and R14
// behind its weights.
#define TILES(CLEARS, ZEROS, STEPS, TAPS, OUTS, rows) \
	MOVQ a+0(FP), AX                     \
	MOVQ convInt8Args_dst(AX), DI        \
	MOVQ convInt8Args_x(AX), R13         \
	MOVQ convInt8Args_ldd(AX), R12       \
	MOVQ convInt8Args_ldx(AX), R9        \
	MOVQ convInt8Args_rowStep(AX), R15   \
tile:                                    \
	VXORPS Y14, Y14, Y14                 \
	CLEARS                               \
	MOVQ R13, R11                        \
	MOVQ convInt8Args_w(AX), R10         \
	MOVQ convInt8Args_wSum(AX), R8       \
	MOVQ R8, convInt8Args_sum(AX)        \
	MOVQ convInt8Args_ahead(AX), R14     \
	MOVQ convInt8Args_rows(AX), DX       \
	MOVQ convInt8Args_taps(AX), BX       \
tap:                                     \
	ZEROS                                \
	MOVQ R11, SI                         \
	LEAQ (R11)(R9*2), R8                 \
	ADDQ R9, R8                          \
	MOVQ convInt8Args_fours(AX), CX      \
	STEPS                                \
	MOVQ DX, SI                          \
	MOVQ convInt8Args_sum(AX), R8        \
	ADDQ $64, convInt8Args_sum(AX)       \
	TAPS                                 \
	ADDQ convInt8Args_tapStep(AX), R11   \
	ADDQ convInt8Args_tapRows(AX), DX    \
	DECQ BX                              \
	JNZ  tap                             \
	MOVQ convInt8Args_wScale(AX), R10    \
	MOVQ convInt8Args_bias(AX), R11      \
	VMOVUPS (R10), Y2                    \
	VMOVUPS 32(R10), Y3                  \
	VMOVUPS (R11), Y14                   \
	VMOVUPS 32(R11), Y15                 \
	OUTS                                 \
	IMUL3Q $rows, R9, CX                 \
	ADDQ   CX, R13                       \
	IMUL3Q $rows, R15, CX                \
	ADDQ   CX, convInt8Args_rows(AX)     \
	DECQ   convInt8Args_tiles(AX)        \
	JNZ    tile                          \
	/* Both may point behind the end by now, where the garbage collector takes them for damage. */ \
	MOVQ   $0, convInt8Args_sum(AX)      \
	MOVQ   $0, convInt8Args_rows(AX)     \
	VZEROUPPER                           \
	RET
