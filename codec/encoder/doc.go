// Package encoder turns sound into codes: the encoder of the 12.5 Hz speech tokenizer, the inverse of package codec. A voice
// clone with a transcript hears its reference through it.
//
// Hop samples (1,920 = 80 ms at 24 kHz in the published checkpoints) become one frame of codes; a last, partial hop becomes a frame
// too. The way of the data, with the rates of those checkpoints:
//
//	samples [n] ─ conv ─ 4 levels: residual unit, strided conv by 4, 5, 6, 8 ─ conv ─ rows [ceil(n/960), hidden], 25 a second
//	            ─ transformer, fully causal ─ strided conv by 2 ─ [ceil(n/1920), hidden] ─ residual searches ─ codes [frames, groups]
//
// The codes come from two separate searches on the same rows: group 0 (semantic) is the nearest entry of one codebook, the other
// groups (acoustic) are the nearest entries of a row of codebooks, each to what the ones before have left over.
//
// Two types: Encoder is the weights, read-only and shared; Run is the encoding of one clip. A Run advances in steps of bounded work,
// so that whoever shares the team with it can do something else between them. How it is cut into steps, and the number of
// workers, change no bit.
//
// Activations are channel-last, [time, channels], as in package codec. The convolutions go through a clip in chunks, and
// keep their left context from one to the next; only the transformer's rows are held for the whole clip.
package encoder
