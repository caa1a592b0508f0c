package server

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/mynah-tts/mynah/synth"
)

// Text in a script that the built-in voice does not know is an error in every protocol,
// whole or in pieces: never audio with an end that looks well.
func TestForeignText(t *testing.T) {
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
	t.Run("HTTP", func(t *testing.T) { foreignHTTP(t, r) })
	t.Run("WebSocket", func(t *testing.T) { foreignSocket(t, r) })
	if got := r.ends(); got != "52 0" { // 12 and 40
		t.Errorf("failed and cancelled: %s", got)
	}
	t.Run("ElevenLabs", func(t *testing.T) { foreignEleven(t, r) })
	t.Run("Wyoming", func(t *testing.T) { foreignWyoming(t, r) })
}

// whyForeign is what the built-in voice says to Chinese.
const whyForeign = `"你好，今天" is in Han script; this checkpoint speaks English only`

func foreignHTTP(t *testing.T, r *running) {
	for _, fields := range []string{``, `,"language":"English"`, `,"non_streaming_mode":false`, `,"response_format":"mp3"`, `,"stream_format":"sse"`} {
		if got := wantError(t, r.post(speechPath, `{"input":"你好，今天"`+fields+`}`), 400, "input", "invalid_value"); got != "input: "+whyForeign {
			t.Errorf("%s: %s", fields, got)
		}
	}
	if data := read(t, r.post(speechPath, `{"input":"I love 東京 in spring.","max_new_tokens":5,"seed":1}`)); len(data) == 0 {
		t.Error("a text with a foreign name is not spoken")
	}
	a := r.batch(`{"items":[{"input":"One."},{"input":"你好，今天"},{"input":"Three."}]}`)
	if e := a.Results[1].Error; a.Failed != 1 || e == nil || e.Message != "input: "+whyForeign || len(a.Results[0].Audio) == 0 || len(a.Results[2].Audio) == 0 {
		t.Errorf("batch: %d failed, %+v", a.Failed, e)
	}
}

func foreignSocket(t *testing.T, r *running) {
	random := rand.New(rand.NewPCG(7, 8))
	c := r.socket()
	c.say(`{"type":"session.config","seed":5,"max_new_tokens":20}`)
	c.want(eventUpdated)
	long := strings.Repeat("你好，今天天气很好。", 20)
	index := 0
	for _, tc := range []struct {
		name, text, message string
		spoken              bool // its beginning may be
	}{
		{"short", "你好，今天", "input: " + whyForeign, false},
		{"long", long, `input: "` + string([]rune(long)[:40]) + `…" is in Han script`, false},
		{"Arabic", "مرحبا بالعالم", `is in Arabic script`, false},
		{"at the end", "Hello there. " + long, `is mostly in Han script`, true},
	} {
		for range 3 {
			c.text(cutAnywhere(tc.text, random)...)
			c.say("input.done")
			h := c.hear(index)
			index++
			if len(h.problems) != 1 || h.problems[0].Code != "invalid_value" || !strings.Contains(h.problems[0].Message, tc.message) || h.problems[0].Fatal {
				t.Errorf("%s: problems %+v", tc.name, h.problems)
			}
			if h.end.Finish != "error" || !tc.spoken && len(h.audio)+len(h.starts) > 0 {
				t.Errorf("%s: %d bytes of audio, %+v", tc.name, len(h.audio), h.end)
			}
		}
	}
	for range 10 { // one error for one failure, whatever comes behind it
		for _, messages := range [][]string{
			append([]string{"я"}, make([]string, 25)...),
			{"你好。", "", "Hello. ", "你好。", "", ""},
			{"Hello there. ", "", strings.Repeat("你好，今天", 20), "", "Hello. ", "", ""},
			{strings.Repeat("я", 70), "", "a", ""},
		} {
			for _, m := range messages {
				if m == "" {
					c.say("input.flush")
				} else {
					c.text(m)
				}
			}
			c.say("input.done")
			if h := c.hear(index); len(h.problems) != 1 || h.problems[0].Code != "invalid_value" || h.end.Finish != "error" {
				t.Errorf("%q: %d problems %+v, %+v", messages[0], len(h.problems), h.problems, h.end)
			}
			index++
		}
		c.text("Hello.")
		c.say("input.done")
		c.hear(index)
		index++
	}
	c.text(cutAnywhere("東京 is a city.", random)...)
	c.say("input.done")
	if h := c.hear(index); len(h.audio) == 0 || len(h.problems) > 0 || h.end.Finish == "error" {
		t.Errorf("%d bytes, %+v", len(h.audio), h)
	}
}

func foreignEleven(t *testing.T, r *running) {
	for name, messages := range map[string][]string{
		"end":     {`{"text":"你好，"}`, `{"text":"今天"}`, `{"text":""}`},
		"flush":   {`{"text":"你好，"}`, `{"text":"今天","flush":true}`},
		"at once": {`{"text":"` + strings.Repeat("你好，今天", 20) + `"}`},
	} {
		c := r.eleven(strings.ReplaceAll(elevenSinglePath, "ryan", "default"), nil)
		c.say(messages...)
		h, end := c.single()
		if h.final || len(h.audio) > 0 || h.err == nil || h.err.Error != "invalid_value" || end.Code != 1008 || !strings.HasPrefix(h.err.Message, "text: ") || !strings.Contains(h.err.Message, "is in Han script; this checkpoint speaks English") {
			t.Errorf("%s: final %v, %d bytes, error %+v, end %v", name, h.final, len(h.audio), h.err, end)
		}
	}
}

func foreignWyoming(t *testing.T, r *running) {
	addr := startWyoming(t, r)
	for name, events := range map[string][]string{
		"whole":  {`synthesize {"text":"你好，今天"}`},
		"pieces": {"synthesize-start", `synthesize-chunk {"text":"你好，"}`, `synthesize-chunk {"text":"今天"}`, `synthesize {"text":"你好，今天"}`, "synthesize-stop"},
		"long":   {"synthesize-start", fmt.Sprintf(`synthesize-chunk {"text":"%s"}`, strings.Repeat("你好，今天", 20))},
	} {
		h := dialHome(t, addr)
		h.say(events...)
		types, audio, e := h.hear("error")
		text, _ := json.Marshal(e.Data["text"])
		if len(audio) > 0 || strings.Contains(types, "stop") || e.Data["code"] != "invalid_value" || !bytes.Contains(text, []byte("is in Han script; this checkpoint speaks English")) {
			t.Errorf("%s: %s, %d bytes, %v", name, types, len(audio), e)
		}
		h.conn.Close()
	}
}
