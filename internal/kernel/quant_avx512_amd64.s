//go:build !purego

#include "textflag.h"

// Products of quantized activations and packed weights over a panel of 16 outputs, on AVX-512 with VNNI: one vector of 32-bit sums
// holds all outputs of a panel. The layouts are those of the AVX2 files; sums of integers are exact, so their order is free, and
// several of them are kept to hide the latency of the dot products.

// FINISH8Z: dst = float32(sum - zero * wSum) * (scale * wScale); wSum in Z30, wScale in Z31; t, u are free.
#define FINISH8Z(sum, zero, scale, dst, t, u) \
	VPBROADCASTD zero, t \
	VPMULLD      Z30, t, t \
	VPSUBD       t, sum, sum \
	VCVTDQ2PS    sum, sum \
	VBROADCASTSS scale, u \
	VMULPS       Z31, u, u \
	VMULPS       u, sum, sum \
	VMOVUPS      sum, dst

// func int8Panel1VNNI(dst *float32, x *uint8, w *int8, steps int, scale *float32, zero *int32, wScale *float32, wSum *int32)
TEXT ·int8Panel1VNNI(SB), NOSPLIT, $0-64
	MOVQ dst+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ w+16(FP), DX
	MOVQ steps+24(FP), CX
	MOVQ scale+32(FP), R11
	MOVQ zero+40(FP), R12
	MOVQ wScale+48(FP), R9
	MOVQ wSum+56(FP), R10
	VPXORD Z0, Z0, Z0
	VPXORD Z1, Z1, Z1
	VPXORD Z2, Z2, Z2
	VPXORD Z3, Z3, Z3
	MOVQ   CX, BX
	SHRQ   $2, BX
	JZ     rest

four:
	PREFETCHT0 2048(DX)
	PREFETCHT0 2112(DX)
	PREFETCHT0 2176(DX)
	PREFETCHT0 2240(DX)
	VPBROADCASTD (SI), Z4
	VPBROADCASTD 4(SI), Z5
	VPBROADCASTD 8(SI), Z6
	VPBROADCASTD 12(SI), Z7
	VPDPBUSD (DX), Z4, Z0
	VPDPBUSD 64(DX), Z5, Z1
	VPDPBUSD 128(DX), Z6, Z2
	VPDPBUSD 192(DX), Z7, Z3
	ADDQ $16, SI
	ADDQ $256, DX
	DECQ BX
	JNZ  four

rest:
	ANDQ $3, CX
	JZ   end

one:
	VPBROADCASTD (SI), Z4
	VPDPBUSD (DX), Z4, Z0
	ADDQ $4, SI
	ADDQ $64, DX
	DECQ CX
	JNZ  one

end:
	VPADDD Z1, Z0, Z0
	VPADDD Z3, Z2, Z2
	VPADDD Z2, Z0, Z0
	VMOVDQU32 (R10), Z30
	VMOVUPS (R9), Z31
	FINISH8Z(Z0, (R12), (R11), (DI), Z4, Z5)
	VZEROUPPER
	RET

// func int8Panel4VNNI(dst *float32, ldd int, x *uint8, ldx int, w *int8, steps int, scale *float32, zero *int32, wScale *float32, wSum *int32, ahead, stride int)
//
// Weights from ahead bytes behind w on are fetched into the cache, stride bytes a step; so are codes below.
TEXT ·int8Panel4VNNI(SB), NOSPLIT, $0-96
	MOVQ dst+0(FP), DI
	MOVQ ldd+8(FP), R13
	MOVQ x+16(FP), SI
	MOVQ ldx+24(FP), R8
	LEAQ (SI)(R8*2), AX
	ADDQ R8, AX
	MOVQ w+32(FP), DX
	MOVQ steps+40(FP), CX
	MOVQ scale+48(FP), R11
	MOVQ zero+56(FP), R12
	MOVQ wScale+64(FP), R9
	MOVQ wSum+72(FP), R10
	MOVQ ahead+80(FP), BX
	ADDQ DX, BX
	MOVQ stride+88(FP), R14
	VPXORD Z0, Z0, Z0
	VPXORD Z1, Z1, Z1
	VPXORD Z2, Z2, Z2
	VPXORD Z3, Z3, Z3

