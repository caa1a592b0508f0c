package main

import (
	"fmt"
	"io/fs"
	"math"
	"os"
	"path"
	"runtime"
	"strconv"
	"strings"

	"github.com/mynah-tts/mynah/internal/cpu"
	"github.com/mynah-tts/mynah/internal/kernel"
)

// machine is what doctor says about the computer and this process's share of it.
// Sizes are in bytes, 0 where they are not known.
type machine struct {
	CPU           string   `json:"cpu"`
	Features      []string `json:"features"`
	Supported     string   `json:"supported_level"` // by processor and operating system
	Level         string   `json:"level"`           // of the kernels that will run
	LevelWhy      string   `json:"level_why"`
	PhysicalCores int      `json:"physical_cores"`
	LogicalCores  int      `json:"logical_cores"`
	Affinity      string   `json:"affinity"` // list of CPUs, "" if not known
	Threads       int      `json:"threads"`
	ThreadsWhy    string   `json:"threads_why"`
	L1D           int      `json:"l1d_bytes"`
	L2            int      `json:"l2_bytes"`
	L3            int      `json:"l3_bytes"`
	Memory        int64    `json:"memory_bytes"`
	Available     int64    `json:"available_bytes"`
	Limit         int64    `json:"memory_limit_bytes"` // of the process's cgroups, 0 for none
	Go            string   `json:"go"`
	Platform      string   `json:"platform"`
	GOMAXPROCS    int      `json:"gomaxprocs"`
	Checks        []check  `json:"checks"`
}

// examineMachine looks around; threads is the number asked for, 0 for none.
func examineMachine(threads int) machine {
	f := cpu.Detect()
	root := os.DirFS("/")
	m := machine{
		CPU: f.Brand, Features: features(f), Supported: cpu.Supported().String(),
		PhysicalCores: f.PhysicalCores, LogicalCores: f.LogicalCores,
		Affinity: field(root, "proc/self/status", "Cpus_allowed_list"),
		Threads:  threads, ThreadsWhy: "--threads",
		L1D: max(0, f.L1D), L2: max(0, f.L2), L3: max(0, f.L3),
		Memory: kilobytes(field(root, "proc/meminfo", "MemTotal")), Available: kilobytes(field(root, "proc/meminfo", "MemAvailable")),
		Limit: memoryLimit(root),
		Go:    runtime.Version(), Platform: platform, GOMAXPROCS: runtime.GOMAXPROCS(0), Checks: []check{},
	}
	m.Level, m.LevelWhy = kernel.Level().String(), levelWhy()
	if threads == 0 {
		m.Threads, m.ThreadsWhy = cpu.Threads()
	}
	if err := checkLevel(); err != nil {
		m.Checks = append(m.Checks, check{cpu.EnvLevel, false, strings.TrimPrefix(err.Error(), cpu.EnvLevel+": ")})
	}
	return m
}

// features lists the instruction sets that matter here.
func features(f cpu.Features) []string {
	names := []string{}
	for _, each := range []struct {
		name string
		has  bool
	}{
		{"avx2", f.AVX2}, {"fma", f.FMA}, {"f16c", f.F16C}, {"avxvnni", f.AVXVNNI}, {"avx512", f.AVX512},
		{"avx512vnni", f.AVX512VNNI}, {"avx512bf16", f.AVX512BF16}, {"avx512vbmi2", f.AVX512VBMI2},
	} {
		if each.has {
			names = append(names, each.name)
		}
	}
	return names
}

// levelWhy says why the kernels run at the level that they do.
func levelWhy() string {
	override := os.Getenv(cpu.EnvLevel)
	switch {
	case kernel.Level() < cpu.Active():
		return "this build has no others for " + platform
	case cpu.Active() < cpu.Supported():
		return cpu.EnvLevel + "=" + override + " holds it below what the machine supports"
	case override != "" && cpu.Check() == nil:
		return "the best that processor and system support within " + cpu.EnvLevel + "=" + override
	}
	return "the best that processor and system support"
}

// memoryBound is the most memory the process can have, 0 if that is not known.
func (m *machine) memoryBound() int64 {
	if m.Limit > 0 && (m.Memory == 0 || m.Limit < m.Memory) {
		return m.Limit
	}
	return m.Memory
}

// rows are the lines of text about the machine.
func (m *machine) rows() [][2]string {
	memory := orUnknown(m.Memory) + ", " + orUnknown(m.Available) + " available"
	if m.Limit > 0 {
		memory += ", cgroup limit " + size(m.Limit)
	} else {
		memory += ", no cgroup limit"
	}
	threads := fmt.Sprintf("%d: %s", m.Threads, m.ThreadsWhy)
	if !strings.Contains(m.ThreadsWhy, "quota") && m.ThreadsWhy != "--threads" {
		threads += ", no cgroup quota"
	}
	affinity := m.Affinity
	if affinity == "" {
		affinity = "unknown"
	}
	found := strings.Join(m.Features, " ")
	if found == "" {
		found = "none that matter here"
	}
	return [][2]string{
		{"processor", m.CPU},
		{"features", found},
		{"supported", m.Supported},
		{"kernels", m.Level + ": " + m.LevelWhy},
		{"cores", fmt.Sprintf("%d physical, %d logical", m.PhysicalCores, m.LogicalCores)},
		{"affinity", affinity},
		{"threads", threads},
		{"caches", fmt.Sprintf("L1d %s, L2 %s, L3 %s", orUnknown(int64(m.L1D)), orUnknown(int64(m.L2)), orUnknown(int64(m.L3)))},
		{"memory", memory},
		{"go", fmt.Sprintf("%s %s, GOMAXPROCS %d", m.Go, m.Platform, m.GOMAXPROCS)},
	}
}

func orUnknown(bytes int64) string {
	if bytes <= 0 {
		return "unknown"
	}
	return size(bytes)
}

// field returns the value of "name: value" in a file of /proc, or "".
func field(root fs.FS, file, name string) string {
	for line := range strings.Lines(read(root, file)) {
		if key, value, ok := strings.Cut(line, ":"); ok && key == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// kilobytes reads "1234 kB".
func kilobytes(s string) int64 {
	n, err := strconv.ParseInt(strings.TrimSuffix(s, " kB"), 10, 64)
	if err != nil {
		return 0
	}
	return n << 10
}

// memoryLimit is the smallest memory limit of the cgroups that the process is in and
// of those above them, 0 for none. Both versions of cgroups are looked at where
// systems mount them.
func memoryLimit(root fs.FS) int64 {
	limit := int64(math.MaxInt64)
	for line := range strings.Lines(read(root, "proc/self/cgroup")) {
		// hierarchy:controllers:path; version 2 is hierarchy 0 without controllers
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) != 3 {
			continue
		}
		mount, name := "sys/fs/cgroup", "memory.max"
		if f[1] != "" {
			if !strings.Contains(","+f[1]+",", ",memory,") {
				continue
			}
			mount, name = "sys/fs/cgroup/memory", "memory.limit_in_bytes"
		}
		for group := path.Clean("/" + f[2]); ; group = path.Dir(group) {
			if n, err := strconv.ParseInt(read(root, path.Join(mount, group, name)), 10, 64); err == nil {
				limit = min(limit, n)
			}
			if group == "/" {
				break
			}
		}
	}
	const none = 1 << 60 // version 1 says "no limit" by a number near the largest
	if limit >= none {
		return 0
	}
	return limit
}

// read returns the trimmed text of a file, "" if it cannot be read.
func read(root fs.FS, name string) string {
	data, err := fs.ReadFile(root, name)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}
