// Package audio turns float samples into the bytes that users get, and files of
// users into float samples.
//
// Samples inside Mynah are float32 in -1..1. Outside they are signed 16-bit
// little-endian PCM ([AppendPCM16]), bare or as WAV. A [Sink] takes the samples of
// one mono utterance as they come: [NewStream] for a pipe or a connection, where
// nothing can be corrected afterwards, and [Create] for a file, which has exact sizes
// and appears under its name only when it is complete. [ReadWAV] reads the WAV
// dialects found in the wild and refuses, in one line, files that lie.
//
// A sample that is NaN or infinite is an error on either way, never a sound.
package audio
