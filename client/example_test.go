package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/mynah-tts/mynah/client"
)

func ExampleClient_Speak() {
	c := &client.Client{BaseURL: "http://127.0.0.1:8080", Key: os.Getenv("MYNAH_API_KEY")}
	speech, err := c.Speak(context.Background(), client.Request{Text: "Hello there.", Format: "wav"})
	var refused *client.Error
	switch {
	case errors.As(err, &refused):
		log.Fatalf("%s: %s", refused.Code, refused.Message)
	case err != nil:
		log.Fatal(err)
	}
	defer speech.Close()
	file, err := os.Create("hello.wav")
	if err != nil {
		log.Fatal(err)
	}
	defer file.Close()
	if _, err := io.Copy(file, speech); err != nil { // also if the audio was cut
		log.Fatal(err)
	}
	fmt.Println(speech.Info.Seed, speech.Result().Frames)
}

func ExampleClient_Stream() {
	c := &client.Client{BaseURL: "http://127.0.0.1:8080"}
	stream, err := c.Stream(context.Background(), client.Request{Voice: "lark"})
	if err != nil {
		log.Fatal(err)
	}
	defer stream.Close()
	go func() {
		for _, piece := range []string{"Text that is ", "still being ", "written."} {
			if stream.Write(piece) != nil {
				return // Next tells why
			}
		}
		_ = stream.Finish()
	}()
	for {
		event, err := stream.Next()
		if err == io.EOF {
			return
		}
		if err != nil {
			log.Fatal(err)
		}
		switch e := event.(type) {
		case client.Audio:
			os.Stdout.Write(e) // signed 16-bit little-endian samples at 24 kHz
		case client.UtteranceDone:
			if e.FinishReason != client.Stop {
				log.Fatalf("utterance %d: %s", e.Utterance, e.FinishReason)
			}
		case *client.Error:
			log.Print(e)
		}
	}
}
