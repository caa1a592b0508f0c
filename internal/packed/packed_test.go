package packed

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/mynah-tts/mynah/internal/osfile"
	"github.com/mynah-tts/mynah/internal/safetensors"
)

const packing = 7

var header = Header{
	Holds: WholeModel, Source: strings.Repeat("ab", 32), Packing: packing, Group: 64,
	Talker: "int4-a8", Predictor: "int8", Codec: "f32",
	TalkerError: Error{0.0075, 0.0083}, PredictorError: Error{4e-5, 4e-5},
	Parity: Parity{Frames: 24, Code0Top1: 0.92, Code0KL: 0.0385, ResidualTop1: 1, CodecSNR: math.Inf(1)},
}

var small = fstest.MapFS{
	"config.json":                  {Data: []byte(`{"a": 1}`)},
	"merges.txt":                   {Data: []byte("a b\n")},
	"speech_tokenizer/config.json": {Data: []byte("{}")},
	"speech_tokenizer/notes.json":  {Data: []byte("left out")},
	"README.md":                    {Data: []byte("left out")},
}

var tensors = []safetensors.Tensor{
	{Name: "model/a.int4.codes", DType: safetensors.U32, Shape: []int{2, 16}, Data: safetensors.Values(make([]uint32, 32))},
	{Name: "model/a.int4.scale", DType: safetensors.F32, Shape: []int{16}, Data: safetensors.Values(make([]float32, 16))},
	{Name: "model/norm", DType: safetensors.BF16, Shape: []int{3}, Data: safetensors.Values([]uint16{1, 2, 3})},
	{Name: "speech_tokenizer/norm", DType: safetensors.F32, Shape: []int{1}, Data: safetensors.Values([]float32{5})},
}

func write(t *testing.T, h Header) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "m.packed")
	if err := Write(t.Context(), name, h, small, tensors, nil); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestRoundTrip(t *testing.T) {
	f, err := Open(write(t, header), packing)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if f.Header != header {
		t.Errorf("header %+v, wanted %+v", f.Header, header)
	}
	if got := strings.Join(f.Weights(".").Names(), " "); got != "a.int4.codes a.int4.scale norm" {
		t.Errorf("weights %s", got)
	}
	if v, err := f.Weights("speech_tokenizer").F32("norm", 1); err != nil || v[0] != 5 {
		t.Errorf("codec's norm is %v, error %v", v, err)
	}
	for name, file := range small {
		data, err := fs.ReadFile(f.FS(), name)
		if strings.HasPrefix(string(file.Data), "left out") {
			if !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s: %q, error %v, wanted none", name, data, err)
			}
			continue
		}
		info, statErr := fs.Stat(f.FS(), name)
		if err != nil || statErr != nil || !bytes.Equal(data, file.Data) || info.Size() != int64(len(data)) {
			t.Errorf("%s: %q, errors %v, %v", name, data, err, statErr)
		}
	}
}

// TestDamage cuts the file at every length, and changes every byte that the checksum
// covers.
func TestDamage(t *testing.T) {
	name := write(t, header)
	good, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	refuse := func(data []byte, what string, at int) {
		if err := os.WriteFile(name, data, 0o644); err != nil {
			t.Fatal(err)
		}
		f, err := Open(name, packing)
		if err == nil {
			f.Close()
			t.Errorf("%s at %d of %d bytes: no error", what, at, len(good))
		} else if strings.Contains(err.Error(), "\n") {
			t.Errorf("%s at %d: error of several lines: %v", what, at, err)
		}
	}
	for n := range len(good) {
		refuse(good[:n], "cut", n)
	}
	refuse(append(bytes.Clone(good), 0), "longer", len(good)+1)
	at := bytes.Index(good, []byte("mynah.holds"))
	end := bytes.Index(good, []byte(`"model/a.int4.codes"`))
	changed := bytes.Clone(good)
	change := func(i int) {
		changed[i] ^= 1
		refuse(changed, "changed", i)
		changed[i] ^= 1
	}
	for i := at; i < end-2; i++ {
		change(i)
	}
	for i := range good {
		if bytes.HasPrefix(good[i:], []byte("a b\n")) || bytes.HasPrefix(good[i:], []byte(`{"a": 1}`)) {
			change(i)
		}
	}
	codes := len(good) - len("a b\n") - len(`{"a": 1}`) - len("{}") - 6 - 4 - 4*(32+16)
	for i := range 4 * (32 + 16) {
		change(codes + i)
	}
}

