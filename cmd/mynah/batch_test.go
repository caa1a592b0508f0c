package main

import (
	"testing"

	"github.com/mynah-tts/mynah/synth"
)

func TestChooseJobs(t *testing.T) {
	const gib = 1 << 30
	for _, c := range []struct {
		name          string
		bytes, memory int64
		want          int
	}{
		{"the built-in voice", 40 << 20, gib, 8},
		{"large, memory not known", 2 * gib, 0, 8},
		{"large, much memory", 2 * gib, 64 * gib, 8},
		{"large, some memory", 2 * gib, 5 * gib, 3},
		{"large, little memory", 2 * gib, gib, 1},
	} {
		if got := chooseJobs(synth.Info{Bytes: c.bytes}, c.memory); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}
