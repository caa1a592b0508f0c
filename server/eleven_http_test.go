package server

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/mynah-tts/mynah/synth"
)

func TestElevenHTTP(t *testing.T) {
	r := startWith(t, Options{}, newFake())
	for _, tc := range []struct {
		path, kind string
		size       int
	}{
		{"?output_format=pcm_24000", "audio/pcm", 3 * 2 * fakeFrame},
		{"/stream?output_format=pcm_48000", "audio/pcm", 2 * 3 * 2 * fakeFrame},
		{"?output_format=ulaw_8000&enable_logging=true&optimize_streaming_latency=3", "audio/x-mulaw", fakeFrame},
		{"?output_format=alaw_8000", "audio/x-alaw", fakeFrame},
		{"?output_format=wav_24000", "audio/wav", 44 + 3*2*fakeFrame},
		{"", "audio/mpeg", 0},
		{"/stream?output_format=mp3_22050_32", "audio/mpeg", 0},
	} {
		resp := r.post("/v1/text-to-speech/Ryan"+tc.path, `{"text":"Hello.","model_id":"eleven_multilingual_v2","voice_settings":{"speed":1,"style":0},"seed":7,"previous_text":null,"unknown":1}`)
		data := read(t, resp)
		if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != tc.kind || tc.size != 0 && len(data) != tc.size || len(data) < 100 {
			t.Errorf("%s: status %d, %s, %d bytes, want %d: %.200q", tc.path, resp.StatusCode, resp.Header.Get("Content-Type"), len(data), tc.size, data)
		}
		if got := resp.Trailer.Get(trailerFinish); got != "stop" {
			t.Errorf("%s: finish reason %q", tc.path, got)
		}
	}
	if q := r.engine.last(); q.Voice != "ryan" || *q.Seed != 7 || q.Text != "Hello." {
		t.Errorf("request %+v", q)
	}
	for _, tc := range []struct {
		path, body string
		status     int
		code       string
	}{
		{"nobody", `{"text":"a"}`, 404, "voice_not_found"},
		{"nobody/stream", `{"text":"a"}`, 404, "voice_not_found"},
		{"ryan?output_format=flac", `{"text":"a"}`, 400, "invalid_value"},
		{"ryan?output_format=pcm_8000&output_format=pcm_16000", `{"text":"a"}`, 400, "invalid_value"},
		{"ryan", `{}`, 400, "missing_field"},
		{"ryan", `{"text":null}`, 400, "invalid_type"},
		{"ryan", `{"text":" "}`, 400, "invalid_value"},
		{"ryan", `{"text":"a","model_id":"x"}`, 404, "model_not_found"},
		{"ryan", `{"text":"a","language_code":"xx"}`, 400, "invalid_value"},
		{"ryan", `{"text":"` + strings.Repeat("a", 5000) + `"}`, 400, "string_above_max_length"},
		{"ryan/with-timestamps", `{"text":"a"}`, 404, "unknown_path"},
	} {
		resp := r.post(elevenPrefix+tc.path, tc.body)
		var body struct {
			Detail struct{ Status, Message string }
			Error  struct{ Code string }
		}
		if err := json.Unmarshal(read(t, resp), &body); err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != tc.status || body.Detail.Status != tc.code || body.Error.Code != tc.code || body.Detail.Message == "" {
			t.Errorf("%s %.40s: %d %+v", tc.path, tc.body, resp.StatusCode, body)
		}
	}
}