func TestVersions(t *testing.T) {
	if _, err := Open(write(t, header), packing+1); err == nil || err.Error() != "was packed by version 7 of the packing, this Mynah has 8: write it again with mynah quantize" {
		t.Errorf("another packing: %v", err)
	}
	name := write(t, header)
	data, _ := os.ReadFile(name)
	data = bytes.Replace(data, []byte(`"mynah.packed":"2"`), []byte(`"mynah.packed":"9"`), 1)
	if err := os.WriteFile(name, data, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(name, packing); err == nil || err.Error() != `has version "9" of the packed format, this Mynah reads 2: write it again with mynah quantize` {
		t.Errorf("another format: %v", err)
	}
	if !Is(name) || Is(filepath.Join(t.TempDir(), "none")) {
		t.Error("Is: wanted a packed file of any version")
	}
	var foreign bytes.Buffer
	if err := safetensors.Write(&foreign, tensors, nil); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, foreign.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(name, packing); !errors.Is(err, errForeign) || Is(name) {
		t.Errorf("foreign file: %v", err)
	}
}

// TestWriteLeavesNothing fails in the middle of a file.
func TestWriteLeavesNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	dir := t.TempDir()
	if err := Write(ctx, filepath.Join(dir, "m"), header, small, tensors, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left %v, error %v", left, err)
	}
}

// TestWriteChecks has the file that was written aside looked at: it is whole, and what stood
// under the name stays until it is found right. A link to a file stays one.
func TestWriteChecks(t *testing.T) {
	dir := t.TempDir()
	name, link := filepath.Join(dir, "m"), filepath.Join(dir, "link")
	if err := os.WriteFile(name, []byte("before"), 0o600); err != nil {
		t.Fatal(err)
	}
	linked := os.Symlink("m", link) == nil
	if !linked {
		link = name
	}
	holds := func(files int) (content string) {
		t.Helper()
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if all, err := os.ReadDir(dir); err != nil || linked && len(all) != files {
			t.Errorf("the folder has %v, error %v", all, err)
		}
		return string(data)
	}
	wrong := errors.New("is wrong")
	if err := Write(t.Context(), link, header, small, tensors, func(string) error { return wrong }); !errors.Is(err, wrong) {
		t.Errorf("error %v", err)
	}
	if got := holds(2); got != "before" {
		t.Errorf("after a failed check the file holds %.20q", got)
	}
	err := Write(t.Context(), link, header, small, tensors, func(aside string) error {
		if got := holds(3); got != "before" {
			t.Errorf("during the check the file holds %.20q", got)
		}
		f, err := Open(aside, packing)
		if err != nil {
			return err
		}
		defer f.Close()
		return f.Verify(t.Context())
	})
	if err != nil {
		t.Fatal(err)
	}
	if holds(2); !Is(name) {
		t.Error("the file was not replaced")
	}
	if info, err := os.Lstat(link); err != nil || linked && info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link is %v now, error %v", info.Mode(), err)
	}
}

// checkpoint makes a directory of files that changed a minute ago.
func checkpoint(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"config.json", "model.safetensors", "speech_tokenizer/model.safetensors", "README.md"} {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		change(t, file, name, time.Minute)
	}
	return dir
}

func change(t *testing.T, file, content string, ago time.Duration) {
	t.Helper()
	if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	when := time.Now().Add(-ago)
	if err := os.Chtimes(file, when, when); err != nil {
		t.Fatal(err)
	}
}

func digest(t *testing.T, c Cache, dir string) string {
	t.Helper()
	d, err := c.Digest(dir)
	if err != nil {
		t.Fatal(err)
	}
	if want, err := DigestDir(dir); err != nil || d != want {
		t.Errorf("digest %s, in full %s, error %v", d, want, err)
	}
	return d
}

