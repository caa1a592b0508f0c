package client

import "context"

// Voice is a voice that requests may name.
type Voice struct {
	ID   string `json:"id"`   // what a request names
	Name string `json:"name"` // what a person reads
	Kind string `json:"kind"` // such as "preset"
	Of   string `json:"of"`   // of an alias: the voice that it means
}

// Voices lists the voices that requests may name.
func (c *Client) Voices(ctx context.Context) ([]Voice, error) {
	var list struct{ Voices []Voice }
	err := c.get(ctx, "/v1/audio/voices", &list)
	return list.Voices, err
}

// Model is the model of a server, by one of its names.
type Model struct {
	ID           string   `json:"id"`
	Root         string   `json:"root"`             // the model that an alias means
	Task         string   `json:"task_type"`        // CustomVoice, VoiceDesign or Base
	Formats      []string `json:"response_formats"` // that the server can make
	SampleRate   int      `json:"sample_rate"`      // Hz, unless asked otherwise
	Languages    []string `json:"languages"`
	Instructions bool     `json:"instructions"` // whether it takes them
}

// Models lists the model that is served and its aliases.
func (c *Client) Models(ctx context.Context) ([]Model, error) {
	var list struct{ Data []Model }
	err := c.get(ctx, "/v1/models", &list)
	return list.Data, err
}
