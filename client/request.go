package client

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
)

// Request is one utterance. Only Text is needed; what is left out is the server's default.
type Request struct {
	Text         string
	Model        string
	Voice        string
	Language     string // a name such as "english", or "auto"
	Instructions string // how to speak, for checkpoints that take instructions

	Format     string  // pcm, wav, flac, mp3, opus or aac; pcm if empty
	SampleRate int     // Hz; 0 for the model's
	Speed      float64 // 0.25 to 4 at the same pitch; 0 for 1

	// RefAudio is a recording of the voice to imitate, in any form that the server reads,
	// and RefText what is said in it; for Base checkpoints.
	RefAudio    []byte
	RefText     string
	VectorOnly  bool   // imitate the timbre alone; needs no RefText
	Seed        *int64 // the same seed gives the same audio; nil for a random one
	WholeText   *bool  // non_streaming_mode: all of the text before the first frame
	MaxFrames   int    // of 80 ms; 0 for the server's bound
	Temperature *float64
	TopK        *int
	TopP        *float64

	RepetitionPenalty *float64
	SubTemperature    *float64 // of the code predictor
	SubTopK           *int
	SubTopP           *float64

	// Extra are further fields of the API, by their names there.
	Extra map[string]any
}

// DefaultFormat is the format of requests that name none: samples.
const DefaultFormat = "pcm"

// fields are a request's fields by their names in the API, but for the text.
func (r Request) fields() map[string]any {
	f := map[string]any{"response_format": DefaultFormat}
	set := func(name string, given bool, value any) {
		if given {
			f[name] = value
		}
	}
	set("model", r.Model != "", r.Model)
	set("voice", r.Voice != "", r.Voice)
	set("language", r.Language != "", r.Language)
	set("instructions", r.Instructions != "", r.Instructions)
	set("response_format", r.Format != "", r.Format)
	set("sample_rate", r.SampleRate != 0, r.SampleRate)
	set("speed", r.Speed != 0, r.Speed)
	set("ref_text", r.RefText != "", r.RefText)
	set("x_vector_only_mode", r.VectorOnly, true)
	set("seed", r.Seed != nil, r.Seed)
	set("non_streaming_mode", r.WholeText != nil, r.WholeText)
	set("max_new_tokens", r.MaxFrames != 0, r.MaxFrames)
	set("temperature", r.Temperature != nil, r.Temperature)
	set("top_k", r.TopK != nil, r.TopK)
	set("top_p", r.TopP != nil, r.TopP)
	set("repetition_penalty", r.RepetitionPenalty != nil, r.RepetitionPenalty)
	set("subtalker_temperature", r.SubTemperature != nil, r.SubTemperature)
	set("subtalker_top_k", r.SubTopK != nil, r.SubTopK)
	set("subtalker_top_p", r.SubTopP != nil, r.SubTopP)
	if r.RefAudio != nil { // the server looks at the bytes, not at the type
		f["ref_audio"] = "data:audio/wav;base64," + base64.StdEncoding.EncodeToString(r.RefAudio)
	}
	maps.Copy(f, r.Extra)
	return f
}

// encode makes JSON of fields.
func encode(fields map[string]any) ([]byte, error) {
	data, err := json.Marshal(fields)
	if err != nil { // a NaN, or something in Extra
		return nil, fmt.Errorf("client: the request cannot be written as JSON: %w", err)
	}
	return data, nil
}
