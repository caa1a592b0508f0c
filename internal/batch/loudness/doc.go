// Package loudness measures mono sound as ITU-R BS.1770-5 does and brings it to a loudness.
//
//	Meter     samples → integrated loudness in LUFS: K-weighting, blocks of 400 ms every
//	          100 ms, the absolute gate at -70 LUFS and the relative one 10 LU below the mean
//	Peak      samples → true peak: the largest value of the sound four times oversampled
//	Limiter   samples → samples times a gain, turned down around peaks that would pass a ceiling
//
// All take samples as they come; how they were cut changes no result. One channel counts
// with weight 1: a full-scale sine of 997 Hz has -3.01 LUFS.
package loudness
