//go:build !purego

// Activations on AVX2 with FMA, 8 elements at a time; the last n%8 are done under a mask. The algorithms are those of
// activation_generic.go with fused multiply-adds, the constants come from tables in activation_amd64.go.

#include "textflag.h"

// FULL and PART load 8 elements, or the last ones under the mask at (AX)(CX*1), into y. STOREFULL and STOREPART undo that;
// t is scratch.
#define FULL(addr, y) VMOVUPS addr, y

#define PART(addr, y) \
	VMOVUPS    (AX)(CX*1), y \
	VMASKMOVPS addr, y, y

#define STOREFULL(y, addr, t) VMOVUPS y, addr

#define STOREPART(y, addr, t) \
	VMOVUPS    (AX)(CX*1), t \
	VMASKMOVPS y, t, addr

// MASK makes PART ready for the last CX elements, CX < 8.
#define MASK \
	SHLQ $5, CX \
	LEAQ ·lowLanes(SB), AX

// Constants of EXP.
#define LOG2E Y4
#define MAGIC Y5
#define LN2HI Y6
#define LN2LO Y7
#define EXP6  Y8
#define EXP5  Y9
#define EXP4  Y10
#define EXP3  Y11
#define EXP2  Y12
#define ONE   Y13
#define MIN   Y14
#define MAX   Y15

#define EXPCONSTANTS \
	VBROADCASTSS ·expTable+0(SB), LOG2E  \
	VBROADCASTSS ·expTable+4(SB), MAGIC  \
	VBROADCASTSS ·expTable+8(SB), LN2HI  \
	VBROADCASTSS ·expTable+12(SB), LN2LO \
	VBROADCASTSS ·expTable+16(SB), EXP6  \
	VBROADCASTSS ·expTable+20(SB), EXP5  \
	VBROADCASTSS ·expTable+24(SB), EXP4  \
	VBROADCASTSS ·expTable+28(SB), EXP3  \
	VBROADCASTSS ·expTable+32(SB), EXP2  \
	VBROADCASTSS ·expTable+36(SB), ONE   \
	VBROADCASTSS ·expTable+40(SB), MIN   \
	VBROADCASTSS ·expTable+44(SB), MAX

// EXP is Y0 = exp(Y0), with Y1 to Y3 for scratch. The sum with MAGIC leaves the rounded n, plus the exponent's bias, in the low
// bits of the mantissa; shifted to the exponent they are 2ⁿ, or 0 if Y0 is below MIN. Minimum and maximum return their first
// operand in Go's order if one is NaN.
#define EXP \
	VCMPPS       $0x15, MIN, Y0, Y1 \
	VMINPS       Y0, MAX, Y0        \
	VMAXPS       Y0, MIN, Y0        \
	VMOVAPS      MAGIC, Y2          \
	VFMADD231PS  LOG2E, Y0, Y2      \
	VPSLLD       $23, Y2, Y3        \
	VANDPS       Y3, Y1, Y1         \
	VSUBPS       MAGIC, Y2, Y2      \
	VFNMADD231PS LN2HI, Y2, Y0      \
	VFNMADD231PS LN2LO, Y2, Y0      \
	VMOVAPS      EXP6, Y2           \
	VFMADD213PS  EXP5, Y0, Y2       \
	VFMADD213PS  EXP4, Y0, Y2       \
	VFMADD213PS  EXP3, Y0, Y2       \
	VFMADD213PS  EXP2, Y0, Y2       \
	VFMADD213PS  ONE, Y0, Y2        \
	VFMADD213PS  ONE, Y0, Y2        \
	VMULPS       Y1, Y2, Y0

// func maxF32AVX2(x *float32, n int) float32
// n must be at least 8: the last 8 elements are taken whatever n%8 is.
TEXT ·maxF32AVX2(SB), NOSPLIT, $0-20
	MOVQ    x+0(FP), SI
	MOVQ    n+8(FP), CX
	VMOVUPS -32(SI)(CX*4), Y0
	SHRQ    $3, CX

loop:
	VMAXPS (SI), Y0, Y0
	ADDQ   $32, SI
	DECQ   CX
	JNZ    loop

	VEXTRACTF128 $1, Y0, X1
	VMAXPS       X1, X0, X0
	VPERMILPS    $0xEE, X0, X1
	VMAXPS       X1, X0, X0
	VMOVSHDUP    X0, X1
	VMAXSS       X1, X0, X0
	VMOVSS       X0, ret+16(FP)
	VZEROUPPER
	RET

// func expSumF32AVX2(x, sums *float32, shift float32, n int)
// x = exp(x - shift); the 8 lanes of the sum go to sums.
TEXT ·expSumF32AVX2(SB), NOSPLIT, $0-32
	MOVQ   x+0(FP), DI
	MOVQ   n+24(FP), CX
	MOVQ   sums+8(FP), DX
	VXORPS Y0, Y0, Y0
	VMOVUPS Y0, (DX)
	EXPCONSTANTS
	SUBQ   $8, CX
	JL     tail

