package wyoming

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"strconv"
	"unicode/utf8"
)

// Bounds of what a peer may send.
const (
	// HeaderBytes is the longest line of an event. Peers put data behind it, so that a
	// type and two numbers are left.
	HeaderBytes = 64 << 10

	// PayloadBytes is the longest payload: a second of any audio.
	PayloadBytes = 1 << 20
)

// version is that of the protocol that this package was written by.
const version = "1.10.2"

// Event is one event that was read. Its data are the members of an object. A payload is
// skipped: none of the events that a program takes to speak has one.
type Event struct {
	Type string
	Data map[string]json.RawMessage // nil if there is none
}

// FormatError is something that is no event. What follows it cannot be understood.
type FormatError struct{ Message string }

func (e *FormatError) Error() string { return "wyoming: " + e.Message }

func formatErrorf(format string, args ...any) error {
	return &FormatError{fmt.Sprintf(format, args...)}
}

// Reader reads events.
type Reader struct {
	in   *bufio.Reader
	most int64 // bytes of data
}

// NewReader returns a Reader of events with so many bytes of data at most.
func NewReader(r io.Reader, most int64) *Reader {
	return &Reader{bufio.NewReader(r), most}
}

// Wait waits until something of the next event is there, and takes nothing: after a
// deadline has passed it may be called again.
func (r *Reader) Wait() error {
	_, err := r.in.Peek(1)
	return err
}

// header is the line of an event.
type header struct {
	Type          *string         `json:"type"`
	Data          json.RawMessage `json:"data"`
	DataLength    *json.Number    `json:"data_length"`
	PayloadLength *json.Number    `json:"payload_length"`
}

// Read reads an event. Between events the end is io.EOF, within one
// io.ErrUnexpectedEOF. What is no event, or too long, is a *FormatError.
func (r *Reader) Read() (Event, error) {
	line, err := r.line()
	if err != nil {
		return Event{}, err
	}
	var h header
	if !utf8.Valid(line) || json.Unmarshal(line, &h) != nil {
		return Event{}, formatErrorf("a line of %d bytes is no event in JSON", len(line))
	}
	if h.Type == nil || *h.Type == "" {
		return Event{}, formatErrorf("an event has no type")
	}
	e := Event{Type: *h.Type}
	if e.Data, err = object(h.Data); err != nil {
		return e, err
	}
	length, err := lengthOf("data_length", h.DataLength, r.most)
	if err != nil {
		return e, err
	}
	if length > 0 {
		more, err := r.data(length)
		if err != nil {
			return e, err
		}
		if e.Data == nil {
			e.Data = more
		} else {
			maps.Copy(e.Data, more)
		}
	}
	return e, r.skip(h.PayloadLength)
}

// line reads a line of bounded length.
func (r *Reader) line() ([]byte, error) {
	var line []byte
	for {
		part, err := r.in.ReadSlice('\n')
		if len(line)+len(part) > HeaderBytes {
			return nil, formatErrorf("a line is over %d bytes, the most allowed", HeaderBytes)
		}
		line = append(line, part...)
		switch {
		case err == nil:
			return line, nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(line) > 0:
			return nil, io.ErrUnexpectedEOF
		default:
			return nil, err
		}
	}
}

// lengthOf reads a length of what follows a line.
func lengthOf(name string, given *json.Number, most int64) (int64, error) {
	if given == nil {
		return 0, nil
	}
	n, err := strconv.ParseInt(string(*given), 10, 64)
	if err != nil || n < 0 || n > most {
		return 0, formatErrorf("%s is %.40s, allowed are 0 to %d", name, *given, most)
	}
	return n, nil
}

// data reads the data behind a line. Memory grows with what arrives, not with what was
// announced.
func (r *Reader) data(length int64) (map[string]json.RawMessage, error) {
	var b bytes.Buffer
	if _, err := io.CopyN(&b, r.in, length); err != nil {
		return nil, unexpected(err)
	}
	if !utf8.Valid(b.Bytes()) {
		return nil, formatErrorf("data are not UTF-8")
	}
	return object(b.Bytes())
}

// object reads the members of an object, null being none.
func object(data []byte) (map[string]json.RawMessage, error) {
	var members map[string]json.RawMessage
	if len(data) > 0 && json.Unmarshal(data, &members) != nil {
		return nil, formatErrorf("data are no JSON object")
	}
	return members, nil
}

// skip throws a payload away.
func (r *Reader) skip(given *json.Number) error {
	length, err := lengthOf("payload_length", given, PayloadBytes)
	if err != nil {
		return err
	}
	_, err = io.CopyN(io.Discard, r.in, length)
	return unexpected(err)
}

// unexpected is an error within an event.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// Append appends an event of a type, with data that are an object in JSON or nil, and a
// payload that may be empty.
func Append(dst []byte, kind string, data any, payload []byte) []byte {
	var body []byte
	if data != nil {
		var err error
		if body, err = json.Marshal(data); err != nil { // of our own types, without functions and infinities
			panic(err)
		}
	}
	line := struct {
		Type          string `json:"type"`
		Version       string `json:"version"`
		DataLength    int    `json:"data_length,omitempty"`
		PayloadLength int    `json:"payload_length,omitempty"`
	}{kind, version, len(body), len(payload)}
	head, err := json.Marshal(line)
	if err != nil {
		panic(err)
	}
	dst = append(append(dst, head...), '\n')
	dst = append(dst, body...)
	return append(dst, payload...)
}
