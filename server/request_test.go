package server

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/mynah-tts/mynah/synth"
)

// Every way in which a body can be wrong, with the field and the code that say so.
func TestRefusals(t *testing.T) {
	r := start(t, Options{Voices: map[string]string{"alloy": "vivian"}})
	long := func(n int) string { return strings.Repeat("ä", n) }
	for _, tc := range []struct {
		name, body  string
		status      int
		param, code string
		message     string // in it
	}{
		{"empty", ``, 400, "", "invalid_body", "it is empty"},
		{"blank", " \n", 400, "", "invalid_body", "it is empty"},
		{"cut", `{"input":"Hello`, 400, "", "invalid_body", "ends too early"},
		{"cut behind a value", `{"input":"Hello"`, 400, "", "invalid_body", "ends too early"},
		{"no JSON", `input=Hello`, 400, "", "invalid_body", "a JSON object"},
		{"comma", `{"input":"Hello",}`, 400, "", "invalid_body", "not JSON"},
		{"list", `[]`, 400, "", "invalid_body", "got a list"},
		{"null", `null`, 400, "", "invalid_body", "got null"},
		{"text", `"Hello"`, 400, "", "invalid_body", "got text"},
		{"two objects", `{"input":"Hello"} {}`, 400, "", "invalid_body", "byte 17"},
		{"twice", `{"input":"Hello","input":"Bye"}`, 400, "", "invalid_body", `"input" is there twice`},
		{"byte order mark", "\uFEFF{\"input\":\"Hello\"}", 400, "", "invalid_body", "byte order mark"},
		{"no UTF-8", "{\"input\":\"\xff\"}", 400, "", "invalid_body", "byte 10 is not UTF-8"},
		{"half a pair", `{"input":"\ud83d"}`, 400, "input", "invalid_value", "surrogate"},
		{"other half", `{"input":"x\ude00"}`, 400, "input", "invalid_value", "surrogate"},
		{"deep", `{"x":` + strings.Repeat("[", 20000) + `}`, 400, "", "invalid_body", "not JSON"},

		{"no input", `{}`, 400, "input", "missing_field", "missing"},
		{"input null", `{"input":null}`, 400, "input", "invalid_type", "got null"},
		{"input number", `{"input":1}`, 400, "input", "invalid_type", "wanted text, got a number"},
		{"input list", `{"input":["a"]}`, 400, "input", "invalid_type", "got a list"},
		{"input object", `{"input":{}}`, 400, "input", "invalid_type", "got an object"},
		{"input switch", `{"input":true}`, 400, "input", "invalid_type", "true or false"},
		{"input too long", `{"input":"` + long(4097) + `"}`, 400, "input", "string_above_max_length", "4097 characters, allowed are 4096"},
		{"input far too long", `{"input":"` + long(1000000) + `"}`, 400, "input", "string_above_max_length", "1000000"},
		{"instructions too long", `{"input":"a","instructions":"` + long(4097) + `"}`, 400, "instructions", "string_above_max_length", "4097"},

		{"model with no date", `{"input":"a","model":"tts-1-2025-13-01"}`, 404, "model", "model_not_found", "allowed are Fake-Voice"},
		{"model unknown", `{"input":"a","model":"gpt-5"}`, 404, "model", "model_not_found", "allowed are Fake-Voice, gpt-4o-mini-tts, tts-1, tts-1-hd"},
		{"model empty", `{"input":"a","model":""}`, 404, "model", "model_not_found", `""`},
		{"model number", `{"input":"a","model":1}`, 400, "model", "invalid_type", ""},
		{"voice unknown", `{"input":"a","voice":"bob"}`, 400, "voice", "voice_not_found", `"bob", allowed are ryan, vivian, alloy`},
		{"voice of OpenAI", `{"input":"a","voice":"nova"}`, 400, "voice", "voice_not_found", "--voice-map"},
		{"voice empty", `{"input":"a","voice":""}`, 400, "voice", "voice_not_found", `""`},
		{"voice a path", `{"input":"a","voice":"../../etc/passwd"}`, 400, "voice", "voice_not_found", ""},
		{"voice breaks lines", `{"input":"a","voice":"\n\u001b[31m\u0000"}`, 400, "voice", "voice_not_found", `"\n\x1b[31m\x00"`},
		{"voice number", `{"input":"a","voice":7}`, 400, "voice", "invalid_type", ""},
		{"voice without id", `{"input":"a","voice":{"name":"ryan"}}`, 400, "voice", "invalid_value", `no "id"`},
		{"voice id number", `{"input":"a","voice":{"id":1}}`, 400, "voice", "invalid_type", ""},

		{"format unknown", `{"input":"a","response_format":"ogg"}`, 400, "response_format", "invalid_value", "mp3"},
		{"format empty", `{"input":"a","response_format":""}`, 400, "response_format", "invalid_value", "mp3"},
		{"format number", `{"input":"a","response_format":3}`, 400, "response_format", "invalid_type", ""},
		{"stream format", `{"input":"a","stream_format":"ws"}`, 400, "stream_format", "invalid_value", `"ws", allowed are audio, sse`},
		{"speed 0", `{"input":"a","speed":0}`, 400, "speed", "invalid_value", "0, allowed are 0.25 to 4"},
		{"speed -1", `{"input":"a","speed":-1}`, 400, "speed", "invalid_value", "-1"},
		{"speed 5", `{"input":"a","speed":5}`, 400, "speed", "invalid_value", "5"},
		{"speed text", `{"input":"a","speed":"2"}`, 400, "speed", "invalid_type", "wanted a number, got text"},
		{"speed NaN", `{"input":"a","speed":NaN}`, 400, "", "invalid_body", "not JSON"},
		{"speed huge", `{"input":"a","speed":1e999}`, 400, "speed", "invalid_value", "too large"},
		{"rate low", `{"input":"a","sample_rate":7999}`, 400, "sample_rate", "invalid_value", "7999, allowed are 8000 to 48000"},
		{"rate fraction", `{"input":"a","sample_rate":8000.5}`, 400, "sample_rate", "invalid_value", "whole"},
		{"rate not of mp3", `{"input":"a","sample_rate":9999,"response_format":"mp3"}`, 400, "sample_rate", "invalid_value", "9999"},

		{"task unknown", `{"input":"a","task_type":"Sing"}`, 400, "task_type", "invalid_value", "CustomVoice, VoiceDesign, Base"},
		{"task of others", `{"input":"a","task_type":"Base"}`, 400, "task_type", "invalid_value", "Base needs a Base checkpoint, this is CustomVoice"},
		{"reference", `{"input":"a","ref_audio":"data:audio/wav;base64,AA==","ref_text":"b"}`, 400, "ref_audio", "invalid_value", "this is CustomVoice"},
		{"transcript alone", `{"input":"a","ref_text":"b"}`, 400, "ref_text", "invalid_value", "missing"},
		{"vector alone", `{"input":"a","x_vector_only_mode":true}`, 400, "x_vector_only_mode", "invalid_value", "missing"},
		{"switch text", `{"input":"a","non_streaming_mode":"true"}`, 400, "non_streaming_mode", "invalid_type", "wanted true or false"},
		{"chunk", `{"input":"a","initial_codec_chunk_frames":-1}`, 400, "initial_codec_chunk_frames", "invalid_value", "0 to 1000"},

		{"tokens 0", `{"input":"a","max_new_tokens":0}`, 400, "max_new_tokens", "invalid_value", "1 to 100000"},
		{"seed text", `{"input":"a","seed":"7"}`, 400, "seed", "invalid_type", "whole number, got text"},
		{"seed 2^63", `{"input":"a","seed":9223372036854775808}`, 400, "seed", "invalid_value", "out of range"},
		{"seed half", `{"input":"a","seed":0.5}`, 400, "seed", "invalid_value", "whole number"},
		{"seed nested", `{"input":"a","extra_body":{"seed":7}}`, 400, "extra_body", "invalid_value", "top of the body"},
		{"temperature text", `{"input":"a","temperature":"hot"}`, 400, "temperature", "invalid_type", ""},
		{"top_k fraction", `{"input":"a","top_k":1.5}`, 400, "top_k", "invalid_value", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			req := r.request("POST", speechPath, tc.body)
			req.Header.Set("Content-Type", "application/json; charset=UTF-8")
			if message := wantError(t, r.do(req), tc.status, tc.param, tc.code); !strings.Contains(message, tc.message) {
				t.Errorf("message %q, want %q in it", message, tc.message)
			}
		})
	}
	if n := len(r.engine.requests); n != 1 { // warming up
		t.Errorf("%d requests came to the engine", n)
	}
}

