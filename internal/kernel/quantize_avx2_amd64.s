//go:build !purego

#include "textflag.h"

// Quantization of activations, eight at a time; n is a positive multiple of eight everywhere. Conversion rounds to nearest even.

DATA absMask<>+0(SB)/4, $0x7FFFFFFF
GLOBL absMask<>(SB), RODATA|NOPTR, $4
// The order 0 4 1 5 2 6 3 7 of a block of bytes.
DATA i8Order<>+0(SB)/8, $0x0703060205010400
GLOBL i8Order<>(SB), RODATA|NOPTR, $8

// func peakBitsAVX2(x *float32, n int) uint32
// The largest |x| as bits: what is not finite is above all that is.
TEXT ·peakBitsAVX2(SB), NOSPLIT, $0-20
	MOVQ x+0(FP), SI
	MOVQ n+8(FP), CX
	SHRQ $3, CX
	VPBROADCASTD absMask<>(SB), Y2
	VPXOR Y0, Y0, Y0

loop:
	VPAND (SI), Y2, Y1
	VPMAXUD Y1, Y0, Y0
	ADDQ $32, SI
	DECQ CX
	JNZ  loop

	VEXTRACTI128 $1, Y0, X1
	VPMAXUD X1, X0, X0
	VPSHUFD $0xEE, X0, X1
	VPMAXUD X1, X0, X0
	VPSHUFD $0x55, X0, X1
	VPMAXUD X1, X0, X0
	VMOVD X0, AX
	MOVL AX, ret+16(FP)
	VZEROUPPER
	RET

// func rangeAVX2(x *float32, n int) (low, high float32)
// The smallest and the largest of x and 0.
TEXT ·rangeAVX2(SB), NOSPLIT, $0-24
	MOVQ x+0(FP), SI
	MOVQ n+8(FP), CX
	SHRQ $3, CX
	VXORPS Y0, Y0, Y0
	VXORPS Y1, Y1, Y1

loop:
	VMOVUPS (SI), Y2
	VMINPS Y2, Y0, Y0
	VMAXPS Y2, Y1, Y1
	ADDQ $32, SI
	DECQ CX
	JNZ  loop

	VEXTRACTF128 $1, Y0, X2
	VMINPS X2, X0, X0
	VPERMILPS $0xEE, X0, X2
	VMINPS X2, X0, X0
	VPERMILPS $0x55, X0, X2
	VMINSS X2, X0, X0
	VEXTRACTF128 $1, Y1, X2
	VMAXPS X2, X1, X1
	VPERMILPS $0xEE, X1, X2
	VMAXPS X2, X1, X1
	VPERMILPS $0x55, X1, X2
	VMAXSS X2, X1, X1
	VMOVSS X0, low+16(FP)
	VMOVSS X1, high+20(FP)
	VZEROUPPER
	RET

// SUM8 sums the 32-bit lanes of Y0 into AX.
#define SUM8 \
	VEXTRACTI128 $1, Y0, X1 \
	VPADDD X1, X0, X0 \
	VPSHUFD $0xEE, X0, X1 \
	VPADDD X1, X0, X0 \
	VPSHUFD $0x55, X0, X1 \
	VPADDD X1, X0, X0 \
	VMOVD X0, AX

// func codesI16AVX2(q *int16, x *float32, n int, inverse float32) (sum int32)
TEXT ·codesI16AVX2(SB), NOSPLIT, $0-36
	MOVQ q+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ n+16(FP), CX
	VBROADCASTSS inverse+24(FP), Y3
	SHRQ $3, CX
	VPXOR Y0, Y0, Y0

loop:
	VMULPS (SI), Y3, Y1
	VCVTPS2DQ Y1, Y1
	VPADDD Y1, Y0, Y0
	VEXTRACTI128 $1, Y1, X2
	VPACKSSDW X2, X1, X1
	VMOVDQU X1, (DI)
	ADDQ $32, SI
	ADDQ $16, DI
	DECQ CX
	JNZ  loop

	SUM8
	MOVL AX, sum+32(FP)
	VZEROUPPER
	RET

// func codesI8AVX2(q *int8, x *float32, n int, inverse float32) (sum int32)
TEXT ·codesI8AVX2(SB), NOSPLIT, $0-36
	MOVQ q+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ n+16(FP), CX
	VBROADCASTSS inverse+24(FP), Y3
	VMOVQ i8Order<>(SB), X4
	SHRQ $3, CX
	VPXOR Y0, Y0, Y0

loop:
	VMULPS (SI), Y3, Y1
	VCVTPS2DQ Y1, Y1
	VPADDD Y1, Y0, Y0
	VEXTRACTI128 $1, Y1, X2
	VPACKSSDW X2, X1, X1
	VPACKSSWB X1, X1, X1
	VPSHUFB X4, X1, X1
	VMOVQ X1, (DI)
	ADDQ $32, SI
	ADDQ $8, DI
	DECQ CX
	JNZ  loop

	SUM8
	MOVL AX, sum+32(FP)
	VZEROUPPER
	RET

// func codesU8AVX2(q *uint8, x *float32, n int, inverse float32, zero int32)
TEXT ·codesU8AVX2(SB), NOSPLIT, $0-32
	MOVQ q+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ n+16(FP), CX
	VBROADCASTSS inverse+24(FP), Y3
	MOVL zero+28(FP), AX
	VMOVD AX, X4
	VPBROADCASTD X4, Y4
	SHRQ $3, CX

loop:
	VMULPS (SI), Y3, Y1
	VCVTPS2DQ Y1, Y1
	VPADDD Y4, Y1, Y1
	VEXTRACTI128 $1, Y1, X2
	VPACKSSDW X2, X1, X1
	VPACKUSWB X1, X1, X1
	VMOVQ X1, (DI)
	ADDQ $32, SI
	ADDQ $8, DI
	DECQ CX
	JNZ  loop

	VZEROUPPER
	RET
