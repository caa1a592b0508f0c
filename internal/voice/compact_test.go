package voice

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"
)

// part is a piece for the writer of these tests.
type part struct {
	kind, rows, width uint32
	payload           []byte
}

// write makes a compact file.
func write(parts ...part) []byte {
	file := binary.LittleEndian.AppendUint32([]byte(magic), uint32(len(parts)))
	for _, p := range parts {
		for _, v := range []uint32{p.kind, p.rows, p.width} {
			file = binary.LittleEndian.AppendUint32(file, v)
		}
	}
	for _, p := range parts {
		file = append(file, p.payload...)
	}
	return file
}

// random returns a compact file of all kinds of pieces, and what it holds, computed in float64.
func random(rng *rand.Rand, rows, width int) (file, held []byte) {
	var parts []part
	text := []byte("a header of an odd length, as no safetensors file has.")[:53]
	parts, held = append(parts, part{verbatim, 1, uint32(len(text)), text}), append(held, text...)
	for range 2 {
		p := part{scaled, uint32(rows), uint32(width), make([]byte, rows+rows*width)}
		for r := range rows {
			e := rng.IntN(largestExponent-leastExponent+1) + leastExponent
			p.payload[r] = byte(int8(e))
			for i := range width {
				q := int8(rng.IntN(256) - 128)
				p.payload[rows+r*width+i] = byte(q)
				bits := math.Float32bits(float32(math.Ldexp(float64(q), e)))
				if bits&0xffff != 0 {
					panic("no bfloat16")
				}
				held = binary.LittleEndian.AppendUint16(held, uint16(bits>>16))
			}
		}
		parts = append(parts, p, part{zeros, 3, 7, nil})
		held = append(held, make([]byte, 21)...)
	}
	return write(parts...), held
}

func open(t testing.TB, file []byte) *compact {
	t.Helper()
	c, err := openCompact(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestExpansion reads what a compact file holds, in one piece and from any place to any other.
func TestExpansion(t *testing.T) {
	for _, size := range []struct{ rows, width int }{{1, 1}, {3, 5}, {2, rowBuffer + 3}, {700, 2000}} { // the last is read by two goroutines
		t.Run(fmt.Sprint(size.rows, "x", size.width), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 2))
			file, want := random(rng, size.rows, size.width)
			c := open(t, file)
			got, err := io.ReadAll(io.NewSectionReader(c, 0, c.size+1))
			if err != nil || !bytes.Equal(got, want) {
				t.Fatalf("read %d bytes, %v, wanted %d others", len(got), err, len(want))
			}
			whole := make([]byte, len(want)+1)
			if n, err := c.ReadAt(whole, 0); n != len(want) || err != io.EOF || !bytes.Equal(whole[:n], want) {
				t.Fatalf("read %d bytes at once, %v, wanted %d others", n, err, len(want))
			}
			for range 300 {
				from := rng.IntN(len(want))
				p := make([]byte, rng.IntN(min(3*size.width+30, len(want)-from))+1)
				if n, err := c.ReadAt(p, int64(from)); n != len(p) || err != nil || !bytes.Equal(p, want[from:from+n]) {
					t.Fatalf("%d bytes at %d: %d, %v, or others than wanted", len(p), from, n, err)
				}
			}
			if n, err := c.ReadAt(whole[:1], c.size); n != 0 || err != io.EOF {
				t.Errorf("behind the end: %d, %v", n, err)
			}
		})
	}
}

// TestWrittenByTool expands what tools/voice/compact.py made of testdata/plain:
//
//	python tools/voice/compact.py internal/voice/testdata/plain internal/voice/testdata/small
func TestWrittenByTool(t *testing.T) {
	want, err := os.ReadFile("testdata/plain/model.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	got, err := fs.ReadFile(expanding{os.DirFS("testdata/small")}, "model.safetensors")
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes, %v, wanted the %d of testdata/plain", len(got), err, len(want))
	}
	file, err := os.ReadFile("testdata/small/model.safetensors" + suffix)
	if err != nil || len(file) > len(want)*4/5 {
		t.Errorf("compact %d bytes, %v, of %d", len(file), err, len(want))
	}
}

