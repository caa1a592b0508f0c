//go:build !purego

// Element-wise kernels on AVX2 with FMA. Each goes by 32, then by 8 elements; the last n%8 are done under a mask, so nothing
// outside the slices is touched.

#include "textflag.h"

// MASK puts the mask for the last CX elements into Y15; CX is below 8 and is lost.
#define MASK \
	SHLQ    $5, CX            \
	LEAQ    ·lowLanes(SB), AX \
	VMOVUPS (AX)(CX*1), Y15

#define BINARY(OP) \
	MOVQ dst+0(FP), DI \
	MOVQ x+8(FP), SI   \
	MOVQ n+16(FP), CX  \
	SUBQ $32, CX       \
	JL   few           \
by32:                  \
	VMOVUPS (DI), Y0      \
	VMOVUPS 32(DI), Y1    \
	VMOVUPS 64(DI), Y2    \
	VMOVUPS 96(DI), Y3    \
	OP      (SI), Y0, Y0  \
	OP      32(SI), Y1, Y1 \
	OP      64(SI), Y2, Y2 \
	OP      96(SI), Y3, Y3 \
	VMOVUPS Y0, (DI)      \
	VMOVUPS Y1, 32(DI)    \
	VMOVUPS Y2, 64(DI)    \
	VMOVUPS Y3, 96(DI)    \
	ADDQ $128, SI         \
	ADDQ $128, DI         \
	SUBQ $32, CX          \
	JGE  by32             \
few:                      \
	ADDQ $24, CX          \
	JL   tail             \
by8:                      \
	VMOVUPS (DI), Y0      \
	OP      (SI), Y0, Y0  \
	VMOVUPS Y0, (DI)      \
	ADDQ $32, SI          \
	ADDQ $32, DI          \
	SUBQ $8, CX           \
	JGE  by8              \
tail:                     \
	ADDQ $8, CX           \
	JZ   done             \
	MASK                  \
	VMASKMOVPS (DI), Y15, Y0 \
	VMASKMOVPS (SI), Y15, Y1 \
	OP         Y1, Y0, Y0    \
	VMASKMOVPS Y0, Y15, (DI) \
done:                     \
	VZEROUPPER            \
	RET

// func addF32AVX2(dst, x *float32, n int)
TEXT ·addF32AVX2(SB), NOSPLIT, $0-24
	BINARY(VADDPS)

// func mulF32AVX2(dst, x *float32, n int)
TEXT ·mulF32AVX2(SB), NOSPLIT, $0-24
	BINARY(VMULPS)

// func mulAddF32AVX2(dst, a, b *float32, n int)
TEXT ·mulAddF32AVX2(SB), NOSPLIT, $0-32
	MOVQ dst+0(FP), DI
	MOVQ a+8(FP), SI
	MOVQ b+16(FP), DX
	MOVQ n+24(FP), CX
	SUBQ $32, CX
	JL   few

by32:
	VMOVUPS     (DI), Y0
	VMOVUPS     32(DI), Y1
	VMOVUPS     64(DI), Y2
	VMOVUPS     96(DI), Y3
	VMOVUPS     (SI), Y4
	VMOVUPS     32(SI), Y5
	VMOVUPS     64(SI), Y6
	VMOVUPS     96(SI), Y7
	VFMADD231PS (DX), Y4, Y0
	VFMADD231PS 32(DX), Y5, Y1
	VFMADD231PS 64(DX), Y6, Y2
	VFMADD231PS 96(DX), Y7, Y3
	VMOVUPS     Y0, (DI)
	VMOVUPS     Y1, 32(DI)
	VMOVUPS     Y2, 64(DI)
	VMOVUPS     Y3, 96(DI)
	ADDQ        $128, DI
	ADDQ        $128, SI
	ADDQ        $128, DX
	SUBQ        $32, CX
	JGE         by32

few:
	ADDQ $24, CX
	JL   tail

by8:
	VMOVUPS     (DI), Y0
	VMOVUPS     (SI), Y4
	VFMADD231PS (DX), Y4, Y0
	VMOVUPS     Y0, (DI)
	ADDQ        $32, DI
	ADDQ        $32, SI
	ADDQ        $32, DX
	SUBQ        $8, CX
	JGE         by8

tail:
	ADDQ $8, CX
	JZ   done
	MASK
	VMASKMOVPS  (DI), Y15, Y0
	VMASKMOVPS  (SI), Y15, Y4
	VMASKMOVPS  (DX), Y15, Y5
	VFMADD231PS Y5, Y4, Y0
	VMASKMOVPS  Y0, Y15, (DI)

done:
	VZEROUPPER
	RET

// func axpyF32AVX2(dst *float32, a float32, x *float32, n int)
TEXT ·axpyF32AVX2(SB), NOSPLIT, $0-32
	MOVQ         dst+0(FP), DI
	VBROADCASTSS a+8(FP), Y8
	MOVQ         x+16(FP), SI
	MOVQ         n+24(FP), CX
	SUBQ         $32, CX
	JL           few

