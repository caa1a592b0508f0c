package synth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/mynah-tts/mynah/codec"
	"github.com/mynah-tts/mynah/internal/kernel"
	"github.com/mynah-tts/mynah/internal/nn"
	"github.com/mynah-tts/mynah/internal/packed"
	"github.com/mynah-tts/mynah/internal/profile"
	"github.com/mynah-tts/mynah/internal/safetensors"
)

// openPacked opens a file that Pack wrote.
func openPacked(path string, opts Options) (*Model, error) {
	f, err := openWhole(path)
	if err != nil {
		return nil, err
	}
	return open(&source{fsys: f.FS(), packed: f}, path, opts)
}

// Packing tells what Pack wrote.
type Packing struct {
	Precision Precision
	Source    string // digest of the checkpoint: SHA-256 over the contents of its files
	Bytes     int64  // size of the file
	Talker    PackingError
	Predictor PackingError
	Parity    *profile.Parity // with float32, in a short run; nil if there was nothing to compare
}

// PackingError is the squared error of packed matrices relative to the squared
// weights, and what it would be if codes spanned minimum and maximum of each group.
type PackingError struct{ Stored, Plain float64 }

// Pack writes a checkpoint directory as one packed file, which Open takes in the place
// of the directory. The precision's empty fields are those of DefaultPrecision,
// whatever the checkpoint's size. When it fails or the context ends, nothing is left behind,
// and a file that was there before stays.
func Pack(ctx context.Context, dir, file string, p Precision) (*Packing, error) {
	p.Talker = cmp.Or(p.Talker, DefaultPrecision.Talker)
	p.Predictor = cmp.Or(p.Predictor, DefaultPrecision.Predictor)
	p.Codec = cmp.Or(p.Codec, DefaultPrecision.Codec)
	if err := replaceable(file); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		err = errors.New("is a file, wanted a checkpoint directory")
	}
	if err != nil {
		return nil, fmt.Errorf("model directory %s: %w", dir, cause(err))
	}
	src, m := &source{fsys: RegularFiles(os.DirFS(dir)), dir: dir}, &Model{}
	defer m.closeWeights()
	h, err := m.pack(ctx, src, p)
	var parity *profile.Parity
	if err == nil && p.form() != "" {
		parity, err = m.measureParity(ctx, dir, p)
		h.Parity = parityHeader(parity)
	}
	if err != nil {
		return nil, fmt.Errorf("model directory %s: %w", dir, err)
	}
	// It is read before it has its name: a file that came onto the disk wrong replaces none.
	check := func(aside string) error {
		err := VerifyPacked(ctx, aside)
		if err == nil || ctx.Err() != nil {
			return err
		}
		return fmt.Errorf("what was written %w", err)
	}
	if err := packed.Write(ctx, file, h, src.fsys, append(m.matrices(), m.otherTensors(src)...), check); err != nil {
		return nil, fmt.Errorf("%s: cannot write: %w", file, cause(err))
	}
	if info, err = os.Stat(file); err != nil {
		return nil, err
	}
	return &Packing{
		Precision: p, Source: h.Source, Bytes: info.Size(),
		Talker: PackingError(h.TalkerError), Predictor: PackingError(h.PredictorError), Parity: parity,
	}, nil
}

// VerifyPacked reads all of a file that Pack wrote and compares it with its checksums.
// Open leaves out what would take it long, embeddings for the most part.
func VerifyPacked(ctx context.Context, file string) error {
	f, err := packed.Open(file, nn.PackingVersion)
	if err != nil {
		return err
	}
	defer f.Close()
	return cmp.Or(ctx.Err(), f.Verify(ctx))
}

// replaceable refuses to write over anything but a packed file: the destination might
// be one of the checkpoint's own.
func replaceable(file string) error {
	info, err := os.Stat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return cause(err)
	case info.IsDir():
		return errors.New("is a directory, wanted the name of a file")
	case !info.Mode().IsRegular() || !packed.Is(file):
		return errors.New("exists and is no packed file of Mynah, so it is not written over")
	}
	// One that is read-only is refused when it is to be replaced: say so before any computing.
	old, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("cannot write: %w", cause(err))
	}
	return old.Close()
}

// pack loads a checkpoint, packs its matrices, and measures what that changes.
func (m *Model) pack(ctx context.Context, src *source, p Precision) (h packed.Header, err error) {
	var cc codec.Config
	if cc, err = m.readConfigs(src.fsys); err != nil {
		return h, err
	}
	if err = m.openWeights(src); err != nil {
		return h, err
	}
	if p, err = src.precision(p); err != nil {
		return h, err
	}
	if err = m.takeWeights(src.main, src.speech, cc); err != nil {
		return h, err
	}
	talker, predictor := copies(m.talker.Linears()), copies(m.pred.Linears())
	if err = cmp.Or(m.quantize(p), ctx.Err()); err != nil {
		return h, err
	}
	h = p.header()
	h.Holds = packed.WholeModel
	h.TalkerError, h.PredictorError = packingError(talker, m.talker.Linears()), packingError(predictor, m.pred.Linears())
	if err = ctx.Err(); err != nil {
		return h, err
	}
	h.Source, err = packed.DigestDir(src.dir)
	return h, err
}

