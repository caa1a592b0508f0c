package client

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/mynah-tts/mynah/server"
)

// hear reads an utterance to its end.
func hear(t *testing.T, s *Stream) (audio []byte, sentences []string, end UtteranceDone, problems []*Error) {
	t.Helper()
	for {
		e, err := s.Next()
		if err != nil {
			t.Fatal(err)
		}
		switch e := e.(type) {
		case Audio:
			audio = append(audio, e...)
		case AudioStart:
			if e.SampleRate != 24000 || e.Format != "pcm" || e.Voice != "eva" {
				t.Errorf("%+v", e)
			}
		case AudioDone:
			sentences = append(sentences, e.Text)
		case *Error:
			problems = append(problems, e)
		case UtteranceDone:
			return audio, sentences, e, problems
		}
	}
}

func TestStream(t *testing.T) {
	c := serve(t, server.Options{Keys: []string{"sk-test"}})
	whole := false
	speech, err := c.Speak(context.Background(), Request{Text: hello, Seed: seed(5), WholeText: &whole})
	if err != nil {
		t.Fatal(err)
	}
	defer speech.Close()
	want, err := io.ReadAll(speech)
	if err != nil {
		t.Fatal(err)
	}
	s, err := c.Stream(context.Background(), Request{Voice: "eva", Seed: seed(5)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	say := func(do ...error) {
		t.Helper()
		for _, err := range do {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	for utterance := range 2 {
		for _, piece := range strings.SplitAfter(hello, "o") {
			say(s.Write(piece))
		}
		say(s.End())
		audio, sentences, end, problems := hear(t, s)
		if !bytes.Equal(audio, want) || end.FinishReason != Stop || end.Utterance != utterance || len(sentences) != 1 || sentences[0] != hello || len(problems) != 0 {
			t.Errorf("%d bytes, want %d: %q, %+v, %v", len(audio), len(want), sentences, end, problems)
		}
	}
	say(s.Write("One. "), s.Flush(), s.Write("…"), s.End())
	if _, _, end, _ := hear(t, s); end.FinishReason != Stop {
		t.Errorf("%+v", end)
	}
	say(s.Write("…"), s.End())
	if _, _, end, problems := hear(t, s); end.FinishReason != Failed || len(problems) != 1 || problems[0].Code != "nothing_to_say" || problems[0].Fatal {
		t.Errorf("%+v, %v", end, problems)
	}
	say(s.Write(strings.Repeat("This sentence is one of very many. ", 100)))
	for {
		if e, err := s.Next(); err != nil {
			t.Fatal(err)
		} else if _, ok := e.(Audio); ok {
			break
		}
	}
	say(s.Cancel())
	if _, _, end, _ := hear(t, s); end.FinishReason != Cancelled {
		t.Errorf("%+v", end)
	}
	say(s.Write(hello), s.Finish())
	if audio, _, end, _ := hear(t, s); end.FinishReason != Stop || !bytes.Equal(audio, want) {
		t.Errorf("%+v", end)
	}
	for range 2 {
		if _, err := s.Next(); err != io.EOF {
			t.Error(err)
		}
	}
	s.Close()
	if err := s.Write("a"); err == nil {
		t.Error("text was taken behind Close")
	}
}

func TestStreamEnds(t *testing.T) {
	c := serve(t, server.Options{Limits: server.Limits{IdleTimeout: 200 * time.Millisecond}})
	ctx, cancel := context.WithCancel(context.Background())
	s, err := c.Stream(ctx, Request{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	cancel()
	if _, err := s.Next(); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if s, err = c.Stream(context.Background(), Request{}); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var last *Error
	for {
		e, err := s.Next()
		if err != nil {
			if !strings.Contains(err.Error(), "idle_timeout") {
				t.Error(err)
			}
			break
		}
		last, _ = e.(*Error)
	}
	if last == nil || !last.Fatal || last.Code != "idle_timeout" {
		t.Errorf("%+v", last)
	}
}
