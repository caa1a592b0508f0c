//go:build !purego

#include "textflag.h"

// func pause(n int)
// n pause instructions: they tell the core that this is a spin loop, which saves power and the other thread's time.
TEXT ·pause(SB), NOSPLIT, $0-8
	MOVQ n+0(FP), CX
	TESTQ CX, CX
	JLE  done
loop:
	PAUSE
	DECQ CX
	JNZ  loop
done:
	RET
