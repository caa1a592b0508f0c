package safetensors

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"
)

const (
	// lengthBytes is the size of the header length at the start of a file.
	lengthBytes = 8
	// maxHeaderBytes bounds the header, as the format's own library does. The largest header of a Qwen3-TTS
	// checkpoint has some 60 kB.
	maxHeaderBytes = 100_000_000
	// maxRank bounds the number of dimensions of a tensor; convolution weights, the deepest here, have 3.
	maxRank = 16
	// metadataKey is the one key of a header that is not a tensor: an object of strings.
	metadataKey = "__metadata__"
	// lfsPrefix begins the text file that git leaves in place of a large file it has not fetched.
	lfsPrefix = "version https://git-lfs"
)

// tensor is one checked entry: its place in the header and its bytes in the mapping.
type tensor struct {
	Info
	begin, end int // offsets in the data part of the file
	data       []byte
}

// parseHeader checks a whole file, buf, and returns its tensors in the order of their data, and its metadata. Every
// error is one line with file, tensor if there is one, found and wanted.
func parseHeader(file string, buf []byte) ([]tensor, map[string]string, error) {
	n, err := headerLength(file, buf, len(buf))
	if err != nil {
		return nil, nil, err
	}
	header, data := buf[lengthBytes:][:n], buf[lengthBytes+n:]
	tensors, meta, err := parseEntries(file, header, len(data))
	for i := range tensors {
		t := &tensors[i]
		t.data = data[t.begin:t.end:t.end]
	}
	return tensors, meta, err
}

// parseEntries is parseHeader for a header and so many bytes of data behind it, which it leaves out.
func parseEntries(file string, header []byte, data int) ([]tensor, map[string]string, error) {
	if !utf8.Valid(header) {
		return nil, nil, fileErr(file, "header", "with invalid UTF-8", "JSON in UTF-8")
	}
	if !json.Valid(header) {
		var raw json.RawMessage
		return nil, nil, &FileError{File: file, Problem: "header is not JSON", Wanted: "a JSON object", Err: json.Unmarshal(header, &raw)}
	}
	if header[0] != '{' {
		return nil, nil, fileErr(file, "header", "begins with "+strconv.QuoteRune(rune(header[0])), "a JSON object")
	}
	p := &headerParser{file: file, dec: json.NewDecoder(bytes.NewReader(header))}
	p.dec.UseNumber()
	tensors, err := p.tensors()
	if err != nil {
		return nil, nil, err
	}
	if err := layOut(file, tensors, data); err != nil {
		return nil, nil, err
	}
	return tensors, p.meta, nil
}

// startBytes is how much of a file headerLength looks at.
const startBytes = max(lengthBytes, len(lfsPrefix))

// headerLength returns the length of the header, which stands before it, after checking it. start is the beginning of a file of so many
// bytes: startBytes of it, or all.
func headerLength(file string, start []byte, size int) (int, error) {
	if bytes.HasPrefix(start, []byte(lfsPrefix)) {
		return 0, fileErr(file, "is a", "Git LFS pointer of "+bytesOf(size), "the file it points to (git lfs pull)")
	}
	if size < lengthBytes {
		return 0, fileErr(file, "file of", bytesOf(size), "at least 8 bytes of header length")
	}
	n := binary.LittleEndian.Uint64(start)
	room := uint64(size - lengthBytes)
	switch {
	case n > min(room, maxHeaderBytes) && isText(start[:lengthBytes]):
		return 0, fileErr(file, "file", fmt.Sprintf("of %d bytes begins with the text %q", size, start[:lengthBytes]), "a safetensors file")
	case n > maxHeaderBytes:
		return 0, fileErr(file, "header length", strconv.FormatUint(n, 10), fmt.Sprintf("at most %d", maxHeaderBytes))
	case n > room:
		return 0, fileErr(file, "header length", strconv.FormatUint(n, 10), fmt.Sprintf("at most %d in a file of %d bytes", room, size))
	case n < 2:
		return 0, fileErr(file, "header length", strconv.FormatUint(n, 10), "at least 2")
	}
	return int(n), nil
}

func isText(b []byte) bool {
	return !slices.ContainsFunc(b, func(c byte) bool { return c != '\n' && c != '\r' && c != '\t' && (c < ' ' || c > '~') })
}

// headerParser walks the tokens of a header that is known to be valid JSON. It holds one entry at a time, so that
// memory follows from the bytes of the header and not from the numbers in it.
type headerParser struct {
	file string
	dec  *json.Decoder
	meta map[string]string
}

