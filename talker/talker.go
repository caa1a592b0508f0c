// Package talker is the language model that turns prompt rows and the last
// frame's embedding into logits for code 0 of the next frame.
//
// It is a stack of Qwen3 decoder layers over rows of the talker's width. A row is
// the sum of what the model hears: a projected text embedding and code embeddings
// (package talker/prompt assembles them). After every row the hidden state, final
// norm applied, goes two ways: through the head to the logits of code 0, and to
// the code predictor as the first row of its frame.
package talker

import (
	"fmt"

	"github.com/mynah-tts/mynah/internal/kernel"
	"github.com/mynah-tts/mynah/internal/nn"
	"github.com/mynah-tts/mynah/internal/safetensors"
)

// Model is the talker's weights: read-only, shared by all requests.
type Model struct {
	Config
	stack    *nn.Stack
	text     nn.Embedding // [text vocab, text hidden]
	fc1, fc2 nn.Linear    // text hidden to text hidden, to hidden
	codec    nn.Embedding // [vocab, hidden]
	head     nn.Linear    // hidden to vocab
}

// Load checks and takes the talker's tensors from a checkpoint. cfg must have
// passed Validate.
func Load(w *safetensors.Set, cfg Config) (*Model, error) {
	m := &Model{Config: cfg}
	var err error
	if m.stack, err = nn.LoadStack(w, "talker.model.", cfg.Stack()); err != nil {
		return nil, err
	}
	if m.text, err = nn.LoadEmbedding(w, "talker.model.text_embedding.weight", cfg.TextVocab, cfg.TextHidden); err != nil {
		return nil, err
	}
	if m.fc1, err = nn.LoadLinear(w, "talker.text_projection.linear_fc1", cfg.TextHidden, cfg.TextHidden, true); err != nil {
		return nil, err
	}
	if m.fc2, err = nn.LoadLinear(w, "talker.text_projection.linear_fc2", cfg.TextHidden, cfg.Hidden, true); err != nil {
		return nil, err
	}
	if m.codec, err = nn.LoadEmbedding(w, "talker.model.codec_embedding.weight", cfg.Vocab, cfg.Hidden); err != nil {
		return nil, err
	}
	m.head, err = nn.LoadLinear(w, "talker.codec_head", cfg.Hidden, cfg.Vocab, false)
	return m, err
}

// Quantize packs the matrices of the layers. Embeddings, norms, text projection and
// head stay as the checkpoint has them. c, which may be nil, is what to choose int4
// codes by; its rows become hidden states, final norm applied.
func (m *Model) Quantize(p nn.Precision, c *nn.Calibration) error {
	if err := m.stack.Quantize(p, c); err != nil || c == nil {
		return err
	}
	m.stack.Norm(c.Rows, c.Rows, len(c.Rows)/m.Hidden)
	return nil
}

// Linears returns the matrices that Quantize packs.
func (m *Model) Linears() []*nn.Linear { return m.stack.Linears() }

// Text computes dst [len(ids), hidden], the projected embeddings of text tokens:
// fc2(silu(fc1(embedding))).
func (m *Model) Text(wk *nn.Work, sc *Scratch, dst []float32, ids []int) error {
	for len(ids) > 0 {
		n := min(len(ids), sc.stack.MaxRows())
		x, h := sc.text[:n*m.TextHidden], sc.projected[:n*m.TextHidden]
		for i, id := range ids[:n] {
			if id < 0 || id >= m.TextVocab {
				return fmt.Errorf("talker: text token %d, allowed are 0 to %d", id, m.TextVocab-1)
			}
			m.text.Row(x[i*m.TextHidden:], id)
		}
		m.fc1.Forward(wk, h, x, n)
		kernel.SiLUF32(h)
		m.fc2.Forward(wk, dst[:n*m.Hidden], h, n)
		ids, dst = ids[n:], dst[n*m.Hidden:]
	}
	return nil
}

// Code copies the embedding of a code-0 id or control id into dst [hidden].
func (m *Model) Code(dst []float32, id int) { m.codec.Row(dst, id) }

// AddCode adds the embedding of a code-0 id to dst [hidden].
func (m *Model) AddCode(dst []float32, id int) { m.codec.Add(dst, id) }

// State is one sequence: its KV cache and the outputs of its last row.
type State struct {
	Hidden []float32 // [hidden], after the final norm
	Logits []float32 // [vocab], of code 0 of the next frame
	cache  *nn.Cache
}

// NewState returns the state of a sequence of at most so many positions, prompt
// rows and frames together.
func (m *Model) NewState(positions int) *State {
	return &State{
		Hidden: make([]float32, m.Hidden), Logits: make([]float32, m.Vocab), cache: m.stack.NewCache(positions),
	}
}

