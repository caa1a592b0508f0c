package cpu

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"

	"github.com/klauspost/cpuid/v2"
)

// Level is an instruction set that the kernels have a version for. Levels are ordered: each includes the ones below it.
type Level int

const (
	// Generic is plain Go.
	Generic Level = iota
	// AVX2 is AVX2 with FMA: 8 float32 lanes.
	AVX2
	// AVX512 is AVX-512 F, BW, VL and DQ: 16 float32 lanes and masks.
	AVX512
)

// EnvLevel is the environment variable that caps the level: generic, avx2 or avx512.
const EnvLevel = "MYNAH_CPU"

var levelNames = [...]string{Generic: "generic", AVX2: "avx2", AVX512: "avx512"}

// String returns the name by which MYNAH_CPU knows the level.
func (l Level) String() string {
	if l < 0 || int(l) >= len(levelNames) {
		return fmt.Sprintf("Level(%d)", int(l))
	}
	return levelNames[l]
}

// ParseLevel is the inverse of Level.String.
func ParseLevel(name string) (Level, error) {
	for l, n := range levelNames {
		if n == name {
			return Level(l), nil
		}
	}
	return Generic, fmt.Errorf("cpu: unknown instruction level %q, allowed are %s", name, strings.Join(levelNames[:], ", "))
}

// Features is what Detect finds. An instruction set counts only if both the CPU and the operating system support it.
type Features struct {
	AVX2, FMA, F16C                              bool
	AVX512                                       bool // F, BW, VL and DQ together
	AVX512VNNI, AVX512BF16, AVX512VBMI2, AVXVNNI bool
	Brand                                        string // name the CPU gives itself, may be empty
	L1D, L2, L3                                  int    // bytes, L1D and L2 of one core; 0 or less if unknown
	PhysicalCores, LogicalCores                  int    // of the machine, whatever this process may use of them
}

// Detect reads the features of the CPU. It takes no notice of MYNAH_CPU. The first call does the work.
func Detect() Features { return detected() }

var detected = sync.OnceValue(func() Features {
	c := &cpuid.CPU
	f := Features{
		AVX2:          c.Supports(cpuid.AVX, cpuid.AVX2),
		FMA:           c.Supports(cpuid.FMA3),
		F16C:          c.Supports(cpuid.F16C),
		AVX512:        c.Supports(cpuid.AVX512F, cpuid.AVX512BW, cpuid.AVX512VL, cpuid.AVX512DQ),
		AVXVNNI:       c.Supports(cpuid.AVX2, cpuid.AVXVNNI),
		Brand:         c.BrandName,
		L1D:           c.Cache.L1D,
		L2:            c.Cache.L2,
		L3:            c.Cache.L3,
		PhysicalCores: coresOf(runtime.NumCPU(), c.PhysicalCores, c.ThreadsPerCore),
		LogicalCores:  runtime.NumCPU(),
	}
	f.AVX512VNNI = f.AVX512 && c.Supports(cpuid.AVX512VNNI)
	f.AVX512BF16 = f.AVX512 && c.Supports(cpuid.AVX512BF16)
	f.AVX512VBMI2 = f.AVX512 && c.Supports(cpuid.AVX512VBMI2)
	if physical, logical := thisHost().online(); logical > 0 {
		f.PhysicalCores, f.LogicalCores = physical, logical
	}
	f.PhysicalCores = min(max(1, f.PhysicalCores), f.LogicalCores)
	return f
})

// Active returns the level that this process runs its kernels at: the best one the machine supports, capped by MYNAH_CPU.
// A MYNAH_CPU that names no level is ignored here and reported by Check.
func Active() Level {
	l, _ := active()
	return l
}

// Check returns an error if MYNAH_CPU is set to something that is not a level.
func Check() error {
	_, err := active()
	return err
}

var active = sync.OnceValues(func() (Level, error) { return choose(Supported(), os.Getenv(EnvLevel)) })

// Supported returns the best level the machine supports, whatever MYNAH_CPU says.
func Supported() Level { return supported(Detect()) }

func supported(f Features) Level {
	switch {
	case f.AVX512 && f.AVX2 && f.FMA:
		return AVX512
	case f.AVX2 && f.FMA:
		return AVX2
	}
	return Generic
}

func choose(best Level, env string) (Level, error) {
	if env == "" {
		return best, nil
	}
	want, err := ParseLevel(strings.ToLower(env))
	if err != nil {
		return best, fmt.Errorf("%s: %w", EnvLevel, err)
	}
	return min(best, want), nil
}
