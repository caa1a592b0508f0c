package main

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/mynah-tts/mynah/internal/cpu"
	"github.com/mynah-tts/mynah/internal/profile"
	"github.com/mynah-tts/mynah/synth"
)

// modelFlags choose a checkpoint and how it is run.
type modelFlags struct {
	Model string `help:"Checkpoint directory, in the published Hugging Face layout, a file that mynah quantize wrote, or the name of a model that mynah pull fetched: ORG/NAME or ORG/NAME@REVISION." placeholder:"MODEL" type:"path" unset:"the built-in voice"`
	computeFlags
}

// computeFlags choose how a checkpoint is run.
type computeFlags struct {
	Precision          string `help:"How the checkpoint's matrices are held: as they are, or packed into integers, which is faster and less exact. Part of what decides the samples." allowed:"f32,default,fast" placeholder:"NAME" unset:"f32 up to 128 MiB of weights, otherwise default"`
	TalkerPrecision    string `help:"The talker's alone." allowed:"f32,bf16,int4-a16,int4-a8" placeholder:"NAME" unset:"that of --precision; default and fast are int4-a8"`
	PredictorPrecision string `help:"The code predictor's alone." allowed:"f32,int8,int4" placeholder:"NAME" unset:"that of --precision; default is int8, fast int4"`
	CodecPrecision     string `help:"The codec decoder's alone." allowed:"f32,bf16,int8" placeholder:"NAME" unset:"that of --precision; default is f32, fast int8"`

	Cache string `help:"Folder that keeps packed matrices of checkpoint directories, so that the next start is quick; off is none. Changes no sample." placeholder:"DIR" type:"path" unset:"mynah/packed in the user's cache directory"`

	Threads int `help:"Threads that compute. 0 takes a thread for each physical core that the process may use. Changes no sample." placeholder:"N" range:"0,256" unset:"0"`

	PredictorThreads int `help:"Most of them for the code predictor, whose steps are too small for many; 0 is all. Changes no sample." placeholder:"N" range:"0,256" unset:"0"`

	warn func(message string) // or nil
}

// noCache is the value of --cache for none.
const noCache = "off"

// cacheDir is where packed matrices are kept, "" for nowhere.
func (f *modelFlags) cacheDir() string {
	switch f.Cache {
	case noCache:
		return ""
	case "":
		dir, err := os.UserCacheDir()
		if err != nil {
			return "" // a user without a home
		}
		return filepath.Join(dir, "mynah", "packed")
	}
	return f.Cache
}

// open opens the checkpoint.
func (f *modelFlags) open() (*synth.Model, error) { return f.openWith(func(*synth.Options) {}) }

// openRecorded opens the checkpoint for so many streams at once (0 for the default), with
// a recorder of the time that its stages take.
func (f *modelFlags) openRecorded(recorder *profile.Recorder, live int) (*synth.Model, error) {
	return f.openWith(func(o *synth.Options) { o.Profile, o.MaxLive = recorder, live })
}

// openWith opens the checkpoint with more options than the flags give.
func (f *modelFlags) openWith(more func(*synth.Options)) (*synth.Model, error) {
	if err := checkLevel(); err != nil {
		return nil, err
	}
	if err := f.locate(); err != nil {
		return nil, err
	}
	precision, err := choosePrecision(f.Precision, f.TalkerPrecision, f.PredictorPrecision, f.CodecPrecision)
	if err != nil {
		return nil, err
	}
	opts := synth.Options{Threads: f.Threads, PredictorThreads: f.PredictorThreads, Precision: precision, Cache: f.cacheDir(), Warn: f.warn}
	more(&opts)
	if f.Model == "" {
		return synth.OpenBuiltin(opts)
	}
	return synth.Open(f.Model, opts)
}

// choosePrecision puts the flags of precision together.
func choosePrecision(name, talker, predictor, codec string) (synth.Precision, error) {
	p, err := synth.NamedPrecision(name)
	if err != nil {
		return p, usageErrorf("--precision: %v", err)
	}
	p.Talker, p.Predictor, p.Codec = cmp.Or(talker, p.Talker), cmp.Or(predictor, p.Predictor), cmp.Or(codec, p.Codec)
	return p, nil
}

