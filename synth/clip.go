package synth

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/mynah-tts/mynah/internal/audio"
	"github.com/mynah-tts/mynah/internal/text"
)

// Bounds of a clip.
const (
	// leastClip and mostClip bound the length, in seconds. Below a second the speaker encoder
	// hears a few syllables; above two minutes every request of the voice is slow.
	leastClip, mostClip = 1, 120
	// shortClip and longClip, in seconds: outside there is a warning. Voices are trained on
	// references of some three to fifteen seconds.
	shortClip, longClip = 3, 30
	// silentPeak is the magnitude (-60 dBFS) below which a clip is silence.
	silentPeak = 1e-3
	// quietSpeech is the level of speech (-45 dBFS) below which there is a warning.
	quietSpeech = 5.6e-3
	// loudestSample is the largest magnitude of a sample, in units of full scale: floats
	// beyond it are no sound, and overflow in the encoders.
	loudestSample = 1000
	// clippedShare is the share of samples at full scale above which there is a warning.
	clippedShare = 1e-3
)

// Of a clip's sound.
const (
	levelWindow = 0.02 // seconds over which a level is taken
	endOfClip   = 0.08 // seconds at the end that tell whether somebody still speaks
	// soundShare and pauseShare, of the power of speech: a clip that ends above the first
	// (-20 dB) ends in a word, and what lies below the second (-35 dB) is no speech.
	soundShare, pauseShare = 1e-2, 3e-4
	// silenceShare, of the power of the loudest part (-50 dB), is silence.
	silenceShare = 1e-5
	// restSeconds is the silence that is put behind a clip that ends in a word. Without it
	// the new text begins with the rest of that word.
	restSeconds = 0.5
)

// Names of Listen's parameters in a RequestError.
const (
	clipParam     = "ref_audio"
	clipTextParam = "ref_text"
)

// sound is what a clip sounds like.
type sound struct {
	seconds float64
	speech  float64 // root mean square of its loudest parts
	spoken  float64 // seconds from the first to the last sound of some strength
	midword bool    // it ends while somebody speaks
	clipped bool
	loudest float32 // magnitude
}

// checkClip refuses clips that cannot be used, and tells what the others sound like.
func checkClip(c Clip) (s sound, err error) {
	if _, err := audio.NewResampler(c.Rate, audio.ClipRate); err != nil {
		return s, requestErrorf(clipParam, "%s", strings.TrimPrefix(err.Error(), "audio: "))
	}
	for i, v := range c.Samples {
		if x := float64(v); math.IsNaN(x) || math.IsInf(x, 0) {
			return s, requestErrorf(clipParam, "sample %d, at %.2f s, is %v, allowed are finite numbers", i, float64(i)/float64(c.Rate), v)
		} else if math.Abs(x) > loudestSample {
			return s, requestErrorf(clipParam, "sample %d, at %.2f s, is %.3g, allowed are up to %d times full scale", i, float64(i)/float64(c.Rate), v, loudestSample)
		}
	}
	s.seconds = float64(len(c.Samples)) / float64(c.Rate)
	round := math.Floor // away from what is allowed
	if s.seconds > mostClip {
		round = math.Ceil
	}
	if s.seconds < leastClip || s.seconds > mostClip {
		return s, requestErrorf(clipParam, "the clip is %.2f s long, allowed are %d to %d s", round(100*s.seconds)/100, leastClip, mostClip)
	}
	s.measure(c)
	if s.loudest < silentPeak {
		return s, requestErrorf(clipParam, "the clip is silent: its loudest sample is %s, wanted is speech", decibels(float64(s.loudest)))
	}
	return s, nil
}

// measure listens to a clip. Levels are taken around the mean, which is no sound.
func (s *sound) measure(c Clip) {
	sum := 0.0
	for _, v := range c.Samples {
		sum += float64(v)
	}
	mean := sum / float64(len(c.Samples))
	full := 0
	for _, v := range c.Samples {
		s.loudest = max(s.loudest, float32(math.Abs(float64(v)-mean)))
		if v >= 0.999 || v <= -0.999 {
			full++
		}
	}
	s.clipped = float64(full) > clippedShare*float64(len(c.Samples))
	power := levels(c, mean)
	speech := ofSpeech(power)
	s.speech = math.Sqrt(speech)
	first := slices.IndexFunc(power, func(p float64) bool { return p > pauseShare*speech })
	last := len(power) - 1
	for last > first && power[last] <= pauseShare*speech {
		last--
	}
	s.spoken = float64(last-first+1) * levelWindow
	end := power[max(0, len(power)-int(math.Round(endOfClip/levelWindow))):]
	s.midword = slices.Max(end) > soundShare*speech
}

