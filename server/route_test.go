package server

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/mynah-tts/mynah/synth"
)

func TestPathsAndMethods(t *testing.T) {
	r := start(t, Options{})
	for _, tc := range []struct {
		method, path string
		status       int
		code, allow  string
	}{
		{"GET", "/nowhere", 404, "unknown_path", ""},
		{"POST", "/v1/audio/speech/", 404, "unknown_path", ""},
		{"GET", "//v1/models", 404, "unknown_path", ""},
		{"GET", "/v1/../health", 404, "unknown_path", ""},
		{"GET", "/v1/models/gpt-5", 404, "model_not_found", ""},
		{"GET", speechPath, 405, "method_not_allowed", "POST"},
		{"HEAD", speechPath, 405, "", "POST"},
		{"PUT", "/v1/models", 405, "method_not_allowed", "GET, HEAD"},
		{"DELETE", "/health", 405, "method_not_allowed", "GET, HEAD"},
		{"OPTIONS", speechPath, 405, "method_not_allowed", "POST"},
		{"BREW", "/", 405, "method_not_allowed", "GET, HEAD"},
		{"HEAD", "/health", 200, "", ""},
	} {
		req := r.request(tc.method, "/", "")
		req.URL.Path = tc.path
		resp := r.do(req)
		if tc.code != "" {
			wantError(t, resp, tc.status, "", tc.code)
		}
		if resp.StatusCode != tc.status || resp.Header.Get("Allow") != tc.allow {
			t.Errorf("%s %s: status %d, Allow %q", tc.method, tc.path, resp.StatusCode, resp.Header.Get("Allow"))
		}
	}
}

// There is no answering in parts.
func TestRangeIsIgnored(t *testing.T) {
	r := start(t, Options{})
	req := r.request("POST", speechPath, `{"input":"a","response_format":"pcm"}`)
	req.Header.Set("Range", "bytes=0-,0-,0-,5-1")
	if resp := r.do(req); resp.StatusCode != 200 || len(read(t, resp)) != 3*2*fakeFrame || resp.Header.Get("Accept-Ranges") != "" {
		t.Errorf("status %d", resp.StatusCode)
	}
}

func TestModels(t *testing.T) {
	r := start(t, Options{})
	var got struct {
		Object string
		Data   []map[string]any
	}
	if err := json.Unmarshal(read(t, r.get("/v1/models")), &got); err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, m := range got.Data {
		ids = append(ids, m["id"].(string))
		if m["object"] != "model" || m["owned_by"] != "mynah" || m["created"].(float64) < 1e9 || m["root"] != "Fake-Voice" || m["task_type"] != "CustomVoice" {
			t.Errorf("model %v", m)
		}
	}
	if got.Object != "list" || strings.Join(ids, " ") != "Fake-Voice gpt-4o-mini-tts tts-1 tts-1-hd" {
		t.Errorf("%s of %v", got.Object, ids)
	}
	if resp := r.get("/v1/models/fake-voice"); resp.StatusCode != 200 || !strings.Contains(string(read(t, resp)), `"id":"Fake-Voice"`) {
		t.Errorf("status %d", resp.StatusCode)
	}
	builtin := newServer(t, Options{})
	if got := builtin.modelID(synth.Info{Name: "english (built in)"}); got != "english-built-in" {
		t.Errorf("id %q", got)
	}
}

// Both forms of the list that clients know.
func TestVoices(t *testing.T) {
	r := start(t, Options{Voices: map[string]string{"openai": "vivian", "nova": "Ryan", "RYAN": "vivian"}})
	var objects struct {
		Voices   []voiceEntry
		Uploaded []string `json:"uploaded_voices"`
	}
	if err := json.Unmarshal(read(t, r.get("/v1/audio/voices")), &objects); err != nil {
		t.Fatal(err)
	}
	want := map[string]voiceEntry{
		"ryan": {ID: "ryan", Name: "ryan", Kind: kindPreset}, "alloy": {ID: "alloy", Name: "alloy", Kind: kindAlias, Of: "vivian"},
		"nova": {ID: "nova", Name: "nova", Kind: kindAlias, Of: "ryan"},
	}
	found := 0
	for _, v := range objects.Voices {
		if w, ok := want[v.ID]; ok && v == w {
			found++
		}
	}
	if found != len(want) || len(objects.Voices) != 2+len(OpenAIVoices) || objects.Uploaded == nil {
		t.Errorf("voices %+v", objects)
	}
	var names struct{ Voices []string }
	if err := json.Unmarshal(read(t, r.get("/v1/audio/voices?legacy=true")), &names); err != nil || names.Voices[0] != "ryan" {
		t.Errorf("voices %v, error %v", names, err)
	}
	wantError(t, r.get("/v1/audio/voices?legacy=maybe"), 400, "legacy", "invalid_value")
}

