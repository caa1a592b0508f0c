package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/mynah-tts/mynah/internal/safetensors"
)

const (
	codecDir    = "speech_tokenizer"
	weightsFile = "model.safetensors"
	// writeBuffer collects the small tensors; the large ones come in blocks of about this size.
	writeBuffer = 1 << 20
)

// tokenizerFiles are copied from another model folder.
var tokenizerFiles = []string{"vocab.json", "merges.txt", "tokenizer_config.json"}

// checkpoint is what is to be written: the two configs and how the weights are drawn.
type checkpoint struct {
	model, codec object
	seed         uint64
	workers      int
}

// write writes all files into the folder out, then opens them again and compares with what was wanted. It tells the
// sizes on log.
func (c checkpoint) write(out, tokenizer string, log io.Writer) error {
	if err := os.MkdirAll(filepath.Join(out, codecDir), 0o755); err != nil {
		return err
	}
	modelJSON, codecJSON := encodeJSON(c.model), encodeJSON(c.codec)
	files := map[string][]byte{"config.json": modelJSON, codecDir + "/config.json": codecJSON}
	for name, content := range smallFiles() {
		files[name] = encodeJSON(content)
	}
	if err := readTokenizer(tokenizer, files); err != nil {
		return err
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(out, filepath.FromSlash(name)), content, 0o644); err != nil {
			return err
		}
	}
	model, err := parseModel(modelJSON)
	if err != nil {
		return err
	}
	codec, err := parseCodec(codecJSON)
	if err != nil {
		return err
	}
	var modelTensors, codecTensors []drawing
	for _, s := range model.tensors() {
		modelTensors = append(modelTensors, drawing{s, modelLaw(s, model.Talker.EOS), safetensors.BF16, c.seed, c.workers})
	}
	for _, s := range codec.tensors() {
		codecTensors = append(codecTensors, drawing{s, codecLaw(s, codec.lastConv()), safetensors.F32, c.seed, c.workers})
	}
	if err := writeWeights(out, weightsFile, modelTensors, log); err != nil {
		return err
	}
	return writeWeights(out, codecDir+"/"+weightsFile, codecTensors, log)
}

// readTokenizer adds the tokenizer files of a model folder to files, after a look at whether they fit the configs.
func readTokenizer(dir string, files map[string][]byte) error {
	for _, name := range tokenizerFiles {
		content, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return fmt.Errorf("tokenizer: %w (-tokenizer names a model folder with %v)", err, tokenizerFiles)
		}
		files[name] = content
	}
	var config struct {
		Added map[int]struct{ Content string } `json:"added_tokens_decoder"`
	}
	if err := json.Unmarshal(files["tokenizer_config.json"], &config); err != nil {
		return fmt.Errorf("tokenizer: %s: %w", filepath.Join(dir, "tokenizer_config.json"), err)
	}
	if got := config.Added[imStartID].Content; got != "<|im_start|>" {
		return fmt.Errorf("tokenizer: %s: added token %d is %q, wanted \"<|im_start|>\" as in the full Qwen3 tokenizer", dir, imStartID, got)
	}
	return nil
}

// writeWeights writes one file, by way of a temporary one, and checks it.
func writeWeights(out, name string, tensors []drawing, log io.Writer) error {
	target := filepath.Join(out, filepath.FromSlash(name))
	f, err := os.CreateTemp(filepath.Dir(target), weightsFile+".*.part")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // fails once the file has its name
	list := make([]safetensors.Tensor, len(tensors))
	values := 0
	for i, t := range tensors {
		list[i] = safetensors.Tensor{Name: t.name, DType: t.dtype, Shape: t.shape, Data: t.writeTo}
		values += product(t.shape)
	}
	w := bufio.NewWriterSize(f, writeBuffer)
	err = safetensors.Write(w, list, map[string]string{"format": "pt"})
	if err = errors.Join(err, w.Flush(), f.Chmod(0o644), f.Close()); err != nil {
		return fmt.Errorf("%s: %w", target, err)
	}
	if err := os.Rename(f.Name(), target); err != nil {
		return err
	}
	if err := checkWeights(out, path.Dir(name), tensors); err != nil {
		return err
	}
	info, err := os.Stat(target)
	if err != nil {
		return err
	}
	fmt.Fprintf(log, "%s: %d tensors, %.1f M values, %.0f MB\n", name, len(tensors), float64(values)/1e6, float64(info.Size())/1e6)
	return nil
}

// checkWeights opens a file as a program that uses it would, and compares names, dtypes and shapes.
func checkWeights(out, dir string, tensors []drawing) error {
	set, err := safetensors.OpenModel(os.DirFS(out), dir)
	if err != nil {
		return err
	}
	defer set.Close()
	if got := len(set.Names()); got != len(tensors) {
		return fmt.Errorf("%s: %d tensors written, wanted %d", dir, got, len(tensors))
	}
	for _, t := range tensors {
		info, ok := set.Info(t.name)
		if !ok || info.DType != t.dtype || !slices.Equal(info.Shape, t.shape) {
			return fmt.Errorf("%s: tensor %s is %s %v, wanted %s %v", dir, t.name, info.DType, info.Shape, t.dtype, t.shape)
		}
	}
	return nil
}

func encodeJSON(o object) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(o); err != nil {
		panic(err) // config.go holds strings, numbers and lists of them
	}
	return b.Bytes()
}
