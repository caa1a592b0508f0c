package mp3

import (
	"fmt"
	"slices"
)

// format is what the sample rate decides.
type format struct {
	rate      int
	version   uint32   // as in the header: 3 is MPEG-1, 2 is MPEG-2, 0 is MPEG-2.5
	rateIndex uint32   // as in the header
	granules  int      // in a frame
	long      *[23]int // borders of the scale factor bands, in lines of 576
	short     *[14]int // the same of short blocks, in lines of 192
	standard  int      // bit rate unless one is chosen
}

const (
	versionMPEG1  = 3
	versionMPEG2  = 2
	versionMPEG25 = 0
)

// formats lists all rates of Layer III. The standard bit rates give 2 to 4 bits for
// each sample: on speech the noise then stays below what the masking model allows.
var formats = []format{
	{8000, versionMPEG25, 2, 1, &long8, &short8, 32000},
	{11025, versionMPEG25, 0, 1, &long16, &short16, 40000},
	{12000, versionMPEG25, 1, 1, &long16, &short16, 40000},
	{16000, versionMPEG2, 2, 1, &long16, &short16, 48000},
	{22050, versionMPEG2, 0, 1, &long16, &short22, 64000},
	{24000, versionMPEG2, 1, 1, &long24, &short24, 64000},
	{32000, versionMPEG1, 2, 2, &long32, &short32, 80000},
	{44100, versionMPEG1, 0, 2, &long44, &short44, 96000},
	{48000, versionMPEG1, 1, 2, &long48, &short48, 96000},
}

// bitratesMPEG1 and bitratesMPEG2 list the bit rates by their index in the header,
// less 1; MPEG-2.5 has those of MPEG-2.
var (
	bitratesMPEG1 = []int{32000, 40000, 48000, 56000, 64000, 80000, 96000, 112000, 128000, 160000, 192000, 224000, 256000, 320000}
	bitratesMPEG2 = []int{8000, 16000, 24000, 32000, 40000, 48000, 56000, 64000, 80000, 96000, 112000, 128000, 144000, 160000}
)

func (f *format) bitrates() []int {
	if f.version == versionMPEG1 {
		return bitratesMPEG1
	}
	return bitratesMPEG2
}

// formatOf returns the format of a sample rate, or nil.
func formatOf(rate int) *format {
	for i := range formats {
		if formats[i].rate == rate {
			return &formats[i]
		}
	}
	return nil
}

// SampleRates returns the sample rates that can be encoded, in Hz, ascending.
func SampleRates() []int {
	rates := make([]int, len(formats))
	for i, f := range formats {
		rates[i] = f.rate
	}
	return rates
}

// Bitrates returns the bit rates allowed at a sample rate, in bit/s, ascending; none
// if the sample rate is not one of [SampleRates].
func Bitrates(sampleRate int) []int {
	if f := formatOf(sampleRate); f != nil {
		return slices.Clone(f.bitrates())
	}
	return nil
}

// DefaultBitrate returns the bit rate that is used at a sample rate when none is
// chosen, in bit/s; 0 if the sample rate is not one of [SampleRates].
func DefaultBitrate(sampleRate int) int {
	if f := formatOf(sampleRate); f != nil {
		return f.standard
	}
	return 0
}

// resolve checks o and returns its format and the index of its bit rate in the
// format's list.
func resolve(o Options) (*format, int, error) {
	f := formatOf(o.SampleRate)
	if f == nil {
		return nil, 0, fmt.Errorf("mp3: sample rate %d Hz, allowed is %v", o.SampleRate, SampleRates())
	}
	bitrate := o.Bitrate
	if bitrate == 0 {
		bitrate = f.standard
	}
	index := slices.Index(f.bitrates(), bitrate)
	if index < 0 {
		return nil, 0, fmt.Errorf("mp3: bit rate %d bit/s at %d Hz, allowed is %v", o.Bitrate, o.SampleRate, f.bitrates())
	}
	return f, index, nil
}

// cutoffs gives, for each bit rate, the frequency above which nothing is coded, in
// Hz: where bits are few, they are better spent below. No entry: all is coded.
var cutoffs = map[int]float64{
	8000: 3000, 16000: 5500, 24000: 6500, 32000: 8500, 40000: 10500, 48000: 12000,
	56000: 15000, 64000: 16500, 80000: 19000, 96000: 20000, 112000: 20000, 128000: 20000,
}

// cutoffLine returns the first line that is not coded.
func (f *format) cutoffLine(bitrate int) int {
	limit, ok := cutoffs[bitrate]
	if !ok {
		return granuleLines
	}
	return min(granuleLines, int(limit*2*granuleLines/float64(f.rate)))
}

// The borders of the scale factor bands (ISO 11172-3 table B.8, 13818-3 table B.2,
// and the tables in use for MPEG-2.5). long16 serves 11.025, 12, 16 and 22.05 kHz.
var (
	long8  = [23]int{0, 12, 24, 36, 48, 60, 72, 88, 108, 132, 160, 192, 232, 280, 336, 400, 476, 566, 568, 570, 572, 574, 576}
	long16 = [23]int{0, 6, 12, 18, 24, 30, 36, 44, 54, 66, 80, 96, 116, 140, 168, 200, 238, 284, 336, 396, 464, 522, 576}
	long24 = [23]int{0, 6, 12, 18, 24, 30, 36, 44, 54, 66, 80, 96, 114, 136, 162, 194, 232, 278, 332, 394, 464, 540, 576}
	long32 = [23]int{0, 4, 8, 12, 16, 20, 24, 30, 36, 44, 54, 66, 82, 102, 126, 156, 194, 240, 296, 364, 448, 550, 576}
	long44 = [23]int{0, 4, 8, 12, 16, 20, 24, 30, 36, 44, 52, 62, 74, 90, 110, 134, 162, 196, 238, 288, 342, 418, 576}
	long48 = [23]int{0, 4, 8, 12, 16, 20, 24, 30, 36, 42, 50, 60, 72, 88, 106, 128, 156, 190, 230, 276, 330, 384, 576}

	short8  = [14]int{0, 8, 16, 24, 36, 52, 72, 96, 124, 160, 162, 164, 166, 192}
	short16 = [14]int{0, 4, 8, 12, 18, 26, 36, 48, 62, 80, 104, 134, 174, 192}
	short22 = [14]int{0, 4, 8, 12, 18, 24, 32, 42, 56, 74, 100, 132, 174, 192}
	short24 = [14]int{0, 4, 8, 12, 18, 26, 36, 48, 62, 80, 104, 136, 180, 192}
	short32 = [14]int{0, 4, 8, 12, 16, 22, 30, 42, 58, 78, 104, 138, 180, 192}
	short44 = [14]int{0, 4, 8, 12, 16, 22, 30, 40, 52, 66, 84, 106, 136, 192}
	short48 = [14]int{0, 4, 8, 12, 16, 22, 28, 38, 50, 64, 80, 100, 126, 192}
)
