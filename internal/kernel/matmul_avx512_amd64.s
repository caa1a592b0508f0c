//go:build !purego

// Matrix products on AVX-512, over row-major weights [outs, k].
//
// As on AVX2 (matmul_avx2_amd64.s) with 16 lanes: a tile is R rows by 4 outputs (R = 2 to 6) or one row by 8 outputs, with one accumulator
// per element, which is summed as dotF32AVX512 and dotBF16AVX512 do. Each function does args.tiles tiles along the outputs.
//
// Registers: SI, R13 = x of rows 0 and 3, R11 = distance of rows; R8, R9, R10 = weights of the first output, distance of
// outputs and thrice that (with one row, R13 = weights of the fifth output); DI, R12 = dst, distance of rows; DX = k/16,
// R15 = k%16, CX = steps left; R14 = start of the tile's weights; BX = tiles left; AX = args; K1 = mask of the last k%16
// lanes; K2 = lowest lane of each quarter. All distances are in bytes.

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
	MOVQ matMulArgs_k(AX), CX      \
	MOVQ CX, DX                    \
	MOVQ CX, R15                   \
	SHRQ $4, DX                    \
	ANDQ $15, R15                  \
	MOVQ R15, CX                   \
	MOVL $1, BX                    \
	SHLL CX, BX                    \
	DECL BX                        \
	KMOVW BX, K1                   \
	MOVL $0x1111, BX               \
	KMOVW BX, K2                   \
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
	VPXORD a, a, a \
	VPXORD b, b, b \
	VPXORD c, c, c \
	VPXORD d, d, d

// Loads of 16 values of x, or of 16 weights to z, which is y by its lower half; the TAIL ones load the last k%16 and zeros.
#define LOADX(addr, z) VMOVUPS addr, z
#define TAILX(addr, z) VMOVUPS.Z addr, K1, z
#define LOADF32(addr, z, y) VMOVUPS addr, z
#define TAILF32(addr, z, y) VMOVUPS.Z addr, K1, z

#define LOADBF16(addr, z, y) \
	VPMOVZXWD addr, z   \
	VPSLLD    $16, z, z

#define TAILBF16(addr, z, y) \
	VMOVDQU16.Z addr, K1, y \
	VPMOVZXWD   y, z        \
	VPSLLD      $16, z, z

// REDUCE4 sums the lanes of a, b, c and d into the four lanes of xa, with t and u for scratch.
#define REDUCE4(a, b, c, d, t, u, xa) \
	VSHUFF64X2    $0x44, b, a, t  \
	VSHUFF64X2    $0xEE, b, a, u  \
	VADDPS        u, t, a         \
	VSHUFF64X2    $0x44, d, c, t  \
	VSHUFF64X2    $0xEE, d, c, u  \
	VADDPS        u, t, c         \
	VSHUFF64X2    $0x88, c, a, t  \
	VSHUFF64X2    $0xDD, c, a, u  \
	VADDPS        u, t, a         \
	VPERMILPS     $0xEE, a, t     \
	VADDPS        t, a, a         \
	VMOVSHDUP     a, t            \
	VADDPS        t, a, a         \
	VCOMPRESSPS.Z a, K2, a

// ROW adds to the four accumulators of a row the products of its x at addr, loaded to z, and the weights in Z24 to Z27.
#define ROW(LX, addr, z, a, b, c, d) \
	LX(addr, z)              \
	VFMADD231PS Z24, z, a    \
	VFMADD231PS Z25, z, b    \
	VFMADD231PS Z26, z, c    \
	VFMADD231PS Z27, z, d

#define STEP2(LX, LOAD) \
	LOAD((R8), Z24, Y24)          \
	LOAD((R8)(R9*1), Z25, Y25)    \
	LOAD((R8)(R9*2), Z26, Y26)    \
	LOAD((R8)(R10*1), Z27, Y27)   \
	ROW(LX, (SI), Z28, Z0, Z1, Z2, Z3)          \
	ROW(LX, (SI)(R11*1), Z29, Z4, Z5, Z6, Z7)

#define STEP3(LX, LOAD) \
	STEP2(LX, LOAD)          \
	ROW(LX, (SI)(R11*2), Z30, Z8, Z9, Z10, Z11)

#define STEP4(LX, LOAD) \
	STEP3(LX, LOAD)          \
	ROW(LX, (R13), Z28, Z12, Z13, Z14, Z15)

