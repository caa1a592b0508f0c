//go:build !purego

// Matrix products on AVX2 with FMA, over row-major weights [outs, k].
//
// A tile is one row by 8 outputs, 2 or 3 rows by 4, or 4 to 6 rows by 2, with one accumulator of 8 lanes per element; so an element
// is summed exactly as dotF32AVX2 and dotBF16AVX2 do, in whatever tile it lies. Each function does args.tiles tiles along the
// outputs for one group of rows. One row is the case of decoding, whose loop has to run at the memory's speed.
//
// Registers: SI, R11 = x of the first row, distance of rows; R8, R9, R10 = weights of the first output, distance of outputs and
// thrice that; R13 = weights of the fifth output, or x of the fourth row; DI, R12 = dst, distance of rows; DX = k/8, R15 = k%8,
// CX = steps left; R14 = start of the tile's weights; BX = tiles left; AX = args. All distances are in bytes.

#include "go_asm.h"
#include "textflag.h"

#define ARGS \
	MOVQ a+0(FP), AX               \
	MOVQ matMulArgs_dst(AX), DI    \
	MOVQ matMulArgs_w(AX), R8      \
	MOVQ matMulArgs_ldd(AX), R12   \
	MOVQ matMulArgs_ldx(AX), R11   \
	MOVQ matMulArgs_ldw(AX), R9    \
	LEAQ (R9)(R9*2), R10           \
	MOVQ matMulArgs_k(AX), DX      \
	MOVQ DX, R15                   \
	SHRQ $3, DX                    \
	ANDQ $7, R15                   \
	MOVQ matMulArgs_tiles(AX), BX

// BEGIN starts a tile; END goes to the next one, width bytes of outputs and step times the distance of outputs further.
#define BEGIN \
	MOVQ matMulArgs_x(AX), SI \
	LEAQ (SI)(R11*2), R13     \
	ADDQ R11, R13             \
	MOVQ R8, R14              \
	MOVQ DX, CX

#define END(width, step) \
	ADDQ $width, DI         \
	LEAQ (R14)(R9*step), R8 \
	DECQ BX                 \
	JNZ  tile               \
	VZEROUPPER              \
	RET

#define ZERO4(a, b, c, d) \
	VXORPS a, a, a \
	VXORPS b, b, b \
	VXORPS c, c, c \
	VXORPS d, d, d

// Loads of 8 weights to y, which is x by its lower half: whole, or the last ones of a row under a mask or, for bfloat16, shifted
// down from the end of the row (XMASK and READY prepare that).
#define LOADF32(addr, y, x) VMOVUPS addr, y

#define LOADBF16(addr, y, x) \
	VPMOVZXWD addr, y    \
	VPSLLD    $16, y, y

#define TAILF32(addr, y, x) \
	VMOVUPS    (CX), y   \
	VMASKMOVPS addr, y, y

#define TAILBF16(addr, y, x) \
	VMOVDQU   addr, x    \
	VPSHUFB   (CX), x, x \
	VPMOVZXWD x, y       \
	VPSLLD    $16, y, y

// XMASK puts the mask of the last k%8 lanes into y.
#define XMASK(y) \
	LEAQ    ·lowLanes(SB), CX \
	SHLQ    $5, R15           \
	VMOVUPS (CX)(R15*1), y

// READYF32 and READYBF16 make the addresses of the TAIL loads fit, after XMASK.
#define READYF32 \
	ADDQ R15, CX \
	SHRQ $5, R15

#define READYBF16 \
	SHRQ $1, R15             \
	LEAQ ·shiftWords(SB), CX \
	ADDQ R15, CX             \
	SHRQ $4, R15             \
	LEAQ -16(R8)(R15*2), R8

// REDUCE4 sums the lanes of a, b, c and d into the four lanes of xa, with t and u for scratch.
#define REDUCE4(a, b, c, d, t, u, xa, xt) \
	VPERM2F128   $0x20, b, a, t \
	VPERM2F128   $0x31, b, a, u \
	VADDPS       u, t, a        \
	VPERM2F128   $0x20, d, c, t \
	VPERM2F128   $0x31, d, c, u \
	VADDPS       u, t, c        \
	VUNPCKLPD    c, a, t        \
	VUNPCKHPD    c, a, u        \
	VADDPS       u, t, a        \
	VHADDPS      a, a, a        \
	VEXTRACTF128 $1, a, xt      \
	VUNPCKLPS    xt, xa, xa

