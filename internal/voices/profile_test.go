package voices

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/mynah-tts/mynah/synth"
)

// A profile comes back bit for bit, and is a reference that synth reads.
func TestProfileRoundTrip(t *testing.T) {
	p := profile("Anna", 7)
	data, err := p.encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := decode(data)
	if err != nil || !reflect.DeepEqual(*got, p) {
		t.Fatalf("read %+v, error %v, want %+v", got, err, p)
	}
	path := filepath.Join(t.TempDir(), "x.json")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if ref, err := synth.ReadReference(path); err != nil || !reflect.DeepEqual(*ref, p.Reference) {
		t.Errorf("synth reads %+v, error %v", ref, err)
	}
	vector := p
	vector.Codes, vector.Text = nil, ""
	if vector.Mode() != ModeVector || p.Mode() != ModeInContext || vector.check() != nil {
		t.Errorf("modes %q and %q, %v", vector.Mode(), p.Mode(), vector.check())
	}
}

// Every field of a file is checked, and what is wrong is one line.
func TestDamagedFiles(t *testing.T) {
	p := profile("Anna", 7)
	good, err := p.encode()
	if err != nil {
		t.Fatal(err)
	}
	edit := func(field string, value any) []byte {
		var all map[string]any
		if err := json.Unmarshal(good, &all); err != nil {
			t.Fatal(err)
		}
		if all[field] = value; value == nil {
			delete(all, field)
		}
		data, err := json.Marshal(all)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	frames := make([][]int32, maxFrames+1)
	for i := range frames {
		frames[i] = []int32{1, 2}
	}
	for _, tc := range []struct {
		name string
		data []byte
		want string
	}{
		{"empty", nil, "no valid JSON"},
		{"zeros", make([]byte, 500), "no valid JSON"},
		{"cut", good[:len(good)/2], "no valid JSON"},
		{"two", append(bytes.Clone(good), '{', '}'), "no valid JSON"},
		{"list", []byte("[]"), "of type array"},
		{"deep", []byte(strings.Repeat("[", 100000)), "no valid JSON"},
		{"another format", edit("format", "voice"), `format is "voice"`},
		{"no format", edit("format", nil), `format is ""`},
		{"later version", edit("version", 2), "version is 2, this program reads 1"},
		{"unknown field", edit("secret", 1), `unknown field "secret"`},
		{"no name", edit("name", nil), "name: it is empty"},
		{"name a path", edit("name", "../x"), "name: "},
		{"name a number", edit("name", 7), "wanted a text"},
		{"no time", edit("created", nil), "created: "},
		{"bad time", edit("created", "yesterday"), "yesterday"},
		{"no model", edit("model", nil), "model: "},
		{"model breaks lines", edit("model", "a\nb"), "model: it has the control character U+000A"},
		{"no digest", edit("model_digest", ""), "model_digest: "},
		{"digest of letters", edit("model_digest", strings.Repeat("g", 64)), "model_digest: "},
		{"no seconds", edit("seconds", nil), "seconds: 0, allowed is more than 0, up to 3600"},
		{"negative seconds", edit("seconds", -1), "seconds: -1"},
		{"seconds far", edit("seconds", 1e300), "seconds: 1e+300"},
		{"long language", edit("language", strings.Repeat("x", 65)), "language: 65 characters"},
		{"long description", edit("description", strings.Repeat("x", 1001)), "description: 1001"},
		{"terminal in consent", edit("consent", "\x1b[31m"), "consent: it has the control character U+001B"},
		{"long text", edit("text", strings.Repeat("x", 4097)), "text: 4097"},
		{"no vector", edit("x_vector", nil), "x_vector: 0 values"},
		{"vector of text", edit("x_vector", []any{"a"}), "wanted a number"},
		{"vector overflows", bytes.Replace(good, []byte("[7,"), []byte("[1e39,"), 1), "x_vector"},
		{"long vector", edit("x_vector", make([]float32, maxVector+1)), "x_vector: 16385"},
		{"codes without text", edit("text", nil), "text: codes need"},
		{"text without codes", edit("codes", nil), "text: a transcript needs"},
		{"ragged codes", edit("codes", [][]int32{{1, 2}, {3}}), "codes: frame 1 has 1 codes"},
		{"empty frame", edit("codes", [][]int32{{}}), "codes: frame 0 has 0 codes"},
		{"negative code", edit("codes", [][]int32{{-1}}), "codes: frame 0: code 0 is -1"},
		{"large code", edit("codes", [][]int32{{1 << 16}}), "is 65536, allowed are 0 to 65535"},
		{"too many frames", edit("codes", frames), "codes: 1501 frames"},
		{"code of a fraction", edit("codes", [][]float64{{0.5}}), "wanted a whole number"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if _, err := decode(tc.data); err == nil || !strings.Contains(err.Error(), tc.want) || strings.ContainsAny(err.Error(), "\n\x1b") {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}

// Whatever stands in a file, it is refused, or it is a profile that is written as it was
// read.
func FuzzDecode(f *testing.F) {
	p := profile("Anna", 7)
	good, err := p.encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add(good[:100])
	f.Add([]byte(`{"format":"mynah voice","version":1,"name":"a","codes":[[]],"x_vector":[1e400]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := decode(data)
		if err != nil {
			if strings.ContainsAny(err.Error(), "\n\r\x1b") {
				t.Errorf("error %q", err)
			}
			return
		}
		again, err := p.encode()
		if err != nil {
			return // longer than it was
		}
		if q, err := decode(again); err != nil || q.Name != p.Name || !reflect.DeepEqual(q.Reference, p.Reference) {
			t.Errorf("%+v became %+v, error %v", p, q, err)
		}
	})
}
