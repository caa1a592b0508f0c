package tokenizer

import (
	"strings"
)

// Tokenizer is the vocabulary, merges and added tokens of a checkpoint. It is
// read-only after Load and safe for use by many goroutines.
type Tokenizer struct {
	byteID [256]uint32       // token of each single byte
	rank   map[uint64]uint32 // pairKey(left, right) -> rank, the place of the merge in the file
	made   []uint32          // rank -> token that the merge makes
	text   []byte            // the bytes of all tokens in order of id
	end    []uint32          // id -> end of its bytes in text; a token without bytes is a hole in the ids
	added  map[string]int    // content of added tokens -> id
	raw    matcher           // added tokens that are found in the text as it is
	normed matcher           // added tokens that are found in the text in NFC
	cache  *wordCache

	normalization string
}

// Normalization names how text is to be written before it is encoded: text_normalization in
// tokenizer_config.json, a key of ours that the reference ignores. It is "" for text as it is, which is
// what published checkpoints want. Encode and Stream leave it to the caller.
func (t *Tokenizer) Normalization() string { return t.normalization }

// Size is one more than the largest id; an embedding table needs that many rows.
func (t *Tokenizer) Size() int { return len(t.end) }

// ID returns the id of an added token such as "<|im_start|>".
func (t *Tokenizer) ID(added string) (id int, ok bool) {
	id, ok = t.added[added]
	return id, ok
}

// Token returns the bytes of a token, which need not be whole characters. ok is
// false for ids that no token has.
func (t *Tokenizer) Token(id int) (token string, ok bool) {
	b := t.bytes(id)
	return string(b), len(b) > 0
}

func (t *Tokenizer) bytes(id int) []byte {
	if id < 0 || id >= len(t.end) {
		return nil
	}
	start := uint32(0)
	if id > 0 {
		start = t.end[id-1]
	}
	return t.text[start:t.end[id]]
}

// Decode returns the text of ids, added tokens included. Ids without a token give
// nothing; bytes that do not make up a character give U+FFFD.
func (t *Tokenizer) Decode(ids []int) string {
	b := make([]byte, 0, 4*len(ids))
	for _, id := range ids {
		b = append(b, t.bytes(id)...)
	}
	return lossy(b)
}

// Encode returns the ids of text as the reference gives them: added tokens are
// recognised anywhere in it. It is for text of our own, such as prompt templates.
func (t *Tokenizer) Encode(text string) []int {
	var ids []int
	t.raw.cut(validUTF8(text), func(piece string, id int) {
		if id >= 0 {
			ids = append(ids, id)
			return
		}
		t.normed.cut(nfc(piece), func(piece string, id int) {
			if id >= 0 {
				ids = append(ids, id)
				return
			}
			ids = t.appendWords(ids, piece)
		})
	})
	return ids
}

// EncodeText returns the ids of text of a user. No part of it becomes an added
// token: "<|im_end|>" is ten characters like any others. White space up to and
// including a line break is dropped from the start, because it would merge with
// the line break that a prompt template puts before the text. Otherwise the ids
// are those of Encode.
func (t *Tokenizer) EncodeText(text string) []int {
	text = nfc(validUTF8(text))
	var sc scanner
	n, ok := sc.next(text)
	if !ok {
		n = sc.finish()
	}
	if isBreak(text[:n]) {
		text = text[n:]
	}
	return t.appendWords(nil, text)
}

// isBreak reports whether a word is one of \s*[\r\n]+.
func isBreak(word string) bool {
	return (strings.HasSuffix(word, "\n") || strings.HasSuffix(word, "\r")) && strings.TrimSpace(word) == ""
}

// appendWords appends the ids of a whole text in NFC.
func (t *Tokenizer) appendWords(ids []int, text string) []int {
	var sc scanner
	for len(text) > 0 {
		n, ok := sc.next(text)
		if !ok {
			n = sc.finish()
		}
		ids = t.appendWord(ids, text[:n])
		text = text[n:]
	}
	return ids
}
