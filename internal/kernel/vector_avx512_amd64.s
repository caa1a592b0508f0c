//go:build !purego

// Element-wise kernels on AVX-512: as on AVX2 (vector_avx2_amd64.s), by 64, then by 16 elements, the last n%16 under a mask.

#include "textflag.h"

// MASK makes K1 select the lowest CX lanes, CX < 16. AX is lost.
#define MASK \
	MOVL  $1, AX  \
	SHLL  CX, AX  \
	DECL  AX      \
	KMOVW AX, K1

// func mulAddF32AVX512(dst, a, b *float32, n int)
TEXT ·mulAddF32AVX512(SB), NOSPLIT, $0-32
	MOVQ dst+0(FP), DI
	MOVQ a+8(FP), SI
	MOVQ b+16(FP), DX
	MOVQ n+24(FP), CX
	SUBQ $64, CX
	JL   few

by64:
	VMOVUPS     (DI), Z0
	VMOVUPS     64(DI), Z1
	VMOVUPS     128(DI), Z2
	VMOVUPS     192(DI), Z3
	VMOVUPS     (SI), Z4
	VMOVUPS     64(SI), Z5
	VMOVUPS     128(SI), Z6
	VMOVUPS     192(SI), Z7
	VFMADD231PS (DX), Z4, Z0
	VFMADD231PS 64(DX), Z5, Z1
	VFMADD231PS 128(DX), Z6, Z2
	VFMADD231PS 192(DX), Z7, Z3
	VMOVUPS     Z0, (DI)
	VMOVUPS     Z1, 64(DI)
	VMOVUPS     Z2, 128(DI)
	VMOVUPS     Z3, 192(DI)
	ADDQ        $256, DI
	ADDQ        $256, SI
	ADDQ        $256, DX
	SUBQ        $64, CX
	JGE         by64

few:
	ADDQ $48, CX
	JL   tail

by16:
	VMOVUPS     (DI), Z0
	VMOVUPS     (SI), Z4
	VFMADD231PS (DX), Z4, Z0
	VMOVUPS     Z0, (DI)
	ADDQ        $64, DI
	ADDQ        $64, SI
	ADDQ        $64, DX
	SUBQ        $16, CX
	JGE         by16

tail:
	ADDQ        $16, CX
	JZ          done
	MASK
	VMOVUPS.Z   (DI), K1, Z0
	VMOVUPS.Z   (SI), K1, Z4
	VMOVUPS.Z   (DX), K1, Z5
	VFMADD231PS Z5, Z4, Z0
	VMOVUPS     Z0, K1, (DI)

done:
	VZEROUPPER
	RET

// func axpyF32AVX512(dst *float32, a float32, x *float32, n int)
TEXT ·axpyF32AVX512(SB), NOSPLIT, $0-32
	MOVQ         dst+0(FP), DI
	VBROADCASTSS a+8(FP), Z8
	MOVQ         x+16(FP), SI
	MOVQ         n+24(FP), CX
	SUBQ         $64, CX
	JL           few

by64:
	VMOVUPS     (DI), Z0
	VMOVUPS     64(DI), Z1
	VMOVUPS     128(DI), Z2
	VMOVUPS     192(DI), Z3
	VFMADD231PS (SI), Z8, Z0
	VFMADD231PS 64(SI), Z8, Z1
	VFMADD231PS 128(SI), Z8, Z2
	VFMADD231PS 192(SI), Z8, Z3
	VMOVUPS     Z0, (DI)
	VMOVUPS     Z1, 64(DI)
	VMOVUPS     Z2, 128(DI)
	VMOVUPS     Z3, 192(DI)
	ADDQ        $256, DI
	ADDQ        $256, SI
	SUBQ        $64, CX
	JGE         by64

few:
	ADDQ $48, CX
	JL   tail

by16:
	VMOVUPS     (DI), Z0
	VFMADD231PS (SI), Z8, Z0
	VMOVUPS     Z0, (DI)
	ADDQ        $64, DI
	ADDQ        $64, SI
	SUBQ        $16, CX
	JGE         by16

