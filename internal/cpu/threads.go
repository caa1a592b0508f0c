package cpu

import (
	"fmt"
	"io/fs"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Threads returns how many workers a compute pool of this process should have by default, and a phrase that says why:
// the physical cores that the affinity mask leaves to the process, capped by its CPU quota rounded down, and at least one.
// Where the mask is unknown, as on any system but Linux, they are those that the CPU counts.
// SMT siblings count once, since two workers on one core share its multiplier units. The quota is the smallest of all cgroups
// the process is in; it is rounded down because a pool of spinning workers that exceeds its quota is stopped as a whole.
func Threads() (n int, why string) {
	h := thisHost()
	if len(h.cpus) == 0 {
		h.cores = Detect().PhysicalCores
	}
	return h.threads()
}

// host is where a process looks for its limits; tests give their own.
type host struct {
	root  fs.FS // "/", or nil where there is no such thing
	cpus  []int // the CPUs of the affinity mask, or nil if unknown
	num   int   // logical CPUs to assume if the mask is unknown
	cores int   // their physical cores, or 0 if unknown
}

func (h host) threads() (int, string) {
	cores, what := h.num, "logical CPUs"
	switch {
	case len(h.cpus) > 0:
		cores, what = h.physical(h.cpus), "physical cores in the affinity mask"
	case h.cores > 0:
		cores, what = min(h.num, h.cores), "physical cores"
	}
	cores = max(1, cores)
	why := fmt.Sprintf("%d %s", cores, what)
	quota, ok := h.quota()
	if !ok {
		return cores, why
	}
	why += fmt.Sprintf(", cgroup quota of %s CPUs", strconv.FormatFloat(quota, 'f', -1, 32))
	if limit := max(1, int(math.Floor(quota))); limit < cores {
		return limit, why
	}
	return cores, why
}

// online counts the physical cores and the logical CPUs that are online, or returns zeros if that is unknown.
func (h host) online() (physical, logical int) {
	online := parseCPUList(h.read("sys/devices/system/cpu/online"))
	if len(online) == 0 {
		return 0, 0
	}
	return h.physical(online), len(online)
}

// physical counts the cores that the given CPUs belong to. A CPU whose siblings are unknown counts as a core.
func (h host) physical(cpus []int) int {
	seen := map[string]bool{}
	for _, c := range cpus {
		dir := fmt.Sprintf("sys/devices/system/cpu/cpu%d/topology/", c)
		siblings := h.read(dir + "core_cpus_list")
		if siblings == "" {
			siblings = h.read(dir + "thread_siblings_list") // the name before Linux 5.4
		}
		if list := parseCPUList(siblings); len(list) == 0 || !slices.Contains(list, c) {
			siblings = "cpu" + strconv.Itoa(c)
		}
		seen[siblings] = true
	}
	return len(seen)
}

// coresOf returns how many physical cores so many logical CPUs are of, by what the CPU says of itself: the cores of a package, 0 if
// it does not say, and the threads of a core. A machine can have several packages, and a process one thread of each core.
func coresOf(logical, perPackage, threadsPerCore int) int {
	return min(logical, max(perPackage, logical/max(1, threadsPerCore), 1))
}

// parseCPUList reads the kernel's list format, "0-3,8". What does not parse is left out.
func parseCPUList(s string) []int {
	var cpus []int
	for part := range strings.SplitSeq(s, ",") {
		first, last, isRange := strings.Cut(strings.TrimSpace(part), "-")
		lo, err := strconv.Atoi(first)
		if err != nil {
			continue
		}
		hi := lo
		if isRange {
			if hi, err = strconv.Atoi(last); err != nil {
				continue
			}
		}
		const most = 1 << 16 // no machine has more CPUs than that: a broken list must not fill the memory
		for c := lo; c <= hi && len(cpus) < most; c++ {
			cpus = append(cpus, c)
		}
	}
	return cpus
}

// quota returns the smallest CPU quota, in CPUs, of the cgroups the process is in and all their parents, for both versions
// of cgroups; ok is false if none of them limits anything.
func (h host) quota() (cpus float64, ok bool) {
	cpus = math.Inf(1)
	mounts := h.cgroupMounts()
	for line := range strings.Lines(h.read("proc/self/cgroup")) {
		// hierarchy-ID:controller-list:cgroup-path; version 2 is hierarchy 0 with no controllers
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) != 3 {
			continue
		}
		v2 := f[0] == "0" && f[1] == ""
		if !v2 && !slices.Contains(strings.Split(f[1], ","), "cpu") {
			continue
		}
		for _, m := range mounts {
			if m.v2 == v2 {
				cpus = min(cpus, h.quotaBelow(m, f[2]))
			}
		}
	}
	return cpus, !math.IsInf(cpus, 1)
}

// quotaBelow returns the smallest quota on the way from a cgroup up to the mount point of its hierarchy.
func (h host) quotaBelow(m cgroupMount, group string) float64 {
	rel, inside := strings.CutPrefix(group, strings.TrimSuffix(m.root, "/"))
	if !inside {
		rel = "" // the mount shows another part of the tree (a container without a cgroup namespace): use its top
	}
	quota := math.Inf(1)
	for rel = path.Clean("/" + rel); ; rel = path.Dir(rel) {
		dir := path.Join(m.point, rel)
		if m.v2 {
			quota = min(quota, parseMax(h.read(dir+"/cpu.max")))
		} else {
			quota = min(quota, parseMax(h.read(dir+"/cpu.cfs_quota_us")+" "+h.read(dir+"/cpu.cfs_period_us")))
		}
		if rel == "/" {
			return quota
		}
	}
}

// parseMax reads "quota period" in microseconds; "max" or a quota of -1 is no limit.
func parseMax(s string) float64 {
	f := strings.Fields(s)
	if len(f) != 2 {
		return math.Inf(1)
	}
	quota, err1 := strconv.ParseFloat(f[0], 64)
	period, err2 := strconv.ParseFloat(f[1], 64)
	if err1 != nil || err2 != nil || quota <= 0 || period <= 0 {
		return math.Inf(1)
	}
	return quota / period
}

// cgroupMount is a place where a cgroup hierarchy with the cpu controller is mounted.
type cgroupMount struct {
	v2    bool
	root  string // the cgroup that the mount point shows, "/" for all
	point string // mount point, without the leading slash
}

func (h host) cgroupMounts() []cgroupMount {
	var mounts []cgroupMount
	for line := range strings.Lines(h.read("proc/self/mountinfo")) {
		// ID parent major:minor root mount-point options [optional fields] - type source super-options
		head, tail, ok := strings.Cut(strings.TrimSpace(line), " - ")
		before, after := strings.Fields(head), strings.Fields(tail)
		if !ok || len(before) < 5 || len(after) < 3 {
			continue
		}
		m := cgroupMount{root: before[3], point: strings.Trim(before[4], "/")}
		switch {
		case after[0] == "cgroup2":
			m.v2 = true
		case after[0] == "cgroup" && slices.Contains(strings.Split(after[2], ","), "cpu"):
		default:
			continue
		}
		mounts = append(mounts, m)
	}
	return mounts
}

// read returns the trimmed text of a file below the root, or "".
func (h host) read(name string) string {
	if h.root == nil {
		return ""
	}
	data, err := fs.ReadFile(h.root, path.Clean(name))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}
