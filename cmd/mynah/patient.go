package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"

	"github.com/mynah-tts/mynah/codec"
	"github.com/mynah-tts/mynah/internal/nn"
	"github.com/mynah-tts/mynah/internal/packed"
	"github.com/mynah-tts/mynah/internal/plainjson"
	"github.com/mynah-tts/mynah/internal/safetensors"
	"github.com/mynah-tts/mynah/internal/tokenizer"
	"github.com/mynah-tts/mynah/internal/voice"
	"github.com/mynah-tts/mynah/predictor"
	"github.com/mynah-tts/mynah/synth"
	"github.com/mynah-tts/mynah/talker"
)

// patient is what doctor says about a checkpoint.
type patient struct {
	Name            string   `json:"name"`
	Kind            string   `json:"kind,omitempty"`
	Size            string   `json:"size,omitempty"`
	Speakers        []string `json:"speakers,omitempty"`
	Languages       []string `json:"languages,omitempty"`
	Instruct        bool     `json:"instruct"`
	Weights         int64    `json:"weights_bytes,omitempty"`
	Memory          int64    `json:"memory_bytes,omitempty"`            // that the open model takes, mapped weights included
	MemoryPerSecond int64    `json:"memory_per_second_bytes,omitempty"` // of the longest length of an utterance
	Checks          []check  `json:"checks"`
}

// codecDir is the codec's folder in a checkpoint.
const codecDir = "speech_tokenizer"

// checkpointConfig is config.json, as far as doctor describes it.
type checkpointConfig struct {
	Size   string `json:"tts_model_size"`
	Kind   string `json:"tts_model_type"`
	Talker struct {
		talker.Config
		Predictor predictor.Config `json:"code_predictor_config"`
	} `json:"talker_config"`
}

// examination is a look at one checkpoint.
type examination struct {
	fsys   fs.FS
	packed *packed.File // or nil
	patient
	config  *checkpointConfig // nil if it cannot be read
	codec   *codec.Config     // nil if it cannot be read
	main    *safetensors.Set  // nil if it cannot be opened
	decoder *safetensors.Set  // nil if it cannot be opened
}

// examineModel looks at a checkpoint: at each file by itself, so that every problem
// is found and not just the first, and then at whether the engine takes it.
func examineModel(flags *modelFlags) patient {
	x := &examination{fsys: voice.FS(), patient: patient{Name: voice.Name}}
	if err := flags.locate(); err != nil {
		x.Name, x.Checks = flags.Model, []check{{"directory", false, err.Error()}}
		return x.patient
	}
	if flags.Model != "" {
		x.Name, x.fsys = flags.Model, synth.RegularFiles(os.DirFS(flags.Model))
		info, err := os.Stat(flags.Model)
		if err != nil {
			x.Checks = []check{{"directory", false, cause(err).Error()}}
			return x.patient
		}
		if !info.IsDir() {
			if x.look("packed file", x.lookPacked); x.packed == nil {
				return x.patient
			}
		}
	}
	defer x.close()
	x.look("config.json", x.lookConfig)
	x.look("generation_config.json", x.lookGeneration)
	x.look("tokenizer", x.lookTokenizer)
	x.look("weights", func() (string, error) { return x.lookWeights(".", &x.main) })
	x.look(codecDir+"/config.json", x.lookCodecConfig)
	x.look(codecDir+" weights", func() (string, error) { return x.lookWeights(codecDir, &x.decoder) })
	x.lookEngine(flags)
	return x.patient
}

// look runs one check. A panic is a problem like any other: doctor reports it.
func (x *examination) look(part string, f func() (string, error)) {
	defer func() {
		if r := recover(); r != nil {
			x.Checks = append(x.Checks, check{part, false, fmt.Sprintf("internal error, please report it: %v", r)})
		}
	}()
	detail, err := f()
	if err != nil {
		detail = strings.TrimPrefix(err.Error(), part+": ")
	}
	x.Checks = append(x.Checks, check{part, err == nil, detail})
}