// checkLevel refuses a MYNAH_CPU that names no level.
func checkLevel() error {
	if err := cpu.Check(); err != nil {
		return usageErrorf("%s", strings.Replace(err.Error(), ": cpu:", ":", 1))
	}
	return nil
}

// speechFlags say how to speak.
type speechFlags struct {
	mannerFlags
	Seed *int64 `help:"Start of the random numbers, 0 and up: the same seed gives the same audio. -1 is a random one, which is reported." placeholder:"N" unset:"-1"`
}

// request puts the flags and a text into the engine's terms.
func (f *speechFlags) request(text string) (synth.Request, error) {
	r, err := f.mannerFlags.request(text)
	r.Seed = f.Seed
	return r, err
}

// mannerFlags say how to speak, but for the seed. A setting that is not given stays nil or
// empty, and is the checkpoint's own.
type mannerFlags struct {
	voicesFlags
	Voice     string `help:"Preset voice of the checkpoint or, with a Base checkpoint, a voice that is kept, in any case. mynah voices lists both." placeholder:"NAME" unset:"the checkpoint's first"`
	Language  string `help:"Language of the text, in any case, or its code (en); auto leaves it to the model, if that speaks more than one. mynah doctor lists a checkpoint's." placeholder:"NAME" unset:"auto"`
	Instruct  string `help:"How to speak, or what the voice is like, for checkpoints that take instructions." placeholder:"TEXT" unset:"none"`
	Reference string `help:"Voice to imitate, for Base checkpoints: a JSON file with x_vector, or with codes and text as well." placeholder:"FILE" type:"path" unset:"none"`
	Layout    string `help:"How the model is given the text: a token with each frame, or all of it first." allowed:"streaming,whole" placeholder:"NAME" unset:"streaming for Base checkpoints, otherwise whole"`

	MaxFrames int `help:"Longest audio in frames of 80 ms; 0 is the checkpoint's. The text bounds it as well: 40 frames and 12 for each of its tokens." placeholder:"N" unset:"0"`

	Temperature       *float64 `help:"Randomness of the speech, 0 and up; 0 always takes the likeliest code." placeholder:"T" group:"sampling" unset:"the checkpoint's, mostly 0.9"`
	TopK              *int     `help:"Choose among this many of the likeliest codes, 0 and up; 0 is all." placeholder:"K" group:"sampling" unset:"the checkpoint's, mostly 50"`
	TopP              *float64 `help:"Choose among the likeliest codes that make up this share of probability, 0 to 1; 1 is all of them." placeholder:"P" group:"sampling" unset:"the checkpoint's, mostly 1"`
	RepetitionPenalty *float64 `help:"Make codes that were used less likely, above 0; 1 is not at all." placeholder:"X" group:"sampling" unset:"the checkpoint's, mostly 1.05"`

	SubtalkerTemperature *float64 `help:"Temperature of the code predictor, which adds the detail to each frame." placeholder:"T" group:"sampling" unset:"the checkpoint's, mostly 0.9"`
	SubtalkerTopK        *int     `help:"Top-k of the code predictor." placeholder:"K" group:"sampling" unset:"the checkpoint's, mostly 50"`
	SubtalkerTopP        *float64 `help:"Top-p of the code predictor." placeholder:"P" group:"sampling" unset:"the checkpoint's, mostly 1"`
}

func (f *mannerFlags) request(text string) (synth.Request, error) {
	r := synth.Request{
		Text: text, Voice: f.Voice, Language: f.Language, Instruct: f.Instruct,
		Layout: synth.Layout(f.Layout), MaxFrames: f.MaxFrames,
		Sampling: synth.Sampling{
			Temperature: f.Temperature, TopK: f.TopK, TopP: f.TopP, RepetitionPenalty: f.RepetitionPenalty,
			SubTemperature: f.SubtalkerTemperature, SubTopK: f.SubtalkerTopK, SubTopP: f.SubtalkerTopP,
		},
	}
	if f.Reference == "" {
		return r, nil
	}
	var err error
	r.Reference, err = readReference(f.Reference)
	return r, err
}

// readReference reads a reference file. One that can be read and is none is a wrong value,
// like any other file of a wrong kind.
func readReference(path string) (*synth.Reference, error) {
	ref, err := synth.ReadReference(path)
	var failed syscall.Errno
	if err != nil && !errors.As(err, &failed) {
		return nil, usageErrorf("%v", err)
	}
	return ref, err
}
