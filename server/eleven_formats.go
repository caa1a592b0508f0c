package server

import (
	"strings"

	"github.com/mynah-tts/mynah/internal/audio"
)

// elevenFormat is one of ElevenLabs' output formats: codec, sample rate, kbit/s.
type elevenFormat struct {
	name string
	form encoding
}

// defaultElevenFormat is that of requests that name none.
const defaultElevenFormat = "mp3_44100_128"

// elevenFormats are those that are documented.
var elevenFormats = func() []elevenFormat {
	var all []elevenFormat
	add := func(name, format string, rate, bitrate int, law *law) {
		all = append(all, elevenFormat{name, encoding{format: format, rate: rate, bitrate: 1000 * bitrate, law: law}})
	}
	add("mp3_22050_32", "mp3", 22050, 32, nil)
	add("mp3_24000_48", "mp3", 24000, 48, nil)
	add("mp3_44100_32", "mp3", 44100, 32, nil)
	add("mp3_44100_64", "mp3", 44100, 64, nil)
	add("mp3_44100_96", "mp3", 44100, 96, nil)
	add("mp3_44100_128", "mp3", 44100, 128, nil)
	add("mp3_44100_192", "mp3", 44100, 192, nil)
	add("pcm_8000", "pcm", 8000, 0, nil)
	add("pcm_16000", "pcm", 16000, 0, nil)
	add("pcm_22050", "pcm", 22050, 0, nil)
	add("pcm_24000", "pcm", 24000, 0, nil)
	add("pcm_32000", "pcm", 32000, 0, nil)
	add("pcm_44100", "pcm", 44100, 0, nil)
	add("pcm_48000", "pcm", 48000, 0, nil)
	add("ulaw_8000", "pcm", 8000, 0, muLaw)
	add("alaw_8000", "pcm", 8000, 0, aLaw)
	add("opus_48000_32", "opus", 48000, 32, nil)
	add("opus_48000_64", "opus", 48000, 64, nil)
	add("opus_48000_96", "opus", 48000, 96, nil)
	add("opus_48000_128", "opus", 48000, 128, nil)
	add("opus_48000_192", "opus", 48000, 192, nil)
	add("wav_8000", "wav", 8000, 0, nil)
	add("wav_16000", "wav", 16000, 0, nil)
	add("wav_22050", "wav", 22050, 0, nil)
	add("wav_24000", "wav", 24000, 0, nil)
	add("wav_32000", "wav", 32000, 0, nil)
	add("wav_44100", "wav", 44100, 0, nil)
	add("wav_48000", "wav", 48000, 0, nil)
	return all
}()

// parseElevenFormat finds an output format by its name. It refuses those that cannot be
// made here, and names those that can.
func parseElevenFormat(name string) (encoding, *Error) {
	var made []string
	for _, f := range elevenFormats {
		_, err := audio.ParseFormat(f.form.format)
		if err == nil && strings.EqualFold(f.name, name) {
			return f.form, nil
		}
		if err == nil {
			made = append(made, f.name)
		}
	}
	return encoding{}, invalid("output_format", "%s, allowed are %s", quoted(name), list(made))
}
