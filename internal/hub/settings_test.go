package hub

import (
	"os"
	"path/filepath"
	"testing"
)

// A variable that holds nothing but blanks is as one that is not set: the next name counts,
// and then the token's file.
func TestFromEnvironmentToken(t *testing.T) {
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, "token"), []byte("hf_file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ token, older, want string }{
		{"hf_set", "hf_older", "hf_set"},
		{" hf_set\n", "", "hf_set"},
		{" ", "hf_older", "hf_older"},
		{"\n", "", "hf_file"},
		{"", "", "hf_file"},
	} {
		env := map[string]string{"HF_HOME": home, "HF_TOKEN": tc.token, "HUGGING_FACE_HUB_TOKEN": tc.older}
		s, err := FromEnvironment(func(name string) string { return env[name] })
		if err != nil || s.Token != tc.want {
			t.Errorf("HF_TOKEN %q, HUGGING_FACE_HUB_TOKEN %q: token %q, error %v, want %q", tc.token, tc.older, s.Token, err, tc.want)
		}
	}
}