// header says of a packed file how it was packed.
func (p Precision) header() packed.Header {
	return packed.Header{
		Packing: nn.PackingVersion, Group: nn.Int4Group, Talker: p.Talker, Predictor: p.Predictor, Codec: p.Codec,
	}
}

// copies returns maps as they are now.
func copies(maps []*nn.Linear) []nn.Linear {
	now := make([]nn.Linear, len(maps))
	for i, l := range maps {
		now[i] = *l
	}
	return now
}

// packingError compares packed maps with what they were.
func packingError(before []nn.Linear, after []*nn.Linear) packed.Error {
	var sum nn.PackingError
	for i, l := range after {
		if l.Packed() {
			sum.Add(l.ErrorOf(&before[i]))
		}
	}
	if sum.Power == 0 {
		return packed.Error{}
	}
	return packed.Error{Stored: sum.Stored / sum.Power, Plain: sum.Plain / sum.Power}
}

// packable returns all maps of talker and predictor that may be packed.
func (m *Model) packable() []*nn.Linear { return append(m.talker.Linears(), m.pred.Linears()...) }

// matrices returns the packed matrices as tensors of a packed file.
func (m *Model) matrices() []safetensors.Tensor {
	var tensors []safetensors.Tensor
	for _, l := range m.packable() {
		for _, t := range l.Export() {
			t.Name = packed.WeightsName(".", t.Name)
			tensors = append(tensors, t)
		}
	}
	codec, _ := m.codec.Export()
	for _, t := range codec {
		t.Name = packed.WeightsName(codecDir, t.Name)
		tensors = append(tensors, t)
	}
	return tensors
}

// otherTensors returns the checkpoint's tensors that no packed matrix stands for.
func (m *Model) otherTensors(src *source) []safetensors.Tensor {
	left := map[string]bool{}
	for _, l := range m.packable() {
		if l.Packed() {
			left[packed.WeightsName(".", l.Name()+".weight")] = true
		}
	}
	_, instead := m.codec.Export()
	for _, name := range instead {
		left[packed.WeightsName(codecDir, name)] = true
	}
	var tensors []safetensors.Tensor
	for dir, set := range map[string]*safetensors.Set{".": src.main, codecDir: src.speech} {
		for _, name := range set.Names() {
			info, _ := set.Info(name)
			if in := packed.WeightsName(dir, name); !left[in] {
				tensors = append(tensors, safetensors.Tensor{Name: in, DType: info.DType, Shape: info.Shape, Data: safetensors.Bytes(set.Raw(name))})
			}
		}
	}
	return tensors
}

// takeCached takes packed matrices from the cache, or packs them and keeps them there.
// What goes wrong with the cache is a warning.
func (m *Model) takeCached(src *source, cc codec.Config, opts *Options) error {
	warn := func(format string, args ...any) {
		if opts.Warn != nil {
			opts.Warn(fmt.Sprintf(format, args...))
		}
	}
	cache := packed.Cache{Dir: opts.Cache}
	digest, err := cache.Digest(src.dir)
	if err != nil {
		warn("the cache of packed matrices is not used: %v", err)
		return m.take(src.main, src.speech, cc, opts.Precision)
	}
	// Single codes of int4 can depend on the instruction level that they were chosen at.
	path := cache.Path(digest, opts.Precision.form()+"-"+kernel.Level().String(), nn.PackingVersion)
	f, err := cache.Open(path, digest, nn.PackingVersion)
	if err == nil {
		if err = m.take(src.main.With(f.Weights(".")), src.speech.With(f.Weights(codecDir)), cc, opts.Precision); err == nil {
			m.weights = append(m.weights, f)
			m.info.Bytes += f.Bytes()
			return nil
		}
		_ = f.Close() // what is wrong with the file is the news
	}
	if _, missing := os.Stat(path); missing == nil {
		warn("packed matrices in the cache are made anew: %s: %v", path, cause(err))
	}
	if err := m.take(src.main, src.speech, cc, opts.Precision); err != nil {
		return err
	}
	h := opts.Precision.header()
	h.Source = digest
	if err := cache.Write(path, h, m.matrices()); err != nil {
		warn("packed matrices are not kept for the next time: %s: %v", opts.Cache, cause(err))
	}
	return nil
}
