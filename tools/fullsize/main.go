// Fullsize writes a full-size Qwen3-TTS-12Hz checkpoint with random weights, so that anyone can measure speed and
// memory without a download:
//
//	go run ./tools/fullsize [-variant 0.6b|1.7b] [-kind custom_voice|base|voice_design] [-seed 1] [-tokenizer MODEL_DIR] OUT
//
// The tensors have the names, shapes and dtypes of the published checkpoints (talker, predictor and speaker encoder in
// bfloat16, codec in float32); the values are random, so the audio is noise. Speed and memory do not depend on the
// values, with two exceptions that are taken care of:
//
//   - The codec_head row of the end token is zero. With top-k sampling (the default, 50) or greedy decoding the end
//     token is therefore never drawn, and a run lasts exactly the number of frames asked for.
//   - Matrices are normal with a standard deviation of 0.02 (talker, predictor) or a gain over the square root of the
//     fan-in (codec), so that activations stay finite, neither zero nor denormal, and the waveform is neither silent
//     nor clipped flat.
//
// The same seed gives the same files. The tokenizer files are copied from a model folder that holds
// the full Qwen3 tokenizer.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"time"
)

// fullTokenizer is a folder of this repository that holds the full Qwen3 tokenizer.
const fullTokenizer = "testdata/parity/models/tiny-custom"

func main() {
	variant := flag.String("variant", "0.6b", "sizes: 0.6b or 1.7b")
	kind := flag.String("kind", "custom_voice", "kind of checkpoint: custom_voice, base or voice_design")
	seed := flag.Uint64("seed", 1, "seed of the random weights")
	tokenizer := flag.String("tokenizer", fullTokenizer, "model folder to copy the tokenizer files from")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: fullsize [flags] OUT\n\nWrites a full-size checkpoint with random weights into the folder OUT.")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() != 1 {
		flag.Usage()
		os.Exit(2)
	}
	model, err := modelConfigOf(*variant, *kind)
	if err != nil {
		fmt.Fprintln(os.Stderr, "fullsize:", err)
		os.Exit(2)
	}
	start := time.Now()
	c := checkpoint{model: model, codec: codecConfigOf(), seed: *seed, workers: runtime.GOMAXPROCS(0)}
	if err := c.write(flag.Arg(0), *tokenizer, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "fullsize:", err)
		os.Exit(1)
	}
	fmt.Printf("%s, %s, seed %d written to %s in %.1f s\n", *variant, *kind, *seed, flag.Arg(0), time.Since(start).Seconds())
}