// ofSpeech is the power of the louder parts of speech, however much silence is around it.
func ofSpeech(power []float64) float64 {
	sounds := slices.Sorted(slices.Values(power))
	least := silenceShare * sounds[len(sounds)-1]
	for len(sounds) > 1 && sounds[0] < least {
		sounds = sounds[1:]
	}
	return sounds[len(sounds)*4/5]
}

// levels is the power around the mean of each levelWindow.
func levels(c Clip, mean float64) []float64 {
	var list []float64
	for part := range slices.Chunk(c.Samples, max(1, int(levelWindow*float64(c.Rate)))) {
		power := 0.0
		for _, v := range part {
			d := float64(v) - mean
			power += d * d
		}
		list = append(list, power/float64(len(part)))
	}
	return list
}

// decibels words a magnitude beside full scale.
func decibels(x float64) string {
	if x == 0 {
		return "0"
	}
	return fmt.Sprintf("at %.0f dB of full scale", 20*math.Log10(x))
}

// warnings says what may make the voice worse.
func (s *sound) warnings() []string {
	var list []string
	add := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	switch {
	case s.seconds < shortClip:
		add("the clip is %.1f s long, which is little to know a voice by: five to fifteen seconds serve better", s.seconds)
	case s.seconds > longClip:
		add("the clip is %.0f s long: more than %d s make requests slower and the voice no better", s.seconds, longClip)
	}
	if s.speech < quietSpeech {
		add("the clip is very quiet, its speech is %s", decibels(s.speech))
	}
	switch {
	case s.loudest > 1.001:
		add("the clip goes beyond full scale, to %.2f", s.loudest)
	case s.clipped:
		add("the clip is clipped: samples are cut off at full scale")
	}
	return list
}

// Bounds of letters a second of speech. A syllable of Chinese, Japanese or Korean is a sign
// or two, one of an alphabet two to four letters; digits are spoken as words.
const (
	slowLetters, quickLetters = 4, 25
	slowSigns, quickSigns     = 1.5, 9
)

// fits tells what is wrong between a transcript and the speech that it is said to be of, or
// returns an empty string. A transcript that leaves out words, or has others, makes speech
// that begins with them or never ends.
func (s *sound) fits(transcript string) string {
	letters, signs := 0, 0
	for _, r := range transcript {
		switch {
		case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) || unicode.IsNumber(r):
			signs++
		case unicode.IsLetter(r), unicode.Is(unicode.Mc, r): // vowel signs of Indic scripts are letters here
			letters++
		}
	}
	least := float64(letters)/quickLetters + float64(signs)/quickSigns
	most := float64(letters)/slowLetters + float64(signs)/slowSigns
	switch {
	case s.spoken < least:
		return fmt.Sprintf("the transcript is too long for the clip: %d letters and signs in %.1f s of sound; it must say what is heard, no more", letters+signs, s.spoken)
	case s.spoken > most:
		return fmt.Sprintf("the transcript is too short for the clip: %d letters and signs for %.1f s of sound; it must say all that is heard", letters+signs, s.spoken)
	}
	return ""
}

// rest returns samples at the engine's rate with silence behind them, so much that they end
// with a frame, or as they are if that would be more than allowed.
func rest(samples []float32, rate, hop int) []float32 {
	n := (len(samples) + int(restSeconds*float64(rate)) + hop - 1) / hop * hop
	if n > maxReferenceFrames*hop {
		return samples
	}
	return append(slices.Clone(samples), make([]float32, n-len(samples))...)
}

// cleanTranscript checks the text of a clip; white space alone is none.
func cleanTranscript(s string) (string, error) {
	clean, err := cleanText(clipTextParam, s)
	if err != nil {
		return "", err
	}
	clean = strings.TrimSpace(clean)
	if clean != "" && !text.Speakable(clean) {
		return "", requestErrorf(clipTextParam, "%q has no letter and no number, wanted is what the clip says", abridged(clean))
	}
	return clean, nil
}
