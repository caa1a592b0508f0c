// Package codec turns codes into sound: the decoder of the 12.5 Hz speech tokenizer.
//
// One frame of codes becomes Hop samples (1,920 = 80 ms at 24 kHz in the published checkpoints). The way of the data, with the
// rates of those checkpoints:
//
//	codes [frames, groups] ─ quantizer ─ conv ─ transformer (sliding window) ─ upsampling 2, 2
//	                       ─ conv ─ blocks 8, 5, 4, 3 ─ conv ─ samples [frames * hop]
//
// Everything in it is causal, so it runs as a stream: a State keeps what each part still needs of the past (the left context of
// every convolution, the last keys and values of the transformer), and Decode takes the next frames and returns exactly their
// samples. Nothing is decoded twice and nothing is held back. The samples are the same bits however the frames are cut into
// calls, in constant memory and constant time per frame, whatever the number of workers.
//
// Three types: Decoder is the weights, read-only and shared; State is one stream; Scratch is the activations of one step, which
// belong to the goroutine that computes and serve any number of streams in turn.
//
// Activations are channel-last everywhere, [time, channels], so that a causal convolution reads a contiguous piece of memory: its
// kept rows followed by the new ones.
package codec
