package voices

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/mynah-tts/mynah/internal/plainjson"
	"github.com/mynah-tts/mynah/synth"
)

// Profile is a voice that is kept. Without codes it is a timbre alone.
type Profile struct {
	Name        string    `json:"name"`
	Created     time.Time `json:"created"`
	Language    string    `json:"language,omitempty"`    // of requests in this voice that name none
	Description string    `json:"description,omitempty"` // for people
	Consent     string    `json:"consent,omitempty"`     // what the speaker agreed to, or a record of it
	Model       string    `json:"model"`                 // the checkpoint's name, for people
	Digest      string    `json:"model_digest"`          // the checkpoint that the reference belongs to
	Seconds     float64   `json:"seconds"`               // of the clip

	synth.Reference
}

// The ways in which a voice is imitated.
const (
	ModeInContext = "in_context" // the clip's own speech stands in the prompt
	ModeVector    = "x_vector"   // timbre alone
)

// Mode tells how the voice is imitated.
func (p *Profile) Mode() string {
	if len(p.Codes) > 0 {
		return ModeInContext
	}
	return ModeVector
}

// document is a profile's file.
type document struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	Profile
}

// What stands in a file before anything else. A version is added when a file can no
// longer be read by programs that know the one before.
const (
	formatName    = "mynah voice"
	formatVersion = 1
)

var hexDigest = regexp.MustCompile(fmt.Sprintf(`^[0-9a-f]{%d}$`, digestHexChars))

// check says what is wrong with a profile, and puts its name into the form that is kept.
func (p *Profile) check() (err error) {
	if p.Name, err = CheckName(p.Name); err != nil {
		return err
	}
	for _, f := range []struct {
		field, text string
		most        int
		lines       bool // may have several
	}{
		{"language", p.Language, maxWordRunes, false}, {"description", p.Description, maxNoteRunes, true}, {"consent", p.Consent, maxNoteRunes, true},
		{"model", p.Model, maxModelRunes, false}, {"text", p.Text, maxTextRunes, true},
	} {
		if err := checkText(f.field, f.text, f.most, f.lines); err != nil {
			return err
		}
	}
	switch {
	case p.Model == "":
		return badValue("model", "it is empty")
	case !hexDigest.MatchString(p.Digest):
		return badValue("model_digest", "%s, wanted %d hexadecimal digits", quoted(p.Digest), digestHexChars)
	case p.Created.IsZero():
		return badValue("created", "it is missing")
	case !(p.Seconds > 0 && p.Seconds <= maxSeconds):
		return badValue("seconds", "%g, allowed is more than 0, up to %d", p.Seconds, maxSeconds)
	}
	return p.checkReference()
}

func (p *Profile) checkReference() error {
	if n := len(p.XVector); n == 0 || n > maxVector {
		return badValue("x_vector", "%d values, allowed are 1 to %d", n, maxVector)
	}
	for i, x := range p.XVector {
		if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
			return badValue("x_vector", "value %d is %g", i, x)
		}
	}
	switch n := len(p.Codes); {
	case n > maxFrames:
		return badValue("codes", "%d frames, allowed are %d", n, maxFrames)
	case n == 0 && p.Text != "":
		return badValue("text", "a transcript needs the codes that it belongs to")
	case n > 0 && strings.TrimSpace(p.Text) == "":
		return badValue("text", "codes need the transcript that they belong to")
	}
	for i, frame := range p.Codes {
		if groups := len(frame); groups == 0 || groups > maxGroups || groups != len(p.Codes[0]) {
			return badValue("codes", "frame %d has %d codes, allowed are 1 to %d, as many in each", i, groups, maxGroups)
		}
		for j, code := range frame {
			if code < 0 || code >= maxCode {
				return badValue("codes", "frame %d: code %d is %d, allowed are 0 to %d", i, j, code, maxCode-1)
			}
		}
	}
	return nil
}

// checkText bounds a text, and keeps out of it what acts on a terminal.
func checkText(field, text string, most int, lines bool) error {
	if !utf8.ValidString(text) {
		return badValue(field, "it is not UTF-8")
	}
	if n := utf8.RuneCountInString(text); n > most {
		return badValue(field, "%d characters, allowed are %d", n, most)
	}
	for _, r := range text {
		if unicode.IsControl(r) && !(lines && (r == '\n' || r == '\r' || r == '\t')) {
			return badValue(field, "it has the control character %U", r)
		}
	}
	return nil
}

// encode makes a profile's file.
func (p *Profile) encode() ([]byte, error) {
	data, err := json.Marshal(document{formatName, formatVersion, *p})
	if err != nil {
		return nil, err
	}
	if data = append(data, '\n'); len(data) > maxFileBytes {
		return nil, badValue("codes", "the profile has %d bytes, allowed are %d: take a shorter clip", len(data), maxFileBytes)
	}
	return data, nil
}

// decode reads a profile's file. Nothing of it is believed.
func decode(data []byte) (*Profile, error) {
	var head struct {
		Format  string `json:"format"`
		Version int    `json:"version"`
	}
	if err := plainjson.Decode(data, &head); err != nil {
		return nil, err
	}
	switch {
	case head.Format != formatName:
		return nil, fmt.Errorf("format is %s, wanted %q", quoted(head.Format), formatName)
	case head.Version != formatVersion:
		return nil, fmt.Errorf("version is %d, this program reads %d", head.Version, formatVersion)
	}
	var d document
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&d); err != nil {
		if plain := plainjson.Decode(data, &document{}); plain != nil {
			err = plain // in words of ours
		}
		return nil, errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errors.New("something follows the profile")
	}
	if err := d.check(); err != nil {
		var e *Error
		if errors.As(err, &e) {
			return nil, errors.New(e.Message)
		}
		return nil, err
	}
	return &d.Profile, nil
}