loop:
	VMOVUPS      (DI), Y0
	VBROADCASTSS shift+16(FP), Y1
	VSUBPS       Y1, Y0, Y0
	EXP
	VMOVUPS      Y0, (DI)
	VADDPS       (DX), Y0, Y0
	VMOVUPS      Y0, (DX)
	ADDQ         $32, DI
	SUBQ         $8, CX
	JGE          loop

tail:
	ADDQ         $8, CX
	JZ           done
	MASK
	PART((DI), Y0)
	VBROADCASTSS shift+16(FP), Y1
	VSUBPS       Y1, Y0, Y0
	EXP
	VANDPS       (AX)(CX*1), Y0, Y0
	STOREPART(Y0, (DI), Y1)
	VADDPS       (DX), Y0, Y0
	VMOVUPS      Y0, (DX)

done:
	VZEROUPPER
	RET

#define SILUMUL(LOAD, STORE) \
	LOAD((SI), Y0)              \
	VXORPS ·signBits(SB), Y0, Y0 \
	EXP                         \
	VADDPS ONE, Y0, Y0          \
	LOAD((SI), Y1)              \
	VDIVPS Y0, Y1, Y0           \
	LOAD((DX), Y1)              \
	VMULPS Y1, Y0, Y0           \
	STORE(Y0, (DI), Y1)

// func siluMulF32AVX2(dst, gate, up *float32, n int)
TEXT ·siluMulF32AVX2(SB), NOSPLIT, $0-32
	MOVQ dst+0(FP), DI
	MOVQ gate+8(FP), SI
	MOVQ up+16(FP), DX
	MOVQ n+24(FP), CX
	EXPCONSTANTS
	SUBQ $8, CX
	JL   tail

loop:
	SILUMUL(FULL, STOREFULL)
	ADDQ $32, DI
	ADDQ $32, SI
	ADDQ $32, DX
	SUBQ $8, CX
	JGE  loop

tail:
	ADDQ $8, CX
	JZ   done
	MASK
	SILUMUL(PART, STOREPART)

done:
	VZEROUPPER
	RET

#define SILU(LOAD, STORE) \
	LOAD((DI), Y0)              \
	VXORPS ·signBits(SB), Y0, Y0 \
	EXP                         \
	VADDPS ONE, Y0, Y0          \
	LOAD((DI), Y1)              \
	VDIVPS Y0, Y1, Y0           \
	STORE(Y0, (DI), Y1)

// func siluF32AVX2(x *float32, n int)
TEXT ·siluF32AVX2(SB), NOSPLIT, $0-16
	MOVQ x+0(FP), DI
	MOVQ n+8(FP), CX
	EXPCONSTANTS
	SUBQ $8, CX
	JL   tail

loop:
	SILU(FULL, STOREFULL)
	ADDQ $32, DI
	SUBQ $8, CX
	JGE  loop

tail:
	ADDQ $8, CX
	JZ   done
	MASK
	SILU(PART, STOREPART)

done:
	VZEROUPPER
	RET

// GELUSTEP is one step of the polynomial in t = Y2, coefficient at off of the table.
#define GELUSTEP(off) \
	VBROADCASTSS ·geluTable+off(SB), Y1 \
	VFMADD213PS  Y1, Y2, Y3

#define GELU(LOAD, STORE) \
	LOAD((DI), Y0)                      \
	VMULPS       Y0, Y0, Y0             \
	VBROADCASTSS ·geluTable+0(SB), Y1   \
	VMULPS       Y1, Y0, Y0             \
	EXP                                 \
	LOAD((DI), Y1)                      \
	VANDPS       ·absBits(SB), Y1, Y1   \
	VBROADCASTSS ·geluTable+4(SB), Y2   \
	VFMADD213PS  ONE, Y1, Y2            \
	VDIVPS       Y2, ONE, Y2            \
	VBROADCASTSS ·geluTable+8(SB), Y3   \
	GELUSTEP(12)                        \
	GELUSTEP(16)                        \
	GELUSTEP(20)                        \
	GELUSTEP(24)                        \
	GELUSTEP(28)                        \
	VMULPS       Y2, Y3, Y3             \
	VMULPS       Y0, Y3, Y3             \
	LOAD((DI), Y1)                      \
	VXORPS       Y2, Y2, Y2             \
	VMAXPS       Y1, Y2, Y2             \
	VANDPS       ·absBits(SB), Y1, Y1   \
	VFNMADD231PS Y3, Y1, Y2             \
	STORE(Y2, (DI), Y1)

// func geluF32AVX2(x *float32, n int)
TEXT ·geluF32AVX2(SB), NOSPLIT, $0-16
	MOVQ x+0(FP), DI
	MOVQ n+8(FP), CX
	EXPCONSTANTS
	SUBQ $8, CX
	JL   tail

loop:
	GELU(FULL, STOREFULL)
	ADDQ $32, DI
	SUBQ $8, CX
	JGE  loop

tail:
	ADDQ $8, CX
	JZ   done
	MASK
	GELU(PART, STOREPART)

done:
	VZEROUPPER
	RET

// ELU takes min(x, 0) apart as EXP does, without its bounds: n is at least -115 here.
#define ZERO  MIN
#define FLOOR MAX

