package synth

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"

	"github.com/mynah-tts/mynah/codec"
	"github.com/mynah-tts/mynah/internal/cpu"
	"github.com/mynah-tts/mynah/internal/nn"
	"github.com/mynah-tts/mynah/internal/packed"
	"github.com/mynah-tts/mynah/internal/profile"
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

	// PredictorThreads is the most of them that the code predictor uses; 0 is all.
	PredictorThreads int

	// Cache is a folder that keeps packed matrices of checkpoint directories, so that
	// they are packed once; none if empty.
	Cache string

	// Warn, if set, is told in one sentence what went wrong without harm: a cache that
	// cannot be used.
	Warn func(message string)

	// Profile, if not nil, records the time of every stage. It is for the program's
	// own commands. It may be read while no stream computes.
	Profile *profile.Recorder

	// MaxLive is how many requests are computed together; 0 takes 8.
	MaxLive int

	// MaxQueue is how many more requests may wait; 0 takes 64, -1 is none.
	MaxQueue int

	// Ahead is how many frames a stream may be computed ahead of its reader; 0 takes 64.
	Ahead int
}

// check fills in what was left out and names the first value that cannot be.
func (o *Options) check() error {
	for _, f := range []struct {
		name                      string
		value                     *int
		least, otherwise, largest int
	}{
		{"threads", &o.Threads, 0, 0, maxThreads}, {"predictor threads", &o.PredictorThreads, 0, 0, maxThreads},
		{"live requests", &o.MaxLive, 0, defaultLive, maxLive},
		{"queue", &o.MaxQueue, -1, defaultQueue, maxQueue}, {"frames ahead", &o.Ahead, 0, defaultAhead, maxAhead},
	} {
		if *f.value < f.least || *f.value > f.largest {
			return fmt.Errorf("%s is %d, allowed are %d to %d", f.name, *f.value, f.least, f.largest)
		}
		if *f.value == 0 {
			*f.value = f.otherwise
		}
	}
	return nil
}

// maxThreads bounds Options.Threads.
const maxThreads = 256

// Model is an open checkpoint. Its methods may be called by several goroutines.
type Model struct {
	info     Info
	cfg      config
	defaults defaults
	encoder  *prompt.Encoder
	writing  *writing // nil: any
	prompts  *prompt.Builder
	talker   *talker.Model
	pred     *predictor.Model
	codec    *codec.Decoder
	weights  []io.Closer
	digest   func() (string, error) // computes it once

	encoderSource encoderSource
	loading       sync.Mutex // guards what follows
	encoders      *encoders  // once somebody needed them

	// The engine's goroutine alone computes, with these.
	engine *engine
	team   *team.Team
	work   *nn.Work
	few    *nn.Work // the predictor's, of fewer workers
	ts     *talker.Scratch
	ps     *predictor.Scratch
	cs     *codec.Scratch

	closing sync.Once
	closed  error // of Close
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
	Cloning    bool     // whether Listen can make references: a Base checkpoint with both encoders
	Bytes      int64    // of the tensors in its files
	Precision  Precision
	Threads    int // workers
	MaxFrames  int // the checkpoint's bound of an utterance
}

