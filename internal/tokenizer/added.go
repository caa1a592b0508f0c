package tokenizer

import (
	"slices"
	"strings"
)

// addedToken is a token that is matched as a whole, never made by merging.
type addedToken struct {
	content string
	id      int
	normed  bool // matched in the text in NFC rather than in the text as it is
}

// matcher finds added tokens in a text: for each first byte those that begin with
// it, longest first.
type matcher [256][]addedToken

// add adds a token. order must follow the last.
func (m *matcher) add(tok addedToken) { m[tok.content[0]] = append(m[tok.content[0]], tok) }

// order puts longer tokens before shorter ones: all at once, since a file may hold a million.
func (m *matcher) order() {
	for _, list := range m {
		slices.SortStableFunc(list, func(a, b addedToken) int { return len(b.content) - len(a.content) })
	}
}

// cut calls emit for each added token of s with its id, and for each non-empty
// piece between them with the id -1, in order.
func (m *matcher) cut(s string, emit func(piece string, id int)) {
	start := 0
	for i := 0; i < len(s); {
		tok, ok := m.match(s[i:])
		if !ok {
			i++
			continue
		}
		if start < i {
			emit(s[start:i], -1)
		}
		emit(tok.content, tok.id)
		i += len(tok.content)
		start = i
	}
	if start < len(s) {
		emit(s[start:], -1)
	}
}

func (m *matcher) match(s string) (addedToken, bool) {
	for _, tok := range m[s[0]] {
		if strings.HasPrefix(s, tok.content) {
			return tok, true
		}
	}
	return addedToken{}, false
}