// Two and three rows by 4 outputs: x in Y12 to Y14, the weights of one output after the other in Y15.

#define FMA2(a, b) \
	VFMADD231PS Y15, Y12, a \
	VFMADD231PS Y15, Y13, b

#define FMA3(a, b, c) \
	FMA2(a, b)              \
	VFMADD231PS Y15, Y14, c

#define STEP2(LOAD) \
	LOAD((R8), Y15, X15)         \
	FMA2(Y0, Y4)                 \
	LOAD((R8)(R9*1), Y15, X15)   \
	FMA2(Y1, Y5)                 \
	LOAD((R8)(R9*2), Y15, X15)   \
	FMA2(Y2, Y6)                 \
	LOAD((R8)(R10*1), Y15, X15)  \
	FMA2(Y3, Y7)

#define STEP3(LOAD) \
	LOAD((R8), Y15, X15)         \
	FMA3(Y0, Y4, Y8)             \
	LOAD((R8)(R9*1), Y15, X15)   \
	FMA3(Y1, Y5, Y9)             \
	LOAD((R8)(R9*2), Y15, X15)   \
	FMA3(Y2, Y6, Y10)            \
	LOAD((R8)(R10*1), Y15, X15)  \
	FMA3(Y3, Y7, Y11)

#define MAIN2(LOAD) \
	VMOVUPS (SI), Y12            \
	VMOVUPS (SI)(R11*1), Y13     \
	STEP2(LOAD)

#define MAIN3(LOAD) \
	VMOVUPS (SI), Y12            \
	VMOVUPS (SI)(R11*1), Y13     \
	VMOVUPS (SI)(R11*2), Y14     \
	STEP3(LOAD)

#define LAST2(TAIL, READY) \
	XMASK(Y15)                       \
	VMASKMOVPS (SI), Y15, Y12        \
	VMASKMOVPS (SI)(R11*1), Y15, Y13 \
	READY                            \
	STEP2(TAIL)

#define LAST3(TAIL, READY) \
	XMASK(Y15)                       \
	VMASKMOVPS (SI), Y15, Y12        \
	VMASKMOVPS (SI)(R11*1), Y15, Y13 \
	VMASKMOVPS (SI)(R11*2), Y15, Y14 \
	READY                            \
	STEP3(TAIL)

#define STORE2 \
	REDUCE4(Y0, Y1, Y2, Y3, Y12, Y13, X0, X12)   \
	REDUCE4(Y4, Y5, Y6, Y7, Y12, Y13, X4, X12)   \
	VMOVUPS X0, (DI)             \
	VMOVUPS X4, (DI)(R12*1)

#define STORE3 \
	STORE2                       \
	REDUCE4(Y8, Y9, Y10, Y11, Y12, Y13, X8, X12) \
	VMOVUPS X8, (DI)(R12*2)

// Four to six rows by 2 outputs: the weights in Y12 and Y13, x of one row after the other in Y14.

#define WEIGHTS(LOAD) \
	LOAD((R8), Y12, X12)         \
	LOAD((R8)(R9*1), Y13, X13)

#define LOADX(addr) VMOVUPS addr, Y14
#define TAILX(addr) VMASKMOVPS addr, Y15, Y14

#define ROW(LX, addr, a, b) \
	LX(addr)                     \
	VFMADD231PS Y12, Y14, a      \
	VFMADD231PS Y13, Y14, b

#define ROWS4(LX) \
	ROW(LX, (SI), Y0, Y1)        \
	ROW(LX, (SI)(R11*1), Y2, Y3) \
	ROW(LX, (SI)(R11*2), Y4, Y5) \
	ROW(LX, (R13), Y6, Y7)

#define ROWS5(LX) \
	ROWS4(LX)                    \
	ROW(LX, (R13)(R11*1), Y8, Y9)

#define ROWS6(LX) \
	ROWS5(LX)                    \
	ROW(LX, (R13)(R11*2), Y10, Y11)

#define MAIN4(LOAD) WEIGHTS(LOAD); ROWS4(LOADX)
#define MAIN5(LOAD) WEIGHTS(LOAD); ROWS5(LOADX)
#define MAIN6(LOAD) WEIGHTS(LOAD); ROWS6(LOADX)