// Clients of ElevenLabs' API look at no trailers: audio that was cut must not end as if it
// were complete, in HTTP/1.0 neither.
func TestElevenHTTPCutAudioBreaksOff(t *testing.T) {
	engine := newFake()
	r := startWith(t, Options{}, engine)
	for _, finish := range []synth.FinishReason{synth.FinishStop, synth.FinishLength} {
		engine.script = script{frames: 3, finish: finish}
		cut := finish == synth.FinishLength
		resp := r.post(elevenPrefix+"ryan?output_format=pcm_24000", `{"text":"Hello."}`)
		data, err := io.ReadAll(resp.Body)
		if resp.StatusCode != 200 || (err != nil) != cut || !cut && len(data) != 3*2*fakeFrame || (resp.Trailer.Get(trailerFinish) == "") != cut {
			t.Errorf("%s: status %d, %d bytes, error %v, trailers %v", finish, resp.StatusCode, len(data), err, resp.Trailer)
		}
		conn := r.dial()
		ask := strings.Replace(rawSpeech(`{"text":"Hello."}`), "POST "+speechPath+" HTTP/1.1", "POST "+elevenPrefix+"ryan?output_format=pcm_24000 HTTP/1.0", 1)
		io.WriteString(conn, ask)
		data, err = io.ReadAll(conn)
		if (err != nil) != cut || !cut && bytes.Contains(data, []byte(trailerFinish+": ")) {
			t.Errorf("%s, HTTP/1.0: %d bytes, error %v: %.400q", finish, len(data), err, data)
		}
	}
	if got := r.metric(`mynah_utterances_total{reason="length"}`); got != "2" {
		t.Errorf("%s utterances were cut", got)
	}
}

func TestElevenVoices(t *testing.T) {
	r := start(t, Options{Voices: map[string]string{"rachel": "vivian"}})
	for path, want := range map[string]string{
		"/v1/voices": "ryan vivian rachel", "/v2/voices?page_size=100": "ryan vivian rachel", "/v2/voices?search=RA": "rachel",
	} {
		var body struct {
			Voices []struct {
				VoiceID string `json:"voice_id"`
				Name    string
			}
			Total int  `json:"total_count"`
			More  bool `json:"has_more"`
		}
		if err := json.Unmarshal(read(t, r.get(path)), &body); err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, v := range body.Voices {
			names = append(names, v.VoiceID)
		}
		if got := strings.Join(names, " "); got != want || body.Total != len(names) || body.More {
			t.Errorf("%s: %s, %+v", path, got, body)
		}
	}
	if resp := r.get("/v1/voices/Vivian"); resp.StatusCode != 200 || !strings.Contains(string(read(t, resp)), `"voice_id":"vivian"`) {
		t.Error(resp.StatusCode)
	}
	if resp := r.get("/v1/voices/nobody"); resp.StatusCode != 404 || !strings.Contains(string(read(t, resp)), `"detail":{"status":"voice_not_found"`) {
		t.Error(resp.StatusCode)
	}
}

// Clients have ids built in. Whoever reads of one that there is not reads how to give it to a
// voice, and one that was given is listed letter by letter.
func TestElevenBuiltInNames(t *testing.T) {
	const rachel, stranger = "21m00Tcm4TlvDq8ikWAM", "pNInz6obpgDQGcFmaJgB"
	r := start(t, Options{Voices: map[string]string{rachel: "vivian"}})
	for _, path := range []string{"/v1/voices", "/v2/voices", "/v1/voices/" + strings.ToLower(rachel), "/v1/audio/voices", "/v1/audio/voices/" + rachel} {
		if data := read(t, r.get(path)); !strings.Contains(string(data), `"`+rachel+`"`) {
			t.Errorf("%s: %s", path, data)
		}
	}
	for _, name := range []string{rachel, strings.ToUpper(rachel)} {
		if resp := r.post(elevenPrefix+name, `{"text":"Hello."}`); resp.StatusCode != 200 || r.engine.last().Voice != "vivian" {
			t.Errorf("%s: status %d, voice %q", name, resp.StatusCode, r.engine.last().Voice)
		}
	}
	for path, resp := range map[string]*http.Response{
		"speech": r.post(elevenPrefix+stranger, `{"text":"Hello."}`), "voice": r.get("/v1/voices/" + stranger),
	} {
		if data := read(t, resp); resp.StatusCode != 404 || !strings.Contains(string(data), "--voice-map") {
			t.Errorf("%s: status %d: %s", path, resp.StatusCode, data)
		}
	}
	if _, err := New(Options{Voices: map[string]string{"Rachel": "vivian", "rachel": "ryan"}}); err == nil || err.Error() != `server: voice map: "Rachel" and "rachel" are the same name` {
		t.Errorf("two spellings of a name: %v", err)
	}
}