func TestMetrics(t *testing.T) {
	r := start(t, Options{Version: "1.2.3"})
	read(t, r.post(speechPath, `{"input":"a"}`))
	problems, err := testutil.GatherAndLint(r.metrics.registry)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		if strings.HasPrefix(p.Metric, "mynah_") {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
	for name, want := range map[string]string{
		`mynah_http_requests_total{method="POST",route="/v1/audio/speech",status="200"}`: "1",
		`mynah_utterances_total{reason="stop"}`:                                          "1",
		`mynah_utterances_total{reason="error"}`:                                         "0",
		`mynah_slow_clients_total{reason="lag"}`:                                         "0",
		`mynah_ttfa_seconds_count{transport="audio"}`:                                    "1",
		`mynah_frame_gap_seconds_count`:                                                  "2",
		`mynah_rtf_ratio_sum`:                                                            "0.5",
		`mynah_audio_seconds_total`:                                                      "0.24",
		`mynah_frames_total`:                                                             "4", // one to warm up
		`mynah_max_live_requests`:                                                        "8",
		`mynah_ready`:                                                                    "1",
		`mynah_frame_gap_seconds_bucket{le="0.08"}`:                                      "2",
	} {
		if got := r.metric(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

// A broken stream is no 200 in metrics and log, whatever the client was told first.
func TestBrokenStreamIsNoSuccess(t *testing.T) {
	engine := newFake()
	engine.script = script{frames: 9, fail: http.ErrBodyNotAllowed, failAt: 2}
	r := startWith(t, Options{}, engine)
	resp := r.post(speechPath, `{"input":"a","response_format":"pcm"}`)
	if _, err := io.Copy(io.Discard, resp.Body); err == nil {
		t.Error("it looks complete")
	}
	eventually(t, "it is counted", func() bool {
		return r.metric(`mynah_http_requests_total{method="POST",route="/v1/audio/speech",status="500"}`) == "1" && r.metric(`mynah_utterances_total{reason="error"}`) == "1"
	})
	if got := r.metric("mynah_audio_seconds_total"); got != "0.16" { // of the two frames that came
		t.Errorf("%s s of audio", got)
	}
}

func TestLog(t *testing.T) {
	for _, logText := range []bool{false, true} {
		var buf bytes.Buffer
		s := newServer(t, Options{Keys: []string{"sk-secret"}, LogText: logText, Log: slog.New(slog.NewTextHandler(&buf, nil))})
		if err := s.Use(t.Context(), newFake()); err != nil {
			t.Fatal(err)
		}
		send := func(path, body string) {
			req := httptest.NewRequest("POST", path, strings.NewReader(body))
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Authorization", "Bearer sk-secret")
			req.Header.Set("X-Request-Id", "my-id.1")
			s.ServeHTTP(httptest.NewRecorder(), req)
		}
		send(speechPath+"?api_key=sk-secret", `{"input":"private\n\u001b[31mwords"}`)
		send(speechPath, `{"input":"x","voice":"private voice"}`)
		send(speechPath+"/batch", `{"items":[{"input":"private item"}]}`)
		send("/a%0Ab", "")
		log := buf.String()
		if strings.Contains(log, "secret") || strings.Contains(log, "\x1b") || strings.Count(log, "\n") != 4 {
			t.Errorf("log:\n%s", log)
		}
		if got := strings.Contains(log, "private"); got != logText {
			t.Errorf("text of users is in the log: %v:\n%s", got, log)
		}
		for _, want := range []string{"id=my-id.1", "status=200", "frames=3", "finish=stop", "voice=ryan", "voice_not_found", `path="/a\nb"`} {
			if !strings.Contains(log, want) {
				t.Errorf("log lacks %q:\n%s", want, log)
			}
		}
	}
}

func TestRequestIDs(t *testing.T) {
	r := start(t, Options{})
	for given, kept := range map[string]bool{"abc-1:2.3_X": true, "": false, "a b": false, "\"": false, strings.Repeat("a", 65): false, "ü": false} {
		req := r.request("GET", "/health", "")
		if given != "" {
			req.Header.Set("X-Request-Id", given)
		}
		got := r.do(req).Header.Get("X-Request-Id")
		if (got == given) != kept || got == "" {
			t.Errorf("%q became %q", given, got)
		}
	}
}

// A panic is a 500 without detail, or a broken stream, and in the log.
func TestPanics(t *testing.T) {
	var buf bytes.Buffer
	s := newServer(t, Options{Log: slog.New(slog.NewTextHandler(&buf, nil))})
	s.handler = s.observe(s.answer(func(w *response, r *http.Request) error {
		if r.URL.Path == "/late" {
			w.WriteHeader(200)
		}
		panic("secret of ours")
	}))
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	if message := wantError(t, w.Result(), 500, "", "internal_error"); message != "internal error" {
		t.Errorf("message %q", message)
	}
	func() {
		defer func() {
			if recover() != http.ErrAbortHandler {
				t.Error("the connection is not broken off")
			}
		}()
		s.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/late", nil))
	}()
	if log := buf.String(); strings.Count(log, "secret of ours") != 2 || !strings.Contains(log, "level=ERROR") {
		t.Errorf("log:\n%s", log)
	}
}

func TestPage(t *testing.T) {
	r := start(t, Options{Version: "<1>"})
	resp := r.get("/")
	page := string(read(t, resp))
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html") || !strings.Contains(page, "/v1/audio/speech") || !strings.Contains(page, "&lt;1&gt;") {
		t.Errorf("page:\n%s", page)
	}
}