// Open opens a checkpoint directory in the published Hugging Face layout, or a file
// that Pack wrote. Weights are mapped, not read; on Windows they are read into memory.
// Files of an open model may be replaced by renaming others to their names, but never be
// written in place: weights would change, or the process end. Everything is checked before Open
// returns, but for the encoders' weights, which Listen loads: an error names the file and,
// where there is one, the tensor, what was found and what was wanted.
func Open(path string, opts Options) (*Model, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("model directory %s: %w", path, cause(err))
	}
	what, m := "directory", (*Model)(nil)
	if info.IsDir() {
		m, err = open(&source{fsys: os.DirFS(path), dir: path}, path, opts)
	} else {
		what = "file"
		m, err = openPacked(path, opts)
	}
	if err != nil {
		return nil, fmt.Errorf("model %s %s: %w", what, path, err)
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
// the operating system are mapped, but on Windows, others read into memory.
func OpenFS(fsys fs.FS, name string, opts Options) (*Model, error) {
	return open(&source{fsys: fsys}, name, opts)
}

// source is what a model is opened from.
type source struct {
	fsys         fs.FS
	dir          string           // of the operating system, or empty
	builtin      bool             // the built-in voice, whose encoders are empty
	packed       *packed.File     // or nil
	main, speech *safetensors.Set // the models' weights, and the codec's
}

// digest identifies the checkpoint by its contents.
func (src *source) digest(cache string) (string, error) {
	switch {
	case src.packed != nil:
		return src.packed.Source, nil
	case src.dir != "" && cache != "":
		return packed.Cache{Dir: cache}.Digest(src.dir)
	case src.dir != "":
		return packed.DigestDir(src.dir)
	}
	return packed.Digest(src.fsys, func(name string) (string, error) { return packed.Sum(src.fsys, name) })
}

// remembered computes what f does until it succeeds once. An error, as of a file system that
// is away for a moment, is not the answer for ever.
func remembered(f func() (string, error)) func() (string, error) {
	var mu sync.Mutex
	var done string
	return func() (string, error) {
		mu.Lock()
		defer mu.Unlock()
		if done != "" {
			return done, nil
		}
		s, err := f()
		if err == nil {
			done = s
		}
		return s, err
	}
}

// open opens a model. A packed file is closed with it, also if that fails.
func open(src *source, name string, opts Options) (*Model, error) {
	src.fsys = RegularFiles(src.fsys)
	m := &Model{}
	if src.packed != nil {
		m.weights = append(m.weights, src.packed)
	}
	if err := m.open(src, name, opts); err != nil {
		m.closeWeights()
		return nil, err
	}
	return m, nil
}

func (m *Model) open(src *source, name string, opts Options) error {
	if err := opts.check(); err != nil {
		return err
	}
	if err := cpu.Check(); err != nil {
		return err
	}
	if opts.Threads == 0 {
		opts.Threads, _ = cpu.Threads()
	}
	if err := m.load(src, &opts); err != nil {
		return err
	}
	if err := m.prepare(opts); err != nil {
		m.team.Close()
		return err
	}
	if opts.Profile != nil {
		m.ps.Watch = opts.Profile
	}
	m.encoderSource = m.findEncoders(src)
	m.engine = newEngine(m, opts)
	m.info = m.describe(name, opts.Threads)
	m.digest = remembered(func() (string, error) { return src.digest(opts.Cache) })
	m.info.Precision = opts.Precision
	return nil
}

// load reads configs and tokenizer, takes all weights and packs them as the options
// say, whose precision it completes.
func (m *Model) load(src *source, opts *Options) error {
	cc, err := m.readConfigs(src.fsys)
	if err != nil {
		return err
	}
	if err := m.openWeights(src); err != nil {
		return err
	}
	if opts.Precision, err = src.precision(opts.Precision); err != nil {
		return err
	}
	if opts.Precision.form() != "" && src.dir != "" && opts.Cache != "" {
		return m.takeCached(src, cc, opts)
	}
	return m.take(src.main, src.speech, cc, opts.Precision)
}

// readConfigs reads configs and tokenizer, and returns the codec's config.
func (m *Model) readConfigs(fsys fs.FS) (cc codec.Config, err error) {
	if err := readJSON(fsys, "config.json", &m.cfg); err != nil {
		return cc, err
	}
	if err := m.cfg.validate(); err != nil {
		return cc, fmt.Errorf("config.json: %w", err)
	}
	m.writing = writingOf(m.cfg.Talker.Languages)
	if m.defaults, err = readDefaults(fsys); err != nil {
		return cc, err
	}
	tok, err := tokenizer.Load(fsys)
	if err != nil {
		return cc, err
	}
	if name := tok.Normalization(); name != "" && name != normalizeEnglish {
		return cc, fmt.Errorf("tokenizer_config.json: text_normalization is %q, allowed are %q and none", name, normalizeEnglish)
	}
	if size := tok.Size(); size > m.cfg.Talker.TextVocab {
		return cc, fmt.Errorf("the tokenizer has ids up to %d, text_vocab_size in config.json is %d", size-1, m.cfg.Talker.TextVocab)
	}
	if m.encoder, err = prompt.NewEncoder(tok, m.cfg.Specials); err != nil {
		return cc, err
	}
	if cc, err = readCodecConfig(fsys); err != nil {
		return cc, err
	}
	return cc, m.cfg.checkCodes(cc)
}

// openWeights opens both sets of weights.
func (m *Model) openWeights(src *source) error {
	if src.packed != nil {
		src.main, src.speech = src.packed.Weights("."), src.packed.Weights(codecDir)
		m.info.Bytes = src.packed.Bytes()
		return nil
	}
	for _, s := range []struct {
		to  **safetensors.Set
		dir string
	}{{&src.main, "."}, {&src.speech, codecDir}} {
		set, err := safetensors.OpenModel(src.fsys, s.dir)
		if err != nil {
			return err
		}
		m.weights = append(m.weights, set)
		m.info.Bytes += set.Bytes()
		*s.to = set
	}
	return nil
}

// take takes the weights of all models and packs them.
func (m *Model) take(main, speech *safetensors.Set, cc codec.Config, p Precision) error {
	if err := m.takeWeights(main, speech, cc); err != nil {
		return err
	}
	return m.quantize(p)
}

func (m *Model) takeWeights(main, speech *safetensors.Set, cc codec.Config) (err error) {
	if m.talker, err = talker.Load(main, m.cfg.Talker.Config); err != nil {
		return err
	}
	if m.pred, err = predictor.Load(main, m.cfg.Talker.Predictor, m.cfg.Talker.Hidden); err != nil {
		return err
	}
	m.codec, err = codec.LoadDecoder(speech, cc)
	return err
}

// prepare makes what computing needs: the team, scratch, and the rows that every
// prompt shares.
func (m *Model) prepare(opts Options) error {
	m.team = team.New(opts.Threads)
	m.work, m.few = nn.NewWork(m.team), nn.NewWork(m.team).Limit(opts.PredictorThreads)
	m.ts = m.talker.NewScratch(prefillRows)
	m.ps = m.pred.NewScratch(opts.MaxLive)
	m.cs = m.codec.NewScratch(max(opts.MaxLive, referenceFrames))
	var err error
	m.prompts, err = prompt.NewBuilder(m.work, m.ts, m.talker, m.pred, m.cfg.Specials)
	return err
}

func (m *Model) describe(name string, threads int) Info {
	info := Info{
		Name: name, Kind: m.cfg.Kind, Size: m.cfg.Size, SampleRate: m.codec.SampleRate(), FrameSize: m.codec.Hop(),
		Speakers: prompt.Speakers(&m.cfg.Talker.Config), Languages: prompt.Languages(&m.cfg.Talker.Config),
		Instruct: m.cfg.Kind != Base && !m.cfg.dropsInstruct(), Threads: threads, MaxFrames: m.defaults.maxFrames,
		Cloning: m.encoderSource.missing == nil,
	}
	info.Bytes = m.info.Bytes
	return info
}

// Info describes the model.
func (m *Model) Info() Info { return m.info }

// Load tells how busy the model is.
func (m *Model) Load() Load { return m.engine.load() }

// Drain makes Speak answer ErrDraining from now on. Streams that were admitted go on.
func (m *Model) Drain() { m.engine.drain() }

// Close frees the weights. Streams that are still open fail with ErrClosed.
func (m *Model) Close() error {
	m.closing.Do(func() {
		m.engine.close()
		m.team.Close()
		m.loading.Lock() // the encoders may just be loaded
		defer m.loading.Unlock()
		m.closed = m.closeWeights()
	})
	return m.closed
}

func (m *Model) closeWeights() error {
	var errs []error
	for _, w := range m.weights {
		errs = append(errs, w.Close())
	}
	m.weights = nil
	return errors.Join(errs...)
}
