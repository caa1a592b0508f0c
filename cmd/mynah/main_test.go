package main

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mewkiz/flac"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/mynah-tts/mynah/internal/audio"
	"github.com/mynah-tts/mynah/internal/config"
	"github.com/mynah-tts/mynah/internal/cpu"
	"github.com/mynah-tts/mynah/internal/voice"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"mynah": main})
}

// The scripts run the program as users do. Besides testscript's own commands they use
//
//	code N COMMAND...    run a command that must end with exit code N
//	wav FILE FRAMES      FILE is an exact WAV of so many frames of 80 ms, 0 for any number
//	size FILE N          FILE has N bytes
//	flac FILE PCM        FILE decodes to the samples in PCM
//	begins FILE HEX      FILE begins with these bytes
//	alone                no other program can be found from here on
//	header FILE          FILE begins with the header of a WAV stream of unknown length
//	appears PATTERN      wait for a file
//	nothing PATTERN      there is no such file
//	checkpoint DIR       write the built-in voice into DIR
//	cut PATTERN N        take the last N bytes from a file
//
// the variables BASE and CUSTOM, which name small random checkpoints of those kinds, and the condition "bound": permissions of files bind whoever runs the test.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Condition: func(name string) (bool, error) {
			if name != "bound" {
				return false, errors.New("unknown condition " + name)
			}
			return os.Getuid() > 0, nil // root writes anywhere, Windows knows no such bits
		},
		Setup: func(e *testscript.Env) error {
			if level, ok := os.LookupEnv(cpu.EnvLevel); ok {
				e.Setenv(cpu.EnvLevel, level)
			}
			e.Setenv(config.Variable("cache"), "cache") // in the script's own folder
			models, err := filepath.Abs("../../testdata/parity/models")
			e.Setenv("BASE", filepath.Join(models, "tiny-base"))
			e.Setenv("CUSTOM", filepath.Join(models, "tiny-custom"))
			return err
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"code": cmdCode, "wav": cmdWAV, "size": cmdSize, "header": cmdHeader, "flac": cmdFLAC, "begins": cmdBegins, "alone": cmdAlone,
			"appears": cmdAppears, "nothing": cmdNothing, "checkpoint": cmdCheckpoint, "cut": cmdCut, "silence": cmdSilence,
		},
	})
}

func number(ts *testscript.TestScript, s string) int {
	n, err := strconv.Atoi(s)
	ts.Check(err)
	return n
}

func cmdCode(ts *testscript.TestScript, _ bool, args []string) {
	code := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		code = exit.ExitCode()
	}
	if want := number(ts, args[0]); code != want {
		ts.Fatalf("exit code %d, want %d", code, want)
	}
}

const (
	frameSamples = 1920
	headerBytes  = 44
)

func cmdWAV(ts *testscript.TestScript, _ bool, args []string) {
	name := ts.MkAbs(args[0])
	f, err := os.Open(name)
	ts.Check(err)
	defer f.Close()
	clip, err := audio.ReadWAV(f, audio.Limits{Bytes: 100 << 20, Seconds: 1000})
	ts.Check(err)
	if clip.Rate != 24000 || clip.Channels != 1 || len(clip.Samples)%frameSamples != 0 {
		ts.Fatalf("%d Hz, %d channels, %d samples", clip.Rate, clip.Channels, len(clip.Samples))
	}
	if want := number(ts, args[1]); want > 0 && len(clip.Samples) != want*frameSamples {
		ts.Fatalf("%d samples, want %d frames of %d", len(clip.Samples), want, frameSamples)
	}
	loudest := float32(0)
	for _, x := range clip.Samples {
		loudest = max(loudest, x, -x)
	}
	if loudest == 0 {
		ts.Fatalf("%s is silent", name)
	}
	data := ts.ReadFile(args[0])
	le := binary.LittleEndian
	if riff, samples := le.Uint32([]byte(data[4:])), le.Uint32([]byte(data[40:])); int(riff) != len(data)-8 || int(samples) != len(data)-headerBytes {
		ts.Fatalf("header says %d and %d bytes, the file has %d", riff, samples, len(data))
	}
}

func cmdSize(ts *testscript.TestScript, _ bool, args []string) {
	if got, want := len(ts.ReadFile(args[0])), number(ts, args[1]); got != want {
		ts.Fatalf("%s has %d bytes, want %d", args[0], got, want)
	}
}

func cmdHeader(ts *testscript.TestScript, _ bool, args []string) {
	data := ts.ReadFile(args[0])
	if len(data) < headerBytes || data[:8] != "RIFF\xff\xff\xff\xff" || data[36:headerBytes] != "data\xff\xff\xff\xff" {
		ts.Fatalf("%s begins with %q", args[0], data[:min(len(data), headerBytes)])
	}
}