#define STEP5(LX, LOAD) \
	STEP4(LX, LOAD)          \
	ROW(LX, (R13)(R11*1), Z29, Z16, Z17, Z18, Z19)

#define STEP6(LX, LOAD) \
	STEP5(LX, LOAD)          \
	ROW(LX, (R13)(R11*2), Z30, Z20, Z21, Z22, Z23)

#define ZERO2 \
	ZERO4(Z0, Z1, Z2, Z3)    \
	ZERO4(Z4, Z5, Z6, Z7)

#define ZERO3 \
	ZERO2                    \
	ZERO4(Z8, Z9, Z10, Z11)

#define ZERO4ROWS \
	ZERO3                    \
	ZERO4(Z12, Z13, Z14, Z15)

#define ZERO5 \
	ZERO4ROWS                \
	ZERO4(Z16, Z17, Z18, Z19)

#define ZERO6 \
	ZERO5                    \
	ZERO4(Z20, Z21, Z22, Z23)

// STORE sums a row and stores it at CX, which goes to the next row.
#define STORE(a, b, c, d, xa) \
	REDUCE4(a, b, c, d, Z24, Z25, xa) \
	VMOVUPS xa, (CX)         \
	ADDQ    R12, CX

#define STORE2 \
	MOVQ DI, CX              \
	STORE(Z0, Z1, Z2, Z3, X0) \
	STORE(Z4, Z5, Z6, Z7, X4)

#define STORE3 \
	STORE2                   \
	STORE(Z8, Z9, Z10, Z11, X8)

#define STORE4 \
	STORE3                   \
	STORE(Z12, Z13, Z14, Z15, X12)

#define STORE5 \
	STORE4                   \
	STORE(Z16, Z17, Z18, Z19, X16)

#define STORE6 \
	STORE5                   \
	STORE(Z20, Z21, Z22, Z23, X20)

// TILES is a whole function: several rows by 4 outputs. bytes is the size of 16 weights.
#define TILES(ZERO, STEP, STORES, LOAD, TAIL, bytes) \
	ARGS                     \
tile:                        \
	BEGIN                    \
	ZERO                     \
	TESTQ CX, CX             \
	JZ    tail               \
loop:                        \
	STEP(LOADX, LOAD)        \
	ADDQ $64, SI             \
	ADDQ $64, R13            \
	ADDQ $bytes, R8          \
	DECQ CX                  \
	JNZ  loop                \
tail:                        \
	TESTQ R15, R15           \
	JZ    reduce             \
	STEP(TAILX, TAIL)        \
reduce:                      \
	STORES                   \
	END(16, 4)

// STEP1 is one row, in Z8, by 8 outputs. Four registers take turns for the weights.
#define STEP1(LOAD) \
	LOAD((R8), Z9, Y9)           \
	LOAD((R8)(R9*1), Z10, Y10)    \
	LOAD((R8)(R9*2), Z11, Y11)    \
	LOAD((R8)(R10*1), Z12, Y12)   \
	VFMADD231PS Z9, Z8, Z0   \
	VFMADD231PS Z10, Z8, Z1  \
	VFMADD231PS Z11, Z8, Z2  \
	VFMADD231PS Z12, Z8, Z3  \
	LOAD((R13), Z9, Y9)          \
	LOAD((R13)(R9*1), Z10, Y10)   \
	LOAD((R13)(R9*2), Z11, Y11)   \
	LOAD((R13)(R10*1), Z12, Y12)  \
	VFMADD231PS Z9, Z8, Z4   \
	VFMADD231PS Z10, Z8, Z5  \
	VFMADD231PS Z11, Z8, Z6  \
	VFMADD231PS Z12, Z8, Z7

#define ONE(LOAD, bytes) \
	VMOVUPS (SI), Z8         \
	STEP1(LOAD)              \
	ADDQ $64, SI             \
	ADDQ $bytes, R8          \
	ADDQ $bytes, R13

#define LINEF32  ONE(LOADF32, 64)
#define LINEBF16 ONE(LOADBF16, 32); ONE(LOADBF16, 32)

// FETCH fetches 8 cache lines of the next tile, in the order of memory, as on AVX2.
#define FETCH \
	PREFETCHT0 (R11)         \
	PREFETCHT0 64(R11)       \
	PREFETCHT0 128(R11)      \
	PREFETCHT0 192(R11)      \
	PREFETCHT0 256(R11)      \
	PREFETCHT0 320(R11)      \
	PREFETCHT0 384(R11)      \
	PREFETCHT0 448(R11)      \
	ADDQ $512, R11