func TestDigest(t *testing.T) {
	dir, c := checkpoint(t), Cache{filepath.Join(t.TempDir(), "a", "b")}
	first := digest(t, c, dir)
	if len(c.remembered()) != 3 {
		t.Errorf("remembered %v, wanted three files", c.remembered())
	}
	if again := digest(t, c, dir); again != first {
		t.Errorf("digest %s, before %s", again, first)
	}
	change(t, filepath.Join(dir, "README.md"), "other words", time.Minute)
	if again := digest(t, c, dir); again != first {
		t.Error("a file that is no part of the model changed the digest")
	}
	if err := os.Mkdir(filepath.Join(dir, "old.safetensors"), 0o777); err != nil { // a pipe would be waited for
		t.Fatal(err)
	}
	if again := digest(t, c, dir); again != first {
		t.Error("a folder that is named like weights changed the digest")
	}
	weights := filepath.Join(dir, "model.safetensors")
	change(t, weights, "modem.safetensors", time.Hour) // as long as before
	second := digest(t, c, dir)
	change(t, weights, "longer than before", 0)
	third := digest(t, c, dir)
	if first == second || second == third {
		t.Error("a change of the weights did not change the digest")
	}
	change(t, weights, "longer than befort", 0) // in the same moment
	if fourth := digest(t, c, dir); fourth == third {
		t.Error("a change within the clock's grain did not change the digest")
	}
}

// TestDigestIsRemembered shows that a file that looks as before is not read again, by
// a wrong digest in the memory, and that a damaged memory is no obstacle.
func TestDigestIsRemembered(t *testing.T) {
	dir, c := checkpoint(t), Cache{t.TempDir()}
	first := digest(t, c, dir)
	file := filepath.Join(c.Dir, digestsFile)
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	sum, err := Sum(os.DirFS(dir), "config.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, bytes.ReplaceAll(data, []byte(sum), []byte(strings.Repeat("0", 64))), 0o644); err != nil {
		t.Fatal(err)
	}
	if d, err := c.Digest(dir); err != nil || d == first {
		t.Errorf("digest %s, error %v: the file was read again", d, err)
	}
	for _, garbage := range []string{"", "{", "null", `{"x": 1}`, "[]", string(bytes.ReplaceAll(data, []byte(sum), []byte("../../x")))} {
		if err := os.WriteFile(file, []byte(garbage), 0o644); err != nil {
			t.Fatal(err)
		}
		if d := digest(t, c, dir); d != first {
			t.Errorf("memory %.20q: digest %s, wanted %s", garbage, d, first)
		}
	}
}

// TestCacheSweepsAside opens a cache in which writers were killed: what they left goes once it is old.
func TestCacheSweepsAside(t *testing.T) {
	c := Cache{t.TempDir()}
	aside := func() string {
		t.Helper()
		f, err := osfile.CreatePending(filepath.Join(c.Dir, "x.safetensors"))
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		return f.Name()
	}
	old, other, young := aside(), filepath.Join(c.Dir, "mine.tmp"), aside()
	change(t, old, "half", time.Hour)
	change(t, other, "half", time.Hour)
	if _, err := c.Open(c.Path(header.Source, "int4-int8", packing), header.Source, packing); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v", err)
	}
	for name, want := range map[string]bool{old: false, other: true, young: true} {
		if _, err := os.Stat(name); (err == nil) != want {
			t.Errorf("%s: %v", filepath.Base(name), err)
		}
	}
}

func TestCache(t *testing.T) {
	c := Cache{filepath.Join(t.TempDir(), "packed")}
	path := c.Path(header.Source, "int4-int8", packing)
	if _, err := c.Open(path, header.Source, packing); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("empty cache: %v", err)
	}
	if err := c.Write(path, header, tensors[:2]); err != nil {
		t.Fatal(err)
	}
	f, err := c.Open(path, header.Source, packing)
	if err != nil {
		t.Fatal(err)
	}
	if f.Holds != MatricesOnly || len(f.Weights(".").Names()) != 2 {
		t.Errorf("holds %s, %v", f.Holds, f.Weights(".").Names())
	}
	f.Close()
	if _, err := c.Open(path, strings.Repeat("00", 32), packing); err == nil {
		t.Error("matrices of another checkpoint were taken")
	}
}