// Every field reaches the engine.
func TestFieldsReachTheEngine(t *testing.T) {
	r := start(t, Options{Voices: map[string]string{"Alloy": "Vivian"}})
	ptr := func(x float64) *float64 { return &x }
	n := func(x int) *int { return &x }
	seed := int64(9223372036854775807)
	base := synth.Request{Text: "a", Voice: ""}
	for _, tc := range []struct {
		fields string
		want   func(*synth.Request)
	}{
		{``, func(*synth.Request) {}},
		{`"model":"TTS-1-HD"`, func(*synth.Request) {}},
		{`"model":"fake-voice"`, func(*synth.Request) {}},
		{`"voice":"Vivian"`, func(q *synth.Request) { q.Voice = "vivian" }},
		{`"voice":{"id":"VIVIAN","x":1}`, func(q *synth.Request) { q.Voice = "vivian" }},
		{`"voice":"alloy"`, func(q *synth.Request) { q.Voice = "vivian" }},
		{`"voice":"default"`, func(*synth.Request) {}},
		{`"instructions":"calm"`, func(q *synth.Request) { q.Instruct = "calm" }},
		{`"language":"German"`, func(q *synth.Request) { q.Language = "German" }},
		{`"task_type":"customvoice"`, func(*synth.Request) {}},
		{`"non_streaming_mode":true`, func(q *synth.Request) { q.Layout = synth.LayoutWhole }},
		{`"non_streaming_mode":false`, func(q *synth.Request) { q.Layout = synth.LayoutStreaming }},
		{`"max_new_tokens":12`, func(q *synth.Request) { q.MaxFrames = 12 }},
		{`"max_new_tokens":1.2e1`, func(q *synth.Request) { q.MaxFrames = 12 }},
		{`"seed":9223372036854775807`, func(q *synth.Request) { q.Seed = &seed }},
		{`"temperature":0.5,"top_k":9,"top_p":0.25,"repetition_penalty":1.5`, func(q *synth.Request) {
			q.Sampling = synth.Sampling{Temperature: ptr(0.5), TopK: n(9), TopP: ptr(0.25), RepetitionPenalty: ptr(1.5)}
		}},
		{`"subtalker_temperature":0.5,"subtalker_top_k":9,"subtalker_top_p":0.25`, func(q *synth.Request) {
			q.Sampling = synth.Sampling{SubTemperature: ptr(0.5), SubTopK: n(9), SubTopP: ptr(0.25)}
		}},
		{`"initial_codec_chunk_frames":2,"x_vector_only_mode":false,"stream_format":"audio"`, func(*synth.Request) {}},
		{`"model":null,"voice":null,"seed":null,"speed":null,"response_format":null,"non_streaming_mode":null,"ref_audio":null`, func(*synth.Request) {}},
	} {
		resp := r.post(speechPath, `{"input":"a",`+tc.fields+`}`)
		if tc.fields == "" {
			resp = r.post(speechPath, `{"input":"a"}`)
		}
		if data := read(t, resp); resp.StatusCode != 200 {
			t.Errorf("%s: status %d: %s", tc.fields, resp.StatusCode, data)
			continue
		}
		want := base
		tc.want(&want)
		if got := r.engine.last(); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: the engine got %+v, want %+v", tc.fields, got, want)
		}
	}
}

