package kernel

import (
	"fmt"

	"github.com/mynah-tts/mynah/internal/cpu"
)

// level is what dispatch looks at. It is written before the first kernel runs, and by SetLevel in tests.
var level = min(cpu.Active(), bestLevel())

// bestLevel is the best level that both this machine and this build have kernels for.
func bestLevel() cpu.Level {
	if !haveAssembly {
		return cpu.Generic
	}
	return cpu.Supported()
}

// Level returns the level that the kernels run at.
func Level() cpu.Level { return level }

// SetLevel makes the kernels run at level l and returns a function that undoes it. It is for tests and benchmarks, and must
// not be called while kernels run. It panics if the machine or the build does not support l.
func SetLevel(l cpu.Level) (restore func()) {
	if best := bestLevel(); l < cpu.Generic || l > best {
		panic(fmt.Sprintf("kernel: level %v, this build on this machine has at most %v", l, best))
	}
	old := level
	level = l
	return func() { level = old }
}
