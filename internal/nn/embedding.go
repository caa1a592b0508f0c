package nn

import (
	"math"

	"github.com/mynah-tts/mynah/internal/kernel"
	"github.com/mynah-tts/mynah/internal/safetensors"
)

// Embedding is a table of vectors, a view of the checkpoint.
type Embedding struct {
	Entries, Dim int
	f32          []float32 // [entries, dim]
	bf16         []uint16  // [entries, dim], bfloat16 bits
}

// LoadEmbedding takes name [entries, dim] from a checkpoint.
func LoadEmbedding(w *safetensors.Set, name string, entries, dim int) (Embedding, error) {
	f32, bf16, err := loadMatrix(w, name, entries, dim)
	return Embedding{Entries: entries, Dim: dim, f32: f32, bf16: bf16}, err
}

// Row copies entry id into dst [dim].
func (e *Embedding) Row(dst []float32, id int) {
	if e.bf16 != nil {
		kernel.WidenBF16(dst[:e.Dim], e.bf16[id*e.Dim:(id+1)*e.Dim])
		return
	}
	copy(dst[:e.Dim], e.f32[id*e.Dim:(id+1)*e.Dim])
}

// Add adds entry id to dst [dim].
func (e *Embedding) Add(dst []float32, id int) {
	if e.bf16 != nil {
		row := e.bf16[id*e.Dim : (id+1)*e.Dim]
		dst = dst[:len(row)]
		for i, w := range row {
			dst[i] += math.Float32frombits(uint32(w) << 16)
		}
		return
	}
	kernel.AddF32(dst[:e.Dim], e.f32[id*e.Dim:(id+1)*e.Dim])
}
