package audio

import (
	"os/exec"
	"syscall"
)

// ownGroup keeps Ctrl+C in the console away from a child. It is meant for this process,
// which decides what becomes of the utterance.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// killGroup ends a child.
func killGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
