package tokenizer

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// deriveJSON makes a tokenizer.json of the other three files, in the form that the
// reference's library writes.
func deriveJSON(t testing.TB, fsys fs.FS, pairs bool) string {
	t.Helper()
	read := func(name string) []byte {
		b, err := fs.ReadFile(fsys, name)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	var config struct {
		Added map[string]map[string]any `json:"added_tokens_decoder"`
	}
	if err := json.Unmarshal(read(configFile), &config); err != nil {
		t.Fatal(err)
	}
	added := []map[string]any{}
	for id, tok := range config.Added {
		n, err := strconv.Atoi(id)
		if err != nil {
			t.Fatal(err)
		}
		tok["id"] = n
		added = append(added, tok)
	}
	merges := []any{}
	for i, line := range strings.Split(string(read(mergesFile)), "\n") {
		if line == "" || i == 0 && strings.HasPrefix(line, "#version") {
			continue
		}
		if pairs {
			merges = append(merges, strings.Split(line, " "))
		} else {
			merges = append(merges, line)
		}
	}
	return toJSON(map[string]any{
		"version": "1.0", "truncation": nil, "added_tokens": added,
		"normalizer": map[string]any{"type": "NFC"},
		"pre_tokenizer": map[string]any{"type": "Sequence", "pretokenizers": []any{
			map[string]any{"type": "Split", "pattern": map[string]any{"Regex": Pattern}, "behavior": "Isolated", "invert": false},
			map[string]any{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false}}},
		"model": map[string]any{"type": "BPE", "dropout": nil, "unk_token": nil, "continuing_subword_prefix": "",
			"ignore_merges": false, "merges": merges, "vocab": json.RawMessage(read(vocabFile))},
	})
}

func TestLoadTokenizerJSON(t *testing.T) {
	want := small(t)
	for _, pairs := range []bool{false, true} {
		doc := deriveJSON(t, mapFS(smallFiles()), pairs)
		minimal := map[string]any{}
		var full map[string]any
		if err := json.Unmarshal([]byte(doc), &full); err != nil {
			t.Fatal(err)
		}
		minimal["model"], minimal["added_tokens"], minimal["normalizer"] = full["model"], full["added_tokens"], nil
		for _, doc := range []string{doc, toJSON(minimal)} {
			tok, err := Load(mapFS(map[string]string{jsonFile: doc}))
			if err != nil {
				t.Fatal(err)
			}
			s := "<|im_start|>hello  world, ca\u0301fé 12<tts>!"
			if got, want := tok.Encode(s), want.Encode(s); !reflect.DeepEqual(got, want) {
				t.Errorf("%v, wanted %v", got, want)
			}
		}
	}
}

// TestLoadMore: further added tokens from tokenizer_config.json, the pattern that
// a saved copy may hold, tokens matched in normalised text, and odd line ends.
func TestLoadMore(t *testing.T) {
	files := map[string]string{jsonFile: deriveJSON(t, mapFS(smallFiles()), true)}
	files[jsonFile] = strings.Replace(files[jsonFile], toJSON(Pattern), toJSON(swappedPattern), 1)
	n := small(t).Size()
	files[configFile] = fmt.Sprintf(`{"other": [1, {"a": null}], "text_normalization": "english", "added_tokens_decoder": {"%d": {"content": "<é>", "normalized": true}, "%d": {"content": "<tts>"}}}`, n+5, n-2)
	tok, err := Load(mapFS(files))
	if err != nil {
		t.Fatal(err)
	}
	if got := words(tok, tok.Encode("a<e\u0301><tts>")); !reflect.DeepEqual(got, []string{"a", "<é>", "<tts>"}) {
		t.Errorf("%q", got)
	}
	if got := tok.Normalization(); got != "english" {
		t.Errorf("normalization %q", got)
	}
	if _, ok := tok.Token(n + 2); ok || tok.Size() != n+6 {
		t.Errorf("size %d, wanted %d with a hole", tok.Size(), n+6)
	}
	files = smallFiles()
	files[mergesFile] = strings.ReplaceAll(files[mergesFile], "\n", "\r\n\n")
	tok, err = Load(mapFS(files))
	if err != nil {
		t.Fatal(err)
	}
	if got := words(tok, tok.Encode("## hello")); !reflect.DeepEqual(got, []string{"##", " ", "hello"}) {
		t.Errorf("%q", got)
	}
}

// TestLoadManyAdded loads as many added tokens as a hostile file may hold some of, all of one
// first byte.
func TestLoadManyAdded(t *testing.T) {
	const many = 200_000
	files := smallFiles()
	var config strings.Builder
	n := small(t).Size()
	config.WriteString(`{"added_tokens_decoder": {`)
	for i := range many {
		fmt.Fprintf(&config, `"%d": {"content": "<%d"},`, n+i, i)
	}
	fmt.Fprintf(&config, `"%d": {"content": "<last>"}}}`, n+many)
	files[configFile] = config.String()
	loaded := make(chan error, 1)
	go func() {
		tok, err := Load(mapFS(files))
		if err == nil {
			// The longest goes before those that it begins with.
			if got, want := tok.Encode("<1234"), []int{n + 1234}; !reflect.DeepEqual(got, want) {
				err = fmt.Errorf("ids %v, wanted %v", got, want)
			}
		}
		loaded <- err
	}()
	select {
	case err := <-loaded:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(30 * time.Second):
		t.Error("it takes over 30 s")
	}
}

// TestLoadErrors: each broken file gives one line that names the file, the place
// and what is wrong.
func TestLoadErrors(t *testing.T) {
	base := smallFiles()
	derived := deriveJSON(t, mapFS(base), false)
	n := small(t).Size() - 5 // the first id of an added token
	replace := func(name, old, new string) map[string]string {
		files := maps.Clone(base)
		if name == jsonFile {
			files = map[string]string{jsonFile: derived}
		}
		if !strings.Contains(files[name], old) {
			t.Fatalf("%s does not hold %q", name, old)
		}
		files[name] = strings.Replace(files[name], old, new, 1)
		return files
	}
	without := func(names ...string) map[string]string {
		files := maps.Clone(base)
		for _, name := range names {
			delete(files, name)
		}
		return files
	}
	vocab := func(doc string) map[string]string {
		files := maps.Clone(base)
		files[vocabFile] = doc
		return files
	}
	firstToken := `"` + string(byteToRune[0]) + `":0`
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"nothing":          {nil, "open vocab.json: file does not exist; nor is there a tokenizer.json"},
		"no merges":        {without(mergesFile), "open merges.txt: file does not exist; nor is there a tokenizer.json"},
		"no config":        {without(configFile), "open tokenizer_config.json: file does not exist"},
		"empty vocab":      {vocab(""), "vocab.json: line 1, column 1: end of file, wanted '{'"},
		"git-lfs pointer":  {vocab("version https://git-lfs"), "vocab.json: line 1, column 1: 'v', wanted '{'"},
		"not an object":    {vocab("[]"), "vocab.json: line 1, column 1: '[', wanted '{'"},
		"cut short":        {vocab("{\n\"a\": 1,\n\"b"), "vocab.json: line 3, column 1: string without end"},
		"cut after colon":  {vocab("{\n\"a\":"), "vocab.json: line 2, column 5: \"\", wanted a whole number from 0 to 1048575"},
		"trailing comma":   {vocab("{\"a\": 1,}"), "vocab.json: line 1, column 9: '}', wanted '\"'"},
		"text behind":      {vocab("{\"a\": 1} x"), "vocab.json: line 1, column 10: text after the end of the document"},
		"negative id":      {vocab("{\"a\": -1}"), "vocab.json: line 1, column 7: \"-1\", wanted a whole number from 0 to 1048575"},
		"huge id":          {vocab("{\"a\": 1048576}"), "\"1048576\", wanted a whole number from 0 to 1048575"},
		"id of 30 digits":  {vocab("{\"a\": " + strings.Repeat("9", 30) + "}"), "wanted a whole number"},
		"fraction":         {vocab("{\"a\": 1.5}"), "\"1.5\", wanted a whole number"},
		"leading zero":     {vocab("{\"a\": 01}"), "\"01\", wanted a whole number"},
		"id as text":       {vocab("{\"a\": \"1\"}"), "line 1, column 7: \"\", wanted a whole number"},
		"token twice":      {vocab("{\"a\": 1,\n \"a\": 2}"), "vocab.json: line 2, column 2: token \"a\" twice, with ids 1 and 2"},
		"id twice":         {vocab("{\"a\": 1, \"b\": 1}"), "id 1 twice, for \"a\" and \"b\""},
		"empty token":      {vocab("{\"\": 1}"), "token of 0 bytes, wanted 1 to 4096"},
		"long token":       {vocab("{\"" + strings.Repeat("a", 5000) + "\": 1}"), "token of 5000 bytes, wanted 1 to 4096"},
		"bad escape":       {vocab(`{"\x": 1}`), "bad escape in a string"},
		"control char":     {vocab("{\"a\tb\": 1}"), "control character 0x09 in a string"},
		"not UTF-8":        {vocab("{\n\"\xffa\": 1}"), "vocab.json: line 2, column 2: byte 0xff is not UTF-8"},
		"not the alphabet": {replace(vocabFile, firstToken, firstToken+`,"a b":`+strconv.Itoa(n+9)), `token "a b": ' ' stands for no byte, and it is no added token`},
		"byte missing":     {replace(vocabFile, firstToken, `"zz":0`), "vocab.json: no token 'Ā', the one of byte 0x00"},
		"unknown left":     {replace(mergesFile, "h e\n", "h e\nqq x\n"), "merges.txt: line 7: merge of \"qq\", which is not in the vocabulary"},
		"unknown right":    {replace(mergesFile, "h e\n", "h qq\n"), "merges.txt: line 6: merge with \"qq\", which is not in the vocabulary"},
		"unknown result":   {replace(mergesFile, "h e\n", "h z\n"), "merges.txt: line 6: merge of \"h\" and \"z\", whose result is not in the vocabulary"},
		"one token":        {replace(mergesFile, "h e\n", "he\n"), "merges.txt: line 6: \"he\", wanted two tokens with one space between them"},
		"three tokens":     {replace(mergesFile, "h e\n", "h e l\n"), "merges.txt: line 6: \"h e l\", wanted two tokens"},
		"late comment":     {replace(mergesFile, "h e\n", "#version: 0.2\nh e\n"), "merges.txt: line 6: merge of \"#version:\", which"},
		"merges not UTF-8": {replace(mergesFile, "h e\n", "\xe4\xbd\n"), "merges.txt: line 6, column 1: byte 0xe4 is not UTF-8"},
		"added is merged":  {replace(configFile, `"<tts_pad>"`, `"hello"`), `tokenizer_config.json: line 1, column`},
		"added, other id":  {replace(configFile, `"<tts_pad>"`, `"hello"`), fmt.Sprintf(`added token "hello" has id %d, and 263 in vocab.json`, n+2)},
		"added, taken id":  {replace(configFile, `"`+strconv.Itoa(n)+`"`, `"3"`), `added token "<|im_start|>" has id 3, which is "ă" in vocab.json`},
		"added, hello":     {replace(configFile, `"`+strconv.Itoa(n)+`":{"content":"<|im_start|>"`, `"263":{"content":"hello"`), `vocab.json: a merge makes "hello", which is an added token`},
		"added, byte":      {replace(configFile, `"`+strconv.Itoa(n)+`":{"content":"<|im_start|>"`, `"0":{"content":"Ā"`), `vocab.json: token 'Ā', the one of byte 0x00, is an added token too`},
		"added, no number": {replace(configFile, `"`+strconv.Itoa(n)+`"`, `"+3"`), `added token with id "+3", wanted a whole number from 0 to 1048575`},
		"added, huge":      {replace(configFile, `"`+strconv.Itoa(n)+`"`, `"99999999999"`), `added token with id "99999999999"`},
		"added, empty":     {replace(configFile, `"<tts_pad>"`, `""`), "content of 0 bytes, wanted 1 to 4096"},
		"added, twice":     {replace(configFile, `"<tts_pad>"`, `"<tts>"`), `added token "<tts>" has ids `},
		"added, stripping": {replace(configFile, `"lstrip":false`, `"lstrip":true`), `lstrip is true, which is not supported`},
		"added, flag":      {replace(configFile, `"lstrip":false`, `"lstrip":0`), `"0", wanted true or false`},
		"json, cut":        {map[string]string{jsonFile: derived[:len(derived)/2]}, "tokenizer.json: line 1, column "},
		"json, empty":      {map[string]string{jsonFile: "{}"}, `tokenizer.json: no "model"`},
		"json, no merges":  {replace(jsonFile, `"merges":`, `"margins":`), `model without "vocab" or "merges"`},
		"json, model":      {replace(jsonFile, `"type":"BPE"`, `"type":"Unigram"`), `model type "Unigram", wanted "BPE"`},
		"json, normalizer": {replace(jsonFile, `"NFC"`, `"NFKC"`), `normalizer "NFKC", wanted "NFC"`},
		"json, pattern":    {replace(jsonFile, `|\\s+(?!\\S)`, ``), `wanted the pattern of Qwen`},
		"json, splitter":   {replace(jsonFile, `"type":"Split"`, `"type":"Digits"`), `pre_tokenizer "Digits", wanted "Split" and "ByteLevel"`},
		"json, ByteLevel":  {replace(jsonFile, `"use_regex":false`, `"use_regex":true`), `pre_tokenizer ByteLevel adds a space or splits by itself`},
		"json, option":     {replace(jsonFile, `"ignore_merges":false`, `"ignore_merges":true`), `ignore_merges is true, which is not supported`},
		"json, merge":      {replace(jsonFile, `"h e"`, `"h  e"`), `"h  e", wanted two tokens with one space between them`},
		"json, merge of 3": {replace(jsonFile, `"h e"`, `["h","e","l"]`), `merge of 3 tokens, wanted 2`},
		"json, merge of 1": {replace(jsonFile, `"h e"`, `{"h":"e"}`), `'{', wanted '"'`},
		"json, no id":      {replace(jsonFile, `"id":`, `"di":`), `without "id"`},
		"json, depth":      {map[string]string{jsonFile: `{"x":` + strings.Repeat("[", 1000000)}, "more than 64 arrays and objects within one another"},
		"json, no value":   {map[string]string{jsonFile: `{"x":nil}`}, "tokenizer.json: line 1, column 6: no JSON value"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Load(mapFS(c.files))
			if err == nil {
				t.Fatal("no error")
			}
			if s := err.Error(); !strings.Contains(s, c.want) || strings.Contains(s, "\n") || !strings.HasPrefix(s, "tokenizer: ") || len(s) > 300 {
				t.Errorf("%s\nwanted %s", s, c.want)
			}
			var fe *FileError
			if !errors.As(err, &fe) && !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%T, wanted a *FileError", err)
			}
		})
	}
}

