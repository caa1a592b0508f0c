package config

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// grammar is a small program: two commands that share flags.
type grammar struct {
	Say   sayCommand   `cmd:"" help:"Speak."`
	Serve serveCommand `cmd:"" help:"Serve."`
	Plain struct{}     `cmd:"" help:"Takes no settings."`

	Voices voicesCommand `cmd:"" help:"Commands below one, which has no flags of its own and the name of a key."`
}

type voicesCommand struct {
	Add addCommand `cmd:"" help:"Add."`
}

type addCommand struct {
	Common
	Voices  string `help:"Folder."`
	Consent string `help:"Who agreed."`
}

type shared struct {
	Common
	Voice  string   `help:"Who speaks." unset:"the first"`
	TopP   *float64 `help:"Share." placeholder:"P"`
	Seed   *int64   `help:"Seed."`
	Layout string   `help:"Layout." allowed:"streaming,whole"`
	Model  string   `help:"Checkpoint." type:"path"`
}

type sayCommand struct {
	shared
	Text    []string `arg:"" optional:"" help:"What to say."`
	Format  string   `help:"Format." default:"wav"`
	Threads int      `help:"Workers." range:"0,256"`
	Quiet   bool     `short:"q" help:"Say less."`
	Output  string   `short:"o" help:"File." type:"path"`
}

type serveCommand struct {
	shared
	Addr string `help:"Address."`

	Voices string `help:"Folder."`
	Quiet  string `name:"quiet" setting:"quiet-file" help:"File for silence."`
}

// parse runs a command line with a config file of the given content ("" for none)
// and returns what was filled in.
func parse(t *testing.T, file string, environ []string, args ...string) (*grammar, *Parser, error) {
	t.Helper()
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	g := &grammar{}
	p, err := New(g, []string{"MYNAH_CPU"}, kong.Exit(func(int) { t.Fatal("exit") }))
	if err != nil {
		t.Fatal(err)
	}
	if file != "" {
		args = append(args, "--config", write(t, file))
	}
	_, err = p.Parse(args, environ)
	return g, p, err
}

func write(t *testing.T, content string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "c.toml")
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestPrecedence(t *testing.T) {
	const file = "voice = \"top\"\n[say]\nvoice = \"table\"\n"
	for _, tc := range []struct {
		name, file string
		environ    []string
		args       []string
		want       string
		origin     string
	}{
		{"default", "", nil, []string{"say"}, "", "--voice"},
		{"top of the file", "voice = \"top\"", nil, []string{"say"}, "top", ":1: voice"},
		{"table before top", file, nil, []string{"say"}, "table", ":3: say.voice"},
		{"variable before file", file, []string{"MYNAH_VOICE=env"}, []string{"say"}, "env", "MYNAH_VOICE"},
		{"empty variable is none", file, []string{"MYNAH_VOICE="}, []string{"say"}, "table", ":3: say.voice"},
		{"empty value is none", "voice = \"top\"\n[say]\nvoice = \"\"", nil, []string{"say"}, "", "--voice"},
		{"flag before all", file, []string{"MYNAH_VOICE=env"}, []string{"say", "--voice", "flag"}, "flag", "--voice"},
		{"dotted key", "say.voice = \"dotted\"", nil, []string{"say"}, "dotted", ":1: say.voice"},
		{"byte order mark", "\uFEFFvoice = \"top\"\r\n", nil, []string{"say"}, "top", ":1: voice"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g, p, err := parse(t, tc.file, tc.environ, tc.args...)
			if err != nil {
				t.Fatal(err)
			}
			if g.Say.Voice != tc.want {
				t.Errorf("voice is %q, want %q", g.Say.Voice, tc.want)
			}
			if got := p.Origin("voice"); !strings.HasSuffix(got, tc.origin) {
				t.Errorf("origin is %q, want %q", got, tc.origin)
			}
		})
	}
}