func TestInputAtItsLimit(t *testing.T) {
	r := start(t, Options{})
	for _, text := range []string{strings.Repeat("a", 4096), strings.Repeat("\U0001F600", 4095) + "a"} {
		if resp := r.post(speechPath, `{"input":"`+text+`"}`); resp.StatusCode != 200 {
			t.Errorf("status %d: %s", resp.StatusCode, read(t, resp))
		} else {
			read(t, resp)
		}
	}
}

func TestIgnoredFieldsAreNamed(t *testing.T) {
	r := start(t, Options{})
	for _, tc := range []struct{ fields, want string }{
		{`"temprature":1,"stream":true`, "temprature, stream"},
		{`"x\r\nSet-Cookie":1,"Größe":2`, `"x\r\nSet-Cookie", "Gr\u00f6\u00dfe"`},
		{`"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1,"j":1`, "a, b, c, d, e, f, g, h, 2 more"},
	} {
		resp := r.post(speechPath, `{"input":"a",`+tc.fields+`}`)
		read(t, resp)
		if got := resp.Header.Get(headerIgnored); resp.StatusCode != 200 || got != tc.want {
			t.Errorf("%s: status %d, header %q, wanted %q", tc.fields, resp.StatusCode, got, tc.want)
		}
	}
}

// Which of voice, ref_audio and ref_text may stand together, for each kind of
// checkpoint: the field that is to blame, "" for none.
func TestCloningTable(t *testing.T) {
	const audio, text, voice = `"ref_audio":"data:audio/wav;base64,AA=="`, `"ref_text":"b"`, `"voice":"ryan"`
	for _, tc := range []struct {
		fields string
		want   [3]string // CustomVoice, VoiceDesign, Base with a reference of the server
	}{
		{``, [3]string{}},
		{`"voice":"default"`, [3]string{}},
		{voice, [3]string{"", "voice", "voice"}},
		{audio, [3]string{"ref_audio", "ref_audio", "ref_text"}},
		{text, [3]string{"ref_text", "ref_text", "ref_text"}},
		{audio + "," + text, [3]string{"ref_audio", "ref_audio", "ref_audio"}}, // the last: no encoder in this build
		{audio + `,"x_vector_only_mode":true`, [3]string{"ref_audio", "ref_audio", "ref_audio"}},
		{voice + "," + audio, [3]string{"ref_audio", "ref_audio", "ref_audio"}},
		{voice + "," + text, [3]string{"ref_text", "ref_text", "ref_text"}},
		{voice + "," + audio + "," + text, [3]string{"ref_audio", "ref_audio", "ref_audio"}},
		{`"ref_audio":"http://127.0.0.1/x.wav","ref_text":"b"`, [3]string{"ref_audio", "ref_audio", "ref_audio"}},
		{`"ref_audio":"file:///etc/passwd","ref_text":"b"`, [3]string{"ref_audio", "ref_audio", "ref_audio"}},
		{`"ref_audio":"data:audio/wav,xx","ref_text":"b"`, [3]string{"ref_audio", "ref_audio", "ref_audio"}},
	} {
		for i, kind := range []synth.Kind{synth.CustomVoice, synth.VoiceDesign, synth.Base} {
			engine := newFake()
			engine.info.Kind = kind
			if kind != synth.CustomVoice {
				engine.info.Speakers = nil
			}
			s := newServer(t, Options{Reference: &synth.Reference{XVector: []float32{1}}})
			q := &speechRequest{}
			got, reason := "", ""
			request, err := s.readSpeech(q, []byte(strings.Replace(`{"input":"a",`+tc.fields+`}`, ",}", "}", 1)), engine.info)
			if err != nil {
				got, reason = asError(err).Param, asError(err).Message
			}
			if got != tc.want[i] {
				t.Errorf("%s, %s: refused for %q, want %q: %s", tc.fields, kind, got, tc.want[i], reason)
			}
			if err == nil && (request.Reference != nil) != (kind == synth.Base) {
				t.Errorf("%s, %s: reference %v", tc.fields, kind, request.Reference)
			}
		}
	}
}

