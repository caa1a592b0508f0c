package batch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// ManifestName is the file that says what a folder holds: a line of JSON for each item.
const ManifestName = "manifest.jsonl"

// Record is a line of the manifest: what came of an item, or the joined file of a book.
// While a job runs, lines are added as items are finished, each before its file gets its
// name; a later line about a file replaces an earlier one. At the end the lines stand in
// the order of the input.
type Record struct {
	Index int    `json:"index,omitempty"` // of the item, from 1; 0 is the joined file
	Line  int    `json:"line,omitempty"`  // of the input, from 1
	ID    string `json:"id,omitempty"`
	Title string `json:"title,omitempty"` // of a chapter
	Text  string `json:"text,omitempty"`

	File     string `json:"file,omitempty"` // name in the folder; "" if the item failed
	Captions string `json:"captions,omitempty"`

	Voice    string `json:"voice,omitempty"`
	Language string `json:"language,omitempty"`
	Seed     int64  `json:"seed"`               // of the attempt that is in the file
	Attempts int    `json:"attempts,omitempty"` // over 1: those before were cut

	FinishReason string  `json:"finish_reason,omitempty"`
	Frames       int     `json:"frames,omitempty"`   // of 80 ms, as the model made them
	Duration     float64 `json:"duration,omitempty"` // seconds of the file
	Samples      int64   `json:"samples,omitempty"`  // of the file
	SampleRate   int     `json:"sample_rate,omitempty"`
	Bytes        int64   `json:"bytes,omitempty"`
	RTF          float64 `json:"rtf,omitempty"` // of this item beside the others; differs from run to run

	Trimmed  *Trimmed  `json:"trimmed,omitempty"`
	Loudness *Loudness `json:"loudness,omitempty"`
	Segments []Span    `json:"segments,omitempty"`
	Chapters []Chapter `json:"chapters,omitempty"` // of the joined file

	Digest string `json:"digest,omitempty"`
	Error  string `json:"error,omitempty"`
	Stale  bool   `json:"stale,omitempty"` // the file belongs to no item of the latest run
}

// Name tells a user which item is meant.
func (r *Record) Name() string { return itemName(r.Index, r.Line, r.ID, r.Title) }

// Span is a segment of the text and when it is spoken, in seconds of the file.
type Span struct {
	Start float64 `json:"start"`
	End   float64 `json:"end"`
	Text  string  `json:"text"`
}

// Chapter is a chapter in the joined file of a book.
type Chapter struct {
	Title string  `json:"title"`
	File  string  `json:"file"`
	Start float64 `json:"start"` // seconds
	End   float64 `json:"end"`
}

// Trimmed tells what --trim took away, in seconds.
type Trimmed struct {
	Lead float64 `json:"lead"`
	Tail float64 `json:"tail"`
}

// Loudness tells what was done to reach a loudness.
type Loudness struct {
	Before  float64 `json:"before_lufs"`
	After   float64 `json:"after_lufs"`
	Peak    float64 `json:"true_peak_db"` // of the file
	Gain    float64 `json:"gain_db"`
	Limited bool    `json:"limited,omitempty"` // peaks were turned down, so that After may be below what was asked for
}

// manifest is the file while a job works on it.
type manifest struct {
	path string
	disk Disk
	file File
	size int64
}

// readManifest reads a folder's manifest. A last line that is not whole, which a killed run
// may leave, is left out; good is the length of what is before it.
func readManifest(dir string) (records []Record, good int64, err error) {
	path := filepath.Join(dir, ManifestName)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, onDisk(path, err)
	}
	n := 0
	for rest := data; len(rest) > 0; {
		line, after, whole := bytes.Cut(rest, []byte("\n"))
		n++
		if !whole {
			break
		}
		var r Record
		if err := json.Unmarshal(line, &r); err != nil {
			if len(bytes.TrimSpace(after)) == 0 {
				break // the system went down before the line was on the disk
			}
			return nil, 0, fmt.Errorf("%s, line %d: no line of a manifest; move the file away to begin anew", path, n)
		}
		for _, name := range []string{r.File, r.Captions} { // which are removed when they are replaced
			if name != "" && name != filepath.Base(name) || strings.HasPrefix(name, ".") {
				return nil, 0, fmt.Errorf("%s, line %d: %q is no file of the folder", path, n, name)
			}
		}
		records = append(records, r)
		rest = after
		good = int64(len(data) - len(rest))
	}
	return records, good, nil
}

// openManifest opens the manifest to add lines behind its first good bytes.
func openManifest(disk Disk, dir string, good int64) (*manifest, error) {
	m := &manifest{path: filepath.Join(dir, ManifestName), disk: disk, size: good}
	var err error
	if m.file, err = disk.Open(m.path, os.O_RDWR|os.O_CREATE); err != nil {
		return nil, onDisk(m.path, err)
	}
	if err := m.file.Truncate(good); err != nil {
		m.file.Close()
		return nil, onDisk(m.path, err)
	}
	return m, nil
}

// add puts a line on the disk.
func (m *manifest) add(r *Record) error {
	line, err := encode(r)
	if err != nil {
		return err
	}
	if _, err = m.file.WriteAt(line, m.size); err == nil {
		err = m.file.Sync()
	}
	if err != nil {
		_ = m.file.Truncate(m.size) // half a line would be left out at the next start anyway
		return onDisk(m.path, err)
	}
	m.size += int64(len(line))
	return nil
}

func (m *manifest) close() error { return m.file.Close() }

// encode makes a line of a record.
func encode(r *Record) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(r); err != nil {
		return nil, fmt.Errorf("batch: manifest line of %s: %w", r.File, err)
	}
	return b.Bytes(), nil
}

// content is a manifest of records.
func content(records []*Record) ([]byte, error) {
	var all []byte
	for _, r := range records {
		line, err := encode(r)
		if err != nil {
			return nil, err
		}
		all = append(all, line...)
	}
	return all, nil
}
