// Command mynah speaks: it runs Qwen3-TTS-12Hz checkpoints on CPUs, and brings a
// small voice of its own.
//
//	mynah say "Hello there." -o hello.wav
//
// Standard output carries data alone: audio, or the answer of doctor and version.
// Everything else goes to standard error, an error as one line. Exit codes: 0 done,
// 1 failed, 2 the command or a value in it is wrong, 3 partly done.
package main

import "os"

func main() {
	p := &program{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr}
	os.Exit(p.run(os.Args[1:], os.Environ()))
}
