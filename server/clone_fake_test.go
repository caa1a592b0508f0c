package server

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"mime/multipart"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/mynah-tts/mynah/internal/voices"
	"github.com/mynah-tts/mynah/synth"
)

// cloneFake is the engine of a Base checkpoint that hears clips: the reference of one
// tells its loudest sample in thousandths.
type cloneFake struct {
	*socketFake
	gate     chan struct{} // if not nil, each clip waits for one
	warnings []string
	fail     error // of Listen
	digest   string

	mu        sync.Mutex
	heard     []synth.Clip
	cancelled int
	forgotten []*synth.Reference
}

func newCloneFake() *cloneFake {
	e := &cloneFake{socketFake: newSocketFake(), digest: strings.Repeat("c3", 32)}
	e.info.Kind, e.info.Speakers, e.info.Cloning, e.info.Name = synth.Base, nil, true, "/secret/place/Fake-Base"
	e.info.Languages = []string{"english", "german"}
	return e
}

func (e *cloneFake) Listen(ctx context.Context, clip synth.Clip) (*synth.Reference, []string, error) {
	e.mu.Lock()
	e.heard = append(e.heard, clip)
	e.mu.Unlock()
	if e.gate != nil {
		select {
		case <-e.gate:
		case <-ctx.Done():
			e.mu.Lock()
			e.cancelled++
			e.mu.Unlock()
			return nil, nil, ctx.Err()
		}
	}
	if e.fail != nil {
		return nil, nil, e.fail
	}
	loudest := float32(0)
	for _, x := range clip.Samples {
		loudest = max(loudest, x)
	}
	mark := int32(math.Round(float64(loudest) * 1000))
	ref := &synth.Reference{XVector: []float32{float32(mark)}, Text: clip.Text}
	if clip.Text != "" {
		ref.Codes = [][]int32{{mark, 1}, {2, 3}}
	}
	return ref, e.warnings, nil
}

func (e *cloneFake) Forget(ref *synth.Reference) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.forgotten = append(e.forgotten, ref)
}

func (e *cloneFake) Digest() (string, error) { return e.digest, nil }

func (e *cloneFake) CheckReference(ref *synth.Reference) error {
	if len(ref.XVector) != 1 {
		return &synth.RequestError{Param: "reference", Message: fmt.Sprintf("x_vector has %d values, this checkpoint's have 1", len(ref.XVector))}
	}
	return nil
}

// listened is how many clips came to the engine.
func (e *cloneFake) listened() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.heard)
}

// spoken is the mark of the reference that the last request had, 0 for none.
func (e *cloneFake) spoken() int {
	r := e.last()
	if r.Reference == nil {
		return 0
	}
	return int(r.Reference.XVector[0])
}

// startClone runs a server that hears clips, and keeps voices in a folder of its own
// unless opts names one.
func startClone(t *testing.T, opts Options, engine *cloneFake) *running {
	t.Helper()
	if opts.Kept == nil {
		opts.Kept = voices.Open(t.TempDir(), 0)
	}
	if opts.Format == "" {
		opts.Format = "pcm"
	}
	s := newServer(t, opts)
	if err := s.Use(context.Background(), engine); err != nil {
		t.Fatal(err)
	}
	return run(t, s, engine.fakeEngine)
}

// makeClip is a WAV file of a second of a tone, whose loudest sample is so many
// thousandths.
func makeClip(mark int) []byte {
	const rate = 24000
	var b bytes.Buffer
	b.WriteString("RIFF\x00\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00")
	_ = binary.Write(&b, binary.LittleEndian, []uint32{rate, 2 * rate, 16<<16 | 2})
	b.WriteString("data")
	_ = binary.Write(&b, binary.LittleEndian, uint32(2*rate))
	samples := make([]int16, rate)
	for i := range samples {
		samples[i] = int16(float64(mark) * 32.767 * math.Sin(float64(i)*math.Pi/60))
	}
	_ = binary.Write(&b, binary.LittleEndian, samples)
	binary.LittleEndian.PutUint32(b.Bytes()[4:], uint32(b.Len()-8))
	return b.Bytes()
}

func clipURL(mark int) string {
	return "data:audio/wav;base64," + base64.StdEncoding.EncodeToString(makeClip(mark))
}

// form makes a multipart body: pairs of field and value; a value of bytes is a file.
func form(t testing.TB, fields ...any) (body *bytes.Buffer, contentType string) {
	t.Helper()
	body = &bytes.Buffer{}
	w := multipart.NewWriter(body)
	for i := 0; i < len(fields); i += 2 {
		name := fields[i].(string)
		data, isFile := fields[i+1].([]byte)
		create := w.CreateFormField
		if isFile {
			create = func(name string) (io.Writer, error) { return w.CreateFormFile(name, "../../clip.wav") }
		} else {
			data = fmt.Append(nil, fields[i+1])
		}
		part, err := create(name)
		if err == nil {
			_, err = part.Write(data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return body, w.FormDataContentType()
}

const voicesPath = "/v1/audio/voices"

// upload sends a form.
func (r *running) upload(fields ...any) *http.Response {
	r.t.Helper()
	body, kind := form(r.t, fields...)
	req, err := http.NewRequest("POST", r.url+voicesPath, body)
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Content-Type", kind)
	return r.do(req)
}

// shownVoice is a voice as clients read it.
type shownVoice struct {
	ID, Name, Kind, Of             string
	Mode, Language, Consent, Model string
	Problem                        string
	Seconds                        float64
	Usable                         bool
	RefText                        string `json:"ref_text"`
	Description                    string `json:"speaker_description"`
	CreatedAt                      int64  `json:"created_at"`
	FileSize                       int64  `json:"file_size"`
}

// shownLists are the lists of voices.
type shownLists struct {
	Voices   []shownVoice
	Uploaded []shownVoice `json:"uploaded_voices"`
}

func (r *running) voices() (lists shownLists) {
	r.t.Helper()
	data := read(r.t, r.get(voicesPath))
	if err := json.Unmarshal(data, &lists); err != nil {
		r.t.Fatalf("%s: %v", data, err)
	}
	return lists
}

// keep keeps a voice.
func (r *running) keep(name string, mark int, more ...any) shownVoice {
	r.t.Helper()
	resp := r.upload(append([]any{"name", name, "audio_sample", makeClip(mark)}, more...)...)
	data := read(r.t, resp)
	var created struct{ Voice shownVoice }
	if err := json.Unmarshal(data, &created); err != nil || resp.StatusCode/100 != 2 {
		r.t.Fatalf("status %d: %s", resp.StatusCode, data)
	}
	return created.Voice
}

func (r *running) remove(name string) *http.Response {
	r.t.Helper()
	return r.do(r.request("DELETE", voicesPath+"/"+name, ""))
}

// say speaks with some fields and returns the answer, which must be 200.
func (r *running) say(fields string) *http.Response {
	r.t.Helper()
	resp := r.post(speechPath, `{"input":"a",`+fields+`}`)
	if data := read(r.t, resp); resp.StatusCode != 200 {
		r.t.Fatalf("%s: status %d: %s", fields, resp.StatusCode, data)
	}
	return resp
}