func TestTableOfOneCommandOnly(t *testing.T) {
	g, _, err := parse(t, "voice = \"top\"\n[say]\nvoice = \"table\"\n[serve]\naddr = \"x\"\n", nil, "serve")
	if err != nil {
		t.Fatal(err)
	}
	if g.Serve.Voice != "top" || g.Serve.Addr != "x" {
		t.Errorf("serve got voice %q, addr %q", g.Serve.Voice, g.Serve.Addr)
	}
}

// A command below another has a table in that one's table, which needs no flags of its own
// and may have the name of a key.
func TestTableOfNestedCommand(t *testing.T) {
	for _, tc := range []struct {
		name, file, want string
	}{
		{"table", "[voices.add]\nconsent = \"c\"\nvoices = \"v\"\n", "c v"},
		{"dotted keys", "voices.add.consent = \"c\"\nvoices.add.voices = \"v\"\n", "c v"},
		{"table in a table", "[voices]\n[voices.add]\nconsent = \"c\"\n[serve]\nvoices = \"s\"\n", "c "},
		{"table before top", "consent = \"top\"\n[voices.add]\nconsent = \"c\"\n", "c "},
		{"key of that name", "voices = \"v\"\nconsent = \"top\"\n", "top v"},
		{"table of the command above", "consent = \"top\"\n[voices]\nvoices = \"v\"\nconsent = \"c\"\n", "c v"},
		{"table before that of the command above", "[voices]\nvoices = \"v\"\nconsent = \"v\"\n[voices.add]\nconsent = \"c\"\n", "c v"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g, _, err := parse(t, tc.file, nil, "voices", "add")
			if err != nil {
				t.Fatal(err)
			}
			if got := g.Voices.Add.Consent + " " + g.Voices.Add.Voices; got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
			if _, _, err := parse(t, tc.file, nil, "say"); err != nil {
				t.Errorf("another command: %v", err)
			}
		})
	}
}

func TestValues(t *testing.T) {
	p, seed := 0.5, int64(-1)
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	want := sayCommand{
		shared: shared{TopP: &p, Seed: &seed, Layout: "whole", Model: filepath.Join(home, "m")},
		Format: "pcm", Threads: 3, Quiet: true, Output: "-",
	}
	for _, tc := range []struct {
		name, file string
		environ    []string
		args       []string
	}{
		{"flags", "", nil, []string{"--top-p=0.5", "--seed", "-1", "--layout", "WHOLE", "--model=~/m", "--format", "pcm", "--threads=3", "-q", "-o", "-"}},
		{"short with equals sign", "", nil, []string{"--top-p", ".5", "--seed=-1", "--layout=whole", "--model=~/m", "--format", "pcm", "--threads=3", "-qo=-"}},
		{"variables", "", []string{"MYNAH_TOP_P=0.5", "MYNAH_SEED=-1", "MYNAH_LAYOUT=whole", "MYNAH_MODEL=~/m", "MYNAH_FORMAT=pcm",
			"MYNAH_THREADS=3", "MYNAH_QUIET=1", "MYNAH_OUTPUT=-"}, nil},
		{"file", "top_p = 0.5\nseed = -1\nlayout = \"whole\"\nmodel = \"~/m\"\nformat = \"pcm\"\nthreads = 3\nquiet = true\noutput = \"-\"\n", nil, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g, _, err := parse(t, tc.file, tc.environ, append([]string{"say"}, tc.args...)...)
			if err != nil {
				t.Fatal(err)
			}
			g.Say.Config = ""
			if !reflect.DeepEqual(g.Say, want) {
				t.Errorf("got %+v, want %+v", g.Say, want)
			}
		})
	}
}