// answerOf sends bytes and returns what the server sends until it closes the connection,
// which it must do by itself.
func (r *running) answerOf(request string) string {
	r.t.Helper()
	conn := r.dial()
	defer conn.Close()
	_ = conn.SetReadDeadline(time.Now().Add(30 * time.Second))
	if _, err := io.WriteString(conn, request); err != nil {
		r.t.Fatal(err)
	}
	answer, err := io.ReadAll(conn)
	if err != nil {
		r.t.Errorf("the connection stays open after %d bytes: %v", len(answer), err)
	}
	return string(answer)
}

func TestBodies(t *testing.T) {
	r := start(t, Options{Limits: Limits{BodyBytes: 1000, BodyTimeout: 200 * time.Millisecond}})
	send := func(body io.Reader, headers ...string) *http.Response {
		req, err := http.NewRequest("POST", r.url+speechPath, body)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		for i := 0; i < len(headers); i += 2 {
			req.Header.Set(headers[i], headers[i+1])
		}
		return r.do(req)
	}
	ok := `{"input":"Hello."}`
	large := `{"input":"` + strings.Repeat("a", 1000) + `"}`
	wantError(t, send(strings.NewReader(large)), 413, "", "body_too_large")
	wantError(t, send(struct{ io.Reader }{strings.NewReader(large)}), 413, "", "body_too_large") // no length
	wantError(t, send(strings.NewReader(ok), "Content-Encoding", "gzip"), 415, "", "unsupported_media_type")
	for _, kind := range []string{"text/plain", "application/x-www-form-urlencoded", "", "application/json; charset=latin1", "json;;"} {
		wantError(t, send(strings.NewReader(ok), "Content-Type", kind), 415, "", "unsupported_media_type")
	}
	slow, feed := io.Pipe()
	defer feed.Close()
	wantError(t, send(slow), 408, "", "body_timeout")
	resp := send(bytes.NewReader([]byte(ok)), "Content-Encoding", "identity")
	if read(t, resp); resp.StatusCode != 200 {
		t.Errorf("status %d", resp.StatusCode)
	}
}

