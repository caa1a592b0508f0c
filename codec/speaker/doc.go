// Package speaker turns sound into a voice: the speaker encoder of Base checkpoints, from a few seconds of somebody's speech to the
// vector that a prompt is given in place of a preset speaker. It is not normalised.
//
//	samples [n] ─ mel (package mel) ─ [frames, 128], 94 a second ─ ECAPA-TDNN ─ vector [Dim]
//
// The network looks at the whole clip, and in both directions: every convolution reflects the clip at its ends, and means over all
// time are taken in each block and at the end. Its parts, on rows [frames, channels]:
//
//	blocks.0                conv, ReLU
//	blocks.N                x + scale * tdnn2(res2net(tdnn1(x))), with a scale per channel made from the mean over time
//	mfa                     conv over the outputs of blocks.1 and on, side by side, ReLU
//	asp, fc                 mean and deviation over time, weighted by attention over time; a linear map
//
// Two types: Encoder is the weights, read-only and shared; Run is the work on one clip, in steps, as in package codec/encoder.
// The number of workers changes no bit.
package speaker
