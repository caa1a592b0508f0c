package text

import (
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
)

// cluster is the grapheme cluster under way. Whether it goes on depends on what it
// holds and on the next code point alone, so that it is complete one code point
// later, however the text arrives.
type cluster struct {
	size  int // bytes in the text
	runes int
	first rune
	class class
	last  rune
	n     int
	text  [(maxCluster + 1) * utf8.UTFMax]byte // the code points, and room for one to try
}

// start begins a cluster with a code point of size bytes.
func (c *cluster) start(r rune, size int) {
	c.size, c.runes, c.first, c.last = size, 1, r, r
	c.class = classOf(r)
	if r < utf8.RuneSelf {
		c.text[0], c.n = byte(r), 1
	} else {
		c.n = utf8.EncodeRune(c.text[:], r)
	}
}

// join adds a code point of size bytes. A cluster that holds a letter or number is
// said, whatever it begins with; one that holds white space and no such is that.
func (c *cluster) join(r rune, size int) {
	c.size += size
	c.runes++
	c.last = r
	c.n += utf8.EncodeRune(c.text[c.n:], r)
	switch more := classOf(r); {
	case c.class.said():
	case more.said():
		c.class = letter
	case more == space:
		c.class = space
	}
}

// joins reports whether the cluster goes on with r.
func (c *cluster) joins(r rune) bool {
	if c.runes >= maxCluster || plain(c.last) && plain(r) {
		return false
	}
	text := c.text[:c.n+utf8.EncodeRune(c.text[c.n:], r)]
	it := graphemes.FromBytes(text)
	return it.Next() && len(it.Value()) == len(text)
}