tail:
	ADDQ        $16, CX
	JZ          done
	MASK
	VMOVUPS.Z   (DI), K1, Z0
	VMOVUPS.Z   (SI), K1, Z1
	VFMADD231PS Z1, Z8, Z0
	VMOVUPS     Z0, K1, (DI)

done:
	VZEROUPPER
	RET

// SUM adds to the accumulators acc the values at off, weighted by Z15.
#define SUM(off, acc) VFMADD231PS off(AX), Z15, acc

// func weightedSumF32AVX512(dst, p, v *float32, ldv, n, d int)
// dst [d] = sum of p[i] * v[i*ldv:], ldv in bytes. 128 columns at a time stay in registers, then 16, then the rest under a mask.
TEXT ·weightedSumF32AVX512(SB), NOSPLIT, $0-48
	MOVQ dst+0(FP), DI
	MOVQ v+16(FP), SI
	MOVQ ldv+24(FP), R8
	MOVQ d+40(FP), DX
	SUBQ $128, DX
	JL   few

cols128:
	VPXORD Z0, Z0, Z0
	VPXORD Z1, Z1, Z1
	VPXORD Z2, Z2, Z2
	VPXORD Z3, Z3, Z3
	VPXORD Z4, Z4, Z4
	VPXORD Z5, Z5, Z5
	VPXORD Z6, Z6, Z6
	VPXORD Z7, Z7, Z7
	MOVQ   p+8(FP), BX
	MOVQ   n+32(FP), CX
	MOVQ   SI, AX
	TESTQ  CX, CX
	JZ     store128

rows128:
	VBROADCASTSS (BX), Z15
	SUM(0, Z0)
	SUM(64, Z1)
	SUM(128, Z2)
	SUM(192, Z3)
	SUM(256, Z4)
	SUM(320, Z5)
	SUM(384, Z6)
	SUM(448, Z7)
	ADDQ         $4, BX
	ADDQ         R8, AX
	DECQ         CX
	JNZ          rows128

store128:
	VMOVUPS Z0, (DI)
	VMOVUPS Z1, 64(DI)
	VMOVUPS Z2, 128(DI)
	VMOVUPS Z3, 192(DI)
	VMOVUPS Z4, 256(DI)
	VMOVUPS Z5, 320(DI)
	VMOVUPS Z6, 384(DI)
	VMOVUPS Z7, 448(DI)
	ADDQ    $512, DI
	ADDQ    $512, SI
	SUBQ    $128, DX
	JGE     cols128

few:
	ADDQ $112, DX
	JL   tail

cols16:
	VPXORD Z0, Z0, Z0
	MOVQ   p+8(FP), BX
	MOVQ   n+32(FP), CX
	MOVQ   SI, AX
	TESTQ  CX, CX
	JZ     store16

rows16:
	VBROADCASTSS (BX), Z15
	SUM(0, Z0)
	ADDQ         $4, BX
	ADDQ         R8, AX
	DECQ         CX
	JNZ          rows16

store16:
	VMOVUPS Z0, (DI)
	ADDQ    $64, DI
	ADDQ    $64, SI
	SUBQ    $16, DX
	JGE     cols16

tail:
	ADDQ   $16, DX
	JZ     done
	MOVQ   DX, CX
	MASK
	VPXORD Z0, Z0, Z0
	MOVQ   p+8(FP), BX
	MOVQ   n+32(FP), CX
	TESTQ  CX, CX
	JZ     storeTail

rowsTail:
	VBROADCASTSS (BX), Z15
	VMOVUPS.Z    (SI), K1, Z1
	VFMADD231PS  Z1, Z15, Z0
	ADDQ         $4, BX
	ADDQ         R8, SI
	DECQ         CX
	JNZ          rowsTail

storeTail:
	VMOVUPS Z0, K1, (DI)

done:
	VZEROUPPER
	RET
