package server

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"

	"github.com/gorilla/websocket"
)

// FuzzElevenMessages gives a session the messages of one client, a line each. Whatever
// they are, every context ends once at most, nothing of it follows its end, and nothing
// is left open.
func FuzzElevenMessages(f *testing.F) {
	for _, seed := range []string{
		`{"text":" ","context_id":"a"}` + "\n" + `{"text":"Hello. ","context_id":"a","flush":true}` + "\n" + `{"context_id":"a","close_context":true}` + "\n" + `{"text":"New ","context_id":"a"}`,
		`{"text":"a\ud83d"}` + "\n" + `{"text":"\ude00 "}` + "\n" + `{"text":""}` + "\n" + `{"text":"b","voice_settings":{"speed":2}}`,
		`{"text":"a ","contextId":"b","voice_settings":{"speed":9}}` + "\n" + `{"text":"b ","context_id":"b"}` + "\n" + `{"close_context":true,"context_id":"b"}` + "\n" + `{"close_context":true,"context_id":"b"}`,
		`{"close_socket":true,"close_context":true}` + "\n" + `{"text":null}`,
		`{"generation_config":{"chunk_length_schedule":[50,null]}}` + "\n" + `[]` + "\n" + "\xff",
	} {
		f.Add(true, []byte(seed))
		f.Add(false, []byte(seed))
	}
	s, err := New(Options{Limits: Limits{InputRunes: 200, Utterances: 8}})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, multi bool, data []byte) {
		engine := newSocketFake()
		params, problem := readElevenQuery("ryan", nil)
		if problem != nil {
			t.Fatal(problem)
		}
		c := s.newElevenSession(context.Background(), engine, nil, &requestInfo{id: "fuzz"}, multi)
		c.params, c.admitted = params, true
		seen := make(chan struct{})
		go func() {
			defer close(seen)
			hearEleven(t, c)
		}()
		for i, line := range bytes.Split(data, []byte("\n")) {
			if i == 50 || c.finished() {
				break
			}
			c.message(websocket.TextMessage, line)
		}
		if multi {
			c.message(websocket.TextMessage, []byte(`{"close_socket":true}`))
		} else {
			c.message(websocket.TextMessage, []byte(`{"text":""}`))
		}
		<-c.over
		c.work.Wait()
		<-seen
		if c.ending.err != nil {
			t.Fatalf("it ended with %v", c.ending.err)
		}
		c.cancel()
		if engine.open.Load() != 0 || len(c.speaking) != 0 {
			t.Fatal("a stream is open")
		}
	})
}

// hearEleven takes what a session sends, in the place of its writer.
func hearEleven(t *testing.T, c *elevenSession) {
	for {
		over := c.finished() // before the last look
		m, ok := c.out.take()
		if !ok && over {
			return
		}
		if !ok {
			select {
			case <-c.out.ready:
			case <-c.over:
			}
			continue
		}
		var e elevenEvent
		if err := json.Unmarshal(m.data, &e); err != nil {
			t.Errorf("%q: %v", m.data, err)
		}
		if e.Audio == nil && e.IsFinal == nil && (e.Error == "" || e.Message == "" || e.Code == 0) {
			t.Errorf("%q is nothing", m.data)
		}
		c.out.sent(m)
	}
}
