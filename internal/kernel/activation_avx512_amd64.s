//go:build !purego

// Activations on AVX-512, 16 elements at a time: as on AVX2 (activation_avx2_amd64.s), with the same constants.

#include "textflag.h"

// MASK makes K1 select the lowest CX lanes, CX ≤ 16. AX is lost.
#define MASK \
	MOVL  $1, AX  \
	SHLL  CX, AX  \
	DECL  AX      \
	KMOVW AX, K1

// Constants of EXP.
#define LOG2E  Z16
#define MAGIC  Z17
#define LN2HI  Z18
#define LN2LO  Z19
#define EXP6   Z20
#define EXP5   Z21
#define EXP4   Z22
#define EXP3   Z23
#define EXP2   Z24
#define ONE    Z25
#define MIN    Z26
#define MAX    Z27
#define SIGN   Z28

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

// EXP is Z0 = exp(Z0), with Z1, Z2 and K2 for scratch.
#define EXP \
	VCMPPS       $0x15, MIN, Z0, K2 \
	VMINPS       Z0, MAX, Z0        \
	VMAXPS       Z0, MIN, Z0        \
	VMOVAPS      MAGIC, Z2          \
	VFMADD231PS  LOG2E, Z0, Z2      \
	VPSLLD.Z     $23, Z2, K2, Z1    \
	VSUBPS       MAGIC, Z2, Z2      \
	VFNMADD231PS LN2HI, Z2, Z0      \
	VFNMADD231PS LN2LO, Z2, Z0      \
	VMOVAPS      EXP6, Z2           \
	VFMADD213PS  EXP5, Z0, Z2       \
	VFMADD213PS  EXP4, Z0, Z2       \
	VFMADD213PS  EXP3, Z0, Z2       \
	VFMADD213PS  EXP2, Z0, Z2       \
	VFMADD213PS  ONE, Z0, Z2        \
	VFMADD213PS  ONE, Z0, Z2        \
	VMULPS       Z1, Z2, Z0

// SILUMUL does the 16 elements, or those of K1.
#define SILUMUL \
	VMOVUPS.Z (SI), K1, Z3   \
	VMOVUPS.Z (DX), K1, Z4   \
	VPXORD    SIGN, Z3, Z0   \
	EXP                      \
	VADDPS    ONE, Z0, Z0    \
	VDIVPS    Z0, Z3, Z0     \
	VMULPS    Z4, Z0, Z0     \
	VMOVUPS   Z0, K1, (DI)

// func siluMulF32AVX512(dst, gate, up *float32, n int)
TEXT ·siluMulF32AVX512(SB), NOSPLIT, $0-32
	MOVQ         dst+0(FP), DI
	MOVQ         gate+8(FP), SI
	MOVQ         up+16(FP), DX
	EXPCONSTANTS
	VBROADCASTSS ·signBits(SB), SIGN
	MOVL         $16, CX
	MASK
	MOVQ         n+24(FP), CX
	SUBQ         $16, CX
	JL           tail

loop:
	SILUMUL
	ADDQ $64, DI
	ADDQ $64, SI
	ADDQ $64, DX
	SUBQ $16, CX
	JGE  loop

tail:
	ADDQ $16, CX
	JZ   done
	MASK
	SILUMUL

done:
	VZEROUPPER
	RET

// ELU does the 16 elements, or those of K1.
#define ZERO  MIN
#define FLOOR MAX