// lookPacked opens a packed file.
func (x *examination) lookPacked() (string, error) {
	if info, err := os.Stat(x.Name); err == nil && !info.Mode().IsRegular() {
		return "", errors.New("is neither a directory nor a regular file")
	}
	f, err := packed.Open(x.Name, nn.PackingVersion)
	if err != nil {
		return "", err
	}
	if f.Holds != packed.WholeModel {
		f.Close()
		return "", errors.New("holds packed matrices only, for the cache; wanted a file that mynah quantize wrote")
	}
	if err := f.Verify(context.Background()); err != nil {
		f.Close()
		return "", err
	}
	x.packed, x.fsys = f, f.FS()
	return fmt.Sprintf("talker %s%s, predictor %s%s, codec %s, of the checkpoint sha256 %.16s…, checksums right%s",
		f.Talker, packingError(f.TalkerError.Stored, f.TalkerError.Plain),
		f.Predictor, packingError(f.PredictorError.Stored, f.PredictorError.Plain), f.Codec, f.Source, parityDetail(f.Parity)), nil
}

// parityDetail says how far a packed file was from float32 when it was written.
func parityDetail(p packed.Parity) string {
	if p.Frames == 0 {
		return ""
	}
	return fmt.Sprintf("; beside float32 over %s: code 0 equal in %.1f %%, residual codes in %.1f %%",
		frames(p.Frames), 100*p.Code0Top1, 100*p.ResidualTop1)
}

var errMissing = errors.New("is missing")

func (x *examination) readFile(name string) ([]byte, error) {
	data, err := fs.ReadFile(x.fsys, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errMissing
	}
	return data, cause(err)
}

func (x *examination) lookConfig() (string, error) {
	data, err := x.readFile("config.json")
	if err != nil {
		return "", err
	}
	var c checkpointConfig
	if err := plainjson.Decode(data, &c); err != nil {
		return "", err
	}
	x.Kind, x.Size = c.Kind, c.Size
	if err := c.Talker.Validate(); err != nil {
		return "", err
	}
	if err := c.Talker.Predictor.Validate(); err != nil {
		return "", err
	}
	x.config = &c
	t, p := &c.Talker, &c.Talker.Predictor
	perFrame := 2 * 4 * t.Layers * t.KVHeads * t.HeadDim // float32 keys and values of the talker
	x.MemoryPerSecond = int64(framesPerSecond * float64(perFrame))
	return fmt.Sprintf("%s %s: talker %d layers of %d, predictor %d layers of %d, %d codes a frame, %d positions",
		c.Kind, c.Size, t.Layers, t.Hidden, p.Layers, p.Hidden, t.Groups, t.MaxPositions), nil
}

// framesPerSecond is the rate of the 12 Hz codecs.
const framesPerSecond = 12.5

func (x *examination) lookGeneration() (string, error) {
	data, err := x.readFile("generation_config.json")
	if errors.Is(err, errMissing) {
		return "is missing, the usual values are taken", nil
	}
	if err != nil {
		return "", err
	}
	var values map[string]any
	if err := plainjson.Decode(data, &values); err != nil {
		return "", err
	}
	var found []string
	for _, name := range []string{"temperature", "top_k", "top_p", "repetition_penalty", "subtalker_temperature", "subtalker_top_k", "subtalker_top_p", "max_new_tokens",
		"segment_characters", "clause_characters", "gain_db", "fade_in_ms"} {
		if v, ok := values[name]; ok {
			found = append(found, fmt.Sprintf("%s %v", name, v))
		}
	}
	return strings.Join(found, ", "), nil
}

func (x *examination) lookTokenizer() (string, error) {
	tok, err := tokenizer.Load(x.fsys)
	if err != nil {
		return "", err
	}
	var files []string
	for _, name := range []string{"vocab.json", "merges.txt", "tokenizer.json", "tokenizer_config.json"} {
		if _, err := fs.Stat(x.fsys, name); err == nil {
			files = append(files, name)
		}
	}
	return fmt.Sprintf("%d tokens in %s", tok.Size(), strings.Join(files, ", ")), nil
}

func (x *examination) openWeights(dir string) (*safetensors.Set, error) {
	if x.packed != nil {
		return x.packed.Weights(dir), nil
	}
	return safetensors.OpenModel(x.fsys, dir)
}

