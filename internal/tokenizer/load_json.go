package tokenizer

import "encoding/json"

// swappedPattern is what one release of the reference's tokenizer library puts in
// place of Pattern when it loads a vocabulary of this size from a local directory,
// and what it then saves. The models were trained with Pattern, so a file that
// holds this one is read as if it held Pattern.
const swappedPattern = `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`

// tokenizerJSON reads tokenizer.json. Merges may be "a b" or ["a", "b"]. What the
// file says of normalisation and word splitting must be what this package does.
func (l *loader) tokenizerJSON(doc string) error {
	r := &jsonReader{file: jsonFile, data: doc}
	var added *jsonReader
	r.object(func(key string, _ int) {
		switch key {
		case "model":
			l.model(r)
		case "added_tokens":
			// Read last: they are checked against the vocabulary.
			from := *r
			added = &from
			r.skip()
		case "normalizer":
			checkNormalizer(r)
		case "pre_tokenizer":
			checkPreTokenizer(r)
		default:
			r.skip()
		}
	})
	if err := r.end(); err != nil {
		return err
	}
	if l.file == "" {
		return &FileError{File: jsonFile, Problem: `no "model"`}
	}
	if added == nil {
		return nil
	}
	added.array(func() {
		added.peek()
		at := added.pos
		tok := l.addedFields(added)
		if tok.id < 0 {
			added.failAt(at, `added token %q without "id"`, clip(tok.content))
		}
		l.add(added, tok, at)
	})
	if added.err != nil {
		return added.err
	}
	return nil
}

// model reads the BPE model: vocabulary first, then merges, whatever their order.
func (l *loader) model(r *jsonReader) {
	var merges *jsonReader
	r.object(func(key string, at int) {
		switch key {
		case "type":
			if s := r.str(); s != "BPE" {
				r.failAt(at, "model type %q, wanted \"BPE\"", clip(s))
			}
		case "vocab":
			l.vocabulary(r)
		case "merges":
			from := *r
			merges = &from
			r.skip()
		case "ignore_merges", "byte_fallback", "dropout", "continuing_subword_prefix", "end_of_word_suffix":
			switch s := r.skip(); s {
			case "false", "null", "0", "0.0", `""`:
			default:
				r.failAt(at, "%s is %s, which is not supported", key, clip(s))
			}
		default:
			r.skip()
		}
	})
	if r.err != nil {
		return
	}
	if merges == nil || l.file == "" {
		r.fail(`model without "vocab" or "merges"`)
		return
	}
	l.mergeList(merges)
	r.err = merges.err
}

func (l *loader) mergeList(r *jsonReader) {
	l.rank, l.made = make(map[uint64]uint32, len(l.ids)), make([]uint32, 0, len(l.ids))
	joined := make([]byte, 0, 2*maxTokenBytes)
	r.array(func() {
		c := r.peek()
		at := r.pos
		var left, right string
		var err error
		if c == '[' {
			left, right = pairOfArray(r)
		} else {
			left, right, err = cutPair(r.str())
		}
		if r.err != nil {
			return
		}
		if err == nil {
			err = l.merge(left, right, joined)
		}
		if err != nil {
			r.failAt(at, "%v", err)
		}
	})
}

// pairOfArray reads a merge written as an array of two strings.
func pairOfArray(r *jsonReader) (left, right string) {
	at := r.pos
	var pair [2]string
	n := 0
	r.array(func() {
		s := r.str()
		if n < len(pair) {
			pair[n] = s
		}
		n++
	})
	if n != len(pair) {
		r.failAt(at, "merge of %d tokens, wanted %d", n, len(pair))
	}
	return pair[0], pair[1]
}

// stage is a normalizer or pre-tokenizer, or a sequence of them.
type stage struct {
	Type    string `json:"type"`
	Pattern struct {
		Regex string `json:"Regex"`
	} `json:"pattern"`
	Behavior       string  `json:"behavior"`
	Invert         bool    `json:"invert"`
	AddPrefixSpace bool    `json:"add_prefix_space"`
	UseRegex       *bool   `json:"use_regex"`
	Normalizers    []stage `json:"normalizers"`
	Pretokenizers  []stage `json:"pretokenizers"`
}

// stages reads a normalizer or pre-tokenizer as the flat list of its parts. null
// gives none: the file leaves it open.
func stages(r *jsonReader) []stage {
	r.peek()
	at := r.pos
	doc := r.skip()
	if r.err != nil || doc == "null" {
		return nil
	}
	var s stage
	if err := json.Unmarshal([]byte(doc), &s); err != nil {
		r.failAt(at, "%v", err)
		return nil
	}
	var flat func(s stage) []stage
	flat = func(s stage) (list []stage) {
		if s.Type != "Sequence" {
			return []stage{s}
		}
		for _, part := range append(s.Normalizers, s.Pretokenizers...) {
			list = append(list, flat(part)...)
		}
		return list
	}
	return flat(s)
}

func checkNormalizer(r *jsonReader) {
	r.peek()
	at := r.pos
	for _, s := range stages(r) {
		if s.Type != "NFC" {
			r.failAt(at, "normalizer %q, wanted \"NFC\"", clip(s.Type))
		}
	}
}

func checkPreTokenizer(r *jsonReader) {
	r.peek()
	at := r.pos
	for _, s := range stages(r) {
		switch s.Type {
		case "Split":
			if p := s.Pattern.Regex; p != Pattern && p != swappedPattern || s.Behavior != "Isolated" || s.Invert {
				r.failAt(at, "pre_tokenizer splits by %q (%s), wanted the pattern of Qwen", clip(p), clip(s.Behavior))
			}
		case "ByteLevel":
			if s.AddPrefixSpace || s.UseRegex == nil || *s.UseRegex {
				r.failAt(at, "pre_tokenizer ByteLevel adds a space or splits by itself, which is not supported")
			}
		default:
			r.failAt(at, "pre_tokenizer %q, wanted \"Split\" and \"ByteLevel\"", clip(s.Type))
		}
	}
}
