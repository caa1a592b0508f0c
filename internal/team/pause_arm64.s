//go:build !purego

#include "textflag.h"

// func pause(n int)
// n yield instructions: they tell the core that this is a spin loop.
TEXT ·pause(SB), NOSPLIT, $0-8
	MOVD n+0(FP), R0
loop:
	YIELD
	SUBS $1, R0, R0
	BGT  loop
	RET
