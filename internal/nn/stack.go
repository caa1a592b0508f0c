package nn

import (
	"fmt"

	"github.com/mynah-tts/mynah/internal/kernel"
	"github.com/mynah-tts/mynah/internal/safetensors"
)

// StackConfig describes a stack of decoder layers. Heads*HeadDim need not equal
// Hidden.
type StackConfig struct {
	Layers, Hidden          int
	Heads, KVHeads, HeadDim int
	FFN                     int
	Eps                     float32 // of every RMSNorm
	Theta                   float64 // base of the rotary angles
	Window                  int     // keys that a query sees, itself included; 0 means all
	QKNorm                  bool    // RMSNorm over the head dimension of q and k
	LayerScale              bool    // a factor per channel on both branches
}

// Validate names the first size that cannot be.
func (c StackConfig) Validate() error {
	for _, f := range []struct {
		name  string
		value int
	}{
		{"num_hidden_layers", c.Layers}, {"hidden_size", c.Hidden}, {"num_attention_heads", c.Heads},
		{"num_key_value_heads", c.KVHeads}, {"head_dim", c.HeadDim}, {"intermediate_size", c.FFN},
	} {
		if f.value < 1 || f.value > maxSize {
			return fmt.Errorf("%s is %d, allowed are 1 to %d", f.name, f.value, maxSize)
		}
	}
	switch {
	case c.Heads%c.KVHeads != 0:
		return fmt.Errorf("num_attention_heads (%d) must be a multiple of num_key_value_heads (%d)", c.Heads, c.KVHeads)
	case c.HeadDim%2 != 0:
		return fmt.Errorf("head_dim is %d, must be even", c.HeadDim)
	case !(c.Eps > 0):
		return fmt.Errorf("rms_norm_eps is %g, must be positive", c.Eps)
	case !(c.Theta > 1):
		return fmt.Errorf("rope_theta is %g, must be above 1", c.Theta)
	case c.Window < 0:
		return fmt.Errorf("sliding_window is %d, must not be negative", c.Window)
	}
	return nil
}

// maxSize bounds every size of a config, so that products stay far from overflow.
const maxSize = 1 << 20

// Layer is one decoder layer:
//
//	h = x + o(attention(norm(x)))
//	y = h + down(silu(gate(norm(h))) * up(norm(h)))
type Layer struct {
	InputNorm, PostNorm []float32 // [hidden]
	Q, K, V, O          Linear    // hidden to heads*dim, kv heads*dim (twice); heads*dim to hidden
	QNorm, KNorm        []float32 // [head dim], or nil
	Gate, Up, Down      Linear    // hidden to ffn (twice); ffn to hidden
	AttnScale, MLPScale []float32 // [hidden], or nil
}

// Stack is a run of decoder layers with a final norm.
type Stack struct {
	StackConfig
	layers []Layer
	norm   []float32 // [hidden]
	rope   *rope
}

// LoadStack takes prefix+"layers.N.*" and prefix+"norm.weight" from a checkpoint.
func LoadStack(w *safetensors.Set, prefix string, cfg StackConfig) (*Stack, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	s := &Stack{StackConfig: cfg, rope: newRope(cfg.HeadDim, cfg.Theta)}
	for i := range cfg.Layers {
		// One by one: the number of layers is only what the config says until the tensors are found.
		s.layers = append(s.layers, Layer{})
		if err := s.layers[i].load(w, fmt.Sprintf("%slayers.%d.", prefix, i), cfg); err != nil {
			return nil, err
		}
	}
	beyond := fmt.Sprintf("%slayers.%d.input_layernorm.weight", prefix, cfg.Layers)
	if info, ok := w.Info(beyond); ok {
		return nil, &safetensors.TensorError{File: info.File, Tensor: beyond, Problem: "more layers than num_hidden_layers", Found: fmt.Sprintf("layer %d", cfg.Layers), Wanted: fmt.Sprintf("layers 0 to %d", cfg.Layers-1)}
	}
	var err error
	s.norm, err = loadNorm(w, prefix+"norm.weight", cfg.Hidden)
	return s, err
}