step4:
	PREFETCHT0 (BX)
	VMOVDQU32 (DX), Z8
	VPBROADCASTD (SI), Z4
	VPBROADCASTD (SI)(R8*1), Z5
	VPBROADCASTD (SI)(R8*2), Z6
	VPBROADCASTD (AX), Z7
	VPDPBUSD Z8, Z4, Z0
	VPDPBUSD Z8, Z5, Z1
	VPDPBUSD Z8, Z6, Z2
	VPDPBUSD Z8, Z7, Z3
	ADDQ $4, SI
	ADDQ $4, AX
	ADDQ $64, DX
	ADDQ R14, BX
	DECQ CX
	JNZ  step4

	VMOVDQU32 (R10), Z30
	VMOVUPS (R9), Z31
	SHLQ $2, R13
	FINISH8Z(Z0, (R12), (R11), (DI), Z4, Z5)
	ADDQ R13, DI
	FINISH8Z(Z1, 4(R12), 4(R11), (DI), Z4, Z5)
	ADDQ R13, DI
	FINISH8Z(Z2, 8(R12), 8(R11), (DI), Z4, Z5)
	ADDQ R13, DI
	FINISH8Z(Z3, 12(R12), 12(R11), (DI), Z4, Z5)
	VZEROUPPER
	RET

// GROUPENDZ: total += float32(sum - zero * asum) * (ascale * wScale); zero points in Z28 (32 bits), weight scales in Z29.
#define GROUPENDZ(sum, total, asum, ascale, t) \
	VPBROADCASTD asum, t \
	VPMULLD      Z28, t, t \
	VPSUBD       t, sum, sum \
	VCVTDQ2PS    sum, sum \
	VBROADCASTSS ascale, t \
	VMULPS       Z29, t, t \
	VMULPS       t, sum, sum \
	VADDPS       sum, total, total

// UNPACK16: the lanes of a block in Z8 become four vectors of pairs of inputs, Z8-Z11. Z31 is the mask 0x000F000F.
#define UNPACK16 \
	VPSRLD $4, Z8, Z9 \
	VPSRLD $8, Z8, Z10 \
	VPSRLD $12, Z8, Z11 \
	VPANDD Z31, Z8, Z8 \
	VPANDD Z31, Z9, Z9 \
	VPANDD Z31, Z10, Z10 \
	VPANDD Z31, Z11, Z11

// UNPACK8: the lanes of a block in Z8 become two vectors of four inputs, Z8 and Z9. Z31 is the mask 0x0F0F0F0F.
#define UNPACK8 \
	VPSRLD $4, Z8, Z9 \
	VPANDD Z31, Z8, Z8 \
	VPANDD Z31, Z9, Z9

#define MASK(value) \
	MOVL         $value, AX \
	VPBROADCASTD AX, Z31

#define GROUPWEIGHTS \
	VPMOVZXBD (R10), Z28 \
	VMOVUPS   (R9), Z29

#define NEXTGROUP \
	ADDQ $16, R10 \
	ADDQ $64, R9 \
	ADDQ $4, R11 \
	ADDQ $4, R12

// func int4A16Panel1VNNI(dst *float32, x *int16, scale *float32, sum *int32, codes *uint32, wScale *float32, wZero *uint8, blocks, groups int)
TEXT ·int4A16Panel1VNNI(SB), NOSPLIT, $0-72
	MOVQ dst+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ scale+16(FP), R11
	MOVQ sum+24(FP), R12
	MOVQ codes+32(FP), DX
	MOVQ wScale+40(FP), R9
	MOVQ wZero+48(FP), R10
	MOVQ groups+64(FP), BX
	VXORPS Z16, Z16, Z16
	MASK(0x000F000F)

group:
	MOVQ   blocks+56(FP), CX
	VPXORD Z0, Z0, Z0
	VPXORD Z1, Z1, Z1
	VPXORD Z2, Z2, Z2
	VPXORD Z3, Z3, Z3

block:
	PREFETCHT0 2048(DX)
	VMOVDQU32 (DX), Z8
	UNPACK16
	VPDPWSSD.BCST (SI), Z8, Z0
	VPDPWSSD.BCST 4(SI), Z9, Z1
	VPDPWSSD.BCST 8(SI), Z10, Z2
	VPDPWSSD.BCST 12(SI), Z11, Z3
	ADDQ $16, SI
	ADDQ $64, DX
	DECQ CX
	JNZ  block

	VPADDD Z1, Z0, Z0
	VPADDD Z3, Z2, Z2
	VPADDD Z2, Z0, Z0
	GROUPWEIGHTS
	GROUPENDZ(Z0, Z16, (R12), (R11), Z4)
	NEXTGROUP
	DECQ BX
	JNZ  group

	VMOVUPS Z16, (DI)
	VZEROUPPER
	RET

