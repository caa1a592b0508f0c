package main

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"

	"github.com/mynah-tts/mynah/internal/safetensors"
)

// blockLen is the number of elements that are drawn from one generator. It is part of what a seed means; at 256 K a
// block is short enough for several workers to share a matrix and long enough to make starting one free.
const blockLen = 1 << 18

// law says how the elements of one tensor are distributed.
type law struct {
	mean, std float64 // std 0: constant
	zeroLo    int     // elements [zeroLo, zeroHi) are zero
	zeroHi    int
}

// modelLaw gives the values of talker, predictor and speaker encoder.
func modelLaw(s spec, eos int) law {
	if l, ok := smallLaw(s); ok {
		return l
	}
	l := law{std: 0.02}
	if s.name == codecHead {
		l.zeroLo, l.zeroHi = eos*s.shape[1], (eos+1)*s.shape[1]
	}
	return l
}

// codecLaw gives the values of the codec, whose matrices keep the size of what passes through them.
func codecLaw(s spec, lastConv string) law {
	leaf := s.name[strings.LastIndexByte(s.name, '.')+1:]
	switch {
	case leaf == "cluster_usage" || leaf == "initialized":
		return law{mean: 1}
	case leaf == "embedding_sum" || leaf == "embed_sum":
		return law{std: 1}
	case leaf == "alpha" || leaf == "beta": // stored as logarithms
		return law{std: 0.1}
	}
	if l, ok := smallLaw(s); ok {
		return l
	}
	fanIn, gain := product(s.shape[1:]), 1.0
	vocoder := strings.HasPrefix(s.name, "decoder.decoder.")
	switch {
	case vocoder && strings.Contains(s.name, ".block.1.conv."): // transposed, [in, out, 2*stride]: 2 taps reach a sample
		fanIn = 2 * s.shape[0]
	case strings.HasPrefix(s.name, "decoder.upsample.") && strings.HasSuffix(s.name, ".0.conv.weight"): // stride = kernel
		fanIn = s.shape[0]
	case s.name == lastConv+".weight":
		gain = 0.05 // the samples of a sum of residual units would clip
	case vocoder && (strings.Contains(s.name, ".conv1.conv.") || strings.Contains(s.name, ".conv2.conv.")):
		gain = 0.4 // so that three residual units in a row do not grow much
	}
	return law{std: gain / math.Sqrt(float64(fanIn))}
}

// smallLaw gives the values of scales, biases and norms, which model and codec share.
func smallLaw(s spec) (law, bool) {
	switch {
	case strings.HasSuffix(s.name, ".gamma") || strings.HasSuffix(s.name, "layer_scale.scale"):
		return law{mean: 0.1, std: 0.02}, true
	case strings.HasSuffix(s.name, ".bias"):
		return law{std: 0.01}, true
	case len(s.shape) == 1:
		return law{mean: 1, std: 0.05}, true
	}
	return law{}, false
}

func product(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

// drawing writes one tensor of random numbers in the bytes of its dtype, F32 or BF16.
type drawing struct {
	spec
	law
	dtype   safetensors.DType
	seed    uint64
	workers int
}

// writeTo draws the blocks of the tensor on several workers and writes them in order. What is written depends on the
// seed and the tensor's name alone.
func (d drawing) writeTo(w io.Writer) error {
	n := product(d.shape)
	blocks := (n + blockLen - 1) / blockLen
	workers := min(d.workers, blocks)
	if workers <= 1 {
		var buf []byte
		for b := range blocks {
			buf = d.block(buf, b, n)
			if _, err := w.Write(buf); err != nil {
				return err
			}
		}
		return nil
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	stop := make(chan struct{})
	defer close(stop)
	full := make([]chan []byte, workers)  // worker i's blocks i, i+workers, ... in order
	empty := make([]chan []byte, workers) // buffers to draw into; two, so that drawing goes on during a write
	for i := range workers {
		full[i], empty[i] = make(chan []byte, 2), make(chan []byte, 2)
		empty[i] <- nil
		empty[i] <- nil
		wg.Go(func() {
			for b := i; b < blocks; b += workers {
				select {
				case buf := <-empty[i]:
					full[i] <- d.block(buf, b, n)
				case <-stop:
					return
				}
			}
		})
	}
	for b := range blocks {
		buf := <-full[b%workers]
		if _, err := w.Write(buf); err != nil {
			return err
		}
		empty[b%workers] <- buf
	}
	return nil
}

// normals holds the 65,536 values that stand for equal parts of the normal distribution: one drawn at random by 16
// bits is normal enough for weights, and four come out of one step of the generator.
var normals = sync.OnceValue(func() *[1 << 16]float32 {
	var t [1 << 16]float32
	for i := range t {
		t[i] = float32(math.Sqrt2 * math.Erfinv((2*float64(i)+1)/(1<<16)-1))
	}
	return &t
})

// block overwrites dst, which may be short or nil, with the elements of block b of a tensor of n elements.
func (d drawing) block(dst []byte, b, n int) []byte {
	lo, hi := b*blockLen, min((b+1)*blockLen, n)
	h := fnv.New64a()
	fmt.Fprintf(h, "%s/%d", d.name, b)
	rng := rand.NewPCG(d.seed, h.Sum64())
	size := d.dtype.Size()
	dst = slices.Grow(dst[:0], (hi-lo)*size)[:(hi-lo)*size]
	table, mean, std := normals(), float32(d.mean), float32(d.std)
	var bits uint64
	for i := range hi - lo {
		if i%4 == 0 {
			bits = rng.Uint64()
		}
		v := mean + float32(std*table[bits&0xffff]) // the conversion keeps an FMA from giving other bits elsewhere
		bits >>= 16
		if size == 2 {
			binary.LittleEndian.PutUint16(dst[2*i:], roundBF16(v))
		} else {
			binary.LittleEndian.PutUint32(dst[4*i:], math.Float32bits(v))
		}
	}
	if zeroLo, zeroHi := max(d.zeroLo, lo), min(d.zeroHi, hi); zeroLo < zeroHi {
		clear(dst[(zeroLo-lo)*size : (zeroHi-lo)*size])
	}
	return dst
}

// roundBF16 returns the bits of the bfloat16 nearest to a finite v, of two equally near ones the even one.
func roundBF16(v float32) uint16 {
	bits := math.Float32bits(v)
	return uint16((bits + 0x7fff + bits>>16&1) >> 16)
}
