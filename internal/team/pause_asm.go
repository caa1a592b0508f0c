//go:build (amd64 || arm64) && !purego

package team

// pause rests for n times the core's shortest rest, n ≥ 1.
//
//go:noescape
func pause(n int)