// loadNorm takes the weights of a norm. A norm of zeros silences its layer: it comes
// from a file whose data never arrived, not from training.
func loadNorm(w *safetensors.Set, name string, size int) ([]float32, error) {
	weights, err := w.Widen(name, size)
	if err != nil {
		return nil, err
	}
	for _, v := range weights {
		if v != 0 {
			return weights, nil
		}
	}
	info, _ := w.Info(name)
	return nil, &safetensors.TensorError{File: info.File, Tensor: name, Problem: "values", Found: "zeros only", Wanted: "trained weights"}
}

func (l *Layer) load(w *safetensors.Set, prefix string, c StackConfig) error {
	q, kv := c.Heads*c.HeadDim, c.KVHeads*c.HeadDim
	for _, m := range []struct {
		to      *Linear
		name    string
		in, out int
	}{
		{&l.Q, "self_attn.q_proj", c.Hidden, q}, {&l.K, "self_attn.k_proj", c.Hidden, kv},
		{&l.V, "self_attn.v_proj", c.Hidden, kv}, {&l.O, "self_attn.o_proj", q, c.Hidden},
		{&l.Gate, "mlp.gate_proj", c.Hidden, c.FFN}, {&l.Up, "mlp.up_proj", c.Hidden, c.FFN},
		{&l.Down, "mlp.down_proj", c.FFN, c.Hidden},
	} {
		var err error
		if *m.to, err = LoadLinear(w, prefix+m.name, m.in, m.out, false); err != nil {
			return err
		}
	}
	for _, v := range []struct {
		to   *[]float32
		name string
		size int
		want bool
	}{
		{&l.InputNorm, "input_layernorm.weight", c.Hidden, true},
		{&l.PostNorm, "post_attention_layernorm.weight", c.Hidden, true},
		{&l.QNorm, "self_attn.q_norm.weight", c.HeadDim, c.QKNorm},
		{&l.KNorm, "self_attn.k_norm.weight", c.HeadDim, c.QKNorm},
		{&l.AttnScale, "self_attn_layer_scale.scale", c.Hidden, c.LayerScale},
		{&l.MLPScale, "mlp_layer_scale.scale", c.Hidden, c.LayerScale},
	} {
		if !v.want {
			continue
		}
		var err error
		if *v.to, err = loadNorm(w, prefix+v.name, v.size); err != nil {
			return err
		}
	}
	for _, name := range []string{"q_proj", "k_proj", "v_proj", "o_proj"} {
		bias := prefix + "self_attn." + name + ".bias"
		if info, ok := w.Info(bias); ok {
			return &safetensors.TensorError{File: info.File, Tensor: bias, Problem: "tensor", Found: "a bias", Wanted: "none: attention has no biases"}
		}
	}
	return nil
}

// Row says which sequence a row belongs to. Rows of one sequence stand together,
// in the order of their positions.
type Row struct{ Cache *Cache }

// Scratch holds the activations of one Forward.
type Scratch struct {
	maxRows int
	norm    []float32   // [rows, hidden]
	q, attn []float32   // [rows, heads*dim]
	k, v    []float32   // [rows, kv heads*dim]
	gate    []float32   // [rows, ffn]
	up      []float32   // [rows, ffn]
	out     []float32   // [rows, hidden]
	pos     []int       // [rows]
	scores  [][]float32 // [workers][heads per kv head * positions]
}

// NewScratch returns scratch for up to maxRows rows in one Forward.
func (s *Stack) NewScratch(maxRows int) *Scratch {
	f := func(width int) []float32 { return make([]float32, maxRows*width) }
	return &Scratch{
		maxRows: maxRows, norm: f(s.Hidden), q: f(s.Heads * s.HeadDim), attn: f(s.Heads * s.HeadDim),
		k: f(s.KVHeads * s.HeadDim), v: f(s.KVHeads * s.HeadDim), gate: f(s.FFN), up: f(s.FFN), out: f(s.Hidden),
		pos: make([]int, maxRows),
	}
}

// MaxRows returns how many rows one Forward may have.
func (sc *Scratch) MaxRows() int { return sc.maxRows }

// reserve makes room for the scores of every worker. It allocates only when a
// cache of a larger capacity than any before appears.
func (sc *Scratch) reserve(workers, size int) {
	for len(sc.scores) < workers {
		sc.scores = append(sc.scores, nil)
	}
	for i := range sc.scores {
		if len(sc.scores[i]) < size {
			sc.scores[i] = make([]float32, size)
		}
	}
}

// Forward runs x [rows, hidden] through all layers in place, up to the final
// norm, and appends the rows' keys and values to their caches. tap, if not nil, is
// shown the output of each layer.
func (s *Stack) Forward(wk *Work, sc *Scratch, x []float32, rows []Row, tap func(layer int, x []float32)) {
	n := len(rows)
	if n > sc.maxRows || len(x) != n*s.Hidden {
		panic(fmt.Sprintf("nn: %d rows, %d values in a scratch of %d rows of %d", n, len(x), sc.maxRows, s.Hidden))
	}
	sc.place(s, wk.Workers(), rows)
	for i := range s.layers {
		s.layers[i].forward(wk, sc, s, i, x, rows)
		if tap != nil {
			tap(i, x)
		}
	}
}

// place gives each row its position and makes room for it in its cache.
func (sc *Scratch) place(s *Stack, workers int, rows []Row) {
	largest := 0
	for from := 0; from < len(rows); {
		to := from + 1
		for to < len(rows) && rows[to].Cache == rows[from].Cache {
			to++
		}
		c := rows[from].Cache
		pos := c.extend(to - from)
		for ; from < to; from++ {
			sc.pos[from] = pos
			pos++
		}
		largest = max(largest, c.capacity)
	}
	sc.reserve(workers, s.Heads/s.KVHeads*largest)
}

func (l *Layer) forward(wk *Work, sc *Scratch, s *Stack, layer int, x []float32, rows []Row) {
	n := len(rows)
	h := s.Hidden
	normRows(sc.norm, x, l.InputNorm, s.Eps, n)
	wk.lin = linearJob{in: wk.in.set(sc.norm, n, h).prepare(&l.Q).prepare(&l.K).prepare(&l.V), n: 3}
	wk.lin.to = [3]linearOut{{&l.Q, sc.q}, {&l.K, sc.k}, {&l.V, sc.v}}
	wk.Run(&wk.lin, n*h*(l.Q.Out+l.K.Out+l.V.Out))

	wk.attn = attentionJob{stack: s, l: l, sc: sc, layer: layer, rows: rows}
	wk.Run(&wk.attn, wk.attn.macs())
	l.O.ForwardAdd(wk, x, sc.out, sc.attn, n, l.AttnScale)

	normRows(sc.norm, x, l.PostNorm, s.Eps, n)
	wk.mlp = mlpJob{in: wk.in.set(sc.norm, n, h).prepare(&l.Gate).prepare(&l.Up), gate: sc.gate, up: sc.up, lg: &l.Gate, lu: &l.Up}
	wk.Run(&wk.mlp, 2*n*h*s.FFN)
	l.Down.ForwardAdd(wk, x, sc.out, sc.gate, n, l.MLPScale)
}

// Norm applies the final RMSNorm to rows of x.
func (s *Stack) Norm(dst, x []float32, rows int) { normRows(dst, x, s.norm, s.Eps, rows) }

func normRows(dst, x, w []float32, eps float32, rows int) {
	n := len(w)
	for r := range rows {
		kernel.RMSNormF32(dst[r*n:(r+1)*n], x[r*n:(r+1)*n], w, eps)
	}
}
