package tokenizer

import (
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"io/fs"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Names of the files of a tokenizer in a model directory.
const (
	vocabFile  = "vocab.json"
	mergesFile = "merges.txt"
	configFile = "tokenizer_config.json"
	jsonFile   = "tokenizer.json"
)

// Load reads the tokenizer of a model directory: vocab.json, merges.txt and the
// added tokens of tokenizer_config.json; or, where vocab.json and merges.txt are
// not both there, tokenizer.json, with further added tokens from
// tokenizer_config.json if that exists. A file that is broken or means something
// that this package does not do gives a *FileError.
func Load(fsys fs.FS) (*Tokenizer, error) {
	vocab, err := readFile(fsys, vocabFile)
	merges := ""
	if err == nil {
		merges, err = readFile(fsys, mergesFile)
	}
	l := &loader{}
	switch {
	case err == nil:
		err = l.vocabAndMerges(vocab, merges)
	case errors.Is(err, fs.ErrNotExist):
		missing := err
		var doc string
		if doc, err = readFile(fsys, jsonFile); err == nil {
			err = l.tokenizerJSON(doc)
		} else if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%w; nor is there a %s", missing, jsonFile)
		}
	}
	if err != nil {
		return nil, err
	}
	config, err := readFile(fsys, configFile)
	if err == nil {
		err = l.config(config)
	} else if l.file == jsonFile && errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err != nil {
		return nil, err
	}
	return l.build()
}

// readFile reads a file of at most maxFileBytes of UTF-8.
func readFile(fsys fs.FS, name string) (string, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return "", fmt.Errorf("tokenizer: %w", err)
	}
	defer f.Close()
	var b strings.Builder
	if info, err := f.Stat(); err == nil {
		b.Grow(int(min(max(info.Size(), 0), maxFileBytes)) + 1)
	}
	n, err := io.Copy(&b, io.LimitReader(f, maxFileBytes+1))
	if err != nil {
		return "", fmt.Errorf("tokenizer: %s: %w", name, err)
	}
	if n > maxFileBytes {
		return "", &FileError{File: name, Problem: fmt.Sprintf("more than %d bytes", maxFileBytes)}
	}
	data := b.String()
	if !utf8.ValidString(data) {
		at := 0
		for {
			r, n := utf8.DecodeRuneInString(data[at:])
			if r == utf8.RuneError && n == 1 {
				break
			}
			at += n
		}
		return "", errorAt(name, data, at, "byte %#02x is not UTF-8", data[at])
	}
	return data, nil
}

// loader gathers what the files say.
type loader struct {
	file   string            // that holds the vocabulary
	data   string            // of that file
	tokens []string          // id -> token as the file writes it; "" if none
	ids    map[string]uint32 // the other way
	odd    []oddToken
	rank   map[uint64]uint32
	made   []uint32
	added  []addedToken
	byID   map[int]int    // id -> place in added
	byText map[string]int // content -> place in added

	normalization string
}

// oddToken is a token of the vocabulary that is not written in the byte alphabet.
// Only an added token may be.
type oddToken struct {
	id, at int
	sign   rune // that stands for no byte
}

// vocabulary reads an object of token: id.
func (l *loader) vocabulary(r *jsonReader) {
	if l.file != "" {
		r.fail("a second vocabulary")
		return
	}
	l.file, l.data = r.file, r.data
	n := min(len(r.data)/bytesPerToken, maxTokens)
	l.ids, l.tokens = make(map[string]uint32, n), make([]string, 0, n)
	r.object(func(token string, at int) {
		id := r.integer(maxTokens)
		if r.err == nil {
			l.token(r, token, id, at)
		}
	})
}

func (l *loader) token(r *jsonReader, token string, id, at int) {
	if token == "" || len(token) > maxTokenBytes {
		r.failAt(at, "token of %d bytes, wanted 1 to %d", len(token), maxTokenBytes)
		return
	}
	if before, ok := l.ids[token]; ok {
		r.failAt(at, "token %q twice, with ids %d and %d", clip(token), before, id)
		return
	}
	for id >= len(l.tokens) {
		l.tokens = append(l.tokens, "")
	}
	if before := l.tokens[id]; before != "" {
		r.failAt(at, "id %d twice, for %q and %q", id, clip(before), clip(token))
		return
	}
	for _, c := range token {
		if int(c) >= len(runeToByte) || runeToByte[c] < 0 {
			l.odd = append(l.odd, oddToken{id, at, c})
			break
		}
	}
	l.tokens[id] = token
	l.ids[token] = uint32(id)
}

