// Package synth is the engine: it opens a Qwen3-TTS-12Hz checkpoint and turns text
// into speech, frame by frame.
//
//	model, err := synth.Open("Qwen3-TTS-12Hz-0.6B-CustomVoice", synth.Options{})
//	...
//	defer model.Close()
//	stream, err := model.Speak(ctx, synth.Request{Text: "Hello there.", Voice: "ryan"})
//	...
//	defer stream.Close()
//	for event, err := range stream.Events() {
//		if err != nil {
//			return err
//		}
//		switch e := event.(type) {
//		case synth.Audio:
//			play(e.PCM) // one frame: 80 ms at 24 kHz
//		case synth.Done:
//			log.Print(e.FinishReason, e.Frames, e.Seed)
//		}
//	}
//
// Any number of streams may be open at once; their frames take turns. The same
// request gives the same samples whatever else runs, and however many threads
// there are: seed, text, voice, parameters, model, precision and instruction level
// decide.
//
// Here, and only here, the models meet: the talker chooses code 0 of a frame, the
// predictor the others, the codec makes samples of them, and the sum of the
// codes' embeddings with the next text row is what the talker hears next.
package synth