func TestErrors(t *testing.T) {
	for _, tc := range []struct {
		name, file string
		environ    []string
		args       []string
		want       string // end of the message
	}{
		{"unknown key", "\nvoise = 1", nil, []string{"say"}, `c.toml:2: unknown key "voise", did you mean voice?`},
		{"dashes in a key", "top-p = 1", nil, []string{"say"}, `c.toml:1: unknown key "top-p", did you mean top_p?`},
		{"unknown key in a table", "[say]\n\naddr = 1", nil, []string{"say"}, `c.toml:3: unknown key "addr" in table say`},
		{"mistake in another command's table", "[serve]\nx = 1", nil, []string{"say"}, `c.toml:2: unknown key "x" in table serve`},
		{"unknown table", "[sayy]\nvoice = \"x\"", nil, []string{"say"}, `c.toml:1: unknown table "sayy", did you mean say?`},
		{"unknown table in a table", "[voices.ad]\nconsent = \"x\"", nil, []string{"say"}, `c.toml:1: unknown table "voices.ad", did you mean voices.add?`},
		{"unknown key in a nested table", "[voices.add]\n\nconsnt = 1", nil, []string{"say"}, `c.toml:3: unknown key "consnt" in table voices.add, did you mean consent?`},
		{"unknown table around a table", "\n\n[voicess.add]\nconsent = \"x\"", nil, []string{"say"}, `c.toml:3: unknown table "voicess", did you mean voices?`},
		{"first mistake before a nested table's", "\na = 1\n[voices.add]\nb = 1", nil, []string{"say"}, `c.toml:2: unknown key "a"`},
		{"another command's key in a table of tables", "[voices]\naddr = \"x\"", nil, []string{"say"}, `c.toml:2: unknown key "addr" in table voices`},
		{"a value where a table stands", "say = 1", nil, []string{"say"}, `c.toml:1: unknown key "say"`},
		{"a table where a value stands", "[voice]\nx = 1", nil, []string{"say"}, `c.toml:1: voice: wanted one text, number, true or false`},
		{"array", "voice = [\"a\"]", nil, []string{"say"}, `c.toml:1: voice: wanted one text, number, true or false`},
		{"config key in the file", "config = \"x\"", nil, []string{"say"}, `c.toml:1: unknown key "config"`},
		{"first mistake first", "a = 1\nb = 1", nil, []string{"say"}, `c.toml:1: unknown key "a"`},
		{"syntax", "voice = \n", nil, []string{"say"}, `c.toml:1: expected value but found '\n' instead`},
		{"file value", "\n[say]\ntop_p = \"much\"", nil, []string{"say"}, `c.toml:3: say.top_p: "much", wanted a number`},
		{"variable value", "", []string{"MYNAH_TOP_P=much"}, []string{"say"}, `MYNAH_TOP_P: "much", wanted a number`},
		{"flag value", "", nil, []string{"say", "--top-p", "much"}, `--top-p: "much", wanted a number`},
		{"not a number", "", nil, []string{"say", "--top-p", "nan"}, `--top-p: "nan", wanted a number`},
		{"infinite", "", nil, []string{"say", "--top-p=-inf"}, `--top-p: "-inf", wanted a number`},
		{"fraction", "", nil, []string{"say", "--seed", "1.5"}, `--seed: "1.5", wanted a whole number`},
		{"too large", "", nil, []string{"say", "--seed", "9223372036854775808"}, `--seed: "9223372036854775808" is out of range`},
		{"range", "", nil, []string{"say", "--threads", "257"}, `--threads: 257, allowed are 0 to 256`},
		{"range in the file", "threads = -1", nil, []string{"say"}, `c.toml:1: threads: -1, allowed are 0 to 256`},
		{"allowed", "", nil, []string{"say", "--layout", "x"}, `--layout: "x", allowed are streaming, whole`},
		{"switch", "", nil, []string{"say", "--quiet=maybe"}, `--quiet: "maybe", allowed are true and false`},
		{"nothing follows", "", nil, []string{"say", "--voice"}, `--voice: a value is missing`},
		{"a flag follows", "", nil, []string{"say", "--voice", "--quiet"}, `--voice: a value is missing, "--quiet" follows`},
		{"empty flag", "", nil, []string{"say", "--model", ""}, `--model: a value is missing`},
		{"named file is missing", "", nil, []string{"say", "--config", "no/such"}, `no/such: no such file or directory`},
		{"file of the variable is missing", "", []string{"MYNAH_CONFIG=no/such"}, []string{"say"}, `no/such: no such file or directory`},
		{"file is a directory", "", nil, []string{"say", "--config", "."}, `.: is a directory`},
		{"unknown flag", "", nil, []string{"say", "--vioce", "x"}, `unknown flag --vioce, did you mean "--voice"?`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, _, err := parse(t, tc.file, tc.environ, tc.args...)
			if err == nil {
				t.Fatal("no error")
			}
			var parse *kong.ParseError
			var own *Error
			if !errors.As(err, &parse) && !errors.As(err, &own) {
				t.Errorf("error is a %T", err)
			}
			if got := err.Error(); !strings.HasSuffix(got, tc.want) {
				t.Errorf("error is %q,\nwant %q", got, tc.want)
			}
		})
	}
}

