package server

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

// voiceEvent is what an event of a WebSocket says of the voice.
type voiceEvent struct {
	Type, Voice, Code string
	Param             *string
	Warnings          []string
}

// utter speaks an utterance over a WebSocket and returns its audio.start, or its error.
func (c *talk) utter() (said voiceEvent) {
	c.t.Helper()
	c.text("Hello. And more.")
	c.say("input.done")
	for {
		_ = c.conn.SetReadDeadline(time.Now().Add(time.Minute))
		kind, data, err := c.conn.ReadMessage()
		if err != nil {
			c.t.Fatal(err)
		}
		var e voiceEvent
		if kind == websocket.TextMessage {
			if err := json.Unmarshal(data, &e); err != nil {
				c.t.Fatal(err)
			}
		}
		switch {
		case e.Type == eventEnd:
			return said
		case said.Type == "" && (e.Type == eventAudioStart || e.Type == eventProblem):
			said = e
		case len(e.Warnings) > 0:
			c.t.Errorf("warned twice: %+v", e)
		}
	}
}

// A session speaks in voices that are kept, as long as they are, and in those that its
// client brings along.
func TestSocketVoices(t *testing.T) {
	engine := newCloneFake()
	engine.warnings = []string{"doubtful"}
	r := startClone(t, Options{}, engine)
	r.keep("Anna", 40)
	c := r.socket()
	c.say(`{"type":"session.config","voice":{"id":"ANNA"}}`)
	if e := c.want("session.updated"); e.Voice != "Anna" {
		t.Errorf("event %+v", e)
	}
	if e := c.utter(); e.Voice != "Anna" || engine.spoken() != 40 || len(e.Warnings) != 0 {
		t.Errorf("event %+v, spoken with %d", e, engine.spoken())
	}
	c.say(`{"type":"session.config","ref_audio":"` + clipURL(50) + `","ref_text":"b"}`)
	if e := c.want("session.updated"); e.Voice != "" {
		t.Errorf("event %+v", e)
	}
	for range 2 {
		if e := c.utter(); e.Type != eventAudioStart || len(e.Warnings) != 1 || engine.spoken() != 50 {
			t.Errorf("event %+v, spoken with %d", e, engine.spoken())
		}
	}
	if engine.listened() != 2 {
		t.Errorf("heard %d clips", engine.listened())
	}
	c.say(`{"type":"session.config","voice":"anna","ref_audio":"` + clipURL(50) + `","ref_text":"b"}`)
	if e := c.want(eventProblem); *e.Param != "ref_audio" {
		t.Errorf("event %+v", e)
	}
	c.say(`{"type":"session.config","ref_audio":"` + clipURL(50) + `","ref_text":" \n"}`)
	if e := c.want(eventProblem); *e.Param != "ref_text" {
		t.Errorf("event %+v", e)
	}
	c.say(`{"type":"session.config","ref_audio":"data:audio/wav;base64,%%%","ref_text":"b"}`)
	if e := c.want(eventProblem); *e.Param != "ref_audio" {
		t.Errorf("event %+v", e)
	}
	c.say(`{"type":"session.config","ref_audio":"data:audio/wav;base64,aGVsbG8gdGhlcmU=","ref_text":"b"}`)
	c.want("session.updated")
	if e := c.utter(); e.Type != eventProblem || *e.Param != "ref_audio" {
		t.Errorf("event %+v", e)
	}
	c.say(`{"type":"session.config","voice":"anna"}`)
	c.want("session.updated")
	if e := c.utter(); e.Voice != "Anna" || engine.spoken() != 40 {
		t.Errorf("event %+v, spoken with %d", e, engine.spoken())
	}
	r.keep("anna", 41, "replace", "true")
	if e := c.utter(); e.Voice != "anna" || engine.spoken() != 41 {
		t.Errorf("event %+v, spoken with %d", e, engine.spoken())
	}
	read(t, r.remove("anna"))
	if e := c.utter(); e.Type != eventProblem || e.Code != codeVoiceNotFound || *e.Param != "voice" {
		t.Errorf("event %+v", e)
	}
	c.say(`{"type":"session.config","voice":"anna"}`)
	if e := c.want(eventProblem); e.Code != codeVoiceNotFound {
		t.Errorf("event %+v", e)
	}
}

// The recordings of utterances that wait are bounded together; those that share one have
// it once.
func TestSocketClipsThatWait(t *testing.T) {
	const most = 4
	engine := newCloneFake()
	engine.step = make(chan struct{})
	r := startClone(t, Options{Limits: Limits{ClipBytes: int64(2*len(makeClip(1)) + 1)}}, engine)
	c := r.socket()
	bring := func(mark int) {
		c.say(`{"type":"session.config","ref_audio":"` + clipURL(mark) + `","x_vector_only_mode":true}`)
		c.want("session.updated")
	}
	speak := func() {
		c.text("One.")
		c.say("input.done")
	}
	bring(10)
	speak()
	c.want(eventAudioStart) // and goes on when the engine takes a step
	bring(20)
	for range most - 1 {
		speak()
	}
	bring(30)
	c.text("One too many. ", "It is left out, ", "with one error.")
	c.problem("too_many_utterances", -1)
	c.say("input.done")
	close(engine.step)
	for ended := 0; ended < most; {
		e, _, err := c.read()
		if err != nil || e.Type == eventProblem {
			t.Fatalf("event %+v, error %v", e, err)
		}
		if e.Type == eventEnd {
			ended++
		}
	}
	speak()
	if h := c.hear(most); h.end.Finish != "stop" || engine.spoken() != 30 {
		t.Errorf("%+v, spoken with %d", h.end, engine.spoken())
	}
}

// An utterance in a voice that is removed meanwhile goes on.
func TestRemovedWhileSpeaking(t *testing.T) {
	engine := newCloneFake()
	step := make(chan struct{})
	engine.script = script{frames: 3, step: step}
	r := startClone(t, Options{}, engine)
	r.keep("anna", 40)
	resp := make(chan *http.Response)
	go func() {
		answer, err := r.client.Do(r.request("POST", speechPath, `{"input":"a","voice":"anna"}`))
		if err != nil {
			t.Error(err)
		}
		resp <- answer
	}()
	step <- struct{}{}
	answer := <-resp
	read(t, r.remove("anna"))
	go func() { step <- struct{}{}; step <- struct{}{} }()
	if data := read(t, answer); len(data) != 3*2*fakeFrame || answer.Trailer.Get(trailerFinish) != "stop" {
		t.Errorf("%d bytes, trailer %v", len(data), answer.Trailer)
	}
}