func cmdFLAC(ts *testscript.TestScript, _ bool, args []string) {
	stream, err := flac.ParseFile(ts.MkAbs(args[0]))
	ts.Check(err)
	defer stream.Close()
	var pcm []byte
	for {
		frame, err := stream.ParseNext()
		if errors.Is(err, io.EOF) {
			break
		}
		ts.Check(err)
		for _, x := range frame.Subframes[0].Samples {
			pcm = binary.LittleEndian.AppendUint16(pcm, uint16(x))
		}
	}
	if string(pcm) != ts.ReadFile(args[1]) {
		ts.Fatalf("%s decodes to %d bytes that are not those of %s", args[0], len(pcm), args[1])
	}
}

func cmdBegins(ts *testscript.TestScript, _ bool, args []string) {
	data := ts.ReadFile(args[0])
	if got := hex.EncodeToString([]byte(data)); !strings.HasPrefix(got, args[1]) {
		ts.Fatalf("%s begins with %.16s, want %s", args[0], got, args[1])
	}
}

// cmdAlone relies on testscript, which puts the folder of the program under test first.
func cmdAlone(ts *testscript.TestScript, _ bool, _ []string) {
	ts.Setenv("PATH", filepath.SplitList(ts.Getenv("PATH"))[0])
}

// patience bounds the wait for a file.
const patience = 30 * time.Second

func cmdAppears(ts *testscript.TestScript, _ bool, args []string) {
	for begun := time.Now(); time.Since(begun) < patience; time.Sleep(10 * time.Millisecond) {
		if found, err := filepath.Glob(ts.MkAbs(args[0])); len(found) > 0 || err != nil {
			ts.Check(err)
			return
		}
	}
	ts.Fatalf("%s did not appear", args[0])
}

func cmdNothing(ts *testscript.TestScript, _ bool, args []string) {
	found, err := filepath.Glob(ts.MkAbs(args[0]))
	ts.Check(err)
	if len(found) > 0 {
		ts.Fatalf("there is %q", found)
	}
}

func cmdCheckpoint(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(os.CopyFS(ts.MkAbs(args[0]), voice.FS()))
}

func cmdCut(ts *testscript.TestScript, _ bool, args []string) {
	found, err := filepath.Glob(ts.MkAbs(args[0]))
	ts.Check(err)
	if len(found) != 1 {
		ts.Fatalf("%s is %q, want one file", args[0], found)
	}
	info, err := os.Stat(found[0])
	ts.Check(err)
	ts.Check(os.Truncate(found[0], info.Size()-int64(number(ts, args[1]))))
}

// cmdSilence writes a file of so many samples that are 0.
func cmdSilence(ts *testscript.TestScript, _ bool, args []string) {
	e, err := audio.CreateEncoder(ts.MkAbs(args[0]), 24000, audio.Encoding{Format: audio.WAV})
	ts.Check(err)
	ts.Check(e.Write(make([]float32, number(ts, args[1]))))
	ts.Check(e.Close())
}

func TestOneLine(t *testing.T) {
	for in, want := range map[string]string{
		"plain … ü 日本":          "plain … ü 日本",
		"a\nb\r\tc\x1b[31m\x00": `a\nb\r\tc\x1b[31m\x00`,
		"quote ' and \"":        "quote ' and \"",
		"\u202egnp.exe":         `\u202egnp.exe`,
		"\xff":                  "\uFFFD",
	} {
		if got := oneLine(in); got != want {
			t.Errorf("oneLine(%q) is %q, want %q", in, got, want)
		}
	}
}

func TestReadText(t *testing.T) {
	for in, want := range map[string]string{
		"Hello.":                         "Hello.",
		"Hello.\n":                       "Hello.",
		"\uFEFFOne.\r\nTwo.\r\n\r\n":     "One.\nTwo.",
		"One.\nTwo.\r\nThree.\u2028Four": "One.\nTwo.\nThree.\u2028Four",
	} {
		if got, err := readText("x", strings.NewReader(in)); got != want || err != nil {
			t.Errorf("%q was read as %q, error %v, want %q", in, got, err, want)
		}
	}
	for in, want := range map[string]string{
		"":                                "x: is empty, nothing to say",
		"\uFEFF\r\n":                      "x: is empty, nothing to say",
		"\xFF\xFEH\x00":                   "x: is UTF-16, wanted UTF-8",
		string(make([]byte, 1<<20)) + " ": "x: over 1048576 bytes, that is too much at once",
	} {
		if _, err := readText("x", strings.NewReader(in)); err == nil || err.Error() != want {
			t.Errorf("%.10q gave %v, want %q", in, err, want)
		}
	}
}
