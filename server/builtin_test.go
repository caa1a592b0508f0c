package server

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/mynah-tts/mynah/synth"
)

// The built-in voice over HTTP: the same request gives the same bytes, alone and in
// company, as bytes, events and in a batch.
func TestBuiltinVoice(t *testing.T) {
	model, err := synth.OpenBuiltin(synth.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer model.Close()
	s := newServer(t, Options{Format: "pcm"})
	if err := s.Use(context.Background(), FromModel(model)); err != nil {
		t.Fatal(err)
	}
	r := run(t, s, nil)
	const fields = `"model":"gpt-4o-mini-tts-2025-12-15","input":"Hello there, good morning.","seed":5`
	resp := r.post(speechPath, `{`+fields+`}`)
	alone := read(t, resp)
	if frame := 2 * model.Info().FrameSize; len(alone) == 0 || len(alone)%frame != 0 || resp.Trailer.Get(trailerFinish) != "stop" || resp.Header.Get(headerSeed) != "5" {
		t.Fatalf("%d bytes, trailer %v", len(alone), resp.Trailer)
	}
	company := make(chan []byte)
	for i := range 3 {
		go func() {
			body := `{` + fields + `}`
			if i > 0 {
				body = strings.Replace(body, "Hello there", "Something else entirely", 1)
			}
			resp, err := r.client.Do(r.request("POST", speechPath, body))
			if err != nil {
				company <- nil
				return
			}
			defer resp.Body.Close()
			var b bytes.Buffer
			_, _ = b.ReadFrom(resp.Body)
			company <- b.Bytes()
		}()
	}
	same := 0
	for range 3 {
		if bytes.Equal(<-company, alone) {
			same++
		}
	}
	if same != 1 {
		t.Errorf("%d of three are the same, want one", same)
	}
	if a := r.batch(`{"items":[{` + fields + `}]}`); !bytes.Equal(a.Results[0].Audio, alone) {
		t.Error("a batch gives other bytes")
	}
	for body, param := range map[string]string{
		`{"input":"Hello.","temperature":-1}`:       "temperature",
		`{"input":"Hello.","top_p":2}`:              "top_p",
		`{"input":"Hello.","language":"Klingon"}`:   "language",
		`{"input":"Hello.","seed":-2}`:              "seed",
		`{"input":"…"}`:                             "input",
		`{"input":"a\u0000b"}`:                      "input",
		`{"input":"Hello.","subtalker_top_k":-1}`:   "subtalker_top_k",
		`{"input":"Hello.","repetition_penalty":0}`: "repetition_penalty",
	} {
		wantError(t, r.post(speechPath, body), 400, param, "invalid_value")
	}
	for _, input := range []string{"9", "8...", "One.\\nTwo.\\r\\nThree.\\u2028Four."} {
		if resp := r.post(speechPath, `{"input":"`+input+`"}`); resp.StatusCode != 200 || len(read(t, resp)) == 0 {
			t.Errorf("%s: status %d", input, resp.StatusCode)
		}
	}
	eventually(t, "nothing is live", func() bool { return model.Load().Live == 0 && model.Load().Queued == 0 })
}
