// The end of a group of quantized products on AVX2, with AVX-VNNI or without, for each output:
// total += float32(sum - zero * activation sum) * (activation scale * weight scale).

// GROUPEND adds a group's integer sums s to the totals. zp: 8 zero points (bytes) in memory, ws: 8 weight scales in memory,
// asum and ascale: the row's sum and scale in memory; t and u are free.
#define GROUPEND(s, total, zp, ws, asum, ascale, t, u) \
	VPMOVZXBD    zp, t \
	VPBROADCASTD asum, u \
	VPMULLD      u, t, t \
	VPSUBD       t, s, s \
	VCVTDQ2PS    s, s \
	VBROADCASTSS ascale, t \
	VMULPS       ws, t, t \
	VMULPS       t, s, s \
	VADDPS       s, total, total

// ROWEND8 ends a group of one of several rows: sums a (outputs 0-7) and b, totals in memory at to. asum and ascale: the row's sum and scale
// in memory; zero points are in Y8 and Y9, scales of the weights in Y10 and Y11, Y12 and Y13 are free.
#define ROWEND8(a, b, asum, ascale, to, to2) \
	VPBROADCASTD asum, Y12 \
	VPMULLD      Y12, Y8, Y13 \
	VPSUBD       Y13, a, a \
	VPMULLD      Y12, Y9, Y13 \
	VPSUBD       Y13, b, b \
	VCVTDQ2PS    a, a \
	VCVTDQ2PS    b, b \
	VBROADCASTSS ascale, Y12 \
	VMULPS       Y10, Y12, Y13 \
	VMULPS       Y13, a, a \
	VMULPS       Y11, Y12, Y13 \
	VMULPS       Y13, b, b \
	VADDPS       to, a, a \
	VADDPS       to2, b, b \
	VMOVUPS      a, to \
	VMOVUPS      b, to2
