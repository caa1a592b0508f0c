//go:build !(amd64 || arm64) || purego

package team

// pause rests for a moment that grows with n. The call itself is the rest.
//
//go:noinline
func pause(n int) {
	for range n {
	}
}
