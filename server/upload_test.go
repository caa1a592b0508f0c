package server

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mynah-tts/mynah/internal/voices"
	"github.com/mynah-tts/mynah/synth"
)

// Every way in which an upload can be wrong, with the field and the code that say so.
func TestUploadRefusals(t *testing.T) {
	engine := newCloneFake()
	store := voices.Open(t.TempDir(), 2)
	r := startClone(t, Options{Kept: store, Limits: Limits{ClipBytes: 100_000, ClipSeconds: 2}, Voices: map[string]string{}}, engine)
	r.keep("Anna", 100)
	clip := makeClip(100)
	long := append(clip[:40:40], append(binaryLength(3*48000), make([]byte, 3*48000)...)...)
	for _, tc := range []struct {
		name    string
		fields  []any
		status  int
		param   string
		code    string
		message string
	}{
		{"nothing", nil, 400, "name", "missing_field", "missing"},
		{"no name", []any{"audio_sample", clip}, 400, "name", "missing_field", "missing"},
		{"no recording", []any{"name", "b"}, 400, fieldSample, "missing_field", "missing"},
		{"empty name", []any{"name", "", "file", clip}, 400, "name", "invalid_value", "it is empty"},
		{"path", []any{"name", "../../x", "file", clip}, 400, "name", "invalid_value", `has '/'`},
		{"path of Windows", []any{"name", `..\x`, "file", clip}, 400, "name", "invalid_value", `has '\\'`},
		{"escaped path", []any{"name", "%2e%2e%2f", "file", clip}, 400, "name", "invalid_value", `has '%'`},
		{"NUL", []any{"name", "a\x00b", "file", clip}, 400, "name", "invalid_value", "U+0000"},
		{"device", []any{"name", "nul", "file", clip}, 400, "name", "invalid_value", "reserved"},
		{"default", []any{"name", "default", "file", clip}, 400, "name", "invalid_value", "reserved"},
		{"long name", []any{"name", strings.Repeat("x", 300), "file", clip}, 400, "name", "invalid_value", "300 characters"},
		{"name in Latin 1", []any{"name", "\xe4", "file", clip}, 400, "name", "invalid_value", "UTF-8"},
		{"name twice", []any{"name", "b", "name", "c", "file", clip}, 400, "name", "invalid_value", "twice"},
		{"recording twice", []any{"name", "b", "file", clip, "audio_sample", clip}, 400, "audio_sample", "invalid_value", "twice (file)"},
		{"taken", []any{"name", "Anna", "file", clip}, 409, "name", codeVoiceExists, `there is a voice "Anna" already`},
		{"taken in another case", []any{"name", "aNNA", "file", clip}, 409, "name", codeVoiceExists, "already"},
		{"empty file", []any{"name", "b", "file", []byte{}}, 400, "file", "invalid_value", "empty"},
		{"text for a file", []any{"name", "b", "audio_sample", []byte("hello there")}, 400, "audio_sample", "invalid_value", "the file is text"},
		{"picture for a file", []any{"name", "b", "audio_sample", []byte("\x89PNG\r\n\x1a\n0000")}, 400, "audio_sample", "invalid_value", "a PNG image"},
		{"silence", []any{"name", "b", "audio_sample", makeClip(0)}, 400, "audio_sample", "invalid_value", "silen"},
		{"cut header", []any{"name", "b", "audio_sample", clip[:30]}, 400, "audio_sample", "invalid_value", ""},
		{"too long", []any{"name", "b", "audio_sample", long}, 400, "audio_sample", "invalid_value", ""},
		{"too large", []any{"name", "b", "audio_sample", make([]byte, 100_001)}, 400, "audio_sample", "invalid_value", "over 100000 bytes"},
		{"far too large", []any{"name", "b", "audio_sample", make([]byte, 9_000_000)}, 413, "", "body_too_large", ""},
		{"long text", []any{"name", "b", "file", clip, "text", strings.Repeat("ä", 4097)}, 400, "text", "string_above_max_length", "4097"},
		{"larger text", []any{"name", "b", "file", clip, "ref_text", strings.Repeat("x", 70_000)}, 400, "ref_text", "invalid_value", "over 65536 bytes"},
		{"text in Latin 1", []any{"name", "b", "file", clip, "ref_text", "\xe4"}, 400, "ref_text", "invalid_value", "UTF-8"},
		{"language", []any{"name", "b", "file", clip, "language", "Klingon"}, 400, "language", "invalid_value", "allowed are auto, english, german"},
		{"long description", []any{"name", "b", "file", clip, "description", strings.Repeat("x", 1001)}, 400, "description", "invalid_value", "1001 characters"},
		{"terminal in consent", []any{"name", "b", "file", clip, "consent", "\x1b[31m"}, 400, "consent", "invalid_value", "control character"},
		{"switch", []any{"name", "b", "file", clip, "replace", "maybe"}, 400, "replace", "invalid_value", `"maybe", allowed are true and false`},
		{"all parts", slices.Repeat([]any{"x", "y"}, formParts), 400, "name", "missing_field", "missing"},
		{"many parts", slices.Repeat([]any{"x", "y"}, formParts+1), 400, "", "invalid_body", "over 32 parts"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if message := wantError(t, r.upload(tc.fields...), tc.status, tc.param, tc.code); !strings.Contains(message, tc.message) {
				t.Errorf("message %q, want %q in it", message, tc.message)
			}
		})
	}
	for _, kind := range []string{"", "text/plain", "multipart/form-data", "multipart/mixed; boundary=x"} {
		req := r.request("POST", voicesPath, "x")
		req.Header.Set("Content-Type", kind)
		wantError(t, r.do(req), 415, "", "unsupported_media_type")
	}
	body, kind := form(t, "name", "b", "audio_sample", clip)
	for _, cut := range []int{0, 10, 64, 100, 150, 200, 250, body.Len() / 2, body.Len() - 10, body.Len() - 4} {
		req := r.request("POST", voicesPath, string(body.Bytes()[:cut]))
		req.Header.Set("Content-Type", kind)
		wantError(t, r.do(req), 400, "", "invalid_body")
	}
	if got := r.voices(); len(got.Voices) != 1 {
		t.Errorf("there are %+v", got)
	}
	engine.fail = &synth.RequestError{Param: "ref_text", Message: "it says nothing"}
	if m := wantError(t, r.upload("name", "b", "file", makeClip(101), "text", "x"), 400, "text", "invalid_value"); m != "text: it says nothing" {
		t.Errorf("message %q", m)
	}
	engine.fail = synth.ErrBusy
	wantError(t, r.upload("name", "b", "file", makeClip(101)), 429, "", "queue_full")
	engine.fail = errors.New("a secret")
	wantError(t, r.upload("name", "b", "file", makeClip(101)), 500, "", "internal_error")
	engine.fail = nil
	r.keep("b", 2)
	wantError(t, r.upload("name", "c", "file", makeClip(3)), 409, "", codeManyVoices)
	if got := r.keep("ANNA", 4, "replace", "true"); got.Name != "ANNA" || len(r.voices().Voices) != 2 {
		t.Errorf("replaced by %+v", got)
	}
}

