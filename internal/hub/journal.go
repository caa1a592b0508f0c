package hub

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"sync"
)

// span is a range of a file's bytes, start included, end not.
type span struct{ start, end int64 }

// journal remembers which ranges of an unfinished file are there. It is a text file that
// grows: a line of JSON that says what it is of, then a line "start end" for each range. A
// line that a kill tore is left out, and so is all behind it. Should it promise what a crash
// of the machine lost, the digest finds it out.
type journal struct {
	head journalHead

	mu   sync.Mutex
	file *os.File
	done []span // sorted, apart from one another
}

// journalHead is the first line.
type journalHead struct {
	Version int    `json:"mynah_pull"`
	Size    int64  `json:"size"`
	Host    string `json:"host,omitempty"`    // that sent the content
	Content string `json:"content,omitempty"` // its ETag there, with quotes
	Linked  string `json:"linked,omitempty"`  // the hub's ETag
}

const journalVersion = 1

// anySize has readJournal take a journal of a file of any size.
const anySize = -1

// journalFresh ends the name of a journal that is being written.
const journalFresh = ".new"

// readJournal reads what an earlier run left; a journal that is not of this file, or is
// damaged from its beginning, is none.
func readJournal(path string, size int64) *journal {
	data, err := readBounded(path, maxJournal)
	if err != nil {
		return nil
	}
	first, rest, ok := bytes.Cut(data, []byte("\n"))
	j := &journal{}
	if !ok || json.Unmarshal(first, &j.head) != nil || j.head.Version != journalVersion || size != anySize && j.head.Size != size {
		return nil
	}
	for {
		line, more, ok := bytes.Cut(rest, []byte("\n"))
		var s span
		if !ok {
			return j
		}
		if n, err := fmt.Sscanf(string(line), "%d %d", &s.start, &s.end); n != 2 || err != nil || s.start < 0 || s.end <= s.start || s.end > j.head.Size {
			return j
		}
		j.done = addSpan(j.done, s)
		rest = more
	}
}

// write begins the journal's file anew, with all that it knows.
func (j *journal) write(path string) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	var b bytes.Buffer
	first, err := json.Marshal(j.head)
	if err != nil {
		return err
	}
	b.Write(append(first, '\n'))
	for _, s := range j.done {
		fmt.Fprintf(&b, "%d %d\n", s.start, s.end)
	}
	if j.file != nil {
		j.file.Close()
		j.file = nil
	}
	fresh := path + journalFresh
	if err := os.WriteFile(fresh, b.Bytes(), 0o666); err != nil {
		return err
	}
	if err := os.Rename(fresh, path); err != nil {
		return err
	}
	j.file, err = os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0o666)
	return err
}

// add records a range, whose bytes must have been written.
func (j *journal) add(s span) error {
	if s.end <= s.start {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.done = addSpan(j.done, s)
	_, err := fmt.Fprintf(j.file, "%d %d\n", s.start, s.end)
	return err
}

// have is the number of bytes that are there.
func (j *journal) have() int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	n := int64(0)
	for _, s := range j.done {
		n += s.end - s.start
	}
	return n
}

// missing lists what is not there, in pieces of at most so many bytes.
func (j *journal) missing(most int64) []span {
	j.mu.Lock()
	defer j.mu.Unlock()
	var all []span
	at := int64(0)
	for _, s := range append(slices.Clone(j.done), span{j.head.Size, j.head.Size}) {
		for ; at < s.start; at += most {
			all = append(all, span{at, min(at+most, s.start)})
		}
		at = s.end
	}
	return all
}

func (j *journal) close() {
	if j.file != nil {
		j.file.Close()
		j.file = nil
	}
}

// addSpan puts a range among others, joining those that touch.
func addSpan(all []span, s span) []span {
	i, _ := slices.BinarySearchFunc(all, s.start, func(x span, start int64) int {
		if x.end < start {
			return -1
		}
		return 1
	})
	k := i
	for k < len(all) && all[k].start <= s.end {
		s.start, s.end = min(s.start, all[k].start), max(s.end, all[k].end)
		k++
	}
	return slices.Replace(all, i, k, s)
}
