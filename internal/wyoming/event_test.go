package wyoming

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// What Append writes Read reads, however it arrives.
func TestRoundTrip(t *testing.T) {
	var stream []byte
	stream = Append(stream, TypeDescribe, nil, nil)
	stream = Append(stream, TypeAudioChunk, Audio{Rate: 24000, Width: 2, Channels: 1, Timestamp: 80}, []byte("\n\x00\xff{}"))
	stream = Append(stream, TypeError, Problem{Text: "zwölf\n", Code: "x"}, nil)
	for name, in := range map[string]io.Reader{"whole": bytes.NewReader(stream), "by bytes": iotest.OneByteReader(bytes.NewReader(stream))} {
		t.Run(name, func(t *testing.T) {
			r := NewReader(in, 1000)
			for _, want := range []struct{ kind, text, rate string }{{TypeDescribe, "", ""}, {TypeAudioChunk, "", "24000"}, {TypeError, `"zwölf\n"`, ""}} {
				if err := r.Wait(); err != nil {
					t.Fatal(err)
				}
				e, err := r.Read()
				if err != nil || e.Type != want.kind || string(e.Data["text"]) != want.text || string(e.Data["rate"]) != want.rate {
					t.Fatalf("%+v, %v", e, err)
				}
			}
			if _, err := r.Read(); err != io.EOF {
				t.Fatal(err)
			}
		})
	}
}

// Data may stand in the line, behind it, or in both: what is behind goes before.
func TestData(t *testing.T) {
	behind := `{"text":"new","voice":{"name":"lark"}}`
	for _, tc := range []struct{ name, stream, text string }{
		{"line", `{"type":"synthesize","data":{"text":"old"}}` + "\n", "old"},
		{"behind", fmt.Sprintf(`{"type":"synthesize","data_length":%d}`, len(behind)) + "\n" + behind, "new"},
		{"both", fmt.Sprintf(`{"data":{"text":"old"},"data_length":%d,"type":"synthesize"}`, len(behind)) + "\r\n" + behind, "new"},
		{"null", `{"type":"synthesize","data":null,"data_length":null,"payload_length":null,"version":"1"}` + "\n", ""},
		{"payload", `{"type":"synthesize","data":{"text":"old"},"payload_length":3}` + "\nabc", "old"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := NewReader(strings.NewReader(tc.stream+`{"type":"ping"}`+"\n"), 1000)
			e, err := r.Read()
			if err != nil {
				t.Fatal(err)
			}
			s, err := e.Synthesize()
			if err != nil || (s.Text == nil) != (tc.text == "") || s.Text != nil && *s.Text != tc.text {
				t.Errorf("%+v, %v", s, err)
			}
			if next, err := r.Read(); err != nil || next.Type != TypePing {
				t.Errorf("%+v, %v", next, err)
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	for _, tc := range []struct{ name, stream, wrong string }{
		{"HTTP", "GET / HTTP/1.1\r\n\r\n", "no event in JSON"},
		{"empty line", "\n", "no event in JSON"},
		{"list", "[]\n", "no event in JSON"},
		{"null", "null\n", "no type"},
		{"not UTF-8", "{\"type\":\"a\xff\"}\n", "no event in JSON"},
		{"number for a type", "{\"type\":7}\n", "no event in JSON"},
		{"data no object", "{\"type\":\"a\",\"data\":[]}\n", "no JSON object"},
		{"negative length", "{\"type\":\"a\",\"data_length\":-1}\n", "data_length is -1, allowed are 0 to 1000"},
		{"fraction", "{\"type\":\"a\",\"data_length\":1.5}\n", "data_length is 1.5"},
		{"much data", "{\"type\":\"a\",\"data_length\":1001}\n", "data_length is 1001"},
		{"huge number", "{\"type\":\"a\",\"data_length\":99999999999999999999}\n", "data_length is 9999"},
		{"much payload", "{\"type\":\"a\",\"payload_length\":1048577}\n", "payload_length is 1048577"},
		{"long line", strings.Repeat(" ", HeaderBytes) + "{}\n", "a line is over 65536 bytes"},
		{"data no JSON", "{\"type\":\"a\",\"data_length\":3}\nabc", "no JSON object"},
		{"data not UTF-8", "{\"type\":\"a\",\"data_length\":1}\n\xff", "not UTF-8"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := NewReader(strings.NewReader(tc.stream), 1000).Read()
			var format *FormatError
			if !errors.As(err, &format) || !strings.Contains(err.Error(), tc.wrong) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v", err)
			}
		})
	}
	for _, cut := range []string{`{"type":"a"}`, "{\"type\":\"a\",\"data_length\":3}\n{}", "{\"type\":\"a\",\"payload_length\":3}\nab"} {
		if _, err := NewReader(strings.NewReader(cut), 1000).Read(); err != io.ErrUnexpectedEOF {
			t.Errorf("%q: %v", cut, err)
		}
	}
	for _, data := range []string{`{"text":7}`, `{"voice":"lark"}`, `{"text_format":[]}`} {
		var members map[string]json.RawMessage
		if err := json.Unmarshal([]byte(data), &members); err != nil {
			t.Fatal(err)
		}
		if _, err := (Event{Type: TypeSynthesize, Data: members}).Synthesize(); err == nil {
			t.Errorf("%s was taken", data)
		}
	}
}

// FuzzReader reads anything: it ends, and what it takes as an event can be written and
// read again.
func FuzzReader(f *testing.F) {
	f.Add([]byte("{\"type\":\"a\",\"data_length\":3,\"payload_length\":2}\n{ }ab{\"type\":\"b\",\"data\":{\"x\":[1]}}\n"))
	f.Add([]byte("{\"type\":\"a\",\"data_length\":1e2}\n"))
	f.Add([]byte("\n\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r := NewReader(bytes.NewReader(data), 1000)
		for {
			e, err := r.Read()
			if err != nil {
				return
			}
			again, err := NewReader(bytes.NewReader(Append(nil, e.Type, e.Data, nil)), 10_000).Read()
			if err != nil || again.Type != e.Type || len(again.Data) != len(e.Data) {
				t.Fatalf("%+v became %+v, %v", e, again, err)
			}
		}
	})
}
