package synth

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"

	"github.com/mynah-tts/mynah/codec"
	"github.com/mynah-tts/mynah/internal/cpu"
	"github.com/mynah-tts/mynah/internal/nn"
	"github.com/mynah-tts/mynah/internal/safetensors"
	"github.com/mynah-tts/mynah/internal/team"
	"github.com/mynah-tts/mynah/internal/tokenizer"
	"github.com/mynah-tts/mynah/internal/voice"
	"github.com/mynah-tts/mynah/predictor"
	"github.com/mynah-tts/mynah/talker"
	"github.com/mynah-tts/mynah/talker/prompt"
)

// Options say how a model computes.
type Options struct {
	// Precision is part of what decides the samples.
	Precision Precision

	// The others change no sample.

	// Threads is the number of workers; 0 takes one for each physical core that
	// this process may use in full.
	Threads int
}

// maxThreads bounds Options.Threads.
const maxThreads = 256

// prefillRows is the number of prompt rows that go through the talker at once.
// More gain no speed, and between slices a request can be cancelled.
const prefillRows = 64

// Model is an open checkpoint. Its methods may be called by several goroutines.
type Model struct {
	info     Info
	cfg      config
	defaults defaults
	encoder  *prompt.Encoder
	prompts  *prompt.Builder
	talker   *talker.Model
	pred     *predictor.Model
	codec    *codec.Decoder
	weights  []*safetensors.Set

	// mu guards everything below: one goroutine computes at a time, for one frame
	// or one slice of a prompt.
	mu     sync.Mutex
	closed bool
	team   *team.Team
	work   *nn.Work
	ts     *talker.Scratch
	ps     *predictor.Scratch
	cs     *codec.Scratch
}

// Info describes a model.
type Info struct {
	Name       string // the directory, or the built-in voice's name
	Kind       Kind
	Size       string   // as config.json says, for example "0b6"
	SampleRate int      // Hz
	FrameSize  int      // samples in a frame
	Speakers   []string // preset voices, sorted
	Languages  []string // names that a request may use besides "auto", sorted
	Instruct   bool     // whether the checkpoint takes instructions
	Bytes      int64    // of its weights
	Precision  Precision
	Threads    int // workers
	MaxFrames  int // the checkpoint's bound of an utterance
}

// ErrClosed is returned by streams of a closed model.
var ErrClosed = errors.New("synth: the model is closed")

// Open opens a checkpoint directory in the published Hugging Face layout. Weights
// are mapped, not read. Everything is checked before Open returns: an error names
// the file and, where there is one, the tensor, what was found and what was wanted.
func Open(dir string, opts Options) (*Model, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return nil, fmt.Errorf("model directory %s: %w", dir, cause(err))
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("model directory %s: is a file, wanted a directory with config.json and model.safetensors", dir)
	}
	m, err := OpenFS(os.DirFS(dir), dir, opts)
	if err != nil {
		return nil, fmt.Errorf("model directory %s: %w", dir, err)
	}
	return m, nil
}

// cause strips the operation and path of a file error that the caller words anew.
func cause(err error) error {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err
	}
	return err
}

// OpenBuiltin opens the voice that is part of the program.
func OpenBuiltin(opts Options) (*Model, error) {
	m, err := OpenFS(voice.FS(), voice.Name, opts)
	if err != nil {
		return nil, fmt.Errorf("built-in voice: %w", err)
	}
	return m, nil
}