// Reset makes the state that of an empty sequence.
func (st *State) Reset() { st.cache.Reset() }

// Reuse makes the state that of another sequence, of up to so many positions. It keeps
// the memory of the one before.
func (st *State) Reuse(positions int) { st.cache.Reuse(positions) }

// Bytes returns the memory of the KV cache.
func (st *State) Bytes() int64 { return st.cache.Bytes() }

// Prefix copies what the state has heard so far.
func (st *State) Prefix() *nn.Prefix { return st.cache.Prefix() }

// PrefixBytes returns the memory that Prefix would take.
func (st *State) PrefixBytes() int64 { return st.cache.PrefixBytes() }

// Load makes the state that of a sequence which begins with a prefix. Hidden and
// Logits are void until the next row.
func (st *State) Load(p *nn.Prefix) { st.cache.Load(p) }

// Positions returns the length of the sequence so far.
func (st *State) Positions() int { return st.cache.Len() }

// Limit returns how many positions the state can come to hold.
func (st *State) Limit() int { return st.cache.Limit() }

// Scratch holds the activations of a computing goroutine.
type Scratch struct {
	// Tap, if set, is shown stages of the computation: "layer_N", "norm".
	Tap func(stage string, x []float32)

	stack           *nn.Scratch
	x               []float32 // [rows, hidden]
	text, projected []float32 // [rows, text hidden]
	logits          []float32 // [rows, vocab]
	rows            []nn.Row
}

// NewScratch returns scratch for slices of maxRows prompt rows, or as many
// requests stepped together.
func (m *Model) NewScratch(maxRows int) *Scratch {
	f := func(width int) []float32 { return make([]float32, maxRows*width) }
	return &Scratch{
		stack: m.stack.NewScratch(maxRows), x: f(m.Hidden), text: f(m.TextHidden), projected: f(m.TextHidden),
		logits: f(m.Vocab), rows: make([]nn.Row, maxRows),
	}
}

// Extend appends rows [n, hidden] to one sequence, in slices of the scratch's
// size, without computing logits; rows is left as it was. cancelled, if not nil,
// is asked between slices.
func (m *Model) Extend(wk *nn.Work, sc *Scratch, st *State, rows []float32, cancelled func() bool) {
	defer clear(sc.rows) // the scratch outlives the sequence, and must not keep its cache
	size := sc.stack.MaxRows() * m.Hidden
	for len(rows) > 0 {
		if cancelled != nil && cancelled() {
			return
		}
		part := rows[:min(size, len(rows))]
		rows = rows[len(part):]
		n := len(part) / m.Hidden
		x := sc.x[:len(part)]
		copy(x, part)
		for i := range n {
			sc.rows[i] = nn.Row{Cache: st.cache}
		}
		m.stack.Forward(wk, sc.stack, x, sc.rows[:n], sc.layerTap())
		sc.showNorm(m, x, n)
		m.stack.Norm(st.Hidden, x[(n-1)*m.Hidden:], 1)
	}
}

// Logits computes the logits of a sequence's last row.
func (m *Model) Logits(wk *nn.Work, st *State) { m.head.Forward(wk, st.Logits, st.Hidden, 1) }

// Step appends one row to each of several sequences, x [len(states), hidden], and
// computes their hidden states and logits. x is overwritten.
func (m *Model) Step(wk *nn.Work, sc *Scratch, states []*State, x []float32) {
	n := len(states)
	defer clear(sc.rows[:n]) // as in Extend
	for i, st := range states {
		sc.rows[i] = nn.Row{Cache: st.cache}
	}
	m.stack.Forward(wk, sc.stack, x[:n*m.Hidden], sc.rows[:n], sc.layerTap())
	m.stack.Norm(x, x, n)
	if sc.Tap != nil {
		sc.Tap("norm", x[:n*m.Hidden])
	}
	m.head.Forward(wk, sc.logits, x, n)
	for i, st := range states {
		copy(st.Hidden, x[i*m.Hidden:(i+1)*m.Hidden])
		copy(st.Logits, sc.logits[i*m.Vocab:(i+1)*m.Vocab])
	}
}

// layerTap adapts Tap to the stack's hook; nil stays nil, so that an unobserved
// step makes no closure.
func (sc *Scratch) layerTap() func(int, []float32) {
	if sc.Tap == nil {
		return nil
	}
	return func(layer int, x []float32) { sc.Tap(fmt.Sprintf("layer_%d", layer), x) }
}

// showNorm shows the final norm of all rows of a slice to Tap.
func (sc *Scratch) showNorm(m *Model, x []float32, n int) {
	if sc.Tap == nil {
		return
	}
	all := make([]float32, n*m.Hidden)
	m.stack.Norm(all, x, n)
	sc.Tap("norm", all)
}
