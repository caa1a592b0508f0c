// Package mp3 encodes mono samples as a stream of MPEG audio Layer III frames of one
// bit rate (ISO/IEC 11172-3 and 13818-3, and the low rates known as MPEG-2.5).
//
// The way of the samples, 576 of them (a granule) at a time:
//
//	samples → polyphase filters, 32 subbands × 18 slots   (bank.go, dct.go)
//	        → MDCT per subband, long or short windows      (mdct.go; attack.go chooses)
//	        → 576 lines, of which a masking model says how
//	          much noise each band may carry               (mask.go)
//	        → step sizes: one gain, a scale factor per
//	          band, such that the bits suffice             (allocate.go, quantize.go)
//	        → Huffman words, the cheapest tables           (huffman.go, regions.go)
//	        → frames of fixed size, whose bits may begin
//	          in the frames before (the reservoir)         (frame.go, sideinfo.go)
//
// Frames leave in the call that completes them. What is held back: the granule that
// is being filled, [lookahead] samples, and at most two frames in the reservoir.
//
// A decoder gives back the samples [Delay] later than they went in. Bytes depend on
// the samples alone, not on how they were cut into calls.
package mp3