// merge adds the next merge. The error, if any, says what is wrong with it.
func (l *loader) merge(left, right string, joined []byte) error {
	a, ok := l.ids[left]
	if !ok {
		return fmt.Errorf("merge of %q, which is not in the vocabulary", clip(left))
	}
	b, ok := l.ids[right]
	if !ok {
		return fmt.Errorf("merge with %q, which is not in the vocabulary", clip(right))
	}
	joined = append(append(joined[:0], left...), right...)
	id, ok := l.likely(joined)
	if !ok {
		id, ok = l.ids[string(joined)]
	}
	if !ok {
		return fmt.Errorf("merge of %q and %q, whose result is not in the vocabulary", clip(left), clip(right))
	}
	if len(l.made) >= maxTokens {
		return fmt.Errorf("more than %d merges", maxTokens)
	}
	// A pair given twice has the later rank, as in the reference.
	l.rank[pairKey(a, b)] = uint32(len(l.made))
	l.made = append(l.made, id)
	return nil
}

// likely returns the id after that of the last merge if that is the token: most
// files number the results of merges in order, which saves looking up a third of
// the tokens.
func (l *loader) likely(token []byte) (uint32, bool) {
	if len(l.made) == 0 {
		return 0, false
	}
	id := l.made[len(l.made)-1] + 1
	return id, int(id) < len(l.tokens) && l.tokens[id] == string(token)
}

// cutPair cuts a merge written as one string.
func cutPair(s string) (left, right string, err error) {
	left, right, ok := strings.Cut(s, " ")
	if !ok || left == "" || right == "" || strings.Contains(right, " ") {
		return "", "", fmt.Errorf("%q, wanted two tokens with one space between them", clip(s))
	}
	return left, right, nil
}

func (l *loader) vocabAndMerges(vocab, merges string) error {
	r := &jsonReader{file: vocabFile, data: vocab}
	l.vocabulary(r)
	if err := r.end(); err != nil {
		return err
	}
	n := min(strings.Count(merges, "\n")+1, maxTokens)
	l.rank, l.made = make(map[uint64]uint32, n), make([]uint32, 0, n)
	joined := make([]byte, 0, 2*maxTokenBytes)
	for line := 1; merges != ""; line++ {
		var text string
		text, merges, _ = strings.Cut(merges, "\n")
		text = strings.Trim(text, " \t\r")
		// Only the first line may be a comment: real merges begin with # too.
		if text == "" || line == 1 && strings.HasPrefix(text, "#version") {
			continue
		}
		left, right, err := cutPair(text)
		if err == nil {
			err = l.merge(left, right, joined)
		}
		if err != nil {
			return &FileError{File: mergesFile, Line: line, Problem: err.Error()}
		}
	}
	return nil
}

// config reads the added tokens of tokenizer_config.json, and how text is written for it.
func (l *loader) config(doc string) error {
	r := &jsonReader{file: configFile, data: doc}
	r.object(func(key string, _ int) {
		switch key {
		case "text_normalization":
			l.normalization = r.str()
			return
		case "added_tokens_decoder":
		default:
			r.skip()
			return
		}
		r.object(func(key string, at int) {
			id, err := strconv.Atoi(key)
			if err != nil || strconv.Itoa(id) != key || id < 0 || id >= maxTokens {
				r.failAt(at, "added token with id %q, wanted a whole number from 0 to %d", clip(key), maxTokens-1)
				return
			}
			tok := l.addedFields(r)
			tok.id = id
			l.add(r, tok, at)
		})
	})
	return r.end()
}