// TILES1 is one row by 8 outputs. The loop goes by 64 bytes of weights per output, which is steps times 16 weights.
#define TILES1(LOAD, TAIL, bytes, steps, LINE) \
	ARGS                     \
tile:                        \
	BEGIN                    \
	LEAQ (R8)(R9*4), R13     \
	LEAQ (R8)(R9*8), R11     \
	ZERO2                    \
	SUBQ $steps, CX          \
	JL   rest                \
lines:                       \
	FETCH                    \
	LINE                     \
	SUBQ $steps, CX          \
	JGE  lines               \
rest:                        \
	ADDQ $steps, CX          \
	JZ   tail                \
loop:                        \
	ONE(LOAD, bytes)         \
	DECQ CX                  \
	JNZ  loop                \
tail:                        \
	TESTQ R15, R15           \
	JZ    reduce             \
	TAILX((SI), Z8)          \
	STEP1(TAIL)              \
reduce:                      \
	REDUCE4(Z0, Z1, Z2, Z3, Z9, Z10, X0) \
	REDUCE4(Z4, Z5, Z6, Z7, Z9, Z10, X4) \
	VMOVUPS X0, (DI)         \
	VMOVUPS X4, 16(DI)       \
	END(32, 8)

// func matMulF32x1AVX512(a *matMulArgs)
TEXT ·matMulF32x1AVX512(SB), NOSPLIT, $0-8
	TILES1(LOADF32, TAILF32, 64, 1, LINEF32)

// func matMulF32x2AVX512(a *matMulArgs)
TEXT ·matMulF32x2AVX512(SB), NOSPLIT, $0-8
	TILES(ZERO2, STEP2, STORE2, LOADF32, TAILF32, 64)

// func matMulF32x3AVX512(a *matMulArgs)
TEXT ·matMulF32x3AVX512(SB), NOSPLIT, $0-8
	TILES(ZERO3, STEP3, STORE3, LOADF32, TAILF32, 64)

// func matMulF32x4AVX512(a *matMulArgs)
TEXT ·matMulF32x4AVX512(SB), NOSPLIT, $0-8
	TILES(ZERO4ROWS, STEP4, STORE4, LOADF32, TAILF32, 64)

// func matMulF32x5AVX512(a *matMulArgs)
TEXT ·matMulF32x5AVX512(SB), NOSPLIT, $0-8
	TILES(ZERO5, STEP5, STORE5, LOADF32, TAILF32, 64)

// func matMulF32x6AVX512(a *matMulArgs)
TEXT ·matMulF32x6AVX512(SB), NOSPLIT, $0-8
	TILES(ZERO6, STEP6, STORE6, LOADF32, TAILF32, 64)

// func matMulBF16x1AVX512(a *matMulArgs)
TEXT ·matMulBF16x1AVX512(SB), NOSPLIT, $0-8
	TILES1(LOADBF16, TAILBF16, 32, 2, LINEBF16)

// func matMulBF16x2AVX512(a *matMulArgs)
TEXT ·matMulBF16x2AVX512(SB), NOSPLIT, $0-8
	TILES(ZERO2, STEP2, STORE2, LOADBF16, TAILBF16, 32)

// func matMulBF16x3AVX512(a *matMulArgs)
TEXT ·matMulBF16x3AVX512(SB), NOSPLIT, $0-8
	TILES(ZERO3, STEP3, STORE3, LOADBF16, TAILBF16, 32)

// func matMulBF16x4AVX512(a *matMulArgs)
TEXT ·matMulBF16x4AVX512(SB), NOSPLIT, $0-8
	TILES(ZERO4ROWS, STEP4, STORE4, LOADBF16, TAILBF16, 32)

// func matMulBF16x5AVX512(a *matMulArgs)
TEXT ·matMulBF16x5AVX512(SB), NOSPLIT, $0-8
	TILES(ZERO5, STEP5, STORE5, LOADBF16, TAILBF16, 32)

// func matMulBF16x6AVX512(a *matMulArgs)
TEXT ·matMulBF16x6AVX512(SB), NOSPLIT, $0-8
	TILES(ZERO6, STEP6, STORE6, LOADBF16, TAILBF16, 32)
