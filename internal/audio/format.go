package audio

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mynah-tts/mynah/internal/audio/mp3"
)

// Format is a form in which samples leave, mono.
type Format string

const (
	MP3  Format = "mp3"  // MPEG audio Layer III frames of one bit rate
	Opus Format = "opus" // in Ogg; made by ffmpeg
	AAC  Format = "aac"  // with ADTS headers; made by ffmpeg
	FLAC Format = "flac" // 16 bits
	WAV  Format = "wav"  // RIFF header, then 16-bit PCM
	PCM  Format = "pcm"  // bare 16-bit little-endian PCM
)

// form is what there is to know about a format.
type form struct {
	format      Format
	contentType string
	extensions  []string
	rates       []int  // Hz; nil for minRate to maxRate
	encoder     string // ffmpeg's name of the encoder; "" for our own
	muxer       []string
	bitrate     int // of encoder, in bit/s, unless one is chosen
}

// forms lists all formats, in the order in which they are named to users.
var forms = []form{
	{format: MP3, contentType: "audio/mpeg", extensions: []string{".mp3"}, rates: mp3.SampleRates()},
	{format: Opus, contentType: "audio/ogg", extensions: []string{".opus", ".ogg", ".oga"}, rates: []int{8000, 12000, 16000, 24000, 48000},
		encoder: "libopus", bitrate: 48000,
		// A page for each 20 ms packet: the muxer's second would hold sound back.
		muxer: []string{"-f", "ogg", "-page_duration", "20000"}},
	{format: AAC, contentType: "audio/aac", extensions: []string{".aac"},
		rates:   []int{8000, 11025, 12000, 16000, 22050, 24000, 32000, 44100, 48000, 64000, 88200, 96000},
		encoder: "aac", bitrate: 64000, muxer: []string{"-f", "adts"}},
	{format: FLAC, contentType: "audio/flac", extensions: []string{".flac"}},
	{format: WAV, contentType: "audio/wav", extensions: []string{".wav", ".wave"}},
	{format: PCM, contentType: "audio/pcm", extensions: []string{".pcm"}},
}

// find returns the form of a format, or nil.
func (f Format) find() *form {
	for i := range forms {
		if forms[i].format == f {
			return &forms[i]
		}
	}
	return nil
}

// Formats lists the formats that can be made here and now: Opus and AAC only where a
// program ffmpeg that can encode them is on PATH.
func Formats() []Format {
	var list []Format
	for i := range forms {
		if forms[i].available() == nil {
			list = append(list, forms[i].format)
		}
	}
	return list
}

// ParseFormat returns the format of a name, in upper or lower case, if it can be made
// here and now. The error names what can.
func ParseFormat(name string) (Format, error) {
	format := Format(strings.ToLower(name))
	if err := format.check(); err != nil {
		return "", fmt.Errorf("audio: %w", err)
	}
	return format, nil
}

// check refuses what is no format or cannot be made here.
func (f Format) check() error {
	form := f.find()
	if form == nil {
		return fmt.Errorf("format %q, allowed is %s", f, anyOf(Formats()))
	}
	if err := form.available(); err != nil {
		return fmt.Errorf("format %q %w; allowed is %s", f, err, anyOf(Formats()))
	}
	return nil
}

// anyOf writes "a, b or c".
func anyOf[T any](list []T) string {
	words := make([]string, len(list))
	for i, v := range list {
		words[i] = fmt.Sprint(v)
	}
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// FormatOf returns the format that the extension of a file's name stands for, in upper
// or lower case, whether or not it can be made here.
func FormatOf(path string) (Format, bool) {
	extension := strings.ToLower(filepath.Ext(path))
	for _, form := range forms {
		if slices.Contains(form.extensions, extension) {
			return form.format, true
		}
	}
	return "", false
}

// ContentType returns the media type of a format, "" for one that there is not.
func ContentType(format Format) string {
	if form := format.find(); form != nil {
		return form.contentType
	}
	return ""
}

// Extensions returns the extensions of a format's files, the usual one first, each
// with its dot.
func Extensions(format Format) []string {
	if form := format.find(); form != nil {
		return slices.Clone(form.extensions)
	}
	return nil
}

// checkRate refuses sample rates that the format does not have.
func (f *form) checkRate(rate int) error {
	switch {
	case f.rates != nil && !slices.Contains(f.rates, rate):
		return fmt.Errorf("audio: %s at %d Hz, allowed is %s", f.format, rate, anyOf(f.rates))
	case f.format == FLAC && rate > maxFLACRate:
		return fmt.Errorf("audio: flac at %d Hz, allowed is %d to %d", rate, minRate, maxFLACRate)
	case rate < minRate || rate > maxRate:
		return fmt.Errorf("audio: sample rate %d Hz, allowed is %d to %d", rate, minRate, maxRate)
	}
	return nil
}

// checkBitrate refuses bit rates that the format does not have at a sample rate.
func (f *form) checkBitrate(bitrate, rate int) error {
	switch {
	case bitrate == 0:
		return nil
	case f.format == MP3:
		if allowed := mp3.Bitrates(rate); !slices.Contains(allowed, bitrate) {
			return fmt.Errorf("audio: mp3 of %d bit/s at %d Hz, allowed is %s", bitrate, rate, anyOf(allowed))
		}
	case f.encoder == "":
		return fmt.Errorf("audio: bit rate %d for %s, which has none to choose", bitrate, f.format)
	default:
		// An AAC frame of 1,024 samples has room for 6,144 bits; Opus ends at 256,000.
		if most := min(256000, 6*rate); bitrate < minChildBitrate || bitrate > most {
			return fmt.Errorf("audio: %s of %d bit/s at %d Hz, allowed is %d to %d", f.format, bitrate, rate, minChildBitrate, most)
		}
	}
	return nil
}