// func int4A8Panel1VNNI(dst *float32, x *int8, scale *float32, sum *int32, codes *uint32, wScale *float32, wZero *uint8, blocks, groups int)
TEXT ·int4A8Panel1VNNI(SB), NOSPLIT, $0-72
	MOVQ dst+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ scale+16(FP), R11
	MOVQ sum+24(FP), R12
	MOVQ codes+32(FP), DX
	MOVQ wScale+40(FP), R9
	MOVQ wZero+48(FP), R10
	MOVQ groups+64(FP), BX
	VXORPS Z16, Z16, Z16
	MASK(0x0F0F0F0F)

group:
	MOVQ   blocks+56(FP), CX
	VPXORD Z0, Z0, Z0
	VPXORD Z1, Z1, Z1

block:
	PREFETCHT0 2048(DX)
	VMOVDQU32 (DX), Z8
	UNPACK8
	VPDPBUSD.BCST (SI), Z8, Z0
	VPDPBUSD.BCST 4(SI), Z9, Z1
	ADDQ $8, SI
	ADDQ $64, DX
	DECQ CX
	JNZ  block

	VPADDD Z1, Z0, Z0
	GROUPWEIGHTS
	GROUPENDZ(Z0, Z16, (R12), (R11), Z4)
	NEXTGROUP
	DECQ BX
	JNZ  group

	VMOVUPS Z16, (DI)
	VZEROUPPER
	RET

// Four rows at once. Rows of x are R8 bytes apart (AX is the fourth), those of scale and sum R15 bytes, those of dst R13 bytes.
#define START4 \
	SHLQ $2, R13 \
	MOVQ BX, R15 \
	SHLQ $2, R15 \
	LEAQ (SI)(R8*2), AX \
	ADDQ R8, AX \
	VXORPS Z16, Z16, Z16 \
	VXORPS Z17, Z17, Z17 \
	VXORPS Z18, Z18, Z18 \
	VXORPS Z19, Z19, Z19

#define ENDROWS4 \
	GROUPWEIGHTS \
	GROUPENDZ(Z0, Z16, (R12), (R11), Z12) \
	GROUPENDZ(Z1, Z17, (R12)(R15*1), (R11)(R15*1), Z12) \
	GROUPENDZ(Z2, Z18, (R12)(R15*2), (R11)(R15*2), Z12) \
	LEAQ (R15)(R15*2), CX \
	GROUPENDZ(Z3, Z19, (R12)(CX*1), (R11)(CX*1), Z12) \
	NEXTGROUP

#define STORE4 \
	VMOVUPS Z16, (DI) \
	VMOVUPS Z17, (DI)(R13*1) \
	LEAQ (DI)(R13*2), DI \
	VMOVUPS Z18, (DI) \
	VMOVUPS Z19, (DI)(R13*1)

// func int4A16Panel4VNNI(dst *float32, ldd int, x *int16, ldx int, scale *float32, sum *int32, codes *uint32, wScale *float32, wZero *uint8, blocks, groups, ahead, stride int)
TEXT ·int4A16Panel4VNNI(SB), NOSPLIT, $0-104
	MASK(0x000F000F)
	MOVQ dst+0(FP), DI
	MOVQ ldd+8(FP), R13
	MOVQ x+16(FP), SI
	MOVQ ldx+24(FP), R8
	MOVQ scale+32(FP), R11
	MOVQ sum+40(FP), R12
	MOVQ codes+48(FP), DX
	MOVQ wScale+56(FP), R9
	MOVQ wZero+64(FP), R10
	MOVQ groups+80(FP), BX
	MOVQ ahead+88(FP), R14
	ADDQ DX, R14
	START4

group:
	MOVQ   blocks+72(FP), CX
	VPXORD Z0, Z0, Z0
	VPXORD Z1, Z1, Z1
	VPXORD Z2, Z2, Z2
	VPXORD Z3, Z3, Z3
	VPXORD Z4, Z4, Z4
	VPXORD Z5, Z5, Z5
	VPXORD Z6, Z6, Z6
	VPXORD Z7, Z7, Z7

