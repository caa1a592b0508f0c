package audio

import "math"

const (
	// minRate and maxRate bound sample rates, in samples a second. Speech needs
	// 8,000; converters end at 768,000. Outside lie mistakes and lies, and a rate of
	// 1 would let a small file become hours of samples at 24,000.
	minRate, maxRate = 1000, 768000

	// minResampled and maxResampled bound the rates of a Resampler and a Stretch:
	// telephones below, studios above.
	minResampled, maxResampled = 8000, 192000

	// minSpeed and maxSpeed bound the speed of a Stretch, as OpenAI's API does.
	minSpeed, maxSpeed = 0.25, 4

	// minChildBitrate is the least that Opus and AAC are asked for, in bit/s.
	minChildBitrate = 8000

	// maxChannels bounds the channels of a file that is read. Cinema has 24; 65,535
	// is what a broken header says.
	maxChannels = 64

	// wavHeaderBytes is the length of a WAV header up to the first sample.
	wavHeaderBytes = 44

	// maxWAVData is the most bytes of samples a WAV file holds: its RIFF size counts
	// them and all of the header but 8 bytes in 32 bits, and samples are whole.
	maxWAVData = (math.MaxUint32 - (wavHeaderBytes - 8)) &^ 1

	// unknownSize stands in both size fields of a WAV stream, whose end is not known
	// when its header is sent. Readers take it as "until the stream ends".
	unknownSize = math.MaxUint32
)

// Limits bound what is read from a user's file. Both must be above 0.
type Limits struct {
	Bytes   int64   // of the file
	Seconds float64 // of sound
}
