package paritytest

// Case is what the goldens of prompt, talker and e2e say about an utterance.
type Case struct {
	Name         string  `json:"name"`
	Text         string  `json:"text"`
	Instruct     string  `json:"instruct"`
	Speaker      string  `json:"speaker"`
	Language     string  `json:"language"`
	NonStreaming *bool   `json:"non_streaming_mode"` // nil: the default of the checkpoint's kind
	ForceSize    *string `json:"force_size"`         // tts_model_size, changed in memory
	Ref          *Ref    `json:"ref"`

	InputIDs    []int `json:"input_ids"`
	InstructIDs []int `json:"instruct_ids"`
	RefIDs      []int `json:"ref_ids"`

	RepetitionPenalty float64    `json:"repetition_penalty"`
	MaxNewTokens      int        `json:"max_new_tokens"`
	Frames            int        `json:"frames"`
	Code0             []int      `json:"code0_sampled"`
	EndedByEOS        bool       `json:"ended_by_eos"`
	Parameters        Parameters `json:"parameters"`
}

// Ref is the reference voice of a case.
type Ref struct {
	Sound   string `json:"sound"`
	Samples int    `json:"samples"`
	XVector bool   `json:"x_vector_only"`
	Text    string `json:"text"`
}

// Parameters are the sampling values of a sampled run.
type Parameters struct {
	Temperature       float64 `json:"temperature"`
	TopK              int     `json:"top_k"`
	TopP              float64 `json:"top_p"`
	RepetitionPenalty float64 `json:"repetition_penalty"`
	SubTemperature    float64 `json:"subtalker_temperature"`
	SubTopK           int     `json:"subtalker_top_k"`
	SubTopP           float64 `json:"subtalker_top_p"`
	MaxNewTokens      int     `json:"max_new_tokens"`
}

// Compared is a case with its list of tensors to compare.
type Compared struct {
	Case    Case   `json:"case"`
	Compare []Want `json:"compare"`
}

// Spec is a golden with several cases.
type Spec struct {
	Cases []Compared `json:"cases"`
}
