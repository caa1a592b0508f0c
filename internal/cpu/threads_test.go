package cpu

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

const (
	mountV2 = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
	mountV1 = "31 23 0:27 / /sys/fs/cgroup/cpu,cpuacct rw shared:5 - cgroup cgroup rw,cpu,cpuacct\n" +
		"32 23 0:28 / /sys/fs/cgroup/memory rw shared:6 - cgroup cgroup rw,memory\n"
)

// machine is a file tree of a host with the given number of cores, threads per core and extra files. The sibling of
// CPU c is c+cores, as on most machines.
func machine(cores, threads int, files map[string]string) fstest.MapFS {
	fsys := fstest.MapFS{}
	for c := range cores * threads {
		var siblings []string
		for s := range threads {
			siblings = append(siblings, fmt.Sprint(c%cores+s*cores))
		}
		name := fmt.Sprintf("sys/devices/system/cpu/cpu%d/topology/core_cpus_list", c)
		fsys[name] = &fstest.MapFile{Data: []byte(strings.Join(siblings, ",") + "\n")}
	}
	fsys["sys/devices/system/cpu/online"] = &fstest.MapFile{Data: fmt.Appendf(nil, "0-%d\n", cores*threads-1)}
	for name, text := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return fsys
}

func cpus(from, to int) []int {
	var list []int
	for c := from; c <= to; c++ {
		list = append(list, c)
	}
	return list
}

func TestThreads(t *testing.T) {
	type files = map[string]string
	for _, c := range []struct {
		name           string
		cores, threads int
		mask           []int
		files          files
		want           int
		why            string // part of it
	}{
		{"no limits", 8, 1, cpus(0, 7), nil, 8, "8 physical cores"},
		{"siblings count once", 8, 2, cpus(0, 15), nil, 8, "8 physical cores"},
		{"affinity mask", 8, 2, []int{1, 9, 3}, nil, 2, "2 physical cores"},
		{"affinity to second threads only", 8, 2, []int{9, 11}, nil, 2, "2 physical cores"},
		{"150 %", 8, 1, cpus(0, 7), files{
			"proc/self/cgroup": "0::/\n", "proc/self/mountinfo": mountV2, "sys/fs/cgroup/cpu.max": "150000 100000\n",
		}, 1, "1.5 CPUs"},
		{"765 %", 16, 1, cpus(0, 15), files{
			"proc/self/cgroup": "0::/\n", "proc/self/mountinfo": mountV2, "sys/fs/cgroup/cpu.max": "765000 100000\n",
		}, 7, "7.65 CPUs"},
		{"less than one CPU", 4, 1, cpus(0, 3), files{
			"proc/self/cgroup": "0::/\n", "proc/self/mountinfo": mountV2, "sys/fs/cgroup/cpu.max": "20000 100000\n",
		}, 1, "0.2 CPUs"},
		{"quota above the cores", 4, 1, cpus(0, 3), files{
			"proc/self/cgroup": "0::/\n", "proc/self/mountinfo": mountV2, "sys/fs/cgroup/cpu.max": "6400000 100000\n",
		}, 4, "64 CPUs"},
		{"no quota", 4, 1, cpus(0, 3), files{
			"proc/self/cgroup": "0::/\n", "proc/self/mountinfo": mountV2, "sys/fs/cgroup/cpu.max": "max 100000\n",
		}, 4, "4 physical cores"},
		{"nested groups, the outer one is smaller", 16, 1, cpus(0, 15), files{
			"proc/self/cgroup": "0::/a/b/c\n", "proc/self/mountinfo": mountV2,
			"sys/fs/cgroup/a/b/c/cpu.max": "800000 100000\n", "sys/fs/cgroup/a/b/cpu.max": "max 100000\n", "sys/fs/cgroup/a/cpu.max": "350000 100000\n",
		}, 3, "3.5 CPUs"},
		{"nested groups, the inner one is smaller", 16, 1, cpus(0, 15), files{
			"proc/self/cgroup": "0::/a/b\n", "proc/self/mountinfo": mountV2,
			"sys/fs/cgroup/a/b/cpu.max": "50000 25000\n", "sys/fs/cgroup/a/cpu.max": "800000 100000\n",
		}, 2, "2 CPUs"},
		{"version 1", 16, 1, cpus(0, 15), files{
			"proc/self/cgroup":                                "5:memory:/x\n4:cpu,cpuacct:/x/y\n",
			"proc/self/mountinfo":                             mountV1,
			"sys/fs/cgroup/cpu,cpuacct/x/y/cpu.cfs_quota_us":  "-1\n",
			"sys/fs/cgroup/cpu,cpuacct/x/y/cpu.cfs_period_us": "100000\n",
			"sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_quota_us":    "550000\n",
			"sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_period_us":   "100000\n",
		}, 5, "5.5 CPUs"},
		{"version 1 without a quota", 4, 1, cpus(0, 3), files{
			"proc/self/cgroup": "4:cpu,cpuacct:/\n", "proc/self/mountinfo": mountV1,
			"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "-1\n", "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000\n",
		}, 4, "4 physical cores"},
		{"both versions", 16, 1, cpus(0, 15), files{
			"proc/self/cgroup": "4:cpu:/\n0::/\n", "proc/self/mountinfo": mountV1 + mountV2,
			"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "900000\n", "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000\n",
			"sys/fs/cgroup/cpu.max": "600000 100000\n",
		}, 6, "6 CPUs"},
		{"mount that shows the group itself", 16, 1, cpus(0, 15), files{
			"proc/self/cgroup":      "0::/docker/abc\n",
			"proc/self/mountinfo":   "30 23 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n",
			"sys/fs/cgroup/cpu.max": "250000 100000\n",
		}, 2, "2.5 CPUs"},
		{"mount that shows another part", 16, 1, cpus(0, 15), files{
			"proc/self/cgroup":      "0::/../other\n",
			"proc/self/mountinfo":   "30 23 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n",
			"sys/fs/cgroup/cpu.max": "250000 100000\n",
		}, 2, "2.5 CPUs"},
		{"quota and mask", 8, 2, cpus(0, 3), files{
			"proc/self/cgroup": "0::/\n", "proc/self/mountinfo": mountV2, "sys/fs/cgroup/cpu.max": "600000 100000\n",
		}, 4, "4 physical cores"},
		{"broken files", 4, 1, cpus(0, 3), files{
			"proc/self/cgroup": "0::/\nnonsense\n:\n", "proc/self/mountinfo": mountV2 + "1 2\n\n - cgroup2\n", "sys/fs/cgroup/cpu.max": "many few\n",
		}, 4, "4 physical cores"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := host{root: machine(c.cores, c.threads, c.files), cpus: c.mask, num: 99}
			got, why := h.threads()
			if got != c.want || !strings.Contains(why, c.why) {
				t.Errorf("%d threads because of %q, want %d and a reason with %q", got, why, c.want, c.why)
			}
		})
	}
}

