package hub

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// checkPath refuses a path of a listing that could be anything but a file below the
// snapshot's folder, on any system.
func checkPath(p string) error {
	bad := func(why string) error { return fmt.Errorf("the listing has a file %.120q: %s", p, why) }
	switch {
	case p == "":
		return bad("no name")
	case len(p) > maxPath:
		return bad(fmt.Sprintf("%d bytes long, allowed are %d", len(p), maxPath))
	case !utf8.ValidString(p):
		return bad("no UTF-8")
	case strings.HasPrefix(p, "/"):
		return bad("an absolute path")
	case strings.ContainsAny(p, "\\:*?\"<>|") || strings.ContainsFunc(p, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return bad("characters that are no part of a safe name")
	}
	segments := strings.Split(p, "/")
	if len(segments) > maxDepth {
		return bad(fmt.Sprintf("%d folders deep, allowed are %d", len(segments), maxDepth))
	}
	for _, s := range segments {
		if s == "" || s == "." || s == ".." || len(s) > maxSegment || strings.HasSuffix(s, ".") || strings.HasSuffix(s, " ") || isDevice(s) {
			return bad("no safe path")
		}
	}
	return nil
}

// isDevice reports whether a name is a device on some systems, whatever its extension.
func isDevice(name string) bool {
	stem, _, _ := strings.Cut(strings.ToUpper(name), ".")
	switch stem {
	case "CON", "PRN", "AUX", "NUL":
		return true
	}
	return len(stem) == 4 && (strings.HasPrefix(stem, "COM") || strings.HasPrefix(stem, "LPT")) && stem[3] >= '0' && stem[3] <= '9'
}

// Selection says which files of a repository are fetched. Patterns are those of
// huggingface_hub: * and ? stand for slashes as well, [!a] is all but a, and a pattern that ends
// in a slash is a folder with all that is in it.
type Selection struct {
	Include []string // those of a checkpoint if empty
	Exclude []string
}

// Check refuses patterns that cannot be read.
func (s Selection) Check() error {
	for _, p := range append(s.Include, s.Exclude...) {
		if _, err := path.Match(goPattern(p), ""); err != nil || len(p) > maxPath {
			return fmt.Errorf("%.120q is no pattern, wanted one such as *.json", p)
		}
	}
	return nil
}

// ofCheckpoint are the files, by patterns whose * ends at a slash, that a Qwen3-TTS checkpoint is made of, here and in Python.
var ofCheckpoint = []string{
	"config.json", "configuration.json", "generation_config.json", "preprocessor_config.json", "chat_template.json",
	"tokenizer_config.json", "tokenizer.json", "vocab.json", "merges.txt", "special_tokens_map.json", "added_tokens.json",
	"*.safetensors", "*.safetensors.index.json",
	"speech_tokenizer/*.json", "speech_tokenizer/*.safetensors",
}

// refused are the ends of files that run as code or unpickle to code. They are never fetched:
// Mynah needs none, and others would run them.
var refused = []string{
	".py", ".pyc", ".pyd", ".pyx", ".so", ".dll", ".dylib", ".exe", ".sh", ".bat", ".cmd", ".ps1", ".js", ".jar", ".ipynb",
	".bin", ".pt", ".pth", ".pkl", ".pickle", ".ckpt", ".joblib", ".dill", ".npy", ".npz", ".h5", ".keras", ".pb", ".mar",
}

// takes reports whether a file is one of the selection.
func (s Selection) takes(p string) bool {
	if isRefused(p) {
		return false
	}
	included := matchesAny(s.Include, p)
	if len(s.Include) == 0 {
		included = slices.ContainsFunc(ofCheckpoint, func(pattern string) bool { ok, _ := path.Match(pattern, p); return ok })
	}
	return included && !matchesAny(s.Exclude, p)
}

// isRefused reports whether a path, or a pattern, ends as code and pickles do.
func isRefused(p string) bool { return slices.Contains(refused, strings.ToLower(path.Ext(p))) }

// refusedOnly are the patterns of Include that mean nothing but code and pickles.
func (s Selection) refusedOnly(files []File) (patterns []string) {
	for _, pattern := range s.Include {
		bad, good := 0, 0
		for _, f := range files {
			switch {
			case !matchesAny([]string{pattern}, f.Path):
			case isRefused(f.Path):
				bad++
			default:
				good++
			}
		}
		if good == 0 && (bad > 0 || isRefused(pattern)) {
			patterns = append(patterns, pattern)
		}
	}
	return patterns
}

// goPattern puts a pattern of Python into the terms of path.Match, which negates a set by ^ in
// the place of !.
func goPattern(pattern string) string {
	var b strings.Builder
	inSet := false
	for i := 0; i < len(pattern); i++ {
		c := pattern[i]
		b.WriteByte(c)
		switch rest := pattern[i+1:]; {
		case c == '\\' && rest != "": // what follows stands for itself
			i++
			b.WriteByte(rest[0])
		case c == '[' && !inSet:
			inSet = true
			if strings.HasPrefix(rest, "!") {
				i++
				b.WriteByte('^')
			} else if strings.HasPrefix(rest, "^") {
				b.WriteByte('\\') // the ^ follows
			}
		case c == ']':
			inSet = false
		}
	}
	return b.String()
}

func matchesAny(patterns []string, p string) bool {
	for _, pattern := range patterns {
		if strings.HasSuffix(pattern, "/") {
			pattern += "*"
		}
		// path.Match stops at slashes, which these patterns do not.
		const slash = "\x00"
		if ok, _ := path.Match(strings.ReplaceAll(goPattern(pattern), "/", slash), strings.ReplaceAll(p, "/", slash)); ok {
			return true
		}
	}
	return false
}
