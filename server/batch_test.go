package server

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mynah-tts/mynah/synth"
)

const batchPath = speechPath + "/batch"

type batchAnswer struct {
	ID      string
	Results []struct {
		Index        int
		Status       string
		Audio        []byte `json:"audio_data"`
		MediaType    string `json:"media_type"`
		FinishReason string `json:"finish_reason"`
		Usage        *usage
		Error        *struct {
			Message string
			Param   *string
			Code    *string
		}
	}
	Total, Succeeded, Truncated, Failed int
}

func (r *running) batch(body string) batchAnswer {
	r.t.Helper()
	resp := r.post(batchPath, body)
	data := read(r.t, resp)
	var a batchAnswer
	if err := json.Unmarshal(data, &a); err != nil || resp.StatusCode != 200 {
		r.t.Fatalf("status %d, %v: %.300s", resp.StatusCode, err, data)
	}
	return a
}

// A misspelled field is no field, and told, once for all items.
func TestBatchNamesIgnoredFields(t *testing.T) {
	r := start(t, Options{})
	resp := r.post(batchPath, `{"voise":"ryan","items":[{"input":"One.","respnse_format":"wav","voise":"x"},{"input":"Two.","respnse_format":"wav"},{"input":"x","a b":1,"input":"y"},{"input":"Four.","stream":true}]}`)
	read(t, resp)
	if got := resp.Header.Get(headerIgnored); resp.StatusCode != 200 || got != "voise, respnse_format, stream" {
		t.Errorf("status %d, ignored %q", resp.StatusCode, got)
	}
}

func TestBatch(t *testing.T) {
	r := start(t, Options{})
	a := r.batch(`{"response_format":"pcm","voice":"vivian","items":[
		{"input":"One."}, {"input":"…"}, {"input":"Three.","response_format":"wav","voice":"ryan","seed":3}, {"input":"x","voice":"bob"},
		{}, {"input":1}, "x", {"input":"x","stream_format":"sse"}, {"input":"x","input":"y"}]}`)
	if a.Total != 9 || a.Succeeded != 2 || a.Truncated != 0 || a.Failed != 7 || !strings.HasPrefix(a.ID, "batch_") {
		t.Fatalf("answer %+v", a)
	}
	params := []string{"", "input", "", "voice", "input", "input", "", "stream_format", ""}
	single := read(t, r.post(speechPath, `{"input":"One.","response_format":"pcm"}`))
	for i, item := range a.Results {
		if item.Index != i {
			t.Errorf("item %d has index %d", i, item.Index)
		}
		if i == 0 || i == 2 {
			if item.Status != "success" || item.FinishReason != "stop" || item.Usage.OutputTokens != 3 || item.Error != nil {
				t.Errorf("item %d: %+v", i, item)
			}
			continue
		}
		if item.Status != "error" || item.Error == nil || str(item.Error.Param) != params[i] || item.Audio != nil {
			t.Errorf("item %d: %+v", i, item)
		}
	}
	if !bytes.Equal(a.Results[0].Audio, single) || a.Results[0].MediaType != "audio/pcm" {
		t.Error("the batch carries other audio")
	}
	if third := a.Results[2]; len(third.Audio) != len(single)+44 || third.MediaType != "audio/wav" {
		t.Errorf("third: %d bytes of %s", len(third.Audio), third.MediaType)
	}
	if message := a.Results[6].Error.Message; !strings.HasPrefix(message, "items[6]: wanted a JSON object, got text") {
		t.Errorf("message %q", message)
	}
}

