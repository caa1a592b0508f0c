//go:build !purego

// The transforms of minimal filtering (winograd.go) on AVX2 with FMA, eight channels at a time; AVX-512 runs them too. They are
// winograd.go's with fused multiply-adds.

#include "textflag.h"

// PAIR makes the values at two opposite points, at R10 and R11, from the coefficients at off: Y10 = even part, Y11 = odd part.
#define PAIR(off) \
	VMOVAPS      Y8, Y10                        \
	VMOVAPS      Y7, Y11                        \
	VFMADD231PS  ·winogradInTable+off(SB), Y6, Y10    \
	VFMADD231PS  ·winogradInTable+off(SB), Y5, Y11    \
	VFMADD231PS  ·winogradInTable+off+32(SB), Y4, Y10 \
	VFMADD231PS  ·winogradInTable+off+32(SB), Y3, Y11 \
	VFMADD231PS  ·winogradInTable+off+64(SB), Y2, Y10 \
	VFMADD231PS  ·winogradInTable+off+64(SB), Y1, Y11 \
	VMOVUPS      ·winogradInTable+off+96(SB), Y13     \
	VMOVAPS      Y10, Y12                       \
	VFMADD231PS  Y13, Y11, Y10                  \
	VFNMADD231PS Y13, Y11, Y12                  \
	VMOVUPS      Y10, (R10)                     \
	VMOVUPS      Y12, (R10)(R9*1)               \
	LEAQ         (R10)(R9*2), R10

// ALL adds to the last of five input rows the others.
#define ALL(a, b, c, d, sum) \
	VFMADD231PS ·winogradInTable+512(SB), d, sum \
	VFMADD231PS ·winogradInTable+544(SB), c, sum \
	VFMADD231PS ·winogradInTable+576(SB), b, sum \
	VFMADD231PS ·winogradInTable+608(SB), a, sum

// func winogradInputAVX2(dst *float32, ldd int, x *float32, ldx, n int)
TEXT ·winogradInputAVX2(SB), NOSPLIT, $0-40
	MOVQ dst+0(FP), DI
	MOVQ ldd+8(FP), R9
	SHLQ $2, R9
	MOVQ x+16(FP), SI
	MOVQ ldx+24(FP), R8
	SHLQ $2, R8
	LEAQ (R8)(R8*2), BX
	MOVQ n+32(FP), CX

loop:
	LEAQ    (SI)(BX*1), R11
	LEAQ    (R11)(BX*1), R12
	VMOVUPS (SI), Y0
	VMOVUPS (SI)(R8*1), Y1
	VMOVUPS (SI)(R8*2), Y2
	VMOVUPS (R11), Y3
	VMOVUPS (R11)(R8*1), Y4
	VMOVUPS (R11)(R8*2), Y5
	VMOVUPS (R12), Y6
	VMOVUPS (R12)(R8*1), Y7
	VMOVUPS (R12)(R8*2), Y8
	VMOVUPS (R12)(BX*1), Y9
	VMOVAPS Y8, Y14
	ALL(Y0, Y2, Y4, Y6, Y14)
	ALL(Y1, Y3, Y5, Y7, Y9)
	VMOVUPS Y14, (DI)
	LEAQ    (DI)(R9*1), R10
	PAIR(0)
	PAIR(128)
	PAIR(256)
	PAIR(384)
	VMOVUPS Y9, (R10)
	ADDQ    $32, SI
	ADDQ    $32, DI
	SUBQ    $8, CX
	JNZ     loop
	VZEROUPPER
	RET

DATA winogradOut<>+0(SB)/4, $2.0
DATA winogradOut<>+4(SB)/4, $4.0
DATA winogradOut<>+8(SB)/4, $8.0
DATA winogradOut<>+12(SB)/4, $0.5
DATA winogradOut<>+16(SB)/4, $0.25
DATA winogradOut<>+20(SB)/4, $0.125
DATA winogradOut<>+24(SB)/4, $1.5
DATA winogradOut<>+28(SB)/4, $2.25
DATA winogradOut<>+32(SB)/4, $3.375
GLOBL winogradOut<>(SB), RODATA|NOPTR, $36

// SUMS is Y4 = sum and Y5 = difference of the products at two opposite points at R10, going to the next two; added to the first row.
#define SUMS \
	VMOVUPS (R10), Y5          \
	VMOVUPS (R10)(R9*1), Y6    \
	VADDPS  Y6, Y5, Y4         \
	VSUBPS  Y6, Y5, Y5         \
	VADDPS  Y4, Y0, Y0         \
	LEAQ    (R10)(R9*2), R10

// FIRST and POWERS add them to the other rows, times the powers of a root.
#define FIRST \
	SUMS              \
	VADDPS Y5, Y1, Y1 \
	VADDPS Y4, Y2, Y2 \
	VADDPS Y5, Y3, Y3

#define POWERS(a, a2, a3) \
	SUMS                   \
	VFMADD231PS a, Y5, Y1  \
	VFMADD231PS a2, Y4, Y2 \
	VFMADD231PS a3, Y5, Y3

// func winogradOutputAVX2(dst *float32, ldd int, m *float32, ldm int, bias *float32, n int)
TEXT ·winogradOutputAVX2(SB), NOSPLIT, $0-48
	MOVQ dst+0(FP), DI
	MOVQ ldd+8(FP), R8
	SHLQ $2, R8
	LEAQ (R8)(R8*2), BX
	MOVQ m+16(FP), SI
	MOVQ ldm+24(FP), R9
	SHLQ $2, R9
	MOVQ bias+32(FP), DX
	MOVQ n+40(FP), CX
	VBROADCASTSS winogradOut<>+0(SB), Y7
	VBROADCASTSS winogradOut<>+4(SB), Y8
	VBROADCASTSS winogradOut<>+8(SB), Y9
	VBROADCASTSS winogradOut<>+12(SB), Y10
	VBROADCASTSS winogradOut<>+16(SB), Y11
	VBROADCASTSS winogradOut<>+20(SB), Y12
	VBROADCASTSS winogradOut<>+24(SB), Y13
	VBROADCASTSS winogradOut<>+28(SB), Y14
	VBROADCASTSS winogradOut<>+32(SB), Y15

loop:
	VMOVUPS (DX), Y1
	VADDPS  (SI), Y1, Y0
	VMOVAPS Y1, Y2
	LEAQ    (SI)(R9*8), R10
	VADDPS  (R10)(R9*1), Y1, Y3
	LEAQ    (SI)(R9*1), R10
	FIRST
	POWERS(Y7, Y8, Y9)
	POWERS(Y10, Y11, Y12)
	POWERS(Y13, Y14, Y15)
	VMOVUPS Y0, (DI)
	VMOVUPS Y1, (DI)(R8*1)
	VMOVUPS Y2, (DI)(R8*2)
	VMOVUPS Y3, (DI)(BX*1)
	ADDQ    $32, SI
	ADDQ    $32, DI
	ADDQ    $32, DX
	SUBQ    $8, CX
	JNZ     loop
	VZEROUPPER
	RET