by32:
	VMOVUPS     (DI), Y0
	VMOVUPS     32(DI), Y1
	VMOVUPS     64(DI), Y2
	VMOVUPS     96(DI), Y3
	VFMADD231PS (SI), Y8, Y0
	VFMADD231PS 32(SI), Y8, Y1
	VFMADD231PS 64(SI), Y8, Y2
	VFMADD231PS 96(SI), Y8, Y3
	VMOVUPS     Y0, (DI)
	VMOVUPS     Y1, 32(DI)
	VMOVUPS     Y2, 64(DI)
	VMOVUPS     Y3, 96(DI)
	ADDQ        $128, DI
	ADDQ        $128, SI
	SUBQ        $32, CX
	JGE         by32

few:
	ADDQ $24, CX
	JL   tail

by8:
	VMOVUPS     (DI), Y0
	VFMADD231PS (SI), Y8, Y0
	VMOVUPS     Y0, (DI)
	ADDQ        $32, DI
	ADDQ        $32, SI
	SUBQ        $8, CX
	JGE         by8

tail:
	ADDQ $8, CX
	JZ   done
	MASK
	VMASKMOVPS  (DI), Y15, Y0
	VMASKMOVPS  (SI), Y15, Y1
	VFMADD231PS Y1, Y8, Y0
	VMASKMOVPS  Y0, Y15, (DI)

done:
	VZEROUPPER
	RET

// func scaleMulF32AVX2(dst, x *float32, scale float32, w *float32, n int)
// dst = x * scale * w
TEXT ·scaleMulF32AVX2(SB), NOSPLIT, $0-40
	MOVQ         dst+0(FP), DI
	MOVQ         x+8(FP), SI
	VBROADCASTSS scale+16(FP), Y8
	MOVQ         w+24(FP), DX
	MOVQ         n+32(FP), CX
	SUBQ         $8, CX
	JL           tail

by8:
	VMULPS  (SI), Y8, Y0
	VMULPS  (DX), Y0, Y0
	VMOVUPS Y0, (DI)
	ADDQ    $32, DI
	ADDQ    $32, SI
	ADDQ    $32, DX
	SUBQ    $8, CX
	JGE     by8

tail:
	ADDQ $8, CX
	JZ   done
	MASK
	VMASKMOVPS (SI), Y15, Y0
	VMASKMOVPS (DX), Y15, Y1
	VMULPS     Y0, Y8, Y0
	VMULPS     Y1, Y0, Y0
	VMASKMOVPS Y0, Y15, (DI)

done:
	VZEROUPPER
	RET

// func scaleF32AVX2(x *float32, a float32, n int)
TEXT ·scaleF32AVX2(SB), NOSPLIT, $0-24
	MOVQ         x+0(FP), DI
	VBROADCASTSS a+8(FP), Y8
	MOVQ         n+16(FP), CX
	SUBQ         $8, CX
	JL           tail

by8:
	VMULPS  (DI), Y8, Y0
	VMOVUPS Y0, (DI)
	ADDQ    $32, DI
	SUBQ    $8, CX
	JGE     by8

tail:
	ADDQ $8, CX
	JZ   done
	MASK
	VMASKMOVPS (DI), Y15, Y0
	VMULPS     Y0, Y8, Y0
	VMASKMOVPS Y0, Y15, (DI)

done:
	VZEROUPPER
	RET

// func rotateF32AVX2(a, b, cos, sin *float32, n int)
// a, b = a*cos - b*sin, b*cos + a*sin
TEXT ·rotateF32AVX2(SB), NOSPLIT, $0-40
	MOVQ a+0(FP), DI
	MOVQ b+8(FP), SI
	MOVQ cos+16(FP), DX
	MOVQ sin+24(FP), BX
	MOVQ n+32(FP), CX
	SUBQ $8, CX
	JL   tail

by8:
	VMOVUPS      (DI), Y0
	VMOVUPS      (SI), Y1
	VMOVUPS      (DX), Y2
	VMOVUPS      (BX), Y3
	VMULPS       Y3, Y1, Y4
	VMULPS       Y3, Y0, Y5
	VFMSUB231PS  Y2, Y0, Y4
	VFMADD231PS  Y2, Y1, Y5
	VMOVUPS      Y4, (DI)
	VMOVUPS      Y5, (SI)
	ADDQ         $32, DI
	ADDQ         $32, SI
	ADDQ         $32, DX
	ADDQ         $32, BX
	SUBQ         $8, CX
	JGE          by8

tail:
	ADDQ $8, CX
	JZ   done
	MASK
	VMASKMOVPS  (DI), Y15, Y0
	VMASKMOVPS  (SI), Y15, Y1
	VMASKMOVPS  (DX), Y15, Y2
	VMASKMOVPS  (BX), Y15, Y3
	VMULPS      Y3, Y1, Y4
	VMULPS      Y3, Y0, Y5
	VFMSUB231PS Y2, Y0, Y4
	VFMADD231PS Y2, Y1, Y5
	VMASKMOVPS  Y4, Y15, (DI)
	VMASKMOVPS  Y5, Y15, (SI)