func TestFileInTheUsersDirectory(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", dir)
	if err := os.Mkdir(filepath.Join(dir, "mynah"), 0o700); err != nil {
		t.Fatal(err)
	}
	if filepath.Dir(filepath.Dir(DefaultPath())) != dir {
		t.Skip("this system keeps settings elsewhere")
	}
	if err := os.WriteFile(DefaultPath(), []byte("voice = \"home\""), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		environ []string
		want    string
	}{
		{nil, "home"},
		{[]string{"MYNAH_CONFIG=" + write(t, "voice = \"named\"")}, "named"},
	} {
		g := &grammar{}
		p, err := New(g, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Parse([]string{"say"}, tc.environ); err != nil {
			t.Fatal(err)
		}
		if g.Say.Voice != tc.want {
			t.Errorf("voice is %q, want %q", g.Say.Voice, tc.want)
		}
	}
}

// A home that is no folder, as services have it, has no config file, and that is no error.
func TestNoUsersDirectory(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(write(t, ""), "x")) // below a file
	g := &grammar{}
	p, err := New(g, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Parse([]string{"say", "--voice", "a"}, nil); err != nil || g.Say.Voice != "a" {
		t.Errorf("voice %q, error %v", g.Say.Voice, err)
	}
}

// The variable's ~/ is the home directory, as it is for the flag and for all other paths.
func TestFileOfTheVariableAtHome(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	if err := os.WriteFile(filepath.Join(home, "x.toml"), []byte("voice = \"home\""), 0o600); err != nil {
		t.Fatal(err)
	}
	g, _, err := parse(t, "", []string{"MYNAH_CONFIG=~/x.toml"}, "say")
	if err != nil {
		t.Fatal(err)
	}
	if g.Say.Voice != "home" {
		t.Errorf("voice is %q", g.Say.Voice)
	}
}

// A command without --config must run whatever the file says.
func TestCommandWithoutSettings(t *testing.T) {
	if _, _, err := parse(t, "", []string{"MYNAH_CONFIG=no/such"}, "plain"); err != nil {
		t.Error(err)
	}
}

func TestUnknownVariables(t *testing.T) {
	for _, tc := range []struct {
		environ []string
		want    string
	}{
		{[]string{"MYNAH_VOICE=x", "MYNAH_CPU=avx2", "MYNAH_CONFIG=", "MYNAH_ADDR=", "PATH=x"}, ""},
		{[]string{"MYNAH_VOISE=x"}, "unknown variable MYNAH_VOISE is ignored, did you mean MYNAH_VOICE?"},
		{[]string{"MYNAH_ZEBRA=x", "MYNAH_ANT=x"}, "unknown variables MYNAH_ANT, MYNAH_ZEBRA are ignored"},
	} {
		_, p, err := parse(t, "", tc.environ, "say")
		if err != nil {
			t.Fatal(err)
		}
		if got := p.UnknownVariables(); got != tc.want {
			t.Errorf("%q: got %q, want %q", tc.environ, got, tc.want)
		}
	}
}

// TestSetting: a flag that means something else in another command is a setting of its
// own, in environment, file and help.
func TestSetting(t *testing.T) {
	environ := []string{"MYNAH_QUIET=true"}
	g, _, err := parse(t, "quiet_file = \"x\"\n", environ, "serve")
	if err != nil || g.Serve.Quiet != "x" {
		t.Errorf("%q, %v", g.Serve.Quiet, err)
	}
	g, p, err := parse(t, "[serve]\nquiet_file = \"x\"\n", append(environ, "MYNAH_QUIET_FILE=y"), "serve")
	if err != nil || g.Serve.Quiet != "y" || p.Origin("quiet") != "MYNAH_QUIET_FILE" || p.UnknownVariables() != "" {
		t.Errorf("%q from %s, %v, %s", g.Serve.Quiet, p.Origin("quiet"), err, p.UnknownVariables())
	}
	g, _, err = parse(t, "quiet_file = \"x\"\nquiet = true\n", nil, "say")
	if err != nil || !g.Say.Quiet {
		t.Errorf("%v, %v", g.Say.Quiet, err)
	}
	if _, _, err := parse(t, "[serve]\nquiet = \"x\"\n", nil, "serve"); err == nil || !strings.Contains(err.Error(), `unknown key "quiet" in table serve`) {
		t.Errorf("error %v", err)
	}
	for _, l := range p.Model.Leaves(false) {
		for _, f := range l.Flags {
			if f.Name == "quiet" && l.Name == "serve" && !strings.HasSuffix(describe(f.Value), "(MYNAH_QUIET_FILE, quiet_file)") {
				t.Errorf("help: %s", describe(f.Value))
			}
		}
	}
}

func TestHelpNamesEverySource(t *testing.T) {
	var out bytes.Buffer
	p, err := New(&grammar{}, nil, kong.Writers(&out, &out), kong.Exit(func(int) { panic("exit") }))
	if err != nil {
		t.Fatal(err)
	}
	func() {
		defer func() { recover() }()
		p.Parse([]string{"say", "--help", "--config", "no/such"}, nil)
	}()
	got := strings.Join(strings.Fields(out.String()), " ")
	for _, want := range []string{
		"--top-p=P Share. (MYNAH_TOP_P, top_p)",
		"Who speaks. Default: the first. (MYNAH_VOICE, voice)",
		"Layout. Allowed: streaming, whole. (MYNAH_LAYOUT, layout)",
		"Workers. Allowed: 0 to 256. (MYNAH_THREADS, threads)",
		"Config file (TOML). (MYNAH_CONFIG)",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("help lacks %q:\n%s", want, out.String())
		}
	}
}

func TestTypos(t *testing.T) {
	for _, tc := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "ab", 2}, {"voice", "voice", 0}, {"vioce", "voice", 2}, {"voise", "voice", 1}, {"kitten", "sitting", 3}} {
		if got := typos(tc.a, tc.b); got != tc.want {
			t.Errorf("typos(%q, %q) is %d, want %d", tc.a, tc.b, got, tc.want)
		}
	}
}

func FuzzReadFile(f *testing.F) {
	f.Add("voice = \"x\"\n[say]\ntop_p = 1\n")
	f.Add("a.b.c = [1, {x = 2}]\n[[say]]\n")
	f.Add("[voices.add]\nconsent = \"x\"\n[voices.ad.d]\n")
	f.Add("say = 1979-05-27T07:32:00Z")
	p, err := New(&grammar{}, nil)
	if err != nil {
		f.Fatal(err)
	}
	known := settings(p.Model)
	f.Fuzz(func(t *testing.T, content string) {
		_, err := readFile(write(t, content), known)
		var own *Error
		if err != nil && !errors.As(err, &own) {
			t.Errorf("error without a place: %v", err)
		}
	})
}
