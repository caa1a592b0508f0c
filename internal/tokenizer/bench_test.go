package tokenizer

import (
	"os"
	"strings"
	"testing"

	"github.com/mynah-tts/mynah/internal/paritytest"
)

// largest loads the checkpoint of the parity set with the largest vocabulary.
func largest(b *testing.B) (*Tokenizer, string) {
	b.Helper()
	var best *Tokenizer
	var dir string
	for _, m := range paritytest.Models(b, "tokenizer") {
		tok, err := Load(os.DirFS(m.Dir))
		if err != nil {
			b.Fatal(err)
		}
		if best == nil || tok.Size() > best.Size() {
			best, dir = tok, m.Dir
		}
	}
	return best, dir
}

const benchProse = `It was a bright cold day in April, and the clocks weren't striking 13. "Well," said Zoë, "the naïve café's open!"
She'd (almost) run – over 3,000 m – to get here. 今天天气很好，我们去公园散步吧。 Grüße aus München; ¿qué tal? Привет, мир!` + "\n\n"

func BenchmarkLoad(b *testing.B) {
	_, dir := largest(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Load(os.DirFS(dir)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLoadJSON(b *testing.B) {
	_, dir := largest(b)
	fsys := mapFS(map[string]string{jsonFile: deriveJSON(b, os.DirFS(dir), true)})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Load(fsys); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkEncode is prose whose words repeat, as words do.
func BenchmarkEncode(b *testing.B) {
	tok, _ := largest(b)
	text := strings.Repeat(benchProse, 40)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		tok.EncodeText(text)
	}
}

// BenchmarkEncodeNew is prose without the word cache.
func BenchmarkEncodeNew(b *testing.B) {
	tok, _ := largest(b)
	b.SetBytes(int64(len(benchProse)))
	for b.Loop() {
		tok.cache = &wordCache{seed: tok.cache.seed}
		tok.EncodeText(benchProse)
	}
}

// BenchmarkStream is prose in pieces of four bytes, as a language model sends them.
func BenchmarkStream(b *testing.B) {
	tok, _ := largest(b)
	b.SetBytes(int64(len(benchProse)))
	b.ReportAllocs()
	for b.Loop() {
		cutting(tok, benchProse, func(int) int { return 4 })
	}
}

// BenchmarkLongWord is one word of a megabyte.
func BenchmarkLongWord(b *testing.B) {
	tok, _ := largest(b)
	text := strings.Repeat("hello", 200_000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		tok.EncodeText(text)
	}
}