// addedFields reads the description of an added token.
func (l *loader) addedFields(r *jsonReader) addedToken {
	tok := addedToken{id: -1}
	r.object(func(key string, at int) {
		switch key {
		case "id":
			tok.id = r.integer(maxTokens)
		case "content":
			tok.content = r.str()
		case "normalized":
			tok.normed = r.boolean()
		case "lstrip", "rstrip", "single_word":
			if r.boolean() {
				r.failAt(at, "added token %q: %s is true, which is not supported", clip(tok.content), key)
			}
		default:
			r.skip()
		}
	})
	return tok
}

// add adds an added token that is described at a place in r's file. The same token
// may be described again with the same id.
func (l *loader) add(r *jsonReader, tok addedToken, at int) {
	if r.err != nil {
		return
	}
	if l.byID == nil {
		l.byID, l.byText = make(map[int]int), make(map[string]int)
	}
	if tok.content == "" || len(tok.content) > maxTokenBytes {
		r.failAt(at, "added token %d: content of %d bytes, wanted 1 to %d", tok.id, len(tok.content), maxTokenBytes)
		return
	}
	if tok.normed {
		tok.content = nfc(tok.content)
	}
	if i, ok := l.byText[tok.content]; ok {
		if l.added[i].id != tok.id {
			r.failAt(at, "added token %q has ids %d and %d", clip(tok.content), l.added[i].id, tok.id)
		}
		return
	}
	if i, ok := l.byID[tok.id]; ok {
		r.failAt(at, "id %d twice, for %q and %q", tok.id, clip(l.added[i].content), clip(tok.content))
		return
	}
	if id, ok := l.ids[tok.content]; ok && int(id) != tok.id {
		r.failAt(at, "added token %q has id %d, and %d in %s", clip(tok.content), tok.id, id, l.file)
		return
	}
	if tok.id < len(l.tokens) && l.tokens[tok.id] != "" && l.tokens[tok.id] != tok.content {
		r.failAt(at, "added token %q has id %d, which is %q in %s", clip(tok.content), tok.id, clip(l.tokens[tok.id]), l.file)
		return
	}
	l.byID[tok.id], l.byText[tok.content] = len(l.added), len(l.added)
	l.added = append(l.added, tok)
}

// build checks the parts against each other and lays them out.
func (l *loader) build() (*Tokenizer, error) {
	t := &Tokenizer{rank: l.rank, normalization: l.normalization, made: l.made, added: make(map[string]int, len(l.added)),
		cache: &wordCache{seed: maphash.MakeSeed()}}
	for b, r := range byteToRune {
		id, ok := l.ids[string(r)]
		if !ok {
			return nil, &FileError{File: l.file, Problem: fmt.Sprintf("no token %q, the one of byte %#02x", r, b)}
		}
		if _, ok := l.byID[int(id)]; ok {
			return nil, &FileError{File: l.file, Problem: fmt.Sprintf("token %q, the one of byte %#02x, is an added token too", r, b)}
		}
		t.byteID[b] = id
	}
	for _, o := range l.odd {
		if _, ok := l.byID[o.id]; !ok {
			return nil, errorAt(l.file, l.data, o.at, "token %q: %q stands for no byte, and it is no added token", clip(l.tokens[o.id]), o.sign)
		}
	}
	// Text of users must not come out as an added token.
	for _, id := range l.made {
		if i, ok := l.byID[int(id)]; ok {
			return nil, &FileError{File: l.file, Problem: fmt.Sprintf("a merge makes %q, which is an added token", clip(l.added[i].content))}
		}
	}
	for _, tok := range l.added {
		t.added[tok.content] = tok.id
		if tok.normed {
			t.normed.add(tok)
		} else {
			t.raw.add(tok)
		}
		for tok.id >= len(l.tokens) {
			l.tokens = append(l.tokens, "")
		}
	}
	t.raw.order()
	t.normed.order()
	size := 0
	for _, s := range l.tokens {
		size += len(s)
	}
	t.text, t.end = make([]byte, 0, size), make([]uint32, len(l.tokens))
	for id, s := range l.tokens {
		if i, ok := l.byID[id]; ok {
			t.text = append(t.text, l.added[i].content...)
		} else {
			t.text, _ = appendBytes(t.text, s)
		}
		t.end[id] = uint32(len(t.text))
	}
	return t, nil
}