// endless is a file that never ends.
type endless struct{ fs.File }

func (endless) Open(name string) (fs.File, error) { return endless{}, nil }
func (endless) Stat() (fs.FileInfo, error)        { return nil, errors.New("unknown") }
func (endless) Close() error                      { return nil }
func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

func TestLoadLimit(t *testing.T) {
	if _, err := Load(endless{}); err == nil || err.Error() != "tokenizer: vocab.json: more than 67108864 bytes" {
		t.Error(err)
	}
}

// FuzzLoad: no file panics or is taken for a tokenizer when it is no JSON, and
// what loads can encode.
func FuzzLoad(f *testing.F) {
	files := smallFiles()
	doc := deriveJSON(f, mapFS(files), true)
	f.Add(files[vocabFile], files[mergesFile], files[configFile], false)
	f.Add(doc, "", files[configFile], true)
	f.Add(`{"model": {"vocab": {"\u0120": 220}, "merges": [["a","b"], "a b"]}}`, "#version: 0.2\n# #\na b c", `{"added_tokens_decoder": {"1": {"content": "\ud83d\ude00"}}}`, true)
	f.Fuzz(func(t *testing.T, vocab, merges, config string, asJSON bool) {
		files := map[string]string{vocabFile: vocab, mergesFile: merges, configFile: config}
		if asJSON {
			files = map[string]string{jsonFile: vocab, configFile: config}
		}
		tok, err := Load(mapFS(files))
		if err != nil {
			if s := err.Error(); strings.Contains(s, "\n") || len(s) > 2000 || !utf8.ValidString(s) {
				t.Errorf("error %q", s)
			}
			return
		}
		for _, doc := range []string{vocab, config} {
			if !json.Valid([]byte(doc)) {
				t.Errorf("loaded, but is no JSON: %q", doc)
			}
		}
		s := "hello  wörld\n" + vocab
		for _, id := range tok.Encode(s) {
			if _, ok := tok.Token(id); !ok {
				t.Errorf("id %d without a token", id)
			}
		}
		if got, want := tok.Decode(tok.EncodeText(s)), nfc(validUTF8(s)); got != want {
			t.Errorf("decoded %q, wanted %q", got, want)
		}
	})
}

// A document may end anywhere, behind a backslash too.
func TestJSONCutAnywhere(t *testing.T) {
	const whole = `{"a\"": ["b\\\"c", -1.5e3, true, null, {"\u00e9": "\\"}], "d": "\\\\"}`
	for n := range len(whole) + 1 {
		r := jsonReader{file: "f", data: whole[:n]}
		text := r.skip()
		if err := r.end(); (err == nil) != (n == len(whole)) || err == nil && text != whole {
			t.Errorf("%q: %q, error %v", whole[:n], text, err)
		}
	}
}