// A form that is whole in a body that is not: neither the voice is kept nor the connection.
// What else follows a form does no harm.
func TestUploadBodyBehindItsForm(t *testing.T) {
	r := startClone(t, Options{Limits: Limits{BodyTimeout: time.Second}}, newCloneFake())
	body, kind := form(t, "name", "anna", "audio_sample", makeClip(700))
	head := "POST " + voicesPath + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: " + kind + "\r\n"
	for _, tc := range []struct{ name, request, status string }{
		{"length", head + fmt.Sprintf("Content-Length: %d\r\n\r\n%s", body.Len()+1, body), "408"},
		{"chunks", head + fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n", body.Len(), body), "408"},
		{"with an epilogue", head + fmt.Sprintf("Connection: close\r\nContent-Length: %d\r\n\r\n%sepilogue", body.Len()+len("epilogue"), body), "201"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if answer := r.answerOf(tc.request); !strings.HasPrefix(answer, "HTTP/1.1 "+tc.status+" ") {
				t.Errorf("answer %.300q, want %s", answer, tc.status)
			}
			if kept := len(r.voices().Uploaded); (kept == 1) != (tc.status == "201") {
				t.Errorf("%d voices are kept", kept)
			}
		})
	}
}

func binaryLength(n int) []byte {
	return []byte{byte(n), byte(n >> 8), byte(n >> 16), byte(n >> 24)}
}
