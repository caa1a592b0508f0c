package hub

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// Settings are what huggingface_hub's variables say.
type Settings struct {
	Endpoint *url.URL // of the hub, without a slash at its end
	Cache    string   // folder of the cache, in full
	Offline  string   // the variable that says that nothing may be fetched; "" if none does
	Copies   bool     // no symbolic links
	Token    string   // "" for none; never printed
}

// String leaves the token out.
func (s Settings) String() string { return fmt.Sprintf("%s, cache %s", s.Endpoint, s.Cache) }

// GoString leaves the token out.
func (s Settings) GoString() string { return s.String() }

// FromEnvironment reads HF_ENDPOINT, HF_HOME, HF_HUB_CACHE, HF_HUB_OFFLINE,
// HF_HUB_DISABLE_SYMLINKS, HF_TOKEN, HF_TOKEN_PATH and HF_HUB_DISABLE_IMPLICIT_TOKEN, and the
// older names of some, as huggingface_hub does. An error names the variable.
func FromEnvironment(getenv func(string) string) (Settings, error) {
	s := Settings{Copies: isTrue(getenv("HF_HUB_DISABLE_SYMLINKS"))}
	if name, value := first(getenv, "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"); isTrue(value) {
		s.Offline = name
	}
	home, err := homeOf(getenv)
	if err != nil {
		return s, err
	}
	_, cache := first(getenv, "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE")
	if s.Cache = expand(getenv, cache); s.Cache == "" {
		s.Cache = filepath.Join(home, "hub")
	}
	if s.Cache, err = filepath.Abs(s.Cache); err != nil {
		return s, err
	}
	if s.Endpoint, err = parseEndpoint(getenv("HF_ENDPOINT")); err != nil {
		return s, err
	}
	if !isTrue(getenv("HF_HUB_DISABLE_IMPLICIT_TOKEN")) {
		s.Token, err = tokenOf(getenv, home)
	}
	return s, err
}

// first is the first of some variables that is set, and its value.
func first(getenv func(string) string, names ...string) (name, value string) {
	for _, name := range names {
		if v := getenv(name); strings.TrimSpace(v) != "" {
			return name, v
		}
	}
	return "", ""
}

func isTrue(s string) bool {
	switch strings.ToUpper(s) {
	case "1", "ON", "YES", "TRUE":
		return true
	}
	return false
}

// homeOf is the folder of all that is Hugging Face's.
func homeOf(getenv func(string) string) (string, error) {
	if home := expand(getenv, getenv("HF_HOME")); home != "" {
		return home, nil
	}
	if cache := expand(getenv, getenv("XDG_CACHE_HOME")); cache != "" {
		return filepath.Join(cache, "huggingface"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("HF_HOME: not set, and the home directory is not known")
	}
	return filepath.Join(home, ".cache", "huggingface"), nil
}

// expand fills in variables and a leading ~/.
func expand(getenv func(string) string, path string) string {
	path = os.Expand(path, getenv)
	if rest, ok := strings.CutPrefix(path, "~"); ok && (rest == "" || os.IsPathSeparator(rest[0])) {
		if home, err := os.UserHomeDir(); err == nil {
			return home + rest
		}
	}
	return path
}

// parseEndpoint checks HF_ENDPOINT.
func parseEndpoint(s string) (*url.URL, error) {
	if s = strings.TrimRight(strings.TrimSpace(s), "/"); s == "" {
		s = DefaultEndpoint
	}
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("HF_ENDPOINT: %.200q, wanted the address of a hub such as https://hub.example", withoutUser(s))
	case u.User != nil:
		return nil, fmt.Errorf("HF_ENDPOINT: %s: a user and password in the address are not taken, use HF_TOKEN", u.Host)
	case u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("HF_ENDPOINT: %s: wanted an address without ? and #", u.Host)
	}
	return u, nil
}

// withoutUser drops what stands before an @: it may be a password.
func withoutUser(s string) string { return s[strings.LastIndexByte(s, '@')+1:] }

// tokenOf is the token of the variable or of its file.
func tokenOf(getenv func(string) string, home string) (string, error) {
	where, token := first(getenv, "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")
	if token == "" {
		where = expand(getenv, getenv("HF_TOKEN_PATH"))
		named := where != ""
		if !named {
			where = filepath.Join(home, "token")
		}
		data, err := readBounded(where, maxToken)
		if err != nil {
			if named && !os.IsNotExist(err) {
				return "", fmt.Errorf("HF_TOKEN_PATH: %s: %w", where, cause(err))
			}
			return "", nil
		}
		token = string(data)
	}
	token = strings.TrimSpace(token)
	for _, c := range []byte(token) {
		if c <= ' ' || c > '~' {
			return "", fmt.Errorf("%s: the token has characters that no token has", where)
		}
	}
	if len(token) > maxToken {
		return "", fmt.Errorf("%s: the token has %d bytes, allowed are %d", where, len(token), maxToken)
	}
	return token, nil
}

// OpenToken reports whether the token would go over a network unencrypted.
func (s Settings) OpenToken() bool {
	if s.Token == "" || s.Endpoint.Scheme == "https" {
		return false
	}
	host := s.Endpoint.Hostname()
	ip := net.ParseIP(host)
	return host != "localhost" && (ip == nil || !ip.IsLoopback())
}
