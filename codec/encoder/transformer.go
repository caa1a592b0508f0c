package encoder

import (
	"fmt"
	"math"

	"github.com/mynah-tts/mynah/internal/kernel"
	"github.com/mynah-tts/mynah/internal/nn"
	"github.com/mynah-tts/mynah/internal/safetensors"
	"github.com/mynah-tts/mynah/internal/team"
)

// transformer is the layers between the convolutions and the quantizer. They differ from those of package nn in their norms
// (LayerNorm), in their feed-forward part (no gate), and in that there is no norm at the end.
type transformer struct {
	hidden              int
	heads, kvHeads, dim int
	ffn                 int
	eps, theta          float64
	layers              []layer
}

// layer is
//
//	h = x + attnScale * o(attention(norm1(x)))
//	y = h + mlpScale * fc2(gelu(fc1(norm2(h))))
type layer struct {
	norm1, norm2        layerNorm
	q, k, v, o          nn.Linear // hidden to heads*dim, kv heads*dim (twice); heads*dim to hidden
	fc1, fc2            nn.Linear // hidden to ffn, and back
	attnScale, mlpScale []float32 // [hidden]
}

// load takes encoder.encoder_transformer.layers.N.
func (t *transformer) load(w *safetensors.Set, c *EncoderConfig) error {
	t.hidden, t.heads, t.kvHeads, t.dim, t.ffn = c.Hidden, c.Heads, c.KVHeads, c.HeadDim, c.FFN
	t.eps, t.theta = c.Eps, c.RopeTheta
	name := func(n int) string { return fmt.Sprintf("encoder.encoder_transformer.layers.%d.", n) }
	for n := range c.Layers {
		// One by one: the number of layers is only what the config says until the tensors are found.
		t.layers = append(t.layers, layer{})
		if err := t.layers[n].load(w, name(n), t); err != nil {
			return err
		}
	}
	beyond := name(c.Layers) + "input_layernorm.weight"
	if info, ok := w.Info(beyond); ok {
		return &safetensors.TensorError{
			File: info.File, Tensor: beyond, Problem: "more layers than num_hidden_layers",
			Found: fmt.Sprintf("layer %d", c.Layers), Wanted: fmt.Sprintf("layers 0 to %d", c.Layers-1),
		}
	}
	return nil
}

func (l *layer) load(w *safetensors.Set, prefix string, t *transformer) (err error) {
	for _, m := range []struct {
		to      *nn.Linear
		name    string
		in, out int
	}{
		{&l.q, "self_attn.q_proj", t.hidden, t.heads * t.dim}, {&l.k, "self_attn.k_proj", t.hidden, t.kvHeads * t.dim},
		{&l.v, "self_attn.v_proj", t.hidden, t.kvHeads * t.dim}, {&l.o, "self_attn.o_proj", t.heads * t.dim, t.hidden},
		{&l.fc1, "mlp.fc1", t.hidden, t.ffn}, {&l.fc2, "mlp.fc2", t.ffn, t.hidden},
	} {
		if *m.to, err = nn.LoadLinear(w, prefix+m.name, m.in, m.out, false); err != nil {
			return err
		}
	}
	for _, v := range []struct {
		to   *[]float32
		name string
	}{
		{&l.norm1.weight, "input_layernorm.weight"}, {&l.norm1.bias, "input_layernorm.bias"},
		{&l.norm2.weight, "post_attention_layernorm.weight"}, {&l.norm2.bias, "post_attention_layernorm.bias"},
		{&l.attnScale, "self_attn_layer_scale.scale"}, {&l.mlpScale, "mlp_layer_scale.scale"},
	} {
		if *v.to, err = w.Widen(prefix+v.name, t.hidden); err != nil {
			return err
		}
	}
	l.norm1.eps, l.norm2.eps = t.eps, t.eps
	return nil
}

// sliceRows is how many rows go through a layer at once: some milliseconds of work, whose activations stay in the caches.
const sliceRows = 96

// rowState is what the transformer needs for one clip of so many rows.
type rowState struct {
	x            []float32   // [rows, hidden], the residual stream
	keys, values []float32   // [kv heads, rows, dim] of the layer that is worked on
	cos, sin     []float32   // [rows, dim/2]
	h            []float32   // [slice, hidden]
	q, attn      []float32   // [slice, heads*dim]
	k, v         []float32   // [slice, kv heads*dim]
	inner        []float32   // [slice, ffn]
	scores       [][]float32 // of each worker: [queryTile, rows]
	rows         int

	norm   normJob
	store  storeJob
	attend attendJob
	gelu   geluJob
}

// newState takes over the rows x [rows, hidden] of a clip.
func (t *transformer) newState(x []float32) *rowState {
	rows := len(x) / t.hidden
	f := func(n, width int) []float32 { return make([]float32, n*width) }
	n := min(rows, sliceRows)
	s := &rowState{
		x: x, rows: rows, keys: f(rows, t.kvHeads*t.dim), values: f(rows, t.kvHeads*t.dim), cos: f(rows, t.dim/2), sin: f(rows, t.dim/2),
		h: f(n, t.hidden), q: f(n, t.heads*t.dim), attn: f(n, t.heads*t.dim), k: f(n, t.kvHeads*t.dim), v: f(n, t.kvHeads*t.dim),
		inner: f(n, t.ffn),
	}
	half := t.dim / 2
	for i := range half {
		inv := math.Pow(t.theta, -2*float64(i)/float64(t.dim))
		for r := range rows {
			sin, cos := math.Sincos(float64(r) * inv)
			s.cos[r*half+i], s.sin[r*half+i] = float32(cos), float32(sin)
		}
	}
	return s
}

// forward runs rows lo to hi-1, at most sliceRows, through layer n. The rows before must have gone through it already.
func (t *transformer) forward(wk *nn.Work, s *rowState, n, lo, hi int) {
	l, rows := &t.layers[n], hi-lo
	x := s.x[lo*t.hidden : hi*t.hidden]
	h := s.h[:rows*t.hidden]
	s.scores = perWorker(s.scores, wk, queryTile*s.rows)
	s.norm = normJob{norm: &l.norm1, dst: h, x: x}
	wk.Run(&s.norm, len(x)*normMACs)
	l.q.Forward(wk, s.q, h, rows)
	l.k.Forward(wk, s.k, h, rows)
	l.v.Forward(wk, s.v, h, rows)
	s.store = storeJob{t: t, s: s, lo: lo, rows: rows}
	wk.Run(&s.store, 8*rows*t.kvHeads*t.dim)
	s.attend = attendJob{t: t, s: s, lo: lo, rows: rows}
	wk.Run(&s.attend, 2*rows*hi*t.heads*t.dim)
	l.o.ForwardAdd(wk, x, h, s.attn, rows, l.attnScale)

	s.norm = normJob{norm: &l.norm2, dst: h, x: x}
	wk.Run(&s.norm, len(x)*normMACs)
	l.fc1.Forward(wk, s.inner, h, rows)
	s.gelu = geluJob{x: s.inner[:rows*t.ffn]}
	wk.Run(&s.gelu, rows*t.ffn*geluMACs)
	l.fc2.ForwardAdd(wk, x, h, s.inner, rows, l.mlpScale)
}

// layerNorm is (x - mean) / sqrt(variance + eps) * weight + bias over the values of a row.
type layerNorm struct {
	weight, bias []float32 // [width]
	eps          float64
}

// apply normalises one row into dst. Mean and variance are summed in float64, in order.
func (l *layerNorm) apply(dst, x []float32) {
	sum := 0.0
	for _, v := range x {
		sum += float64(v)
	}
	mean := sum / float64(len(x))
	sum = 0
	for _, v := range x {
		d := float64(v) - mean
		sum += d * d
	}
	scale := 1 / math.Sqrt(sum/float64(len(x))+l.eps)
	weight, bias := l.weight[:len(x)], l.bias[:len(x)]
	for i, v := range x {
		dst[i] = float32((float64(v)-mean)*scale)*weight[i] + bias[i]
	}
}

// normMACs and geluMACs are the costs of a value in multiply-adds, roughly.
const (
	normMACs = 32
	geluMACs = 16
)

// normJob normalises rows.
type normJob struct {
	norm   *layerNorm
	dst, x []float32 // [rows, width]
}

func (j *normJob) Part(worker, workers int) {
	width := len(j.norm.weight)
	lo, hi := team.Split(len(j.x)/width, 1, worker, workers)
	for r := lo; r < hi; r++ {
		j.norm.apply(j.dst[r*width:(r+1)*width], j.x[r*width:(r+1)*width])
	}
}

// geluJob applies GELU to a slice.
type geluJob struct{ x []float32 }

func (j *geluJob) Part(worker, workers int) {
	lo, hi := team.Split(len(j.x), kernel.PanelWidth, worker, workers)
	kernel.GELUF32(j.x[lo:hi])
}