// What the engine refuses is told by the API's names.
func TestEngineRefusals(t *testing.T) {
	engine := newFake()
	r := startWith(t, Options{}, engine)
	for param, want := range map[string]string{"temperature": "temperature", "max_frames": "max_new_tokens", "reference": "ref_audio", "layout": "non_streaming_mode", "input": "input"} {
		engine.refuse = &synth.RequestError{Param: param, Message: "9, allowed is 1"}
		if got := wantError(t, r.post(speechPath, `{"input":"a"}`), 400, want, "invalid_value"); got != want+": 9, allowed is 1" {
			t.Errorf("message %q", got)
		}
	}
	for _, input := range []string{"", "   ", "\\n\\n", ".", "…", "😄", "***", "—", "\\u200b"} {
		wantError(t, r.post(speechPath, fmt.Sprintf(`{"input":"%s"}`, input)), 400, "input", "invalid_value")
	}
}

func FuzzSpeechRequest(f *testing.F) {
	f.Add([]byte(`{"model":"tts-1","input":"Hello.","voice":{"id":"ryan"},"speed":1e0,"seed":-1,"top_k":5,"x_vector_only_mode":false}`))
	f.Add([]byte("{\"input\":\"\\ud83d\\ude00\\\\u\\u00e4\" , \"a\":[1,{\"b\":null}]}\n"))
	f.Add([]byte(`{"input":1,"input":2}`))
	f.Add([]byte(`{"voice":{"id":"x","id":"y"}}`))
	s, err := New(Options{})
	if err != nil {
		f.Fatal(err)
	}
	info := newFake().info
	f.Fuzz(func(t *testing.T, body []byte) {
		q := &speechRequest{}
		_, err := s.readSpeech(q, body, info)
		if err == nil {
			return
		}
		e := asError(err)
		if e.Status != 400 && e.Status != 404 || e.Message == "" || strings.ContainsAny(e.Message, "\n\r\x1b\x00") {
			t.Errorf("%q: status %d, message %q", body, e.Status, e.Message)
		}
		if e.Err != nil {
			t.Errorf("%q: an error of ours: %v", body, e.Err)
		}
	})
}