func (p *headerParser) tensors() ([]tensor, error) {
	if _, err := p.dec.Token(); err != nil { // the brace that parseHeader has seen
		return nil, p.bad("", err)
	}
	var tensors []tensor
	seen := make(map[string]struct{})
	for p.dec.More() {
		name, err := p.key("")
		if err != nil {
			return nil, err
		}
		if _, ok := seen[name]; ok {
			return nil, p.tensorErr(name, "named", "twice in the header", "once")
		}
		seen[name] = struct{}{}
		if name == metadataKey {
			if err := p.metadata(); err != nil {
				return nil, err
			}
			continue
		}
		t, err := p.entry(name)
		if err != nil {
			return nil, err
		}
		tensors = append(tensors, t)
	}
	return tensors, nil
}

// metadata reads the object of strings beside the tensors. Nothing here depends on what it says.
func (p *headerParser) metadata() error {
	if err := p.delim(metadataKey, '{', "an object of strings"); err != nil {
		return err
	}
	p.meta = make(map[string]string)
	for p.dec.More() {
		key, err := p.key(metadataKey)
		if err != nil {
			return err
		}
		if _, ok := p.meta[key]; ok {
			return p.tensorErr(metadataKey, "key", printable(key)+" twice", "it once")
		}
		tok, err := p.dec.Token()
		if err != nil {
			return p.bad(metadataKey, err)
		}
		value, ok := tok.(string)
		if !ok {
			return p.tensorErr(metadataKey, "key", printable(key)+" holds "+kindOf(tok), "a string")
		}
		p.meta[key] = value
	}
	return p.close(metadataKey)
}

// entryFields are the keys of one tensor's object, each wanted once and in any order.
var entryFields = [...]string{"dtype", "shape", "data_offsets"}

// entry reads {"dtype": ..., "shape": [...], "data_offsets": [begin, end]}.
func (p *headerParser) entry(name string) (tensor, error) {
	t := tensor{Info: Info{Name: name, File: p.file}}
	const wanted = "an object of dtype, shape and data_offsets"
	if err := p.delim(name, '{', wanted); err != nil {
		return t, err
	}
	var have [len(entryFields)]bool
	for p.dec.More() {
		key, err := p.key(name)
		if err != nil {
			return t, err
		}
		i := slices.Index(entryFields[:], key)
		if i < 0 {
			return t, p.tensorErr(name, "header field", printable(key), "only dtype, shape and data_offsets")
		}
		if have[i] {
			return t, p.tensorErr(name, "header field", key+" twice", "it once")
		}
		have[i] = true
		switch key {
		case "dtype":
			err = p.dtype(&t)
		case "shape":
			t.Shape, err = p.numbers(name, "shape", maxRank)
		case "data_offsets":
			err = p.offsets(&t)
		}
		if err != nil {
			return t, err
		}
	}
	if i := slices.Index(have[:], false); i >= 0 {
		return t, p.tensorErr(name, "header entry", "without "+entryFields[i], wanted)
	}
	return t, p.close(name)
}

func (p *headerParser) dtype(t *tensor) error {
	tok, err := p.dec.Token()
	if err != nil {
		return p.bad(t.Name, err)
	}
	s, ok := tok.(string)
	if !ok {
		return p.tensorErr(t.Name, "dtype", "is "+kindOf(tok), knownDTypes)
	}
	t.DType = DType(s)
	if t.DType.Size() == 0 {
		return p.tensorErr(t.Name, "dtype", printable(s), knownDTypes)
	}
	return nil
}

func (p *headerParser) offsets(t *tensor) error {
	o, err := p.numbers(t.Name, "data_offsets", 2)
	if err != nil {
		return err
	}
	if len(o) != 2 {
		return p.tensorErr(t.Name, "data_offsets", fmt.Sprint(o), "two numbers")
	}
	t.begin, t.end = o[0], o[1]
	return nil
}

// numbers reads an array of at most limit whole numbers from 0 up.
func (p *headerParser) numbers(name, field string, limit int) ([]int, error) {
	if err := p.delim(name, '[', "whole numbers in "+field); err != nil {
		return nil, err
	}
	list := []int{}
	for p.dec.More() {
		tok, err := p.dec.Token()
		if err != nil {
			return nil, p.bad(name, err)
		}
		num, ok := tok.(json.Number)
		if !ok {
			return nil, p.tensorErr(name, field, "holds "+kindOf(tok), "whole numbers")
		}
		n, err := strconv.ParseInt(num.String(), 10, strconv.IntSize)
		if err != nil || n < 0 {
			return nil, p.tensorErr(name, field, "holds "+printable(num.String()), fmt.Sprintf("whole numbers from 0 to %d", math.MaxInt))
		}
		if len(list) == limit {
			return nil, p.tensorErr(name, field, fmt.Sprintf("holds more than %d numbers", limit), fmt.Sprintf("at most %d", limit))
		}
		list = append(list, int(n))
	}
	if err := p.close(name); err != nil {
		return nil, err
	}
	return list, nil
}

