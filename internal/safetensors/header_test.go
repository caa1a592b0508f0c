package safetensors

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
)

// fileOf returns a file with this header, unpadded, and this many bytes of data.
func fileOf(header string, data int) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	b = append(b, header...)
	for i := range data {
		b = append(b, byte(i))
	}
	return b
}

// lengthOf returns a file that begins with this header length and goes on with rest.
func lengthOf(n uint64, rest string) []byte {
	return append(binary.LittleEndian.AppendUint64(nil, n), rest...)
}

func openBytes(b []byte) (*Set, error) {
	return Open(fstest.MapFS{"m.safetensors": {Data: b}}, "m.safetensors")
}

// entry returns one tensor of a header.
func entry(name, dtype, shape, offsets string) string {
	return fmt.Sprintf(`"%s":{"dtype":"%s","shape":%s,"data_offsets":%s}`, name, dtype, shape, offsets)
}

func TestOpenRefuses(t *testing.T) {
	one := func(dtype, shape, offsets string, data int) []byte {
		return fileOf("{"+entry("a.b", dtype, shape, offsets)+"}", data)
	}
	two := func(first, second string, data int) []byte {
		return fileOf("{"+entry("a", "U8", "[4]", first)+","+entry("b", "U8", "[4]", second)+"}", data)
	}
	lfs := "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n"
	good := one("F32", "[2]", "[0,8]", 8)
	for _, c := range []struct {
		name string
		file []byte
		want string // the message after "safetensors: m.safetensors: "
	}{
		{"empty file", nil, "file of 0 bytes, wanted at least 8 bytes of header length"},
		{"file of 7 bytes", good[:7], "file of 7 bytes, wanted at least 8 bytes of header length"},
		{"not found saved as a model", []byte("Not found"), `file of 9 bytes begins with the text "Not foun", wanted a safetensors file`},
		{"page of HTML", []byte("<!DOCTYPE html>\n<html>"), `file of 22 bytes begins with the text "<!DOCTYP", wanted a safetensors file`},
		{"LFS pointer", []byte(lfs), fmt.Sprintf("is a Git LFS pointer of %d bytes, wanted the file it points to (git lfs pull)", len(lfs))},
		{"header length 0", lengthOf(0, "{}"), "header length 0, wanted at least 2"},
		{"header length 1", lengthOf(1, "{}"), "header length 1, wanted at least 2"},
		{"header length 2^63", lengthOf(1<<63, "{}"), "header length 9223372036854775808, wanted at most 100000000"},
		{"header length 2^64-1", lengthOf(1<<64-1, "{}"), "header length 18446744073709551615, wanted at most 100000000"},
		{"header length 2^64-8", lengthOf(1<<64-8, "{}"), "header length 18446744073709551608, wanted at most 100000000"},
		{"header one byte longer than the file", lengthOf(3, "{}"), "header length 3, wanted at most 2 in a file of 10 bytes"},
		{"header is text", fileOf("hello world", 0), "header is not JSON, wanted a JSON object: invalid character 'h' looking for beginning of value"},
		{"header is cut", fileOf(`{"a":{"dtype":"F3`, 0), "header is not JSON, wanted a JSON object: unexpected end of JSON input"},
		{"two values in the header", fileOf(`{}{}`, 0), "header is not JSON, wanted a JSON object: invalid character '{' after top-level value"},
		{"zero bytes in the header", fileOf("{}\x00\x00", 0), `header is not JSON, wanted a JSON object: invalid character '\x00' after top-level value`},
		{"header is an array", fileOf("[1,2]", 0), "header begins with '[', wanted a JSON object"},
		{"header is a number", fileOf("12", 0), "header begins with '1', wanted a JSON object"},
		{"header is null", fileOf("null", 0), "header begins with 'n', wanted a JSON object"},
		{"blank before the header", fileOf(" {}", 0), "header begins with ' ', wanted a JSON object"},
		{"invalid UTF-8", fileOf("{\"\xff\":{}}", 0), "header with invalid UTF-8, wanted JSON in UTF-8"},
		{"deep nesting", fileOf(strings.Repeat("[", 1<<20), 0), "header is not JSON, wanted a JSON object: invalid character '[' exceeded max depth"},

		{"metadata is a string", fileOf(`{"__metadata__":"pt"}`, 0), "__metadata__: header entry holds the string pt, wanted an object of strings"},
		{"metadata holds a number", fileOf(`{"__metadata__":{"step":3}}`, 0), "__metadata__: key step holds the number 3, wanted a string"},
		{"metadata holds an object", fileOf(`{"__metadata__":{"a":{}}}`, 0), "__metadata__: key a holds an object, wanted a string"},
		{"metadata key twice", fileOf(`{"__metadata__":{"a":"x","a":"y"}}`, 0), "__metadata__: key a twice, wanted it once"},
		{"metadata twice", fileOf(`{"__metadata__":{},"__metadata__":{}}`, 0), "__metadata__: named twice in the header, wanted once"},

		{"entry is a number", fileOf(`{"a.b":7}`, 0), "tensor a.b: header entry holds the number 7, wanted an object of dtype, shape and data_offsets"},
		{"entry is null", fileOf(`{"a.b":null}`, 0), "tensor a.b: header entry holds null, wanted an object of dtype, shape and data_offsets"},
		{"tensor twice", fileOf("{"+entry("a", "U8", "[4]", "[0,4]")+","+entry("a", "U8", "[4]", "[4,8]")+"}", 8), "tensor a: named twice in the header, wanted once"},
		{"tensor twice through an escape", fileOf("{"+entry("a", "U8", "[4]", "[0,4]")+","+entry(`\u0061`, "U8", "[4]", "[4,8]")+"}", 8), "tensor a: named twice in the header, wanted once"},
		{"dtype twice", fileOf(`{"a":{"dtype":"F32","dtype":"U8","shape":[4],"data_offsets":[0,4]}}`, 4), "tensor a: header field dtype twice, wanted it once"},
		{"shape twice", fileOf(`{"a":{"dtype":"U8","shape":[4],"shape":[2],"data_offsets":[0,4]}}`, 4), "tensor a: header field shape twice, wanted it once"},
		{"offsets twice", fileOf(`{"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4],"data_offsets":[0,2]}}`, 4), "tensor a: header field data_offsets twice, wanted it once"},
		{"no dtype", fileOf(`{"a":{"shape":[4],"data_offsets":[0,4]}}`, 4), "tensor a: header entry without dtype, wanted an object of dtype, shape and data_offsets"},
		{"no shape", fileOf(`{"a":{"dtype":"U8","data_offsets":[0,4]}}`, 4), "tensor a: header entry without shape, wanted an object of dtype, shape and data_offsets"},
		{"no offsets", fileOf(`{"a":{"dtype":"U8","shape":[4]}}`, 4), "tensor a: header entry without data_offsets, wanted an object of dtype, shape and data_offsets"},
		{"unknown field", fileOf(`{"a":{"dtype":"U8","scale":[4]}}`, 4), "tensor a: header field scale, wanted only dtype, shape and data_offsets"},
		{"unknown dtype", one("F31", "[2]", "[0,8]", 8), "tensor a.b: dtype F31, wanted " + knownDTypes},
		{"dtype in small letters", one("f32", "[2]", "[0,8]", 8), "tensor a.b: dtype f32, wanted " + knownDTypes},
		{"dtype is a number", fileOf(`{"a":{"dtype":4,"shape":[1],"data_offsets":[0,4]}}`, 4), "tensor a: dtype is the number 4, wanted " + knownDTypes},
		{"shape is a string", one("U8", `"4"`, "[0,4]", 4), "tensor a.b: header entry holds the string 4, wanted whole numbers in shape"},
		{"shape is null", one("U8", `null`, "[0,4]", 4), "tensor a.b: header entry holds null, wanted whole numbers in shape"},
		{"shape with a fraction", one("U8", "[4.0]", "[0,4]", 4), "tensor a.b: shape holds 4.0, wanted whole numbers from 0 to 9223372036854775807"},
		{"shape with an exponent", one("U8", "[4e0]", "[0,4]", 4), "tensor a.b: shape holds 4e0, wanted whole numbers from 0 to 9223372036854775807"},
		{"shape of strings", one("U8", `["4"]`, "[0,4]", 4), "tensor a.b: shape holds the string 4, wanted whole numbers"},
		{"shape of arrays", one("U8", `[[4]]`, "[0,4]", 4), "tensor a.b: shape holds an array, wanted whole numbers"},
		{"negative dimension", one("U8", "[-4]", "[0,4]", 4), "tensor a.b: shape holds -4, wanted whole numbers from 0 to 9223372036854775807"},
		{"two negative dimensions", one("U8", "[-2,-2]", "[0,4]", 4), "tensor a.b: shape holds -2, wanted whole numbers from 0 to 9223372036854775807"},
		{"dimension 2^63", one("U8", "[9223372036854775808]", "[0,4]", 4), "tensor a.b: shape holds 9223372036854775808, wanted whole numbers from 0 to 9223372036854775807"},
		{"seventeen dimensions", one("U8", "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]", "[0,1]", 1), "tensor a.b: shape holds more than 16 numbers, wanted at most 16"},
		{"product overflows to 0", one("U8", "[4294967296,4294967296]", "[0,0]", 0), "tensor a.b: shape [4294967296 4294967296] of U8 has a size beyond 9223372036854775807 bytes, wanted a size that fits the file"},
		{"product overflows to a small number", one("U8", "[4611686018427387905,4]", "[0,4]", 4), "tensor a.b: shape [4611686018427387905 4] of U8 has a size beyond 9223372036854775807 bytes, wanted a size that fits the file"},
		{"bytes overflow to 0", one("F64", "[2305843009213693952]", "[0,0]", 0), "tensor a.b: shape [2305843009213693952] of F64 has a size beyond 9223372036854775807 bytes, wanted a size that fits the file"},
		{"overflow before a zero", one("U8", "[9223372036854775807,9223372036854775807,0]", "[0,0]", 0), "tensor a.b: shape [9223372036854775807 9223372036854775807 0] of U8 has a size beyond 9223372036854775807 bytes, wanted a size that fits the file"},
		{"huge shape", one("F32", "[1000000000000]", "[0,4000000000000]", 8), "tensor a.b: data_offsets [0 4000000000000], wanted an end within the 8 bytes of data in the file"},

		{"offsets reversed", one("U8", "[4]", "[4,0]", 4), "tensor a.b: data_offsets [4 0], wanted the begin not after the end"},
		{"one offset", one("U8", "[4]", "[4]", 4), "tensor a.b: data_offsets [4], wanted two numbers"},
		{"three offsets", one("U8", "[4]", "[0,4,4]", 4), "tensor a.b: data_offsets holds more than 2 numbers, wanted at most 2"},
		{"negative offset", one("U8", "[4]", "[-4,0]", 4), "tensor a.b: data_offsets holds -4, wanted whole numbers from 0 to 9223372036854775807"},
		{"past the end", one("U8", "[8]", "[0,8]", 4), "tensor a.b: data_offsets [0 8], wanted an end within the 4 bytes of data in the file"},
		{"wholly past the end", one("U8", "[4]", "[4,8]", 4), "tensor a.b: data_offsets [4 8], wanted an end within the 4 bytes of data in the file"},
		{"file short by one byte", good[:len(good)-1], "tensor a.b: data_offsets [0 8], wanted an end within the 7 bytes of data in the file"},
		{"fewer bytes than the shape", one("F32", "[2]", "[0,4]", 4), "tensor a.b: data of 4 bytes, wanted 8 for F32 [2]"},
		{"more bytes than the shape", one("BF16", "[2]", "[0,8]", 8), "tensor a.b: data of 8 bytes, wanted 4 for BF16 [2]"},
		{"scalar without bytes", one("F32", "[]", "[0,0]", 0), "tensor a.b: data of 0 bytes, wanted 4 for F32 []"},
		{"trailing byte", append(good[:len(good):len(good)], 0), "data of 9 bytes, wanted 8, where the last tensor ends"},
		{"data without tensors", fileOf("{}", 3), "data of 3 bytes, wanted 0, where the last tensor ends"},
		{"gap at the start", one("U8", "[4]", "[4,8]", 8), "tensor a.b: data begins after a gap at 4, wanted 0, the start of the data"},
		{"gap in the middle", two("[0,4]", "[5,9]", 9), "tensor b: data begins after a gap at 5, wanted 4, where tensor a ends"},
		{"overlap", two("[0,4]", "[3,7]", 7), "tensor b: data overlaps others and begins at 3, wanted 4, where tensor a ends"},
		{"same bytes twice", two("[0,4]", "[0,4]", 4), "tensor b: data overlaps others and begins at 0, wanted 4, where tensor a ends"},
		{"overlap out of order", two("[3,7]", "[0,4]", 7), "tensor a: data overlaps others and begins at 3, wanted 4, where tensor b ends"},
		{"line break in a name", fileOf("{"+entry(`a\nb`, "U8", "[4]", "[0,3]")+"}", 3), `tensor "a\nb": data of 3 bytes, wanted 4 for U8 [4]`},
		{"very long name", fileOf("{"+entry(strings.Repeat("x", 5000), "U8", "[4]", "[0,3]")+"}", 3), "tensor " + strings.Repeat("x", maxShown) + "...: data of 3 bytes, wanted 4 for U8 [4]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := openBytes(c.file)
			if err == nil {
				t.Fatalf("opened with tensors %v, wanted the error %q", s.Names(), c.want)
			}
			if want := "safetensors: m.safetensors: " + c.want; err.Error() != want {
				t.Errorf("\ngot    %s\nwanted %s", err, want)
			}
		})
	}
}

