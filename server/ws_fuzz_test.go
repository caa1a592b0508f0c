package server

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"

	"github.com/gorilla/websocket"
)

// FuzzSocketMessages gives a session the messages of one client, a line each. It must
// not fail but for what clients are told, and must end every utterance that it began
// once, in order, with everything that it sent enclosed.
func FuzzSocketMessages(f *testing.F) {
	for _, seed := range []string{
		`{"type":"session.config","voice":"ryan","response_format":"wav","seed":1}` + "\n" + `{"type":"input.text","text":"Hello. You"}` + "\n" + `{"type":"input.flush"}` + "\n" + `{"type":"input.done"}`,
		`{"type":"input.text","text":"a\ud83d"}` + "\n" + `{"type":"input.text","text":"\ude00b"}` + "\n" + `{"type":"input.cancel"}` + "\n" + `{"type":"input.done"}`,
		`{"type":"playback.ack","played_samples":1e3,"utterance_index":0}` + "\n" + `{"type":"session.close"}` + "\n" + `{"type":"input.text","text":"a"}`,
		`[` + "\n" + `{"type":1}` + "\n" + `{"type":"x"}` + "\n" + `{"type":"input.text"}` + "\n" + "\xff",
		`{"type":"session.config","non_streaming_mode":true,"sample_rate":8000,"speed":2}` + "\n" + `{"type":"input.text","text":"One. Two."}` + "\n" + `{"type":"input.done"}`,
		` { "type" : "input.text" , "text" : "\\ud83d" } ` + "\n" + `{"text":"b","type":"input.text"}` + "\n" + `{"type":"input.done","type":"input.done"}`,
	} {
		f.Add([]byte(seed))
	}
	s, err := New(Options{Limits: Limits{InputRunes: 200}})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		engine := newSocketFake()
		c := s.newSession(context.Background(), engine, nil, &requestInfo{id: "fuzz"})
		c.next, _ = c.template(c.config)
		spoken := make(chan struct{})
		go func() {
			defer close(spoken)
			c.speak()
		}()
		seen := watch(t, c)
		for i, line := range bytes.Split(data, []byte("\n")) {
			if i == 50 || c.finished() {
				break
			}
			c.message(websocket.TextMessage, line)
		}
		c.message(websocket.TextMessage, []byte(`{"type":"session.close"}`))
		<-c.over
		<-spoken
		if last := <-seen; !c.ending.drop && last != c.count {
			t.Fatalf("%d of %d utterances ended", last, c.count)
		}
		if c.ending.err != nil {
			t.Fatalf("it ended with %v", c.ending.err)
		}
		c.cancel()
		if engine.open.Load() != 0 {
			t.Fatal("a stream is open")
		}
	})
}

// watch takes what a session sends, in the place of its writer, and checks it. The
// channel has the number of utterances that ended.
func watch(t *testing.T, c *session) <-chan int {
	seen := make(chan int, 1)
	go func() {
		ended, open := 0, false
		defer func() { seen <- ended }()
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
			var e socketEvent
			if m.kind == websocket.BinaryMessage {
				if !open {
					t.Error("audio outside")
				}
			} else if err := json.Unmarshal(m.data, &e); err != nil {
				t.Errorf("%q: %v", m.data, err)
			}
			switch e.Type {
			case eventAudioStart:
				if open || *e.Utterance != ended {
					t.Errorf("after utterance %d: %s", ended, m.data)
				}
				open = true
			case eventAudioDone:
				if e.Sentence != nil {
					open = false
				}
			case eventEnd:
				if open || *e.Utterance != ended {
					t.Errorf("after utterance %d: %s", ended, m.data)
				}
				ended++
			}
			c.out.sent(m)
		}
	}()
	return seen
}