block:
	PREFETCHT0 (R14)
	ADDQ stride+96(FP), R14
	VMOVDQU32 (DX), Z8
	UNPACK16
	VPDPWSSD.BCST (SI), Z8, Z0
	VPDPWSSD.BCST (SI)(R8*1), Z8, Z1
	VPDPWSSD.BCST (SI)(R8*2), Z8, Z2
	VPDPWSSD.BCST (AX), Z8, Z3
	VPDPWSSD.BCST 4(SI), Z9, Z4
	VPDPWSSD.BCST 4(SI)(R8*1), Z9, Z5
	VPDPWSSD.BCST 4(SI)(R8*2), Z9, Z6
	VPDPWSSD.BCST 4(AX), Z9, Z7
	VPDPWSSD.BCST 8(SI), Z10, Z0
	VPDPWSSD.BCST 8(SI)(R8*1), Z10, Z1
	VPDPWSSD.BCST 8(SI)(R8*2), Z10, Z2
	VPDPWSSD.BCST 8(AX), Z10, Z3
	VPDPWSSD.BCST 12(SI), Z11, Z4
	VPDPWSSD.BCST 12(SI)(R8*1), Z11, Z5
	VPDPWSSD.BCST 12(SI)(R8*2), Z11, Z6
	VPDPWSSD.BCST 12(AX), Z11, Z7
	ADDQ $16, SI
	ADDQ $16, AX
	ADDQ $64, DX
	DECQ CX
	JNZ  block

	VPADDD Z4, Z0, Z0
	VPADDD Z5, Z1, Z1
	VPADDD Z6, Z2, Z2
	VPADDD Z7, Z3, Z3
	ENDROWS4
	DECQ BX
	JNZ  group

	STORE4
	VZEROUPPER
	RET

// func int4A8Panel4VNNI(dst *float32, ldd int, x *int8, ldx int, scale *float32, sum *int32, codes *uint32, wScale *float32, wZero *uint8, blocks, groups, ahead, stride int)
TEXT ·int4A8Panel4VNNI(SB), NOSPLIT, $0-104
	MASK(0x0F0F0F0F)
	MOVQ dst+0(FP), DI
	MOVQ ldd+8(FP), R13
	MOVQ x+16(FP), SI
	MOVQ ldx+24(FP), R8
	MOVQ scale+32(FP), R11
	MOVQ sum+40(FP), R12
	MOVQ codes+48(FP), DX
	MOVQ wScale+56(FP), R9
	MOVQ wZero+64(FP), R10
	MOVQ groups+80(FP), BX
	MOVQ ahead+88(FP), R14
	ADDQ DX, R14
	START4

group:
	MOVQ   blocks+72(FP), CX
	VPXORD Z0, Z0, Z0
	VPXORD Z1, Z1, Z1
	VPXORD Z2, Z2, Z2
	VPXORD Z3, Z3, Z3
	VPXORD Z4, Z4, Z4
	VPXORD Z5, Z5, Z5
	VPXORD Z6, Z6, Z6
	VPXORD Z7, Z7, Z7

block:
	PREFETCHT0 (R14)
	ADDQ stride+96(FP), R14
	VMOVDQU32 (DX), Z8
	UNPACK8
	VPDPBUSD.BCST (SI), Z8, Z0
	VPDPBUSD.BCST (SI)(R8*1), Z8, Z1
	VPDPBUSD.BCST (SI)(R8*2), Z8, Z2
	VPDPBUSD.BCST (AX), Z8, Z3
	VPDPBUSD.BCST 4(SI), Z9, Z4
	VPDPBUSD.BCST 4(SI)(R8*1), Z9, Z5
	VPDPBUSD.BCST 4(SI)(R8*2), Z9, Z6
	VPDPBUSD.BCST 4(AX), Z9, Z7
	ADDQ $8, SI
	ADDQ $8, AX
	ADDQ $64, DX
	DECQ CX
	JNZ  block

	VPADDD Z4, Z0, Z0
	VPADDD Z5, Z1, Z1
	VPADDD Z6, Z2, Z2
	VPADDD Z7, Z3, Z3
	ENDROWS4
	DECQ BX
	JNZ  group

	STORE4
	VZEROUPPER
	RET
