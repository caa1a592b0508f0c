// Package kernel holds the numeric primitives of the models: float32 and bfloat16 dot products, matrix products, convolution,
// and the element-wise functions between them, on plain slices. It knows no model and allocates nothing.
//
// Every primitive has a plain Go twin (files *_generic.go), which is the specification and what runs where there is no
// assembly, and versions in assembly for AVX2 with FMA and for AVX-512 (files *_avx2_amd64.s and *_avx512_amd64.s), some of them also
// for AVX2 with the dot products of AVX-VNNI (*_avxvnni_amd64.s). Headers (*.h) hold what such files share. The exported
// function checks lengths, panics if they do not fit, and hands over to the version of the current level (see Level). The build
// tag purego leaves all assembly out.
//
// # Order of sums
//
// Levels differ in the last bits, since they sum in different orders. Within one level, an element of a result depends only
// on its own inputs: a row of MatMulF32 or ConvF32 has the same bits alone and among others, and at any split of
// rows and outputs. Programs rely on that, and it is tested. See the comments on DotF32 and ConvF32 for the orders.
//
// In the generic twins the compiler may fuse a product and the sum that takes it. For arm64 it fuses all, for plain amd64 none. With
// GOAMD64=v3 it fuses some: the generic DotF32 and DotBF16 of the same numbers can differ in the last bits then.
//
// NaN and infinity pass through all kernels as arithmetic has them; nothing here is "fast math".
package kernel
