package main

import (
	"testing"
	"testing/fstest"
)

func TestMemoryLimit(t *testing.T) {
	for _, tc := range []struct {
		name  string
		files map[string]string
		want  int64
	}{
		{"no cgroups", nil, 0},
		{"version 2", map[string]string{
			"proc/self/cgroup":                    "0::/a/b\n",
			"sys/fs/cgroup/a/b/memory.max":        "max\n",
			"sys/fs/cgroup/a/memory.max":          "4096\n",
			"sys/fs/cgroup/memory.max":            "8192\n",
			"sys/fs/cgroup/elsewhere/memory.max":  "1\n",
			"sys/fs/cgroup/a/b/memory.high":       "1\n",
			"sys/fs/cgroup/memory/a/b/memory.max": "1\n",
		}, 4096},
		{"version 2 in a container", map[string]string{"proc/self/cgroup": "0::/docker/x\n", "sys/fs/cgroup/memory.max": "8192\n"}, 8192},
		{"version 2 without a limit", map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "max\n"}, 0},
		{"version 1", map[string]string{
			"proc/self/cgroup": "5:cpu,cpuacct:/c\n4:memory:/a\n",
			"sys/fs/cgroup/memory/a/memory.limit_in_bytes": "9223372036854771712\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes":   "1048576\n",
			"sys/fs/cgroup/memory/c/memory.limit_in_bytes": "1\n",
		}, 1 << 20},
		{"version 1 without a limit", map[string]string{
			"proc/self/cgroup":                           "4:memory:/\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
		}, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := memoryLimit(files(tc.files)); got != tc.want {
				t.Errorf("limit is %d, want %d", got, tc.want)
			}
		})
	}
}

func files(content map[string]string) fstest.MapFS {
	fsys := fstest.MapFS{}
	for name, data := range content {
		fsys[name] = &fstest.MapFile{Data: []byte(data)}
	}
	return fsys
}

func TestField(t *testing.T) {
	root := files(map[string]string{"proc/meminfo": "MemTotal:       24690924 kB\nMemFree:  1 kB\nMemAvailable:   2 kB\n"})
	if got := kilobytes(field(root, "proc/meminfo", "MemTotal")); got != 24690924<<10 {
		t.Errorf("MemTotal is %d", got)
	}
	if got := kilobytes(field(root, "proc/meminfo", "MemAvailable")); got != 2<<10 {
		t.Errorf("MemAvailable is %d", got)
	}
	if got := kilobytes(field(root, "proc/none", "MemTotal")); got != 0 {
		t.Errorf("a missing file gave %d", got)
	}
}

func TestSize(t *testing.T) {
	for bytes, want := range map[int64]string{
		0: "0 bytes", 1023: "1023 bytes", 1024: "1.0 KiB", 32 << 10: "32 KiB", 7864320: "7.5 MiB", 3 << 30: "3.0 GiB", 5 << 40: "5.0 TiB", 5000 << 40: "5000 TiB",
	} {
		if got := size(bytes); got != want {
			t.Errorf("%d is %q, want %q", bytes, got, want)
		}
	}
}