func TestThreadsUnknownHost(t *testing.T) {
	if n, why := (host{num: 6}).threads(); n != 6 || why != "6 logical CPUs" {
		t.Errorf("without a file tree: %d, %q", n, why)
	}
	// As on Windows, macOS and the BSDs.
	if n, why := (host{num: 16, cores: 8}).threads(); n != 8 || why != "8 physical cores" {
		t.Errorf("with the cores that the CPU counts: %d, %q", n, why)
	}
	if n, _ := (host{num: 4, cores: 8}).threads(); n != 4 {
		t.Errorf("with fewer CPUs than cores: %d, want 4", n)
	}
	if n, _ := (host{}).threads(); n != 1 {
		t.Errorf("without anything: %d, want 1", n)
	}
	// No topology files: each CPU counts as a core. Old kernels have another name for them.
	if n, _ := (host{root: fstest.MapFS{}, cpus: cpus(0, 4)}).threads(); n != 5 {
		t.Errorf("without topology: %d, want 5", n)
	}
	old := fstest.MapFS{}
	for c := range 4 {
		name := fmt.Sprintf("sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", c)
		old[name] = &fstest.MapFile{Data: fmt.Appendf(nil, "%d-%d\n", c/2*2, c/2*2+1)}
	}
	if n, _ := (host{root: old, cpus: cpus(0, 3)}).threads(); n != 2 {
		t.Errorf("with the topology files of old kernels: %d, want 2", n)
	}
}

func TestCores(t *testing.T) {
	physical, logical := host{root: machine(6, 2, nil)}.online()
	if physical != 6 || logical != 12 {
		t.Errorf("%d physical and %d logical cores, want 6 and 12", physical, logical)
	}
	if physical, logical := (host{}).online(); physical != 0 || logical != 0 {
		t.Errorf("unknown host: %d and %d cores, want none", physical, logical)
	}
}

func TestCoresOf(t *testing.T) {
	for _, c := range []struct {
		name                                string
		logical, perPackage, threadsPerCore int
		want                                int
	}{
		{"two threads a core", 16, 8, 2, 8},
		{"one thread a core", 8, 8, 1, 8},
		{"two packages", 64, 16, 2, 32},
		{"an affinity mask of one thread each", 8, 8, 2, 8},
		{"an affinity mask of two CPUs", 2, 8, 2, 2},
		{"no cores known", 10, 0, 1, 10},
		{"threads known alone", 10, 0, 2, 5},
		{"nothing known", 6, 0, 0, 6},
		{"one CPU of a core", 1, 0, 2, 1},
	} {
		if got := coresOf(c.logical, c.perPackage, c.threadsPerCore); got != c.want {
			t.Errorf("%s: %d cores, want %d", c.name, got, c.want)
		}
	}
}

func TestThreadsHere(t *testing.T) {
	n, why := Threads()
	if n < 1 || why == "" {
		t.Errorf("Threads() = %d, %q", n, why)
	}
	t.Logf("%d: %s", n, why)
}

func TestParseCPUList(t *testing.T) {
	for text, want := range map[string][]int{
		"":            nil,
		"3":           {3},
		"0-2,5,7-8\n": {0, 1, 2, 5, 7, 8},
		"4-2":         nil,
		"x,1-y,6":     {6},
	} {
		if got := parseCPUList(text); !slices.Equal(got, want) {
			t.Errorf("parseCPUList(%q) = %v, want %v", text, got, want)
		}
	}
	if n := len(parseCPUList("0-999999999")); n != 1<<16 {
		t.Errorf("a list of a billion CPUs yields %d", n)
	}
}
