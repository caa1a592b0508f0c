package main

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/mynah-tts/mynah/internal/batch"
	"github.com/mynah-tts/mynah/internal/kernel"
	"github.com/mynah-tts/mynah/internal/packed"
	"github.com/mynah-tts/mynah/internal/voice"
	"github.com/mynah-tts/mynah/synth"
)

// How many items --jobs auto speaks at once.
const (
	// autoJobs is the most: what the engine computes together unless it is told otherwise.
	autoJobs = 8

	// smallModel is up to how many bytes of weights a model's streams take no memory worth
	// counting.
	smallModel = 128 << 20

	// streamMemory is what a stream of a larger model takes at most, for a segment of usual
	// length: keys and values of some 2,000 positions.
	streamMemory = 512 << 20
)

// chooseJobs is the rule of --jobs auto: weights are read once for all streams of a frame,
// so more are better, up to eight; a large model gets as many as half of the memory that is
// there besides its weights holds, but at least one. memory is 0 where it is not known.
func chooseJobs(info synth.Info, memory int64) int {
	if info.Bytes <= smallModel || memory == 0 {
		return autoJobs
	}
	return int(min(autoJobs, max(1, (memory-info.Bytes)/2/streamMemory)))
}

// memoryThere is the memory that this process may have, 0 if it is not known.
func memoryThere() int64 {
	m := examineMachine(0)
	return m.memoryBound()
}

// identity is what of model and program decides samples.
func (c *modelFlags) identity(model *synth.Model) (batch.Identity, error) {
	v := readVersion()
	id := batch.Identity{Precision: model.Info().Precision, Level: kernel.Level().String(), Version: strings.TrimSpace(v.Version + " " + v.Revision)}
	info, err := os.Stat(c.Model)
	switch {
	case c.Model == "":
		fsys := voice.FS()
		id.Model, err = packed.Digest(fsys, func(name string) (string, error) { return packed.Sum(fsys, name) })
	case err != nil:
	case !info.IsDir():
		id.Model, err = packed.Sum(os.DirFS(filepath.Dir(c.Model)), filepath.Base(c.Model))
	case c.cacheDir() != "":
		id.Model, err = packed.Cache{Dir: c.cacheDir()}.Digest(c.Model)
	default:
		id.Model, err = packed.DigestDir(c.Model)
	}
	return id, err
}
