package voices

import (
	"os"
	"path/filepath"
	"runtime"
)

// DefaultDir is where voices are kept when nothing names a folder: mynah/voices in the
// user's data folder, which is $XDG_DATA_HOME or ~/.local/share, ~/Library/Application
// Support on macOS, and %LocalAppData% on Windows. It is "" for a user without a home.
func DefaultDir() string {
	base := ""
	switch runtime.GOOS {
	case "windows":
		base = os.Getenv("LocalAppData")
	case "darwin", "ios":
		if home, err := os.UserHomeDir(); err == nil {
			base = filepath.Join(home, "Library", "Application Support")
		}
	default:
		base = os.Getenv("XDG_DATA_HOME")
		if home, err := os.UserHomeDir(); !filepath.IsAbs(base) && err == nil {
			base = filepath.Join(home, ".local", "share")
		}
	}
	if !filepath.IsAbs(base) {
		return ""
	}
	return filepath.Join(base, "mynah", "voices")
}