#define ELU(LOAD, STORE) \
	LOAD((SI), Y0)              \
	VMINPS       Y0, ZERO, Y1   \
	VMAXPS       Y1, FLOOR, Y1  \
	VMAXPS       Y0, ZERO, Y0   \
	VMOVAPS      MAGIC, Y2      \
	VFMADD231PS  LOG2E, Y1, Y2  \
	VPSLLD       $23, Y2, Y3    \
	VSUBPS       MAGIC, Y2, Y2  \
	VFNMADD231PS LN2HI, Y2, Y1  \
	VFNMADD231PS LN2LO, Y2, Y1  \
	VMOVAPS      EXP6, Y2       \
	VFMADD213PS  EXP5, Y1, Y2   \
	VFMADD213PS  EXP4, Y1, Y2   \
	VFMADD213PS  EXP3, Y1, Y2   \
	VFMADD213PS  EXP2, Y1, Y2   \
	VMULPS       Y1, Y2, Y2     \
	VFMADD213PS  Y1, Y1, Y2     \
	VSUBPS       ONE, Y3, Y1    \
	VFMADD213PS  Y1, Y3, Y2     \
	VADDPS       Y2, Y0, Y0     \
	STORE(Y0, (DI), Y1)

// func eluF32AVX2(dst, x *float32, n int)
TEXT ·eluF32AVX2(SB), NOSPLIT, $0-24
	MOVQ         dst+0(FP), DI
	MOVQ         x+8(FP), SI
	MOVQ         n+16(FP), CX
	EXPCONSTANTS
	VXORPS       ZERO, ZERO, ZERO
	VBROADCASTSS ·eluFloor(SB), FLOOR
	SUBQ         $8, CX
	JL           tail

loop:
	ELU(FULL, STOREFULL)
	ADDQ $32, DI
	ADDQ $32, SI
	SUBQ $8, CX
	JGE  loop

tail:
	ADDQ $8, CX
	JZ   done
	MASK
	ELU(PART, STOREPART)

done:
	VZEROUPPER
	RET

// Constants of SNAKE. π comes in two parts: the first product is exact within a fused multiply-add.
#define INVPI  Y15
#define PIA    Y14
#define PIB    Y13
#define SIN12  Y12
#define SIN10  Y11
#define SIN8   Y10
#define SIN6   Y9
#define SIN4   Y8
#define UNIT   Y7
#define SINMAX Y6
#define SINMIN Y5

#define SNAKE(LOAD, STORE) \
	LOAD((SI), Y0)             \
	LOAD((DX), Y1)             \
	VMULPS       Y0, Y1, Y1    \
	VMULPS       INVPI, Y1, Y2 \
	VROUNDPS     $0, Y2, Y2    \
	VFNMADD231PS PIA, Y2, Y1   \
	VFNMADD231PS PIB, Y2, Y1   \
	VMINPS       Y1, SINMAX, Y1 \
	VMAXPS       Y1, SINMIN, Y1 \
	VMULPS       Y1, Y1, Y2      \
	VMOVAPS      SIN12, Y3       \
	VFMADD213PS  SIN10, Y2, Y3   \
	VFMADD213PS  SIN8, Y2, Y3    \
	VFMADD213PS  SIN6, Y2, Y3    \
	VFMADD213PS  SIN4, Y2, Y3    \
	VFMADD213PS  UNIT, Y2, Y3    \
	VMULPS       Y2, Y3, Y3      \
	LOAD((BX), Y1)             \
	VFMADD231PS  Y1, Y3, Y0    \
	STORE(Y0, (DI), Y1)

// func snakeF32AVX2(dst, x, a, ib *float32, n int)
TEXT ·snakeF32AVX2(SB), NOSPLIT, $0-40
	MOVQ         dst+0(FP), DI
	MOVQ         x+8(FP), SI
	MOVQ         a+16(FP), DX
	MOVQ         ib+24(FP), BX
	MOVQ         n+32(FP), CX
	VBROADCASTSS ·snakeTable+0(SB), INVPI
	VBROADCASTSS ·snakeTable+4(SB), PIA
	VBROADCASTSS ·snakeTable+8(SB), PIB
	VBROADCASTSS ·snakeTable+12(SB), SIN12
	VBROADCASTSS ·snakeTable+16(SB), SIN10
	VBROADCASTSS ·snakeTable+20(SB), SIN8
	VBROADCASTSS ·snakeTable+24(SB), SIN6
	VBROADCASTSS ·snakeTable+28(SB), SIN4
	VBROADCASTSS ·snakeTable+32(SB), UNIT
	VBROADCASTSS ·snakeTable+36(SB), SINMAX
	VBROADCASTSS ·snakeTable+40(SB), SINMIN
	SUBQ         $8, CX
	JL           tail

loop:
	SNAKE(FULL, STOREFULL)
	ADDQ $32, DI
	ADDQ $32, SI
	ADDQ $32, DX
	ADDQ $32, BX
	SUBQ $8, CX
	JGE  loop

tail:
	ADDQ $8, CX
	JZ   done
	MASK
	SNAKE(PART, STOREPART)

done:
	VZEROUPPER
	RET
