package cpu

import (
	"strings"
	"testing"
)

func TestLevelNames(t *testing.T) {
	for l := Generic; l <= AVX512; l++ {
		if got, err := ParseLevel(l.String()); err != nil || got != l {
			t.Errorf("ParseLevel(%q) = %v, %v", l.String(), got, err)
		}
	}
	if got := Level(7).String(); got != "Level(7)" {
		t.Errorf("Level(7).String() = %q", got)
	}
	_, err := ParseLevel("sse9")
	if err == nil || !strings.Contains(err.Error(), `"sse9"`) || !strings.Contains(err.Error(), "generic, avx2, avx512") {
		t.Errorf("ParseLevel of an unknown name: %v, want an error with the name and the allowed ones", err)
	}
}

func TestChoose(t *testing.T) {
	for _, c := range []struct {
		best Level
		env  string
		want Level
		ok   bool
	}{
		{AVX512, "", AVX512, true},
		{AVX512, "avx2", AVX2, true},
		{AVX512, "AVX2", AVX2, true},
		{AVX512, "generic", Generic, true},
		{AVX2, "avx512", AVX2, true}, // a cap, not a wish
		{Generic, "avx512", Generic, true},
		{AVX2, "neon", AVX2, false},
	} {
		got, err := choose(c.best, c.env)
		if got != c.want || (err == nil) != c.ok {
			t.Errorf("best %v, %s=%q: %v, %v", c.best, EnvLevel, c.env, got, err)
		}
		if err != nil && !strings.Contains(err.Error(), EnvLevel) {
			t.Errorf("error does not name %s: %v", EnvLevel, err)
		}
	}
}

func TestSupported(t *testing.T) {
	for _, c := range []struct {
		f    Features
		want Level
	}{
		{Features{}, Generic},
		{Features{AVX2: true}, Generic}, // the kernels need FMA too
		{Features{AVX2: true, FMA: true}, AVX2},
		{Features{AVX2: true, FMA: true, AVX512: true}, AVX512},
		{Features{AVX512: true}, Generic},
	} {
		if got := supported(c.f); got != c.want {
			t.Errorf("supported(%+v) = %v, want %v", c.f, got, c.want)
		}
	}
}

func TestDetect(t *testing.T) {
	f := Detect()
	if f.LogicalCores < 1 || f.PhysicalCores < 1 || f.PhysicalCores > f.LogicalCores {
		t.Errorf("%d physical and %d logical cores", f.PhysicalCores, f.LogicalCores)
	}
	if (f.AVX512VNNI || f.AVX512BF16 || f.AVX512VBMI2) && !f.AVX512 {
		t.Errorf("an extension of AVX-512 without AVX-512: %+v", f)
	}
	if Active() > Supported() {
		t.Errorf("Active() = %v, Supported() = %v", Active(), Supported())
	}
}