func TestBatchRefusals(t *testing.T) {
	r := start(t, Options{})
	many := `{"items":[` + strings.Repeat(`{"input":"a"},`, BatchItems) + `{"input":"a"}]}`
	for _, tc := range []struct{ body, param, code string }{
		{`{}`, "items", "invalid_type"},
		{`{"items":null}`, "items", "invalid_type"},
		{`{"items":{}}`, "items", "invalid_type"},
		{`{"items":[]}`, "items", "invalid_value"},
		{many, "items", "invalid_value"},
		{`{"items":[{"input":"a"}],"input":"b"}`, "input", "invalid_value"},
		{`{"items":[{"input":"a"}],"speed":9}`, "speed", "invalid_value"},
		{`[]`, "", "invalid_body"},
	} {
		wantError(t, r.post(batchPath, tc.body), 400, tc.param, tc.code)
	}
}

// One item's failure is that item's alone, and no detail of it leaves.
func TestBatchFailures(t *testing.T) {
	engine := newFake()
	engine.script = script{frames: 5, fail: errors.New("secret"), failAt: 3}
	r := startWith(t, Options{}, engine)
	a := r.batch(`{"items":[{"input":"a"},{"input":"b"}]}`)
	if a.Failed != 2 || a.Results[1].Error.Message != "internal error" || a.Results[1].Audio != nil {
		t.Errorf("answer %+v", a)
	}
	engine.script = script{frames: 5, finish: synth.FinishLength}
	if a := r.batch(`{"items":[{"input":"a"}]}`); a.Truncated != 1 || a.Results[0].Status != "truncated" || len(a.Results[0].Audio) == 0 {
		t.Errorf("answer %+v", a)
	}
	engine.refuse = synth.ErrBusy
	wantError(t, r.post(batchPath, `{"items":[{"input":"a"},{"input":"b"}]}`), 429, "", "queue_full")
	if a := r.batch(`{"items":[{"input":"a"},{"input":"…"}]}`); a.Failed != 2 || str(a.Results[0].Error.Code) != "queue_full" {
		t.Errorf("answer %+v", a)
	}
}

// Batches share the memory that their audio may take, and give it back.
func TestBatchMemory(t *testing.T) {
	r := start(t, Options{Limits: Limits{BatchBytes: 4 * 2 * fakeFrame}})
	for range 3 {
		a := r.batch(`{"response_format":"pcm","items":[{"input":"a"},{"input":"b"}]}`)
		if a.Succeeded > 1 || a.Failed < 1 {
			t.Errorf("answer %d, %d", a.Succeeded, a.Failed)
		}
		for _, item := range a.Results {
			if item.Error != nil && str(item.Error.Code) != "batch_too_large" {
				t.Errorf("item %+v", item)
			}
		}
		eventually(t, "the memory is given back", func() bool { return r.batchHeld.Load() == 0 })
	}
}

// A client that takes its answer slowly holds neither what has left nor a place of large
// bodies.
func TestBatchHoldsOnlyWhatIsToLeave(t *testing.T) {
	const items, frames, itemBytes = 4, 1000, 1000 * 2 * fakeFrame
	engine := newCloneFake()
	engine.script = script{frames: frames}
	r := startClone(t, Options{Limits: Limits{BodyBytes: 10_000, WriteTimeout: time.Minute}}, engine)
	body := `{"ref_audio":"` + clipURL(700) + `","x_vector_only_mode":true,"items":[` + strings.Repeat(`{"input":"a"},`, items-1) + `{"input":"a"}]}`
	if len(body) <= 10_000 {
		t.Fatalf("%d bytes are no large body", len(body))
	}
	conn := r.dial()
	_ = conn.SetReadBuffer(64 << 10)
	if _, err := io.WriteString(conn, strings.Replace(rawSpeech(body), speechPath, batchPath, 1)); err != nil {
		t.Fatal(err)
	}
	answer := bufio.NewReader(conn)
	first := make([]byte, 3*itemBytes/2) // some more than an item in base64
	if _, err := io.ReadFull(answer, first); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the first item is given back", func() bool { return r.batchHeld.Load() <= (items-1)*itemBytes })
	if n := len(r.clips.large); n != 0 {
		t.Errorf("%d places of large bodies are taken", n)
	}
	resp, err := http.ReadResponse(bufio.NewReader(io.MultiReader(bytes.NewReader(first), answer)), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var a batchAnswer
	if err := json.NewDecoder(resp.Body).Decode(&a); err != nil || a.Succeeded != items || len(a.Results[items-1].Audio) != itemBytes {
		t.Errorf("%d items, error %v", a.Succeeded, err)
	}
	eventually(t, "the rest is given back", func() bool { return r.batchHeld.Load() == 0 })
}

// slowBody is a client's side that makes each write seem to last.
type slowBody struct {
	discard
	w     *response
	write time.Duration
	count int
}

func (b *slowBody) Write(p []byte) (int, error) {
	b.count++
	b.w.blocked += b.write
	return len(p), nil
}

// One that takes it more slowly than it hears it is given up, in the midst of an item too.
func TestBatchLags(t *testing.T) {
	const pieces = 100
	for _, tc := range []struct {
		name  string
		audio time.Duration
		slow  bool
	}{
		{"in time", 2 * time.Hour, false},
		{"too slow", 20 * time.Minute, true}, // of an hour and 40 minutes
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newServer(t, Options{Limits: Limits{LagTimeout: 30 * time.Minute}})
			body := &slowBody{write: time.Minute}
			body.w = newResponse(body, time.Minute)
			var held atomic.Int64
			item := &batchItem{Status: itemSuccess, Audio: make([]byte, pieces*pieceBytes*3/4), heard: tc.audio}
			err := s.writeBatch(body.w, []*batchItem{item}, &held)
			if reason, slow := asSlow(err); slow != tc.slow || slow && reason != slowLag || !slow && err != nil {
				t.Errorf("error %v", err)
			}
			if whole := body.count > pieces; whole == tc.slow {
				t.Errorf("%d pieces were written", body.count)
			}
		})
	}
}

func TestBatchClientGoesAway(t *testing.T) {
	engine := newFake()
	engine.script = script{frames: 9, stallAt: 2}
	r := startWith(t, Options{}, engine)
	conn := r.dial()
	raw := strings.Replace(rawSpeech(`{"items":[{"input":"a"},{"input":"b"}]}`), speechPath, batchPath, 1)
	if _, err := conn.Write([]byte(raw)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "both are live", func() bool { return engine.open.Load() == 2 })
	conn.Close()
	eventually(t, "both are closed", func() bool { return engine.open.Load() == 0 })
}

// A panic while an item is spoken is a failure of that item alone.
func TestBatchPanics(t *testing.T) {
	engine := newFake()
	engine.choose = func(r synth.Request) (script, error) {
		if r.Text == "Two." {
			panic("an index of an encoder")
		}
		return script{frames: 2}, nil
	}
	r := startWith(t, Options{}, engine)
	a := r.batch(`{"response_format":"pcm","items":[{"input":"One."},{"input":"Two."},{"input":"Three."}]}`)
	if a.Succeeded != 2 || a.Failed != 1 || a.Results[1].Status != itemError || str(a.Results[1].Error.Code) != "internal_error" {
		t.Errorf("%+v", a)
	}
	if n := engine.open.Load(); n != 0 || r.batchHeld.Load() != 0 {
		t.Errorf("%d streams are open, %d bytes are held", n, r.batchHeld.Load())
	}
}

// panicky is a writer with a mistake.
type panicky struct{}

func (panicky) Write([]byte) (int, error) { panic("a mistake") }

// Encoders get errors of writers that panic, for some write where nobody else recovers.
func TestWriterPanics(t *testing.T) {
	for _, format := range formats() {
		sink, err := encoding{format: format}.open(panicky{}, fakeRate)
		if err != nil {
			t.Fatal(err)
		}
		for range 50 {
			if err = sink.Write(make([]float32, fakeFrame)); err != nil {
				break
			}
		}
		if err == nil {
			err = sink.Close()
		}
		if err == nil || !strings.Contains(err.Error(), "panic: a mistake") {
			t.Errorf("%s: %.80v", format, err)
		}
		_ = sink.Abort()
	}
}