#define LAST4(TAIL, READY) XMASK(Y15); READY; WEIGHTS(TAIL); ROWS4(TAILX)
#define LAST5(TAIL, READY) XMASK(Y15); READY; WEIGHTS(TAIL); ROWS5(TAILX)
#define LAST6(TAIL, READY) XMASK(Y15); READY; WEIGHTS(TAIL); ROWS6(TAILX)

// PUT sums two rows and stores them at CX, which goes on.
#define PUT(a, b, c, d, xa) \
	REDUCE4(a, b, c, d, Y12, Y13, xa, X12) \
	VMOVLPS xa, (CX)             \
	VMOVHPS xa, (CX)(R12*1)      \
	LEAQ (CX)(R12*2), CX

#define STORE4 \
	MOVQ DI, CX                  \
	PUT(Y0, Y1, Y2, Y3, X0)      \
	PUT(Y4, Y5, Y6, Y7, X4)

#define STORE5 \
	STORE4                       \
	REDUCE4(Y8, Y9, Y10, Y11, Y12, Y13, X8, X12) \
	VMOVLPS X8, (CX)

#define STORE6 \
	STORE4                       \
	PUT(Y8, Y9, Y10, Y11, X8)

// TILES is a whole function for several rows. bytes is the size of 8 weights.
#define TILES(MAIN, LAST, STORE, LOAD, TAIL, READY, bytes, width, step) \
	ARGS                         \
tile:                            \
	BEGIN                        \
	ZERO4(Y0, Y1, Y2, Y3)        \
	ZERO4(Y4, Y5, Y6, Y7)        \
	ZERO4(Y8, Y9, Y10, Y11)      \
	TESTQ CX, CX                 \
	JZ    last                   \
loop:                            \
	MAIN(LOAD)                   \
	ADDQ $32, SI                 \
	ADDQ $32, R13                \
	ADDQ $bytes, R8              \
	DECQ CX                      \
	JNZ  loop                    \
last:                            \
	TESTQ R15, R15               \
	JZ    store                  \
	LAST(TAIL, READY)            \
store:                           \
	STORE                        \
	END(width, step)

// STEP1 is 8 elements of one row, in Y12, and 8 outputs. Two registers take turns for the weights.
#define STEP1(LOAD) \
	LOAD((R8), Y13, X13)          \
	LOAD((R8)(R9*1), Y14, X14)    \
	VFMADD231PS Y13, Y12, Y0      \
	VFMADD231PS Y14, Y12, Y1      \
	LOAD((R8)(R9*2), Y13, X13)    \
	LOAD((R8)(R10*1), Y14, X14)   \
	VFMADD231PS Y13, Y12, Y2      \
	VFMADD231PS Y14, Y12, Y3      \
	LOAD((R13), Y13, X13)         \
	LOAD((R13)(R9*1), Y14, X14)   \
	VFMADD231PS Y13, Y12, Y4      \
	VFMADD231PS Y14, Y12, Y5      \
	LOAD((R13)(R9*2), Y13, X13)   \
	LOAD((R13)(R10*1), Y14, X14)  \
	VFMADD231PS Y13, Y12, Y6      \
	VFMADD231PS Y14, Y12, Y7

#define ONE(LOAD, bytes) \
	VMOVUPS (SI), Y12             \
	STEP1(LOAD)                   \
	ADDQ $32, SI                  \
	ADDQ $bytes, R8               \
	ADDQ $bytes, R13

// LINE is a cache line of weights of each output.
#define LINEF32  ONE(LOADF32, 32); ONE(LOADF32, 32)
#define LINEBF16 ONE(LOADBF16, 16); ONE(LOADBF16, 16); ONE(LOADBF16, 16); ONE(LOADBF16, 16)

// FETCH fetches the 8 cache lines at R11 (free, there being one row of x) and goes on: a tile has as many lines as its 8 rows
// of weights have, so that the next tile is fetched in the order of memory while this one is worked on.
#define FETCH \
	PREFETCHT0 (R11)    \
	PREFETCHT0 64(R11)  \
	PREFETCHT0 128(R11) \
	PREFETCHT0 192(R11) \
	PREFETCHT0 256(R11) \
	PREFETCHT0 320(R11) \
	PREFETCHT0 384(R11) \
	PREFETCHT0 448(R11) \
	ADDQ $512, R11

// TILES1 is a whole function: one row by 8 outputs. steps is how many times 8 weights make a cache line.
#define TILES1(LOAD, TAIL, READY, bytes, steps, LINE) \
	ARGS                         \
