//go:build unix

package audio

import (
	"os/exec"
	"syscall"
)

// ownGroup keeps a child away from the terminal's signals, which are meant for this
// process: it decides what becomes of the utterance.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// killGroup ends a child, and whatever it has started.
func killGroup(cmd *exec.Cmd) {
	if syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) != nil {
		_ = cmd.Process.Kill()
	}
}
