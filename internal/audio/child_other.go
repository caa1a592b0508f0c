//go:build !unix && !windows

package audio

import "os/exec"

// ownGroup does nothing: there are no process groups here.
func ownGroup(*exec.Cmd) {}

// killGroup ends a child.
func killGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
