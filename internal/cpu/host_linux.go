package cpu

import (
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

func thisHost() host {
	h := host{root: os.DirFS("/"), num: runtime.NumCPU()}
	var set unix.CPUSet
	// A machine with more CPUs than the set holds makes this fail; the mask is unknown then.
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return h
	}
	left := set.Count()
	for c := 0; left > 0; c++ {
		if set.IsSet(c) {
			h.cpus = append(h.cpus, c)
			left--
		}
	}
	return h
}
