package server

import (
	"cmp"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/mynah-tts/mynah/internal/voices"
	"github.com/mynah-tts/mynah/synth"
)

// Options say how a server behaves. All may be zero.
type Options struct {
	Limits Limits

	// Keys are what clients of /v1 authenticate with; without any, keys that they send
	// are ignored.
	Keys []string

	// CheckHost refuses requests whose Host is neither a loopback name nor in Hosts.
	// It is for servers on loopback addresses, which pages of a rebound name would
	// reach otherwise, and for others whose names are known.
	CheckHost bool
	Hosts     []string

	// Origins are the pages that may use the API besides the server's own: origins such
	// as "https://example.org", or "*" for all.
	Origins []string

	// ModelID is how /v1/models calls the model; the last element of the engine's name
	// if empty.
	ModelID string

	// Voice speaks when a request names none; the checkpoint's first if empty.
	Voice string

	// Reference is the voice of requests that bring none, for Base checkpoints.
	Reference *synth.Reference

	// Kept are the voices that Base checkpoints speak in besides; none if nil. Clients may
	// add to them and remove from them.
	Kept *voices.Store

	// Voices maps names that clients use, in any case, to the checkpoint's: {"alloy": "ryan"}.
	Voices  map[string]string
	spelled map[string]string // how the names of Voices were given, by those in lower case

	// Format is the response_format of requests that name none; "mp3" if empty.
	Format string

	// Log takes a line for each request, nowhere if nil. It holds no text of users
	// unless LogText is set.
	Log     *slog.Logger
	LogText bool

	// Version is shown in /metrics and on the page.
	Version string
}

// OptionError says what is wrong with Options: by itself, from New, or for the model,
// from Use.
type OptionError struct{ Message string }

func (e *OptionError) Error() string { return "server: " + e.Message }

func optionErrorf(format string, args ...any) error {
	return &OptionError{fmt.Sprintf(format, args...)}
}

// defaultFormat is OpenAI's: clients that name no format can mostly play nothing else.
const defaultFormat = "mp3"

// prepare checks options and fills in defaults.
func (o Options) prepare() (Options, error) {
	var err error
	if o.Limits, err = o.Limits.withDefaults(); err != nil {
		return o, err
	}
	if o.Format == "" {
		o.Format = defaultFormat
	}
	if o.Format, err = parseFormat(o.Format); err != nil {
		return o, optionErrorf("response format: %v", err)
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	for _, key := range o.Keys {
		if key == "" || strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
			return o, optionErrorf("an API key is empty or has characters other than visible ASCII")
		}
	}
	for _, origin := range o.Origins {
		if problem := originProblem(origin); problem != "" {
			return o, optionErrorf("origin %q, %s", origin, problem)
		}
	}
	err = o.foldVoices()
	return o, err
}

// foldVoices puts the names of Voices into lower case, and remembers how they were spelled:
// some clients look for the very ids that they have built in.
func (o *Options) foldVoices() error {
	mapped, spelled := map[string]string{}, map[string]string{}
	for _, from := range slices.Sorted(maps.Keys(o.Voices)) {
		name := strings.ToLower(from)
		if other := spelled[name]; other != "" {
			return optionErrorf("voice map: %q and %q are the same name", other, from)
		}
		mapped[name], spelled[name] = o.Voices[from], from
	}
	if to := mapped[allOpenAI]; to != "" {
		delete(mapped, allOpenAI)
		for _, name := range OpenAIVoices {
			if mapped[name] == "" { // names of their own go before
				mapped[name] = to
			}
		}
	}
	o.Voices, o.spelled = mapped, spelled
	return nil
}

// spelling is a name of Voices as clients are shown it.
func (o *Options) spelling(name string) string { return cmp.Or(o.spelled[name], name) }

// IsLoopback reports whether an address that a listener is bound to is reached from
// this machine alone.
func IsLoopback(addr net.Addr) bool {
	tcp, ok := addr.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

// seconds is a duration in whole seconds, rounded up, for a header.
func seconds(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }
