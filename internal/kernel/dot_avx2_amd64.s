//go:build !purego

// Dot products on AVX2 with FMA: one accumulator of 8 lanes, elements in order, the last n%8 of them zero-padded into the
// lower lanes; then the lanes are halved three times. MatMul (matmul_avx2_amd64.s) has the same order for many at once.

#include "textflag.h"

// REDUCE sums the lanes of Y0 into the lowest of X0.
#define REDUCE \
	VEXTRACTF128 $1, Y0, X1 \
	VADDPS       X1, X0, X0 \
	VPERMILPS    $0xEE, X0, X1 \
	VADDPS       X1, X0, X0 \
	VMOVSHDUP    X0, X1 \
	VADDSS       X1, X0, X0

// func dotF32AVX2(x, y *float32, n int) float32
TEXT ·dotF32AVX2(SB), NOSPLIT, $0-28
	MOVQ   x+0(FP), SI
	MOVQ   y+8(FP), DI
	MOVQ   n+16(FP), DX
	VXORPS Y0, Y0, Y0
	MOVQ   DX, CX
	ANDQ   $7, DX
	SHRQ   $3, CX
	JZ     tail

loop:
	VMOVUPS     (SI), Y1
	VFMADD231PS (DI), Y1, Y0
	ADDQ        $32, SI
	ADDQ        $32, DI
	DECQ        CX
	JNZ         loop

tail:
	TESTQ DX, DX
	JZ    done
	SHLQ  $5, DX
	LEAQ  ·lowLanes(SB), AX
	VMOVUPS     (AX)(DX*1), Y3
	VMASKMOVPS  (SI), Y3, Y1
	VMASKMOVPS  (DI), Y3, Y2
	VFMADD231PS Y2, Y1, Y0

done:
	REDUCE
	VMOVSS X0, ret+24(FP)
	VZEROUPPER
	RET

// func dotBF16AVX2(x *float32, w *uint16, n int) float32
// n must be at least 8: the last words of w are loaded together with those before them and shifted down.
TEXT ·dotBF16AVX2(SB), NOSPLIT, $0-28
	MOVQ   x+0(FP), SI
	MOVQ   w+8(FP), DI
	MOVQ   n+16(FP), DX
	VXORPS Y0, Y0, Y0
	MOVQ   DX, CX
	ANDQ   $7, DX
	SHRQ   $3, CX

loop:
	VPMOVZXWD   (DI), Y1
	VPSLLD      $16, Y1, Y1
	VFMADD231PS (SI), Y1, Y0
	ADDQ        $32, SI
	ADDQ        $16, DI
	DECQ        CX
	JNZ         loop

	TESTQ       DX, DX
	JZ          done
	LEAQ        -16(DI)(DX*2), DI
	SHLQ        $5, DX
	LEAQ        ·lowLanes(SB), AX
	LEAQ        ·shiftWords(SB), BX
	VMOVUPS     (AX)(DX*1), Y3
	VMASKMOVPS  (SI), Y3, Y2
	SHRQ        $1, DX
	VMOVDQU     (DI), X1
	VPSHUFB     (BX)(DX*1), X1, X1
	VPMOVZXWD   X1, Y1
	VPSLLD      $16, Y1, Y1
	VFMADD231PS Y2, Y1, Y0

done:
	REDUCE
	VMOVSS X0, ret+24(FP)
	VZEROUPPER
	RET