// OpenFS opens a checkpoint in any file system; name is what Info calls it. Files of
// the operating system are mapped, others read into memory.
func OpenFS(fsys fs.FS, name string, opts Options) (*Model, error) {
	if opts.Threads < 0 || opts.Threads > maxThreads {
		return nil, fmt.Errorf("threads is %d, allowed are 0 for the machine's own number or 1 to %d", opts.Threads, maxThreads)
	}
	if err := cpu.Check(); err != nil {
		return nil, err
	}
	if opts.Threads == 0 {
		opts.Threads, _ = cpu.Threads()
	}
	m := &Model{}
	if err := m.load(fsys); err != nil {
		m.closeWeights()
		return nil, err
	}
	precision, err := opts.Precision.fill(m.weightBytes())
	if err == nil {
		err = m.quantize(precision)
	}
	if err != nil {
		m.closeWeights()
		return nil, err
	}
	if err := m.prepare(opts.Threads); err != nil {
		m.Close()
		return nil, err
	}
	m.info = m.describe(name, opts.Threads)
	m.info.Precision = precision
	return m, nil
}

// load reads configs and tokenizer and takes all weights.
func (m *Model) load(fsys fs.FS) error {
	if err := readJSON(fsys, "config.json", &m.cfg); err != nil {
		return err
	}
	if err := m.cfg.validate(); err != nil {
		return fmt.Errorf("config.json: %w", err)
	}
	var err error
	if m.defaults, err = readDefaults(fsys); err != nil {
		return err
	}
	tok, err := tokenizer.Load(fsys)
	if err != nil {
		return err
	}
	if m.encoder, err = prompt.NewEncoder(tok, m.cfg.Specials); err != nil {
		return err
	}
	cc, err := readCodecConfig(fsys)
	if err != nil {
		return err
	}
	if err := m.cfg.checkCodes(cc); err != nil {
		return err
	}
	main, err := m.openWeights(fsys, ".")
	if err != nil {
		return err
	}
	if m.talker, err = talker.Load(main, m.cfg.Talker.Config); err != nil {
		return err
	}
	if m.pred, err = predictor.Load(main, m.cfg.Talker.Predictor, m.cfg.Talker.Hidden); err != nil {
		return err
	}
	speech, err := m.openWeights(fsys, codecDir)
	if err != nil {
		return err
	}
	m.codec, err = codec.LoadDecoder(speech, cc)
	return err
}

func (m *Model) openWeights(fsys fs.FS, dir string) (*safetensors.Set, error) {
	set, err := safetensors.OpenModel(fsys, dir)
	if err == nil {
		m.weights = append(m.weights, set)
	}
	return set, err
}

// prepare makes what computing needs: the team, scratch, and the rows that every
// prompt shares.
func (m *Model) prepare(threads int) error {
	m.team = team.New(threads)
	m.work = nn.NewWork(m.team)
	m.ts = m.talker.NewScratch(prefillRows)
	m.ps = m.pred.NewScratch(1)
	m.cs = m.codec.NewScratch(referenceFrames)
	var err error
	m.prompts, err = prompt.NewBuilder(m.work, m.ts, m.talker, m.pred, m.cfg.Specials)
	return err
}

func (m *Model) describe(name string, threads int) Info {
	info := Info{
		Name: name, Kind: m.cfg.Kind, Size: m.cfg.Size, SampleRate: m.codec.SampleRate(), FrameSize: m.codec.Hop(),
		Speakers: prompt.Speakers(&m.cfg.Talker.Config), Languages: prompt.Languages(&m.cfg.Talker.Config),
		Instruct: m.cfg.Kind != Base && !m.cfg.dropsInstruct(), Threads: threads, MaxFrames: m.defaults.maxFrames,
	}
	info.Bytes = m.weightBytes()
	return info
}

func (m *Model) weightBytes() (n int64) {
	for _, w := range m.weights {
		n += w.Bytes()
	}
	return n
}

// Info describes the model.
func (m *Model) Info() Info { return m.info }

// Close frees the weights. Streams that are still open fail with ErrClosed.
func (m *Model) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil
	}
	m.closed = true
	m.team.Close()
	return m.closeWeights()
}

func (m *Model) closeWeights() error {
	var errs []error
	for _, w := range m.weights {
		errs = append(errs, w.Close())
	}
	m.weights = nil
	return errors.Join(errs...)
}