// TestDirectory checks the directory as a file system: names, sizes and bytes agree whichever
// way they are asked for.
func TestDirectory(t *testing.T) {
	file, want := random(rand.New(rand.NewPCG(3, 4)), 4, 40)
	fsys := expanding{fstest.MapFS{
		"model.safetensors" + suffix:                  {Data: file},
		"model.safetensors-notes.txt":                 {Data: []byte("sorts before the suffix")},
		"config.json":                                 {Data: []byte("{}")},
		"speech_tokenizer/model.safetensors" + suffix: {Data: file},
	}}
	if err := fstest.TestFS(fsys, "model.safetensors", "model.safetensors-notes.txt", "config.json", "speech_tokenizer/model.safetensors"); err != nil {
		t.Error(err)
	}
	if got, err := fs.ReadFile(fsys, "speech_tokenizer/model.safetensors"); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes, %v, wanted %d others", len(got), err, len(want))
	}
	if found, err := fs.Glob(fsys, "*"+suffix); len(found) != 0 || err != nil {
		t.Errorf("compact files are seen: %q, %v", found, err)
	}
	if _, err := fsys.Open("model.safetensors" + suffix); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a compact file opens under its own name: %v", err)
	}
}

// TestBuiltin reads every file of the voice in the program, as a directory and to its end.
func TestBuiltin(t *testing.T) {
	names := []string{"config.json", "generation_config.json", "merges.txt", "model.safetensors", "preprocessor_config.json", "tokenizer_config.json", "vocab.json",
		"speech_tokenizer/config.json", "speech_tokenizer/model.safetensors", "speech_tokenizer/preprocessor_config.json"}
	if err := fstest.TestFS(FS(), names...); err != nil {
		t.Error(err)
	}
	embedded := 0
	err := fs.WalkDir(files, ".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		embedded += int(info.Size())
		return err
	})
	if err != nil || embedded > 20e6 {
		t.Errorf("the voice takes %d bytes of the program, %v", embedded, err)
	}
}

func TestBroken(t *testing.T) {
	row := []byte{0, 1, 2, 3} // exponent and three numbers
	good := write(part{scaled, 1, 3, row})
	many := append([]byte(magic), 0xff, 0xff, 0xff, 0xff)
	for _, c := range []struct {
		name string
		file []byte
		want string
	}{
		{"empty", nil, "compact form: file of 0 bytes, the shortest has 20"},
		{"short", good[:19], "compact form: file of 19 bytes, the shortest has 20"},
		{"other", []byte("a safetensors file or so"), `compact form: begins with "a safetensors fi", wanted "mynah compact 1\n"`},
		{"no table", good[:25], "compact form: 1 pieces, allowed are 0 to 0 in a file of 25 bytes"},
		{"pieces", many, "compact form: 4294967295 pieces, allowed are 0 to 0 in a file of 20 bytes"},
		{"kind", write(part{kinds, 1, 1, nil}), "compact form: piece 0 is of kind 3, allowed are 0 to 2"},
		{"no rows", write(part{zeros, 0, 4, nil}), "compact form: piece 0 is 0 by 4, allowed are 1 by 1 and up"},
		{"no width", write(part{zeros, 1, 1, nil}, part{scaled, 4, 0, nil}), "compact form: piece 1 is 4 by 0, allowed are 1 by 1 and up"},
		{"large", write(part{zeros, math.MaxUint32, math.MaxUint32, nil}), "compact form: piece 0 of 4294967295 by 4294967295 makes the file larger than the 67108864 bytes that are allowed"},
		{"large sum", write(part{zeros, 1, 1, nil}, part{scaled, 1 << 13, 1 << 12, nil}), "compact form: piece 1 of 8192 by 4096 makes the file larger than the 67108864 bytes that are allowed"},
		{"cut", good[:len(good)-1], "compact form: file of 35 bytes, its pieces end at 36"},
		{"longer", append(bytes.Clone(good), 0), "compact form: file of 37 bytes, its pieces end at 36"},
		{"low", write(part{verbatim, 1, 1, row[:1]}, part{scaled, 1, 1, []byte{0x81, 1}}), "compact form: row 0 of piece 1 has the exponent -127, allowed are -126 to 120"},
		{"high", write(part{scaled, 2, 1, []byte{0, 121, 1, 2}}), "compact form: row 1 of piece 0 has the exponent 121, allowed are -126 to 120"},
	} {
		t.Run(c.name, func(t *testing.T) {
			data, err := fs.ReadFile(expanding{fstest.MapFS{"model" + suffix: {Data: c.file}}}, "model")
			if err == nil {
				t.Fatalf("read %q", data)
			}
			if got := strings.TrimPrefix(err.Error(), "open model: "); got != c.want {
				t.Errorf("error %q, wanted %q", got, c.want)
			}
		})
	}
}

