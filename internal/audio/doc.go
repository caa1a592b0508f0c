// Package audio turns float samples into the bytes that users get, and files of
// users into float samples.
//
// Samples inside Mynah are float32 in -1..1. Outside they are signed 16-bit
// little-endian PCM ([AppendPCM16]), bare or as WAV, or what FLAC and MP3 make of them,
// or, where there is a program ffmpeg, Opus and AAC ([Formats]). A [Sink] takes the
// samples of one mono utterance as they come: [NewStream] for a pipe or a connection,
// where nothing can be corrected afterwards, and [Create] for a file, which has exact
// sizes and appears under its name only when it is complete.
//
// [NewEncoder] and [CreateEncoder] do the same for an [Encoding], which may also change
// the speed and the sample rate:
//
//	samples → Stretch → Resampler → PCM, WAV, FLAC, MP3, or another process → bytes
//
// Each step works on the stream as a whole: how the samples were cut into pieces changes
// no byte, and what a step holds back is bounded: 60 ms of input in a [Stretch], 8 ms in
// a [Resampler], 80 ms in FLAC, three frames or so in MP3.
//
// [ReadWAV] reads the WAV dialects found in the wild and refuses, in one line, files
// that lie. A sample that is NaN or infinite is an error on either way, never a sound.
package audio