func (p *headerParser) key(name string) (string, error) {
	tok, err := p.dec.Token()
	if err != nil {
		return "", p.bad(name, err)
	}
	key, ok := tok.(string)
	if !ok {
		return "", p.bad(name, errors.New("key is "+kindOf(tok)))
	}
	return key, nil
}

// delim takes one token, which must open an object or array.
func (p *headerParser) delim(name string, want json.Delim, wanted string) error {
	tok, err := p.dec.Token()
	if err != nil {
		return p.bad(name, err)
	}
	if tok != want {
		return p.tensorErr(name, "header entry", "holds "+kindOf(tok), wanted)
	}
	return nil
}

// close takes the token that ends the object or array in hand.
func (p *headerParser) close(name string) error {
	if _, err := p.dec.Token(); err != nil {
		return p.bad(name, err)
	}
	return nil
}

func (p *headerParser) bad(name string, err error) error {
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return &FileError{File: p.file, Problem: "header is not JSON", Found: "near " + printable(name), Wanted: "a JSON object", Err: err}
}

func (p *headerParser) tensorErr(name, problem, found, wanted string) error {
	if name == metadataKey {
		return fileErr(p.file, metadataKey+": "+problem, found, wanted)
	}
	return &TensorError{File: p.file, Tensor: name, Problem: problem, Found: found, Wanted: wanted}
}

func kindOf(tok json.Token) string {
	switch v := tok.(type) {
	case json.Delim:
		if v == '{' {
			return "an object"
		}
		return "an array"
	case string:
		return "the string " + printable(v)
	case json.Number:
		return "the number " + printable(v.String())
	case bool:
		return strconv.FormatBool(v)
	}
	return "null"
}

// layOut checks that the tensors cover so many bytes of data exactly, and sorts them by place.
func layOut(file string, tensors []tensor, data int) error {
	for i := range tensors {
		if err := checkExtent(file, &tensors[i], data); err != nil {
			return err
		}
	}
	slices.SortFunc(tensors, func(a, b tensor) int {
		return cmp.Or(cmp.Compare(a.begin, b.begin), cmp.Compare(a.end, b.end), cmp.Compare(a.Name, b.Name))
	})
	at, last := 0, "" // end of the data seen so far, and whose it is
	for i := range tensors {
		t := &tensors[i]
		if t.begin != at {
			problem, where := "data begins after a gap at", "the start of the data"
			if t.begin < at {
				problem = "data overlaps others and begins at"
			}
			if last != "" {
				where = "where tensor " + printable(last) + " ends"
			}
			return &TensorError{file, t.Name, problem, strconv.Itoa(t.begin), fmt.Sprintf("%d, %s", at, where)}
		}
		at, last = t.end, t.Name
	}
	if at != data {
		return fileErr(file, "data of", bytesOf(data), fmt.Sprintf("%d, where the last tensor ends", at))
	}
	return nil
}

// checkExtent checks one entry by itself: its offsets against the data, its size against dtype and shape.
func checkExtent(file string, t *tensor, data int) error {
	fail := func(problem, found, wanted string) error {
		return &TensorError{File: file, Tensor: t.Name, Problem: problem, Found: found, Wanted: wanted}
	}
	want, err := byteCount(t.DType, t.Shape)
	if err != nil {
		return fail("shape", fmt.Sprintf("%v of %s has a %v", t.Shape, t.DType, err), "a size that fits the file")
	}
	offsets := fmt.Sprintf("[%d %d]", t.begin, t.end)
	if t.begin > t.end {
		return fail("data_offsets", offsets, "the begin not after the end")
	}
	if t.end > data {
		return fail("data_offsets", offsets, fmt.Sprintf("an end within the %d bytes of data in the file", data))
	}
	if t.end-t.begin != want {
		return fail("data of", bytesOf(t.end-t.begin), fmt.Sprintf("%d for %s %v", want, t.DType, t.Shape))
	}
	return nil
}