// truncated is a compact file that ends earlier than it says.
type truncated struct{ *bytes.Reader }

func TestTruncatedWhileRead(t *testing.T) {
	file, _ := random(rand.New(rand.NewPCG(5, 6)), 4, 40)
	for cut := range len(file) {
		c, err := openCompact(truncated{bytes.NewReader(file[:cut])}, int64(len(file)))
		if err == nil {
			_, err = io.ReadAll(io.NewSectionReader(c, 0, c.size))
		}
		if !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("cut at %d: %v", cut, err)
		}
	}
}

// FuzzCompact opens arbitrary bytes. Nothing may panic or take much more memory than the file
// is long, every error is one line, and what opens reads the same in any pieces.
func FuzzCompact(f *testing.F) {
	file, _ := random(rand.New(rand.NewPCG(7, 8)), 3, 9)
	f.Add(file)
	f.Add(file[:len(file)-1])
	f.Add(write())
	f.Add(write(part{zeros, 1, maxExpanded, nil}))
	f.Add(write(part{scaled, 1, 2, []byte{0x80, 1, 2}}))
	f.Add(write(part{kinds, 1, 2, nil}))
	f.Fuzz(func(t *testing.T, file []byte) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		c, err := openCompact(bytes.NewReader(file), int64(len(file)))
		runtime.ReadMemStats(&after)
		if used, limit := after.TotalAlloc-before.TotalAlloc, uint64(8*len(file)+1<<20); used > limit {
			t.Errorf("opening %d bytes allocated %d, wanted at most %d", len(file), used, limit)
		}
		if err != nil {
			oneLine(t, err)
			return
		}
		if c.size > 1<<14 { // takes too long for a fuzzer
			return
		}
		whole, err := io.ReadAll(io.NewSectionReader(c, 0, c.size))
		if err != nil {
			oneLine(t, err)
			return
		}
		if int64(len(whole)) != c.size {
			t.Errorf("read %d bytes, wanted %d", len(whole), c.size)
		}
		for off := int64(0); off < c.size; off += 7 {
			p := make([]byte, min(7, c.size-off))
			if _, err := c.ReadAt(p, off); err != nil || !bytes.Equal(p, whole[off:off+int64(len(p))]) {
				t.Fatalf("%d bytes at %d: %v, or others than in one read", len(p), off, err)
			}
		}
	})
}

func oneLine(t *testing.T, err error) {
	if msg := err.Error(); !strings.HasPrefix(msg, "compact form: ") || strings.ContainsAny(msg, "\n\r") {
		t.Errorf("error %q, wanted one line", msg)
	}
}

// BenchmarkExpand expands matrices of twelve million weights, as a voice of 25 MB has.
func BenchmarkExpand(b *testing.B) {
	const rows, width = 24_000, 250
	file, held := random(rand.New(rand.NewPCG(9, 10)), rows, width)
	c := open(b, file)
	b.SetBytes(int64(len(held)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.ReadAt(held, 0); err != nil {
			b.Fatal(err)
		}
	}
}
