package synth

import (
	"encoding/binary"
	"encoding/json"
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/mynah-tts/mynah/internal/paritytest"
)

// overlay is a checkpoint with some files replaced; nil takes a file away.
type overlay struct {
	fs.FS
	files map[string][]byte
}

func (o overlay) Open(name string) (fs.File, error) {
	data, ok := o.files[name]
	switch {
	case !ok:
		return o.FS.Open(name)
	case data == nil:
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return fstest.MapFS{name: {Data: data}}.Open(name)
}

// edit returns a JSON file with one value changed; path is a dotted one, value nil
// deletes it.
func edit(t *testing.T, fsys fs.FS, file, path string, value any) []byte {
	t.Helper()
	data, err := fs.ReadFile(fsys, file)
	if err != nil {
		t.Fatal(err)
	}
	var root map[string]any
	if err := json.Unmarshal(data, &root); err != nil {
		t.Fatal(err)
	}
	at := root
	keys := strings.Split(path, ".")
	for _, key := range keys[:len(keys)-1] {
		at = at[key].(map[string]any)
	}
	if last := keys[len(keys)-1]; value == nil {
		delete(at, last)
	} else {
		at[last] = value
	}
	data, err = json.Marshal(root)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// zeroed returns a safetensors file whose header is there and whose data is not: what
// a preallocated download leaves.
func zeroed(t *testing.T, fsys fs.FS, file string) []byte {
	t.Helper()
	data, err := fs.ReadFile(fsys, file)
	if err != nil {
		t.Fatal(err)
	}
	data = append([]byte(nil), data...)
	clear(data[8+binary.LittleEndian.Uint64(data):])
	return data
}

// TestOpenRefuses opens damaged checkpoints: each gives one line that names the file
// and what is wrong with it.
func TestOpenRefuses(t *testing.T) {
	dir := os.DirFS(paritytest.Own(t, "tiny-custom").Dir)
	const config, weights, codecWeights = "config.json", "model.safetensors", "speech_tokenizer/model.safetensors"
	conf := func(path string, value any) map[string][]byte {
		return map[string][]byte{config: edit(t, dir, config, path, value)}
	}
	cases := map[string]struct {
		files map[string][]byte
		want  string
	}{
		"no config":           {map[string][]byte{config: nil}, "config.json is missing"},
		"no weights":          {map[string][]byte{weights: nil}, "model.safetensors"},
		"no codec config":     {map[string][]byte{"speech_tokenizer/config.json": nil}, "speech_tokenizer/config.json is missing"},
		"no codec weights":    {map[string][]byte{codecWeights: nil}, "speech_tokenizer"},
		"no vocabulary":       {map[string][]byte{"vocab.json": nil}, "vocab.json"},
		"zeros for weights":   {map[string][]byte{weights: zeroed(t, dir, weights)}, "zeros only"},
		"zeros for the codec": {map[string][]byte{codecWeights: zeroed(t, dir, codecWeights)}, "zeros only"},
		"short weights":       {map[string][]byte{weights: zeroed(t, dir, weights)[:9000]}, weights},
		"other model":         {conf("model_type", "llama"), `model_type is "llama"`},
		"other kind":          {conf("tts_model_type", "song"), `tts_model_type is "song"`},
		"other size":          {conf("talker_config.hidden_size", 64), "shape"},
		"fewer layers":        {conf("talker_config.num_hidden_layers", 2), "num_hidden_layers"},
		"a text for a number": {conf("talker_config.rms_norm_eps", "x"), "talker_config.rms_norm_eps is of type string"},
		"bias":                {conf("talker_config.attention_bias", true), "attention_bias"},
		"window":              {conf("talker_config.use_sliding_window", true), "use_sliding_window"},
		"rotation":            {conf("talker_config.rope_scaling.rope_type", "yarn"), `"yarn"`},
		"tied":                {conf("talker_config.tie_word_embeddings", true), "talker_config: tie_word_embeddings"},
		"packed by others":    {conf("quantization_config", map[string]any{"bits": 4}), "config.json: quantization_config"},
		"predictor bias":      {conf("talker_config.code_predictor_config.attention_bias", true), "code_predictor_config: attention_bias"},
		"small vocabulary":    {conf("talker_config.text_vocab_size", 1000), "text_vocab_size"},
		"end token a code":    {conf("talker_config.codec_eos_token_id", 7), "codec_eos_token_id is 7"},
		"speaker a code":      {conf("talker_config.spk_id.ryan", 7), "ryan is 7"},
		"end token a name":    {conf("talker_config.codec_eos_token_id", 2050), "both 2050"},
		"two tags alike":      {conf("talker_config.codec_pad_id", 2149), "both 2149"},
		"speaker twice":       {conf("talker_config.spk_id.RYAN", 3061), "ryan twice"},
		"language a code":     {conf("talker_config.codec_language_id.english", 0), "english is 0"},
		"pad of another":      {conf("tts_pad_token_id", 151672), "tts_pad_token_id is 151672"},
		"assistant of other":  {conf("assistant_token_id", 5), "assistant"},
		"temperature": {
			map[string][]byte{"generation_config.json": edit(t, dir, "generation_config.json", "temperature", -1)}, "generation_config.json: temperature",
		},
		"no segments": {
			map[string][]byte{"generation_config.json": edit(t, dir, "generation_config.json", "segment_characters", 0)}, "generation_config.json: segment_characters is 0, allowed are 1 and up",
		},
		"no clauses": {
			map[string][]byte{"generation_config.json": edit(t, dir, "generation_config.json", "clause_characters", -5)}, "generation_config.json: clause_characters is -5, allowed are 1 and up",
		},
		"too loud": {
			map[string][]byte{"generation_config.json": edit(t, dir, "generation_config.json", "gain_db", 25)}, "generation_config.json: gain_db is 25, allowed are -24 to 24",
		},
		"fades out": {
			map[string][]byte{"generation_config.json": edit(t, dir, "generation_config.json", "fade_in_ms", -1)}, "generation_config.json: fade_in_ms is -1, allowed are 0 to 80",
		},
	}
	for _, id := range []string{"tts_pad_token_id", "tts_bos_token_id", "tts_eos_token_id"} {
		cases["no "+id] = struct {
			files map[string][]byte
			want  string
		}{conf(id, nil), id}
	}
	for _, id := range []string{
		"codec_bos_id", "codec_eos_token_id", "codec_pad_id", "codec_think_id", "codec_nothink_id", "codec_think_bos_id", "codec_think_eos_id",
	} {
		cases["no "+id] = struct {
			files map[string][]byte
			want  string
		}{conf("talker_config."+id, nil), id}
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			m, err := OpenFS(overlay{dir, c.files}, "test", Options{Threads: 1, Precision: Float32Precision})
			if err == nil {
				m.Close()
				t.Fatal("was opened")
			}
			if !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %q, wanted one line with %q", err, c.want)
			}
		})
	}
}

// TestOpenRegularFilesOnly checks that a pipe among the files is refused, not waited
// for.
func TestOpenRegularFilesOnly(t *testing.T) {
	dir := os.DirFS(paritytest.Own(t, "tiny-custom").Dir)
	pipe := fstest.MapFS{"config.json": {Mode: fs.ModeNamedPipe}}
	_, err := OpenFS(pipe, "test", Options{})
	if err == nil || !strings.Contains(err.Error(), "no regular file") {
		t.Errorf("a pipe for config.json: %v", err)
	}
	if _, err := OpenFS(overlay{dir, nil}, "test", Options{Threads: -1}); err == nil || !strings.Contains(err.Error(), "threads is -1") {
		t.Errorf("threads -1: %v", err)
	}
}
