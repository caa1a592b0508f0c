// Package cpu says what the machine under this process can do: which instruction sets may be used (what the CPU has, what the
// operating system saves on a task switch, and what MYNAH_CPU allows), the sizes of its caches, and how many workers its
// affinity mask, its cgroups and its physical cores leave to a compute pool.
package cpu