func TestOpenHeaderLimit(t *testing.T) {
	// One byte over the limit, and really in the file: the limit decides, not the file's size.
	b := make([]byte, lengthBytes+maxHeaderBytes+1)
	binary.LittleEndian.PutUint64(b, maxHeaderBytes+1)
	_, err := openBytes(b)
	if want := "safetensors: m.safetensors: header length 100000001, wanted at most 100000000"; err == nil || err.Error() != want {
		t.Errorf("got %v, wanted %s", err, want)
	}
}

func TestOpenAccepts(t *testing.T) {
	for _, c := range []struct {
		name string
		file []byte
		want string // "name dtype shape" of all tensors
	}{
		{"no tensors", fileOf("{}", 0), ""},
		{"only metadata", fileOf(`{"__metadata__":{"format":"pt"}}`, 0), ""},
		{"blanks after the header", fileOf("{} \n\t   ", 0), ""},
		{"data in another order than names", fileOf("{"+entry("a", "U8", "[4]", "[2,6]")+","+entry("b", "F16", "[1]", "[0,2]")+"}", 6), "a U8 [4]; b F16 [1]"},
		{"fields in another order", fileOf(`{"a":{"data_offsets":[0,4],"shape":[2,2],"dtype":"I8"}}`, 4), "a I8 [2 2]"},
		{"scalar", fileOf("{"+entry("a", "F64", "[]", "[0,8]")+"}", 8), "a F64 []"},
		{"tensor of size zero", fileOf("{"+entry("a", "F32", "[0,3]", "[0,0]")+"}", 0), "a F32 [0 3]"},
		{"tensors of size zero between others", fileOf("{"+entry("a", "U8", "[2]", "[0,2]")+","+entry("z", "I64", "[0]", "[2,2]")+","+entry("y", "I64", "[0]", "[2,2]")+","+entry("b", "U8", "[1]", "[2,3]")+"}", 3), "a U8 [2]; b U8 [1]; y I64 [0]; z I64 [0]"},
		{"zero before a huge dimension", fileOf("{"+entry("a", "U8", "[0,9223372036854775807,9223372036854775807]", "[0,0]")+"}", 0), "a U8 [0 9223372036854775807 9223372036854775807]"},
		{"empty name", fileOf("{"+entry("", "U8", "[1]", "[0,1]")+"}", 1), " U8 [1]"},
		{"every dtype", fileOf("{"+strings.Join([]string{
			entry("a", "F64", "[1]", "[0,8]"), entry("b", "I64", "[1]", "[8,16]"), entry("c", "U64", "[1]", "[16,24]"), entry("d", "F32", "[1]", "[24,28]"),
			entry("e", "I32", "[1]", "[28,32]"), entry("f", "U32", "[1]", "[32,36]"), entry("g", "F16", "[1]", "[36,38]"), entry("h", "BF16", "[1]", "[38,40]"),
			entry("i", "I16", "[1]", "[40,42]"), entry("j", "U16", "[1]", "[42,44]"), entry("k", "I8", "[1]", "[44,45]"), entry("l", "U8", "[1]", "[45,46]"),
			entry("m", "BOOL", "[1]", "[46,47]"), entry("n", "F8_E4M3", "[1]", "[47,48]"), entry("o", "F8_E5M2", "[1]", "[48,49]"),
		}, ",")+"}", 49), "a F64 [1]; b I64 [1]; c U64 [1]; d F32 [1]; e I32 [1]; f U32 [1]; g F16 [1]; h BF16 [1]; i I16 [1]; j U16 [1]; k I8 [1]; l U8 [1]; m BOOL [1]; n F8_E4M3 [1]; o F8_E5M2 [1]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := openBytes(c.file)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			var got []string
			for _, name := range s.Names() {
				info, ok := s.Info(name)
				if !ok || info.File != "m.safetensors" {
					t.Errorf("Info(%q) = %+v, %v", name, info, ok)
				}
				got = append(got, fmt.Sprintf("%s %s %v", info.Name, info.DType, info.Shape))
			}
			if g := strings.Join(got, "; "); g != c.want {
				t.Errorf("got %q, wanted %q", g, c.want)
			}
		})
	}
}
