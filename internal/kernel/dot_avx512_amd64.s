//go:build !purego

// Dot products on AVX-512: as on AVX2 (dot_avx2_amd64.s), with 16 lanes, and masks for the last elements.

#include "textflag.h"

// REDUCE sums the lanes of Z0 into the lowest of X0.
#define REDUCE \
	VEXTRACTF64X4 $1, Z0, Y1   \
	VADDPS        Y1, Y0, Y0   \
	VEXTRACTF128  $1, Y0, X1   \
	VADDPS        X1, X0, X0   \
	VPERMILPS     $0xEE, X0, X1 \
	VADDPS        X1, X0, X0   \
	VMOVSHDUP     X0, X1       \
	VADDSS        X1, X0, X0

// MASK makes K1 select the lowest CX lanes, CX < 16. AX is lost.
#define MASK \
	MOVL  $1, AX  \
	SHLL  CX, AX  \
	DECL  AX      \
	KMOVW AX, K1

// func dotF32AVX512(x, y *float32, n int) float32
TEXT ·dotF32AVX512(SB), NOSPLIT, $0-28
	MOVQ   x+0(FP), SI
	MOVQ   y+8(FP), DI
	MOVQ   n+16(FP), CX
	VPXORD Z0, Z0, Z0
	SUBQ   $16, CX
	JL     tail

loop:
	VMOVUPS     (SI), Z1
	VFMADD231PS (DI), Z1, Z0
	ADDQ        $64, SI
	ADDQ        $64, DI
	SUBQ        $16, CX
	JGE         loop

tail:
	ADDQ        $16, CX
	JZ          done
	MASK
	VMOVUPS.Z   (SI), K1, Z1
	VMOVUPS.Z   (DI), K1, Z2
	VFMADD231PS Z2, Z1, Z0

done:
	REDUCE
	VMOVSS X0, ret+24(FP)
	VZEROUPPER
	RET

// func dotBF16AVX512(x *float32, w *uint16, n int) float32
TEXT ·dotBF16AVX512(SB), NOSPLIT, $0-28
	MOVQ   x+0(FP), SI
	MOVQ   w+8(FP), DI
	MOVQ   n+16(FP), CX
	VPXORD Z0, Z0, Z0
	SUBQ   $16, CX
	JL     tail

loop:
	VPMOVZXWD   (DI), Z1
	VPSLLD      $16, Z1, Z1
	VFMADD231PS (SI), Z1, Z0
	ADDQ        $64, SI
	ADDQ        $32, DI
	SUBQ        $16, CX
	JGE         loop

tail:
	ADDQ        $16, CX
	JZ          done
	MASK
	VMOVDQU16.Z (DI), K1, Y1
	VPMOVZXWD   Y1, Z1
	VPSLLD      $16, Z1, Z1
	VMOVUPS.Z   (SI), K1, Z2
	VFMADD231PS Z2, Z1, Z0

done:
	REDUCE
	VMOVSS X0, ret+24(FP)
	VZEROUPPER
	RET