// lookWeights opens a set of tensors and counts it by type.
func (x *examination) lookWeights(dir string, to **safetensors.Set) (string, error) {
	set, err := x.openWeights(dir)
	if err != nil {
		return "", err
	}
	*to = set
	x.Weights += set.Bytes()
	types, files := map[string]int{}, map[string]bool{}
	for _, name := range set.Names() {
		if info, ok := set.Info(name); ok {
			types[string(info.DType)]++
			files[path.Base(info.File)] = true
		}
	}
	var counts []string
	for _, t := range slices.Sorted(maps.Keys(types)) {
		counts = append(counts, fmt.Sprintf("%d %s", types[t], t))
	}
	in := strings.Join(slices.Sorted(maps.Keys(files)), ", ")
	if len(files) > 1 {
		in = fmt.Sprintf("%d files", len(files))
	}
	return fmt.Sprintf("%s in %s: %s tensors", size(set.Bytes()), in, strings.Join(counts, ", ")), nil
}

func (x *examination) lookCodecConfig() (string, error) {
	data, err := x.readFile(codecDir + "/config.json")
	if err != nil {
		return "", err
	}
	c, err := codec.ParseConfig(data)
	if err != nil {
		return "", err
	}
	x.codec = &c
	return fmt.Sprintf("%d Hz, %d samples a frame, %d codebooks of %d", c.SampleRate, c.Hop, c.Decoder.Groups, c.Decoder.Bins), nil
}

// allTensors is what is good about a network that loads.
const allTensors = "all tensors are there in the right shapes"

// lookEngine opens the model in earnest. If that fails, each network is tried on its
// own; the engine's reason stands beside what that finds.
func (x *examination) lookEngine(flags *modelFlags) {
	if checkLevel() != nil {
		return // the machine's problem
	}
	model, err := x.open(flags)
	if err == nil {
		info := model.Info()
		x.Memory = used() + info.Bytes // which are mapped, or part of the program: Go does not count them
		model.Close()
		x.Kind, x.Size, x.Speakers, x.Languages, x.Instruct = string(info.Kind), info.Size, info.Speakers, info.Languages, info.Instruct
		x.Checks = append(x.Checks, check{"engine", true, allTensors})
		return
	}
	if x.config != nil && x.main != nil {
		x.look("talker", func() (string, error) { _, err := talker.Load(x.main, x.config.Talker.Config); return allTensors, err })
		x.look("predictor", func() (string, error) {
			_, err := predictor.Load(x.main, x.config.Talker.Predictor, x.config.Talker.Hidden)
			return allTensors, err
		})
	}
	if x.codec != nil && x.decoder != nil {
		x.look("codec", func() (string, error) { _, err := codec.LoadDecoder(x.decoder, *x.codec); return allTensors, err })
	}
	if !x.explains(err) {
		x.Checks = append(x.Checks, check{"engine", false, err.Error()})
	}
}

// explains reports whether one of the problems found is the engine's as well.
func (x *examination) explains(err error) bool {
	return slices.ContainsFunc(x.Checks, func(c check) bool { return !c.OK && strings.Contains(err.Error(), c.Detail) })
}

// open opens the model, turning a panic into an error.
func (x *examination) open(flags *modelFlags) (model *synth.Model, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("internal error, please report it: %v", r)
		}
	}()
	return flags.open()
}

func (x *examination) close() {
	for _, set := range []*safetensors.Set{x.main, x.decoder} {
		if set != nil {
			set.Close()
		}
	}
	if x.packed != nil {
		x.packed.Close()
	}
}

// used is the memory that Go needs now, for our data and for itself.
func used() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.Sys - m.HeapSys)
}

// rows are the lines of text about the checkpoint.
func (p *patient) rows() [][2]string {
	var rows [][2]string
	for _, c := range p.Checks {
		state := "ok       "
		if !c.OK {
			state = "problem  "
		}
		rows = append(rows, [2]string{c.Part, state + c.Detail})
	}
	if p.Memory == 0 {
		return rows
	}
	instruct := "no"
	if p.Instruct {
		instruct = "yes"
	}
	return append(rows, [][2]string{
		{"kind", strings.TrimSpace(p.Kind + " " + p.Size)},
		{"voices", orNone(p.Speakers)},
		{"languages", orNone(append([]string{"auto"}, p.Languages...))},
		{"instructions", instruct},
	}...)
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