tile:                            \
	BEGIN                        \
	LEAQ (R8)(R9*4), R13         \
	LEAQ (R8)(R9*8), R11         \
	ZERO4(Y0, Y1, Y2, Y3)        \
	ZERO4(Y4, Y5, Y6, Y7)        \
	SUBQ $steps, CX              \
	JL   rest                    \
lines:                           \
	FETCH                        \
	LINE                         \
	SUBQ $steps, CX              \
	JGE  lines                   \
rest:                            \
	ADDQ $steps, CX              \
	JZ   last                    \
loop:                            \
	ONE(LOAD, bytes)             \
	DECQ CX                      \
	JNZ  loop                    \
last:                            \
	TESTQ R15, R15               \
	JZ    store                  \
	XMASK(Y15)                   \
	VMASKMOVPS (SI), Y15, Y12    \
	READY                        \
	LEAQ (R8)(R9*4), R13         \
	STEP1(TAIL)                  \
store:                           \
	REDUCE4(Y0, Y1, Y2, Y3, Y12, Y13, X0, X12) \
	REDUCE4(Y4, Y5, Y6, Y7, Y12, Y13, X4, X12) \
	VMOVUPS X0, (DI)             \
	VMOVUPS X4, 16(DI)           \
	END(32, 8)

// func matMulF32x1AVX2(a *matMulArgs)
TEXT ·matMulF32x1AVX2(SB), NOSPLIT, $0-8
	TILES1(LOADF32, TAILF32, READYF32, 32, 2, LINEF32)

// func matMulF32x2AVX2(a *matMulArgs)
TEXT ·matMulF32x2AVX2(SB), NOSPLIT, $0-8
	TILES(MAIN2, LAST2, STORE2, LOADF32, TAILF32, READYF32, 32, 16, 4)

// func matMulF32x3AVX2(a *matMulArgs)
TEXT ·matMulF32x3AVX2(SB), NOSPLIT, $0-8
	TILES(MAIN3, LAST3, STORE3, LOADF32, TAILF32, READYF32, 32, 16, 4)

// func matMulF32x4AVX2(a *matMulArgs)
TEXT ·matMulF32x4AVX2(SB), NOSPLIT, $0-8
	TILES(MAIN4, LAST4, STORE4, LOADF32, TAILF32, READYF32, 32, 8, 2)

// func matMulF32x5AVX2(a *matMulArgs)
TEXT ·matMulF32x5AVX2(SB), NOSPLIT, $0-8
	TILES(MAIN5, LAST5, STORE5, LOADF32, TAILF32, READYF32, 32, 8, 2)

// func matMulF32x6AVX2(a *matMulArgs)
TEXT ·matMulF32x6AVX2(SB), NOSPLIT, $0-8
	TILES(MAIN6, LAST6, STORE6, LOADF32, TAILF32, READYF32, 32, 8, 2)

// func matMulBF16x1AVX2(a *matMulArgs)
TEXT ·matMulBF16x1AVX2(SB), NOSPLIT, $0-8
	TILES1(LOADBF16, TAILBF16, READYBF16, 16, 4, LINEBF16)

// func matMulBF16x2AVX2(a *matMulArgs)
TEXT ·matMulBF16x2AVX2(SB), NOSPLIT, $0-8
	TILES(MAIN2, LAST2, STORE2, LOADBF16, TAILBF16, READYBF16, 16, 16, 4)

// func matMulBF16x3AVX2(a *matMulArgs)
TEXT ·matMulBF16x3AVX2(SB), NOSPLIT, $0-8
	TILES(MAIN3, LAST3, STORE3, LOADBF16, TAILBF16, READYBF16, 16, 16, 4)

// func matMulBF16x4AVX2(a *matMulArgs)
TEXT ·matMulBF16x4AVX2(SB), NOSPLIT, $0-8
	TILES(MAIN4, LAST4, STORE4, LOADBF16, TAILBF16, READYBF16, 16, 8, 2)

// func matMulBF16x5AVX2(a *matMulArgs)
TEXT ·matMulBF16x5AVX2(SB), NOSPLIT, $0-8
	TILES(MAIN5, LAST5, STORE5, LOADBF16, TAILBF16, READYBF16, 16, 8, 2)

// func matMulBF16x6AVX2(a *matMulArgs)
TEXT ·matMulBF16x6AVX2(SB), NOSPLIT, $0-8
	TILES(MAIN6, LAST6, STORE6, LOADBF16, TAILBF16, READYBF16, 16, 8, 2)