#define ELU \
	VMOVUPS.Z    (SI), K1, Z0   \
	VMINPS       Z0, ZERO, Z1   \
	VMAXPS       Z1, FLOOR, Z1  \
	VMAXPS       Z0, ZERO, Z0   \
	VMOVAPS      MAGIC, Z2      \
	VFMADD231PS  LOG2E, Z1, Z2  \
	VPSLLD       $23, Z2, Z3    \
	VSUBPS       MAGIC, Z2, Z2  \
	VFNMADD231PS LN2HI, Z2, Z1  \
	VFNMADD231PS LN2LO, Z2, Z1  \
	VMOVAPS      EXP6, Z2       \
	VFMADD213PS  EXP5, Z1, Z2   \
	VFMADD213PS  EXP4, Z1, Z2   \
	VFMADD213PS  EXP3, Z1, Z2   \
	VFMADD213PS  EXP2, Z1, Z2   \
	VMULPS       Z1, Z2, Z2     \
	VFMADD213PS  Z1, Z1, Z2     \
	VSUBPS       ONE, Z3, Z1    \
	VFMADD213PS  Z1, Z3, Z2     \
	VADDPS       Z2, Z0, Z0     \
	VMOVUPS      Z0, K1, (DI)

// func eluF32AVX512(dst, x *float32, n int)
TEXT ·eluF32AVX512(SB), NOSPLIT, $0-24
	MOVQ         dst+0(FP), DI
	MOVQ         x+8(FP), SI
	EXPCONSTANTS
	VPXORD       ZERO, ZERO, ZERO
	VBROADCASTSS ·eluFloor(SB), FLOOR
	MOVL         $16, CX
	MASK
	MOVQ         n+16(FP), CX
	SUBQ         $16, CX
	JL           tail

loop:
	ELU
	ADDQ $64, DI
	ADDQ $64, SI
	SUBQ $16, CX
	JGE  loop

tail:
	ADDQ $16, CX
	JZ   done
	MASK
	ELU

done:
	VZEROUPPER
	RET

// Constants of SNAKE. π comes in two parts: the first product is exact within a fused multiply-add.
#define INVPI  Z16
#define PIA    Z17
#define PIB    Z18
#define SIN12  Z19
#define SIN10  Z20
#define SIN8   Z21
#define SIN6   Z22
#define SIN4   Z23
#define UNIT   Z24
#define SINMAX Z25
#define SINMIN Z26

// SNAKE does the 16 elements, or those of K1.
#define SNAKE \
	VMOVUPS.Z    (SI), K1, Z0    \
	VMOVUPS.Z    (DX), K1, Z1    \
	VMOVUPS.Z    (BX), K1, Z4    \
	VMULPS       Z0, Z1, Z1      \
	VMULPS       INVPI, Z1, Z2   \
	VRNDSCALEPS  $0, Z2, Z2      \
	VFNMADD231PS PIA, Z2, Z1     \
	VFNMADD231PS PIB, Z2, Z1     \
	VMINPS       Z1, SINMAX, Z1  \
	VMAXPS       Z1, SINMIN, Z1  \
	VMULPS       Z1, Z1, Z2      \
	VMOVAPS      SIN12, Z3       \
	VFMADD213PS  SIN10, Z2, Z3   \
	VFMADD213PS  SIN8, Z2, Z3    \
	VFMADD213PS  SIN6, Z2, Z3    \
	VFMADD213PS  SIN4, Z2, Z3    \
	VFMADD213PS  UNIT, Z2, Z3    \
	VMULPS       Z2, Z3, Z3      \
	VFMADD231PS  Z4, Z3, Z0      \
	VMOVUPS      Z0, K1, (DI)

// func snakeF32AVX512(dst, x, a, ib *float32, n int)
TEXT ·snakeF32AVX512(SB), NOSPLIT, $0-40
	MOVQ         dst+0(FP), DI
	MOVQ         x+8(FP), SI
	MOVQ         a+16(FP), DX
	MOVQ         ib+24(FP), BX
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
	MOVL         $16, CX
	MASK
	MOVQ         n+32(FP), CX
	SUBQ         $16, CX
	JL           tail

loop:
	SNAKE
	ADDQ $64, DI
	ADDQ $64, SI
	ADDQ $64, DX
	ADDQ $64, BX
	SUBQ $16, CX
	JGE  loop

tail:
	ADDQ $16, CX
	JZ   done
	MASK
	SNAKE

done:
	VZEROUPPER
	RET