done:
	VZEROUPPER
	RET

// func widenBF16AVX2(dst *float32, src *uint16, n int)
// n must be a multiple of 8.
TEXT ·widenBF16AVX2(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), CX
	SHRQ $3, CX
	JZ   done

by8:
	VPMOVZXWD (SI), Y0
	VPSLLD    $16, Y0, Y0
	VMOVDQU   Y0, (DI)
	ADDQ      $16, SI
	ADDQ      $32, DI
	DECQ      CX
	JNZ       by8

done:
	VZEROUPPER
	RET

// func finitePrefixAVX2(x *float32, n int) int
// Returns the number of elements, a multiple of 8, before the first group of 8 with a NaN or an infinity. n must be a multiple of 8.
TEXT ·finitePrefixAVX2(SB), NOSPLIT, $0-24
	MOVQ         x+0(FP), SI
	MOVQ         n+8(FP), CX
	XORL         AX, AX
	MOVL         $0x7f800000, DX
	MOVQ         DX, X1
	VPBROADCASTD X1, Y1

by8:
	CMPQ      AX, CX
	JGE       done
	VPAND     (SI)(AX*4), Y1, Y0
	VPCMPEQD  Y1, Y0, Y0
	VMOVMSKPS Y0, DX
	TESTL     DX, DX
	JNZ       done
	ADDQ      $8, AX
	JMP       by8

done:
	MOVQ AX, ret+16(FP)
	VZEROUPPER
	RET

// SUM adds to the accumulators acc the values at off, weighted by Y15.
#define SUM(off, acc) VFMADD231PS off(AX), Y15, acc

// func weightedSumF32AVX2(dst, p, v *float32, ldv, n, d int)
// dst [d] = sum of p[i] * v[i*ldv:], ldv in bytes. 64 columns at a time stay in registers, then 8, then the rest under a mask.
TEXT ·weightedSumF32AVX2(SB), NOSPLIT, $0-48
	MOVQ dst+0(FP), DI
	MOVQ v+16(FP), SI
	MOVQ ldv+24(FP), R8
	MOVQ d+40(FP), DX
	SUBQ $64, DX
	JL   few

cols64:
	VXORPS Y0, Y0, Y0
	VXORPS Y1, Y1, Y1
	VXORPS Y2, Y2, Y2
	VXORPS Y3, Y3, Y3
	VXORPS Y4, Y4, Y4
	VXORPS Y5, Y5, Y5
	VXORPS Y6, Y6, Y6
	VXORPS Y7, Y7, Y7
	MOVQ   p+8(FP), BX
	MOVQ   n+32(FP), CX
	MOVQ   SI, AX
	TESTQ  CX, CX
	JZ     store64

rows64:
	VBROADCASTSS (BX), Y15
	SUM(0, Y0)
	SUM(32, Y1)
	SUM(64, Y2)
	SUM(96, Y3)
	SUM(128, Y4)
	SUM(160, Y5)
	SUM(192, Y6)
	SUM(224, Y7)
	ADDQ         $4, BX
	ADDQ         R8, AX
	DECQ         CX
	JNZ          rows64

store64:
	VMOVUPS Y0, (DI)
	VMOVUPS Y1, 32(DI)
	VMOVUPS Y2, 64(DI)
	VMOVUPS Y3, 96(DI)
	VMOVUPS Y4, 128(DI)
	VMOVUPS Y5, 160(DI)
	VMOVUPS Y6, 192(DI)
	VMOVUPS Y7, 224(DI)
	ADDQ    $256, DI
	ADDQ    $256, SI
	SUBQ    $64, DX
	JGE     cols64

few:
	ADDQ $56, DX
	JL   tail

cols8:
	VXORPS Y0, Y0, Y0
	MOVQ   p+8(FP), BX
	MOVQ   n+32(FP), CX
	MOVQ   SI, AX
	TESTQ  CX, CX
	JZ     store8

rows8:
	VBROADCASTSS (BX), Y15
	SUM(0, Y0)
	ADDQ         $4, BX
	ADDQ         R8, AX
	DECQ         CX
	JNZ          rows8

store8:
	VMOVUPS Y0, (DI)
	ADDQ    $32, DI
	ADDQ    $32, SI
	SUBQ    $8, DX
	JGE     cols8

tail:
	ADDQ    $8, DX
	JZ      done
	SHLQ    $5, DX
	LEAQ    ·lowLanes(SB), AX
	VMOVUPS (AX)(DX*1), Y14
	VXORPS  Y0, Y0, Y0
	MOVQ    p+8(FP), BX
	MOVQ    n+32(FP), CX
	TESTQ   CX, CX
	JZ      storeTail

rowsTail:
	VBROADCASTSS (BX), Y15
	VMASKMOVPS   (SI), Y14, Y1
	VFMADD231PS  Y1, Y15, Y0
	ADDQ         $4, BX
	ADDQ         R8, SI
	DECQ         CX
	JNZ          rowsTail

storeTail:
	VMASKMOVPS Y0, Y14, (DI)

done:
	VZEROUPPER
	RET
